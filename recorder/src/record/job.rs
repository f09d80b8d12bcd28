//! The job of a recording: program, input and limits of its runs.

use super::{goal::Goal, strategy::Strategy};
use crate::{
    launch::{Output, Starter, parent::ParentProgram},
    log::Limits,
    permit::Permit,
    shard::Shard,
};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use unsnarl_trace::{Chances, Criteria};

/// The program to run, and the circumstances of its runs.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program that is started in place of the recorded one, and starts it.
    pub parent: Option<ParentProgram>,
    /// The program, or its parent, and arguments as given.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// File for standard input.
    pub stdin: Option<PathBuf>,
    /// Treatment of the program's output.
    pub output: Output,
    /// Time that a run may take.
    pub timeout: Duration,
    /// Bounds for a run.
    pub limits: Limits,
    /// Criteria for a failure.
    pub criteria: Criteria,
    /// The starter of the runs.
    pub starter: Starter,
    /// The permission to run it.
    pub permit: Permit,
}

impl Job {
    /// The same job, with a record of every access.
    pub(super) fn with_every_access(&self) -> Job {
        let limits = Limits {
            repeats_after: u64::MAX,
            ..self.limits
        };
        Job {
            limits,
            ..self.clone()
        }
    }
}

/// A campaign.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Program and circumstances of the runs.
    pub job: Job,
    /// The strategy that chooses schedules.
    pub strategy: Strategy,
    /// Choices other than threads that the runs make.
    pub chances: Chances,
    /// Seed of the first run; the n-th after it has seed + n.
    pub seed: u64,
    /// The part of the campaign to record, if it is divided. Then its runs depend on no other ones than the first,
    /// which every part makes, so that each run is the same whatever part it belongs to.
    pub shard: Option<Shard>,
    /// The goal, which ends the campaign.
    pub goal: Goal,
    /// Upper bound for the passing runs that are kept. Those that are not kept count all the same.
    pub keep_passing: u64,
    /// Lets some of the runs pass over accesses that have never met another thread's.
    pub filter: bool,
    /// Names the data on which places met, for the coverage: a run that shows a new pair of places is put together for
    /// that.
    pub names_data: bool,
    /// Makes, for each failure mode, the run with the fewest preemptions.
    pub minimize: bool,
    /// Folder for the runs.
    pub out: PathBuf,
    /// Bytes that the folder's runs may take on disk.
    pub max_disk: u64,
}
