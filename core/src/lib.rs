//! The analysis of unsnarl: pure functions from runs to explanations.
//!
//! Nothing here opens a file, starts a process, reads the clock except through a [`Budget`], or knows an
//! editor: results are plain structs with public fields.
//!
//! [`RunSummary`] is the summary of a run in a [`Corpus`]; [`explain()`](explain::explain) finds the causes
//! of its failing runs; [`render`] lays explanations out as text; [`hover()`](hover::hover) describes the
//! events at a place of one run.

pub mod beside;
pub mod between;
pub mod budget;
pub mod builds;
mod call_tree;
pub mod callers;
pub mod causes;
pub mod claims;
pub mod corpus;
pub mod diagnosis;
pub mod explain;
pub mod explanation;
pub mod export;
pub mod facts;
mod failed;
pub mod findings;
pub mod fixes;
#[cfg(test)]
mod fixture;
pub mod guarded;
pub mod hover;
pub mod mining;
pub mod orders;
pub mod pairs;
pub mod predict;
pub mod render;
pub mod suppressions;
pub mod told;

pub use budget::{Budget, EngineOutcome, StopReason};
pub use corpus::{Corpora, Corpus, CorpusKey, RunSummary};
pub use explain::{explain, unexplained};
pub use explanation::{
    Absent, BugKind, Certainty, Contribution, Edge, EdgeKind, Execution, Explanation, FailurePlace,
    InvariantMark, Place, Region, Role, SiteMark, Step, Tally, Verdict,
};
pub use hover::{Hover, HoverPlace, hover};
pub use orders::Orders;
