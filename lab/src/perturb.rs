//! Perturbation of slices: a slice is said to make a run fail whatever the other steps do, so the program is executed
//! in schedules that have the slice's steps in their order and everything else in orders drawn anew.

use crate::{
    confirm::{policy, within},
    dsp::Executor,
    executable::ExecutionSettings,
};
use anyhow::Result;
use serde::Serialize;
use std::{collections::BTreeSet, sync::atomic::AtomicBool, time::Duration};
use unsnarl_core::Budget;
use unsnarl_recorder::proposal::{ScheduleEnd, TrialError};
use unsnarl_trace::{EventId, EventKind, FailureMode, Proposal, Run};

/// Schedules with the slice's order that are wanted.
const SCHEDULES: u32 = 20;
/// Schedules that are tried for them: an order can be hard to have beside others.
const MOST_TRIED: u32 = 60;
/// Time for the schedules of one slice.
const TIME: Duration = Duration::from_secs(5);

/// Result of perturbing a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Perturbation {
    /// Executed schedules that have the slice's order.
    pub of: u32,
    /// Those of them that fail as the explained run.
    pub fails: u32,
}

/// Executes a run's program in other schedules that have these rows in their order, within the time that is left, and
/// within `time`.
///
/// # Errors
/// Fails if the program cannot be executed, or is another build.
pub fn perturb(
    (run, name): (&Run, &str),
    rows: &BTreeSet<EventId>,
    given: &ExecutionSettings,
    (stop, budget, time): (&AtomicBool, &Budget, Duration),
) -> Result<Perturbation> {
    let time = budget.left().unwrap_or(TIME).min(TIME).min(time);
    let order: Vec<EventId> = rows
        .iter()
        .copied()
        .filter(|row| is_step(run.events.kind(*row)))
        .collect();
    within(time, stop, |halt, budget| {
        let executor = Executor::new(run, name, given, 1, halt)?;
        drawn(&executor, &order, budget)
    })
}

/// Returns whether a schedule can name events of a kind.
fn is_step(kind: EventKind) -> bool {
    use EventKind::{Begin, Blocked, Branch, End, Failure};
    !matches!(kind, Begin | Blocked | Branch | End | Failure)
}

fn drawn(executor: &Executor<'_>, order: &[EventId], budget: &Budget) -> Result<Perturbation> {
    let proposal = Proposal {
        only_order: true,
        ..Proposal::of_events(executor.run, order)
    };
    let mut result = Perturbation::default();
    for number in 0..MOST_TRIED {
        if result.of == SCHEDULES || budget.stop().is_some() {
            break;
        }
        let proposal = Proposal {
            then: policy(number, executor.run),
            ..proposal.clone()
        };
        let verdict = match executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(TrialError::NoSite(..)) => break,
            Err(error) => return Err(error.into()),
        };
        if verdict.ended == ScheduleEnd::Reached {
            let fails = FailureMode::of(&verdict.run).is_like(&FailureMode::of(executor.run));
            result.of += 1;
            result.fails += u32::from(fails);
        }
    }
    Ok(result)
}
