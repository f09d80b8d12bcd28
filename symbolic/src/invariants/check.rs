//! Verifies an explanation, by the solver and by the definitions; shares no code with the engine that makes
//! explanations.

mod hazards;

use super::model::{Fact, Kind, PathExplanation, Statement};
use crate::{
    ExprId, Exprs, SymbolId,
    expr::Values,
    schedules::{SolverTerms, solver_version},
};
use std::{collections::BTreeSet, fmt};
use unsnarl_core::Budget;
use unsnarl_trace::EventKind;
use z3::{Params, SatResult, Solver};

/// A violation of a definition by an explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The recorded run does not satisfy this statement's formula, so the path is no error trace (Definition
    /// 6).
    Infeasible(usize),
    /// The invariant after this statement does not follow from the one before it (Definition 9).
    NotInductive(usize),
    /// The first invariant is not `true`.
    NotTrueAtFirst,
    /// The last invariant permits the run to pass.
    DoesNotFail,
    /// The invariant at this position uses variables that are not used both before and after it (Definition
    /// 9).
    Vocabulary(usize),
    /// The slice permits the run to pass (Definition 10).
    Unsound,
    /// The slice does not imply that this branch around one of its statements was taken (Definition 11).
    Control(usize),
    /// A conflicting access of another thread is missing for a read of the slice (Definition 12).
    Hazard {
        /// The read.
        read: usize,
        /// The missing access.
        missing: usize,
    },
    /// A stated order is not the path's.
    Order(usize, usize),
    /// Another thread changes what is said to be left alone up to this statement.
    Touched(usize),
    /// The solver gave no answer within its limits, at this statement, or there is no solver.
    Unknown(usize),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Solver effort per query, in Z3's resource units.
const EFFORT: u32 = 2_000_000;

/// Finds all violations, checked over the full path: one query for each statement that changes the invariant,
/// and one for each branch around the slice. Empty for a correct explanation; when the budget ends, the
/// violations found by then.
pub fn check(explanation: &PathExplanation, budget: &Budget) -> Vec<Violation> {
    if solver_version().is_err() {
        return vec![Violation::Unknown(0)];
    }
    let mut check = Check {
        of: explanation,
        exprs: explanation.exprs.clone(),
        solver: limited(),
        broken: Vec::new(),
    };
    check.run();
    if !explanation.is_partial() {
        check.ends();
        check.vocabulary();
    }
    check.induction(budget);
    check.slice();
    if explanation.level.cs {
        check.control(budget);
    }
    check.hazards();
    check.broken
}

fn limited() -> Solver {
    let solver = Solver::new();
    let mut params = Params::new();
    params.set_u32("rlimit", EFFORT);
    solver.set_params(&params);
    solver
}

struct Check<'a> {
    of: &'a PathExplanation,
    exprs: Exprs,
    solver: Solver,
    broken: Vec<Violation>,
}

impl Check<'_> {
    fn last(&self) -> usize {
        self.of.statements.len().saturating_sub(1)
    }

    /// The formulas of a statement at the explanation's level (Formulas 1 and 3; scopes are added once all
    /// their branches are known).
    fn formulas(&mut self, statement: &Statement) -> Vec<ExprId> {
        let mut formulas = Vec::new();
        for (made, value) in [
            (statement.makes, statement.value),
            (statement.taken, statement.condition),
        ] {
            let Some((made, value)) = made.zip(value) else {
                continue;
            };
            let width = self.exprs.width(value);
            let made = self.exprs.symbol(made, width);
            formulas.push(self.exprs.compare(crate::Comparison::Eq, made, value));
        }
        let Some(premise) = self.premise(statement) else {
            // Without control dependence conditions are facts of the path (Formula 1).
            if statement.kind != Kind::Failure {
                formulas.extend(statement.condition);
            }
            return formulas;
        };
        let not = self.exprs.not(premise);
        let either = |exprs: &mut Exprs, formula| exprs.binary(crate::Binary::Or, not, formula);
        formulas
            .into_iter()
            .map(|formula| either(&mut self.exprs, formula))
            .collect()
    }

    /// The condition that the branches around a statement were taken; `None` without control dependence.
    fn premise(&mut self, statement: &Statement) -> Option<ExprId> {
        if !self.of.level.cs {
            return None;
        }
        let mut all = self.exprs.number(1, 1);
        for guard in &statement.guards {
            let taken = self.of.statements.get(*guard).and_then(|one| one.taken);
            if let Some(taken) = taken {
                let taken = self.exprs.symbol(taken, 1);
                all = match self.exprs.constant(all) {
                    Some(1) => taken,
                    _ => self.exprs.binary(crate::Binary::And, all, taken),
                };
            }
        }
        Some(all)
    }

    /// psi: the failing condition does not hold, or the thread did not reach it.
    fn passes(&mut self) -> Option<ExprId> {
        let failure = self.of.statements.last()?.clone();
        let wrong = failure.condition?;
        let fails = match self.premise(&failure) {
            Some(premise) if self.exprs.constant(premise).is_none() => {
                self.exprs.binary(crate::Binary::And, premise, wrong)
            }
            _ => wrong,
        };
        Some(self.exprs.not(fails))
    }

    /// The conjuncts over values at a position.
    fn invariant(&self, position: usize) -> Vec<ExprId> {
        let values = self.of.at(position).filter_map(|fact| match fact {
            Fact::Value(id) => Some(*id),
            Fact::Order { .. } | Fact::Untouched { .. } => None,
        });
        values.collect()
    }

    fn ask(&mut self, all: &[ExprId]) -> SatResult {
        self.solver.push();
        let mut terms = SolverTerms::default();
        for &one in all {
            self.solver.assert(terms.truth(&self.exprs, one));
        }
        let answer = self.solver.check();
        self.solver.pop(1);
        answer
    }

    /// Checks that these formulas exclude each other.
    fn exclude(&mut self, all: &[ExprId], otherwise: Violation, row: usize) {
        match self.ask(all) {
            SatResult::Unsat => {}
            SatResult::Sat => self.broken.push(otherwise),
            SatResult::Unknown => self.broken.push(Violation::Unknown(row)),
        }
    }

    /// Checks that the recorded run satisfies the formulas of all statements.
    fn run(&mut self) {
        let mut values = Values::new();
        for (row, statement) in self.of.statements.iter().enumerate() {
            let vars = &self.of.vars;
            let was = |symbol: SymbolId| vars.get(symbol.index())?.recorded;
            let held = statement.makes.and_then(was);
            let set = statement
                .value
                .and_then(|value| self.of.exprs.value(value, &mut values, &was));
            let so = statement
                .condition
                .map(|one| self.of.exprs.value(one, &mut values, &was));
            if (held.is_some() && held != set) || so.is_some_and(|so| so != Some(1)) {
                self.broken.push(Violation::Infeasible(row));
            }
        }
    }

    fn ends(&mut self) {
        if !self.invariant(0).is_empty() {
            self.broken.push(Violation::NotTrueAtFirst);
        }
        let mut all = self.invariant(self.last());
        all.extend(self.passes());
        let last = self.last();
        self.exclude(&all, Violation::DoesNotFail, last);
    }

    fn induction(&mut self, budget: &Budget) {
        let first = match self.of.is_partial() {
            true => {
                let values = self.of.invariants.iter();
                let values = values.filter(|reach| matches!(reach.fact, Fact::Value(_)));
                values.map(|reach| reach.from).min()
            }
            false => Some(0),
        };
        let Some(first) = first else { return };
        let mut before = self.invariant(first);
        for row in first..self.last() {
            if budget.stop().is_some() {
                return;
            }
            let behind = self.invariant(row + 1);
            let new: Vec<ExprId> = behind
                .iter()
                .copied()
                .filter(|one| !before.contains(one))
                .collect();
            let statement = self.of.statements.get(row);
            if let Some(statement) = statement.filter(|_| !new.is_empty()) {
                let mut all = before.clone();
                all.extend(self.formulas(statement));
                let mut then = self.exprs.number(1, 1);
                for one in new {
                    then = match self.exprs.constant(then) {
                        Some(1) => one,
                        _ => self.exprs.binary(crate::Binary::And, then, one),
                    };
                }
                all.push(self.exprs.not(then));
                self.exclude(&all, Violation::NotInductive(row), row);
            }
            before = behind;
        }
    }

    /// Checks that each invariant's unknowns are used by a statement before it and by one after it.
    fn vocabulary(&mut self) {
        let statements = self.of.statements.clone();
        let used: Vec<BTreeSet<SymbolId>> = statements
            .iter()
            .map(|statement| {
                let mut all = self.formulas(statement);
                all.extend(statement.condition);
                all.extend(self.premise(statement));
                all.iter()
                    .flat_map(|one| self.exprs.symbols(*one))
                    .collect()
            })
            .collect();
        let mut first = vec![usize::MAX; self.of.vars.len()];
        let mut last = vec![0; self.of.vars.len()];
        for (row, symbols) in used.iter().enumerate() {
            for symbol in symbols {
                if let Some(slot) = first.get_mut(symbol.index()) {
                    *slot = (*slot).min(row);
                }
                if let Some(slot) = last.get_mut(symbol.index()) {
                    *slot = row;
                }
            }
        }
        for reach in &self.of.invariants {
            let Fact::Value(id) = reach.fact else {
                continue;
            };
            let is_shared = self.of.exprs.symbols(id).into_iter().all(|symbol| {
                let at = symbol.index();
                first.get(at).is_some_and(|first| *first < reach.from)
                    && last.get(at).is_some_and(|last| *last >= reach.to)
            });
            if !is_shared {
                self.broken.push(Violation::Vocabulary(reach.from));
            }
        }
    }

    fn of_slice(&mut self, upto: usize) -> Vec<ExprId> {
        let of = self.of;
        let rows = of.slice.iter().filter(|row| **row < upto);
        let statements: Vec<&Statement> = rows.filter_map(|row| of.statements.get(*row)).collect();
        statements
            .into_iter()
            .flat_map(|statement| self.formulas(statement))
            .collect()
    }

    fn slice(&mut self) {
        let last = self.last();
        let mut all = self.of_slice(last);
        all.extend(self.passes());
        self.exclude(&all, Violation::Unsound, last);
    }

    /// Checks Definition 11: before each branch around a statement of the slice, the slice implies the
    /// direction taken.
    fn control(&mut self, budget: &Budget) {
        let of = self.of;
        let mut open: Vec<usize> = of
            .slice
            .iter()
            .filter_map(|&row| Some((row, of.statements.get(row)?)))
            .filter(|&(row, one)| !is_hazard_only(of, row, one))
            .flat_map(|(_, one)| one.guards.clone())
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(row) = open.pop() {
            if !seen.insert(row) || budget.stop().is_some() {
                continue;
            }
            let Some(branch) = of.statements.get(row) else {
                continue;
            };
            open.extend(&branch.guards);
            if let Some(condition) = branch.condition {
                let mut all = self.of_slice(row);
                all.push(self.exprs.not(condition));
                self.exclude(&all, Violation::Control(row), row);
            }
        }
    }
}

/// `true` for a write or signal that is in the slice only for its order: nothing that begins to hold behind it says what it
/// wrote. A condition that begins later follows from other statements, whatever the value is.
fn is_hazard_only(of: &PathExplanation, row: usize, statement: &Statement) -> bool {
    let made = statement.makes;
    let is_said = of.begins_at(row + 1).any(|reach| match reach.fact {
        Fact::Value(id) => made.is_some_and(|made| of.exprs.symbols(id).contains(&made)),
        Fact::Order { .. } | Fact::Untouched { .. } => false,
    });
    use EventKind::{Broadcast, Signal};
    matches!(statement.kind, Kind::Write | Kind::Sync(Signal | Broadcast)) && !is_said
}
