//! What is run and recorded.

use super::{goal::Goal, strategy::Strategy};
use crate::{
    launch::{Output, Starter},
    log::Limits,
    permit::Permit,
};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use unsnarl_trace::{Chances, Criteria};

/// What to run and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// Program and arguments as given.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// File for standard input.
    pub stdin: Option<PathBuf>,
    /// What becomes of the program's output.
    pub output: Output,
    /// Time that a run may take.
    pub timeout: Duration,
    /// What a run may use.
    pub limits: Limits,
    /// What counts as a failure.
    pub criteria: Criteria,
    /// How the runs are started.
    pub starter: Starter,
    /// The permission to run it.
    pub permit: Permit,
}

/// A campaign.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What is run.
    pub job: Job,
    /// How schedules are chosen.
    pub strategy: Strategy,
    /// The choices other than threads that the runs have.
    pub chances: Chances,
    /// Seed of the first run; the n-th after it has seed + n.
    pub seed: u64,
    /// When it is enough.
    pub goal: Goal,
    /// Passing runs that are kept at most. Those that are not kept count all the same.
    pub keep_passing: u64,
    /// Let some of the runs pass over accesses that have never met another thread's.
    pub filter: bool,
    /// For each way to fail, make the run with the fewest preemptions that fails so.
    pub minimize: bool,
    /// Folder for the runs.
    pub out: PathBuf,
    /// Bytes that the folder's runs may take on disk.
    pub max_disk: u64,
}
