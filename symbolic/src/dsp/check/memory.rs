//! Phi_mo: the program order that a memory model preserves.

use super::{InfeasibleTrace, Rule, broken};
use crate::{Action, CellId, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::ThreadId;

/// Memory model: the steps of a thread that take effect in program order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryModel {
    /// All steps.
    #[default]
    Sequential,
    /// A write may take effect after later reads of other cells (without forwarding: a read of the same cell waits).
    TotalStore,
    /// As total store order, and writes of different cells may take effect in any order.
    PartialStore,
}

/// Progress of a thread.
#[derive(Debug, Default)]
struct ThreadProgress {
    /// The index before which all steps have taken effect.
    first: u32,
    /// Later steps that have taken effect.
    later: BTreeSet<u32>,
}

impl ThreadProgress {
    fn is_done(&self, index: u32) -> bool {
        index < self.first || self.later.contains(&index)
    }

    fn take(&mut self, index: u32) {
        self.later.insert(index);
        while self.later.remove(&self.first) {
            self.first += 1;
        }
    }
}

/// Combined effect of an event's steps on the store buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nature {
    /// A write, which may wait in the thread's store buffer.
    Write,
    /// A read without synchronization, which may pass writes that wait.
    Read,
    /// A fence: all earlier steps must have taken effect. Synchronization and read-modify-writes.
    Fence,
}

/// The steps that have taken effect in an order so far.
#[derive(Debug)]
pub(super) struct InOrder<'t> {
    trace: &'t SymbolicTrace,
    model: MemoryModel,
    threads: FxHashMap<ThreadId, ThreadProgress>,
    before: Option<StepId>,
}

impl<'t> InOrder<'t> {
    /// The state before any step.
    pub fn new(trace: &'t SymbolicTrace, model: MemoryModel) -> InOrder<'t> {
        InOrder {
            trace,
            model,
            threads: FxHashMap::default(),
            before: None,
        }
    }

    /// Lets a step take effect: once, after the steps that have to come before it, and with nothing between
    /// steps of one event.
    pub fn step(&mut self, id: StepId) -> Result<(), InfeasibleTrace> {
        let Some(step) = self.trace.step(id) else {
            return Err(broken(id, None, Rule::Known));
        };
        self.threads.entry(id.thread).or_default();
        let is_done = |index| {
            let progress = self.threads.get(&id.thread);
            progress.is_some_and(|progress| progress.is_done(index))
        };
        let last = id.index.checked_sub(1).map(|index| StepId { index, ..id });
        if is_done(id.index) {
            return Err(broken(id, Some(id), Rule::Program));
        }
        let first = self
            .threads
            .get(&id.thread)
            .map_or(0, |progress| progress.first);
        for index in (first..id.index).filter(|&index| !is_done(index)) {
            let earlier = StepId { index, ..id };
            if self.model == MemoryModel::Sequential || self.waits(id, earlier) {
                return Err(broken(id, last, Rule::Program));
            }
        }
        let event = last.and_then(|last| self.trace.step(last)?.event);
        if event.is_some() && event == step.event && self.before != last {
            return Err(broken(id, self.before, Rule::Whole));
        }
        if let Some(progress) = self.threads.get_mut(&id.thread) {
            progress.take(id.index);
        }
        self.before = Some(id);
        Ok(())
    }

    /// `true` if the earlier step of the thread has to take effect first.
    fn waits(&self, id: StepId, earlier: StepId) -> bool {
        if self.nature(earlier) != Nature::Write {
            return true;
        }
        let of_one_cell = self
            .cells(id)
            .any(|cell| self.cells(earlier).any(|other| other == cell));
        match self.nature(id) {
            Nature::Fence => true,
            Nature::Read => of_one_cell,
            Nature::Write => of_one_cell || self.model == MemoryModel::TotalStore,
        }
    }

    /// The cells accessed by the step's event.
    fn cells(&self, id: StepId) -> impl Iterator<Item = CellId> {
        self.actions(id).filter_map(|action| match action {
            Action::Read { cell, .. } | Action::Write { cell, .. } => Some(cell),
            _ => None,
        })
    }

    fn nature(&self, id: StepId) -> Nature {
        let (mut reads, mut writes) = (false, false);
        for action in self.actions(id) {
            match action {
                Action::Read { .. } | Action::Assume(_) => reads = true,
                Action::Write { .. } => writes = true,
                Action::Sync { .. } | Action::Release { .. } => return Nature::Fence,
            }
        }
        match (reads, writes) {
            (true, true) => Nature::Fence,
            (false, true) => Nature::Write,
            (_, false) => Nature::Read,
        }
    }

    /// Actions of all steps of the step's event; the step's own action if it has no event.
    fn actions(&self, id: StepId) -> impl Iterator<Item = Action> {
        let steps = self.trace.threads.get(id.thread.index());
        let steps = steps.map_or(&[][..], |thread| &thread.steps);
        let at = id.index as usize;
        let event = steps.get(at).and_then(|step| step.event);
        let is_of_event = move |step: &&crate::SymbolicStep| event.is_some() && step.event == event;
        let before = steps.get(..at).unwrap_or(&[]).iter().rev();
        let after = steps.get(at + 1..).unwrap_or(&[]).iter();
        let around = before
            .take_while(is_of_event)
            .chain(after.take_while(is_of_event));
        let own = steps.get(at);
        own.into_iter().chain(around).map(|step| step.action)
    }

    /// The first step of each thread that has not taken effect.
    pub fn missing(&self) -> Vec<StepId> {
        let threads = (0..).map(ThreadId).zip(&self.trace.threads);
        let missing = threads.filter_map(|(thread, trace)| {
            let index = self
                .threads
                .get(&thread)
                .map_or(0, |progress| progress.first);
            ((index as usize) < trace.steps.len()).then_some(StepId { thread, index })
        });
        missing.collect()
    }
}
