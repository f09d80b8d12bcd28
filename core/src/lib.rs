//! The analysis of unsnarl: pure functions from runs to explanations.
//!
//! Nothing here opens a file, starts a process, reads the clock except through a [`Budget`], or knows
//! an editor: results are plain structs with public fields.

pub mod budget;
pub mod explanation;

pub use budget::{Budget, Outcome, StopReason};
pub use explanation::{
    BugKind, Certainty, Edge, EdgeKind, Explanation, FailurePlace, InvariantMark, Place, Region, Role,
    SiteMark, Step, Tally,
};
