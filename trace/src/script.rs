//! Runs as text, for tests and for pages that explain.
//!
//! One event a line, in the order in which they ran:
//!
//! ```text
//! THREAD KIND [LOCATION] [=VALUE] [OLD->NEW] [MODIFIER...] [@[FILE:]LINE[:COLUMN]] [FUNCTION] ["SOURCE TEXT"]
//! ```
//!
//! ```
//! let run = unsnarl_trace::script::parse(r#"
//!     ## a comment
//!     file bank.c
//!     main   fork main.1                       @120 main
//!     main.1 R balance =300                    @100 withdraw "bal = balance;"
//!     main   W balance =500                    @67
//!     main.1 W balance =250                    @107          "balance = bal;"
//!     main   join main.1                       @122
//!     main   R balance =250                    @130
//!     main   fails @130 assertion `balance == 450` failed
//! "#)?;
//! assert_eq!(run.events.len(), 7);
//! assert_eq!(run.meta.thread(unsnarl_trace::ThreadId(1)).start, "withdraw");
//! assert_eq!(run.meta.outcome, unsnarl_trace::Outcome::Failed);
//! # Ok::<(), unsnarl_trace::script::ScriptError>(())
//! ```
//!
//! * **Threads** are there when they are named; `main.1` is a child of `main`. The start routine is
//!   the first function that a thread is seen in.
//! * **Kinds** have the names of the `kind` column ([`EventKind::name`]); `R` and `W` are short for
//!   `read` and `write`. `fork` and `join` take a thread where others take a location.
//! * **Locations** with spaces stand in backticks: `` `heap(a.c:3 by main #0)+8` ``.
//! * **Values** are numbers (`=300`, `=-1`, `=0xff`) or addresses (`=&node[1]`); a read-modify-write
//!   says what it read and wrote: `rmw count 3->4`.
//! * **Modifiers**: a memory order (`relaxed`, `acquire`, ...; atomic accesses without one are
//!   `seq-cst`), `volatile`, `range`, `own-stack`, `unfinished`, `moved`, `size=8` (4 without it, 8 for addresses).
//! * **Callers** are a modifier: `via=41@push,q.c:60@main`, the innermost call first; none without it.
//! * **Sites**: the file is the one of the last `file NAME` line, or `test.c`. A thread stays in its
//!   function until another is named; `-` is none. The text is the rest of the line.
//! * **Blocked** threads say for what: `main.1 blocked lock m @31`, `main blocked join main.1`.
//!   The words are those of [`WaitsFor::name`].
//!
//! The outcome of the run is a line of its own: `fails [via=CALLS] [@SITE] [MESSAGE]` (by the thread before it,
//! or `THREAD fails ...`), `failed [MESSAGE]` (no thread at no event: an exit status), `deadlocks [MESSAGE]`,
//! `times-out [MESSAGE]`, `cut-short`; it passed otherwise.
//! More lines set what events don't show: `start THREAD FUNCTION`, `seed NUMBER`, and `unseen-locks LIBRARY`.
//!
//! ```
//! let run = unsnarl_trace::script::parse("
//!     main.1 lock a @30
//!     main.2 lock b @44
//!     main.1 blocked lock b @31
//!     main.2 blocked lock a @45
//!     deadlocks
//! ")?;
//! assert_eq!(run.meta.locks.len(), 2);
//! let text = unsnarl_trace::script::print(&run);
//! assert_eq!(unsnarl_trace::script::parse(&text)?, run);
//! # Ok::<(), unsnarl_trace::script::ScriptError>(())
//! ```
//!

mod build;
mod event;
mod print;
mod words;

use crate::{model::EventKind, raw::WaitsFor, run::Run};

pub use print::print;

/// A line that could not be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the script, `{text}`: {why}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
    /// The error in the line and the form that was expected.
    pub why: String,
}

/// The run that a script describes.
pub fn parse(script: &str) -> Result<Run, ScriptError> {
    let mut build = build::ScriptedRun::default();
    for (line, text) in (1..).zip(script.lines().map(str::trim)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let error = |why| ScriptError {
            line,
            text: text.to_owned(),
            why,
        };
        build.line(text).map_err(error)?;
    }
    Ok(build.finish())
}

/// The kind that a word names.
fn kind(word: &str) -> Option<EventKind> {
    match word {
        "R" => Some(EventKind::Read),
        "W" => Some(EventKind::Write),
        name => EventKind::from_name(name),
    }
}

fn waits_for(word: &str) -> Option<WaitsFor> {
    WaitsFor::ALL.into_iter().find(|wait| wait.name() == word)
}

/// Words for the memory orders by their number.
const ORDERS: [&str; 6] = [
    "relaxed", "consume", "acquire", "release", "acq-rel", "seq-cst",
];

/// Words for the flags.
const FLAGS: [(&str, u16); 5] = {
    use crate::model::flags;
    [
        ("volatile", flags::VOLATILE),
        ("range", flags::RANGE),
        ("own-stack", flags::OWN_STACK),
        ("unfinished", flags::UNFINISHED),
        ("moved", flags::MOVED),
    ]
};
