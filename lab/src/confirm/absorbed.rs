//! Explanations whose runs all have what another one blames, or that blame the same: they tell another part of the same cause.

use std::{collections::BTreeSet, sync::Arc};
use unsnarl_core::{
    Certainty, Explanation, Role, corpus::failure_place, diagnosis::Evidence, explain::bears_out,
    facts::family,
};
use unsnarl_trace::{Outcome, Run};

/// The chance from which on it does not count as one that all of an explanation's runs have something.
const CHANCE: f64 = 0.001;

/// The same for an explanation that experiments do not confirm.
const CHANCE_OF_DOUBTFUL: f64 = 0.05;

/// Tells explanations of fewer runs no more where one of more runs covers them: nothing fails without it, and their runs
/// all have it, which so many runs seldom have where it has nothing to do with the failure; or where they differ from it only
/// in where the same causes are met. Linear in the runs for each explanation.
pub(super) fn absorbed(
    explanations: Vec<Explanation>,
    runs: &[(String, Arc<Run>)],
) -> Vec<Explanation> {
    let mut kept: Vec<Explanation> = Vec::new();
    for one in explanations {
        let is_it =
            |known: &&mut Explanation| have_one_cause(known, &one) || covers(known, &one, runs);
        match kept.iter_mut().find(is_it) {
            Some(known) => take(known, one, runs),
            None => kept.push(one),
        }
    }
    kept
}

fn covers(known: &Explanation, other: &Explanation, runs: &[(String, Arc<Run>)]) -> bool {
    let is_cause = known.certainty == Certainty::Confirmed
        && known.evidence.is_some_and(Evidence::is_cause)
        && known.kind.is_order();
    let has = |run: &Run| bears_out(known, run) == Some(true);
    let own = |name: &String| other.runs.binary_search(name).is_ok();
    let mut others = runs.iter().filter(|(name, _)| own(name));
    let most = match other.certainty {
        Certainty::Confirmed => CHANCE,
        _ => CHANCE_OF_DOUBTFUL,
    };
    is_cause
        && other.kind.is_order()
        && others.all(|(_, run)| has(run))
        && chance(runs, has, other.runs.len()) < most
}

/// Returns whether two explanations that are at least likely have their causes on the same lines, and blame the same variables or elements of
/// the same arrays.
fn have_one_cause(a: &Explanation, b: &Explanation) -> bool {
    let causes = |of: &Explanation| -> BTreeSet<(String, u32)> {
        let marks = of.sites.iter().filter(|mark| mark.role == Role::Cause);
        marks
            .map(|mark| (mark.place.file.clone(), mark.place.line))
            .collect()
    };
    let families = |of: &Explanation| -> BTreeSet<String> {
        let blamed = of.blamed();
        blamed.map(|mark| family(&mark.location)).collect()
    };
    let are_likely = [a, b]
        .iter()
        .all(|one| one.certainty != Certainty::Possible);
    are_likely
        && (a.kind, causes(a), families(a)) == (b.kind, causes(b), families(b))
        && a.kind.is_order()
}

/// The chance that so many runs have something, if it is as frequent in them as in those that pass.
fn chance(runs: &[(String, Arc<Run>)], has: impl Fn(&Run) -> bool, of: usize) -> f64 {
    let passed = runs
        .iter()
        .filter(|(_, run)| run.meta.outcome == Outcome::Passed);
    let (mut with, mut all) = (0_u32, 0_u32);
    for (_, run) in passed {
        all += 1;
        with += u32::from(has(run));
    }
    let share = f64::from(with + 1) / f64::from(all + 2);
    share.powi(i32::try_from(of).unwrap_or(i32::MAX))
}

/// Takes over the runs of another explanation.
fn take(known: &mut Explanation, other: Explanation, runs: &[(String, Arc<Run>)]) {
    for names in [&mut known.runs_without, &mut known.runs_mirrored] {
        names.retain(|name| !other.runs.contains(name));
    }
    known.runs.extend(other.runs);
    known.runs.sort();
    known.runs.dedup();
    fails_at(known, runs);
}

/// Notes where else an explanation's runs fail, as far as they have what it blames.
pub(super) fn fails_at(explanation: &mut Explanation, runs: &[(String, Arc<Run>)]) {
    let own = runs
        .iter()
        .filter(|(name, _)| explanation.runs.binary_search(name).is_ok())
        .filter(|(name, _)| explanation.runs_without.binary_search(name).is_err());
    let mut others = Vec::new();
    for failure in own.filter_map(|(_, run)| failure_place(run)) {
        if failure != explanation.failure && !others.contains(&failure) {
            others.push(failure);
        }
    }
    explanation.also_fails = others;
}
