//! A checker of orders: decides whether an order of a symbolic trace's steps is feasible, and whether the run
//! fails in it. Shares no code with the search that makes orders.
//!
//! An order is feasible when each thread executes its trace from the beginning (up to a cut, see
//! [`Feasible::cut`]), the rules of synchronization hold, every read takes the value of the last write before
//! it, and every path condition holds for the resulting values: Phi_path, Phi_sync, Phi_rw and Phi_mo of
//! [symbiosis], section 3.2, for sequential consistency, or for total or partial store order
//! ([`MemoryModel`]: an order is then one of effects). [`Rule`] lists the rules.
//!
//! The checker chooses where a trace leaves something open:
//! * A signal wakes one of the threads that wait at that moment, the one that resumes first in the order.
//!   Waits that ended by timeout or spuriously need no signal and take none.
//! * A failed attempt at a lock needs another thread that holds it, unless it failed on a free lock when
//!   recorded.
//! * A semaphore starts with as many units as the recorded order needs (without one: as all steps together
//!   need).
//! * As many threads meet at a barrier as met when recorded (without an order: all that ever arrive at it).
//! * Objects that were used against the rules in the recorded order (a lock released by another thread) keep
//!   their recorded order.
//! * A cell of unknown initial value holds the value that the recorded order's first read found.

mod memory;
mod objects;
#[cfg(test)]
mod tests;
mod waits;

use crate::symbolic::{Action, Bug, ExprId, Origin, StepId, SymbolId, SymbolicTrace, expr::Values};
use memory::InOrder;
pub use memory::MemoryModel;
use objects::{Facts, Objects};
use std::fmt;
use unsnarl_trace::{EventKind, Run};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Infeasible {
    /// The step that cannot come at its position in the order.
    pub step: StepId,
    /// The step that conflicts with it, if it is a single one.
    pub other: Option<StepId>,
    /// The violated rule.
    pub rule: Rule,
}

/// The rules of a feasible order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// The step is in the trace.
    Known,
    /// Each thread's steps come in program order, each once, without gaps.
    Program,
    /// The steps of one event come together.
    Whole,
    /// A thread begins after it was created.
    Fork,
    /// A join comes after all steps of the joined thread.
    Join,
    /// A lock is acquired when no other thread holds it (by readers: for writing).
    Lock,
    /// A lock is released by a thread that holds it.
    Unlock,
    /// An attempt fails while another thread holds the lock.
    Attempt,
    /// A wait resumes after a signal that came while it waited.
    Signal,
    /// A semaphore's unit is taken when there is one.
    Unit,
    /// A barrier is left when all threads have arrived.
    Barrier,
    /// A once-only initialization happens once, and is passed when it is done.
    Once,
    /// Objects that were used against the rules keep the recorded order.
    AsRecorded,
    /// The thread takes the path that it took.
    Path,
    /// A path condition can be evaluated.
    Value,
}

impl Rule {
    /// The rule as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Rule::Known => "an order has steps of the trace",
            Rule::Program => "each thread's steps come in program order, each once",
            Rule::Whole => "the steps of one event come together",
            Rule::Fork => "a thread begins after it was created",
            Rule::Join => "a join comes after all that the other thread does",
            Rule::Lock => "a lock is taken when no other thread holds it",
            Rule::Unlock => "a lock is given back by a thread that holds it",
            Rule::Attempt => "an attempt at a lock fails only while another thread holds it",
            Rule::Signal => "a wait goes on after a signal that came while it waited",
            Rule::Unit => "a unit of a semaphore is taken when there is one",
            Rule::Barrier => "a barrier is left when all have come",
            Rule::Once => "a once-only initialization happens once and is passed when it is done",
            Rule::AsRecorded => "what was used against the rules keeps its recorded order",
            Rule::Path => "the thread takes the path that it took",
            Rule::Value => "what a condition depends on is known",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl Infeasible {
    /// `a lock is taken when no other thread holds it: main.1, lock m at a.c:7, against main, lock m at a.c:3`
    pub fn in_words(&self, trace: &SymbolicTrace, run: &Run) -> String {
        let mut words = format!("{}: {}", self.rule, step_in_words(trace, run, self.step));
        if let Some(other) = self.other {
            words.push_str(", against ");
            words.push_str(&step_in_words(trace, run, other));
        }
        words
    }
}

/// `main.1, write balance at bank.c:7`.
pub fn step_in_words(trace: &SymbolicTrace, run: &Run, id: StepId) -> String {
    let thread = crate::facts::thread_name(run, id.thread);
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
    let place = crate::facts::place(run, step.site);
    match place.line {
        0 => format!("{thread}, {}", what.trim_end()),
        _ => format!(
            "{thread}, {} at {}",
            what.trim_end(),
            crate::facts::short(&place)
        ),
    }
}

/// Checks one order, with recorded values from outside. Make a [`Checker`] for many orders.
pub fn check(trace: &SymbolicTrace, order: &[StepId]) -> Result<Feasible, Infeasible> {
    Checker::new(trace).check(order)
}

/// Constraints of a trace on its feasible orders: made once, in time linear in its steps; each check is then
/// linear in the order and in the expressions.
#[derive(Debug)]
pub struct Checker<'t> {
    trace: &'t SymbolicTrace,
    model: MemoryModel,
    facts: Facts,
    first_values: Vec<Option<u128>>,
}

impl<'t> Checker<'t> {
    /// Prepares the trace for sequential consistency.
    pub fn new(trace: &'t SymbolicTrace) -> Checker<'t> {
        Checker::under(trace, MemoryModel::Sequential)
    }

    /// Prepares the trace for orders of effects under this memory model.
    pub fn under(trace: &'t SymbolicTrace, model: MemoryModel) -> Checker<'t> {
        Checker {
            trace,
            model,
            facts: Facts::new(trace),
            first_values: trace.first_values(),
        }
    }

    /// Checks an order, with recorded values from outside.
    pub fn check(&self, order: &[StepId]) -> Result<Feasible, Infeasible> {
        self.check_with(order, |symbol| self.trace.symbol(symbol)?.recorded)
    }

    /// Checks an order, with values from outside given by `outside`.
    pub fn check_with(
        &self,
        order: &[StepId],
        outside: impl Fn(SymbolId) -> Option<u128>,
    ) -> Result<Feasible, Infeasible> {
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
    fn in_program_order(&self, order: &[StepId]) -> Result<Vec<StepId>, Infeasible> {
        let mut so_far = InOrder::new(self.trace, self.model);
        for &id in order {
            so_far.step(id)?;
        }
        Ok(so_far.missing())
    }

    /// Checks Phi_sync.
    fn synchronized(&self, order: &[StepId]) -> Result<(), Infeasible> {
        let mut objects = Objects::of_order(&self.facts, order);
        for &id in order {
            objects
                .step(self.trace, id)
                .map_err(|(other, rule)| broken(id, other, rule))?;
        }
        Ok(())
    }

    /// Computes the values read (Phi_rw) and checks the path conditions (Phi_path).
    fn values(
        &self,
        order: &[StepId],
        outside: &impl Fn(SymbolId) -> Option<u128>,
    ) -> Result<Vec<Option<u128>>, Infeasible> {
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
        let value = |(id, symbol): (SymbolId, &crate::symbolic::Symbol)| match symbol.origin {
            Origin::Read(_) => None,
            Origin::Outside { .. } => outside(id),
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

/// `true` for a synchronization step of this kind.
fn is_kind(trace: &SymbolicTrace, id: StepId, wanted: EventKind) -> bool {
    let step = trace.step(id);
    step.is_some_and(|step| matches!(step.action, Action::Sync { kind, .. } if kind == wanted))
}

fn broken(step: StepId, other: Option<StepId>, rule: Rule) -> Infeasible {
    Infeasible { step, other, rule }
}
