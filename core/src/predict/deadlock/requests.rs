//! Edges of the lock-order graph: a thread requests a lock while it holds another one.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, Run, raw::WaitsFor};

/// A lock that is held or requested.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Lock {
    pub location: u32,
    /// `true` for reading only.
    pub shared: bool,
}

impl Lock {
    /// Returns whether two threads cannot hold both at once.
    pub fn excludes(self, other: Lock) -> bool {
        self.location == other.location && !(self.shared && other.shared)
    }
}

/// A request of a thread for a lock while it holds others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub thread: u16,
    /// One of the locks that it holds.
    pub held: Lock,
    /// Row at which it acquired that lock.
    pub taken: u32,
    pub wanted: Lock,
    /// Row of the request.
    pub asked: u32,
    /// All locks that it holds.
    pub all: Vec<Lock>,
}

/// Identity of a request: thread, held, wanted, all held, sites of both, the thread's communication count.
type Key = (u16, Lock, Lock, Vec<Lock>, u32, u32, u32);

#[derive(Default)]
struct Thread {
    /// Lock, row of its acquisition, recursion depth.
    held: Vec<(Lock, u32, u32)>,
    /// The row of a wait for a lock that has just begun.
    waits: Option<u32>,
    /// Number of events so far that order the thread with others.
    communicated: u32,
}

/// Finds all requests, each once by identity: linear in the events times the locks held at once.
pub(super) fn requests(run: &Run) -> Vec<Request> {
    let mut pass = Pass {
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

struct Pass<'r> {
    run: &'r Run,
    threads: FxHashMap<u16, Thread>,
    seen: FxHashSet<Key>,
    found: Vec<Request>,
}

impl Pass<'_> {
    fn step(&mut self, row: u32, thread: u16, kind: EventKind) {
        let location = column(self.run.events.locations(), row);
        let lock = |shared| Lock { location, shared };
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

    fn take(&mut self, row: u32, thread: u16, wanted: Lock) {
        let state = self.threads.entry(thread).or_default();
        let mut held = state.held.iter_mut();
        if let Some((.., depth)) = held.find(|(lock, ..)| lock.location == wanted.location) {
            *depth += 1;
            return;
        }
        let asked = state.waits.unwrap_or(row);
        self.ask(asked, thread, wanted);
        let state = self.threads.entry(thread).or_default();
        state.held.push((wanted, row, 1));
    }

    fn give(&mut self, thread: u16, location: u32) {
        let held = &mut self.threads.entry(thread).or_default().held;
        if let Some((.., depth)) = held.iter_mut().find(|(lock, ..)| lock.location == location) {
            *depth -= 1;
        }
        held.retain(|(.., depth)| *depth > 0);
    }

    /// Handles a thread that waits for a lock when the run ends.
    fn blocked(&mut self, row: u32, thread: u16, location: u32) {
        let shared = match WaitsFor::from_u32(column(self.run.events.sizes(), row)) {
            Some(WaitsFor::Lock) => false,
            Some(WaitsFor::SharedLock) => true,
            _ => return,
        };
        if let Some(asked) = self.threads.entry(thread).or_default().waits {
            self.ask(asked, thread, Lock { location, shared });
        }
    }

    fn ask(&mut self, asked: u32, thread: u16, wanted: Lock) {
        let Some(state) = self.threads.get(&thread) else {
            return;
        };
        let all: Vec<Lock> = state.held.iter().map(|(lock, ..)| *lock).collect();
        let site = |row| column(self.run.events.sites(), row);
        for &(held, taken, _) in &state.held {
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
                self.found.push(Request {
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
