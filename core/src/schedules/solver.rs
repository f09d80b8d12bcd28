//! Z3 within limits: answers are the same for the same question, it can be cancelled, and it says why it gave up.

use super::{Options, Unknown};
use crate::Budget;
use z3::{Params, SatResult, Solver, ast::Bool};

/// What a question came to.
pub(super) enum Solved {
    /// All of that can be.
    Sat(z3::Model),
    /// It cannot, because of these of the assumptions.
    Unsat(Vec<Bool>),
    /// Not known.
    Unknown(Unknown),
}

/// The solver with what is left of its limits.
pub(super) struct Limited<'b> {
    solver: Solver,
    budget: &'b Budget,
    /// Where to stop, of all effort allowed.
    effort: u64,
    allowed: u64,
    /// Questions asked.
    pub questions: u64,
    /// Effort used up, in Z3's resource units.
    pub used: u64,
    /// Formulas asserted.
    pub formulas: u64,
}

/// The first slice of effort, and the largest: between slices the budget is looked at. The first has to do for taking
/// in all formulas (1 million was too little for 1,200 accesses): what is cut short there does not come to an end.
const SLICES: (u32, u32) = (1 << 24, 1 << 26);

impl<'b> Limited<'b> {
    pub fn new(options: &Options, budget: &'b Budget) -> Limited<'b> {
        // The plain core: tactics would start anew at each question and forget what was learned.
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

    /// From now on this much may be used, and never more than was allowed in all.
    pub fn allow(&mut self, more: u64) {
        self.effort = self.used.saturating_add(more).min(self.allowed);
    }

    /// What was allowed in all.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    pub fn assert(&mut self, formula: &Bool) {
        self.formulas += 1;
        self.solver.assert(formula);
    }

    /// Is everything that was asserted possible together with these assumptions?
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

    /// All that this context has worked so far.
    fn spent(&self) -> u64 {
        match self.solver.get_statistics().value("rlimit count") {
            Some(z3::StatisticsValue::UInt(count)) => u64::from(count),
            _ => 0,
        }
    }
}
