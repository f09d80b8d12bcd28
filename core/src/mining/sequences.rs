//! Sequences of small numbers, indexed by where each number comes next: what the miner works on.
//!
//! An index costs memory in proportion to the sequence, not to sequence times numbers: positions by
//! number; and the numbers that are still to come, kept once for each place where they become fewer.

/// A sequence with its index.
#[derive(Debug)]
pub struct Sequence {
    weight: u32,
    items: Vec<u32>,
    /// Where each item's positions begin in `positions`.
    starts: Vec<u32>,
    positions: Vec<u32>,
    /// Sequences of at most 64 items: each item's positions as bits.
    bits: Vec<u64>,
    /// For each position: how many different items are still to come.
    different: Vec<u32>,
    /// For each such number: which.
    coming: Vec<u64>,
    width: usize,
}

/// Words of a set of so many items.
pub fn width(kinds: usize) -> usize {
    kinds.div_ceil(64)
}

/// Puts an item into a set.
pub fn put(set: &mut [u64], item: u32) {
    if let Some(word) = set.get_mut(item as usize / 64) {
        *word |= 1 << (item % 64);
    }
}

/// Is the item in the set?
pub fn has(set: &[u64], item: u32) -> bool {
    set.get(item as usize / 64)
        .is_some_and(|word| word >> (item % 64) & 1 == 1)
}

/// The smallest item of a set is taken out.
pub fn take(set: &mut [u64]) -> Option<u32> {
    let (at, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros();
    *word &= *word - 1;
    Some(at as u32 * 64 + bit)
}

impl Sequence {
    /// A sequence of items below `kinds` that stands for `weight` equal ones.
    pub fn new(items: Vec<u32>, kinds: usize, weight: u32) -> Sequence {
        let (starts, positions) = by_item(&items, kinds);
        let mut bits = Vec::new();
        if items.len() <= 64 {
            bits = vec![0u64; kinds];
            for (position, &item) in items.iter().enumerate() {
                if let Some(word) = bits.get_mut(item as usize) {
                    *word |= 1 << position;
                }
            }
        }
        let (different, coming) = still_to_come(&items, width(kinds));
        Sequence {
            weight,
            items,
            starts,
            positions,
            bits,
            different,
            coming,
            width: width(kinds),
        }
    }

    /// How many equal sequences it stands for.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Number of items.
    pub fn len(&self) -> u32 {
        self.items.len() as u32
    }

    /// The items from one position to before another.
    pub fn between(&self, from: u32, to: u32) -> &[u32] {
        self.items.get(from as usize..to as usize).unwrap_or(&[])
    }

    /// First position of the item that is not before `from`.
    #[inline]
    pub fn next(&self, item: u32, from: u32) -> Option<u32> {
        if let Some(word) = self.bits.get(item as usize) {
            let left = word & u64::MAX.unbounded_shl(from);
            return (left != 0).then(|| left.trailing_zeros());
        }
        let positions = self.positions(item);
        positions
            .get(positions.partition_point(|&position| position < from))
            .copied()
    }

    /// Last position of the item before `end`.
    #[inline]
    pub fn last(&self, item: u32, end: u32) -> Option<u32> {
        if let Some(word) = self.bits.get(item as usize) {
            let left = word & !u64::MAX.unbounded_shl(end);
            return (left != 0).then(|| 63 - left.leading_zeros());
        }
        let positions = self.positions(item);
        let before = positions.partition_point(|&position| position < end);
        positions.get(before.checked_sub(1)?).copied()
    }

    /// The items at `from` or later, as a set.
    #[inline]
    pub fn coming(&self, from: u32) -> &[u64] {
        let different = self.different.get(from as usize).copied().unwrap_or(0) as usize;
        self.coming
            .get(different * self.width..(different + 1) * self.width)
            .unwrap_or(&[])
    }

    fn positions(&self, item: u32) -> &[u32] {
        let at = |item: usize| self.starts.get(item).map_or(0, |&start| start as usize);
        self.positions
            .get(at(item as usize)..at(item as usize + 1))
            .unwrap_or(&[])
    }
}

/// Positions by item: where each item's begin, and all of them.
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

fn still_to_come(items: &[u32], width: usize) -> (Vec<u32>, Vec<u64>) {
    let mut different = vec![0; items.len() + 1];
    let mut coming = vec![0u64; width];
    let mut set = vec![0u64; width];
    let mut count = 0;
    for (position, &item) in items.iter().enumerate().rev() {
        if !has(&set, item) {
            put(&mut set, item);
            coming.extend_from_slice(&set);
            count += 1;
        }
        if let Some(slot) = different.get_mut(position) {
            *slot = count;
        }
    }
    (different, coming)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_says_what_looking_says(
            items in proptest::collection::vec(0u32..70, 0..150),
            from in 0u32..150,
            item in 0u32..70,
        ) {
            let sequence = Sequence::new(items.clone(), 70, 1);
            let from = from.min(items.len() as u32);
            let at = |position: &usize| items[*position] == item;
            let next = (from as usize..items.len()).find(at).map(|position| position as u32);
            let last = (0..from as usize).rev().find(at).map(|position| position as u32);
            prop_assert_eq!(sequence.next(item, from), next);
            prop_assert_eq!(sequence.last(item, from), last);
            prop_assert_eq!(has(sequence.coming(from), item), next.is_some());
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
