//! Closed sequential patterns: frequent subsequences without a longer one of the same frequency.
//!
//! The search is depth first as in PrefixSpan (Algorithm 1 of [mining]), with the tests of BIDE: a pattern is
//! closed when no item can be appended or inserted (forward and backward extension) in all sequences that
//! have it; where an item can be inserted before its *first* occurrence everywhere, neither the pattern nor
//! any extension of it is closed (BackScan). Projections are places on one stack; the supports of all
//! extensions of a pattern are counted at once ([`Counter`]), so a pattern costs no allocation.
//!
//! Most of the work is avoided:
//!
//! * An item that can be inserted into a pattern occurs in all its sequences. Mostly there is none, as a few
//!   of the sequences show; only otherwise are the places in them compared ([`Insertions`]).
//! * An item that can be appended to `P x` can be appended to `P` and to `x` (as in CM-ClaSP). Mostly there
//!   is none, and then `P x`, whose support is known, is projected no further than the first point needs.
//! * An item that can be inserted before the first occurrence can be inserted somewhere: BackScan runs only
//!   for patterns that are not closed.
//! * Patterns of the longest length need only their support, which `P` has counted.
//!
//! With a longest length, closed means closed among the patterns up to that length: a pattern of the longest
//! length always is, and BackScan cannot prune a prefix.

mod insertions;
#[cfg(test)]
mod tests;

use super::{
    counter::{Counter, TOGETHER},
    sequences::{SequenceIndex, items, take},
};
use crate::{Budget, StopReason};
use insertions::Insertions;
use std::ops::Range;

/// Limits of the search for patterns.
#[derive(Clone, Copy, Debug)]
pub struct PatternLimits {
    /// Minimum support: sum of the weights of the sequences that have a pattern; at least 1 is taken.
    pub least: u32,
    /// Length of the longest patterns.
    pub longest: Option<usize>,
    /// Effort after which the search gives up, in places of sequences examined.
    pub effort: Option<u64>,
}

/// Filter of extensions that cannot lead to patterns the caller wants.
pub trait Guide {
    /// Removes items from `next`, with which `pattern` would be extended; `left` more items can follow.
    fn restrict(&self, pattern: &[u32], left: usize, next: &mut [u64]);

    /// Returns whether the caller wants this pattern reported, if it is closed.
    fn wants(&self, pattern: &[u32]) -> bool;
}

/// Guide that filters nothing.
#[derive(Clone, Copy, Debug)]
pub struct Everything;

impl Guide for Everything {
    fn restrict(&self, _: &[u32], _: usize, _: &mut [u64]) {}

    fn wants(&self, _: &[u32]) -> bool {
        true
    }
}

/// The sequences to mine.
#[derive(Debug)]
pub struct SequencesToMine {
    index: SequenceIndex,
}

impl SequencesToMine {
    /// Sequences of items below `kinds`, each with the number of equal ones that it stands for.
    pub fn new(kinds: usize, list: impl IntoIterator<Item = (Vec<u32>, u32)>) -> SequencesToMine {
        SequencesToMine {
            index: SequenceIndex::new(kinds, list.into_iter().collect()),
        }
    }

    /// Sum of the weights.
    pub fn weight(&self) -> u32 {
        self.index.total()
    }

    /// Calls back for each closed pattern with its support, in lexicographic order, until `found` returns
    /// `false`. Returns the reason of an early stop, if any.
    pub fn mine(
        &self,
        limits: &PatternLimits,
        guide: &impl Guide,
        budget: &Budget,
        found: impl FnMut(&[u32], u32) -> bool,
    ) -> Option<StopReason> {
        let mut search = ClosedSearch::new(&self.index, limits, guide, found);
        search.run(budget)
    }
}

/// Number of patterns between two polls of the budget.
const POLL: u32 = 256;

/// Number of entries between two checks whether a pattern can have frequent extensions.
const BLOCK: usize = 32;

/// A sequence of the projection of a pattern.
#[derive(Clone, Copy, Debug)]
struct ProjectedSequence {
    sequence: u32,
    /// First place after the pattern's first occurrence.
    from: u32,
}

/// A pattern whose extensions are being tried.
struct PatternFrame {
    /// Start of its projection.
    entries: usize,
    /// Start of the supports of its extensions.
    supports: usize,
    /// Position of the support of the next extension.
    tried: usize,
}

struct ClosedSearch<'a, G, F> {
    data: &'a SequenceIndex,
    least: u32,
    longest: usize,
    effort: u64,
    bounded: bool,
    guide: &'a G,
    found: F,
    pattern: Vec<u32>,
    frames: Vec<PatternFrame>,
    entries: Vec<ProjectedSequence>,
    /// Frequent extensions, a set for each frame.
    frequent: Vec<u64>,
    /// Extensions still to be tried.
    next: Vec<u64>,
    /// Supports of the extensions to try.
    supports: Vec<u32>,
    /// Items that can extend the pattern; only these are counted.
    hopeful: Vec<u64>,
    counter: Counter,
    /// For each item: the start of its set in `followers`, once computed.
    follows: Vec<Option<usize>>,
    /// Sets of the items that are frequent after an item.
    followers: Vec<u64>,
    insertions: Insertions,
}

impl<'a, G: Guide, F: FnMut(&[u32], u32) -> bool> ClosedSearch<'a, G, F> {
    fn new(data: &'a SequenceIndex, limits: &PatternLimits, guide: &'a G, found: F) -> Self {
        let width = data.width();
        ClosedSearch {
            data,
            least: limits.least.max(1),
            longest: limits.longest.unwrap_or(usize::MAX),
            effort: limits.effort.unwrap_or(u64::MAX),
            bounded: limits.longest.is_some(),
            guide,
            found,
            pattern: Vec::new(),
            frames: Vec::new(),
            entries: Vec::new(),
            frequent: Vec::new(),
            next: Vec::new(),
            supports: Vec::new(),
            hopeful: vec![u64::MAX; width],
            counter: Counter::new(width, data.total()),
            follows: vec![None; data.kinds()],
            followers: Vec::new(),
            insertions: Insertions::new(width),
        }
    }

    fn run(&mut self, budget: &Budget) -> Option<StopReason> {
        let data = self.data;
        self.entries
            .extend((0..data.len()).map(|sequence| ProjectedSequence {
                sequence,
                from: data.start(sequence),
            }));
        self.counter.begin(&self.hopeful);
        self.count(0..self.entries.len());
        self.expand(0, data.total());
        let mut go_on = self.longest != 1 || self.report_longest();
        let mut polls = 0;
        while go_on && !self.frames.is_empty() {
            polls += 1;
            if polls % POLL == 0
                && let Some(reason) = budget.stop()
            {
                return Some(reason);
            }
            if self.effort == 0 {
                return Some(StopReason::TooMuch("patterns"));
            }
            match self.take() {
                Some((item, support)) => go_on = self.extend(item, support),
                None => self.leave(),
            }
        }
        None
    }

    /// Takes the next extension of the last frame, with its support.
    fn take(&mut self) -> Option<(u32, u32)> {
        let start = self.next.len() - self.data.width();
        let item = take(self.next.get_mut(start..).unwrap_or(&mut []))?;
        let frame = self.frames.last_mut()?;
        let support = self.supports.get(frame.tried).copied().unwrap_or(0);
        frame.tried += 1;
        Some((item, support))
    }

    /// Tries the pattern with this item appended; `false` when the caller has enough.
    fn extend(&mut self, item: u32, support: u32) -> bool {
        self.hope(item);
        self.pattern.push(item);
        let to = self.entries.len();
        if let Some(rest) = self.grow(item, support) {
            let is_told = self.guide.wants(&self.pattern) && self.is_closed_leaf(item, to, rest);
            let go_on = !is_told || (self.found)(&self.pattern, support);
            self.entries.truncate(to);
            self.pattern.pop();
            return go_on;
        }
        let is_told = match self.bounded {
            true => {
                let is_extended = self.expand(to, support);
                !is_extended && self.guide.wants(&self.pattern) && self.is_complete(to)
            }
            false => {
                let is_complete = self.is_complete(to);
                if !is_complete && self.is_pruned(to) {
                    self.entries.truncate(to);
                    self.pattern.pop();
                    return true;
                }
                !self.expand(to, support) && is_complete && self.guide.wants(&self.pattern)
            }
        };
        let go_on = !is_told || (self.found)(&self.pattern, support);
        let is_last = self.pattern.len() + 1 == self.longest;
        go_on && (!is_last || self.report_longest())
    }

    /// `true` if no item can be inserted into the pattern in all its sequences; its projection begins at
    /// `entries`.
    fn is_complete(&mut self, entries: usize) -> bool {
        let entries = self.entries.get(entries..).unwrap_or(&[]);
        let sequences = entries.iter().map(|entry| entry.sequence);
        let is_complete = self
            .insertions
            .complete(self.data, &self.pattern, sequences);
        self.spend(self.insertions.looked());
        is_complete
    }

    /// BackScan: `true` if an insertion that was just found also fits before the first occurrence, so that no
    /// extension of the pattern is closed.
    fn is_pruned(&mut self, entries: usize) -> bool {
        let entries = self.entries.get(entries..).unwrap_or(&[]);
        self.insertions
            .before_first(self.data, entries, &self.pattern)
    }

    /// Projects the pattern, which ends with this item, and counts its extensions. Stops as soon as too many
    /// sequences lack every extension, and returns the entry at which it stopped.
    fn grow(&mut self, item: u32, support: u32) -> Option<usize> {
        let (from, to) = (self.frame(), self.entries.len());
        let spare = support.saturating_sub(self.least);
        let (mut counted, mut seen) = (to, 0);
        let mut is_hopeful = self.counter.begin(&self.hopeful);
        for start in (from..to).step_by(BLOCK) {
            if !is_hopeful {
                return Some(start);
            }
            self.project(item, start..to.min(start + BLOCK));
            let whole = (self.entries.len() - counted) / TOGETHER * TOGETHER;
            seen += self.count(counted..counted + whole);
            counted += whole;
            is_hopeful = seen <= spare || self.counter.narrow(seen - spare, &mut self.hopeful);
        }
        self.count(counted..self.entries.len());
        (!is_hopeful).then_some(to)
    }

    /// Counts the items after these entries; returns the sum of the entries' weights.
    fn count(&mut self, entries: Range<usize>) -> u32 {
        let data = self.data;
        let sets = data.words();
        let (chunks, rest) = self
            .entries
            .get(entries)
            .unwrap_or(&[])
            .as_chunks::<TOGETHER>();
        let mut seen = 0;
        for all in chunks {
            let weights = all.map(|entry| data.weight(entry.sequence));
            seen += weights.iter().sum::<u32>();
            let [first, .., last] = weights;
            // They are in the order of weights.
            if first == last {
                self.counter
                    .add_all(sets, &all.map(|entry| data.coming(entry.from)), first);
            } else {
                for (entry, weight) in all.iter().zip(weights) {
                    self.counter.add(sets, data.coming(entry.from), weight);
                }
            }
        }
        for entry in rest {
            let weight = data.weight(entry.sequence);
            seen += weight;
            self.counter.add(sets, data.coming(entry.from), weight);
        }
        seen
    }

    /// Returns whether the pattern that ends with this item and cannot be extended is closed. Its projection
    /// begins at `own` and lacks the last frame's entries from `rest` on; no more of them are examined than
    /// necessary.
    fn is_closed_leaf(&mut self, item: u32, own: usize, rest: usize) -> bool {
        let data = self.data;
        let rest = self.entries.get(rest..own).unwrap_or(&[]).iter();
        let having = rest.filter(|entry| data.next(item, entry.sequence, entry.from).is_some());
        let own = self.entries.get(own..).unwrap_or(&[]).iter();
        let sequences = own.chain(having).map(|entry| entry.sequence);
        let is_closed = self.insertions.complete(data, &self.pattern, sequences);
        self.spend(self.insertions.looked());
        is_closed
    }

    /// Computes the items that could extend the last frame's pattern with this item: those frequent both
    /// after the pattern and after the item.
    fn hope(&mut self, item: u32) {
        let width = self.data.width();
        let followers = match self.pattern.is_empty() {
            true => self.frequent.get(..width),
            false => {
                let start = self.follow(item);
                self.followers.get(start..start + width)
            }
        };
        let frequent = self.frequent.get(self.frequent.len() - width..);
        let both = frequent.unwrap_or(&[]).iter().zip(followers.unwrap_or(&[]));
        for (hopeful, (frequent, follows)) in self.hopeful.iter_mut().zip(both) {
            *hopeful = frequent & follows;
        }
    }

    /// Start of the set of items that are frequent after the item, computed on first use.
    fn follow(&mut self, item: u32) -> usize {
        if let Some(Some(start)) = self.follows.get(item as usize) {
            return *start;
        }
        let (from, start) = (self.entries.len(), self.followers.len());
        let width = self.data.width();
        self.project(item, 0..self.data.len() as usize);
        self.counter
            .begin(self.frequent.get(..width).unwrap_or(&[]));
        self.count(from..self.entries.len());
        self.entries.truncate(from);
        self.followers.resize(start + width, 0);
        let set = self.followers.get_mut(start..).unwrap_or(&mut []);
        self.counter.compare(self.least, 0, set);
        if let Some(slot) = self.follows.get_mut(item as usize) {
            *slot = Some(start);
        }
        start
    }

    /// Adds a projection: those of these entries in which the item occurs.
    fn project(&mut self, item: u32, of: Range<usize>) {
        self.spend(of.len() as u64);
        self.entries.reserve(of.len());
        for at in of {
            let Some(&ProjectedSequence { sequence, from }) = self.entries.get(at) else {
                continue;
            };
            if let Some(place) = self.data.next(item, sequence, from) {
                let from = place + 1;
                self.entries.push(ProjectedSequence { sequence, from });
            }
        }
    }

    /// Notes the extensions of the pattern to try; returns whether one of all extensions is as frequent as
    /// the pattern.
    fn expand(&mut self, entries: usize, support: u32) -> bool {
        let start = self.frequent.len();
        self.frequent.resize(start + self.data.width(), 0);
        let frequent = self.frequent.get_mut(start..).unwrap_or(&mut []);
        let is_extended = self.counter.compare(self.least, support, frequent);
        self.next.extend_from_slice(frequent);
        let next = self.next.get_mut(start..).unwrap_or(&mut []);
        let left = self.longest.saturating_sub(self.pattern.len());
        self.guide.restrict(&self.pattern, left, next);
        let supports = self.supports.len();
        self.supports
            .extend(items(next).map(|item| self.counter.count(item)));
        self.frames.push(PatternFrame {
            entries,
            supports,
            tried: supports,
        });
        is_extended
    }

    /// Reports all extensions of the last frame, which are closed since they have the longest length.
    fn report_longest(&mut self) -> bool {
        while let Some((item, support)) = self.take() {
            self.spend(1);
            self.pattern.push(item);
            let go_on = (self.found)(&self.pattern, support);
            self.pattern.pop();
            if !go_on {
                return false;
            }
        }
        true
    }

    fn spend(&mut self, places: u64) {
        self.effort = self.effort.saturating_sub(places);
    }

    /// Start of the projection of the last frame.
    fn frame(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.entries)
    }

    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.entries.truncate(frame.entries);
            self.supports.truncate(frame.supports);
            self.frequent
                .truncate(self.frequent.len() - self.data.width());
            self.next.truncate(self.next.len() - self.data.width());
        }
        self.pattern.pop();
    }
}
