//! Interventions: orders imposed on schedules, one with the blamed behaviour and several without it.
//! Everything else is left to chance, so that many different schedules satisfy each order.

use super::begins;
use super::turned::{
    Blamed, blamed, half, held, missing, outermost, region, thread, update_begins,
};
use crate::explanation::{Absent, BugKind, Explanation, Role};
use crate::facts::ValueKind;
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// Orders of events of one failing run, each imposed while everything else is drawn at random.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// The order with the blamed behaviour.
    pub with: Vec<EventId>,
    /// The alternative orders without it.
    pub without: Vec<Vec<EventId>>,
    /// The row at which the blamed behaviour is complete.
    pub complete: EventId,
    /// A write that passing runs have: with the blamed behaviour it comes after those events, if it comes.
    pub absent: Option<Absent>,
    /// Alternatives without the blamed behaviour in which that write comes before this row.
    pub after_absent: Vec<EventId>,
    /// A thread whose end before the last event of the first alternative is another way without the blamed
    /// behaviour: any repetition by it also comes in time.
    pub ends: Option<ThreadId>,
}

/// The orders of the behaviour that the explanation blames; none when it blames no order: locks in a cycle,
/// signals that no thread sends. Linear in the run.
pub fn intervention(explanation: &Explanation, run: &Run) -> Option<Intervention> {
    let blamed = blamed(explanation);
    let is_here = |one: &Blamed<'_>| run.events.get(one.row).is_some();
    if !blamed.iter().all(is_here) {
        return None;
    }
    let is_wait = |one: &Blamed<'_>| run.events.kind(one.row) == EventKind::Wait;
    match explanation.kind {
        BugKind::Deadlock | BugKind::Sequential => return None,
        BugKind::LostWakeup if blamed.iter().any(is_wait) => return unheard(run, &blamed),
        _ => {}
    }
    if let Some(absent) = missing(explanation) {
        let unseen = unseen(explanation, run, &blamed);
        return too_late(run, &blamed, absent, unseen);
    }
    if let Some(absent) = half(explanation) {
        return half_done(run, &blamed, absent.clone());
    }
    if let Some(changes) = changes(run, &blamed) {
        return before_all(run, blamed.first()?.row, &changes);
    }
    match region(explanation, &blamed, run) {
        Some((first, between, last)) => interrupted(run, first, &between, last),
        None => {
            let mut swapped = swapped(run, &blamed)?;
            swapped.without.extend(unseen(explanation, run, &blamed));
            Some(swapped)
        }
    }
}

/// The order in which a thread looks before it could see the pointer that another one announced too early: then it does not
/// come to what is behind it.
fn unseen(explanation: &Explanation, run: &Run, blamed: &[Blamed<'_>]) -> Option<Vec<EventId>> {
    let is_pointer = |one: &&Blamed<'_>| {
        let value = one.step.value.as_ref();
        value.is_some_and(|value| value.kind == ValueKind::Address)
    };
    let announced = blamed
        .first()
        .filter(|one| one.role == Role::Cause)
        .filter(is_pointer)?;
    let reads = |one: &&Blamed<'_>| one.role == Role::Interference && one.row > announced.row;
    let reader = blamed.iter().find(reads)?;
    let saw = explanation.steps.iter().find(|step| {
        step.thread == reader.step.thread
            && step.location == announced.step.location
            && (announced.row.0..reader.row.0).contains(&step.event)
    })?;
    let first = outermost(run, update_begins(run, announced.row))?;
    (reader.step.thread != announced.step.thread).then(|| vec![EventId(saw.event), first])
}

/// The intervention for a read that came before a write which the failing run never reached.
fn too_late(
    run: &Run,
    blamed: &[Blamed<'_>],
    absent: Absent,
    unseen: Option<Vec<EventId>>,
) -> Option<Intervention> {
    let reader = blamed.last()?.row;
    Some(Intervention {
        with: vec![reader],
        without: unseen.into_iter().collect(),
        complete: reader,
        absent: Some(absent),
        after_absent: entries(run, outermost(run, reader)?),
        ends: None,
    })
}

/// The intervention for two changes of one thread with reads of both in between, where the failing run never reached the
/// second change: without it the reads come after that, or before the first.
fn half_done(run: &Run, blamed: &[Blamed<'_>], absent: Absent) -> Option<Intervention> {
    let of = |role| blamed.iter().filter(move |one| one.role == role);
    let written = of(Role::Cause).next()?.row;
    let mut reads = of(Role::Interference).map(|one| one.row);
    let enters = reads.next()?;
    let leaves = reads.next_back().unwrap_or(enters);
    let mut with = vec![written, held_after(run, written, enters)?, leaves];
    with.dedup();
    Some(Intervention {
        with,
        without: vec![vec![
            begins::leads_to(run, leaves),
            outermost(run, update_begins(run, written))?,
        ]],
        complete: leaves,
        absent: Some(absent),
        after_absent: entries(run, outermost(run, begins::decided_by(run, enters))?),
        ends: None,
    })
}

/// The rows at which a thread can be held before it goes on with what begins at a row: this one, and where it came from a
/// wait, the acquisition of the lock before that: it may not have to wait then.
fn entries(run: &Run, from: EventId) -> Vec<EventId> {
    let before = std::iter::successors(Some(from), |from| {
        outermost(run, begins::waited(run, *from)?)
    });
    let last = before.last().filter(|row| *row != from);
    [from].into_iter().chain(last).collect()
}

/// The intervention for a signal that came before its wait, and perhaps after the check that led to the wait;
/// or for a change without a signal during the wait.
fn unheard(run: &Run, blamed: &[Blamed<'_>]) -> Option<Intervention> {
    if let [wait, look, later] = blamed
        && [look, later].map(|one| one.role) == [Role::Interference; 2]
    {
        return withheld(run, wait.row, look.row, later.row);
    }
    let last = blamed.last()?;
    if last.role == Role::Interference {
        return swapped(run, blamed);
    }
    let waits = last.row;
    let waiter = thread(run, waits);
    let is_own = |one: &&Blamed<'_>| thread(run, one.row) == waiter;
    let signal = blamed.iter().find(|one| one.role == Role::Interference)?;
    // A signal that woke another thread came during the wait.
    let is_early = blamed
        .iter()
        .all(|one| is_own(&one) == (one.role == Role::Cause));
    let mut own = blamed.iter().filter(is_own);
    let check = own.find(|one| one.row < signal.row).filter(|_| is_early);
    match check {
        Some(check) => interrupted(run, check.row, &[signal.row], waits),
        None => swapped(run, blamed).filter(|_| is_early),
    }
}

/// The intervention for a look during a wait that led to no signal, as another thread had not changed yet what it read: without
/// it the look comes before the wait, or after the change.
fn withheld(run: &Run, wait: EventId, look: EventId, later: EventId) -> Option<Intervention> {
    let first = outermost(run, look)?;
    let mut with = vec![
        wait,
        held_after(run, wait, look)?,
        look,
        held_after(run, look, later)?,
    ];
    with.dedup();
    Some(Intervention {
        with,
        without: vec![vec![look, outermost(run, wait)?], vec![later, first]],
        complete: later,
        absent: None,
        after_absent: Vec::new(),
        ends: None,
    })
}

/// The intervention for two accesses of one thread with others in between: without it these come before the
/// first or after the last.
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
        // The other thread may have decided before what it does in between, or do something about it only later: without
        // the interruption all of that comes before, or after.
        without: vec![
            vec![last, outermost(run, begins::decided_by(run, enters))?],
            vec![
                begins::leads_to(run, leaves),
                outermost(run, update_begins(run, first))?,
            ],
        ],
        complete: last,
        absent: None,
        after_absent: Vec::new(),
        ends: None,
    })
}

/// The changes by several threads that all come after the read at the beginning of what is blamed.
fn changes(run: &Run, blamed: &[Blamed<'_>]) -> Option<Vec<EventId>> {
    let (read, changes) = blamed.split_first()?;
    let mut threads = BTreeSet::from([thread(run, read.row)]);
    let is_of_another =
        |one: &Blamed<'_>| one.role == Role::Interference && threads.insert(thread(run, one.row));
    let is_read = read.role == Role::Cause && !run.events.kind(read.row).writes();
    let is_all = is_read && changes.len() > 1 && changes.iter().all(is_of_another);
    is_all.then(|| changes.iter().map(|one| one.row).collect())
}

/// The intervention for a read before changes by several threads: without it the first of them comes in time.
fn before_all(run: &Run, read: EventId, changes: &[EventId]) -> Option<Intervention> {
    let first = *changes.first()?;
    let held = changes.iter().map(|change| held_after(run, read, *change));
    let held: Option<Vec<EventId>> = held.collect();
    Some(Intervention {
        with: [read].into_iter().chain(held?).collect(),
        without: vec![vec![first, outermost(run, read)?]],
        complete: first,
        absent: None,
        after_absent: Vec::new(),
        ends: thread(run, first),
    })
}

/// The intervention for two accesses of two threads, perhaps with another one before: without it the later one comes first.
fn swapped(run: &Run, blamed: &[Blamed<'_>]) -> Option<Intervention> {
    let late = blamed.last()?.row;
    let is_other = |one: &&Blamed<'_>| thread(run, one.row) != thread(run, late);
    let early = blamed.iter().rev().find(is_other)?.row;
    // What the early one undoes is part of the order.
    let location = |row: EventId| run.events.get(row).map(|event| event.location);
    let before = blamed.iter().map(|one| one.row);
    let before = before.filter(|row| *row < early && location(*row) == location(early));
    let order = [early, held_after(run, early, late)?];
    Some(Intervention {
        with: before.chain(order).collect(),
        without: vec![vec![late, outermost(run, update_begins(run, early))?]],
        complete: late,
        absent: None,
        after_absent: Vec::new(),
        ends: thread(run, late),
    })
}

/// The row at which a thread is held that is to execute `row` only after `other`: the acquisition of the first lock
/// under which it does that, of those that it did not hold before `other` in the failing run.
fn held_after(run: &Run, other: EventId, row: EventId) -> Option<EventId> {
    let mut held = held(run, row)?.into_iter();
    Some(held.find(|from| *from > other).unwrap_or(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Budget, explain,
        fixture::{corpus, run},
    };

    const LOST: &str = "main fork main.1 @1\nmain fork main.2 @2\n\
        main.1 lock m @9 withdraw\nmain.1 R b =300 @10\nmain.1 unlock m @11\n\
        main.2 lock m @29 deposit\nmain.2 W b =500 @30\nmain.2 unlock m @31\n\
        main.1 lock m @19\nmain.1 W b =250 @20\nmain.1 unlock m @21\n\
        main join main.1 @40\nmain join main.2 @41\nmain R b =250 @42\nmain fails @42";
    const FINE: &str = "main fork main.1 @1\nmain fork main.2 @2\n\
        main.1 lock m @9 withdraw\nmain.1 R b =300 @10\nmain.1 unlock m @11\n\
        main.1 lock m @19\nmain.1 W b =250 @20\nmain.1 unlock m @21\n\
        main.2 lock m @29 deposit\nmain.2 W b =450 @30\nmain.2 unlock m @31\n\
        main join main.1 @40\nmain join main.2 @41\nmain R b =450 @42";

    /// The lines of the orders: with the blamed behaviour, then without it.
    fn lines(passing: &[&str], failing: &str) -> (Vec<u32>, Vec<Vec<u32>>) {
        let found = explain(&corpus(passing, &[failing]), &Budget::unlimited());
        let failing = run(failing);
        let orders = intervention(found.findings.first().unwrap(), &failing).unwrap();
        let line = |row: &EventId| {
            let event = failing.events.get(*row).unwrap();
            failing.meta.site(event.site).line
        };
        let of = |order: &Vec<EventId>| order.iter().map(line).collect::<Vec<u32>>();
        (of(&orders.with), orders.without.iter().map(of).collect())
    }

    #[test]
    fn threads_are_held_where_they_take_the_lock() {
        let (with, without) = lines(&[FINE; 6], LOST);
        assert_eq!(with, [10, 29, 30, 19]);
        assert_eq!(without, [[20, 29], [30, 9]]);
    }

    /// The thread that is interrupted keeps another lock all the time: it is held where it takes the inner one.
    #[test]
    fn threads_with_an_outer_lock_are_held_where_they_take_the_inner_one() {
        let outer = |text: &str| {
            let begun = text.replacen(
                "main.1 lock m @9",
                "main.1 lock list @8 withdraw\nmain.1 lock m @9",
                1,
            );
            begun.replacen(
                "main.1 unlock m @21",
                "main.1 unlock m @21\nmain.1 unlock list @22",
                1,
            )
        };
        let fine = outer(FINE);
        let (with, _) = lines(&[fine.as_str(); 6], &outer(LOST));
        assert_eq!(with, [10, 29, 30, 19]);
    }

    #[test]
    fn the_later_of_two_accesses_comes_first() {
        let early = "main fork main.1 @1\nmain W p =0 @7\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain.1 R p =5 @20 use\nmain W p =0 @7";
        let (with, without) = lines(&[fine; 6], early);
        assert_eq!((with, without), (vec![7, 20], vec![vec![20, 7]]));
    }

    #[test]
    fn what_never_came_comes_after_the_read_or_before_it() {
        let early = "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain W p =5 @7\nmain.1 R p =5 @20 use";
        let (with, without) = lines(&[fine; 6], early);
        assert_eq!((with, without), (vec![20], Vec::new()));
        let found = explain(&corpus(&[fine; 6], &[early]), &Budget::unlimited());
        let orders = intervention(found.findings.first().unwrap(), &run(early)).unwrap();
        assert_eq!(orders.absent.unwrap().place.line, 7);
        let failing = run(early);
        let mut rows = failing.events.iter();
        let read = rows.find(|(_, event)| event.kind == EventKind::Read);
        assert_eq!(orders.after_absent, [read.unwrap().0]);
    }

    #[test]
    fn a_signal_comes_during_the_wait_or_before_the_check() {
        let hangs = "start main.1 consume\nmain fork main.1 @40\n\
            main.1 R ready =0 @10 consume\nmain W ready =1 @21\nmain signal filled =0 @22\n\
            main.1 lock m @11 consume\nmain.1 wait filled @12 consume\nmain.1 unlock m @12 consume\n\
            main.1 blocked condition filled @12\nmain blocked join main.1 @50\ndeadlocks";
        let (with, without) = lines(&[], hangs);
        assert_eq!(with, [10, 22, 11]);
        assert_eq!(without, [[12, 22], [22, 10]]);
    }
}
