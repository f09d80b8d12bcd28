//! Orders in which the blamed behaviour is reversed, to be executed: if the explanation is right, the program
//! passes in them.

use super::{begins, spurious::is_spurious_wakeup};
use crate::{
    explanation::{Absent, BugKind, Explanation, Role, SiteMark, Step},
    facts::{self, short},
    orders::{Locks, other_thread},
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId, Value, meta::SiteRow};

/// Change that such an order makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Turn {
    /// The interrupted region runs in one piece, the interfering accesses come after it.
    RegionFirst,
    /// The interfering accesses come before the interrupted region.
    OthersFirst,
    /// Of two accesses the later one comes first.
    Swapped,
    /// The write that never happened is waited for.
    Awaited,
    /// A wait does not end spuriously.
    NotWoken,
}

/// An order to execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turned {
    /// Change that it makes.
    pub turn: Turn,
    /// Description: `main.2 bank.c:51 before main.1 bank.c:38`.
    pub says: String,
    /// Prefixes of the order, as rows of the failing run; the first feasible one counts. The program decides
    /// the continuation.
    pub orders: Vec<Vec<EventId>>,
    /// Rows that have to be named.
    pub pair: Vec<EventId>,
    /// A write that passing runs have and the failing one lacks, which is to come next.
    pub awaited: Option<Absent>,
    /// The row up to which the failing run, unchanged, serves as the comparison: executed that far, it should
    /// fail.
    pub until: EventId,
}

/// The orders for the failing run that the explanation's steps are from, the most informative first. Linear
/// in the run for each of a few pairs of steps.
pub fn turned(explanation: &Explanation, run: &Run) -> Vec<Turned> {
    let blamed = blamed(explanation);
    let region = region(explanation, &blamed, run);
    let mut found: Vec<Turned> = match region {
        Some((first, between, last)) => {
            let (enters, leaves) = (between.first(), between.last());
            let after = enters.and_then(|&enters| swap(run, enters, last, Turn::RegionFirst));
            let before = leaves.and_then(|&leaves| swap(run, first, leaves, Turn::OthersFirst));
            after.into_iter().chain(before).collect()
        }
        None => swapped(run, &blamed),
    };
    found.extend(awaited(explanation, run));
    found.extend(not_woken(run, &blamed));
    found
}

/// The order up to the row where a wait ended spuriously, which it does not when the order is executed.
fn not_woken(run: &Run, blamed: &[Blamed<'_>]) -> Option<Turned> {
    let is_spurious = |row: EventId| {
        let event = run.events.get(row);
        event.is_some_and(|event| is_spurious_wakeup(&event))
    };
    let wake = blamed.iter().find(|one| is_spurious(one.row))?.row;
    // The waiting thread gets its lock before it says that it woke up.
    let wait = begins::wait(run, wake, begins::own_before(run, wake))?;
    Some(Turned {
        turn: Turn::NotWoken,
        says: format!("{} without a spurious wakeup", at(run, wait)),
        orders: vec![(0..=wait.0).map(EventId).collect()],
        pair: vec![wait],
        awaited: None,
        until: wake,
    })
}

/// A blamed step.
#[derive(Clone, Copy)]
pub(super) struct Blamed<'a> {
    pub row: EventId,
    pub step: &'a Step,
    pub role: Role,
}

pub(super) fn blamed(explanation: &Explanation) -> Vec<Blamed<'_>> {
    let blamed = explanation.blamed();
    let rows = blamed.filter_map(|mark| {
        let step = explanation.step_of(mark)?;
        Some(Blamed {
            row: EventId(step.event),
            step,
            role: mark.role,
        })
    });
    let mut rows: Vec<Blamed<'_>> = rows.collect();
    rows.sort_by_key(|blamed| blamed.row);
    rows
}

/// The first and last of the accesses that belong together, and the interfering ones. An attempt to lock in vain comes
/// between the acquisition and the release by the thread that holds the lock.
pub(super) fn region(
    explanation: &Explanation,
    blamed: &[Blamed<'_>],
    run: &Run,
) -> Option<(EventId, Vec<EventId>, EventId)> {
    if let [held, attempt, released] = blamed
        && run.events.kind(attempt.row) == EventKind::TryLockFailed
        && attempt.role == Role::Cause
        && thread(run, held.row) == thread(run, released.row)
    {
        return Some((held.row, vec![attempt.row], released.row));
    }
    let is_region = explanation.kind.is_interruption();
    let of = |role| blamed.iter().filter(move |one| one.role == role);
    let first = of(Role::Cause).next().filter(|_| is_region)?.row;
    let last = of(Role::Cause).next_back()?.row;
    let own = thread(run, first)?;
    let between = of(Role::Interference).map(|one| one.row);
    let between: Vec<EventId> = between.filter(|row| *row > first && *row < last).collect();
    let is_between = between.iter().all(|row| thread(run, *row) != Some(own));
    (thread(run, last) == Some(own) && is_between && !between.is_empty())
        .then_some((first, between, last))
}

/// Pairs of blamed steps of two threads, the latest first.
fn swapped(run: &Run, blamed: &[Blamed<'_>]) -> Vec<Turned> {
    let mut pairs = Vec::new();
    for (at, late) in blamed.iter().enumerate().rev() {
        for early in blamed.iter().take(at).rev() {
            if early.step.thread != late.step.thread {
                pairs.push((early.row, late.row));
            }
        }
    }
    let turned = pairs.into_iter();
    turned
        .filter_map(|(early, late)| swap(run, early, late, Turn::Swapped))
        .collect()
}

/// The order in which the thread of `early` is held back until `late` has happened.
fn swap(run: &Run, early: EventId, late: EventId, turn: Turn) -> Option<Turned> {
    let from = outermost(run, update_begins(run, early))?;
    let by = thread(run, late)?;
    let all = held_back(run, from, |row| row <= late)?;
    if !all.contains(&late) {
        return None;
    }
    // Threads other than the two may depend on the thread that is held back.
    let is_own = |row: &EventId| *row < from || thread(run, *row) == Some(by);
    let alone: Vec<EventId> = all.iter().copied().filter(is_own).collect();
    // The thread itself may take another path: then only up to the point where the other one is held back.
    let next = alone.iter().find(|row| **row >= from);
    let begin = |next: &EventId| {
        alone
            .iter()
            .copied()
            .take_while(|row| row <= next)
            .collect()
    };
    let mut orders = vec![all.clone()];
    for order in [Some(alone.clone()), next.map(begin)].into_iter().flatten() {
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    Some(Turned {
        turn,
        says: format!("{} before {}", at(run, late), at(run, early)),
        orders,
        pair: vec![late],
        awaited: None,
        until: late,
    })
}

/// First row of the update that a write ends; the row itself where it ends none.
pub(super) fn update_begins(run: &Run, row: EventId) -> EventId {
    begins::update(run, row, begins::own_before(run, row)).unwrap_or(row)
}

/// The mark of the write that, according to the explanation, never happened.
pub fn never_came(explanation: &Explanation) -> Option<&SiteMark> {
    let mut marks = explanation.sites.iter();
    marks.find(|mark| {
        let is_blamed = mark.role.is_blamed();
        mark.step.is_none() && is_blamed && mark.thread.is_empty() && mark.place.line != 0
    })
}

/// The write that, according to the explanation, came too late, where all other blamed steps lead to the read
/// before it.
pub(super) fn missing(explanation: &Explanation) -> Option<Absent> {
    let is_order = explanation.kind == BugKind::OrderViolation;
    let mark = never_came(explanation).filter(|_| is_order)?;
    let mut who = explanation.absent.iter();
    who.find(|one| one.place == mark.place).cloned()
}

/// The write that, according to the explanation, belongs to another one and had not come when both were read.
pub(super) fn half(explanation: &Explanation) -> Option<&Absent> {
    let is_couple = explanation.kind == BugKind::MultiVariableAtomicityViolation;
    let mark = never_came(explanation).filter(|mark| is_couple && mark.role == Role::Cause)?;
    let mut who = explanation.absent.iter();
    who.find(|one| one.place == mark.place)
}

/// The order for a read that came before a write which the failing run never reached.
fn awaited(explanation: &Explanation, run: &Run) -> Option<Turned> {
    let absent = never_came(explanation)?;
    let mut who = explanation.absent.iter();
    let awaited = who.find(|one| one.place == absent.place)?;
    let reader = blamed(explanation).last()?.row;
    let from = outermost(run, reader)?;
    let order = held_back(run, from, |row| row < reader)?;
    Some(Turned {
        turn: Turn::Awaited,
        says: format!("{} before {}", short(&absent.place), at(run, reader)),
        orders: vec![order],
        pair: Vec::new(),
        awaited: Some(awaited.clone()),
        until: reader,
    })
}

/// The rows that `until` admits, without those of a row's thread from that row on, and of the threads that
/// depend on its progress. None when there is no such row.
fn held_back(run: &Run, from: EventId, until: impl Fn(EventId) -> bool) -> Option<Vec<EventId>> {
    let mut held: BTreeSet<ThreadId> = BTreeSet::new();
    let mut order = Vec::new();
    let first = thread(run, from)?;
    for (row, event) in run.events.iter().take_while(|(row, _)| until(*row)) {
        let other = other_thread(event.value).map(ThreadId);
        if row >= from {
            held.insert(first);
        }
        let waits =
            event.kind == EventKind::Join && other.is_some_and(|other| held.contains(&other));
        if waits {
            held.insert(event.thread);
        }
        if !held.contains(&event.thread) {
            order.push(row);
        } else if let (EventKind::Fork, Some(child)) = (event.kind, other) {
            held.insert(child);
        }
    }
    Some(order)
}

/// The row at which the thread acquired the outermost lock that it holds at a row; the row itself where it
/// holds none.
pub fn outermost(run: &Run, at: EventId) -> Option<EventId> {
    Some(held(run, at)?.first().copied().unwrap_or(at))
}

/// The row of a run that passed at which a thread is held back before it comes to `row`: where it takes the outermost lock
/// under which it does that, of those that the same thread does not hold at `late` in the failing run. Linear in the runs.
pub fn still_to_take(passed: &Run, row: EventId, failing: &Run, late: EventId) -> Option<EventId> {
    let name = &passed.meta.thread(thread(passed, row)?).name;
    let mut threads = failing.meta.threads.iter_enumerated();
    let own = threads
        .find(|(_, one)| one.name == *name)
        .map(|(own, _)| own);
    let locks = Locks::new(failing, &mut Vec::new());
    let has = own.into_iter().flat_map(|own| locks.held_at(own, late));
    let site = |run: &Run, at: EventId| run.meta.site(run.events.site(at)).clone();
    let has: Vec<SiteRow> = has.map(|section| site(failing, section.acquired)).collect();
    let mut takes = held(passed, row)?.into_iter();
    let back = takes.find(|from| !has.contains(&site(passed, *from)));
    Some(back.unwrap_or(row))
}

/// The row at which a story begins: the first of what it blames and of the order that was turned round (`rows`), or the
/// acquisition of a lock under which such rows of two threads are, since that decides which is first. A block is freed from
/// where the function that frees it, or its caller, begins. Linear in the run.
pub fn story_begins(explanation: &Explanation, run: &Run, rows: &[EventId]) -> Option<EventId> {
    begins_of(&story_rows(explanation, run, rows), run, |_| true)
}

/// A thread that is interrupted, and the row at which another one begins to come between its steps, as [`story_begins`] has it
/// for the whole. Linear in the run.
pub fn comes_between(explanation: &Explanation, run: &Run) -> Option<(ThreadId, EventId)> {
    let rows = story_rows(explanation, run, &[]);
    let own = thread(run, rows.first().copied()?)?;
    Some((own, begins_of(&rows, run, |by| by != own)?))
}

fn story_rows(explanation: &Explanation, run: &Run, rows: &[EventId]) -> Vec<EventId> {
    let blamed = blamed(explanation);
    let freed = blamed
        .iter()
        .find(|one| run.events.kind(one.row) == EventKind::Free)
        .and_then(|one| begins::freed_by(run, one.row));
    let led = blamed
        .iter()
        .find(|one| run.events.kind(one.row) == EventKind::Free)
        .map_or(Vec::new(), |free| led_there(explanation, run, free.row));
    let own = blamed.iter().map(|one| one.row);
    let all = own.chain(rows.iter().copied());
    all.chain(freed).chain(led).collect()
}

/// The steps that led to where a block is freed. That somebody has read a pointer to it is none of them.
fn led_there(explanation: &Explanation, run: &Run, free: EventId) -> Vec<EventId> {
    let block = run.block(run.events.event(free).location);
    let rows = explanation.steps.iter().map(|step| EventId(step.event));
    let leads = |row: &EventId| {
        let event = run.events.event(*row);
        let is_pointer = matches!(event.value, Some(Value::Address(to)) if run.block(to) == block);
        *row < free && (event.kind.writes() || !is_pointer)
    };
    rows.filter(leads).collect()
}

/// The first of these rows by threads that count, or of the acquisitions of locks that rows of two threads share.
fn begins_of(rows: &[EventId], run: &Run, counts: impl Fn(ThreadId) -> bool) -> Option<EventId> {
    let locks = Locks::new(run, &mut Vec::new());
    let held = |row: EventId| {
        let thread = thread(run, row)?;
        let before = EventId(row.0.checked_sub(1)?);
        Some(
            locks
                .held_at(thread, before)
                .map(move |section| (section.lock, thread, section.acquired)),
        )
    };
    let held: Vec<_> = rows.iter().filter_map(|row| held(*row)).flatten().collect();
    let is_common = |(lock, thread, _): &(LocationId, ThreadId, EventId)| {
        held.iter()
            .any(|(other, by, _)| other == lock && by != thread)
    };
    let acquired = held.iter().filter(|section| is_common(section));
    let begins = acquired
        .map(|(_, _, acquired)| *acquired)
        .chain(rows.iter().copied());
    begins
        .filter(|row| thread(run, *row).is_some_and(&counts))
        .min()
}

/// The rows at which the thread of a row acquired the locks that it holds when it comes there, the outermost first. Linear in
/// the run.
pub(super) fn held(run: &Run, at: EventId) -> Option<Vec<EventId>> {
    let thread = thread(run, at)?;
    let locks = Locks::new(run, &mut Vec::new());
    let before = at.0.checked_sub(1).map(EventId);
    let held = before
        .into_iter()
        .flat_map(|before| locks.held_at(thread, before));
    let mut rows: Vec<EventId> = held.map(|section| section.acquired).collect();
    rows.reverse();
    Some(rows)
}

pub(super) fn thread(run: &Run, row: EventId) -> Option<ThreadId> {
    run.events.get(row).map(|event| event.thread)
}

fn at(run: &Run, row: EventId) -> String {
    let event = run.events.event(row);
    let place = facts::place(run, event.site);
    let who = facts::thread_name(run, event.thread);
    format!("{who} {}", short(&place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Budget, explain,
        fixture::{corpus, run},
    };
    use expect_test::{Expect, expect};

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

    fn explanation(passing: &[&str], failing: &str) -> Explanation {
        let found = explain(&corpus(passing, &[failing]), &Budget::unlimited());
        found.findings.first().unwrap().clone()
    }

    /// Each order with its lines; `|` separates prefixes that are tried one after the other.
    fn check(passing: &[&str], failing: &str, expected: &Expect) {
        let told = explanation(passing, failing);
        let failing = run(failing);
        let lines = |order: &Vec<EventId>| {
            let line = |row: &EventId| {
                let event = failing.events.get(*row).unwrap();
                failing.meta.site(event.site).line.to_string()
            };
            order.iter().map(line).collect::<Vec<String>>().join(" ")
        };
        let orders = turned(&told, &failing).into_iter().map(|turned| {
            let orders: Vec<String> = turned.orders.iter().map(lines).collect();
            format!(
                "{:?} {}: {}\n",
                turned.turn,
                turned.says,
                orders.join(" | ")
            )
        });
        expected.assert_eq(&orders.collect::<String>());
    }

    #[test]
    fn what_was_interrupted_runs_in_one_piece() {
        check(
            &[FINE; 6],
            LOST,
            &expect![[r#"
                RegionFirst main.1 test.c:20 before main.2 test.c:30: 1 2 9 10 11 19 20 | 1 2 9 10 11 19
                OthersFirst main.2 test.c:30 before main.1 test.c:10: 1 2 29 30 | 1 2 29
            "#]],
        );
    }

    #[test]
    fn what_came_too_early_is_held_back() {
        let early = "main fork main.1 @1\nmain W p =0 @7\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain.1 R p =5 @20 use\nmain W p =0 @7";
        check(
            &[fine; 6],
            early,
            &expect![[r#"
                Swapped main.1 test.c:20 before main test.c:7: 1 20
            "#]],
        );
    }

    #[test]
    fn a_thread_is_held_back_by_locks_that_it_does_not_hold_yet() {
        let fine = run(
            "main fork main.1 @1\nmain lock m @2\nmain W ready =1 @3\nmain lock n @4\n\
            main W n =1 @5\nmain unlock n @6\nmain unlock m @7\nmain.1 R n =1 @9",
        );
        let line = |failing: &str| {
            let (failing, row) = (run(failing), EventId(4));
            let late = EventId(failing.events.len() as u32 - 2);
            let from = still_to_take(&fine, row, &failing, late).unwrap();
            fine.meta.site(fine.events.site(from)).line
        };
        let end = "main.1 R n =0 @9\nmain.1 fails @9";
        assert_eq!(line(&format!("main fork main.1 @1\n{end}")), 2);
        let ready = "main fork main.1 @1\nmain lock m @2\nmain W ready =1 @3";
        assert_eq!(line(&format!("{ready}\n{end}")), 4);
        assert_eq!(line(&format!("{ready}\nmain lock n @4\n{end}")), 5);
    }

    #[test]
    fn what_never_came_is_waited_for() {
        let early = "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain W p =5 @7\nmain.1 R p =5 @20 use";
        check(
            &[fine; 6],
            early,
            &expect![[r#"
                Awaited test.c:7 before main.1 test.c:20: 1
            "#]],
        );
    }
}
