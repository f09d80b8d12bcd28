//! Tests of the paper's figures, of shapes of moves, and of random programs against all their orders.

pub(in crate::predict) mod brute;
pub(in crate::predict) mod programs;

use super::*;
use crate::{fixture, predict::Class};
use brute::{AllOrders, is_shown};
use programs::{OtherSteps, programs};
use proptest::prelude::*;

fn candidate(class: Class, rows: &[u32]) -> AnomalyCandidate {
    AnomalyCandidate {
        class,
        pattern: "test".to_owned(),
        events: rows.iter().copied().map(EventId).collect(),
    }
}

fn rows(order: &WitnessOrder) -> Vec<u32> {
    order.events.iter().map(|event| event.0).collect()
}

/// The order for rows of a script, as rows; or the reason why there is none.
fn order(script: &str, class: Class, events: &[u32]) -> Result<Vec<u32>, String> {
    let run = fixture::run(script);
    match generate(&run, &candidate(class, events)) {
        Ok(order) => Ok(rows(&order)),
        Err(none) => Err(none.in_words(&run)),
    }
}

/// Lines of the order, for scripts whose lines are numbered as in the paper.
fn lines(script: &str, class: Class, events: &[u32]) -> Vec<u32> {
    let run = fixture::run(script);
    let order = generate(&run, &candidate(class, events)).unwrap();
    let site = |event: &EventId| run.events.get(*event).unwrap().site;
    let lines = order
        .events
        .iter()
        .map(|event| run.meta.site(site(event)).line);
    lines.collect()
}

/// Figure 1 of the paper with the trace of Section 2: 1, 5, 2, 3, 6, 7.
const FIGURE_1: &str = "
    t1 W x @1
    t2 lock m @5
    t1 R y @2
    t1 R x @3
    t2 W y @6
    t2 W x @7
";

#[test]
fn figure_1() {
    assert_eq!(lines(FIGURE_1, Class::Race, &[5, 3]), [1, 5, 2, 6, 7, 3]);
    assert_eq!(lines(FIGURE_1, Class::Race, &[3, 5]), [1, 5, 2, 6, 3, 7]);
}

#[test]
fn figure_4() {
    let script = "t1 W a @1\nt1 W x @2\nt1 W b @3\nt2 W c @4\nt2 W x @5\nt2 W d @6\n";
    assert_eq!(lines(script, Class::Race, &[1, 4]), [1, 4, 2, 5]);
}

#[test]
fn figure_5() {
    let script = "
        t1 lock m @1
        t1 W y @2
        t1 W x @3
        t1 unlock m @4
        t2 R y @5
        t2 lock m @6
        t2 unlock m @7
        t2 W x @8
    ";
    assert_eq!(lines(script, Class::Race, &[2, 7]), [5, 6, 7, 1, 2, 3, 8]);
}

/// Figure 5: the event that the second access waits for comes after the first.
#[test]
fn figure_5_with_a_signal() {
    let script = "
        t2 wait c @5
        t1 lock m @1
        t1 signal c =1 @2
        t1 W x @3
        t1 unlock m @4
        t2 wake c =0 @5
        t2 lock m @6
        t2 unlock m @7
        t2 W x @8
    ";
    let none = order(script, Class::Race, &[3, 8]).unwrap_err();
    assert_eq!(
        none,
        "no order of the threads lets it come in time: t2: lock m at test.c:6 (in the way: t1: lock m at test.c:1)"
    );
}

#[test]
fn a_triple_that_was_recorded_is_the_recorded_order() {
    let script = "t1 W x @1\nt2 R x @2\nt3 W z @3\nt1 W x @4\nt2 W z @5\n";
    assert_eq!(
        order(script, Class::Atomicity, &[0, 1, 3]),
        Ok(vec![0, 1, 2, 3])
    );
}

/// Algorithm 4: the foreign access comes after both.
#[test]
fn the_second_half_of_a_region_waits() {
    let script = "
        t1 lock m @1
        t1 W x @2
        t1 unlock m @3
        t1 lock m @4
        t1 W x @5
        t1 unlock m @6
        t2 lock m @7
        t2 R x @8
        t2 unlock m @9
    ";
    let found = lines(script, Class::Atomicity, &[1, 7, 4]);
    assert_eq!(found, [1, 2, 3, 7, 8, 9, 4, 5]);
}

/// The foreign access comes before both, so its thread waits.
#[test]
fn a_foreign_access_waits() {
    let script = "
        t2 lock m @7
        t2 R x @8
        t2 unlock m @9
        t1 lock m @1
        t1 W x @2
        t1 unlock m @3
        t1 W x @5
    ";
    let found = lines(script, Class::Atomicity, &[4, 1, 6]);
    assert_eq!(found, [1, 2, 3, 7, 8, 9, 5]);
}

#[test]
fn atomic_sets_of_four_events() {
    let script = "
        t1 W x @1
        t1 W y @2
        t2 R x @3
        t2 R y @4
    ";
    assert_eq!(lines(script, Class::AtomicSet, &[0, 2, 3, 1]), [1, 3, 4, 2]);
}

#[test]
fn one_lock_around_both_is_no_race() {
    let script = "
        t1 lock m @1
        t1 W x @2
        t1 unlock m @3
        t2 lock m @4
        t2 W x @5
        t2 unlock m @6
    ";
    assert_eq!(
        order(script, Class::Race, &[1, 4]).unwrap_err(),
        "no order of the threads lets it come in time: t2: lock m at test.c:4 (in the way: t1: lock m at test.c:1)"
    );
    assert!(order(script, Class::Atomicity, &[1, 4, 2]).is_err());
}

#[test]
fn what_forks_and_joins_order_is_told() {
    let script =
        "main W x @1\nmain fork main.1 @2\nmain.1 W x @3\nmain join main.1 @4\nmain W x @5\n";
    let told = "the first always comes before the second: main: write x at test.c:1; main.1: write x at test.c:3";
    assert_eq!(order(script, Class::Race, &[0, 2]).unwrap_err(), told);
    assert_eq!(order(script, Class::Race, &[2, 0]).unwrap_err(), told);
    assert!(
        order(script, Class::Race, &[2, 4])
            .unwrap_err()
            .starts_with("the first always")
    );
}

#[test]
fn candidates_that_cannot_be_are_told() {
    let script = "main W x @1\nmain W x @2\n";
    assert!(
        order(script, Class::Race, &[0, 1])
            .unwrap_err()
            .contains("cannot stand at both")
    );
    assert!(order(script, Class::Atomicity, &[1, 0]).is_err());
    assert_eq!(
        order(script, Class::Race, &[0, 9]).unwrap_err(),
        "the run has no event 9"
    );
    assert_eq!(
        order(script, Class::User, &[]).unwrap_err(),
        "the candidate has no events"
    );
}

/// A third thread has to release its lock before the candidate's last row.
#[test]
fn others_go_on_as_far_as_they_have_to() {
    let script = "
        t3 lock m @1
        t2 W x @2
        t3 unlock m @3
        t1 lock m @4
        t1 unlock m @5
        t1 W x @6
    ";
    assert_eq!(lines(script, Class::Race, &[5, 1]), [1, 3, 4, 5, 6, 2]);
}

#[test]
fn locks_that_are_not_nested_are_told_and_tried() {
    let script = "
        t1 lock a @1
        t1 lock b @2
        t1 unlock a @3
        t1 W x @4
        t1 unlock b @5
        t2 lock a @6
        t2 unlock a @7
        t2 W x @8
    ";
    let run = fixture::run(script);
    let order = generate(&run, &candidate(Class::Race, &[3, 7])).unwrap();
    assert!(order.not_nested);
    assert_eq!(rows(&order), [0, 1, 2, 5, 6, 3, 7]);
    assert!(
        !generate(&fixture::run(FIGURE_1), &candidate(Class::Race, &[3, 5]))
            .unwrap()
            .not_nested
    );
}

/// Conflicting accesses of one run by different threads, in both orders.
fn pairs(run: &Run) -> Vec<[u32; 2]> {
    let accesses: Vec<_> = run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access())
        .collect();
    let mut pairs = Vec::new();
    for (a, first) in &accesses {
        for (b, second) in &accesses {
            let conflict =
                first.location == second.location && (first.kind.writes() || second.kind.writes());
            if conflict && first.thread != second.thread {
                pairs.push([a.0, b.0]);
            }
        }
    }
    pairs
}

/// Sequences of accesses of two threads: the first, a foreign one, the first's next.
fn triples(run: &Run) -> Vec<[u32; 3]> {
    let accesses: Vec<_> = run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access())
        .collect();
    let mut triples = Vec::new();
    for (a, first) in &accesses {
        let next = accesses
            .iter()
            .find(|(c, last)| c > a && last.thread == first.thread);
        let foreign = accesses
            .iter()
            .filter(|(_, event)| event.thread != first.thread);
        triples.extend(
            next.into_iter()
                .flat_map(|(c, _)| foreign.clone().map(|(b, _)| [a.0, b.0, c.0])),
        );
    }
    triples
}

/// Checks that an order is found exactly when the enumeration of all orders has one, and that it shows the
/// candidate.
fn agrees(run: &Run, class: Class, events: &[u32]) -> Result<(), TestCaseError> {
    let brute = AllOrders::new(run);
    let expected = brute.has(events, class == Class::Race);
    let found = Scheduler::new(run).order(&candidate(class, events));
    prop_assert_eq!(found.is_ok(), expected, "{:?} {:?}", events, found);
    if let Ok(order) = found {
        prop_assert!(feasible::check(run, &order).is_ok());
        prop_assert!(is_shown(&rows(&order), events, class == Class::Race));
    }
    Ok(())
}

fn races_agree(run: &Run) -> Result<(), TestCaseError> {
    pairs(run)
        .iter()
        .try_for_each(|pair| agrees(run, Class::Race, pair))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_race_of_locks_gets_a_schedule(run in programs(OtherSteps::Locks)) {
        races_agree(&run)?;
    }

    #[test]
    fn every_race_of_locks_that_are_not_nested_gets_a_schedule(run in programs(OtherSteps::CrossedLocks)) {
        races_agree(&run)?;
    }

    #[test]
    fn every_race_beside_waits_gets_a_schedule(run in programs(OtherSteps::Waits)) {
        races_agree(&run)?;
    }

    #[test]
    fn every_race_beside_other_synchronization_gets_a_schedule(run in programs(OtherSteps::Others)) {
        races_agree(&run)?;
    }

    #[test]
    fn every_triple_gets_a_schedule(run in programs(OtherSteps::Locks)) {
        for triple in triples(&run) {
            agrees(&run, Class::Atomicity, &triple)?;
        }
    }

    #[test]
    fn longer_runs_get_feasible_schedules(run in fixture::feasible(150), picks in prop::collection::vec((0usize..1000, 0usize..1000), 1..6)) {
        let pairs = pairs(&run);
        let scheduler = Scheduler::new(&run);
        for (pick, _) in picks.iter().filter(|_| !pairs.is_empty()) {
            let pair = pairs[pick % pairs.len()];
            match scheduler.order(&candidate(Class::Race, &pair)) {
                Ok(order) => prop_assert!(is_shown(&rows(&order), &pair, true)),
                Err(none) => prop_assert!(!matches!(none, NoOrder::Infeasible(_)), "{:?}", none),
            }
        }
    }

    #[test]
    fn broken_traces_break_nothing(run in fixture::anything(60), picks in prop::collection::vec(0u32..60, 1..5)) {
        let scheduler = Scheduler::new(&run);
        for class in [Class::Race, Class::User] {
            if let Ok(order) = scheduler.order(&candidate(class, &picks)) {
                prop_assert!(feasible::check(&run, &order).is_ok());
            }
        }
    }
}
