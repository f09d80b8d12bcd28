//! Is a recorded run one that a fix allows? So a fix is tried on the program as it is, before anything is edited.

use super::{
    Fix, FixKind, Ordered, Share,
    mutexes::lock_name,
    seen::{At, frames},
};
use crate::{
    facts::family,
    orders::{Locks, other_thread},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

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

/// How much of a run lies in the lines that exclude each other and in the sections of the lock: its steps by thread,
/// those of each once.
pub fn share(fix: &Fix, run: &Run) -> Share {
    let own = |spans: Vec<Span>| {
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
    Share {
        held: own(spans(fix, run)),
        before: own(sections(fix, run)),
        of: run.events.len() as u64,
    }
}

/// Does the fix allow this run's order?
pub fn verdict(fix: &Fix, run: &Run) -> Verdict {
    if !fix.ordered.iter().all(|order| in_order(run, order)) {
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
    // A lock that is waited for with another one held is what an order of locks is about.
    match fix.kind {
        FixKind::LockOrder => Verdict::Allowed,
        _ => waits(run, &spans).map_or(Verdict::Allowed, Verdict::Waits),
    }
}

fn in_order(run: &Run, order: &Ordered) -> bool {
    let (Ordered::EndsBefore { thread, file, line } | Ordered::BeginsAfter { thread, file, line }) =
        order;
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
    // What a line sets is set by its own write, which comes last, or by the last write of what it calls: then another
    // line has to follow, or the run may have ended in the middle.
    let set = set.and_then(|(at, is_done)| is_done.then_some(at));
    match order {
        Ordered::EndsBefore { .. } => comes_first(ended, reached),
        Ordered::BeginsAfter { .. } => comes_first(set, begun),
    }
}

/// Nothing comes too early where the second never comes.
fn comes_first(first: Option<EventId>, second: Option<EventId>) -> bool {
    match (first, second) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(first), Some(second)) => first < second,
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

/// The guarded line from which a thread comes to guarded lines once more, by a call: it would wait for itself. Linear in
/// the run.
pub(super) fn taken_twice(fix: &Fix, run: &Run) -> Option<u32> {
    let mut known: BTreeSet<(u32, u32)> = BTreeSet::new();
    let rows = run.events.iter();
    let mut new = rows.filter(|(_, event)| known.insert((event.site.0, event.stack.0)));
    new.find_map(|(row, _)| {
        let frames = frames(run, row);
        let mut held = frames.iter().filter(|at| guards(fix, at)).rev();
        let outermost = held.next()?;
        held.next().map(|_| outermost.line)
    })
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
