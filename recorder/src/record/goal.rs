//! The goal of a campaign, and its end.

use super::CampaignTally;
use crate::shard::Shard;

/// The goal of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Upper bound for the runs.
    pub runs: u64,
    /// Number of different failing runs that are enough, if it is given. Repetitions of the same ones are enough too,
    /// after a while.
    pub failing: Option<u64>,
    /// Number of passing runs that failing ones are to be compared with.
    pub passing: u64,
    /// Ends the campaign with a run in which there was nothing to choose: all others would be like it.
    pub ends_without_choice: bool,
}

/// The reason for which a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CampaignEnd {
    /// The first run was cut short for a reason that all others share.
    CutShort,
    /// The campaign reached its goal.
    Enough,
    /// The bound for the runs was reached without as many failing ones as wanted.
    Cap,
    /// There is no schedule left to try.
    Exhausted,
    /// The user stopped it.
    Stopped,
}

/// Usual number of runs.
pub const USUAL_RUNS: u64 = 100;
/// Upper bound for the runs when only failing ones are asked for.
pub const USUAL_CAP: u64 = 10_000;
/// Number of passing runs that a failing one is compared with: fewer say little about what is usual.
const WANTED_PASSING: u64 = 25;
/// Number of repeated failing runs in a row after which no different ones are waited for.
const ENOUGH_AGAIN: u64 = 10;
/// Number of runs in search of a passing one after which a program that has failed every time is taken to fail
/// always: of one that passes once in twenty runs one in 170 is missed, of 50 runs it would be one in 13.
const SOUGHT_IN_VAIN: u64 = 100;
/// Upper bound for the runs in search of passing ones.
const MOST_SOUGHT: u64 = 300;

impl Goal {
    /// The goal that the command line asks for.
    pub fn of(runs: Option<u64>, failing: Option<u64>) -> Goal {
        let usual = if failing.is_some() {
            USUAL_CAP
        } else {
            USUAL_RUNS
        };
        Goal {
            runs: runs.unwrap_or(usual),
            failing,
            passing: WANTED_PASSING,
            ends_without_choice: false,
        }
    }

    /// The same for one shard, which makes its part of the runs.
    pub fn of_shard(self, shard: Shard) -> Goal {
        Goal {
            runs: shard.size(self.runs),
            ..self
        }
    }

    /// The goal of a campaign that is to find out whether a program can fail, in so many runs at most.
    pub fn first_failure(runs: u64) -> Goal {
        Goal {
            passing: 0,
            ends_without_choice: true,
            ..Goal::of(Some(runs), Some(1))
        }
    }

    /// The reason to end the campaign, if there is one.
    pub(super) fn reached(&self, tally: &CampaignTally) -> Option<CampaignEnd> {
        let found = self.has_found(tally);
        // With enough failing runs some passing ones are still looked for, but not when time runs out
        // in each run, and not for ever.
        let compared = tally.passed >= self.passing
            || tally.timed_out > 0
            || tally.sought >= MOST_SOUGHT
            || tally.passed == 0 && tally.sought >= SOUGHT_IN_VAIN;
        if found && compared {
            Some(CampaignEnd::Enough)
        } else if self.ends_without_choice && tally.runs > 0 && tally.chose == 0 {
            Some(CampaignEnd::Exhausted)
        } else if tally.runs >= self.runs {
            let short = self.failing.is_some() && !found;
            Some(if short {
                CampaignEnd::Cap
            } else {
                CampaignEnd::Enough
            })
        } else {
            None
        }
    }
}

impl Goal {
    /// Returns whether enough failing runs were seen, if there is a number of them to see.
    fn has_found(&self, tally: &CampaignTally) -> bool {
        let all_known = tally.failing_again >= ENOUGH_AGAIN || tally.timed_out > 0;
        self.failing.is_some_and(|wanted| {
            tally.different_failing >= wanted || tally.failing() >= wanted && all_known
        })
    }

    /// Returns whether the next run should try to pass: there are failing runs, and too few to compare them with.
    /// With a number of runs alone, that is so in the last quarter of them.
    pub(super) fn seeks_passing(&self, tally: &CampaignTally) -> bool {
        let is_late = match self.failing {
            Some(_) => self.has_found(tally),
            None => tally.failing() > 0 && tally.runs >= self.runs - self.runs / 4,
        };
        is_late && tally.passed < self.passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(goal: Goal, passed: u64, failed: u64) -> Option<CampaignEnd> {
        goal.reached(&CampaignTally {
            runs: passed + failed,
            passed,
            failed,
            different_failing: failed,
            ..CampaignTally::default()
        })
    }

    #[test]
    fn failing_runs_that_differ_are_waited_for_but_not_for_ever() {
        let seen = |failed, different_failing, failing_again| {
            Goal::of(None, Some(3)).reached(&CampaignTally {
                runs: 50 + failed,
                passed: 50,
                failed,
                different_failing,
                failing_again,
                ..CampaignTally::default()
            })
        };
        assert_eq!(seen(10, 2, 6), None);
        assert_eq!(seen(10, 3, 0), Some(CampaignEnd::Enough));
        assert_eq!(seen(22, 2, 20), Some(CampaignEnd::Enough));
    }

    #[test]
    fn a_number_of_runs() {
        let goal = Goal::of(Some(5), None);
        assert_eq!(reached(goal, 2, 2), None);
        assert_eq!(reached(goal, 5, 0), Some(CampaignEnd::Enough));
        assert_eq!(Goal::of(None, None).runs, USUAL_RUNS);
    }

    #[test]
    fn until_failing_waits_for_passing_runs_too() {
        let goal = Goal::of(None, Some(3));
        assert_eq!(reached(goal, 500, 2), None);
        assert_eq!(reached(goal, 500, 3), Some(CampaignEnd::Enough));
        assert_eq!(reached(goal, 0, 3), None);
        assert_eq!(reached(goal, 25, 40), Some(CampaignEnd::Enough));
        let sought = |passed, sought| {
            goal.reached(&CampaignTally {
                runs: 3 + sought,
                passed,
                failed: 3 + sought - passed,
                different_failing: 3,
                sought,
                ..CampaignTally::default()
            })
        };
        assert_eq!(sought(0, 99), None);
        assert_eq!(sought(0, 100), Some(CampaignEnd::Enough));
        assert_eq!(sought(1, 299), None);
        assert_eq!(sought(1, 300), Some(CampaignEnd::Enough));
        assert_eq!(reached(goal, USUAL_CAP, 0), Some(CampaignEnd::Cap));
    }

    #[test]
    fn the_last_quarter_of_a_number_of_runs_looks_for_passing_ones() {
        let seeks = |goal: Goal, passed, failed| {
            goal.seeks_passing(&CampaignTally {
                runs: passed + failed,
                passed,
                failed,
                different_failing: failed,
                ..CampaignTally::default()
            })
        };
        let goal = Goal::of(Some(100), None);
        assert!(!seeks(goal, 2, 72) && seeks(goal, 2, 73));
        assert!(!seeks(goal, 80, 0) && !seeks(goal, 25, 60));
        let goal = Goal::of(None, Some(3));
        assert!(!seeks(goal, 1, 2) && seeks(goal, 1, 3) && !seeks(goal, 25, 3));
    }

    #[test]
    fn the_first_failure_is_enough_and_so_is_a_run_without_choices() {
        let goal = Goal::first_failure(50);
        let seen = |runs, failed, chose| {
            goal.reached(&CampaignTally {
                runs,
                passed: runs - failed,
                failed,
                different_failing: failed,
                chose,
                ..CampaignTally::default()
            })
        };
        assert_eq!(seen(0, 0, 0), None);
        assert_eq!(seen(1, 0, 0), Some(CampaignEnd::Exhausted));
        assert_eq!(seen(1, 1, 0), Some(CampaignEnd::Enough));
        assert_eq!(seen(2, 0, 1), None);
        assert_eq!(seen(2, 1, 2), Some(CampaignEnd::Enough));
        assert_eq!(seen(50, 0, 50), Some(CampaignEnd::Cap));
    }

    #[test]
    fn the_number_of_runs_caps() {
        let goal = Goal::of(Some(20), Some(1));
        assert_eq!(reached(goal, 20, 0), Some(CampaignEnd::Cap));
        assert_eq!(reached(goal, 5, 15), Some(CampaignEnd::Enough));
    }
}
