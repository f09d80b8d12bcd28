//! Counts of the runs of a campaign, and the rule for keeping repeated ones.

use unsnarl_trace::Outcome;

/// Number of passing runs, and of failing ones, that are kept although they are like one before: frequencies are
/// counted on them. Beyond them only runs that differ are kept.
const KEPT_ANYWAY: u64 = 50;

/// Counts of the runs so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CampaignTally {
    /// All runs.
    pub runs: u64,
    /// Runs that passed.
    pub passed: u64,
    /// Runs that failed by assertion, abort, signal or exit status.
    pub failed: u64,
    /// Runs in which all threads waited for each other.
    pub deadlocked: u64,
    /// Runs that took too long.
    pub timed_out: u64,
    /// Runs whose record ends before the run did.
    pub cut_short: u64,
    /// Runs that do not count, since an assumption of the program does not hold in them.
    pub assumed_away: u64,
    /// Passing runs that were kept.
    pub kept_passing: u64,
    /// Runs that were not kept because one with the same order of conflicting events was.
    pub repeated: u64,
    /// Passing runs that were not kept because there were enough.
    pub not_kept: u64,
    /// Passing runs that were not kept because they are large and show nothing that kept ones do not.
    pub add_nothing: u64,
    /// Runs that differ from all before them in the order of conflicting events.
    pub different: u64,
    /// Failing ones among them.
    pub different_failing: u64,
    /// Failing runs in a row that were like one before.
    pub failing_again: u64,
    /// Runs whose schedule was chosen because too few had passed.
    pub sought: u64,
    /// Orders of conflicting events that one run only has shown.
    pub seen_once: u64,
    /// Runs in which there was something to choose: a thread, a waiter or a chance.
    pub chose: u64,
}

impl CampaignTally {
    /// Number of runs in which the program failed.
    pub fn failing(&self) -> u64 {
        self.failed + self.deadlocked + self.timed_out
    }

    /// Number of runs that ended by themselves.
    pub(super) fn ended(&self) -> u64 {
        self.passed + self.failed + self.deadlocked
    }

    /// Counts a run in which an assumption of the program does not hold.
    pub(super) fn count_assumed_away(&mut self) {
        self.runs += 1;
        self.assumed_away += 1;
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.runs += 1;
        let counter = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Deadlocked => &mut self.deadlocked,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::CutShort => &mut self.cut_short,
        };
        *counter += 1;
    }

    /// Returns whether a run with this outcome is kept although it is like one before, if there is room.
    pub(super) fn wants_repeated(&self, outcome: Outcome) -> bool {
        let before = match outcome {
            Outcome::Passed => self.kept_passing,
            _ => self.failing().saturating_sub(1),
        };
        before < KEPT_ANYWAY
    }

    pub(super) fn compare(&mut self, is_failure: bool, is_new: bool) {
        self.different += u64::from(is_new);
        if is_failure {
            self.different_failing += u64::from(is_new);
            self.failing_again = if is_new { 0 } else { self.failing_again + 1 };
        }
    }
}
