//! Cycles of requests: each wants a lock that the next one holds, all by different threads, and no two hold a
//! common lock (the abstract deadlock patterns of the PLDI paper).

use crate::orders::{Locks, Section};
use std::collections::BTreeMap;
use unsnarl_order::Requests;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId};

/// A lock, and whether for reading only.
pub(super) type PatternLock = (LocationId, bool);

/// All requests of one thread for one lock while it holds the same locks.
#[derive(Debug)]
pub(super) struct PatternRequest {
    pub(super) thread: ThreadId,
    pub(super) wants: PatternLock,
    pub(super) holds: Vec<PatternLock>,
    /// Rows of the requests, in order.
    pub(super) rows: Vec<EventId>,
}

/// Returns whether two uses of one lock exclude each other.
fn excludes(a: PatternLock, b: PatternLock) -> bool {
    a.0 == b.0 && !(a.1 && b.1)
}

/// The requests of a run made while a lock was held.
pub(super) fn requests(run: &Run) -> Vec<PatternRequest> {
    let locks = Locks::new(run, &mut Vec::new());
    let mut found: BTreeMap<(ThreadId, PatternLock, Vec<PatternLock>), Vec<EventId>> =
        BTreeMap::new();
    let mut note = |thread: ThreadId, wants: PatternLock, row: EventId| {
        let held = locks
            .held_at(thread, row)
            .filter(|section| section.acquired != row);
        let mut holds: Vec<PatternLock> = held
            .map(|held: &Section| (held.lock, held.shared))
            .collect();
        holds.sort_unstable();
        if !holds.is_empty() && holds.iter().all(|held| held.0 != wants.0) {
            found.entry((thread, wants, holds)).or_default().push(row);
        }
    };
    for section in locks.sections() {
        note(
            section.thread,
            (section.lock, section.shared),
            section.acquired,
        );
    }
    for (row, event) in last_requests(run) {
        note(event.thread, (event.location, false), row);
    }
    found
        .into_iter()
        .map(|((thread, wants, holds), mut rows)| {
            rows.sort_unstable();
            PatternRequest {
                thread,
                wants,
                holds,
                rows,
            }
        })
        .collect()
}

/// Requests that were never granted: a thread's last event.
fn last_requests(run: &Run) -> impl Iterator<Item = (EventId, unsnarl_trace::Event)> {
    let mut last = BTreeMap::new();
    let rows = run.events.iter();
    for (row, event) in rows.filter(|(_, event)| event.kind != EventKind::Blocked) {
        last.insert(event.thread, (row, event));
    }
    let waits = |(_, event): &(EventId, unsnarl_trace::Event)| event.kind == EventKind::LockWait;
    last.into_values().filter(waits)
}

/// Calls back for each cycle, as request numbers from the lowest on, until it returns `false`.
pub(super) fn cycles(requests: &[PatternRequest], found: impl FnMut(&[usize]) -> bool) {
    let waits_for = |from: &PatternRequest, to: &PatternRequest| {
        from.thread != to.thread && to.holds.iter().any(|&held| excludes(from.wants, held))
    };
    let holders = requests.iter().map(|from| {
        let to = requests.iter().enumerate();
        let to = to.filter(|(_, to)| waits_for(from, to));
        to.map(|(number, _)| number).collect()
    });
    unsnarl_order::cycles(&mut DeadlockPatternSearch {
        requests,
        holders: holders.collect(),
        found,
    });
}

/// Search for abstract deadlock patterns.
struct DeadlockPatternSearch<'a, F> {
    requests: &'a [PatternRequest],
    /// By request: those that it waits for.
    holders: Vec<Vec<usize>>,
    found: F,
}

impl<F: FnMut(&[usize]) -> bool> Requests for DeadlockPatternSearch<'_, F> {
    fn count(&self) -> usize {
        self.requests.len()
    }

    fn holders(&self, request: usize) -> &[usize] {
        self.holders.get(request).map_or(&[], Vec::as_slice)
    }

    fn waits_for(&self, request: usize, holder: usize) -> bool {
        self.holders(request).binary_search(&holder).is_ok()
    }

    /// Returns whether two requests are by different threads and hold no locks that exclude each other.
    fn at_once(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.requests.get(a), self.requests.get(b)) else {
            return false;
        };
        let guards = |held: &PatternLock| b.holds.iter().any(|&other| excludes(*held, other));
        a.thread != b.thread && !a.holds.iter().any(guards)
    }

    fn go_on(&mut self) -> bool {
        true
    }

    fn found(&mut self, cycle: &[usize]) -> bool {
        (self.found)(cycle)
    }
}
