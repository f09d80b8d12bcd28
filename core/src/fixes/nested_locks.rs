//! Runs transformed so that a thread acquires the second of two nested locks before the first, as
//! `Ordered::TakesFirst` demands.

use super::{Ordered, mutexes::lock_name, sections::LockSpan};
use crate::{
    callers::parting,
    facts,
    orders::{Locks, Section},
};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId};

/// A lock that was requested with another one held.
struct NestedRequest {
    thread: ThreadId,
    held: Section,
    wanted: LocationId,
    at: EventId,
    /// `true` if both are acquired on the lines of the fix.
    is_own: bool,
    /// `true` if the fixed program acquires the wanted lock first.
    is_turned: bool,
}

/// The sections of a run with the wanted locks acquired first; none when the order is not about locks. Linear
/// in the run, and in the locks that are held at once.
pub(super) fn sections(run: &Run, order: &Ordered) -> Vec<LockSpan> {
    let locks = Locks::new(run, &mut Vec::new());
    let mut earlier: BTreeMap<(u16, u32, u32), u32> = BTreeMap::new();
    let mut spans = Vec::new();
    let end = run.events.len() as u32;
    for nested in nested(run, &locks, order).filter(|nested| nested.is_turned) {
        let (thread, lock, first) = (nested.thread.0, nested.wanted.0, nested.held.acquired.0);
        let since = earlier.entry((thread, lock, nested.at.0)).or_insert(first);
        *since = first.min(*since);
        let waits = run.events.get(nested.at).map(|event| event.kind) == Some(EventKind::LockWait);
        if waits {
            spans.push(LockSpan {
                first,
                last: until(&locks, &nested).unwrap_or(end),
                thread,
                lock: Some(lock),
                is_shared: false,
                is_new: true,
            });
        }
    }
    spans.extend(locks.sections().iter().map(|section| {
        let key = (section.thread.0, section.lock.0, section.acquired.0);
        LockSpan {
            first: earlier.get(&key).copied().unwrap_or(section.acquired.0),
            last: section.released.map_or(end, |row| row.0),
            thread: section.thread.0,
            lock: Some(section.lock.0),
            is_shared: section.shared,
            is_new: earlier.contains_key(&key),
        }
    }));
    spans.sort_by_key(|span| (span.first, span.last));
    spans
}

/// Row at which a thread acquires the lock it waits for.
fn until(locks: &Locks, nested: &NestedRequest) -> Option<u32> {
    let mut later = locks.sections().iter().filter(|section| {
        section.thread == nested.thread
            && section.lock == nested.wanted
            && section.acquired > nested.at
    });
    later.next().map(|section| section.acquired.0)
}

/// Reason why the two locks could still form a cycle: another place acquires them in the order that the fix
/// removes.
pub(super) fn other_way(runs: &[(String, Arc<Run>)], order: &Ordered) -> Option<String> {
    let Ordered::TakesFirst { by_address, .. } = order else {
        return None;
    };
    for (_, run) in runs {
        let locks = Locks::new(run, &mut Vec::new());
        let all: Vec<NestedRequest> = nested(run, &locks, order).collect();
        for own in all.iter().filter(|nested| nested.is_own) {
            let pair = (own.held.lock, own.wanted);
            let mut others = all.iter().filter(|other| {
                let other_pair = (other.held.lock, other.wanted);
                let is_turned = *by_address && other_pair == (pair.1, pair.0);
                !other.is_own && other.thread != own.thread && (other_pair == pair || is_turned)
            });
            if let Some(other) = others.next() {
                let line = |row: EventId| {
                    let event = run.events.get(row);
                    event.map_or(0, |event| run.meta.site(event.site).line)
                };
                let name = |row: EventId| facts::in_block(&lock_name(run, row));
                return Some(format!(
                    "line {} takes `{}` with `{}` held as well",
                    line(other.at),
                    name(other.at),
                    name(other.held.acquired)
                ));
            }
        }
    }
    None
}

fn nested<'a>(
    run: &'a Run,
    locks: &'a Locks,
    order: &'a Ordered,
) -> impl Iterator<Item = NestedRequest> + 'a {
    let events = run.events.iter();
    let wants = events.filter(|(_, event)| event.kind.role().requests_lock());
    wants.flat_map(move |(at, event)| {
        let before = EventId(at.0.saturating_sub(1));
        let held = locks.held_at(event.thread, before);
        let others = held.filter(move |section| section.lock != event.location);
        others.map(move |section| {
            let is_own = is_own(run, section.acquired, at, order);
            NestedRequest {
                thread: event.thread,
                held: *section,
                wanted: event.location,
                at,
                is_own,
                is_turned: is_own && is_turned(order, section.lock, event.location),
            }
        })
    })
}

/// Returns whether both are acquired on the lines of the fix, in one function.
fn is_own(run: &Run, held: EventId, wanted: EventId, order: &Ordered) -> bool {
    let Ordered::TakesFirst {
        file, line, before, ..
    } = order
    else {
        return false;
    };
    parting(run, held, wanted).is_some_and(|(a, b)| {
        let (a, b) = (run.meta.site(a), run.meta.site(b));
        a.function == b.function
            && (&a.file, &b.file) == (file, file)
            && (a.line, b.line) == (*before, *line)
    })
}

/// Returns whether the fix reverses the order of two locks. Runs know no addresses: any order that all
/// threads share is as good as that of addresses.
fn is_turned(order: &Ordered, held: LocationId, wanted: LocationId) -> bool {
    match order {
        Ordered::TakesFirst { by_address, .. } => !by_address || wanted < held,
        _ => false,
    }
}
