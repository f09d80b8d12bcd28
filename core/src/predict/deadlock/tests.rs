//! Tests of true and false cycles, of lost wakeups, and of random programs against all their orders.

use super::*;
use crate::{
    fixture,
    predict::{
        feasible,
        schedule::{
            brute::AllOrders,
            programs::{OtherSteps, programs},
        },
    },
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use unsnarl_trace::EventKind;

fn found(run: &Run) -> Vec<AnomalyCandidate> {
    let outcome = predict(
        &ForcedOrder::new(run),
        &Scheduler::new(run),
        &Budget::unlimited(),
    );
    assert_eq!(outcome.stopped, StopReason::Complete);
    outcome.findings
}

/// Each candidate: its pattern, the lines of its events, and the lines of its order or the reason why there
/// is none.
fn told(script: &str) -> Vec<String> {
    let run = fixture::run(script);
    let scheduler = Scheduler::new(&run);
    let lines = |events: &[EventId]| -> Vec<u32> {
        let site = |event: &EventId| run.events.get(*event).unwrap().site;
        events
            .iter()
            .map(|event| run.meta.site(site(event)).line)
            .collect()
    };
    let tell = |candidate: &AnomalyCandidate| {
        let order = match scheduler.order(candidate) {
            Ok(order) => {
                assert_eq!(feasible::check(&run, &order), Ok(()));
                format!("{:?}", lines(&order.events))
            }
            Err(none) => none.in_words(&run),
        };
        format!(
            "{} at {:?}: {order}",
            candidate.pattern,
            lines(&candidate.events)
        )
    };
    found(&run).iter().map(tell).collect()
}

#[test]
fn two_locks_in_both_orders() {
    let script = "
        t1 lock a @1
        t1 lock b @2
        t1 unlock b @3
        t1 unlock a @4
        t2 lock b @11
        t2 lock a @12
        t2 unlock a @13
        t2 unlock b @14
    ";
    assert_eq!(told(script), ["cycle of 2 at [2, 12]: [1, 11]"]);
}

/// A line of code that takes both locks, called with the arguments in either order.
#[test]
fn cycles_on_the_same_lines_are_one() {
    let transfer = |thread: &str, from: &str, to: &str| {
        format!(
            "{thread} lock {from} @1\n{thread} lock {to} @2\n{thread} unlock {to} @3\n{thread} unlock {from} @4\n"
        )
    };
    let mut script = String::new();
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")] {
        script.push_str(&transfer("t1", from, to));
        script.push_str(&transfer("t2", to, from));
    }
    let told = told(&script);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("cycle of 2 at [2, 2]: ["));
}

#[test]
fn dining_philosophers() {
    let dine = |n: usize, first: usize, second: usize| {
        let thread = format!("main.{}", n + 1);
        format!(
            "{thread} lock fork{first} @{0}1\n{thread} lock fork{second} @{0}2\n{thread} unlock fork{second} @{0}3\n{thread} unlock fork{first} @{0}4\n",
            n + 1
        )
    };
    let script: String = (0..5).map(|n| dine(n, n, (n + 1) % 5)).collect();
    assert_eq!(
        told(&script),
        ["cycle of 5 at [12, 22, 32, 42, 52]: [11, 21, 31, 41, 51]"]
    );
    // A philosopher who takes the other fork first breaks the cycle.
    let polite: String = (0..4).map(|n| dine(n, n, n + 1)).collect::<String>() + &dine(4, 0, 4);
    assert_eq!(told(&polite), Vec::<String>::new());
}

#[test]
fn a_guard_lock_keeps_them_apart() {
    let script = "
        t1 lock g @1
        t1 lock a @2
        t1 lock b @3
        t1 unlock b @4
        t1 unlock a @5
        t1 unlock g @6
        t2 lock g @11
        t2 lock b @12
        t2 lock a @13
        t2 unlock a @14
        t2 unlock b @15
        t2 unlock g @16
    ";
    assert_eq!(told(script), Vec::<String>::new());
    let without = script
        .replace("t2 lock g @11", "")
        .replace("t2 unlock g @16", "");
    assert_eq!(told(&without).len(), 1);
}

#[test]
fn joined_threads_do_not_wait_for_each_other() {
    let script = "
        main fork main.1 @1
        main.1 lock a @2
        main.1 lock b @3
        main.1 unlock b @4
        main.1 unlock a @5
        main join main.1 @6
        main lock b @7
        main lock a @8
    ";
    assert_eq!(told(script), Vec::<String>::new());
    let not_joined = script.replace("main join main.1 @6", "");
    assert_eq!(told(&not_joined).len(), 1);
}

#[test]
fn one_thread_alone_does_not_wait_for_itself() {
    let script = "t1 lock a\nt1 lock b\nt1 unlock b\nt1 unlock a\nt1 lock b\nt1 lock a\n";
    assert_eq!(told(script), Vec::<String>::new());
}

#[test]
fn a_recursive_lock_is_not_asked_for() {
    let script = "
        t1 lock a @1
        t1 lock b @2
        t1 lock a @3
        t1 unlock a @4
        t1 unlock b @5
        t1 unlock a @6
        t2 lock a @11
        t2 lock b @12
        t2 unlock b @13
        t2 unlock a @14
    ";
    assert_eq!(told(script), Vec::<String>::new());
}

#[test]
fn readers_do_not_wait_for_readers() {
    let both = |first: &str, second: &str| {
        format!(
            "t1 {first} a @1\nt1 lock m @2\nt1 unlock m @3\nt1 {first_back} a @4\n\
             t2 lock m @11\nt2 {second} a @12\nt2 {second_back} a @13\nt2 unlock m @14\n",
            first_back = first.replace("lock", "unlock"),
            second_back = second.replace("lock", "unlock"),
        )
    };
    assert_eq!(
        told(&both("shared-lock", "shared-lock")),
        Vec::<String>::new()
    );
    for (first, second) in [
        ("lock", "shared-lock"),
        ("shared-lock", "lock"),
        ("lock", "lock"),
    ] {
        assert_eq!(
            told(&both(first, second)),
            ["cycle of 2 at [2, 12]: [1, 11]"],
            "{first} {second}"
        );
    }
}

/// Earlier locks have to be released first: the schedule includes them, not only the heads of the sections.
#[test]
fn what_comes_before_is_done() {
    let script = "
        t1 lock b @1
        t1 unlock b @2
        t1 lock a @3
        t1 lock-wait b @4
        t2 lock b @11
        t2 unlock b @12
        t1 lock b @4
        t1 unlock b @5
        t1 unlock a @6
        t2 lock b @13
        t2 lock a @14
    ";
    assert_eq!(
        told(script),
        ["cycle of 2 at [4, 14]: [1, 2, 3, 11, 12, 13]"]
    );
}

/// The thread's step inside its section needs the other's lock: the heuristic finds a cycle, but no order.
#[test]
fn cycles_that_cannot_be_reached_have_no_order() {
    let script = "
        t1 lock a @1
        t1 lock c @2
        t1 unlock c @3
        t1 lock b @4
        t1 unlock b @5
        t1 unlock a @6
        t2 lock b @11
        t2 lock c @12
        t2 signal s =0 @13
        t2 unlock c @14
        t2 lock a @15
    ";
    assert_eq!(told(script).len(), 1);
}

#[test]
fn a_signal_that_could_come_before_the_wait() {
    let script = "
        main fork main.1 @1
        main lock m @2
        main wait c @3
        main unlock m @3
        main.1 lock m @12
        main.1 signal c =1 @13
        main.1 unlock m @14
        main lock m @3
        main wake c =0 @3
        main unlock m @4
    ";
    assert_eq!(
        told(script),
        ["lost wakeup at [13, 3]: [1, 12, 13, 14, 2, 3]"]
    );
}

#[test]
fn a_wait_that_looks_first_loses_nothing() {
    let script = "
        main W ready =0 @1
        main fork main.1 @1
        main lock m @2
        main R ready =0 @3
        main wait c @4
        main unlock m @4
        main.1 lock m @12
        main.1 W ready =1 @13
        main.1 signal c =1 @14
        main.1 unlock m @15
        main lock m @4
        main wake c =0 @4
        main R ready =1 @3
        main unlock m @5
    ";
    assert_eq!(told(script), Vec::<String>::new());
    // The variable that is read does not tell that the signal came.
    let other = script.replace("main.1 W ready =1", "main.1 W other =1");
    assert_eq!(told(&other).len(), 1);
    // The value written equals the old one.
    let same = script.replace("main.1 W ready =1", "main.1 W ready =0");
    assert_eq!(told(&same).len(), 1);
}

#[test]
fn a_thread_that_is_forked_after_the_wait_began_is_no_matter() {
    let script = "
        main.1 wait c @1
        main.1 unlock m @1
        main fork main.2 @2
        main.2 signal c =1 @3
        main.1 lock m @1
        main.1 wake c =0 @1
    ";
    // No mutex is known to have been held: nothing is claimed.
    assert_eq!(told(script), Vec::<String>::new());
}

#[test]
fn a_spent_budget_is_told() {
    let run = fixture::run("t1 lock a @1\nt1 lock b @2\nt2 lock b @3\n");
    let budget = Budget::unlimited();
    budget.cancel();
    let outcome = predict(&ForcedOrder::new(&run), &Scheduler::new(&run), &budget);
    assert_eq!(outcome.stopped, StopReason::Cancelled);
}

/// Deadlocks of all orders: threads whose next steps request each other's locks, as the rows of these
/// requests.
fn all_deadlocks(run: &Run) -> BTreeSet<Vec<u32>> {
    let mut found = BTreeSet::new();
    AllOrders::new(run).each(|order, next| {
        for cycle in waits_in_circles(run, order, next) {
            found.insert(cycle);
        }
    });
    found
}

/// Cycles among the next rows: every subset of threads in which each waits for exactly the next.
fn waits_in_circles(run: &Run, order: &[u32], next: &[Option<u32>]) -> Vec<Vec<u32>> {
    let event = |row: u32| run.events.get(EventId(row)).unwrap();
    let holds = |thread: usize, wanted: u32| {
        let asks = event(wanted);
        let mut holding: Vec<bool> = Vec::new();
        for row in order {
            let event = event(*row);
            if usize::from(event.thread.0) == thread && event.location == asks.location {
                match event.kind {
                    EventKind::Lock => holding.push(false),
                    EventKind::SharedLock => holding.push(true),
                    EventKind::Unlock | EventKind::SharedUnlock => {
                        holding.pop();
                    }
                    _ => {}
                }
            }
        }
        holding
            .iter()
            .any(|shared| !(*shared && asks.kind == EventKind::SharedLock))
    };
    let asking: Vec<(usize, u32)> = next
        .iter()
        .enumerate()
        .filter_map(|(thread, row)| Some((thread, (*row)?)))
        .filter(|(_, row)| matches!(event(*row).kind, EventKind::Lock | EventKind::SharedLock))
        .collect();
    let waits = |a: &(usize, u32), b: &(usize, u32)| a.0 != b.0 && holds(b.0, a.1);
    let mut circles = Vec::new();
    for a in &asking {
        for b in asking.iter().filter(|b| waits(a, b)) {
            if waits(b, a) {
                circles.push(vec![a.1, b.1]);
            }
            for c in asking
                .iter()
                .filter(|c| c.0 != a.0 && waits(b, c) && waits(c, a))
            {
                circles.push(vec![a.1, b.1, c.1]);
            }
        }
    }
    circles.iter_mut().for_each(|circle| circle.sort_unstable());
    circles
}

fn agrees(run: &Run) -> Result<(), TestCaseError> {
    let expected: Vec<Vec<u32>> = all_deadlocks(run).into_iter().collect();
    let scheduler = Scheduler::new(run);
    let mut shown = Vec::new();
    for candidate in found(run) {
        if let Ok(order) = scheduler.order(&candidate) {
            prop_assert!(feasible::check(run, &order).is_ok());
            let mut rows: Vec<u32> = candidate.events.iter().map(|event| event.0).collect();
            rows.sort_unstable();
            shown.push(rows);
        }
    }
    shown.sort();
    shown.dedup();
    prop_assert_eq!(shown, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_deadlock_of_nested_locks_is_found(run in programs(OtherSteps::Locks)) {
        agrees(&run)?;
    }

    #[test]
    fn every_deadlock_of_crossed_locks_is_found(run in programs(OtherSteps::CrossedLocks)) {
        agrees(&run)?;
    }

    #[test]
    fn every_deadlock_of_readers_and_writers_is_found(run in programs(OtherSteps::Readers)) {
        agrees(&run)?;
    }

    #[test]
    fn broken_traces_break_nothing(run in fixture::anything(80)) {
        let outcome = predict(&ForcedOrder::new(&run), &Scheduler::new(&run), &Budget::unlimited());
        for candidate in outcome.findings {
            if let Ok(order) = Scheduler::new(&run).order(&candidate) {
                prop_assert!(feasible::check(&run, &order).is_ok());
            }
        }
    }
}
