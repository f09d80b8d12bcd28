//! Waits on condition variables: the step at which each resumes, and whether it needs a signal.

use super::is_kind;
use crate::symbolic::{Action, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// Resumption of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// The step at which the thread resumes: the reacquisition of the mutex, or the wakeup where that is not
    /// in the trace.
    pub step: StepId,
    /// `true` if a signal ended the wait, not a timeout or a spurious wakeup.
    pub signalled: bool,
}

/// A waiting thread.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    wait: StepId,
    told: bool,
}

/// Threads that wait, by condition variable.
#[derive(Debug, Default)]
pub(super) struct Waits {
    on: FxHashMap<LocationId, Vec<Waiting>>,
    /// The condition variable of a wait, by the step at which it resumes.
    returns: FxHashMap<StepId, (LocationId, bool)>,
}

impl Waits {
    /// Starts a wait.
    pub fn begin(&mut self, wait: StepId, condition: LocationId, end: Option<Return>) {
        let waiting = Waiting { wait, told: false };
        self.on.entry(condition).or_default().push(waiting);
        if let Some(end) = end {
            self.returns.insert(end.step, (condition, end.signalled));
        }
    }

    /// Handles a signal or a broadcast. `place` gives the position in the order at which a wait resumes.
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

    /// Resumes a wait at this step and returns whether the thread was signalled, if it had to be. `None` for
    /// a step that resumes no wait.
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

/// The resumption of each wait of the trace.
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
    // Without a wakeup event the thread was signalled and then waited for the mutex until the end.
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
