//! Orders of one run: happens-before, locks held, dependencies.
//!
//! Everything is computed in a few linear passes over the columns and owned by [`Orders`]; it is the base of
//! the engines and of the hover. An infeasible trace (a lock released by another thread, a join without a
//! fork) is analysed all the same, and [`Orders::anomalies`] reports it.

mod accesses;
mod anomaly;
mod clocks;
mod conflicts;
mod dependencies;
mod locks;
mod locksets;
mod semaphores;
mod signals;
mod spin_locks;
#[cfg(test)]
mod tests;

pub use accesses::Accesses;
pub use anomaly::{Anomaly, AnomalyKind};
pub(crate) use clocks::other_thread;
pub use clocks::{Atomics, HappensBefore};
pub use conflicts::conflict_order;
pub use dependencies::{Dependency, DependencyKind, dependencies};
pub use locks::{LockOrder, Locks, Section};
pub use locksets::{LocksetId, LocksetWalk, Locksets};
pub use semaphores::{UnitStep, counts_units, semaphores_as_locks, taken_at};

use unsnarl_trace::{EventId, Events, LocationId, Run};

/// The orders of one run.
#[derive(Debug, Default)]
pub struct Orders {
    /// The run's columns; sharing them costs nothing.
    events: Events,
    happens_before: HappensBefore,
    locks: Locks,
    accesses: Accesses,
    anomalies: Vec<Anomaly>,
}

impl Orders {
    /// Computes the orders of a run.
    pub fn new(run: &Run) -> Orders {
        let mut anomalies = Vec::new();
        let happens_before = HappensBefore::new(run, &mut anomalies);
        let locks = Locks::new(run, &mut anomalies);
        anomalies.sort();
        Orders {
            events: run.events.clone(),
            happens_before,
            accesses: Accesses::new(run).apart_from(&locks),
            locks,
            anomalies,
        }
    }

    /// Returns whether `a` happens before `b` in every execution with the same synchronization.
    pub fn happens_before(&self, a: EventId, b: EventId) -> bool {
        let thread = |row| self.events.thread(row).0;
        self.happens_before.ordered(a, thread(a), b, thread(b))
    }

    /// Returns whether neither event happens before the other.
    pub fn concurrent(&self, a: EventId, b: EventId) -> bool {
        a != b && !self.happens_before(a, b) && !self.happens_before(b, a)
    }

    /// The critical sections that contain the event, innermost first.
    pub fn locks_held(&self, event: EventId) -> Vec<Section> {
        let thread = self.events.thread(event);
        self.locks.held_at(thread, event).copied().collect()
    }

    /// A lock held at both events, and not for reading at both.
    pub fn common_lock(&self, a: EventId, b: EventId) -> Option<LocationId> {
        let theirs = self.locks_held(b);
        let common = |mine: &Section| {
            theirs
                .iter()
                .any(|s| s.lock == mine.lock && !(s.shared && mine.shared))
        };
        self.locks_held(a)
            .into_iter()
            .find(common)
            .map(|section| section.lock)
    }

    /// The last write to the location before the event, by any thread.
    pub fn last_write_before(&self, location: LocationId, event: EventId) -> Option<EventId> {
        self.accesses
            .before(location, event)
            .iter()
            .rev()
            .copied()
            .find(|&row| self.writes(row))
    }

    /// The reads of the location after the event, up to the next write of it.
    pub fn readers_after(&self, location: LocationId, event: EventId) -> Vec<EventId> {
        let after = self.accesses.after(location, event).iter().copied();
        let mut readers = Vec::new();
        for row in after {
            if self.reads(row) {
                readers.push(row);
            }
            if self.writes(row) {
                break;
            }
        }
        readers
    }

    /// Accesses by location; the words of locks of the program's own are no shared data.
    pub fn accesses(&self) -> &Accesses {
        &self.accesses
    }

    /// Critical sections and the lock-order graph.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// Anomalies of the trace, in order.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// Returns whether two accesses race: on one location, not both atomic, one of them a write, unordered by
    /// happens-before.
    pub fn is_race(&self, a: EventId, b: EventId) -> bool {
        let (first, second) = (self.events.kind(a), self.events.kind(b));
        self.events.location(a) == self.events.location(b)
            && first.is_access()
            && second.is_access()
            && (first.writes() || second.writes())
            && !(first.is_atomic() && second.is_atomic())
            && self.concurrent(a, b)
    }

    fn writes(&self, event: EventId) -> bool {
        self.events.kind(event).writes()
    }

    fn reads(&self, event: EventId) -> bool {
        self.events.kind(event).reads()
    }
}
