//! The accesses before and after an event, and by what it is ordered.

use super::{listed, value_of};
use crate::{
    facts::{self, short},
    orders::{HappensBefore, Orders, Section},
};
use unsnarl_trace::{Event, EventId, Run};

/// Bound on the accesses before and after that are looked at.
const NEAR: usize = 200;

/// Sentences about the accesses of other threads around a row, the locks that are held there, and what is not ordered.
pub(super) fn sentences(run: &Run, orders: &Orders, row: EventId) -> Vec<String> {
    let event = run.events.event(row);
    if !event.kind.is_access() {
        return requested(run, orders, row, &event).into_iter().collect();
    }
    if !orders.accesses().is_shared(event.location) {
        return Vec::new();
    }
    let mut told = Vec::new();
    told.extend(interrupted(run, orders, row, &event).or_else(|| met(run, orders, row, &event)));
    told.extend(locked(run, orders, row, &event));
    told.extend(unordered(run, orders, row, &event));
    told
}

/// The locks that the thread holds when it asks for one more.
fn requested(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let held = orders.locks_held(row);
    let before = held.iter().filter(|section| section.acquired != row);
    let before: Vec<String> = before
        .filter_map(|section| lock_name(run, section))
        .collect();
    (event.kind.role().requests_lock() && !before.is_empty())
        .then(|| format!("It holds {} already.", listed(&before)))
}

fn lock_name(run: &Run, section: &Section) -> Option<String> {
    let acquired = run.events.get(section.acquired)?;
    Some(format!("`{}`", facts::variable(run, &acquired)))
}

/// `main.1 wrote 500 (bank.c:41)`.
fn deed(run: &Run, orders: &Orders, (told, row): (EventId, EventId), when: &str) -> String {
    let event = run.events.event(row);
    let did = if event.kind.writes() { "wrote" } else { "read" };
    let value = value_of(run, orders, row).map_or(" it".to_owned(), |value| format!(" {value}"));
    let who = facts::thread_name(run, event.thread);
    format!("{who} {did}{value}{when} ({})", at(run, told, row))
}

/// A place, by its line alone in the file of the row that is told.
fn at(run: &Run, told: EventId, row: EventId) -> String {
    let place = |row| facts::place(run, run.events.event(row).site);
    let (own, place) = (place(told), place(row));
    match own.file == place.file {
        true => format!("line {}", place.line),
        false => short(&place),
    }
}

/// Sentence about a write of another thread since the thread's own last access: the interruption, if there was one.
fn interrupted(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let before = orders.accesses().before(event.location, row);
    let by_me = |other: &EventId| run.events.event(*other).thread == event.thread;
    let own = before.iter().rev().copied().find(by_me)?;
    let write = orders
        .last_write_before(event.location, row)
        .filter(|write| *write > own && !by_me(write))?;
    Some(format!(
        "Since its own access at {}, {}.",
        at(run, row, own),
        deed(run, orders, (row, write), "")
    ))
}

/// The last write before, and the next conflicting access of another thread.
fn met(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let before = orders.last_write_before(event.location, row);
    let after = orders.accesses().after(event.location, row).iter();
    let after = after.copied().find(|other| conflicts(run, event, *other));
    let told = [(before, " before"), (after, " after")];
    let told = told
        .into_iter()
        .filter_map(|(other, when)| Some(deed(run, orders, (row, other?), when)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

fn conflicts(run: &Run, event: &Event, other: EventId) -> bool {
    run.events.get(other).is_some_and(|other| {
        other.thread != event.thread && (other.kind.writes() || event.kind.writes())
    })
}

/// Conflicting accesses of other threads near a row: those before it first, the nearest of each place.
fn conflicting(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Vec<EventId> {
    let accesses = orders.accesses();
    let before = accesses.before(event.location, row).iter().rev();
    let after = accesses.after(event.location, row).iter();
    let mut found: Vec<EventId> = Vec::new();
    for &other in before.take(NEAR).chain(after.take(NEAR)) {
        let is_known = |known: &EventId| run.events.site(*known) == run.events.site(other);
        if conflicts(run, event, other) && !found.iter().any(is_known) {
            found.push(other);
        }
    }
    found
}

/// The accesses as `main.1 at bank.c:41`, each once.
fn places(run: &Run, told_at: EventId, rows: &[EventId]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for row in rows {
        let who = facts::thread_name(run, run.events.event(*row).thread);
        let one = format!("{who} at {}", at(run, told_at, *row));
        if !told.contains(&one) {
            told.push(one);
        }
    }
    told
}

/// Sentence about the locks that are held, with the accesses that hold one of them, too: these come in either order, unless
/// forks and joins have one, as for what `main` sets up before there are threads.
fn locked(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let held = orders.locks_held(row);
    let mut others = conflicting(run, orders, row, event);
    others.retain(|other| orders.common_lock(row, *other).is_some());
    if !others.is_empty() {
        let forced = HappensBefore::forced(run);
        others.retain(|other| !is_forced(run, &forced, row, *other));
    }
    let since = held.iter().filter_map(|section| {
        let name = lock_name(run, section)?;
        Some(format!("{name} (since {})", at(run, row, section.acquired)))
    });
    let since: Vec<String> = since.collect();
    match (since.is_empty(), others.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("It holds {}.", listed(&since))),
        (false, false) => Some(format!(
            "It holds {}, like {}: either may come first.",
            listed(&since),
            listed(&places(run, row, &others))
        )),
    }
}

/// Returns whether two rows come in the same order under every schedule.
fn is_forced(run: &Run, forced: &HappensBefore, row: EventId, other: EventId) -> bool {
    let (first, later) = (row.min(other), row.max(other));
    let thread = |row| run.events.thread(row).0;
    forced.ordered(first, thread(first), later, thread(later))
}

/// Sentence about conflicting accesses of other threads that nothing orders.
fn unordered(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let mut others = conflicting(run, orders, row, event);
    others.retain(|other| {
        orders.common_lock(row, *other).is_none() && orders.concurrent(row, *other)
    });
    let race = match others.iter().any(|other| orders.is_race(row, *other)) {
        true => ": a data race",
        false => "",
    };
    let sees_all = run.meta.unseen_locks.is_empty();
    (!others.is_empty()).then(|| {
        let places = listed(&places(run, row, &others));
        match sees_all {
            true => {
                format!("Nothing orders it with {places}, neither a lock nor another event{race}.")
            }
            false => format!("Nothing that was recorded orders it with {places}."),
        }
    })
}
