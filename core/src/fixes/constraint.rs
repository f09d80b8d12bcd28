//! Is a recorded run one that a fix allows? So a fix is tried on the program as it is, before anything is edited.

use super::{
    Fix,
    mutexes::lock_name,
    seen::{At, frames},
};
use crate::{facts::family, orders::Locks};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, Run};

/// What a fix makes of the order of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The run could be one of the fixed program.
    Allowed,
    /// It could, but a thread waits within the lines, with the lock held.
    Waits(u32),
    /// The fixed program has no such run.
    Excluded,
}

/// Can a fix be told by the order of a run alone?
pub fn is_order(fix: &Fix) -> bool {
    !fix.exclusive.is_empty() || !fix.ordered.is_empty()
}

/// Does the fix allow this run's order?
pub fn verdict(fix: &Fix, run: &Run) -> Verdict {
    if !fix
        .ordered
        .iter()
        .all(|order| in_order(run, &order.first, &order.then))
    {
        return Verdict::Excluded;
    }
    let spans = spans(fix, run);
    let mut last: Option<&Span> = None;
    for span in &spans {
        if last.is_some_and(|last| last.thread != span.thread && span.first <= last.last) {
            return Verdict::Excluded;
        }
        if last.is_none_or(|last| span.last > last.last) {
            last = Some(span);
        }
    }
    waits(run, &spans).map_or(Verdict::Allowed, Verdict::Waits)
}

/// All that `first` does comes before the first of `then`.
fn in_order(run: &Run, first: &(String, u32), then: &(String, u32)) -> bool {
    let at = |place: &(String, u32)| {
        let is_at = |row: &EventId| {
            let known = run
                .events
                .get(*row)
                .filter(|event| event.kind.is_access() || event.kind == EventKind::Free);
            known.is_some_and(|event| {
                let site = run.meta.site(event.site);
                (&site.file, site.line) == (&place.0, place.1)
            })
        };
        let rows = (0..run.events.len() as u32).map(EventId).filter(is_at);
        rows.collect::<Vec<EventId>>()
    };
    match (at(first).last(), at(then).first()) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(last), Some(then)) => last < then,
    }
}

/// A stretch of a thread in which it has the lock.
struct Span {
    first: u32,
    last: u32,
    thread: u16,
}

/// The stretches in guarded lines and the critical sections of the lock, by their begin.
fn spans(fix: &Fix, run: &Run) -> Vec<Span> {
    let mut spans = sections(fix, run);
    let mut known: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    let mut open: BTreeMap<u16, Span> = BTreeMap::new();
    if !fix.exclusive.is_empty() {
        for (row, event) in run.events.iter() {
            let key = (event.site.0, event.stack.0);
            let inside = *known
                .entry(key)
                .or_insert_with(|| frames(run, row).iter().any(|at| guards(fix, at)));
            let thread = event.thread.0;
            match (inside, open.get_mut(&thread)) {
                (true, Some(span)) => span.last = row.0,
                (true, None) if event.kind != EventKind::LockWait => {
                    open.insert(
                        thread,
                        Span {
                            first: row.0,
                            last: row.0,
                            thread,
                        },
                    );
                }
                (false, Some(_)) => spans.extend(open.remove(&thread)),
                _ => {}
            }
        }
    }
    // Who does nothing more has not left the lines.
    let end = run.events.len() as u32;
    spans.extend(open.into_values().map(|span| Span { last: end, ..span }));
    spans.sort_by_key(|span| (span.first, span.last));
    spans
}

fn guards(fix: &Fix, at: &At) -> bool {
    fix.exclusive.iter().any(|lines| {
        lines.file == at.file
            && lines.function == at.function
            && (lines.first..=lines.last).contains(&at.line)
    })
}

fn sections(fix: &Fix, run: &Run) -> Vec<Span> {
    let Some(lock) = fix.lock.as_deref().map(family) else {
        return Vec::new();
    };
    let locks = Locks::new(run, &mut Vec::new());
    let own = locks
        .sections()
        .iter()
        .filter(|section| family(&lock_name(run, section.acquired)) == lock);
    own.map(|section| Span {
        first: section.acquired.0,
        last: section
            .released
            .map_or(run.events.len() as u32, |row| row.0),
        thread: section.thread.0,
    })
    .collect()
}

/// The line on which a thread waits for something in one of its stretches.
fn waits(run: &Run, spans: &[Span]) -> Option<u32> {
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
    let inner = |span: &Span| {
        let first = span.first + 1;
        waiting.range((span.thread, first)..(span.thread, span.last.max(first)))
    };
    let mut within = spans.iter().flat_map(inner);
    let (_, row) = within.next()?;
    run.events
        .get(EventId(*row))
        .map(|event| run.meta.site(event.site).line)
}
