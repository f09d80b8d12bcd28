//! Which steps of an order matter to the failure: a dynamic slice.
//!
//! The data cone is what the bug's condition was computed from, through the writes that reads took their values
//! from. Around it lies what decides that these steps are taken at all: the path conditions before them in their
//! threads, and what those were computed from. Linear in the order and the expressions.

use super::program::NONE;
use crate::symbolic::{Action, Bug, ExprId, Exprs, Node, Origin, StepId, SymbolId, SymbolicTrace};

/// How near to the failure a step is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Matters {
    /// The bug's condition was computed from it.
    Data,
    /// It decides whether such a step is taken, or what decides that was computed from it.
    Control,
    /// Neither.
    No,
}

/// What the steps of an order mean for the failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    first: Vec<u32>,
    matters: Vec<Matters>,
    reads_from: Vec<u32>,
    /// By place in the order, for who looks from there.
    order: Vec<StepId>,
}

struct Walk<'t> {
    trace: &'t SymbolicTrace,
    slice: Slice,
    seen: Vec<bool>,
    /// By thread: path conditions before this index are in.
    conditions: Vec<u32>,
}

impl Slice {
    /// The slice of an order.
    pub fn new(trace: &SymbolicTrace, order: &[StepId]) -> Slice {
        let mut walk = Walk {
            trace,
            slice: Slice::without(trace, order),
            seen: vec![false; trace.exprs.len()],
            conditions: vec![0; trace.threads.len()],
        };
        walk.slice.link(trace);
        match trace.bug {
            Bug::Condition { step, condition } => {
                walk.mark(step, Matters::Data);
                walk.data(condition, Matters::Data);
                walk.control();
            }
            Bug::AfterFree { step, freed } => {
                walk.mark(step, Matters::Data);
                walk.mark(freed, Matters::Data);
                walk.control();
            }
            Bug::Deadlock | Bug::Unknown(_) => walk.everything(),
        }
        walk.slice
    }

    /// The slice when the condition of the failure is not known: what the failing thread read from this step on
    /// counts as data, what it read before as control.
    pub fn of_check(trace: &SymbolicTrace, order: &[StepId], check: StepId) -> Slice {
        let mut walk = Walk {
            trace,
            slice: Slice::without(trace, order),
            seen: vec![false; trace.exprs.len()],
            conditions: vec![0; trace.threads.len()],
        };
        walk.slice.link(trace);
        let steps = trace.threads.get(check.thread.index());
        let steps = steps.map_or(&[][..], |thread| thread.steps.as_slice());
        for as_what in [Matters::Data, Matters::Control] {
            for (index, step) in (0..).zip(steps) {
                let is_data = index >= check.index;
                if let Action::Read { symbol, .. } = step.action
                    && is_data == (as_what == Matters::Data)
                    && let Some(value) = walk.symbol(symbol, as_what)
                {
                    walk.data(value, as_what);
                }
            }
        }
        walk.control();
        walk.slice
    }

    fn without(trace: &SymbolicTrace, order: &[StepId]) -> Slice {
        let mut first = vec![0];
        for thread in &trace.threads {
            first.push(first.last().copied().unwrap_or(0) + thread.steps.len() as u32);
        }
        let steps = first.last().copied().unwrap_or(0) as usize;
        Slice {
            first,
            matters: vec![Matters::No; steps],
            reads_from: vec![NONE; steps],
            order: order.to_vec(),
        }
    }

    fn flat(&self, id: StepId) -> usize {
        self.first
            .get(id.thread.index())
            .map_or(usize::MAX, |first| (first + id.index) as usize)
    }

    /// What the step means for the failure.
    pub fn of(&self, id: StepId) -> Matters {
        self.matters
            .get(self.flat(id))
            .copied()
            .unwrap_or(Matters::No)
    }

    /// The write that a read takes its value from in the order; none for what was there before.
    pub fn writer(&self, read: StepId) -> Option<StepId> {
        let place = self.reads_from.get(self.flat(read)).copied()?;
        self.order.get(place as usize).copied()
    }

    fn link(&mut self, trace: &SymbolicTrace) {
        let mut last = vec![NONE; trace.cells.len()];
        for (place, id) in (0..).zip(self.order.clone()) {
            match trace.step(id).map(|step| step.action) {
                Some(Action::Write { cell, .. }) => {
                    if let Some(last) = last.get_mut(cell.index()) {
                        *last = place;
                    }
                }
                Some(Action::Read { cell, .. }) => {
                    let flat = self.flat(id);
                    let from = last.get(cell.index()).copied().unwrap_or(NONE);
                    if let Some(reads_from) = self.reads_from.get_mut(flat) {
                        *reads_from = from;
                    }
                }
                _ => {}
            }
        }
    }
}

impl Walk<'_> {
    /// True when the step was nothing so far.
    fn mark(&mut self, id: StepId, as_what: Matters) -> bool {
        let flat = self.slice.flat(id);
        match self.slice.matters.get_mut(flat) {
            Some(matters) if *matters == Matters::No => {
                *matters = as_what;
                true
            }
            _ => false,
        }
    }

    fn everything(&mut self) {
        for (id, step) in self.trace.steps() {
            if !matches!(step.action, Action::Release { .. }) {
                self.mark(id, Matters::Data);
            }
        }
    }

    /// All that an expression was computed from.
    fn data(&mut self, of: ExprId, as_what: Matters) {
        let exprs: &Exprs = &self.trace.exprs;
        let mut open = vec![of];
        while let Some(next) = open.pop() {
            match self.seen.get_mut(next.0 as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            match exprs.node(next) {
                Node::Symbol(symbol) => open.extend(self.symbol(symbol, as_what)),
                _ => open.extend(exprs.operands(next)),
            }
        }
    }

    /// What the write left that this symbol was read from.
    fn symbol(&mut self, symbol: SymbolId, as_what: Matters) -> Option<ExprId> {
        let Origin::Read(read) = self.trace.symbol(symbol)?.origin else {
            return None;
        };
        self.mark(read, as_what);
        let write = self.slice.writer(read)?;
        self.mark(write, as_what);
        match self.trace.step(write)?.action {
            Action::Write { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The path conditions before what matters, until nothing is new.
    fn control(&mut self) {
        let last = |walk: &Walk, thread: usize| {
            let from = walk.slice.first.get(thread).copied().unwrap_or(0) as usize;
            let to = walk.slice.first.get(thread + 1).copied().unwrap_or(0) as usize;
            let matters = walk.slice.matters.get(from..to).unwrap_or(&[]);
            matters.iter().rposition(|matters| *matters != Matters::No)
        };
        loop {
            let mut conditions = Vec::new();
            for (thread, steps) in self.trace.threads.iter().enumerate() {
                let Some(last) = last(self, thread) else {
                    continue;
                };
                let Some(done) = self.conditions.get_mut(thread) else {
                    continue;
                };
                let new = steps.steps.get(*done as usize..last).unwrap_or(&[]);
                conditions.extend(new.iter().filter_map(|step| match step.action {
                    Action::Assume(condition) => Some(condition),
                    _ => None,
                }));
                *done = (*done).max(last as u32);
            }
            if conditions.is_empty() {
                return;
            }
            for condition in conditions {
                self.data(condition, Matters::Control);
            }
        }
    }
}
