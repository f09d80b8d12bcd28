//! Tests of feasible and infeasible orders, rule by rule.

use super::*;
use crate::fixture;
use proptest::prelude::*;

/// Checks an order given as rows; returns the violation in words, or `feasible`.
fn told(script: &str, rows: &[u32]) -> String {
    let run = fixture::run(script);
    let order = WitnessOrder {
        events: rows.iter().copied().map(EventId).collect(),
        not_nested: false,
    };
    match check(&run, &order) {
        Ok(()) => "feasible".to_owned(),
        Err(infeasible) => infeasible.worded(|event| event_in_words(&run, *event)),
    }
}

#[test]
fn threads_keep_their_program_order() {
    let script = "main W x @1\nmain W y @2\nmain.1 R x @3\n";
    assert_eq!(told(script, &[2, 0, 1]), "feasible");
    assert_eq!(told(script, &[0, 2]), "feasible");
    let words = "each thread's steps come in program order and without gaps: main: write y at test.c:2, against main: write x at test.c:1";
    assert_eq!(told(script, &[1]), words);
    assert!(told(script, &[0, 0]).starts_with("an order has steps of the run, each once"));
    assert!(told(script, &[7]).contains("event 7, which the run does not have"));
}

#[test]
fn locks_exclude() {
    let script = "
        main lock m @1
        main unlock m @2
        main.1 lock m @3
        main.1 unlock m @4
    ";
    assert_eq!(told(script, &[2, 3, 0, 1]), "feasible");
    assert_eq!(
        told(script, &[0, 2]),
        "a lock is taken when no other thread holds it: main.1: lock m at test.c:3, against main: lock m at test.c:1"
    );
}

#[test]
fn readers_share_and_writers_do_not() {
    let script = "
        main shared-lock m @1
        main shared-unlock m @2
        main.1 shared-lock m @3
        main.1 shared-unlock m @4
        main.2 lock m @5
        main.2 unlock m @6
    ";
    assert_eq!(told(script, &[0, 2, 1, 3, 4]), "feasible");
    assert!(told(script, &[0, 4]).starts_with("a lock is taken"));
    assert!(told(script, &[4, 2]).starts_with("a lock is taken"));
}

#[test]
fn recursive_locks_are_held_to_the_last_unlock() {
    let script = "
        main lock m @1
        main lock m @2
        main unlock m @3
        main unlock m @4
        main.1 lock m @5
    ";
    assert_eq!(told(script, &[0, 1, 2, 3, 4]), "feasible");
    assert!(told(script, &[0, 1, 2, 4]).starts_with("a lock is taken"));
}

#[test]
fn attempts_fail_while_another_holds_the_lock() {
    let script = "
        main lock m @1
        main.1 trylock-failed m @2
        main unlock m @3
        main.2 trylock-failed m @4
    ";
    assert_eq!(told(script, &[0, 1, 2, 3]), "feasible");
    assert_eq!(told(script, &[3, 0, 1]), "feasible");
    assert!(told(script, &[1, 0]).starts_with("an attempt at a lock fails only"));
    assert!(told(script, &[0, 2, 1]).starts_with("an attempt at a lock fails only"));
}

#[test]
fn threads_begin_after_their_fork_and_end_before_their_join() {
    let script = "
        main fork main.1 @1
        main.1 begin
        main.1 W x @2
        main join main.1 @3
    ";
    assert_eq!(told(script, &[0, 1, 2, 3]), "feasible");
    assert!(told(script, &[1]).starts_with("a thread begins after it was created"));
    assert!(told(script, &[0, 1, 3]).starts_with("a join comes after"));
}

#[test]
fn waits_need_a_signal_of_their_own() {
    let script = "
        main.1 lock m @1
        main.1 wait c @2
        main.1 unlock m @2
        main.2 lock m @3
        main.2 wait c @4
        main.2 unlock m @4
        main signal c =1 @5
        main signal c =1 @6
        main.1 lock m @2
        main.1 wake c =0 @2
        main.1 unlock m @7
        main.2 lock m @4
        main.2 wake c =0 @4
    ";
    let all: Vec<u32> = (0..13).collect();
    assert_eq!(told(script, &all), "feasible");
    let one_signal = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11];
    assert!(told(script, &one_signal).starts_with("a wait goes on after a signal"));
    // The second waiter comes first.
    let other_way = [0, 1, 2, 3, 4, 5, 6, 11, 12];
    assert_eq!(told(script, &other_way), "feasible");
    // A signal that comes before the wait is lost.
    let lost = [6, 0, 1, 2, 8];
    assert!(told(script, &lost).starts_with("a wait goes on after a signal"));
}

#[test]
fn waits_that_time_out_need_no_signal() {
    let script = "
        main.1 wait c @1
        main signal c =1 @2
        main.1 wake c =1 @1
        main.2 wait c @3
        main.2 wake c =2 @3
    ";
    assert_eq!(told(script, &[0, 2, 3, 4]), "feasible");
}

#[test]
fn semaphores_have_the_units_that_the_run_needed() {
    let script = "
        main sem-wait s @1
        main.1 sem-post s @2
        main.2 sem-wait s @3
    ";
    assert_eq!(told(script, &[2, 1, 0]), "feasible");
    assert!(told(script, &[2, 0]).starts_with("a unit of a semaphore"));
}

#[test]
fn barriers_keep_their_generations() {
    let script = "
        main barrier-arrive b @1
        main.1 barrier-arrive b @1
        main barrier-leave b @1
        main barrier-arrive b @2
        main.1 barrier-leave b @1
        main.1 barrier-arrive b @2
        main.1 barrier-leave b @2
        main barrier-leave b @2
    ";
    assert_eq!(told(script, &[1, 0, 4, 5, 2, 3, 7, 6]), "feasible");
    assert!(told(script, &[0, 2]).starts_with("a barrier is left when all have come"));
    assert!(told(script, &[0, 1, 2, 3, 7]).starts_with("a barrier is left when all have come"));
}

#[test]
fn initialization_is_passed_when_it_is_done() {
    let script = "
        main once-begin o @1
        main once-end o @1
        main.1 once-pass o @2
    ";
    assert_eq!(told(script, &[0, 1, 2]), "feasible");
    assert!(told(script, &[0, 2]).starts_with("a once-only initialization"));
}

#[test]
fn rows_of_one_access_come_together() {
    let mut run = fixture::run("main W x @1\nmain W y @1\nmain.1 R x @2\n");
    let mut rows: Vec<_> = run.events.iter().map(|(_, event)| event).collect();
    rows[1].seq = rows[0].seq;
    run.events = unsnarl_trace::Events::from_rows(&rows);
    let torn = Checker::new(&run).check(&[0, 2, 1].map(EventId));
    assert_eq!(torn.unwrap_err().rule, Rule::Whole);
    assert_eq!(Checker::new(&run).check(&[2, 0, 1].map(EventId)), Ok(()));
}

#[test]
fn what_was_used_against_the_rules_keeps_its_order() {
    let script = "
        main lock m @1
        main.1 unlock m @2
        main.2 lock m @3
        main.2 unlock m @4
    ";
    assert_eq!(told(script, &[0, 1, 2, 3]), "feasible");
    assert!(told(script, &[2, 3]).contains("keeps the order of the run"));
}

fn all(run: &Run) -> Vec<EventId> {
    (0..run.events.len() as u32).map(EventId).collect()
}

proptest! {
    #[test]
    fn recorded_orders_are_feasible(run in fixture::feasible(120)) {
        let checker = Checker::new(&run);
        prop_assert_eq!(checker.check(&all(&run)), Ok(()));
        prop_assert!(checker.constraints.odd().is_empty());
    }

    #[test]
    fn orders_of_broken_traces_are_too(run in fixture::anything(80)) {
        prop_assert_eq!(check(&run, &WitnessOrder { events: all(&run), not_nested: false }), Ok(()));
    }
}
