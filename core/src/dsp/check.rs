//! Could this order of a symbolic trace's steps have happened, and does the run fail in it? A checker that
//! shares no code with what makes orders.
//!
//! An order is feasible when each thread does what its trace says from its beginning (up to a cut, see
//! [`Feasible::cut`]), the rules of synchronization hold, every read takes what the last write before it left, and
//! every path condition holds under the values that come of that: Phi_path, Phi_sync, Phi_rw and Phi_mo of
//! [symbiosis], section 3.2, for sequential consistency, or for total or partial store order ([`MemoryModel`]: an order
//! is then one of effects). [`Rule`] lists what can be broken.
//!
//! Where a trace leaves something open, this is chosen:
//! * A signal wakes one of those that wait at that moment, the one that goes on first in the order. Waits that
//!   ended by time or by themselves need no signal and take none.
//! * A failed attempt at a lock needs another thread that holds it, unless it failed on a free one when recorded.
//! * A semaphore begins with as many units as the recorded order needs (without one: as all steps together need).
//! * At a barrier meet as many threads as met when recorded (without an order: all that ever come to it).
//! * Objects that were used against the rules in the recorded order (a lock given back by another thread) keep
//!   their recorded order.
//! * A cell of which nobody knows what it held at first holds what the recorded order's first read found.

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

/// What a feasible order does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feasible {
    /// The run fails as it did when recorded. None when the order ends before that is decided, or when what
    /// went wrong is not known.
    pub fails: Option<bool>,
    /// Of each thread that the order does not bring to its end: its first step that is left out.
    pub cut: Vec<StepId>,
    /// What each symbol is, by [`SymbolId`]; `None` for those that nothing read and those that nobody knows.
    pub symbols: Vec<Option<u128>>,
}

/// Why an order cannot happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Infeasible {
    /// The step that cannot come where the order has it.
    pub step: StepId,
    /// The step that stands in its way, as far as it is one.
    pub other: Option<StepId>,
    /// The rule that is broken.
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
    /// A join comes after all that the other thread does.
    Join,
    /// A lock is taken when no other thread holds it (for readers: for writing).
    Lock,
    /// A lock is given back by a thread that holds it.
    Unlock,
    /// An attempt fails while another thread holds the lock.
    Attempt,
    /// A wait goes on after a signal that came while it waited.
    Signal,
    /// A semaphore's unit is taken when there is one.
    Unit,
    /// A barrier is left when all have come.
    Barrier,
    /// A once-only initialization happens once, and is passed when it is done.
    Once,
    /// Objects that were used against the rules keep the recorded order.
    AsRecorded,
    /// The thread takes the path that it took.
    Path,
    /// A path condition can be worked out.
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

/// Checks one order, with what comes from outside as it was recorded. Who has many orders makes a [`Checker`].
pub fn check(trace: &SymbolicTrace, order: &[StepId]) -> Result<Feasible, Infeasible> {
    Checker::new(trace).check(order)
}

/// What a trace says about its feasible orders: made once, in time linear in its steps; then each check is
/// linear in the order and in the expressions.
#[derive(Debug)]
pub struct Checker<'t> {
    trace: &'t SymbolicTrace,
    model: MemoryModel,
    facts: Facts,
    first_values: Vec<Option<u128>>,
}

impl<'t> Checker<'t> {
    /// Reads the trace, for sequential consistency.
    pub fn new(trace: &'t SymbolicTrace) -> Checker<'t> {
        Checker::under(trace, MemoryModel::Sequential)
    }

    /// Reads the trace, for orders of effects under this memory model.
    pub fn under(trace: &'t SymbolicTrace, model: MemoryModel) -> Checker<'t> {
        Checker {
            trace,
            model,
            facts: Facts::new(trace),
            first_values: trace.first_values(),
        }
    }

    /// Is this order feasible? What comes from outside is as it was recorded.
    pub fn check(&self, order: &[StepId]) -> Result<Feasible, Infeasible> {
        self.check_with(order, |symbol| self.trace.symbol(symbol)?.recorded)
    }

    /// Is this order feasible, when `outside` gives the values of the symbols that come from outside?
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

    /// Phi_mo, and the steps of one event together. The first step of each thread that is left out.
    fn in_program_order(&self, order: &[StepId]) -> Result<Vec<StepId>, Infeasible> {
        let mut so_far = InOrder::new(self.trace, self.model);
        for &id in order {
            so_far.step(id)?;
        }
        Ok(so_far.missing())
    }

    /// Phi_sync.
    fn synchronized(&self, order: &[StepId]) -> Result<(), Infeasible> {
        let mut objects = Objects::of_order(&self.facts, order);
        for &id in order {
            objects
                .step(self.trace, id)
                .map_err(|(other, rule)| broken(id, other, rule))?;
        }
        Ok(())
    }

    /// Phi_rw and Phi_path: what is read, and that the paths are taken.
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

    /// Phi_bug.
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

/// Is this a step of synchronization, for the rules?
fn is_kind(trace: &SymbolicTrace, id: StepId, wanted: EventKind) -> bool {
    let step = trace.step(id);
    step.is_some_and(|step| matches!(step.action, Action::Sync { kind, .. } if kind == wanted))
}

fn broken(step: StepId, other: Option<StepId>, rule: Rule) -> Infeasible {
    Infeasible { step, other, rule }
}
