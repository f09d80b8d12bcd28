//! The steps of a symbolic trace by number, for the rules of synchronization.

use crate::{Action, StepId, SymbolicTrace};
use unsnarl_order::{SyncOp, SyncSteps};
use unsnarl_trace::{EventKind, ThreadId};

/// The steps of a symbolic trace, numbered thread by thread.
#[derive(Debug)]
pub(super) struct NumberedSteps<'t> {
    trace: &'t SymbolicTrace,
    /// The order that counts as the recorded one.
    order: &'t [StepId],
    /// Number of each thread's first step, and of all steps.
    first: Vec<u32>,
}

impl<'t> NumberedSteps<'t> {
    /// Numbers the steps; `order` counts as the recorded order.
    pub fn new(trace: &'t SymbolicTrace, order: &'t [StepId]) -> NumberedSteps<'t> {
        let mut first = vec![0];
        let mut steps = 0;
        for thread in &trace.threads {
            steps += thread.steps.len() as u32;
            first.push(steps);
        }
        NumberedSteps {
            trace,
            order,
            first,
        }
    }

    /// The number of a step.
    pub fn number(&self, id: StepId) -> u32 {
        self.first.get(id.thread.index()).copied().unwrap_or(0) + id.index
    }

    /// The step with this number.
    pub fn id(&self, number: u32) -> StepId {
        let thread = self.thread(number);
        let first = self.first.get(usize::from(thread)).copied();
        StepId {
            thread: ThreadId(thread),
            index: number - first.unwrap_or(0),
        }
    }

    fn action(&self, number: u32) -> Option<Action> {
        self.trace.step(self.id(number)).map(|step| step.action)
    }
}

impl SyncSteps for NumberedSteps<'_> {
    const AS_RECORDED: bool = false;

    fn count(&self) -> u32 {
        self.first.last().copied().unwrap_or(0)
    }

    fn thread(&self, step: u32) -> u16 {
        let behind = self.first.partition_point(|first| *first <= step);
        behind.saturating_sub(1) as u16
    }

    fn sync(&self, step: u32) -> Option<SyncOp> {
        match self.action(step)? {
            Action::Sync {
                kind,
                object,
                value,
            } => Some(SyncOp {
                kind,
                object: object.0,
                value,
            }),
            Action::Release { object, is_shared } => Some(SyncOp {
                kind: match is_shared {
                    true => EventKind::SharedUnlock,
                    false => EventKind::Unlock,
                },
                object: object.0,
                value: 0,
            }),
            _ => None,
        }
    }

    fn recorded(&self) -> impl Iterator<Item = u32> {
        self.order.iter().map(|&id| self.number(id))
    }

    fn is_own(&self, step: u32) -> bool {
        !matches!(self.action(step), Some(Action::Release { .. }))
    }
}
