//! Worth of a run beyond those that are kept: a campaign of long runs keeps few of them.
//!
//! As long as the kept runs are small together, all are kept that differ, and some that do not. Beyond that a passing
//! run is kept for what it shows: places that meet in an order that no kept one has, or that it is nearer to a failing
//! run than all kept ones are, since what the two do not have in common is where the cause lies.

use super::seen::MadeRun;
use crate::digest::{Digest, PlaceMeeting};
use rustc_hash::FxHashSet;

/// Sum of the events of passing runs up to which all that differ are kept.
const PASSING_EVENTS: u64 = 1 << 24;
/// Sum of the events of repeated runs up to which they are kept.
const REPEATED_EVENTS: u64 = 1 << 20;
/// Number of failing runs that passing ones are compared with: the last ones.
const MOST_FAILING: usize = 8;

/// The meetings that the kept runs of a campaign show.
#[derive(Default)]
pub(super) struct Worth {
    /// Events of kept passing runs.
    passing: u64,
    /// Events of kept runs that are like one before.
    repeated: u64,
    /// Meetings of threads in the kept passing runs.
    shown: FxHashSet<PlaceMeeting>,
    failing: Vec<FxHashSet<PlaceMeeting>>,
    /// Nearness of the nearest kept passing run to a failing one.
    nearest: f64,
}

impl Worth {
    /// Returns whether a run may be kept although it is like one before.
    pub fn has_room_for_repeated(&self, digest: &Digest) -> bool {
        self.repeated.saturating_add(digest.events) <= REPEATED_EVENTS
    }

    /// Returns whether a passing run that differs from all before is worth keeping.
    pub fn adds(&self, digest: &Digest) -> bool {
        let is_small = self.passing.saturating_add(digest.events) <= PASSING_EVENTS;
        let mut meetings = digest.meetings.keys();
        is_small
            || meetings.any(|meeting| !self.shown.contains(meeting))
            || self.nearness(digest) > self.nearest
    }

    /// Notes a run that is kept.
    pub fn keep(&mut self, run: &MadeRun<'_>, is_new: bool) {
        self.note(&run.digest, run.ended.outcome.is_failure(), is_new);
    }

    fn note(&mut self, digest: &Digest, is_failing: bool, is_new: bool) {
        self.repeated += if is_new { 0 } else { digest.events };
        if is_failing {
            self.failing.push(digest.meetings.keys().copied().collect());
            let gone = self.failing.len().saturating_sub(MOST_FAILING);
            self.failing.drain(..gone);
            // Near to another one: the next passing run that comes near it is kept.
            self.nearest = 0.0;
            return;
        }
        self.passing += digest.events;
        self.nearest = self.nearest.max(self.nearness(digest));
        self.shown.extend(digest.meetings.keys());
    }

    /// Share of the meetings that a run has in common with a failing one, for the failing run with which it is
    /// greatest.
    fn nearness(&self, digest: &Digest) -> f64 {
        let near = |failing: &FxHashSet<PlaceMeeting>| {
            let meetings = digest.meetings.keys();
            let common = meetings.filter(|meeting| failing.contains(meeting)).count();
            let all = failing.len() + digest.meetings.len() - common;
            common as f64 / all.max(1) as f64
        };
        self.failing.iter().map(near).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Met;

    fn digest(events: u64, meetings: &[(u32, u32)]) -> Digest {
        let meeting = |(earlier, later): &(u32, u32)| {
            let meeting = PlaceMeeting {
                earlier: *earlier,
                later: *later,
                is_elder_first: true,
            };
            (meeting, Met { times: 1, first: 0 })
        };
        Digest {
            events,
            meetings: meetings.iter().map(meeting).collect(),
            ..Digest::default()
        }
    }

    #[test]
    fn small_runs_are_kept_and_large_ones_for_what_they_show() {
        let mut worth = Worth::default();
        let small = digest(1000, &[(1, 2)]);
        assert!(worth.adds(&small));
        worth.note(&small, false, true);
        assert!(worth.adds(&small));
        let large = |meetings| digest(PASSING_EVENTS, meetings);
        assert!(!worth.adds(&large(&[(1, 2)])) && worth.adds(&large(&[(2, 1)])));
    }

    #[test]
    fn large_runs_that_come_nearer_to_a_failing_one_are_kept() {
        let mut worth = Worth::default();
        let run = |meetings| digest(PASSING_EVENTS, meetings);
        for (one, is_failing) in [
            (&[(1, 2), (3, 4), (5, 6)], false),
            (&[(1, 2), (3, 4), (6, 5)], true),
        ] {
            worth.note(&run(one), is_failing, true);
        }
        assert!(worth.adds(&run(&[(1, 2)])));
        worth.note(&run(&[(1, 2)]), false, true);
        assert!(!worth.adds(&run(&[(3, 4)])));
        assert!(worth.adds(&run(&[(1, 2), (3, 4)])));
    }

    #[test]
    fn large_runs_are_not_kept_twice() {
        let mut worth = Worth::default();
        let half = digest(REPEATED_EVENTS / 2, &[]);
        for _ in 0..2 {
            assert!(worth.has_room_for_repeated(&half));
            worth.note(&half, false, false);
        }
        assert!(!worth.has_room_for_repeated(&digest(1, &[])));
    }
}
