//! Held locks, critical sections and the lock-order graph, computed in one pass over the columns.

use super::{
    anomaly::{Anomaly, AnomalyKind},
    semaphores::UnitStep,
    spin_locks::spin_locks,
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId};

/// A critical section: the events of one thread between acquiring and releasing a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// The lock.
    pub lock: LocationId,
    /// Thread that holds it.
    pub thread: ThreadId,
    /// Event that acquired it.
    pub acquired: EventId,
    /// Event that released it, if any.
    pub released: Option<EventId>,
    /// `true` if the lock is held for reading only.
    pub shared: bool,
}

/// Edge of the lock-order graph: one lock was requested while another was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockOrder {
    /// The lock that was held.
    pub held: LocationId,
    /// The lock that was requested.
    pub wanted: LocationId,
    /// Event that acquired the held lock.
    pub held_at: EventId,
    /// Event that requested the other lock.
    pub wanted_at: EventId,
    /// Thread that did both.
    pub thread: ThreadId,
}

/// Marks the absence of a section.
pub(super) const NONE: u32 = u32::MAX;

/// The held locks of a thread as a list that shares its tail with the lists before: `(section, rest)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldList {
    pub(super) section: u32,
    pub(super) rest: u32,
}

/// Locks over the whole run.
#[derive(Debug, Default)]
pub struct Locks {
    sections: Vec<Section>,
    pub(super) held: Vec<HeldList>,
    /// Per thread: the row from which on it holds a list.
    pub(super) changes: Vec<Vec<(u32, u32)>>,
    order: Vec<LockOrder>,
    /// Words that the program's own locks consist of.
    spins: FxHashSet<u32>,
}

impl Locks {
    /// Computes the locks of a run, spin locks of the program's own among them. Anomalies of the trace are added to `anomalies`.
    pub fn new(run: &Run, anomalies: &mut Vec<Anomaly>) -> Locks {
        Locks::with_semaphores(run, &FxHashSet::default(), anomalies)
    }

    /// Computes the locks of a run, with these semaphores treated as locks.
    pub fn with_semaphores(
        run: &Run,
        semaphores: &FxHashSet<u32>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Locks {
        let mut pass = LockPass {
            run,
            anomalies,
            locks: Locks {
                spins: spin_locks(run),
                ..Locks::default()
            },
            open: FxHashMap::default(),
            seen: FxHashSet::default(),
        };
        let first = EventKind::Lock as u8;
        let last = EventKind::LockWait as u8;
        let rows = run.events.kinds().iter().zip(run.events.locations());
        for (row, (&kind, location)) in rows.enumerate() {
            if (first..=last).contains(&kind) {
                pass.step(row as u32, kind);
            } else if semaphores.contains(location) {
                pass.semaphore(EventId(row as u32));
            } else if kind <= EventKind::Rmw as u8 && !pass.locks.spins.is_empty() {
                pass.spin(EventId(row as u32));
            }
        }
        pass.locks
    }

    /// The sections that contain `event` of `thread`, innermost first. A section includes its `Lock` event,
    /// but not its `Unlock`.
    pub(crate) fn held_at(
        &self,
        thread: ThreadId,
        event: EventId,
    ) -> impl Iterator<Item = &Section> {
        let changes = self
            .changes
            .get(thread.index())
            .map_or(&[][..], Vec::as_slice);
        let upto = changes.partition_point(|&(row, _)| row <= event.0);
        let mut at = upto
            .checked_sub(1)
            .and_then(|i| changes.get(i))
            .map_or(NONE, |&(_, list)| list);
        std::iter::from_fn(move || {
            let node = self.held.get(at as usize)?;
            at = node.rest;
            self.sections.get(node.section as usize)
        })
    }

    /// Returns whether the run uses this location as a lock, which threads take by an atomic update.
    pub fn is_spin_lock(&self, location: LocationId) -> bool {
        self.spins.contains(&location.0)
    }

    /// All critical sections, in the order in which they began.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The lock-order graph: for each ordered pair of locks and each thread the first occurrence.
    pub fn order(&self) -> &[LockOrder] {
        &self.order
    }
}

struct LockPass<'a> {
    run: &'a Run,
    anomalies: &'a mut Vec<Anomaly>,
    locks: Locks,
    /// Open sections of a lock with their recursion depth.
    open: FxHashMap<u32, Vec<(u32, u32)>>,
    seen: FxHashSet<(u16, u32, u32)>,
}

impl LockPass<'_> {
    fn step(&mut self, row: u32, kind: u8) {
        let thread = self.run.events.thread(EventId(row)).0;
        let lock = self.run.events.location(EventId(row)).0;
        match EventKind::from_u8(kind) {
            Some(EventKind::Lock) => self.take(row, thread, lock, false),
            Some(EventKind::SharedLock) => self.take(row, thread, lock, true),
            Some(EventKind::Unlock | EventKind::SharedUnlock) => self.give(row, thread, lock),
            Some(EventKind::LockWait) => self.note_order(row, thread, lock),
            _ => {}
        }
    }

    fn semaphore(&mut self, row: EventId) {
        let event = self.run.events.event(row);
        let (thread, lock) = (event.thread.0, event.location.0);
        match UnitStep::of(&event) {
            Some(UnitStep::Taken) => self.take(row.0, thread, lock, false),
            Some(UnitStep::Given) => self.give(row.0, thread, lock),
            None => {}
        }
    }

    /// An access to the word of a spin lock: an update that leaves it as it is asks for the lock in vain.
    fn spin(&mut self, row: EventId) {
        let event = self.run.events.event(row);
        let (thread, lock) = (event.thread.0, event.location.0);
        let is_open = self.open.get(&lock).is_some_and(|open| !open.is_empty());
        match event.kind {
            _ if !self.locks.spins.contains(&lock) => {}
            EventKind::Rmw if event.is_update_in_vain() => self.note_order(row.0, thread, lock),
            EventKind::Rmw => self.take(row.0, thread, lock, false),
            // The first value of the word is stored before anybody takes the lock.
            kind if kind.writes() && is_open => self.give(row.0, thread, lock),
            _ => {}
        }
    }

    fn tell(&mut self, row: u32, kind: AnomalyKind) {
        self.anomalies.push(Anomaly {
            event: EventId(row),
            kind,
        });
    }

    fn take(&mut self, row: u32, thread: u16, lock: u32, shared: bool) {
        self.note_order(row, thread, lock);
        let sections = &self.locks.sections;
        let open = self.open.entry(lock).or_default();
        let of = |section: u32| sections.get(section as usize);
        if let Some((_, depth)) = open
            .iter_mut()
            .find(|(s, _)| of(*s).is_some_and(|s| s.thread.0 == thread))
        {
            *depth += 1;
            return;
        }
        let conflict = open
            .iter()
            .any(|&(s, _)| of(s).is_some_and(|s| !(s.shared && shared)));
        open.push((sections.len() as u32, 1));
        if conflict {
            self.tell(row, AnomalyKind::LockWhileHeld);
        }
        self.push(
            row,
            Section {
                lock: LocationId(lock),
                thread: ThreadId(thread),
                acquired: EventId(row),
                released: None,
                shared,
            },
        );
    }

    fn push(&mut self, row: u32, section: Section) {
        let thread = section.thread.0;
        let rest = self.list(thread);
        self.locks.held.push(HeldList {
            section: self.locks.sections.len() as u32,
            rest,
        });
        self.locks.sections.push(section);
        self.change(row, thread, self.locks.held.len() as u32 - 1);
    }

    fn give(&mut self, row: u32, thread: u16, lock: u32) {
        let sections = &self.locks.sections;
        let open = self.open.entry(lock).or_default();
        let mine = |&(s, _): &(u32, u32)| {
            sections
                .get(s as usize)
                .is_some_and(|s| s.thread.0 == thread)
        };
        let Some(at) = open
            .iter()
            .position(mine)
            .or_else(|| open.len().checked_sub(1))
        else {
            return self.tell(row, AnomalyKind::UnlockWithoutLock);
        };
        let Some((section, depth)) = open.get_mut(at) else {
            return;
        };
        *depth -= 1;
        let (section, done) = (*section, *depth == 0);
        if done {
            open.remove(at);
            self.close(row, section);
        }
        if self
            .locks
            .sections
            .get(section as usize)
            .is_some_and(|s| s.thread.0 != thread)
        {
            self.tell(row, AnomalyKind::UnlockByOther);
        }
    }

    fn close(&mut self, row: u32, section: u32) {
        let Some(closed) = self.locks.sections.get_mut(section as usize) else {
            return;
        };
        closed.released = Some(EventId(row));
        let thread = closed.thread.0;
        let list = self.without(self.list(thread), section);
        self.change(row, thread, list);
    }

    /// The list without one section. Locks are mostly released in reverse order, which is free.
    fn without(&mut self, list: u32, section: u32) -> u32 {
        let mut above = Vec::new();
        let mut at = list;
        while let Some(&node) = self.locks.held.get(at as usize) {
            at = node.rest;
            if node.section == section {
                break;
            }
            above.push(node.section);
        }
        for section in above.into_iter().rev() {
            self.locks.held.push(HeldList { section, rest: at });
            at = self.locks.held.len() as u32 - 1;
        }
        at
    }

    fn list(&self, thread: u16) -> u32 {
        let changes = self.locks.changes.get(usize::from(thread));
        changes
            .and_then(|changes| changes.last())
            .map_or(NONE, |&(_, list)| list)
    }

    fn change(&mut self, row: u32, thread: u16, list: u32) {
        let changes = &mut self.locks.changes;
        if changes.len() <= usize::from(thread) {
            changes.resize_with(usize::from(thread) + 1, Vec::new);
        }
        if let Some(changes) = changes.get_mut(usize::from(thread)) {
            changes.push((row, list));
        }
    }

    fn note_order(&mut self, row: u32, thread: u16, wanted: u32) {
        let mut at = self.list(thread);
        while let Some(&node) = self.locks.held.get(at as usize) {
            at = node.rest;
            let Some(&held) = self.locks.sections.get(node.section as usize) else {
                continue;
            };
            if held.lock.0 != wanted && self.seen.insert((thread, held.lock.0, wanted)) {
                self.locks.order.push(LockOrder {
                    held: held.lock,
                    wanted: LocationId(wanted),
                    held_at: held.acquired,
                    wanted_at: EventId(row),
                    thread: ThreadId(thread),
                });
            }
        }
    }
}
