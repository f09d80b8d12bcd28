//! Schedules by constraint solving ([symbiosis], sections 3.3 to 3.5).
//!
//! [`synthesize`] looks for an order of a symbolic trace's steps that fails (Phi_fail), [`root_cause`] for the orders
//! of steps without which a failing order would not fail (Phi_root), [`alternate`] for an order that does not fail
//! and has a pair of steps the other way (Phi_alt). Phi_path, Phi_bug, Phi_sync, Phi_rw and Phi_mo are those of
//! section 3.3, but no order variable ever reaches the solver: Z3 sees which write each read takes and what the
//! values are then ([`engine`]), whether an order has those reads is decided by a graph ([`graph`]), and what the
//! graph refuses goes back as a clause. Choices that nothing speaks against stay as in the order at hand.
//!
//! No order is returned that the independent checker of [`crate::dsp`] did not accept.
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*, PLDI 2015.

mod counts;
mod engine;
mod graph;
mod linearize;
mod problem;
mod queries;
mod root;
mod saturate;
mod solver;
mod sync;
pub mod synthetic;
#[cfg(test)]
mod tests;
mod translate;

pub(crate) use translate::Terms;

use crate::{
    StopReason,
    symbolic::{StepId, SymbolId},
};

pub use crate::dsp::MemoryModel;
pub use counts::Counts;
pub use queries::{Flips, alternate, synthesize};
pub use root::root_cause;

/// What the solver may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Phi_mo.
    pub memory_model: MemoryModel,
    /// How much the solver may work on one question, in its own resource units (some 10 million take about a
    /// second). The same number gives the same answer on every machine.
    pub effort: u64,
    /// How much memory the solver may take, in megabytes.
    pub memory: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_model: MemoryModel::Sequential,
            effort: 200_000_000,
            memory: 2048,
        }
    }
}

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer<T> {
    /// The answer.
    pub verdict: Verdict<T>,
    /// How large the question was.
    pub counts: Counts,
}

/// The three answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<T> {
    /// There is one, and this is it.
    Found(T),
    /// There is none: the solver refuted it.
    Impossible,
    /// Nobody knows, for this reason.
    Unknown(Unknown),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// The budget ended.
    Stopped(StopReason),
    /// [`Options::effort`] was used up.
    Effort,
    /// [`Options::memory`] was used up.
    Memory,
    /// The trace lacks something, or has something that is not solved for; in words.
    Trace(String),
    /// What the solver found did not pass the checker; the checker's reason.
    Refused(String),
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unknown::Stopped(StopReason::Cancelled) => f.write_str("it was cancelled"),
            Unknown::Stopped(_) => f.write_str("the time is over"),
            Unknown::Effort => f.write_str("the solver's effort is used up"),
            Unknown::Memory => f.write_str("the solver's memory is used up"),
            Unknown::Trace(what) => f.write_str(what),
            Unknown::Refused(why) => {
                write!(f, "the order that the solver found cannot happen: {why}")
            }
        }
    }
}

/// An order that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// All steps of the trace.
    pub order: Vec<StepId>,
    /// What was assumed to come from outside where nothing was recorded: the order happens with these values.
    pub inputs: Vec<(SymbolId, u128)>,
}

/// Why an order fails.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RootCause {
    /// Which write the reads take that make the run fail.
    pub reads: Vec<ReadsFrom>,
    /// The orders of steps of different threads because of which they do, in the order of the failing schedule:
    /// with all of them, every order that takes the recorded paths fails.
    pub orders: Vec<EventOrder>,
    /// Without any one of [`RootCause::orders`] there is an order that does not fail. Otherwise the effort ended before
    /// that was shown of each.
    pub is_minimal: bool,
}

/// A read takes what a write left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadsFrom {
    /// The read.
    pub read: StepId,
    /// The write; `None` for what was there at first.
    pub write: Option<StepId>,
}

/// One step comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EventOrder {
    /// The first.
    pub before: StepId,
    /// The second.
    pub after: StepId,
}

/// Name and version of the solver that this process is linked with.
pub fn solver_version() -> String {
    format!("Z3 {}", z3::full_version())
}

/// Is it at least the release that the bindings were made for? An older one has other numbers for the kinds of
/// terms, and misbehaves.
pub fn solver_is_recent() -> bool {
    is_recent(z3::full_version())
}

/// `Z3 5.4.0.0 ...` and later, 4.13 at least.
fn is_recent(full_version: &str) -> bool {
    let number = full_version
        .split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let mut parts = number
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (4, 13)
}
