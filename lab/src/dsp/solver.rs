//! `--solve`: the failing order and its root cause by constraint solving.

use std::time::{Duration, Instant};
use unsnarl_core::{Budget, StopReason};
use unsnarl_symbolic::{
    SymbolicTrace,
    dsp::step_in_words,
    schedules::{self, ConstraintCounts, SolverOptions, SolverVerdict, Unknown},
};
use unsnarl_trace::Run;

/// Result of solving for the failing order.
pub struct FailingOrder {
    /// Size of the problem that was solved.
    pub counts: ConstraintCounts,
    /// Time of the solver.
    pub time: Duration,
    /// Conditions that the failure needs, or the reason why they are unknown, a line each.
    pub lines: Vec<String>,
}

/// Solves for an order that fails, and for what it needs to fail.
pub fn failing_order(
    run: &Run,
    trace: &SymbolicTrace,
    options: &SolverOptions,
    budget: &Budget,
) -> FailingOrder {
    let begin = Instant::now();
    let failing = schedules::synthesize(trace, options, budget);
    let time = begin.elapsed();
    let mut lines = Vec::new();
    match failing.verdict {
        SolverVerdict::Found(_) => lines.extend(root_cause(run, trace, options, budget)),
        SolverVerdict::Impossible => {
            lines.push(
                "solving: no order of these paths fails, which the run contradicts".to_owned(),
            );
        }
        SolverVerdict::Unknown(why) => lines.push(unsolved("the failing order", &why)),
    }
    FailingOrder {
        counts: failing.counts,
        time,
        lines,
    }
}

fn root_cause(
    run: &Run,
    trace: &SymbolicTrace,
    options: &SolverOptions,
    budget: &Budget,
) -> Vec<String> {
    let words = |id| step_in_words(trace, run, id);
    match schedules::root_cause(trace, &trace.order, options, budget).verdict {
        SolverVerdict::Found(cause) => {
            let orders = cause.orders.iter();
            let lines = orders.map(|order| {
                format!(
                    "it fails because {} comes before {}",
                    words(order.before),
                    words(order.after)
                )
            });
            let mut lines: Vec<String> = lines.collect();
            if !cause.is_minimal {
                lines.push(
                    "not all of these orders may be needed: the solver's effort ended".to_owned(),
                );
            }
            lines
        }
        SolverVerdict::Impossible => vec!["solving: the recorded order does not fail".to_owned()],
        SolverVerdict::Unknown(why) => vec![unsolved("the root cause", &why)],
    }
}

fn unsolved(what: &str, why: &Unknown) -> String {
    format!("{what} was not solved for: {}", with_next_step(why))
}

/// Returns the reason why there is no answer, with the next step.
pub fn with_next_step(why: &Unknown) -> String {
    let option = match why {
        Unknown::Effort => "--solver-effort",
        Unknown::Memory => "--solver-memory",
        Unknown::Stopped(StopReason::OutOfTime) => "--budget",
        Unknown::Stopped(_) | Unknown::Trace(_) | Unknown::NoSolver(_) | Unknown::Refused(_) => {
            return why.to_string();
        }
    };
    format!("{why}\n  next: give it more: {option}")
}
