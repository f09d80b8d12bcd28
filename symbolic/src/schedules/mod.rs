//! Schedules by constraint solving ([symbiosis], sections 3.3 to 3.5).
//!
//! [`synthesize`] finds an order of a symbolic trace's steps that fails (Phi_fail), [`root_cause`] the orders
//! of steps without which a failing order would not fail (Phi_root), [`alternate`] an order that does not
//! fail and flips a pair of steps (Phi_alt). Phi_path, Phi_bug, Phi_sync, Phi_rw and Phi_mo are those of
//! section 3.3, but no order variable ever reaches the solver: Z3 gets the sources that each read may have
//! and the resulting values ([`engine`]), a graph decides whether an order has those reads ([`graph`]), and a
//! choice that the graph rejects goes back as a clause. Choices without a contradiction stay as in the base
//! order, which is the recorded or failing one.
//!
//! No order is returned that the independent checker of [`crate::dsp`] did not accept.
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
//! PLDI 2015.

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

pub(crate) use translate::SolverTerms;

use crate::{StepId, SymbolId};
use unsnarl_core::StopReason;

pub use crate::dsp::MemoryModel;
pub use counts::ConstraintCounts;
pub use queries::{Flips, alternate, synthesize};
pub use root::root_cause;
pub use unsnarl_solver::VERSION as SOLVER_RELEASE;

/// Options and limits of the solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SolverOptions {
    /// Phi_mo.
    pub memory_model: MemoryModel,
    /// Effort limit per query, in the solver's own resource units (some 10 million take about a second). The
    /// same number gives the same answer on every machine.
    pub effort: u64,
    /// Memory limit of the solver, in megabytes.
    pub memory: u32,
}

impl Default for SolverOptions {
    fn default() -> SolverOptions {
        SolverOptions {
            memory_model: MemoryModel::Sequential,
            effort: 200_000_000,
            memory: 2048,
        }
    }
}

/// Result of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleAnswer<T> {
    /// The answer.
    pub verdict: SolverVerdict<T>,
    /// Size of the problem.
    pub counts: ConstraintCounts,
}

impl<T> ScheduleAnswer<T> {
    /// The answer of a query that was never made.
    fn unknown(why: Unknown) -> ScheduleAnswer<T> {
        ScheduleAnswer {
            verdict: SolverVerdict::Unknown(why),
            counts: ConstraintCounts::default(),
        }
    }
}

/// The three possible verdicts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SolverVerdict<T> {
    /// The object that was asked for.
    Found(T),
    /// There is none: the solver refuted it.
    Impossible,
    /// The verdict is unknown, for this reason.
    Unknown(Unknown),
}

/// Reason for an unknown verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// The budget ended.
    Stopped(StopReason),
    /// [`SolverOptions::effort`] was used up.
    Effort,
    /// [`SolverOptions::memory`] was used up.
    Memory,
    /// The trace lacks something, or contains something unsupported; in words.
    Trace(String),
    /// There is no solver, for this reason.
    NoSolver(String),
    /// The checker rejected the solver's result; the checker's reason.
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
            Unknown::NoSolver(why) => write!(f, "the solver cannot be used ({why})"),
            Unknown::Refused(why) => {
                write!(f, "the order that the solver found cannot happen: {why}")
            }
        }
    }
}

/// A schedule that the checker accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedSchedule {
    /// All steps of the trace.
    pub order: Vec<StepId>,
    /// Assumed values of unrecorded input from outside, with which the order is feasible.
    pub inputs: Vec<(SymbolId, u128)>,
}

/// Root cause of a failing order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RootCause {
    /// Sources of the reads that make the run fail.
    pub reads: Vec<ReadsFrom>,
    /// The orders of steps of different threads that enforce these reads, in the order of the failing
    /// schedule: every order that satisfies all of them and takes the recorded paths fails.
    pub orders: Vec<EventOrder>,
    /// `true` if without any one of [`RootCause::orders`] there is an order that does not fail. Otherwise the
    /// effort ended before that was shown for each.
    pub is_minimal: bool,
}

/// Source of a read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadsFrom {
    /// The read.
    pub read: StepId,
    /// The write; `None` for the initial value.
    pub write: Option<StepId>,
}

/// Order of two steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EventOrder {
    /// The first step.
    pub before: StepId,
    /// The second step.
    pub after: StepId,
}

/// Loads the solver and returns its name and version, or the reason why there is none. All queries ask this first.
/// A release older than the bindings numbers the kinds of terms differently and misbehaves, so it counts as none.
pub fn solver_version() -> Result<String, String> {
    unsnarl_solver::load().map_err(|missing| missing.to_string())?;
    let version = z3::full_version();
    match is_recent(version) {
        true => Ok(format!("Z3 {version}")),
        false => Err(format!("Z3 {version} is too old")),
    }
}

/// Returns whether a version such as `Z3 5.4.0.0 ...` is 4.13 or later.
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
