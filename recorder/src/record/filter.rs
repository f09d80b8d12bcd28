//! Filter of accesses that have never met another thread's: runs can pass them over when threads are chosen, so that
//! the few steps that matter are tried more often.
//!
//! One run proves little: accesses that meet only in rare orders would be passed over for ever. So the list is made
//! from all runs of a campaign and made again after each, and half of the runs pass nothing over; of long runs a quarter.

use super::length::Length;
use crate::digest::{CampaignPlaces, Digest};
use rustc_hash::FxHashSet;

/// Number of runs before the first one that passes places over.
const ENOUGH_RUNS: u64 = 16;
/// Number of runs in a row that pass places over, and then as many that do not: a round of the portfolio.
const ROUND: u64 = 8;

/// The same for long runs, one of which shows as much as several short ones.
const ENOUGH_LONG_RUNS: u64 = 2;
/// Rounds of long runs among which one passes nothing over.
const LONG_ROUNDS: u64 = 4;

/// Number of the first runs of a campaign from which a divided one learns: to the end of the first round that passes places
/// over, whose length has to be known, too.
pub(super) const LEARNED_FROM: u64 = ENOUGH_RUNS + ROUND;

/// The places that the runs of a campaign have shown so far.
#[derive(Default)]
pub(super) struct Filter {
    /// Places in the program, by their distance from its start.
    seen: FxHashSet<u32>,
    meet: FxHashSet<u32>,
    /// Those that were seen and never met, in order.
    quiet: Vec<u32>,
    /// Of the runs that passed places over.
    length: Length<{ ROUND as usize }>,
}

impl Filter {
    /// The places that the run with this number passes over, as far as the runs before it show nothing new; empty when it
    /// passes over none.
    pub fn at(&self, number: u64, are_long: bool) -> &[u32] {
        let (enough, rounds) = match are_long {
            true => (ENOUGH_LONG_RUNS, LONG_ROUNDS),
            false => (ENOUGH_RUNS, 2),
        };
        let passes_nothing_over = number / ROUND % rounds == rounds - 1;
        match number < enough || passes_nothing_over {
            true => &[],
            false => &self.quiet,
        }
    }

    /// PCT's k for such runs. `None` before the first.
    pub fn steps(&self) -> Option<u64> {
        self.length.get()
    }

    /// Learns from a run; `quiet_steps` is the number of its steps, if it passed places over.
    pub fn add(&mut self, digest: &Digest, places: &CampaignPlaces, quiet_steps: Option<u64>) {
        quiet_steps
            .into_iter()
            .for_each(|steps| self.length.measure(steps));
        let before = (self.seen.len(), self.meet.len());
        let rows = places.rows();
        for (place, has_met) in &digest.accesses {
            // What libraries do is never passed over.
            let offset = rows.get(*place).and_then(|row| row.offset);
            self.seen.extend(offset);
            self.meet.extend(offset.filter(|_| *has_met));
        }
        if before != (self.seen.len(), self.meet.len()) {
            self.list();
        }
    }

    fn list(&mut self) {
        self.quiet = self.seen.difference(&self.meet).copied().collect();
        self.quiet.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_take_turns() {
        let mut filter = Filter::default();
        filter.seen.extend([1, 2]);
        filter.meet.insert(2);
        filter.list();
        let passes = |are_long| -> Vec<bool> {
            let runs = 0..48;
            runs.map(|number| !filter.at(number, are_long).is_empty())
                .collect()
        };
        let count = |passes: &[bool]| passes.iter().filter(|passes| **passes).count();
        assert_eq!(
            (count(&passes(false)[..16]), count(&passes(false)[16..])),
            (0, 16)
        );
        assert_eq!(
            (count(&passes(true)[..16]), count(&passes(true)[16..])),
            (14, 24)
        );
        assert_eq!(filter.at(16, false), [1]);
    }
}
