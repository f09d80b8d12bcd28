//! Z3 with limits: it is deterministic, can be cancelled, and gives the reason when it gives up.

use super::{SolverOptions, Unknown};
use unsnarl_core::Budget;
use z3::{Params, SatResult, Solver, ast::Bool};

/// Answer to a query.
pub(super) enum Solved {
    /// Satisfiable, with a model.
    Sat(z3::Model),
    /// Unsatisfiable, because of these assumptions.
    Unsat(Vec<Bool>),
    /// Unknown, for this reason.
    Unknown(Unknown),
}

/// The solver with the rest of its limits.
pub(super) struct Limited<'b> {
    solver: Solver,
    budget: &'b Budget,
    /// Current effort limit, at most the total.
    effort: u64,
    allowed: u64,
    /// Number of queries.
    pub questions: u64,
    /// Effort used, in Z3's resource units.
    pub used: u64,
    /// Number of formulas asserted.
    pub formulas: u64,
}

/// The first slice of effort, and the largest: the budget is polled between slices. The first must suffice
/// for taking in all formulas (1 million was too little for 1,200 accesses), since an interrupted intake is
/// lost.
const SLICES: (u32, u32) = (1 << 24, 1 << 26);

impl<'b> Limited<'b> {
    pub fn new(options: &SolverOptions, budget: &'b Budget) -> Limited<'b> {
        // The plain core: tactics would start anew at each query and lose the learned clauses.
        let solver = Solver::new_for_logic("QF_BV").unwrap_or_default();
        let mut params = Params::new();
        params.set_u32("max_memory", options.memory);
        solver.set_params(&params);
        Limited {
            solver,
            budget,
            effort: options.effort,
            allowed: options.effort,
            questions: 0,
            used: 0,
            formulas: 0,
        }
    }

    /// Allows this much more effort, within the total.
    pub fn allow(&mut self, more: u64) {
        self.effort = self.used.saturating_add(more).min(self.allowed);
    }

    /// Total effort allowed.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    pub fn assert(&mut self, formula: &Bool) {
        self.formulas += 1;
        self.solver.assert(formula);
    }

    /// Checks the assertions together with these assumptions.
    pub fn check(&mut self, assumptions: &[Bool]) -> Solved {
        self.questions += 1;
        let (mut slice, largest) = SLICES;
        loop {
            if let Some(stopped) = self.budget.stop() {
                return Solved::Unknown(Unknown::Stopped(stopped));
            }
            let left = u32::try_from(self.effort.saturating_sub(self.used)).unwrap_or(u32::MAX);
            if left == 0 {
                return Solved::Unknown(Unknown::Effort);
            }
            let limit = slice.min(left);
            let before = self.spent();
            let mut params = Params::new();
            params.set_u32("rlimit", limit);
            self.solver.set_params(&params);
            let result = self.solver.check_assumptions(assumptions);
            let spent = self.spent().saturating_sub(before);
            self.used += spent;
            match result {
                SatResult::Unsat => return Solved::Unsat(self.solver.get_unsat_core()),
                SatResult::Sat => match self.solver.get_model() {
                    Some(model) => return Solved::Sat(model),
                    None => return Solved::Unknown(Unknown::Effort),
                },
                SatResult::Unknown => {
                    let reason = self.solver.get_reason_unknown().unwrap_or_default();
                    if reason.contains("memory") || reason.contains("memout") {
                        return Solved::Unknown(Unknown::Memory);
                    }
                    // A slice that was cut short uses up all of it, whatever the statistics say.
                    self.used += u64::from(limit).saturating_sub(spent);
                    slice = slice.saturating_mul(2).min(largest);
                }
            }
        }
    }

    /// Effort that this context has spent so far.
    fn spent(&self) -> u64 {
        match self.solver.get_statistics().value("rlimit count") {
            Some(z3::StatisticsValue::UInt(count)) => u64::from(count),
            _ => 0,
        }
    }
}
