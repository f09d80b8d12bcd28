//! The report of a campaign for whoever started it.

use super::{
    Alone, CampaignEnd, CampaignTally, Discarded, coverage::Coverage, exhaustive::SearchProgress,
    finish::Assembled, seen::MadeRun,
};
use crate::launch::check::FailedCheck;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use unsnarl_trace::{Outcome, Run};

/// One run of a campaign, for whoever watches.
pub struct Observed<'a> {
    pub(super) source: RunSource<'a>,
    /// The run file, if it was kept.
    pub file: Option<&'a Path>,
    pub(super) outcome: Outcome,
    pub(super) events: u64,
    /// The failed check of a test framework, if the run failed by one.
    pub check: Option<&'a FailedCheck>,
    /// Counts of the runs up to this one.
    pub tally: CampaignTally,
}

/// Source of the run.
pub(super) enum RunSource<'a> {
    /// It was put together.
    Assembled(&'a Assembled),
    /// It can be.
    Read(&'a MadeRun<'a>),
}

impl Observed<'_> {
    /// The outcome of the run.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Number of its events, the pieces of one access counted once.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The assembled run. It is made on demand, which takes far longer than the rest.
    pub fn run(&self) -> &Run {
        match &self.source {
            RunSource::Assembled(assembled) => assembled.run(),
            RunSource::Read(seen) => seen.run(),
        }
    }
}

/// A campaign that has ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Counts of the runs.
    pub tally: CampaignTally,
    /// The reason for which it ended.
    pub ended: CampaignEnd,
    /// The first failing run that was kept.
    pub first_failing: Option<PathBuf>,
    /// Progress of an exhaustive search.
    pub search: Option<SearchProgress>,
    /// Coverage of interleavings.
    pub coverage: Coverage,
    /// Campaigns that were killed before this one began.
    pub killed_before: u64,
    /// The runs with the fewest preemptions, one for each failure mode, if they were asked for.
    pub minimized: Vec<MinimizedRun>,
    /// Problems of the runs, each once, with the number of runs that had it.
    pub problems: Vec<(String, u64)>,
    /// Kept runs in which accesses that repeat others have no events.
    pub left_out: u64,
    /// Kept runs whose logs were full.
    pub condensed: u64,
    /// Counts of run files that were not kept, or were removed.
    pub discarded: Discarded,
    /// Exit statuses that counted as failures, with the number of runs that ended with each.
    pub failing_exits: BTreeMap<i32, u64>,
    /// The reason for which the program was started anew for each run, if something kept it from being copied.
    pub not_copied: Option<String>,
    /// Runs that could not be made beside others, where that was wanted.
    pub alone: Option<Alone>,
}

/// The result of taking preemptions away from a failing run.
#[derive(Clone, Debug)]
pub struct MinimizedRun {
    /// The failing run's file.
    pub from: PathBuf,
    /// The minimized run and its file; `None` when the failing run could not be repeated.
    pub to: Option<(PathBuf, Run)>,
}
