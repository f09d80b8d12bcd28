//! Constraints: whether a fix allows a recorded run. So a fix is tried on the program as it is, before any
//! edit.

use super::{
    Fix, Ordered, SectionShare, nested_locks,
    recorded::RecordedSections,
    sections::{LockSpan, sections},
    seen::{At, frames},
};
use crate::orders::other_thread;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// Verdict of a fix on the order of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderVerdict {
    /// The fixed program could have this run.
    Allowed,
    /// The fixed program could have it, but a thread waits within the lines, with the lock held.
    Waits(u32),
    /// The fixed program has no such run.
    Excluded,
}

/// Returns whether the order of a run alone decides if a fix allows it.
pub fn is_order(fix: &Fix) -> bool {
    !fix.exclusive.is_empty() || !fix.ordered.is_empty()
}

/// Share of a run under the fix's lock: the steps in the lines that exclude each other and in the sections of
/// the lock, by thread, each counted once.
pub fn share(fix: &Fix, run: &Run) -> SectionShare {
    let own = |spans: &[LockSpan]| {
        let mut held = BTreeSet::new();
        for span in spans {
            let rows = (span.first..=span.last).map(EventId);
            let by = |row: &EventId| {
                let event = run.events.get(*row);
                event.is_some_and(|event| event.thread.0 == span.thread)
            };
            held.extend(rows.filter(by));
        }
        held.len() as u64
    };
    SectionShare {
        held: own(&sections(fix, run).spans),
        before: own(RecordedSections::of(fix, run).spans()),
        of: run.events.len() as u64,
    }
}

/// Checks whether the fix allows this run's order.
pub fn verdict(fix: &Fix, run: &Run) -> OrderVerdict {
    if !fix.ordered.iter().all(|order| in_order(run, order)) {
        return OrderVerdict::Excluded;
    }
    let spans = sections(fix, run).spans;
    if overlap(&spans) {
        return OrderVerdict::Excluded;
    }
    waits(run, &spans).map_or(OrderVerdict::Allowed, OrderVerdict::Waits)
}

/// Returns whether sections of one lock overlap, at least one of which is not only for reading.
fn overlap(spans: &[LockSpan]) -> bool {
    let mut last: BTreeMap<(u32, bool), &LockSpan> = BTreeMap::new();
    for span in spans {
        let Some(lock) = span.lock else {
            continue;
        };
        let meets = |is_shared: bool| {
            let known = last.get(&(lock, is_shared));
            known.is_some_and(|last| last.thread != span.thread && span.first <= last.last)
        };
        if meets(false) || !span.is_shared && meets(true) {
            return true;
        }
        let known = last.entry((lock, span.is_shared)).or_insert(span);
        if span.last > known.last {
            *known = span;
        }
    }
    false
}

/// Returns whether the run reaches lines that the fix changes.
pub fn reaches(fix: &Fix, run: &Run) -> bool {
    let mut known: BTreeSet<(u32, u32)> = BTreeSet::new();
    let is_there = |at: &At| {
        fix.ordered.iter().any(|order| {
            let (Ordered::EndsBefore { file, line, .. }
            | Ordered::BeginsAfter { file, line, .. }
            | Ordered::TakesFirst { file, line, .. }) = order;
            (&at.file, at.line) == (file, *line)
        })
    };
    let mut rows = run.events.iter();
    let comes_there = !fix.ordered.is_empty()
        && rows.any(|(row, event)| {
            known.insert((event.site.0, event.stack.0)) && frames(run, row).iter().any(is_there)
        });
    comes_there || sections(fix, run).spans.iter().any(|span| span.is_new)
}

fn in_order(run: &Run, order: &Ordered) -> bool {
    let (Ordered::EndsBefore { thread, file, line } | Ordered::BeginsAfter { thread, file, line }) =
        order
    else {
        return !overlap(&nested_locks::sections(run, order));
    };
    let mut threads = run.meta.threads.iter();
    let Some((own, row)) = (0..)
        .map(ThreadId)
        .zip(&mut threads)
        .find(|(_, row)| row.name == *thread)
    else {
        return true;
    };
    let mut known: BTreeMap<(u32, u32), Option<usize>> = BTreeMap::new();
    let (mut is_created, mut begun, mut ended) = (false, None, None);
    let (mut reached, mut set): (Option<EventId>, Option<(EventId, bool)>) = (None, None);
    for (at, event) in run.events.iter() {
        if event.kind == EventKind::Fork && other_thread(event.value) == Some(own.0) {
            is_created = true;
        } else if event.thread == own {
            match event.kind {
                EventKind::Begin | EventKind::Blocked => {}
                EventKind::End => ended = Some(at),
                _ => begun = begun.or(Some(at)),
            }
        } else if is_created && Some(event.thread) == row.parent {
            let is_there = |at: &At| (&at.file, at.line) == (file, *line);
            let depth = known
                .entry((event.site.0, event.stack.0))
                .or_insert_with(|| frames(run, at).iter().position(is_there));
            if let Some(depth) = *depth {
                reached = reached.or(Some(at));
                if event.kind.writes() {
                    set = Some((at, depth == 0));
                }
            } else if let Some((_, is_done)) = &mut set {
                *is_done = true;
            }
        }
    }
    // A line sets a variable by its own write, which comes last, or by the last write of a callee: then
    // another line has to follow, or the run may have ended in the middle.
    let set = set.and_then(|(at, is_done)| is_done.then_some(at));
    match order {
        Ordered::BeginsAfter { .. } => comes_first(set, begun),
        _ => comes_first(ended, reached),
    }
}

/// Returns whether the first event comes before the second; also if the second never comes.
fn comes_first(first: Option<EventId>, second: Option<EventId>) -> bool {
    match (first, second) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(first), Some(second)) => first < second,
    }
}

/// The line on which a thread blocks in one of its spans.
fn waits(run: &Run, spans: &[LockSpan]) -> Option<u32> {
    let waiting: BTreeSet<(u16, u32)> = run
        .events
        .iter()
        .filter(|(_, event)| {
            matches!(
                event.kind,
                EventKind::LockWait | EventKind::Join | EventKind::SemWait
            )
        })
        .map(|(row, event)| (event.thread.0, row.0))
        .collect();
    let inner = |span: &&LockSpan| {
        let first = span.first + 1;
        waiting.range((span.thread, first)..(span.thread, span.last.max(first)))
    };
    let new = spans.iter().filter(|span| span.is_new);
    let mut within = new.flat_map(|span| inner(&span));
    let (_, row) = within.next()?;
    run.events
        .get(EventId(*row))
        .map(|event| run.meta.site(event.site).line)
}
