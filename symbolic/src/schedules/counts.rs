//! Size of a problem by the paper's kinds of constraints (figure 7 and table 1 of [symbiosis]).
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
//! PLDI 2015.

use super::{engine::ScheduleEngine, problem::OrderingProblem};
use crate::{Action, Bug, SymbolOrigin};
use unsnarl_trace::{EventKind, kinds::EventRole};

/// Numbers of constraints and variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConstraintCounts {
    /// Steps of the trace.
    pub steps: u64,
    /// Reads and writes of shared memory.
    pub accesses: u64,
    /// Path conditions.
    pub path: u64,
    /// Phi_bug: 1, or 0 where the failure is no condition.
    pub bug: u64,
    /// Phi_sync as in the paper: orders of forks, joins and the like, and pairs of critical sections of a
    /// lock.
    pub sync: u64,
    /// Phi_rw as in the paper: for each read and each write that it may read from, the value, the order of
    /// the two, and the position of each other write.
    pub rw: u64,
    /// Phi_mo: adjacent steps in program order.
    pub mo: u64,
    /// Value and order variables as in the paper.
    pub variables: u64,
    /// Formulas that the solver actually got.
    pub given: u64,
    /// Variables that the solver actually got.
    pub given_variables: u64,
    /// Queries to the solver, and orders that the graph examined.
    pub rounds: u64,
    /// Effort in Z3's resource units.
    pub effort: u64,
}

impl ConstraintCounts {
    /// Counts of the trace alone: the size of the paper's encoding. Linear in reads and writes.
    pub(super) fn of(problem: &OrderingProblem) -> ConstraintCounts {
        let trace = problem.trace;
        let mut counts = ConstraintCounts {
            steps: trace.steps().count() as u64,
            bug: u64::from(!matches!(trace.bug, Bug::Unknown(_))),
            sync: sections(problem),
            ..ConstraintCounts::default()
        };
        for (id, step) in trace.steps() {
            counts.mo += u64::from(id.index > 0);
            match step.action {
                Action::Read { .. } => {
                    counts.accesses += 1;
                    counts.variables += 1;
                }
                Action::Write { .. } => counts.accesses += 1,
                Action::Assume(_) => counts.path += 1,
                Action::Sync { kind, .. } => counts.sync += u64::from(is_order(kind)),
                Action::Release { .. } => {}
            }
        }
        let groups = problem
            .groups
            .iter()
            .map(|group| group.options.len() as u64);
        counts.sync += groups.sum::<u64>();
        counts.path -= u64::from(matches!(trace.bug, Bug::Condition { .. })).min(counts.path);
        counts.rw = reads(problem);
        let outside = trace
            .symbols
            .iter()
            .filter(|symbol| matches!(symbol.origin, SymbolOrigin::Outside { .. }));
        counts.variables += outside.count() as u64 + counts.steps;
        counts
    }

    /// Adds the counts of the engine's work.
    pub(super) fn with(mut self, engine: &ScheduleEngine) -> ConstraintCounts {
        self.given += engine.solver.formulas;
        self.given_variables += engine.variables();
        self.rounds += engine.rounds + engine.solver.questions;
        self.effort += engine.solver.used;
        self
    }
}

fn is_order(kind: EventKind) -> bool {
    matches!(
        kind.role(),
        EventRole::Fork | EventRole::Join | EventRole::Leave | EventRole::Pass
    )
}

/// Number of pairs of mutually exclusive critical sections of different threads.
fn sections(problem: &OrderingProblem) -> u64 {
    let of_lock = |all: &[Vec<super::problem::LockedNodes>]| {
        let total: u64 = all.iter().map(|sections| sections.len() as u64).sum();
        let same: u64 = all
            .iter()
            .map(|sections| (sections.len() as u64).pow(2))
            .sum();
        (total * total - same) / 2
    };
    let locks = problem.locks.iter().map(|lock| {
        let shared: Vec<Vec<_>> = lock
            .all
            .iter()
            .map(|sections| {
                sections
                    .iter()
                    .filter(|section| section.is_shared)
                    .copied()
                    .collect()
            })
            .collect();
        of_lock(&lock.all) - of_lock(&shared)
    });
    locks.sum()
}

/// Number of read-write constraints: with w writes of a cell (and its initial value), a read has w sources,
/// each with its value, its order and w - 1 other writes.
fn reads(problem: &OrderingProblem) -> u64 {
    let writes = |cell: usize| {
        let chains = problem.writes.get(cell).map_or(&[][..], |chains| chains);
        chains.iter().map(|writes| writes.len() as u64).sum::<u64>() + 1
    };
    let of_read = |read: &super::problem::SymbolRead| {
        let ways = writes(read.cell.index());
        ways * (ways + 1)
    };
    problem.reads.values().map(of_read).sum()
}
