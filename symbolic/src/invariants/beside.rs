//! Error invariants beside the story that is told of a failure.

use super::{
    PreparedPath,
    model::InvariantOptions,
    prepare,
    told::{ToldInvariants, told},
};
use std::{collections::BTreeSet, time::Duration};
use unsnarl_core::{
    Budget, StopReason,
    explanation::{Explanation, Role},
};
use unsnarl_trace::{Run, program::Program};

/// The engine's name among those of an explanation.
const NAME: &str = "invariants";
/// Runs with more events are left out: an explanation is not to wait for them.
const EVENTS: usize = 20_000;
/// Nor is it to wait for slices that take longer: those of all kernels and programs of ours take a fraction of it.
const TIME: Duration = Duration::from_secs(5);

/// The engine's contribution to an explanation that it agrees with.
pub(crate) const SAYS: &str = "finds these lines on the way of the values that lead to the failure";

/// Puts what had to hold along `run`, one of the explanation's, beside the explanation.
pub fn add_to(explanation: &mut Explanation, run: &Run, program: &Program, budget: &Budget) {
    if let Some(told) = in_brief(run, program, budget) {
        beside(&told, explanation);
    }
}

/// Invariants along a failing run; none without a model, or when the failure cannot be read back.
pub(crate) fn in_brief(run: &Run, program: &Program, budget: &Budget) -> Option<ToldInvariants> {
    let budget = &budget.at_most(TIME);
    let path = prepare_in_brief(run, program, budget)?;
    let found = path.explain(&InvariantOptions::default(), budget).ok()?;
    // What could be found in that time is another thing on another machine.
    budget.stop().is_none().then(|| told(&found, run))
}

/// The path of a failing run, where it is short enough for being told beside a story; none without a model, or when the
/// failure cannot be read back.
pub fn prepare_in_brief(run: &Run, program: &Program, budget: &Budget) -> Option<PreparedPath> {
    if program.is_empty() || run.events.len() > EVENTS {
        return None;
    }
    let walked = crate::walk_in_words(run, program, budget);
    if walked.stopped != StopReason::Complete {
        return None;
    }
    let trace = &walked.trace;
    // Why nothing can be told is said when the engine is asked by itself.
    prepare(trace, run, &trace.order).ok()
}

/// Puts what had to hold beside an explanation, and names the engine when the slice has a line of the cause and, where
/// something came in between, one of that.
pub(crate) fn beside(told: &ToldInvariants, explanation: &mut Explanation) {
    explanation.invariants = told.marks();
    if names(told, explanation) {
        explanation.join(NAME, SAYS.to_owned());
    }
}

/// Are lines that the explanation blames among those that matter?
fn names(told: &ToldInvariants, explanation: &Explanation) -> bool {
    let kept: BTreeSet<(&str, u32)> = told
        .lines
        .iter()
        .map(|line| (line.place.file.as_str(), line.place.line))
        .collect();
    let blamed = |role: Role| {
        let sites = explanation
            .sites
            .iter()
            .filter(move |site| site.role == role);
        sites.map(|site| (site.place.file.as_str(), site.place.line))
    };
    let has = |role: Role| blamed(role).any(|line| kept.contains(&line));
    has(Role::Cause) && (blamed(Role::Interference).next().is_none() || has(Role::Interference))
}
