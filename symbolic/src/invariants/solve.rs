//! Queries to Z3, with limits: they are deterministic and can be cancelled.

use super::{
    linear::{is_solvable, simplified},
    range::follows,
};
use crate::{
    ExprId, Exprs, SymbolId,
    expr::Values,
    schedules::{SolverTerms, solver_version},
};
use std::collections::BTreeSet;
use unsnarl_core::Budget;
use z3::{Params, SatResult, Solver, StatisticsValue};

/// Solver effort per query, in Z3's resource units: some tenths of a second.
const EFFORT: u32 = 200_000;
/// Solver effort of all queries together.
const ALL: u64 = 1_000_000;
/// Memory per query, in megabytes.
const MEMORY: u32 = 2048;
/// Bound on the unknowns for which values are tried before the solver is asked.
const MOST_TRIED: usize = 3;

/// Decides whether conditions are satisfiable together.
pub(super) struct SatisfiabilityQuery<'b> {
    budget: &'b Budget,
    /// The solver, shared by all queries, since making one takes longer than most answers. `None` on a machine without
    /// its library: what the other methods do not decide stays unknown there.
    solver: Option<Solver>,
    /// Effort left for all queries.
    left: u64,
    /// Queries that reached the solver.
    pub questions: usize,
}

/// Answer to a satisfiability query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Can {
    /// Satisfiable.
    Yes,
    /// Unsatisfiable.
    No,
    /// Undecided, since the effort or the budget did not suffice.
    Unknown,
}

impl<'b> SatisfiabilityQuery<'b> {
    pub fn new(budget: &'b Budget) -> SatisfiabilityQuery<'b> {
        SatisfiabilityQuery {
            budget,
            solver: solver_version()
                .is_ok()
                .then(|| Solver::new_for_logic("QF_BV").unwrap_or_default()),
            left: ALL,
            questions: 0,
        }
    }

    /// Decides whether all these conditions can be 1 together, for some values of their unknowns. Values near
    /// `hints` and near the numbers in the conditions are tried first.
    pub fn all(&mut self, exprs: &mut Exprs, conditions: &[ExprId], hints: &[u128]) -> Can {
        let mut open: Vec<ExprId> = Vec::new();
        for &condition in conditions {
            let condition = simplified(exprs, condition);
            match exprs.constant(condition) {
                Some(0) => return Can::No,
                Some(_) => {}
                None => open.push(condition),
            }
        }
        match open.as_slice() {
            [] => return Can::Yes,
            [one] if is_solvable(exprs, *one) => return Can::Yes,
            _ => {}
        }
        if self.budget.stop().is_some() {
            return Can::Unknown;
        }
        if tried(exprs, &open, hints) {
            return Can::Yes;
        }
        self.ask(exprs, &open)
    }

    /// Decides whether some conditions imply another one.
    pub fn implies(&mut self, exprs: &mut Exprs, given: &[ExprId], then: ExprId) -> bool {
        if follows(exprs, given, then) {
            return true;
        }
        let not = exprs.not(then);
        let mut all = given.to_vec();
        all.push(not);
        self.all(exprs, &all, &[]) == Can::No
    }

    fn ask(&mut self, exprs: &Exprs, conditions: &[ExprId]) -> Can {
        let effort = u32::try_from(self.left).map_or(EFFORT, |left| left.min(EFFORT));
        let Some(solver) = self.solver.as_ref().filter(|_| effort > 0) else {
            return Can::Unknown;
        };
        self.questions += 1;
        limit(solver, effort, self.budget);
        let before = spent(solver);
        solver.push();
        let mut terms = SolverTerms::default();
        for &condition in conditions {
            solver.assert(terms.truth(exprs, condition));
        }
        let answer = match solver.check() {
            SatResult::Sat => Can::Yes,
            SatResult::Unsat => Can::No,
            SatResult::Unknown => Can::Unknown,
        };
        solver.pop(1);
        let spent = match answer {
            Can::Unknown => u64::from(effort),
            _ => spent(solver).saturating_sub(before),
        };
        self.left = self.left.saturating_sub(spent);
        answer
    }
}

fn limit(solver: &Solver, effort: u32, budget: &Budget) {
    let mut params = Params::new();
    params.set_u32("max_memory", MEMORY);
    params.set_u32("rlimit", effort);
    if let Some(left) = budget.left() {
        let left = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        params.set_u32("timeout", left.max(1));
    }
    solver.set_params(&params);
}

/// Effort spent by the solver so far.
fn spent(solver: &Solver) -> u64 {
    match solver.get_statistics().value("rlimit count") {
        Some(StatisticsValue::UInt(count)) => u64::from(count),
        _ => 0,
    }
}

/// `true` if some likely values satisfy all conditions.
fn tried(exprs: &Exprs, conditions: &[ExprId], hints: &[u128]) -> bool {
    let mut symbols: BTreeSet<SymbolId> = BTreeSet::new();
    let mut numbers: BTreeSet<u128> = hints.iter().copied().collect();
    for &condition in conditions {
        symbols.extend(exprs.symbols(condition));
        numbers.extend(exprs.numbers(condition));
        if symbols.len() > MOST_TRIED {
            return false;
        }
    }
    numbers.extend([0, 1]);
    let values: BTreeSet<u128> = numbers
        .iter()
        .flat_map(|&number| [number, number.wrapping_add(1), number.wrapping_sub(1)])
        .collect();
    let most = [64, 16, 6].get(symbols.len().saturating_sub(1)).copied();
    let values: Vec<u128> = values.into_iter().take(most.unwrap_or(64)).collect();
    let symbols: Vec<SymbolId> = symbols.into_iter().collect();
    let all = values
        .len()
        .saturating_pow(u32::try_from(symbols.len()).unwrap_or(0));
    (0..all).any(|choice| holds(exprs, conditions, &symbols, (&values, choice)))
}

/// Evaluates the conditions with the values of this choice.
fn holds(
    exprs: &Exprs,
    conditions: &[ExprId],
    symbols: &[SymbolId],
    (values, choice): (&[u128], usize),
) -> bool {
    let mut known = Values::new();
    let chosen = |symbol: SymbolId| {
        let at = symbols.binary_search(&symbol).ok()?;
        let row = choice / values.len().pow(u32::try_from(at).ok()?) % values.len();
        values.get(row).copied()
    };
    conditions
        .iter()
        .all(|&condition| exprs.value(condition, &mut known, &chosen) == Some(1))
}
