//! The partial and temporal order graph (Definition 3 of [pecan]) in its compact form (Section 5.1).
//!
//! The graph keeps the events by thread and by location (4 bytes an event each), the locksets as numbers that
//! change at lock events only, and of the partial order the knowledge that threads gained at the events by
//! which they communicate. Every other query is answered from that, by binary searches.
//!
//! [pecan]: Huang and Zhang, *Persuasive Prediction of Concurrency Access Anomalies*, ISSTA 2011.

use super::regions::{RegionId, Regions};
use crate::orders::{
    Accesses, Anomaly, Atomics, HappensBefore, Locks, LocksetId, Locksets, semaphores_as_locks,
};
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId};

/// Options for the partial order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphOptions {
    /// Atomic accesses that create order. The default are flags: a load that saw the value another thread
    /// stored for it would have decided otherwise earlier, while the order of counters and hand-made locks is
    /// as free as that of locks.
    pub atomics: Atomics,
}

/// The graph of one run: forced order, mutual exclusion, atomic regions.
#[derive(Debug)]
pub struct ForcedOrder<'a> {
    run: &'a Run,
    order: HappensBefore,
    locks: Locks,
    locksets: Locksets,
    accesses: Accesses,
    threads: Threads,
    regions: Regions,
    anomalies: Vec<Anomaly>,
}

impl<'a> ForcedOrder<'a> {
    /// Builds the graph with the default options; linear in the events, and in the communication events times
    /// the threads.
    pub fn new(run: &'a Run) -> ForcedOrder<'a> {
        ForcedOrder::with(run, &GraphOptions::default())
    }

    /// Builds the graph with these options.
    pub fn with(run: &'a Run, options: &GraphOptions) -> ForcedOrder<'a> {
        let mut anomalies = Vec::new();
        let semaphores = semaphores_as_locks(run);
        let locks = Locks::with_semaphores(run, &semaphores, &mut anomalies);
        let order = HappensBefore::communication(run, options.atomics, semaphores, &mut anomalies);
        let threads = Threads::new(run);
        let regions = Regions::of_sections(run, &threads, &locks);
        anomalies.sort();
        ForcedOrder {
            run,
            order,
            locksets: Locksets::new(&locks),
            locks,
            accesses: Accesses::new(run),
            threads,
            regions,
            anomalies,
        }
    }

    /// The same graph with other regions than the critical sections.
    pub fn with_regions(self, regions: Regions) -> ForcedOrder<'a> {
        ForcedOrder { regions, ..self }
    }

    /// The run that it is the graph of.
    pub fn run(&self) -> &'a Run {
        self.run
    }

    /// The partial order relation (Definition 1 of [pecan]): program order, fork and join, signal and wakeup,
    /// and other waiting of threads (barriers, semaphores that are not used as locks, once-only
    /// initialization, atomic flags). The order of lock acquisitions is not part of it.
    ///
    /// [pecan]: crate::predict
    pub fn before(&self, a: EventId, b: EventId) -> bool {
        self.order.ordered(a, self.thread(a).0, b, self.thread(b).0)
    }

    /// The relation itself, for callers that know the threads of their events.
    pub fn order(&self) -> &HappensBefore {
        &self.order
    }

    /// Returns whether two events have no common lock and no partial order: another schedule can make them
    /// adjacent, as far as the hybrid model tells (Section 4.2 and Algorithm 1 of [pecan], whose text inverts
    /// the first condition).
    ///
    /// [pecan]: crate::predict
    pub fn independent(&self, a: EventId, b: EventId) -> bool {
        self.common_lock(a, b).is_none() && !self.before(a, b) && !self.before(b, a)
    }

    /// A lock held at both events, and not for reading at both.
    pub fn common_lock(&self, a: EventId, b: EventId) -> Option<LocationId> {
        self.locksets.common(self.lockset(a), self.lockset(b))
    }

    /// The locks held at the event: from the `Lock` event on, no longer at the `Unlock`.
    pub fn lockset(&self, event: EventId) -> LocksetId {
        self.locksets.at(self.thread(event), event)
    }

    /// The numbered locksets.
    pub fn locksets(&self) -> &Locksets {
        &self.locksets
    }

    /// The `Lock` event of the outermost section that protects the event (the OML node of [pecan]). Of
    /// sections that are not nested it is the one held for longest.
    ///
    /// [pecan]: crate::predict
    pub fn outermost(&self, event: EventId) -> Option<EventId> {
        let section = self.locksets.outermost(self.thread(event), event)?;
        Some(self.locks.sections().get(section)?.acquired)
    }

    /// Critical sections, including those of semaphores that are used as locks.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The atomic region that contains the event.
    pub fn region(&self, event: EventId) -> Option<RegionId> {
        self.regions.at(self.thread(event), event)
    }

    /// The atomic regions.
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The events of a region, in order.
    pub fn events_of_region(&self, region: RegionId) -> &[EventId] {
        let Some(region) = self.regions.get(region) else {
            return &[];
        };
        let events = self.events_of(region.thread);
        let from = events.partition_point(|&event| event < region.first);
        let to = events.partition_point(|&event| event <= region.last);
        events.get(from..to).unwrap_or(&[])
    }

    /// The events of a thread, in order.
    pub fn events_of(&self, thread: ThreadId) -> &[EventId] {
        self.threads.of(thread)
    }

    /// Number of threads that have events.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The accesses by location.
    pub fn accesses(&self) -> &Accesses {
        &self.accesses
    }

    /// The accesses of a location that read it, in order, including read-modify-writes.
    pub fn reads_of(&self, location: LocationId) -> impl Iterator<Item = EventId> + '_ {
        let rows = self.accesses.of(location).iter().copied();
        rows.filter(|&row| self.kind(row).reads())
    }

    /// The accesses of a location that write it, in order, including read-modify-writes.
    pub fn writes_of(&self, location: LocationId) -> impl Iterator<Item = EventId> + '_ {
        let rows = self.accesses.of(location).iter().copied();
        rows.filter(|&row| self.kind(row).writes())
    }

    /// The temporal order (Definition 2 of [pecan]): the next access of the same location, by any thread.
    ///
    /// [pecan]: crate::predict
    pub fn next_access(&self, event: EventId) -> Option<EventId> {
        let location = self.run.events.location(event);
        self.accesses.after(location, event).first().copied()
    }

    /// Thread of the event.
    pub fn thread(&self, event: EventId) -> ThreadId {
        self.run.events.thread(event)
    }

    /// Kind of the event.
    pub fn kind(&self, event: EventId) -> EventKind {
        self.run.events.kind(event)
    }

    /// Anomalies of the trace, in order; as [`Orders::anomalies`](crate::Orders::anomalies).
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }
}

/// The events of each thread in order.
#[derive(Debug, Default)]
pub struct Threads {
    starts: Vec<u32>,
    rows: Vec<EventId>,
}

impl Threads {
    /// Groups the events in one pass that counts and one that fills.
    fn new(run: &Run) -> Threads {
        let threads = run.events.threads();
        let count = threads
            .iter()
            .copied()
            .max()
            .map_or(0, |t| usize::from(t) + 1);
        let mut starts = vec![0u32; count + 1];
        for &thread in threads {
            if let Some(next) = starts.get_mut(usize::from(thread) + 1) {
                *next += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut next = starts.clone();
        let mut rows = vec![EventId(0); threads.len()];
        for (row, &thread) in threads.iter().enumerate() {
            let Some(at) = next.get_mut(usize::from(thread)) else {
                continue;
            };
            if let Some(slot) = rows.get_mut(*at as usize) {
                *slot = EventId(row as u32);
            }
            *at += 1;
        }
        Threads { starts, rows }
    }

    /// Exclusive bound of the thread ids.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The events of a thread, in order.
    pub fn of(&self, thread: ThreadId) -> &[EventId] {
        let at = |i: usize| self.starts.get(i).map(|&start| start as usize);
        match (at(thread.index()), at(thread.index() + 1)) {
            (Some(from), Some(to)) => self.rows.get(from..to).unwrap_or(&[]),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests;
