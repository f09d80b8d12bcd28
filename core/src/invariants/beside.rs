//! Error invariants as part of an explanation.

use super::{
    explain,
    model::Options,
    told::{Told, told},
};
use crate::{
    Budget, StopReason,
    explanation::{Explanation, Role},
    symbolic,
};
use std::{collections::BTreeSet, time::Duration};
use unsnarl_trace::{Run, program::Program};

/// Name of the engine in an explanation.
const NAME: &str = "invariants";
/// Bound on the events of a run; longer runs are left out, since an explanation must not wait for them.
const EVENTS: usize = 20_000;
/// Bound on the time for a slice; the slices of all our kernels and programs take a fraction of it.
const TIME: Duration = Duration::from_secs(5);

/// Adds the error invariants of `run`, one of the explanation's runs, to the explanation, and names the
/// engine if the slice contains a line of the cause and, where accesses interleaved, one of those. Nothing is
/// added without a model, or when the failure cannot be read back.
pub fn add_to(explanation: &mut Explanation, run: &Run, program: &Program, budget: &Budget) {
    if program.is_empty() || run.events.len() > EVENTS {
        return;
    }
    let budget = &budget.at_most(TIME);
    let walked = symbolic::walk_in_words(run, program, budget);
    if walked.stopped != StopReason::Complete {
        return;
    }
    let trace = &walked.trace;
    // The engine gives its reason when it is run on its own.
    let Ok(found) = explain(trace, run, &trace.order, &Options::default(), budget) else {
        return;
    };
    // Partial results would depend on the speed of the machine.
    if budget.stop().is_some() {
        return;
    }
    let told = told(&found, run);
    explanation.invariants = told.marks();
    if names(&told, explanation) {
        let says = "finds these lines on the way of the values that lead to the failure";
        explanation.join(NAME, says.to_owned());
    }
}

/// `true` if lines blamed by the explanation are in the slice.
fn names(told: &Told, explanation: &Explanation) -> bool {
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
