//! gdb on a program that follows the schedule of a run.
//!
//! gdb starts the program; the log's memory is inherited by both. `commands.py`, which gdb runs first, reads the
//! program's progress there and writes the event at which it is to stop; the runtime calls `unsnarl_stop` at that
//! event (`runtime/src/watch.rs`).

mod debuggee;
mod files;
mod settings;

pub use debuggee::Debuggee;
pub use files::failure_event;

use super::{Departure, ReplayError, ReplayOptions, verbs};
use serde::Serialize;
use std::{ffi::OsString, io, process::ExitStatus};
use unsnarl_trace::{EventId, Run};

/// A step of an explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DebugStep {
    /// Row of the run file.
    pub event: u32,
    /// Text of the step.
    pub text: String,
}

/// Destination of what the program prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOutput {
    /// gdb's own output.
    Inherited,
    /// A pipe in the session's folder, where it is not mixed with gdb's machine interface.
    Pipe,
}

/// The subject of the debugging, besides the run itself.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name of the run.
    pub name: String,
    /// The steps of an explanation of the run, in the order of the run.
    pub steps: Vec<DebugStep>,
    /// More arguments for gdb.
    pub arguments: Vec<OsString>,
    /// Destination of what the program prints.
    pub output: ProgramOutput,
}

/// The result of a debugging session.
#[derive(Debug)]
pub struct Debugged {
    /// gdb's own status.
    pub status: ExitStatus,
    /// The program was run.
    pub has_run: bool,
    /// The program came to its end by itself.
    pub has_ended: bool,
    /// The point at which it left the recorded run.
    pub difference: Option<Departure>,
}

/// An error that keeps the debugger from starting.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    /// The run cannot be run again.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// gdb starts the program itself.
    #[error(
        "the program was started by {0}, and gdb starts a program by itself\n  next: record the command that {0} starts it by: unsnarl record -- PROGRAM ARGUMENTS"
    )]
    HasParent(String),
    /// There is no gdb.
    #[error("there is no gdb in PATH\n  next: install it (Debian: apt-get install gdb)")]
    NoGdb,
    /// gdb did not start.
    #[error("cannot start gdb: {0}\n  next: try it by itself: gdb --version")]
    Start(io::Error),
    /// The files for gdb could not be written.
    #[error(
        "cannot write files for gdb: {0}\n  next: make room in the folder for temporary files (TMPDIR)"
    )]
    Files(io::Error),
}

/// An event of a run in words, by its row: `main.2 reads account.balance = 300 at bank_account.c:46`; empty if it has no
/// such row.
#[must_use]
pub fn event_in_words(run: &Run, row: u32) -> String {
    let event = run.events.get(EventId(row));
    event.map_or_else(String::new, |event| verbs::sentence(run, &event))
}

/// Starts gdb on the program and waits until the user leaves it.
pub fn debug(
    recorded: &Run,
    options: &ReplayOptions,
    session: &Session,
) -> Result<Debugged, DebugError> {
    let debuggee = Debuggee::prepare(recorded, options, session)?;
    let status = debuggee.gdb(&session.arguments).status();
    debuggee.finish(recorded, status.map_err(DebugError::Start)?)
}
