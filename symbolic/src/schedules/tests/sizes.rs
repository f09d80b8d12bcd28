//! Traces of moderate size: results pass the checker, and the effort stays small.

use super::*;
use synthetic::{SyntheticProgram, failing};

fn sized(program: SyntheticProgram, accesses: u32, seed: u64) {
    let trace = failing(program, accesses, 3, seed);
    let checker = TraceConstraints::new(&trace);
    assert_eq!(
        checker.check(&trace.order).unwrap().fails,
        Some(true),
        "{program:?} {accesses} {seed}"
    );
    let options = SolverOptions::default();
    let schedule = found(synthesize(&trace, &options, &Budget::unlimited()));
    assert_eq!(checker.check(&schedule.order).unwrap().fails, Some(true));
    let small = SolverOptions {
        effort: 20_000_000,
        ..options
    };
    let cause = found(root_cause(
        &trace,
        &trace.order,
        &small,
        &Budget::unlimited(),
    ));
    assert!(!cause.orders.is_empty());
    let last = cause.orders.last().unwrap();
    let pair = (last.before, last.after);
    let answer = alternate(&trace, &trace.order, pair, &options, &Budget::unlimited());
    let passing = found(answer);
    assert_eq!(checker.check(&passing.order).unwrap().fails, Some(false));
}

#[test]
fn banks() {
    for seed in 0..2 {
        sized(SyntheticProgram::Bank, 30, seed);
    }
}

#[test]
fn queues() {
    for seed in 0..2 {
        sized(SyntheticProgram::Queue, 24, seed);
    }
}
