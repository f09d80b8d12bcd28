//! State of threads and objects while an order is made.

use super::index::{NONE, RunIndex};
use unsnarl_order::kernel::{Blocked, SyncState};
use unsnarl_trace::Run;

/// State of threads and objects within an order.
#[derive(Clone, Debug)]
pub(super) struct OrderMachine {
    /// The next row of each thread.
    pub next: Vec<u32>,
    /// The objects.
    pub sync: SyncState,
}

impl OrderMachine {
    /// The state before the first row.
    pub fn new(index: &RunIndex) -> OrderMachine {
        OrderMachine {
            next: index.first.clone(),
            sync: SyncState::new(&index.transitions),
        }
    }

    /// The thread's next row; none when it has finished.
    pub fn next_of(&self, thread: u16) -> Option<u32> {
        let next = self.next.get(usize::from(thread)).copied();
        next.filter(|row| *row != NONE)
    }

    /// Reason why the row has to wait now.
    pub fn blocked(&self, index: &RunIndex, run: &Run, row: u32) -> Option<Blocked> {
        let thread_of = |row: u32| run.events.threads().get(row as usize).copied();
        let done = |row: u32| {
            let next = thread_of(row).and_then(|thread| self.next.get(usize::from(thread)));
            next.is_some_and(|next| *next > row)
        };
        self.sync
            .blocked(&index.transitions, row, thread_of(row)?, done)
    }

    /// Executes the row.
    pub fn step(&mut self, index: &RunIndex, thread: u16, row: u32) {
        self.skip(index, thread, row);
        self.sync.apply(&index.transitions, row, thread);
    }

    /// Passes the row without its effects on others.
    pub fn skip(&mut self, index: &RunIndex, thread: u16, row: u32) {
        if let Some(next) = self.next.get_mut(usize::from(thread)) {
            *next = index.next.get(row as usize).copied().unwrap_or(NONE);
        }
    }
}
