//! Errors that end a campaign early.

use crate::{assemble::RawLogError, launch::LaunchError};
use std::{io, path::PathBuf};
use unsnarl_trace::StoreError;

/// An error that ends a campaign. Runs that were stored stay.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder cannot take the runs.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// No memory for the log.
    #[error(
        "cannot make the log in memory: {0}\n  next: give it less room with --max-events, or raise the limits (ulimit -a)"
    )]
    Log(io::Error),
    /// The state of an exhaustive search cannot be read or stored.
    #[error("the state of the search, {}, cannot be used: {why}\n  next: remove it to begin anew", file.display())]
    SearchState {
        /// The file.
        file: PathBuf,
        /// The cause.
        why: String,
    },
    /// The log in the program's memory makes no sense: the program has corrupted it, or was ended at the wrong moment.
    #[error("the log in the program's memory cannot be used: {0}")]
    Spoiled(#[from] RawLogError),
    /// The campaign was to end before a run began.
    #[error("stopped before the run began")]
    NotBegun,
    /// The first run recorded nothing.
    #[error("the program ran, but nothing of it was recorded: {reason}{output}")]
    NothingRecorded {
        /// The reason, as far as it is known.
        reason: String,
        /// The program's output, indented.
        output: String,
    },
}
