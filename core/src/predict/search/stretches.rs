//! Stretches of a thread in which nothing changes: the same locks held, the same knowledge of others and by
//! others. If a foreign event fits into one place of a stretch it fits into every place.

use crate::orders::LocksetId;
use crate::predict::ForcedOrder;
use unsnarl_trace::{EventId, ThreadId};

/// A stretch of places between consecutive events of a thread: those after the event (or row) `start` and up
/// to the next stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub start: u32,
    pub lockset: LocksetId,
    /// Number of changes of knowledge so far; equal in stretches that differ by their locks only.
    pub epoch: u32,
}

/// The stretches of one thread in order, and the epochs of its events.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
    /// Rows at which a new epoch begins.
    epochs: Vec<u32>,
}

impl Stretches {
    /// Computes the stretches. Linear in the lock and communication events.
    pub fn new(graph: &ForcedOrder<'_>, thread: ThreadId) -> Stretches {
        let learned = graph.order().learned_at(thread.0);
        let published = graph.order().published_at(thread.0);
        // Places right before a publishing event are ordered before its receivers; those after it are not.
        let mut cuts: Vec<(u32, Option<LocksetId>)> = vec![(0, Some(LocksetId(0)))];
        cuts.extend(learned.iter().map(|&row| (row, None)));
        cuts.extend(published.iter().map(|&upto| (upto.saturating_sub(1), None)));
        cuts.extend(
            graph
                .locksets()
                .changes(thread)
                .map(|(row, set)| (row, Some(set))),
        );
        cuts.sort_by_key(|&(row, _)| row);
        let mut all: Vec<Stretch> = Vec::with_capacity(cuts.len());
        for (start, set) in cuts {
            let before = all.last().copied();
            let (lockset, epoch) = before.map_or((LocksetId(0), 0), |s| (s.lockset, s.epoch));
            let next = Stretch {
                start,
                lockset: set.unwrap_or(lockset),
                epoch: epoch + u32::from(set.is_none()),
            };
            match all.last_mut() {
                Some(last) if last.start == start => *last = next,
                _ => all.push(next),
            }
        }
        let mut epochs = learned;
        epochs.extend(published);
        epochs.sort_unstable();
        epochs.dedup();
        Stretches { all, epochs }
    }

    /// The stretches that contain the places between two events of the thread.
    pub fn between(&self, first: EventId, last: EventId) -> &[Stretch] {
        let from = self.all.partition_point(|s| s.start <= first.0);
        let to = self.all.partition_point(|s| s.start < last.0);
        let from = from.saturating_sub(1);
        self.all.get(from..to.max(from)).unwrap_or(&[])
    }

    /// The stretches with these numbers, ends included.
    pub fn numbered(&self, first: u32, last: u32) -> &[Stretch] {
        self.all.get(first as usize..=last as usize).unwrap_or(&[])
    }

    /// The epoch of an event of the thread.
    pub fn epoch(&self, event: EventId) -> usize {
        self.epochs.partition_point(|&from| from <= event.0)
    }

    /// Walks the events of the thread in order.
    pub fn walk(&self) -> StretchWalk<'_> {
        StretchWalk {
            stretches: self,
            next: 0,
            next_epoch: 0,
        }
    }
}

/// Iterator over the stretches and epochs of a thread's events, queried in order: constant time each.
pub(super) struct StretchWalk<'a> {
    stretches: &'a Stretches,
    next: usize,
    next_epoch: usize,
}

impl StretchWalk<'_> {
    /// Number of the stretch that begins at or before the event's row, its lockset, and the epoch of the event.
    pub fn at(&mut self, row: u32) -> (u32, LocksetId, u32) {
        let all = &self.stretches.all;
        while all.get(self.next).is_some_and(|s| s.start <= row) {
            self.next += 1;
        }
        let epochs = &self.stretches.epochs;
        while epochs.get(self.next_epoch).is_some_and(|&from| from <= row) {
            self.next_epoch += 1;
        }
        let stretch = self.next.saturating_sub(1);
        let lockset = all.get(stretch).map_or(LocksetId(0), |s| s.lockset);
        (stretch as u32, lockset, self.next_epoch as u32)
    }
}
