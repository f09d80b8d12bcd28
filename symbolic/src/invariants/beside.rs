//! Error invariants beside the story that is told of a failure.

use super::{
    PreparedPath,
    model::InvariantOptions,
    prepared::follow,
    told::{ToldInvariants, told},
};
use std::{collections::BTreeSet, time::Duration};
use unsnarl_core::{
    Budget,
    explanation::{Explanation, Role},
};
use unsnarl_trace::{Run, program::Program};

/// The engine's name among those of an explanation.
const NAME: &str = "invariants";
/// An explanation is not to wait for slices that take longer: those of all kernels and programs of ours take a fraction of it.
pub(crate) const TIME: Duration = Duration::from_secs(5);

/// The engine's contribution to an explanation that it agrees with.
pub(crate) const SAYS: &str = "finds these lines on the way of the values that lead to the failure";

/// Puts what had to hold along `run`, one of the explanation's, beside the explanation.
pub fn add_to(explanation: &mut Explanation, run: &Run, program: &Program, budget: &Budget) {
    let path = follow(run, program, &budget.at_most(TIME));
    if let Some(told) = path.and_then(|path| in_brief(&path, run, budget)) {
        beside(&told, explanation);
    }
}

/// Invariants along a failing run's path; none when they take too long.
pub(crate) fn in_brief(path: &PreparedPath, run: &Run, budget: &Budget) -> Option<ToldInvariants> {
    let budget = &budget.at_most(TIME);
    let found = path.explain(&InvariantOptions::default(), budget).ok()?;
    // What could be found in that time is another thing on another machine.
    budget.stop().is_none().then(|| told(&found, run))
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
