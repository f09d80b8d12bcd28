//! Sequences of small numbers, indexed by the next occurrence of each number: the miner's input.
//!
//! All sequences are concatenated; a place is a position in all of them, so that a place alone determines the
//! sequence and the position in it. An index costs memory in proportion to the sequences, and a word for each
//! number in each sequence: positions by number and sequence, in the order in which the miner passes over
//! them; and the sets of numbers still to come, kept once for each place at which they shrink.

/// Sequences with their index, ordered by weight.
#[derive(Debug)]
pub struct SequenceIndex {
    kinds: usize,
    width: usize,
    weights: Vec<u32>,
    /// For each sequence: its first place. The place after its last item belongs to it, too.
    starts: Vec<u32>,
    items: Vec<u32>,
    /// For each item and sequence: the start of its places in `places`.
    offsets: Vec<u32>,
    places: Vec<u32>,
    /// For each place: the row of `coming` with the items from there on.
    rows: Vec<u32>,
    coming: Vec<u64>,
    /// For each sequence: the items that occur more than once.
    repeated: Vec<u64>,
}

/// Number of words of a set of `kinds` items.
pub fn width(kinds: usize) -> usize {
    kinds.div_ceil(64)
}

/// Inserts an item into a set.
pub fn put(set: &mut [u64], item: u32) {
    if let Some(word) = set.get_mut(item as usize / 64) {
        *word |= 1 << (item % 64);
    }
}

/// Returns whether the item is in the set.
pub fn has(set: &[u64], item: u32) -> bool {
    set.get(item as usize / 64)
        .is_some_and(|word| word >> (item % 64) & 1 == 1)
}

/// Removes an item from a set.
pub fn drop_from(set: &mut [u64], item: u32) {
    if let Some(word) = set.get_mut(item as usize / 64) {
        *word &= !(1 << (item % 64));
    }
}

/// Removes the smallest item of a set.
pub fn take(set: &mut [u64]) -> Option<u32> {
    let (at, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros();
    *word &= *word - 1;
    Some(at as u32 * 64 + bit)
}

/// The items of a set, in order.
pub fn items(set: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(set).flat_map(|(at, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            word &= word.wrapping_sub(1);
            (bit < u64::BITS).then_some(at * 64 + bit)
        })
    })
}

impl SequenceIndex {
    /// Indexes sequences of items below `kinds`, each with the number of equal ones that it stands for.
    pub fn new(kinds: usize, mut list: Vec<(Vec<u32>, u32)>) -> SequenceIndex {
        let width = width(kinds);
        // Equal weights are counted together; in a sequence with few items little can be put into a pattern.
        list.sort_by_key(|(items, weight)| (*weight, items.len()));
        let mut index = SequenceIndex {
            kinds,
            width,
            weights: list.iter().map(|(_, weight)| *weight).collect(),
            starts: Vec::with_capacity(list.len()),
            items: Vec::new(),
            offsets: Vec::new(),
            places: Vec::new(),
            rows: Vec::new(),
            coming: Vec::new(),
            repeated: Vec::new(),
        };
        for (items, _) in &list {
            index.starts.push(index.items.len() as u32);
            index.items.extend(items);
            index.items.push(NONE);
            index.still_to_come(items);
        }
        index.order_by_item();
        index
    }

    /// Number of sequences.
    pub fn len(&self) -> u32 {
        self.starts.len() as u32
    }

    /// Number of words of a set of items.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bound on the distinct items.
    pub fn kinds(&self) -> usize {
        self.kinds
    }

    /// Number of equal sequences that it stands for.
    #[inline]
    pub fn weight(&self, sequence: u32) -> u32 {
        self.weights.get(sequence as usize).copied().unwrap_or(0)
    }

    /// Sum of the weights.
    pub fn total(&self) -> u32 {
        self.weights.iter().sum()
    }

    /// First place of a sequence.
    #[inline]
    pub fn start(&self, sequence: u32) -> u32 {
        self.starts.get(sequence as usize).copied().unwrap_or(0)
    }

    /// The place after the last item of a sequence.
    pub fn end(&self, sequence: u32) -> u32 {
        let next = self.starts.get(sequence as usize + 1).copied();
        next.unwrap_or(self.items.len() as u32).saturating_sub(1)
    }

    /// The items from one place up to another, exclusive.
    pub fn between(&self, from: u32, to: u32) -> &[u32] {
        self.items.get(from as usize..to as usize).unwrap_or(&[])
    }

    /// First place of the item in the sequence at or after `from`.
    #[inline]
    pub fn next(&self, item: u32, sequence: u32, from: u32) -> Option<u32> {
        let places = self.places(item, sequence);
        if places.len() > FEW {
            let before = places.partition_point(|&place| place < from);
            return places.get(before).copied();
        }
        places.iter().copied().find(|&place| place >= from)
    }

    /// Last place of the item in the sequence before `end`.
    #[inline]
    pub fn last(&self, item: u32, sequence: u32, end: u32) -> Option<u32> {
        let places = self.places(item, sequence);
        let before = places.partition_point(|&place| place < end);
        places.get(before.checked_sub(1)?).copied()
    }

    /// The items at or after `from` in its sequence, as the index of the set's first word in
    /// [`SequenceIndex::words`].
    #[inline]
    pub fn coming(&self, from: u32) -> usize {
        self.rows.get(from as usize).copied().unwrap_or(0) as usize * self.width
    }

    /// Words of sets of items.
    pub fn words(&self) -> &[u64] {
        &self.coming
    }

    /// The items of a sequence, and those that occur more than once.
    #[inline]
    pub fn sets(&self, sequence: u32) -> (&[u64], &[u64]) {
        let all = self.coming(self.start(sequence));
        let repeated = sequence as usize * self.width;
        (
            self.coming.get(all..all + self.width).unwrap_or(&[]),
            self.repeated
                .get(repeated..repeated + self.width)
                .unwrap_or(&[]),
        )
    }

    #[inline]
    fn places(&self, item: u32, sequence: u32) -> &[u32] {
        let at = item as usize * self.starts.len() + sequence as usize;
        match self.offsets.get(at..at + 2) {
            Some(&[from, to]) => self.places.get(from as usize..to as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Computes the sets of items still to come at each place of a sequence, and of repeated items.
    fn still_to_come(&mut self, items: &[u32]) {
        let first = self.rows.len();
        self.rows.resize(first + items.len() + 1, 0);
        let mut set = vec![0u64; self.width];
        let mut repeated = vec![0u64; self.width];
        self.coming.extend_from_slice(&set);
        for (at, &item) in std::iter::once(&NONE).chain(items.iter().rev()).enumerate() {
            if has(&set, item) {
                put(&mut repeated, item);
            } else if item != NONE {
                put(&mut set, item);
                self.coming.extend_from_slice(&set);
            }
            let row = (self.coming.len() / self.width.max(1)).saturating_sub(1) as u32;
            if let Some(slot) = self.rows.get_mut(first + items.len() - at) {
                *slot = row;
            }
        }
        self.repeated.extend_from_slice(&repeated);
    }

    /// Sorts all places by item and sequence.
    fn order_by_item(&mut self) {
        let mut keys = Vec::with_capacity(self.items.len());
        for sequence in 0..self.len() {
            let items = self.between(self.start(sequence), self.end(sequence));
            keys.extend(items.iter().map(|item| item * self.len() + sequence));
            keys.push(self.kinds as u32 * self.len());
        }
        (self.offsets, self.places) = by_item(&keys, self.kinds * self.starts.len() + 1);
    }
}

/// Marks the end of a sequence.
const NONE: u32 = u32::MAX;
/// Number of places below which a search is linear.
const FEW: usize = 8;

/// Positions by item: the start of each item's positions, and all positions.
pub fn by_item(items: &[u32], kinds: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; kinds + 1];
    for &item in items {
        if let Some(count) = starts.get_mut(item as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut positions = vec![0u32; items.len()];
    for (position, &item) in items.iter().enumerate() {
        if let Some(at) = next.get_mut(item as usize) {
            if let Some(slot) = positions.get_mut(*at as usize) {
                *slot = position as u32;
            }
            *at += 1;
        }
    }
    (starts, positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_says_what_looking_says(
            list in proptest::collection::vec(
                (proptest::collection::vec(0u32..70, 0..150), 1u32..4), 1..5),
            from in 0u32..150,
            item in 0u32..70,
        ) {
            let index = SequenceIndex::new(70, list.clone());
            let mut list = list;
            list.sort_by_key(|(items, weight)| (*weight, items.len()));
            for (sequence, (items, weight)) in (0..).zip(&list) {
                let from = from.min(items.len() as u32);
                let at = |position: &usize| items[*position] == item;
                let place = |position| index.start(sequence) + position as u32;
                let next = (from as usize..items.len()).find(at).map(place);
                let last = (0..from as usize).rev().find(at).map(place);
                let begin = index.start(sequence) + from;
                prop_assert_eq!(index.next(item, sequence, begin), next);
                prop_assert_eq!(index.last(item, sequence, begin), last);
                let row = index.coming(begin);
                prop_assert_eq!(has(&index.words()[row..row + 2], item), next.is_some());
                let (all, repeated) = index.sets(sequence);
                let count = items.iter().filter(|other| **other == item).count();
                prop_assert_eq!((has(all, item), has(repeated, item)), (count > 0, count > 1));
                prop_assert_eq!(index.weight(sequence), *weight);
                let end = index.end(sequence);
                prop_assert_eq!(index.between(index.start(sequence), end), &items[..]);
            }
        }
    }

    #[test]
    fn items_are_taken_in_order() {
        let mut set = vec![0; 2];
        [70, 3, 64].into_iter().for_each(|item| put(&mut set, item));
        let taken: Vec<u32> = std::iter::from_fn(|| take(&mut set)).collect();
        assert_eq!(taken, [3, 64, 70]);
    }
}
