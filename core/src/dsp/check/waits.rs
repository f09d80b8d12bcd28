//! Waits on condition variables: where each goes on, and whether that needs a signal.

use super::is_kind;
use crate::symbolic::{Action, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// Where a wait goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// The step at which the thread goes on: it takes the mutex again, or wakes where that is not in the trace.
    pub step: StepId,
    /// By a signal, not by time or by itself.
    pub signalled: bool,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    wait: StepId,
    told: bool,
}

/// Who waits where.
#[derive(Debug, Default)]
pub(super) struct Waits {
    on: FxHashMap<LocationId, Vec<Waiting>>,
    /// By the step at which a wait goes on: its condition.
    returns: FxHashMap<StepId, (LocationId, bool)>,
}

impl Waits {
    /// The thread begins to wait.
    pub fn begin(&mut self, wait: StepId, condition: LocationId, end: Option<Return>) {
        let waiting = Waiting { wait, told: false };
        self.on.entry(condition).or_default().push(waiting);
        if let Some(end) = end {
            self.returns.insert(end.step, (condition, end.signalled));
        }
    }

    /// A signal, or a broadcast. `place` says where a wait goes on in the order.
    pub fn tell(
        &mut self,
        condition: LocationId,
        all: bool,
        place: impl Fn(StepId) -> Option<usize>,
    ) {
        let Some(waiting) = self.on.get_mut(&condition) else {
            return;
        };
        if all {
            waiting.iter_mut().for_each(|waiting| waiting.told = true);
            return;
        }
        let untold = waiting.iter_mut().filter(|waiting| !waiting.told);
        let first = untold.min_by_key(|waiting| place(waiting.wait).unwrap_or(usize::MAX));
        if let Some(first) = first {
            first.told = true;
        }
    }

    /// The step may be where a wait goes on: was the thread told, if it had to be? `None` when it is no such step.
    pub fn go_on(&mut self, step: StepId) -> Option<(LocationId, bool)> {
        let (condition, signalled) = self.returns.remove(&step)?;
        let waiting = self.on.get_mut(&condition)?;
        let at = waiting
            .iter()
            .position(|waiting| waiting.wait.thread == step.thread)?;
        let told = waiting.remove(at).told;
        Some((condition, told || !signalled))
    }
}

/// Where each wait of the trace goes on.
pub(super) fn returns(trace: &SymbolicTrace) -> FxHashMap<StepId, Return> {
    let mut returns = FxHashMap::default();
    for (thread, steps) in (0..).map(ThreadId).zip(&trace.threads) {
        let synchronization: Vec<StepId> = (0..)
            .zip(&steps.steps)
            .filter(|(_, step)| matches!(step.action, Action::Sync { .. }))
            .map(|(index, _)| StepId { thread, index })
            .collect();
        for (at, &wait) in synchronization.iter().enumerate() {
            let Some(condition) = object(trace, wait, EventKind::Wait) else {
                continue;
            };
            let after = synchronization.get(at + 1..).unwrap_or(&[]);
            let after = match after.first() {
                Some(&first) if is_kind(trace, first, EventKind::Unlock) => after.get(1..),
                _ => Some(after),
            };
            if let Some(end) = end(trace, condition, after.unwrap_or(&[])) {
                returns.insert(wait, end);
            }
        }
    }
    returns
}

fn end(trace: &SymbolicTrace, condition: LocationId, after: &[StepId]) -> Option<Return> {
    let step = *after.first()?;
    let wake = after
        .iter()
        .find(|&&id| object(trace, id, EventKind::Wake) == Some(condition));
    // Without a wake the thread was told and then waited for the mutex to the end.
    let signalled = wake.is_none_or(|&wake| value(trace, wake) == Some(0));
    Some(Return { step, signalled })
}

fn object(trace: &SymbolicTrace, id: StepId, wanted: EventKind) -> Option<LocationId> {
    match trace.step(id)?.action {
        Action::Sync { kind, object, .. } if kind == wanted => Some(object),
        _ => None,
    }
}

fn value(trace: &SymbolicTrace, id: StepId) -> Option<u64> {
    match trace.step(id)?.action {
        Action::Sync { value, .. } => Some(value),
        _ => None,
    }
}
