//! Dynamic slice of an order: the steps that matter to the failure.
//!
//! The data cone holds the steps that the bug's condition was computed from, through the writes that reads
//! took their values from. Around it lie the steps that decide whether these are taken at all: the path
//! conditions before them in their threads, and the steps from which those conditions were computed. Linear
//! in the order and the expressions.

use super::program::NONE;
use crate::{Action, Bug, ExprId, ExprNode, Exprs, StepId, SymbolId, SymbolOrigin, SymbolicTrace};

/// Relevance of a step to the failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Matters {
    /// The bug's condition was computed from it.
    Data,
    /// The step decides whether such a step is taken, or such a decision was computed from it.
    Control,
    /// The step is irrelevant.
    No,
}

/// Relevance of an order's steps to the failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    first: Vec<u32>,
    matters: Vec<Matters>,
    reads_from: Vec<u32>,
    /// Steps by position in the order.
    order: Vec<StepId>,
}

struct SliceBuilder<'t> {
    trace: &'t SymbolicTrace,
    slice: Slice,
    seen: Vec<bool>,
    /// By thread: the index before which path conditions are in the slice.
    conditions: Vec<u32>,
}

impl Slice {
    /// Computes the slice of an order.
    pub fn new(trace: &SymbolicTrace, order: &[StepId]) -> Slice {
        let mut walk = SliceBuilder {
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

    /// Computes the slice when the condition of the failure is not known: values that the failing thread read
    /// from this step on count as data, earlier ones as control.
    pub fn of_check(trace: &SymbolicTrace, order: &[StepId], check: StepId) -> Slice {
        let mut walk = SliceBuilder {
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

    /// Relevance of the step.
    pub fn of(&self, id: StepId) -> Matters {
        self.matters
            .get(self.flat(id))
            .copied()
            .unwrap_or(Matters::No)
    }

    /// The write that a read reads from in the order; none for an initial value.
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

impl SliceBuilder<'_> {
    /// Marks a step; `true` when it was irrelevant so far.
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

    /// Marks all steps that an expression was computed from.
    fn data(&mut self, of: ExprId, as_what: Matters) {
        let exprs: &Exprs = &self.trace.exprs;
        let mut open = vec![of];
        while let Some(next) = open.pop() {
            match self.seen.get_mut(next.0 as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            match exprs.node(next) {
                ExprNode::Symbol(symbol) => open.extend(self.symbol(symbol, as_what)),
                _ => open.extend(exprs.operands(next)),
            }
        }
    }

    /// The value of the write that this symbol was read from.
    fn symbol(&mut self, symbol: SymbolId, as_what: Matters) -> Option<ExprId> {
        let SymbolOrigin::Read(read) = self.trace.symbol(symbol)?.origin else {
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

    /// Marks the path conditions before relevant steps, until a fixed point.
    fn control(&mut self) {
        let last = |walk: &SliceBuilder, thread: usize| {
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
