//! Insertions into a pattern that leave its support unchanged: BIDE's backward extension and BackScan.

use super::super::sequences::{SequenceIndex, drop_from, has, put, take};
use super::ProjectedSequence;

/// Number of sequences whose common items are computed first; if there are any, comparing places decides
/// sooner.
const FEW: usize = 32;

/// Items that the sequences of a pattern share beside it: only these can be inserted.
#[derive(Debug)]
struct SharedItems {
    own: Vec<u64>,
    items: Vec<u64>,
    /// Number of sequences and places examined.
    looked: u64,
}

impl SharedItems {
    /// Makes buffers for sets of `width` words.
    fn new(width: usize) -> SharedItems {
        SharedItems {
            own: vec![0; width],
            items: vec![0; width],
            looked: 0,
        }
    }

    /// Starts with another pattern.
    fn begin(&mut self, pattern: &[u32]) {
        self.own.fill(0);
        self.items.fill(u64::MAX);
        self.looked = 0;
        pattern.iter().for_each(|item| put(&mut self.own, *item));
    }

    /// Keeps the items that this sequence also has; an item of the pattern must occur once more. Returns
    /// whether some are left.
    #[inline]
    fn keep(&mut self, (all, repeated): (&[u64], &[u64])) -> bool {
        self.looked += 1;
        let mut left = 0;
        let sets = all.iter().zip(repeated).zip(&self.own);
        for (items, ((all, repeated), own)) in self.items.iter_mut().zip(sets) {
            *items &= (all & !own) | (repeated & own);
            left |= *items;
        }
        left != 0
    }
}

/// Possible insertions into a pattern: BIDE's periods of one sequence, and the items that fit into those of
/// all sequences so far.
#[derive(Debug)]
pub struct Insertions {
    /// For each item of the pattern: the start of its period, after the first occurrence of its prefix ...
    begins: Vec<u32>,
    /// ... and its end, the item's last occurrence before the end of the next item's. In reverse order: the
    /// last item's comes first.
    ends: Vec<u32>,
    /// Insertions as gap and item.
    list: Vec<(u32, u32)>,
    untold: Vec<u64>,
    shared: SharedItems,
}

impl Insertions {
    /// Makes buffers for sets of `width` words.
    pub fn new(width: usize) -> Insertions {
        Insertions {
            begins: Vec::new(),
            ends: Vec::new(),
            list: Vec::new(),
            untold: Vec::new(),
            shared: SharedItems::new(width),
        }
    }

    /// Returns whether no item can be inserted anywhere before the last occurrence of the pattern's last item
    /// in all its sequences.
    pub fn complete(
        &mut self,
        data: &SequenceIndex,
        pattern: &[u32],
        sequences: impl Iterator<Item = u32> + Clone,
    ) -> bool {
        self.shared.begin(pattern);
        let few = sequences.clone().take(FEW);
        let mut sets = few.map(|sequence| data.sets(sequence));
        if !sets.all(|sets| self.shared.keep(sets)) {
            return true;
        }
        self.list.clear();
        for (n, sequence) in sequences.enumerate() {
            self.find(data, sequence, pattern, data.end(sequence));
            if n == 0 {
                self.gather(data, sequence);
            } else {
                self.shared.looked += 1 + self.list.len() as u64;
                self.filter(data, sequence);
            }
            if self.list.is_empty() {
                return true;
            }
        }
        false
    }

    /// Number of sequences and places examined for the last pattern.
    pub fn looked(&self) -> u64 {
        self.shared.looked
    }

    /// Returns whether one of the insertions found fits before the first occurrence in all the sequences.
    pub fn before_first(
        &mut self,
        data: &SequenceIndex,
        entries: &[ProjectedSequence],
        pattern: &[u32],
    ) -> bool {
        entries.iter().all(|entry| {
            self.find(data, entry.sequence, pattern, entry.from);
            self.filter(data, entry.sequence);
            !self.list.is_empty()
        })
    }

    fn find(&mut self, data: &SequenceIndex, sequence: u32, pattern: &[u32], end: u32) {
        self.begins.clear();
        let mut begin = data.start(sequence);
        for &item in pattern {
            self.begins.push(begin);
            begin = data
                .next(item, sequence, begin)
                .map_or(end, |place| place + 1);
        }
        self.ends.clear();
        let mut end = end;
        for &item in pattern.iter().rev() {
            end = data.last(item, sequence, end).unwrap_or(0);
            self.ends.push(end);
        }
    }

    /// Gathers all insertions that the sequence allows.
    fn gather(&mut self, data: &SequenceIndex, sequence: u32) {
        let items = &self.shared.items;
        let many: u32 = items.iter().map(|word| word.count_ones()).sum();
        let gaps = self.begins.iter().zip(self.ends.iter().rev());
        for ((&begin, &end), gap) in gaps.zip(0..) {
            self.untold.clear();
            self.untold.extend_from_slice(items);
            if end.saturating_sub(begin) < many {
                for &item in data.between(begin, end) {
                    if has(&self.untold, item) {
                        drop_from(&mut self.untold, item);
                        self.list.push((gap, item));
                    }
                }
            } else {
                while let Some(item) = take(&mut self.untold) {
                    if fits(data, item, sequence, begin, end) {
                        self.list.push((gap, item));
                    }
                }
            }
        }
    }

    fn filter(&mut self, data: &SequenceIndex, sequence: u32) {
        let (begins, ends) = (&self.begins, &self.ends);
        self.list.retain(|&(gap, item)| {
            let behind = (ends.len() - 1).checked_sub(gap as usize);
            let end = behind.and_then(|behind| ends.get(behind));
            match (begins.get(gap as usize), end) {
                (Some(&begin), Some(&end)) => fits(data, item, sequence, begin, end),
                _ => false,
            }
        });
    }
}

fn fits(data: &SequenceIndex, item: u32, sequence: u32, begin: u32, end: u32) -> bool {
    data.next(item, sequence, begin)
        .is_some_and(|place| place < end)
}
