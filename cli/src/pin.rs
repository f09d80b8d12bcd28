//! Regression tests: the order of a failing run, pinned so that it can be tried on later builds.
//!
//! A pinned schedule is a proposed schedule (`docs/schedule.md`) that names lines, and beside it the text of those
//! lines: after edits they are looked for where that text is now. What `unsnarl replay --test` says of it has one rule:
//! *passed* is only said of an order that was tried, that the program's own synchronization rules out, or that was tried
//! up to where a thread ran to its end without its step.

mod lines;
mod make;
mod trial;

pub use make::make;
pub use trial::{TrialSetting, trial};

use serde::{Deserialize, Serialize};
use unsnarl_trace::Proposal;

/// A schedule with the text of its lines when it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pinned {
    /// The schedule; `unsnarl replay` accepts the whole file as one.
    #[serde(flatten)]
    pub schedule: Proposal,
    /// The data that make it a test.
    pub pinned: Pin,
}

/// The data that make a test of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The failure of the run.
    pub failure: String,
    /// The lines that the schedule names, each once.
    pub lines: Vec<PinnedLine>,
}

/// A line, with what identifies it in a later version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedLine {
    /// File as the schedule's events name it.
    pub file: String,
    /// Number, from 1.
    pub line: u32,
    /// Text without the space around it.
    pub text: String,
    /// Position among the file's lines with this text, from 1.
    #[serde(default = "one")]
    pub nth: usize,
    /// Number of lines of the file with this text.
    #[serde(default = "one")]
    pub of: usize,
    /// The nearest lines with text before and after, the nearest first.
    #[serde(default)]
    pub before: Vec<String>,
    /// The nearest lines with text after it.
    #[serde(default)]
    pub after: Vec<String>,
}

fn one() -> usize {
    1
}
