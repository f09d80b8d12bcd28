//! Closed sequential patterns: frequent subsequences of which no longer one is as frequent.
//!
//! Depth first as PrefixSpan (Algorithm 1 of [mining]), with the tests of BIDE: a pattern is closed when
//! nothing can be appended and nothing put in between (forward and backward extension) in all sequences
//! that have it; where something can be put before its *first* occurrence everywhere, neither it nor
//! anything that begins with it is closed (BackScan). Projections are positions on one stack; the support
//! of all extensions of a pattern is counted at once ([`Counter`]).
//!
//! With a longest length, closed means closed among the patterns up to that length: a pattern of the
//! longest length always is, and a prefix cannot be given up by BackScan.

use super::{
    counter::Counter,
    sequences::{Sequence, has, put, take, width},
};
use crate::{Budget, StopReason};

/// What to mine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Least sum of the weights of the sequences that have a pattern; at least 1 is taken.
    pub least: u32,
    /// Longest pattern.
    pub longest: Option<usize>,
    /// Work after which to give up: places of sequences that are looked at.
    pub effort: Option<u64>,
}

/// Leaves out extensions of which the caller knows that they lead to nothing it wants.
pub trait Guide {
    /// Takes items out of `next`, with which `pattern` would be extended; `left` more items can come.
    fn restrict(&self, pattern: &[u32], left: usize, next: &mut [u64]);
}

/// Leaves out nothing.
#[derive(Clone, Copy, Debug)]
pub struct Everything;

impl Guide for Everything {
    fn restrict(&self, _: &[u32], _: usize, _: &mut [u64]) {}
}

/// The sequences to mine.
#[derive(Debug)]
pub struct Sequences {
    kinds: usize,
    list: Vec<Sequence>,
}

impl Sequences {
    /// Sequences of items below `kinds`, each with the number of equal ones that it stands for.
    pub fn new(kinds: usize, list: impl IntoIterator<Item = (Vec<u32>, u32)>) -> Sequences {
        let list = list.into_iter();
        Sequences {
            kinds,
            list: list
                .map(|(items, weight)| Sequence::new(items, kinds, weight))
                .collect(),
        }
    }

    /// Sum of the weights.
    pub fn weight(&self) -> u32 {
        self.list.iter().map(Sequence::weight).sum()
    }

    /// Calls back for each closed pattern with its support, in lexicographic order, until `found` says
    /// false. Returns why it stopped early, if it did.
    pub fn mine(
        &self,
        limits: &Limits,
        guide: &impl Guide,
        budget: &Budget,
        found: impl FnMut(&[u32], u32) -> bool,
    ) -> Option<StopReason> {
        let mut search = Search::new(self, limits, guide, found);
        search.run(budget)
    }
}

/// Patterns after which the budget is asked again.
const POLL: u32 = 256;

/// A sequence of the projection of a pattern.
#[derive(Clone, Copy)]
struct Entry {
    sequence: u32,
    /// First position behind the pattern's first occurrence.
    from: u32,
    /// Its entry in the projection of the pattern without its last item.
    parent: u32,
}

struct Frame {
    entries: usize,
    support: u32,
}

struct Search<'a, G, F> {
    data: &'a Sequences,
    width: usize,
    least: u32,
    longest: usize,
    effort: u64,
    bounded: bool,
    guide: &'a G,
    found: F,
    entries: Vec<Entry>,
    frames: Vec<Frame>,
    /// Extensions that are still to be tried, a set for each frame.
    next: Vec<u64>,
    pattern: Vec<u32>,
    counter: Counter,
    equal: Vec<u64>,
    gaps: Gaps,
}

impl<'a, G: Guide, F: FnMut(&[u32], u32) -> bool> Search<'a, G, F> {
    fn new(data: &'a Sequences, limits: &Limits, guide: &'a G, found: F) -> Self {
        let longest = limits.longest.unwrap_or(usize::MAX);
        let width = width(data.kinds);
        Search {
            data,
            width,
            least: limits.least.max(1),
            longest,
            effort: limits.effort.unwrap_or(u64::MAX),
            bounded: limits.longest.is_some(),
            guide,
            found,
            entries: Vec::new(),
            frames: Vec::new(),
            next: Vec::new(),
            pattern: Vec::new(),
            counter: Counter::new(width, data.weight()),
            equal: vec![0; width],
            gaps: Gaps::default(),
        }
    }

    fn run(&mut self, budget: &Budget) -> Option<StopReason> {
        let all = 0..self.data.list.len() as u32;
        self.entries.extend(all.map(|sequence| Entry {
            sequence,
            from: 0,
            parent: 0,
        }));
        self.frames.push(Frame {
            entries: 0,
            support: self.data.weight(),
        });
        self.expand();
        let mut polls = 0;
        while !self.frames.is_empty() {
            polls += 1;
            if polls % POLL == 0
                && let Some(reason) = budget.stop()
            {
                return Some(reason);
            }
            if self.effort == 0 {
                return Some(StopReason::TooMuch("patterns"));
            }
            let start = self.next.len() - self.width;
            match take(self.next.get_mut(start..).unwrap_or(&mut [])) {
                Some(item) => {
                    if !self.extend(item) {
                        return None;
                    }
                }
                None => self.leave(),
            }
        }
        None
    }

    /// Looks at the pattern with this item appended; false when the caller has enough.
    fn extend(&mut self, item: u32) -> bool {
        self.project(item);
        let length = self.pattern.len();
        if !self.bounded && self.insertable(false) {
            self.drop_frame();
            return true;
        }
        let is_longest = length == self.longest;
        if !is_longest {
            self.expand();
        }
        let is_closed =
            is_longest || self.equal.iter().all(|word| *word == 0) && !self.insertable(true);
        let support = self.frames.last().map_or(0, |frame| frame.support);
        let go_on = !is_closed || (self.found)(&self.pattern, support);
        if is_longest {
            self.drop_frame();
        }
        go_on
    }

    fn project(&mut self, item: u32) {
        let from = self.frames.last().map_or(0, |frame| frame.entries);
        let to = self.entries.len();
        self.effort = self.effort.saturating_sub((to - from) as u64);
        let mut support = 0;
        for parent in from..to {
            let Some(entry) = self.entries.get(parent).copied() else {
                continue;
            };
            let Some(sequence) = self.data.list.get(entry.sequence as usize) else {
                continue;
            };
            if let Some(position) = sequence.next(item, entry.from) {
                support += sequence.weight();
                self.entries.push(Entry {
                    sequence: entry.sequence,
                    from: position + 1,
                    parent: parent as u32,
                });
            }
        }
        self.frames.push(Frame {
            entries: to,
            support,
        });
        self.pattern.push(item);
    }

    /// Notes which extensions of the pattern are to be tried.
    fn expand(&mut self) {
        self.count();
        let left = self.longest.saturating_sub(self.pattern.len());
        let start = self.next.len() - self.width;
        let next = self.next.get_mut(start..).unwrap_or(&mut []);
        self.guide.restrict(&self.pattern, left, next);
    }

    /// Counts all extensions of the pattern: those that are frequent, and (in `equal`) as frequent as it.
    fn count(&mut self) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        self.counter.clear();
        for entry in self.entries.get(frame.entries..).unwrap_or(&[]) {
            if let Some(sequence) = self.data.list.get(entry.sequence as usize) {
                self.counter
                    .add(sequence.coming(entry.from), sequence.weight());
            }
        }
        let start = self.next.len();
        self.next.resize(start + self.width, 0);
        let enough = self.next.get_mut(start..).unwrap_or(&mut []);
        self.counter
            .compare(self.least, frame.support, enough, &mut self.equal);
    }

    /// Can an item be put somewhere before the end of the pattern in all sequences that have it? With
    /// `anywhere`: before its last occurrence; otherwise before its first one.
    fn insertable(&mut self, anywhere: bool) -> bool {
        let first = self.frames.last().map_or(0, |frame| frame.entries);
        for at in first..self.entries.len() {
            if !self.narrow(at, at == first, anywhere) {
                return false;
            }
        }
        first < self.entries.len()
    }

    /// Keeps the insertions that this sequence allows; false when none is left.
    fn narrow(&mut self, at: usize, is_first: bool, anywhere: bool) -> bool {
        let Some(entry) = self.entries.get(at).copied() else {
            return false;
        };
        let Some(sequence) = self.data.list.get(entry.sequence as usize) else {
            return false;
        };
        let end = if anywhere { sequence.len() } else { entry.from };
        self.gaps
            .find(&self.entries, entry, &self.pattern, sequence, end);
        if is_first {
            self.gaps.gather(sequence, self.data.kinds);
        } else {
            self.gaps.filter(sequence);
        }
        !self.gaps.insertions.is_empty()
    }

    fn leave(&mut self) {
        self.next.truncate(self.next.len() - self.width);
        self.drop_frame();
    }

    fn drop_frame(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.entries.truncate(frame.entries);
        }
        self.pattern.pop();
    }
}

/// Where items can be put into a pattern: BIDE's periods of one sequence, and what fits into those of all
/// sequences so far.
#[derive(Default)]
struct Gaps {
    /// For each item of the pattern: from behind the first occurrence of what comes before it ...
    begins: Vec<u32>,
    /// ... to its own last occurrence before the end.
    ends: Vec<u32>,
    /// Gap and item.
    insertions: Vec<(u32, u32)>,
    seen: Vec<u64>,
}

impl Gaps {
    fn find(
        &mut self,
        entries: &[Entry],
        entry: Entry,
        pattern: &[u32],
        sequence: &Sequence,
        end: u32,
    ) {
        self.begins.clear();
        self.ends.clear();
        let (mut entry, mut end) = (entry, end);
        for &item in pattern.iter().rev() {
            end = sequence.last(item, end).unwrap_or(0);
            self.ends.push(end);
            if let Some(parent) = entries.get(entry.parent as usize) {
                entry = *parent;
            }
            self.begins.push(entry.from);
        }
    }

    /// All insertions that the sequence allows.
    fn gather(&mut self, sequence: &Sequence, kinds: usize) {
        self.insertions.clear();
        let gaps = self.begins.iter().zip(&self.ends).enumerate();
        for (gap, (&begin, &end)) in gaps {
            if (end.saturating_sub(begin) as usize) < kinds {
                self.seen.clear();
                self.seen.resize(width(kinds), 0);
                for &item in sequence.between(begin, end) {
                    if !has(&self.seen, item) {
                        put(&mut self.seen, item);
                        self.insertions.push((gap as u32, item));
                    }
                }
            } else {
                let fits = |item: &u32| sequence.next(*item, begin).is_some_and(|next| next < end);
                let items = (0..kinds as u32).filter(fits);
                self.insertions.extend(items.map(|item| (gap as u32, item)));
            }
        }
    }

    fn filter(&mut self, sequence: &Sequence) {
        let (begins, ends) = (&self.begins, &self.ends);
        self.insertions.retain(|&(gap, item)| {
            let (Some(&begin), Some(&end)) = (begins.get(gap as usize), ends.get(gap as usize))
            else {
                return false;
            };
            sequence.next(item, begin).is_some_and(|next| next < end)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Closed patterns of sequences.
    fn mined(list: &[Vec<u32>], limits: Limits) -> BTreeMap<Vec<u32>, u32> {
        let weighted = list.iter().map(|items| (items.clone(), 1));
        let data = Sequences::new(130, weighted);
        let mut found = BTreeMap::new();
        let stopped = data.mine(
            &limits,
            &Everything,
            &Budget::unlimited(),
            |pattern, support| {
                assert_eq!(
                    found.insert(pattern.to_vec(), support),
                    None,
                    "reported twice"
                );
                true
            },
        );
        assert_eq!(stopped, None);
        found
    }

    fn subsequences(items: &[u32], longest: usize) -> BTreeSet<Vec<u32>> {
        let mut all = BTreeSet::from([Vec::new()]);
        for &item in items {
            let longer = all.iter().filter(|pattern| pattern.len() < longest);
            let longer: Vec<Vec<u32>> = longer.map(|p| [&p[..], &[item]].concat()).collect();
            all.extend(longer);
        }
        all.remove(&Vec::new());
        all
    }

    fn is_part(small: &[u32], large: &[u32]) -> bool {
        let mut rest = large.iter();
        small.iter().all(|item| rest.any(|other| other == item))
    }

    /// The definition of Section 2.4, word by word.
    fn by_definition(list: &[Vec<u32>], least: u32, longest: usize) -> BTreeMap<Vec<u32>, u32> {
        let mut supports: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for items in list {
            for pattern in subsequences(items, longest) {
                *supports.entry(pattern).or_default() += 1;
            }
        }
        supports.retain(|_, support| *support >= least);
        let is_closed = |(pattern, support): &(&Vec<u32>, &u32)| {
            !supports.iter().any(|(other, of_other)| {
                other.len() > pattern.len() && of_other == *support && is_part(pattern, other)
            })
        };
        let closed = supports.iter().filter(is_closed);
        closed
            .map(|(pattern, support)| (pattern.clone(), *support))
            .collect()
    }

    fn limits(least: u32, longest: Option<usize>) -> Limits {
        Limits {
            least,
            longest,
            effort: None,
        }
    }

    /// Section 2.4: R1 = 0, W1 = 1, R2 = 2, W2 = 3, the four traces of the table.
    fn table_of_section_2_4() -> Vec<Vec<u32>> {
        vec![
            vec![0, 1, 2, 3, 0, 1],
            vec![0, 1, 0, 1, 2, 3],
            vec![0, 2, 1, 3, 0, 1],
            vec![2, 0, 3, 1, 0, 1],
        ]
    }

    #[test]
    fn section_2_4_frequent_patterns_of_the_table() {
        let closed = mined(&table_of_section_2_4(), limits(4, None));
        let support = |pattern: &[u32]| {
            let supers = closed.iter().filter(|(closed, _)| is_part(pattern, closed));
            supers.map(|(_, support)| *support).max()
        };
        assert_eq!(support(&[2, 3]), Some(4), "R2 W2, as the text says");
        assert_eq!(support(&[0, 3]), Some(4), "R1 W2, as the text says");
        assert_eq!(support(&[0, 2]), None, "R1 R2 does not occur in trace 4");
        assert_eq!(
            closed,
            BTreeMap::from([(vec![0, 1, 0, 1], 4), (vec![0, 3], 4), (vec![2, 3], 4)])
        );
    }

    #[test]
    fn longest_length_counts_as_closed() {
        let list = vec![vec![0, 1, 2, 3, 4]; 3];
        assert_eq!(mined(&list, limits(3, None)).len(), 1);
        let bounded = mined(&list, limits(3, Some(3)));
        assert_eq!(bounded.len(), 10, "all patterns of three");
        assert!(bounded.keys().all(|pattern| pattern.len() == 3));
    }

    #[test]
    fn equal_sequences_can_stand_for_each_other() {
        let data = |list: &[(Vec<u32>, u32)]| {
            let data = Sequences::new(4, list.iter().cloned());
            let mut found = Vec::new();
            data.mine(
                &limits(3, None),
                &Everything,
                &Budget::unlimited(),
                |p, s| {
                    found.push((p.to_vec(), s));
                    true
                },
            );
            found
        };
        let (a, b) = (vec![0, 1, 2], vec![1, 0, 2, 3]);
        let single = [
            (a.clone(), 1),
            (a.clone(), 1),
            (b.clone(), 1),
            (b.clone(), 1),
        ];
        assert_eq!(data(&single), data(&[(a, 2), (b, 2)]));
    }

    #[test]
    fn a_long_common_trace_is_one_pattern() {
        let list = vec![(0..100).collect::<Vec<u32>>(); 2];
        let found = mined(&list, limits(2, None));
        assert_eq!(found.keys().map(Vec::len).collect::<Vec<_>>(), [100]);
    }

    #[test]
    fn too_much_work_is_told() {
        let data = Sequences::new(50, (0..4).map(|_| ((0..50).collect(), 1)));
        let limits = Limits {
            effort: Some(100),
            ..limits(2, Some(4))
        };
        let stopped = data.mine(&limits, &Everything, &Budget::unlimited(), |_, _| true);
        assert_eq!(stopped, Some(StopReason::TooMuch("patterns")));
    }

    #[test]
    fn a_spent_budget_is_told() {
        let budget = Budget::unlimited();
        budget.cancel();
        let list = (0..8).map(|k| ((0..60).map(|i| i * (2 * k + 1) % 61).collect(), 1));
        let data = Sequences::new(61, list);
        let stopped = data.mine(&limits(2, None), &Everything, &budget, |_, _| true);
        assert_eq!(stopped, Some(StopReason::Cancelled));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn closed_patterns_are_those_of_the_definition(
            list in proptest::collection::vec(proptest::collection::vec(0u32..5, 0..9), 1..7),
            least in 1u32..5,
            longest in 1usize..7,
        ) {
            prop_assert_eq!(mined(&list, limits(least, None)), by_definition(&list, least, usize::MAX));
            let bounded = by_definition(&list, least, longest);
            prop_assert_eq!(mined(&list, limits(least, Some(longest))), bounded);
        }

        #[test]
        fn long_sequences_are_mined_like_short_ones(
            list in proptest::collection::vec(proptest::collection::vec(0u32..3, 0..7), 1..6),
            least in 1u32..4,
        ) {
            // Padding with a number of its own makes sequences longer than a word of positions.
            let padded = |(n, items): (usize, &Vec<u32>)| {
                let pad = |i: usize| 10 + (n * 20 + i % 20) as u32;
                let mut long: Vec<u32> = (0..70).map(pad).collect();
                long.extend(items);
                long
            };
            let long: Vec<Vec<u32>> = list.iter().enumerate().map(padded).collect();
            let mut short = mined(&list, limits(least.max(2), None));
            short.retain(|_, support| *support >= 2);
            prop_assert_eq!(mined(&long, limits(least.max(2), None)), short);
        }
    }
}
