//! Which accesses of a program have never met another thread's: runs can pass them over when threads
//! are chosen, so that the few steps that matter are tried more often.
//!
//! What one run shows says little: accesses that meet only in rare orders would be passed over for ever.
//! So the list is made from all runs of a campaign and made again after each, and half of the runs
//! pass nothing over.

use super::{conflicts::Conflicts, order::Touch};
use crate::assemble::RawLog;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::raw::{Record, RecordKind};

/// A word of memory that the run has touched.
#[derive(Default)]
struct Word {
    /// Where it was touched from, as long as nobody else's access met it.
    places: Vec<u32>,
    meets: bool,
}

/// Places from which one word is touched that are told apart; with more it counts as meeting.
const MOST_PLACES: usize = 24;
/// Words of a range that are looked at one by one; longer ranges count as meeting.
const MOST_WORDS: u64 = 64;
/// Runs before the first one that passes places over.
const ENOUGH_RUNS: u64 = 16;
/// Runs in a row that pass places over, and then as many that do not: a round of the portfolio.
const ROUND: u64 = 8;

/// What the runs of a campaign have shown so far.
#[derive(Default)]
pub(super) struct Filter {
    runs: u64,
    seen: FxHashSet<u32>,
    meet: FxHashSet<u32>,
    steps: Vec<u64>,
}

impl Filter {
    /// The places that the next run passes over; empty when it passes over none.
    pub fn next(&self) -> Vec<u32> {
        if self.runs < ENOUGH_RUNS || self.runs / ROUND % 2 == 1 {
            return Vec::new();
        }
        let mut quiet: Vec<u32> = self.seen.difference(&self.meet).copied().collect();
        quiet.sort_unstable();
        quiet
    }

    /// PCT's k for such runs: the most steps of the last ones. `None` before the first.
    pub fn steps(&self) -> Option<u64> {
        self.steps.iter().rev().take(ROUND as usize).max().copied()
    }

    /// Learns from a run; `quiet` when it passed places over.
    pub fn add(&mut self, log: &RawLog<'_>, quiet: bool) {
        self.runs += 1;
        if quiet {
            self.steps.push(log.steps());
        }
        let Some(program) = log.modules().find(|module| module.path.is_empty()) else {
            return;
        };
        let place = |pc: u64| {
            let is_inside = (program.start..program.end).contains(&pc);
            u32::try_from(pc - program.start.min(pc))
                .ok()
                .filter(|_| is_inside)
        };
        let mut run = OneRun::default();
        for record in log.records() {
            match RecordKind::from_u8(record.kind) {
                Some(RecordKind::Fork) => run.conflicts.fork(record.thread, record.value as u16),
                Some(RecordKind::Join) => run.conflicts.join(record.thread, record.value as u16),
                Some(kind) => self.access(&mut run, &record, kind, place(record.pc)),
                None => {}
            }
        }
    }

    fn access(&mut self, run: &mut OneRun, record: &Record, kind: RecordKind, place: Option<u32>) {
        use RecordKind as K;
        let (touch, bytes) = match kind {
            K::Read | K::AtomicRead => (Touch::Looks, u64::from(record.size)),
            K::Write | K::AtomicWrite | K::Rmw => (Touch::Changes, u64::from(record.size)),
            K::ReadRange => (Touch::Looks, record.value),
            K::WriteRange => (Touch::Changes, record.value),
            _ => return,
        };
        // What other libraries do counts as a place of its own that is never passed over.
        let place = place.unwrap_or(0);
        self.seen.insert(place);
        let (first, last) = (
            record.addr >> 3,
            record.addr.saturating_add(bytes.max(1) - 1) >> 3,
        );
        if last - first >= MOST_WORDS {
            self.meet.insert(place);
            return;
        }
        for word in first..=last {
            run.touch(word, record.thread, place, touch, &mut self.meet);
        }
    }
}

/// The words of one run.
#[derive(Default)]
struct OneRun {
    conflicts: Conflicts,
    numbers: FxHashMap<u64, usize>,
    words: Vec<Word>,
}

impl OneRun {
    fn touch(
        &mut self,
        word: u64,
        thread: u16,
        place: u32,
        touch: Touch,
        meet: &mut FxHashSet<u32>,
    ) {
        let number = *self.numbers.entry(word).or_insert(self.words.len());
        if number == self.words.len() {
            self.words.push(Word::default());
        }
        let Some(word) = self.words.get_mut(number) else {
            return;
        };
        let mut meets = word.meets;
        self.conflicts
            .touch(number, thread, place, touch, |_| meets = true);
        if !meets && !word.places.contains(&place) {
            word.places.push(place);
            meets = word.places.len() > MOST_PLACES;
        }
        word.meets = meets;
        if meets {
            meet.insert(place);
            meet.extend(word.places.drain(..));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_threads_meet_on_makes_all_its_places_meet() {
        let (mut run, mut meet) = (OneRun::default(), FxHashSet::default());
        let mut touch = |thread, place, touch| {
            run.touch(7, thread, place, touch, &mut meet);
            let mut now: Vec<u32> = meet.iter().copied().collect();
            now.sort_unstable();
            now
        };
        assert_eq!(touch(1, 10, Touch::Changes), [0u32; 0]);
        assert_eq!(touch(1, 11, Touch::Changes), [0u32; 0]);
        assert_eq!(touch(2, 12, Touch::Looks), [10, 11, 12]);
        assert_eq!(touch(1, 13, Touch::Looks), [10, 11, 12, 13]);
    }

    #[test]
    fn rounds_take_turns() {
        let mut filter = Filter::default();
        filter.seen.extend([1, 2]);
        filter.meet.insert(2);
        let passes: Vec<bool> = (0..48)
            .map(|runs| {
                filter.runs = runs;
                !filter.next().is_empty()
            })
            .collect();
        assert!(!passes[..16].contains(&true));
        assert_eq!(passes[16..].iter().filter(|passes| **passes).count(), 16);
        filter.runs = 16;
        assert_eq!(filter.next(), [1]);
    }
}
