//! The state of memory and objects within a simulated order.

use super::program::PreparedTrace;
use unsnarl_order::kernel::{Blocked, SyncState};

/// Readiness of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ready {
    Yes,
    /// The step has to wait, for this thread if it is a single one.
    Waits(Option<u16>),
    /// The thread would depart from its path here.
    Departs,
}

/// State of memory and objects within a simulated order.
#[derive(Clone, Debug)]
pub(super) struct SimulationState {
    /// By thread: number of steps taken.
    pub next: Vec<u32>,
    /// Values of the cells.
    pub memory: Vec<Option<u128>>,
    /// Synchronization objects.
    pub sync: SyncState,
}

impl SimulationState {
    /// The state before the first step.
    pub fn new(program: &PreparedTrace, memory: Vec<Option<u128>>) -> SimulationState {
        SimulationState {
            next: vec![0; program.threads()],
            memory,
            sync: SyncState::new(&program.transitions),
        }
    }

    /// Returns whether the thread may take the step now.
    pub fn ready(&self, program: &PreparedTrace, flat: u32) -> Ready {
        let done = |flat: u32| {
            let id = program.id(flat);
            let next = self.next.get(id.thread.index());
            next.is_some_and(|&next| next > id.index)
        };
        let thread = program.thread(flat);
        match self.sync.blocked(&program.transitions, flat, thread, done) {
            None => Ready::Yes,
            Some(Blocked::Attempt(_)) => Ready::Departs,
            Some(Blocked::Lock(holder)) => Ready::Waits(Some(holder)),
            Some(Blocked::Step(step)) => Ready::Waits(Some(program.thread(step))),
            Some(Blocked::Unit(_) | Blocked::Signal(_) | Blocked::Barrier(_)) => Ready::Waits(None),
        }
    }
}
