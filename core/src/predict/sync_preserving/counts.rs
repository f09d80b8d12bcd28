//! Racy accesses as RAPID counts them: each access that races with any earlier one.

use super::clocks::{Edges, Prerequisites};
use crate::orders::{Accesses, Locks, Orders};
use rustc_hash::FxHashMap;
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run};

/// Accesses that race with an earlier one, in order.
pub type Racy = Vec<EventId>;

/// The last reads and writes of a location by each thread.
type Last = Vec<(u16, EventKind, EventId)>;

/// Accesses unordered by happens-before with an earlier conflicting one.
pub fn hb_racy(run: &Run, orders: &Orders) -> Racy {
    racy(run, |_, first, second| orders.happens_before(first, second))
}

/// Accesses unordered with an earlier conflicting one when a read also comes after the write that it saw
/// (Mathur, Kini, Viswanathan, *What happens-after the first race?*, OOPSLA 2018): all of these are races of
/// some execution.
pub fn shb_racy(run: &Run) -> Racy {
    let clocks = Prerequisites::new(run, Edges::ReadsFromAndLocks);
    racy(run, |u, first, second| {
        let place = clocks.step_of(second).zip(clocks.step_of(first));
        place
            .is_none_or(|((t, step), (_, first_step))| clocks.entry_before(t, step, u) > first_step)
    })
}

/// Finds racy accesses; comparing with the last read and the last write of each thread suffices.
fn racy(run: &Run, ordered: impl Fn(u16, EventId, EventId) -> bool) -> Racy {
    let accesses = Accesses::new(run);
    let mut last: FxHashMap<LocationId, Last> = FxHashMap::default();
    let mut racy = Vec::new();
    let rows = run.events.iter();
    for (row, event) in
        rows.filter(|(_, event)| event.kind.is_access() && accesses.is_shared(event.location))
    {
        let last = last.entry(event.location).or_default();
        let races = |&(u, kind, first): &(u16, EventKind, EventId)| {
            u != event.thread.0
                && (kind.writes() || event.kind.writes())
                && !(kind.is_atomic() && event.kind.is_atomic())
                && !ordered(u, first, row)
        };
        if last.iter().any(races) {
            racy.push(row);
        }
        note(last, &event, row);
    }
    racy
}

fn note(last: &mut Last, event: &Event, row: EventId) {
    let (thread, kind) = (event.thread.0, event.kind);
    match last.iter_mut().find(|(t, k, _)| (*t, *k) == (thread, kind)) {
        Some((_, _, last)) => *last = row,
        None => last.push((thread, kind, row)),
    }
}

/// Accesses from which on no lock is common to all accesses of their location (Eraser without its states, as
/// in RAPID): a location that one thread accesses is safe, and so is one that is only read from its first
/// access on.
pub fn lockset_racy(run: &Run) -> Racy {
    let locks = Locks::new(run, &mut Vec::new());
    let mut guards: FxHashMap<LocationId, CandidateLockset> = FxHashMap::default();
    let mut racy = Vec::new();
    let rows = run.events.iter();
    for (row, event) in rows.filter(|(_, event)| event.kind.is_access()) {
        let held = locks.held_at(event.thread, row).map(|section| section.lock);
        let held: Vec<LocationId> = held.collect();
        let guards = guards
            .entry(event.location)
            .or_insert_with(|| CandidateLockset {
                locks: held.clone(),
                thread: Some(event.thread.0),
                only_read: !event.kind.writes(),
            });
        guards.locks.retain(|lock| held.contains(lock));
        guards.thread = guards.thread.filter(|&thread| thread == event.thread.0);
        guards.only_read &= !event.kind.writes();
        if guards.locks.is_empty() && guards.thread.is_none() && !guards.only_read {
            racy.push(row);
        }
    }
    racy
}

/// Candidate lockset of a location so far.
struct CandidateLockset {
    locks: Vec<LocationId>,
    /// The only thread with accesses so far.
    thread: Option<u16>,
    /// `true` if all accesses are reads.
    only_read: bool,
}
