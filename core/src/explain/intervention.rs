//! What an explanation blames as orders that can be imposed on schedules: one in which it happens, and those in which it
//! does not. Everything else is left to chance, so that many different schedules have each of them.

use super::turned::{Blamed, blamed, outermost, region, thread, update_begins};
use crate::explanation::Explanation;
use unsnarl_trace::{EventId, Run};

/// Orders of events of one failing run, each to be kept while everything else is drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// What is blamed happens.
    pub with: Vec<EventId>,
    /// It does not, in one of these ways.
    pub without: Vec<Vec<EventId>>,
    /// The row at which what is blamed is complete.
    pub complete: EventId,
}

/// The orders of what the explanation blames; none when it blames no order of events that the run has: something that is
/// missing, threads that wait for ever. Linear in the run.
pub fn intervention(explanation: &Explanation, run: &Run) -> Option<Intervention> {
    let blamed = blamed(explanation);
    match region(explanation, &blamed, run) {
        Some((first, between, last)) => interrupted(run, first, &between, last),
        None => swapped(run, &blamed),
    }
}

/// Two accesses of one thread with others in between: without it these come before the first or after the last.
fn interrupted(
    run: &Run,
    first: EventId,
    between: &[EventId],
    last: EventId,
) -> Option<Intervention> {
    let (enters, leaves) = (*between.first()?, *between.last()?);
    let mut with = vec![first, held_after(run, first, enters)?, leaves];
    with.push(held_after(run, leaves, last)?);
    with.dedup();
    Some(Intervention {
        with,
        without: vec![
            vec![last, outermost(run, enters)?],
            vec![leaves, outermost(run, update_begins(run, first)?)?],
        ],
        complete: last,
    })
}

/// Two accesses of two threads: without it the later one comes first.
fn swapped(run: &Run, blamed: &[Blamed<'_>]) -> Option<Intervention> {
    let late = blamed.last()?.row;
    let is_other = |one: &&Blamed<'_>| thread(run, one.row) != thread(run, late);
    let early = blamed.iter().rev().find(is_other)?.row;
    Some(Intervention {
        with: vec![early, held_after(run, early, late)?],
        without: vec![vec![late, outermost(run, update_begins(run, early)?)?]],
        complete: late,
    })
}

/// Where a thread is held that is to do `row` only after `other`: where it takes the lock under which it does that, unless
/// it had it before in the failing run, too.
fn held_after(run: &Run, other: EventId, row: EventId) -> Option<EventId> {
    let from = outermost(run, row)?;
    Some(if from > other { from } else { row })
}
