//! Waits that ended without a signal, as POSIX allows, after which the condition was not checked again.

use super::{Candidate, Story, UNRELATED, candidate, distance};
use crate::explain::{
    begins,
    look::asks_again,
    lost_wakeup::{checked_before, leads_to},
    spurious::is_spurious,
    view::View,
};
use unsnarl_trace::{EventId, EventKind, LocationId};

/// The last such wait of the failing thread, or of a thread whose later writes flowed into the failure; of
/// any thread where the run has no failing one.
pub(in crate::explain) fn spurious(view: &View) -> Option<Candidate> {
    let wakes = view.run.events.iter().map(|(row, _)| row);
    let wakes = wakes.filter(|&row| row < view.failure && is_spurious(view, row));
    let wakes: Vec<EventId> = wakes.collect();
    wakes.into_iter().rev().find_map(|wake| {
        let last = not_looked_at_again(view, wake)?;
        let check = told_by(view, &looks(view, last, wake), wake).unwrap_or(last);
        let story = Story::Unchecked { check, wake };
        let mut found = candidate(view, story, &[check], 0, true);
        (found.cost, found.relevant) = (0, true);
        matters(view, wake).then_some(found)
    })
}

/// The check before a wait that the thread did not repeat at the same place before it released the lock or
/// waited again. A loop that looks at several things begins with the first of them, and may never come to the last.
pub(super) fn not_looked_at_again(view: &View, wake: EventId) -> Option<EventId> {
    let thread = view.thread(wake);
    let wait = begins::wait(&view.run, wake, view.own_before(wake))?;
    let check = last_check(view, wait)?;
    let own = view.rows.after(thread, wake).iter().copied();
    let ends = |row: &EventId| matches!(view.event(*row).kind, EventKind::Unlock | EventKind::Wait);
    let behind = own.take_while(|row| !ends(row));
    let behind: Vec<EventId> = behind.filter(|row| view.event(*row).kind.reads()).collect();
    let is_at = |row: EventId, other: EventId| {
        let (now, then) = (view.place(row), view.place(other));
        (now.line, now.column, now.file) == (then.line, then.column, then.file)
    };
    let goes_round = |first: &EventId| looked(view, wait).any(|before| is_at(*first, before));
    // Optimized code may have the first look of a loop elsewhere.
    let of_check = looks(view, check, wake).into_iter();
    let looked_for: Vec<LocationId> = of_check.map(|row| view.event(row).location).collect();
    let is_in_loop = |row: EventId| {
        looked_for.contains(&view.event(row).location) && asks_again(&view.place(row))
    };
    let is_repeated = behind
        .iter()
        .any(|row| is_at(*row, check) || is_in_loop(*row));
    (!is_repeated && !behind.first().is_some_and(goes_round)).then_some(check)
}

/// The reads of a thread before a wait, since it acquired the lock or woke up last, the latest first.
fn looked(view: &View, wait: EventId) -> impl Iterator<Item = EventId> {
    let begins = |row: &EventId| matches!(view.event(*row).kind, EventKind::Lock | EventKind::Wake);
    let own = view.rows.before(view.thread(wait), wait).iter().rev();
    let own = own.copied().take_while(move |row| !begins(row));
    own.filter(|row| view.event(*row).kind.reads())
}

/// The last read before a wait that the thread based it on: under the lock that the wait releases, if there
/// was one.
fn last_check(view: &View, wait: EventId) -> Option<EventId> {
    let own = view.rows.before(view.thread(wait), wait).iter().rev();
    let begins =
        |row: &&EventId| matches!(view.event(**row).kind, EventKind::Lock | EventKind::Wake);
    let begin = own.copied().find(|row| begins(&row)).unwrap_or_default();
    let check = checked_before(view, wait);
    check
        .filter(|check| *check > begin)
        .or_else(|| last_read(view, wait).filter(|read| *read > begin))
        .or(check)
        .or_else(|| last_read(view, wait))
}

/// All reads on the line of the last check before a wait.
pub(super) fn looks(view: &View, last: EventId, wake: EventId) -> Vec<EventId> {
    // Reads before it acquired the lock, or before it waited, served another purpose.
    let begins = |row: &EventId| matches!(view.event(*row).kind, EventKind::Lock | EventKind::Wake);
    let place = view.place(last);
    let end = begins::wait(&view.run, wake, view.own_before(wake)).unwrap_or(wake);
    let own = view.rows.before(view.thread(wake), end).iter().rev();
    let own = own.copied().take_while(|row| !begins(row));
    let looks = own.filter(|&row| {
        let other = view.place(row);
        view.event(row).kind.reads() && (&other.file, other.line) == (&place.file, place.line)
    });
    looks.collect()
}

/// Of these reads, the one whose next use, after the wait, is nearest to the failure.
fn told_by(view: &View, looks: &[EventId], wake: EventId) -> Option<EventId> {
    let next = looks
        .iter()
        .filter_map(|&look| Some((next_use(view, look, wake)?, look)));
    let nearest = next.min_by_key(|(next, _)| distance(view, &[*next]));
    nearest.map(|(_, look)| look)
}

/// The thread's next access after the wait to a location that it had checked: it reads it, or sets it at once.
pub(super) fn next_use(view: &View, look: EventId, wake: EventId) -> Option<EventId> {
    let after = view
        .orders
        .accesses()
        .after(view.event(look).location, wake);
    let own = |row: &&EventId| view.thread(**row) == view.thread(wake);
    after.iter().find(own).copied()
}

/// The last read of the function that waits: without other threads, no location of the run is shared. What no other thread
/// uses on the stack, as the lock of a C++ wait, is no condition.
fn last_read(view: &View, wait: EventId) -> Option<EventId> {
    const NEAR: usize = 16;
    let function = view.place(wait).function;
    let before = view.rows.before(view.thread(wait), wait).iter().rev();
    let may_be = |row: &EventId| {
        let event = view.event(*row);
        let is_shared = view.orders.accesses().is_shared(event.location);
        let is_own = view.run.location_parts(event.location).is_on_stack() && !is_shared;
        event.kind.reads() && !is_own && !leads_to(view, *row, wait)
    };
    let mut reads = before.take(NEAR).copied().filter(may_be);
    reads.find(|row| view.place(*row).function == function)
}

/// Returns whether the wait flowed into the failure, as far as data shows.
pub(super) fn matters(view: &View, wake: EventId) -> bool {
    let thread = view.thread(wake);
    let later = view.rows.after(thread, wake).iter();
    let mut writes = later.filter(|row| view.event(**row).kind.writes());
    view.failed.is_none_or(|failed| failed == thread)
        || writes.any(|&row| distance(view, &[row]) < UNRELATED)
}
