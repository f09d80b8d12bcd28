mod random;
mod relaxed;
mod running_example;
mod sizes;

use super::{synthetic::TraceBuilder, *};
use crate::{SymbolicTrace, dsp::TraceConstraints};
use unsnarl_core::Budget;

#[test]
fn the_solver_is_the_one_that_the_set_up_installed() {
    let found = solver_version();
    assert!(
        found
            .as_ref()
            .is_ok_and(|found| found.contains(unsnarl_solver::VERSION)),
        "{found:?}"
    );
}

#[test]
fn old_solvers_are_told_apart() {
    for (version, recent) in [
        ("5.4.0.0", true),
        ("Z3 4.13.3.0 abc", true),
        ("4.8.12.0", false),
        ("", false),
    ] {
        assert_eq!(is_recent(version), recent, "{version}");
    }
}

/// All feasible orders of a small trace, with whether each fails, by stepwise enumeration.
fn all_orders(trace: &SymbolicTrace) -> Vec<(Vec<StepId>, bool)> {
    let checker = TraceConstraints::new(trace);
    let (mut open, mut found) = (vec![Vec::<StepId>::new()], Vec::new());
    while let Some(order) = open.pop() {
        let feasible = match checker.check(&order) {
            Ok(feasible) => feasible,
            Err(_) => continue,
        };
        if feasible.cut.is_empty() {
            found.push((order, feasible.fails.unwrap()));
            continue;
        }
        for next in feasible.cut {
            let mut longer = order.clone();
            longer.push(next);
            // The rest of the event comes at once.
            let event = trace.step(next).unwrap().event;
            let mut more = StepId {
                index: next.index + 1,
                ..next
            };
            while event.is_some() && trace.step(more).is_some_and(|step| step.event == event) {
                longer.push(more);
                more.index += 1;
            }
            open.push(longer);
        }
    }
    found
}

fn found<T: std::fmt::Debug>(answer: ScheduleAnswer<T>) -> T {
    match answer.verdict {
        SolverVerdict::Found(found) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cancelled_question_says_so() {
    let trace = synthetic::failing(synthetic::SyntheticProgram::Bank, 40, 2, 1);
    let budget = Budget::unlimited();
    budget.cancel();
    let answer = synthesize(&trace, &SolverOptions::default(), &budget);
    assert_eq!(
        answer.verdict,
        SolverVerdict::Unknown(Unknown::Stopped(StopReason::Cancelled))
    );
}

#[test]
fn without_effort_nothing_is_known() {
    let trace = synthetic::failing(synthetic::SyntheticProgram::Bank, 40, 2, 1);
    let options = SolverOptions {
        effort: 0,
        ..SolverOptions::default()
    };
    let answer = synthesize(&trace, &options, &Budget::unlimited());
    assert_eq!(answer.verdict, SolverVerdict::Unknown(Unknown::Effort));
}

#[test]
fn without_memory_nothing_is_known() {
    let mut trace = synthetic::failing(synthetic::SyntheticProgram::Bank, 40, 2, 1);
    trace.order.clear();
    let options = SolverOptions {
        memory: 1,
        ..SolverOptions::default()
    };
    let answer = synthesize(&trace, &options, &Budget::unlimited());
    assert_eq!(answer.verdict, SolverVerdict::Unknown(Unknown::Memory));
}
