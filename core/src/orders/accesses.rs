//! Accesses by location, indexed in two passes that count and fill.

use super::Locks;
use unsnarl_trace::{EventId, EventKind, LocationId, Run};

/// Index of the accesses of each location, in order.
#[derive(Debug, Default)]
pub struct Accesses {
    starts: Vec<u32>,
    rows: Vec<EventId>,
    shared: Vec<bool>,
}

/// Threads that have accessed a location so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    Nobody,
    By(u16),
    Many,
}

impl Accesses {
    /// Indexes all accesses of a run. Events whose location is not in the table are left out.
    pub fn new(run: &Run) -> Accesses {
        let locations = run.locations.len();
        let mut starts = vec![0u32; locations + 1];
        let mut touched = vec![Touched::Nobody; locations];
        let mut written = vec![false; locations];
        each(run, |_, thread, location, kind| {
            if let (Some(count), Some(touched)) =
                (starts.get_mut(location), touched.get_mut(location))
            {
                *count += 1;
                *touched = match *touched {
                    Touched::Nobody => Touched::By(thread),
                    Touched::By(first) if first == thread => Touched::By(first),
                    _ => Touched::Many,
                };
            }
            if let Some(written) = written.get_mut(location).filter(|_| kind.writes()) {
                *written = true;
            }
        });
        let total = sums(&mut starts);
        let mut rows = vec![EventId(0); total];
        let mut next = starts.clone();
        each(run, |row, _, location, _| {
            let Some(at) = next.get_mut(location) else {
                return;
            };
            if let Some(slot) = rows.get_mut(*at as usize) {
                *slot = row;
                *at += 1;
            }
        });
        let shared = touched
            .iter()
            .zip(&written)
            .map(|(touched, &written)| *touched == Touched::Many && written);
        Accesses {
            starts,
            rows,
            shared: shared.collect(),
        }
    }

    /// Takes no lock of the program's own for shared data.
    pub(super) fn apart_from(mut self, locks: &Locks) -> Accesses {
        for (location, shared) in self.shared.iter_mut().enumerate() {
            *shared &= !locks.is_spin_lock(LocationId(location as u32));
        }
        self
    }

    /// Events that access the location, in order.
    pub fn of(&self, location: LocationId) -> &[EventId] {
        let at = |i: usize| self.starts.get(i).map(|&start| start as usize);
        match (at(location.index()), at(location.index() + 1)) {
            (Some(from), Some(to)) => self.rows.get(from..to).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Returns whether at least two threads access it and one of them writes.
    pub fn is_shared(&self, location: LocationId) -> bool {
        self.shared.get(location.index()).copied().unwrap_or(false)
    }

    /// The shared locations, in the order of their ids.
    pub fn shared(&self) -> impl Iterator<Item = LocationId> + '_ {
        let ids = self
            .shared
            .iter()
            .enumerate()
            .filter(|(_, shared)| **shared);
        ids.map(|(id, _)| LocationId(id as u32))
    }

    /// Events that access the location before `event`, in order.
    pub fn before(&self, location: LocationId, event: EventId) -> &[EventId] {
        let rows = self.of(location);
        rows.get(..rows.partition_point(|&row| row < event))
            .unwrap_or(&[])
    }

    /// Events that access the location after `event`, in order.
    pub fn after(&self, location: LocationId, event: EventId) -> &[EventId] {
        let rows = self.of(location);
        rows.get(rows.partition_point(|&row| row <= event)..)
            .unwrap_or(&[])
    }
}

/// Calls back for each access that names a location: event, thread, location, kind.
fn each(run: &Run, mut f: impl FnMut(EventId, u16, usize, EventKind)) {
    let events = &run.events;
    let columns = events
        .kinds()
        .iter()
        .zip(events.threads())
        .zip(events.locations());
    for (row, ((&kind, &thread), &location)) in columns.enumerate() {
        if kind <= EventKind::Rmw as u8
            && location != 0
            && let Some(kind) = EventKind::from_u8(kind)
        {
            f(EventId(row as u32), thread, location as usize, kind);
        }
    }
}

/// Turns counts into start offsets; the last entry and the result are the total.
fn sums(counts: &mut [u32]) -> usize {
    let mut total = 0;
    for count in counts {
        let here = *count;
        *count = total;
        total += here;
    }
    total as usize
}
