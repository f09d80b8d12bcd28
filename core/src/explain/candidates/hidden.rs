//! Steps of a thread that are interrupted by another one, where a third thread, which runs the same code, hides it: its write
//! comes first, so that the second access of the interrupted thread depends on that, and not on the interruption.

use super::{Candidate, Story, UNRELATED, add, apart, candidate, distance, keep_best};
use crate::{
    Budget,
    budget::Poll,
    explain::{locking::same_section, view::View},
    orders::{Dependency, DependencyKind, dependencies},
    pairs::CoupledPairs,
};
use unsnarl_trace::EventId;

/// Accesses of the reading thread around its first read, among which its other reads are looked for.
const NEAR: usize = 24;

/// Accesses to a location behind a read, among which the other thread's write is looked for.
const BEHIND: usize = 64;

/// Changes of two variables of which a thread has seen the first one only, and that another thread changed as well before
/// the second one came. Linear in the dependencies of the run.
pub(super) fn hidden(view: &View, budget: &Budget) -> Vec<Candidate> {
    let (mut found, mut poll) = (Vec::new(), Poll::new(budget));
    dependencies(&view.run, view.orders.accesses(), |seen| {
        let is_seen = seen.kind == DependencyKind::Flow && seen.direct;
        // Only a change that flowed into the failure is told.
        if !is_seen || distance(view, &[seen.tail]) == UNRELATED || poll.is_over() {
            return;
        }
        if view.is_forced(seen.head, seen.tail) {
            return;
        }
        for read in reads_with(view, &seen) {
            if let Some(couple) = half_seen(view, &seen, read) {
                add(&mut found, couple_candidate(view, couple));
            }
        }
    });
    keep_best(found)
}

/// Other reads that the reading thread does in one step with one that has seen a change: in the same critical section.
fn reads_with(view: &View, seen: &Dependency) -> Vec<EventId> {
    let thread = view.thread(seen.tail);
    let locks = view.orders.locks_held(seen.tail);
    if locks.is_empty() {
        return Vec::new();
    }
    let before = view.rows.before(thread, seen.tail).iter().rev().take(NEAR);
    let after = view.rows.after(thread, seen.tail).iter().take(NEAR);
    let is_with = |row: &EventId| {
        let event = view.event(*row);
        event.kind.reads()
            && event.location != seen.location
            && view.orders.accesses().is_shared(event.location)
            && locks
                .iter()
                .any(|section| same_section(view, seen.tail, *row, section.lock))
    };
    before.chain(after).copied().filter(is_with).collect()
}

/// The two changes, if the thread of the first one does the second one only after the other thread has read that variable,
/// and a third thread has changed it by then.
fn half_seen(view: &View, seen: &Dependency, read: EventId) -> Option<CoupledPairs> {
    let (by, location) = (view.thread(seen.head), view.event(read).location);
    let after = view.orders.accesses().after(location, read).iter();
    let mut writes = after
        .copied()
        .take(BEHIND)
        .filter(|row| view.event(*row).kind.writes());
    let next = writes.next()?;
    let is_hidden = view.thread(next) != by && view.thread(next) != view.thread(read);
    let late = writes
        .find(|row| view.thread(*row) == by)
        .filter(|_| is_hidden)?;
    let earlier = view.orders.accesses().after(location, seen.head).iter();
    let mut earlier = earlier.take(BEHIND).take_while(|row| **row < read);
    let is_written = earlier.any(|row| view.thread(*row) == by && view.event(*row).kind.writes());
    let is_one = !is_written && apart(view, seen.head, late) == 0;
    let second = Dependency {
        head: read,
        tail: late,
        location,
        kind: DependencyKind::Anti,
        direct: false,
    };
    (is_one && view.orders.common_lock(read, late).is_some()).then_some(CoupledPairs {
        first: *seen,
        second,
    })
}

/// The candidate; passing runs that have it are not counted.
fn couple_candidate(view: &View, couple: CoupledPairs) -> Candidate {
    const BEHIND_OTHERS: u32 = 8;
    let (first, second) = (&couple.first, &couple.second);
    let rows = [first.head, first.tail, second.head, second.tail];
    let story = Story::MultiVariable(couple);
    candidate(view, story, &rows, BEHIND_OTHERS, false)
}
