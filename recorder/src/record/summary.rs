//! What a campaign tells whoever started it.

use super::{Alone, Discarded, Ended, Tally, coverage::Coverage, exhaustive::Progress, seen::Seen};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use unsnarl_trace::{Outcome, Run};

/// One run of a campaign, for whoever watches.
pub struct Observed<'a> {
    pub(super) source: Source<'a>,
    /// Where it was stored, if it was kept.
    pub file: Option<&'a Path>,
    pub(super) outcome: Outcome,
    pub(super) events: u64,
    /// The runs up to this one.
    pub tally: Tally,
}

/// Where the run comes from.
pub(super) enum Source<'a> {
    /// It was put together.
    Assembled(&'a Run),
    /// It can be.
    Read(&'a Seen<'a>),
}

impl Observed<'_> {
    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Number of its events, the pieces of one access counted once.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The run. It is put together when somebody asks for it, which takes far longer than the rest.
    pub fn run(&self) -> &Run {
        match &self.source {
            Source::Assembled(run) => run,
            Source::Read(seen) => seen.run(),
        }
    }
}

/// A campaign that has ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What was seen.
    pub tally: Tally,
    /// Why it ended.
    pub ended: Ended,
    /// The first failing run that was kept.
    pub first_failing: Option<PathBuf>,
    /// How far an exhaustive search has come.
    pub search: Option<Progress>,
    /// Which interleavings were seen.
    pub coverage: Coverage,
    /// Campaigns that were killed before this one began.
    pub killed_before: u64,
    /// The runs with the fewest preemptions, one for each way to fail, if that was asked for.
    pub minimized: Vec<MinimizedRun>,
    /// What the runs' problems were, each once, with the number of runs that had it.
    pub problems: Vec<(String, u64)>,
    /// Run files that were not kept, or not any more.
    pub discarded: Discarded,
    /// Exit statuses that counted as failures, and how many runs ended with each.
    pub failing_exits: BTreeMap<i32, u64>,
    /// Why the program was started anew for each run, if something kept it from being copied.
    pub not_copied: Option<String>,
    /// Runs that could not be made beside others, where that was wanted.
    pub alone: Option<Alone>,
}

/// What came of a failing run when preemptions were taken away.
#[derive(Clone, Debug)]
pub struct MinimizedRun {
    /// The failing run's file.
    pub from: PathBuf,
    /// What it became, and its file; `None` when the run could not be repeated.
    pub to: Option<(PathBuf, Run)>,
}
