//! Ranges of memory that were written as a whole; each has constant cost, whatever its length.

use std::collections::BTreeMap;

/// Disjoint ranges by their start; each is filled with one byte, or unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, (u64, Option<u8>)>);

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes `from..to` one range; parts of others beyond it stay.
    pub fn set(&mut self, from: u64, to: u64, byte: Option<u8>) {
        if from >= to {
            return;
        }
        let touched: Vec<(u64, (u64, Option<u8>))> = self
            .0
            .range(..to)
            .rev()
            .take_while(|(_, (end, _))| *end > from)
            .map(|(start, range)| (*start, *range))
            .collect();
        for (start, (end, byte)) in touched {
            self.0.remove(&start);
            if start < from {
                self.0.insert(start, (from, byte));
            }
            if end > to {
                self.0.insert(to, (end, byte));
            }
        }
        self.0.insert(from, (to, byte));
    }

    /// All ranges in `from..to`, with `below` where there is none.
    pub fn within(&self, from: u64, to: u64, below: Option<u8>) -> Vec<(u64, u64, Option<u8>)> {
        let before = self.0.range(..from).next_back();
        let own = before.into_iter().chain(self.0.range(from..to));
        let (mut found, mut at) = (Vec::new(), from);
        for (&start, &(end, byte)) in own.filter(|(_, (end, _))| *end > from) {
            if start > at {
                found.push((at, start, below));
            }
            found.push((start.max(from), end.min(to), byte));
            at = end.min(to);
        }
        if at < to {
            found.push((at, to, below));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_range_counts() {
        let mut ranges = Ranges::default();
        assert!(ranges.is_empty());
        ranges.set(10, 30, Some(1));
        ranges.set(15, 20, None);
        ranges.set(28, 40, Some(2));
        assert_eq!(
            ranges.within(5, 45, Some(0)),
            [
                (5, 10, Some(0)),
                (10, 15, Some(1)),
                (15, 20, None),
                (20, 28, Some(1)),
                (28, 40, Some(2)),
                (40, 45, Some(0)),
            ]
        );
        assert_eq!(ranges.within(12, 14, None), [(12, 14, Some(1))]);
        ranges.set(0, 100, Some(3));
        assert_eq!(ranges.within(20, 30, None), [(20, 30, Some(3))]);
    }
}
