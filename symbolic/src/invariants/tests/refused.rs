//! Runs that cannot be explained, and results of budgets that end early.

use super::{super::*, BANK_IN_WORDS, path::path};

#[test]
fn a_run_that_passed_is_refused() {
    let (trace, mut run) = path("shared x = 1\n main fails x == 1 @3");
    run.meta.outcome = unsnarl_trace::Outcome::Passed;
    let refused = prepare(&trace, &run, &trace.order).map(|_| ());
    assert_eq!(refused, Err(Unexplained::Passed));
}

#[test]
fn values_that_contradict_the_failure_are_said() {
    let (mut trace, run) = path("shared x = 1\n main fails x == 1 @3");
    trace.symbols[0].recorded = Some(7);
    trace.cells[0].initial = Some(7);
    let refused = prepare(&trace, &run, &trace.order).map(|_| ());
    assert!(
        matches!(refused, Err(Unexplained::Contradiction(_))),
        "{refused:?}"
    );
}

#[test]
fn values_that_contradict_a_statement_are_taken_as_recorded() {
    let (mut trace, run) = path("shared x = 1\n main y := x + 1 @2\n main fails y == 2 @3");
    trace.locals[0].recorded = Some(9);
    let refused = prepare(&trace, &run, &trace.order).map(|_| ());
    assert!(
        matches!(refused, Err(Unexplained::Contradiction(_))),
        "{refused:?}"
    );
    let (mut trace, run) = path("shared x = 1\n main y := x + 1 @2\n main fails y > 1 @3");
    trace.locals[0].recorded = Some(9);
    let prepared = prepare(&trace, &run, &trace.order).unwrap();
    let explained = prepared.explain(&InvariantOptions::default(), &Budget::unlimited());
    let explained = explained.unwrap();
    assert_eq!(explained.taken_as_recorded, ["the value of `y` at line 2"]);
    assert_eq!(check(&explained, &Budget::unlimited()), []);
}

#[test]
fn what_cannot_be_read_back_is_said() {
    let (mut trace, run) = path("shared x = 1\n main fails x == 1 @3");
    trace.bug = crate::Bug::Unknown("nobody knows".into());
    let refused = prepare(&trace, &run, &trace.order).map(|_| ());
    assert_eq!(refused, Err(Unexplained::Unreadable("nobody knows".into())));
}

#[test]
fn a_budget_that_has_ended_leaves_nothing_or_a_part() {
    let (trace, run) = path(BANK_IN_WORDS);
    let budget = Budget::unlimited();
    budget.cancel();
    let stopped = explain(
        &trace,
        &run,
        &trace.order,
        &InvariantOptions::default(),
        &budget,
    );
    let stopped = stopped.map(|_| ());
    assert_eq!(stopped, Err(Unexplained::Stopped(StopReason::Cancelled)));
}
