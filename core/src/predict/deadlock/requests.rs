//! Edges of the lock-order graph: a thread requests a lock while it holds another one.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_order::HeldLocks;
use unsnarl_trace::{EventKind, Run, flags, raw::WaitsFor};

/// A lock that is held or requested.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LockUse {
    pub location: u32,
    /// `true` for reading only.
    pub shared: bool,
}

impl LockUse {
    /// Returns whether two threads cannot hold both at once.
    pub fn excludes(self, other: LockUse) -> bool {
        self.location == other.location && !(self.shared && other.shared)
    }
}

/// A request of a thread for a lock while it holds others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LockRequest {
    pub thread: u16,
    /// One of the locks that it holds.
    pub held: LockUse,
    /// Row at which it acquired that lock.
    pub taken: u32,
    pub wanted: LockUse,
    /// Row of the request.
    pub asked: u32,
    /// All locks that it holds.
    pub all: Vec<LockUse>,
}

/// Identity of a request: thread, held, wanted, all held, sites of both, the thread's communication count.
type RequestKey = (u16, LockUse, LockUse, Vec<LockUse>, u32, u32, u32);

#[derive(Default)]
struct RequestingThread {
    /// Locks with the rows of their acquisitions.
    held: HeldLocks<(LockUse, u32)>,
    /// The row of a wait for a lock that has just begun.
    waits: Option<u32>,
    /// Number of events so far that order the thread with others.
    communicated: u32,
}

/// Finds all requests, each once by identity: linear in the events times the locks held at once.
pub(super) fn requests(run: &Run) -> Vec<LockRequest> {
    let mut pass = RequestPass {
        run,
        threads: FxHashMap::default(),
        seen: FxHashSet::default(),
        found: Vec::new(),
    };
    let rows = (0..).zip(run.events.threads()).zip(run.events.kinds());
    for ((row, &thread), &kind) in rows.filter(|(_, kind)| **kind > EventKind::Fence as u8) {
        if let Some(kind) = EventKind::from_u8(kind) {
            pass.step(row, thread, kind);
        }
    }
    pass.found
}

struct RequestPass<'r> {
    run: &'r Run,
    threads: FxHashMap<u16, RequestingThread>,
    seen: FxHashSet<RequestKey>,
    found: Vec<LockRequest>,
}

impl RequestPass<'_> {
    fn step(&mut self, row: u32, thread: u16, kind: EventKind) {
        let location = column(self.run.events.locations(), row);
        let lock = |shared| LockUse { location, shared };
        match kind {
            EventKind::LockWait => {
                self.threads.entry(thread).or_default().waits = Some(row);
                return;
            }
            EventKind::Lock => self.take(row, thread, lock(false)),
            EventKind::SharedLock => self.take(row, thread, lock(true)),
            EventKind::Unlock | EventKind::SharedUnlock => self.give(thread, location),
            EventKind::Blocked => self.blocked(row, thread, location),
            EventKind::TryLockFailed | EventKind::Alloc | EventKind::Free | EventKind::Branch => {}
            _ => self.threads.entry(thread).or_default().communicated += 1,
        }
        self.threads.entry(thread).or_default().waits = None;
    }

    fn take(&mut self, row: u32, thread: u16, wanted: LockUse) {
        let state = self.threads.entry(thread).or_default();
        if state.held.deepen(wanted.location) {
            return;
        }
        let asked = state.waits.unwrap_or(row);
        let flags = self.run.events.flags().get(row as usize);
        // Nobody waits in an attempt.
        if flags.is_none_or(|flags| flags & flags::TRIED == 0) {
            self.ask(asked, thread, wanted);
        }
        let state = self.threads.entry(thread).or_default();
        state.held.take(wanted.location, (wanted, row));
    }

    fn give(&mut self, thread: u16, location: u32) {
        self.threads.entry(thread).or_default().held.give(location);
    }

    /// Handles a thread that waits for a lock when the run ends.
    fn blocked(&mut self, row: u32, thread: u16, location: u32) {
        let shared = match WaitsFor::from_u32(column(self.run.events.sizes(), row)) {
            Some(WaitsFor::Lock) => false,
            Some(WaitsFor::SharedLock) => true,
            _ => return,
        };
        if let Some(asked) = self.threads.entry(thread).or_default().waits {
            self.ask(asked, thread, LockUse { location, shared });
        }
    }

    fn ask(&mut self, asked: u32, thread: u16, wanted: LockUse) {
        let Some(state) = self.threads.get(&thread) else {
            return;
        };
        let all: Vec<LockUse> = state.held.iter().map(|(lock, _)| *lock).collect();
        let site = |row| column(self.run.events.sites(), row);
        for &(held, taken) in state.held.iter() {
            let key = (
                thread,
                held,
                wanted,
                all.clone(),
                site(taken),
                site(asked),
                state.communicated,
            );
            if self.seen.insert(key) {
                self.found.push(LockRequest {
                    thread,
                    held,
                    taken,
                    wanted,
                    asked,
                    all: all.clone(),
                });
            }
        }
    }
}

fn column(column: &[u32], row: u32) -> u32 {
    column.get(row as usize).copied().unwrap_or(0)
}
