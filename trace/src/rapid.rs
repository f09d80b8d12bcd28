//! Traces of other tools as text: RAPID's STD and CSV.
//!
//! STD has one event a line, `thread|operation(operand)|location`:
//!
//! ```
//! use unsnarl_trace::{EventKind, rapid};
//!
//! let text = "T0|fork(T1)|12\nT0|w(balance)|13\nT1|acq(L)|40\nT1|r(balance)|41\nT1|rel(L)|42\n";
//! let imported = rapid::import(text.as_bytes(), rapid::Format::Std)?;
//! assert_eq!(imported.run.events.len(), 5);
//! assert_eq!(imported.run.meta.thread(unsnarl_trace::ThreadId(1)).name, "T1");
//! assert_eq!(imported.run.events.kinds()[1], EventKind::Write as u8);
//! assert_eq!(rapid::export(&imported.run).text, text);
//! # Ok::<(), rapid::ImportError>(())
//! ```
//!
//! * `r`, `w` read and write a variable; `acq`, `rel` take and give back a lock, which may be held
//!   more than once; `fork`, `join` take a thread.
//! * `begin`, `end` (the operand may be missing) are first and last step of a thread when they stand
//!   there; otherwise they enclose blocks that should be atomic, for which a run has no events.
//!   `dummy` and `branch` say nothing. Both are left out, and counted.
//! * `location` is whatever the other tool calls a place in the program, mostly a number.
//!
//! CSV has a column for each thread, and in each line one that is not empty: `,acq(L),`. Threads are
//! named by their column (`T0`, `T1`); `fork` may be called `start`, `begin` and `end` are `enter` and
//! `exit`; `sync(x)` reads and writes `x` under a lock of its own. There are no places.
//!
//! Neither holds values, sources, stacks or an outcome.

mod columns;
mod export;
mod import;
mod line;
mod names;

pub use export::{Exported, export};
pub use import::{BadLine, ImportError, Imported, import};

use crate::{
    meta::{Failure, FailureKind, Outcome},
    run::Run,
};

/// The same run as one that failed at its last event: a trace does not say how its run ended.
pub fn failed(mut run: Run) -> Run {
    let last = run.events.iter().last();
    run.meta.failure = Some(Failure {
        kind: FailureKind::Exit,
        message: "a failure of which the trace says no more".to_owned(),
        thread: last.map(|(_, event)| event.thread),
        site: last.map(|(_, event)| event.site),
        event: last.map(|(row, _)| row),
    });
    run.meta.outcome = Outcome::Failed;
    run
}

/// The text format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `thread|operation(operand)|location`.
    Std,
    /// A column for each thread.
    Csv,
}

impl Format {
    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Std => "STD",
            Format::Csv => "CSV",
        }
    }
}

/// Prefix of the file names that stand for places of the other tool: `site 347`.
const SITE: &str = "site ";
