//! A checker of orders: decides whether an order of a symbolic trace's steps is feasible, and whether the run
//! fails in it. Shares nothing but the numbers of steps with the search that makes orders.
//!
//! An order is feasible when each thread executes its trace from the beginning (up to a cut, see
//! [`Feasible::cut`]), the rules of synchronization hold, every read takes the value of the last write before
//! it, and every path condition holds for the resulting values: Phi_path, Phi_sync, Phi_rw and Phi_mo of
//! [symbiosis], section 3.2, for sequential consistency, or for total or partial store order
//! ([`MemoryModel`]: an order is then one of effects). [`Rule`] lists the rules; `order::checker` checks those
//! of synchronization. A cell of unknown initial value holds the value that the recorded order's first read
//! found.

mod memory;
#[cfg(test)]
mod tests;

use super::numbered::NumberedSteps;
use crate::{Action, Bug, ExprId, StepId, SymbolId, SymbolOrigin, SymbolicTrace, expr::Values};
use memory::InOrder;
pub use memory::MemoryModel;
use unsnarl_order::{
    Rule, Violation,
    checker::{Constraints, Replay},
};
use unsnarl_trace::Run;

/// Behaviour of a feasible order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feasible {
    /// `true` if the run fails as it did when recorded. None when the order ends before that is decided, or
    /// when the failing condition is not known.
    pub fails: Option<bool>,
    /// The first omitted step of each thread that the order does not complete.
    pub cut: Vec<StepId>,
    /// The value of each symbol, by [`SymbolId`]; `None` for symbols that no step read and for unknown ones.
    pub symbols: Vec<Option<u128>>,
}

/// Reason why an order is infeasible.
pub type InfeasibleTrace = Violation<StepId>;

/// `a lock is taken when no other thread holds it: main.1, lock m at a.c:7, against main, lock m at a.c:3`
pub fn infeasible_in_words(why: &InfeasibleTrace, trace: &SymbolicTrace, run: &Run) -> String {
    why.worded(|step| step_in_words(trace, run, *step))
}

/// `main.1, write balance at bank.c:7`.
pub fn step_in_words(trace: &SymbolicTrace, run: &Run, id: StepId) -> String {
    let thread = unsnarl_core::facts::thread_name(run, id.thread);
    let Some(step) = trace.step(id) else {
        return format!("{thread}, a step that it did not take");
    };
    let cell = |id| trace.cell(id).map_or("", |cell| cell.name.as_str());
    let what = match step.action {
        Action::Read { cell: id, .. } => format!("read {}", cell(id)),
        Action::Write { cell: id, .. } => format!("write {}", cell(id)),
        Action::Assume(condition) => format!("condition {}", trace.show(condition)),
        Action::Sync { kind, object, .. } => format!("{} {}", kind.name(), run.location(object)),
        Action::Release { object, .. } => format!("end with {} held", run.location(object)),
    };
    let place = unsnarl_core::facts::place(run, step.site);
    match place.line {
        0 => format!("{thread}, {}", what.trim_end()),
        _ => format!(
            "{thread}, {} at {}",
            what.trim_end(),
            unsnarl_core::facts::short(&place)
        ),
    }
}

/// Checks one order, with recorded values from outside. Make a [`Checker`] for many orders.
pub fn check(trace: &SymbolicTrace, order: &[StepId]) -> Result<Feasible, InfeasibleTrace> {
    TraceConstraints::new(trace).check(order)
}

/// Constraints of a trace on its feasible orders: made once, in time linear in its steps; each check is then
/// linear in the order and in the expressions.
#[derive(Debug)]
pub struct TraceConstraints<'t> {
    trace: &'t SymbolicTrace,
    model: MemoryModel,
    steps: NumberedSteps<'t>,
    constraints: Constraints,
    first_values: Vec<Option<u128>>,
}

impl<'t> TraceConstraints<'t> {
    /// Prepares the trace for sequential consistency.
    pub fn new(trace: &'t SymbolicTrace) -> TraceConstraints<'t> {
        TraceConstraints::under(trace, MemoryModel::Sequential)
    }

    /// Prepares the trace for orders of effects under this memory model.
    pub fn under(trace: &'t SymbolicTrace, model: MemoryModel) -> TraceConstraints<'t> {
        let steps = NumberedSteps::new(trace, &trace.order);
        TraceConstraints {
            trace,
            model,
            constraints: Constraints::new(&steps),
            steps,
            first_values: trace.first_values(),
        }
    }

    /// Checks an order, with recorded values from outside.
    pub fn check(&self, order: &[StepId]) -> Result<Feasible, InfeasibleTrace> {
        self.check_with(order, |symbol| self.trace.symbol(symbol)?.recorded)
    }

    /// Checks an order, with values from outside given by `outside`.
    pub fn check_with(
        &self,
        order: &[StepId],
        outside: impl Fn(SymbolId) -> Option<u128>,
    ) -> Result<Feasible, InfeasibleTrace> {
        let cut = self.in_program_order(order)?;
        self.synchronized(order)?;
        let symbols = self.values(order, &outside)?;
        let fails = self.fails(order, &cut, &symbols);
        Ok(Feasible {
            fails,
            cut,
            symbols,
        })
    }

    /// Checks Phi_mo and that the steps of one event are adjacent. Returns the first omitted step of each
    /// thread.
    fn in_program_order(&self, order: &[StepId]) -> Result<Vec<StepId>, InfeasibleTrace> {
        let mut so_far = InOrder::new(self.trace, self.model);
        for &id in order {
            so_far.step(id)?;
        }
        Ok(so_far.missing())
    }

    /// Checks Phi_sync.
    fn synchronized(&self, order: &[StepId]) -> Result<(), InfeasibleTrace> {
        let numbers = order.iter().map(|&id| self.steps.number(id));
        let mut replay = Replay::new(&self.constraints, &self.steps, numbers.clone());
        for step in numbers {
            replay.step(step).map_err(|(_, other, rule)| {
                let id = |step| self.steps.id(step);
                broken(id(step), other.map(id), rule)
            })?;
        }
        Ok(())
    }

    /// Computes the values read (Phi_rw) and checks the path conditions (Phi_path).
    fn values(
        &self,
        order: &[StepId],
        outside: &impl Fn(SymbolId) -> Option<u128>,
    ) -> Result<Vec<Option<u128>>, InfeasibleTrace> {
        let mut memory = self.first_values.clone();
        let mut symbols = self.outside(outside);
        let mut known = Values::new();
        for &id in order {
            let Some(step) = self.trace.step(id) else {
                continue;
            };
            let value = |of: ExprId, known: &mut Values, symbols: &[Option<u128>]| {
                let symbol = |id: SymbolId| symbols.get(id.index()).copied().flatten();
                self.trace.exprs.value(of, known, &symbol)
            };
            match step.action {
                Action::Read { cell, symbol } => {
                    let found = memory.get(cell.index()).copied().flatten();
                    if let Some(symbol) = symbols.get_mut(symbol.index()) {
                        *symbol = found;
                    }
                }
                Action::Write { cell, value: of } => {
                    let written = value(of, &mut known, &symbols);
                    if let Some(cell) = memory.get_mut(cell.index()) {
                        *cell = written;
                    }
                }
                Action::Assume(condition) if !self.is_bug(id) => {
                    match value(condition, &mut known, &symbols) {
                        Some(1) => {}
                        Some(_) => return Err(broken(id, None, Rule::Path)),
                        None => return Err(broken(id, None, Rule::Value)),
                    }
                }
                Action::Assume(_) | Action::Sync { .. } | Action::Release { .. } => {}
            }
        }
        Ok(symbols)
    }

    fn outside(&self, outside: &impl Fn(SymbolId) -> Option<u128>) -> Vec<Option<u128>> {
        let symbols = (0..).map(SymbolId).zip(&self.trace.symbols);
        let value = |(id, symbol): (SymbolId, &crate::UnknownValue)| match symbol.origin {
            SymbolOrigin::Read(_) => None,
            SymbolOrigin::Outside { .. } => outside(id),
        };
        symbols.map(value).collect()
    }

    fn is_bug(&self, id: StepId) -> bool {
        matches!(self.trace.bug, Bug::Condition { step, .. } if step == id)
    }

    /// Evaluates Phi_bug.
    fn fails(&self, order: &[StepId], cut: &[StepId], symbols: &[Option<u128>]) -> Option<bool> {
        let place = |step: StepId| order.iter().position(|&id| id == step);
        match self.trace.bug {
            Bug::Unknown(_) => None,
            Bug::Condition { step, condition } => {
                place(step)?;
                let symbol = |id: SymbolId| symbols.get(id.index()).copied().flatten();
                let value = self
                    .trace
                    .exprs
                    .value(condition, &mut Values::new(), &symbol);
                value.map(|value| value == 1)
            }
            Bug::AfterFree { step, freed } => {
                let access = place(step)?;
                Some(place(freed).is_some_and(|freed| freed < access))
            }
            Bug::Deadlock => cut.is_empty().then_some(true),
        }
    }
}

fn broken(step: StepId, other: Option<StepId>, rule: Rule) -> InfeasibleTrace {
    Violation { step, other, rule }
}
