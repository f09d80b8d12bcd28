//! Runs that an explanation counts as its own, and that do not have what it blames.

use super::absorbed::fails_at;
use std::sync::Arc;
use unsnarl_core::{
    Budget, Corpus, Explanation,
    explain::{Proposers, told_of},
};
use unsnarl_trace::Run;

/// Takes the runs without what an explanation blames from it, if most of its runs are without, and tells the shortest of
/// them by itself. None where that run says nothing else. Each time at most half of the runs stay together: the number of
/// explanations that come of one is logarithmic in its runs.
pub(super) fn told_apart(
    explanation: &mut Explanation,
    proposers: &Proposers<'_>,
    runs: &[(String, Arc<Run>)],
    budget: &Budget,
) -> Option<Explanation> {
    let without = &explanation.runs_without;
    if without.len() * 2 <= explanation.runs.len() {
        return None;
    }
    let corpus = proposers.material().corpus;
    let name = shortest(corpus, without)?;
    let mut told = told_of(corpus, &name, budget)?;
    if told.id == explanation.id {
        return None;
    }
    proposers.support(&mut told, budget);
    told.runs = std::mem::take(&mut explanation.runs_without);
    let is_left = |name: &String| told.runs.binary_search(name).is_err();
    explanation.runs.retain(is_left);
    for one in [&mut told, explanation] {
        fails_at(one, runs);
    }
    Some(told)
}

fn shortest(corpus: &Corpus, names: &[String]) -> Option<String> {
    let own = corpus
        .failing()
        .filter(|run| names.binary_search(&run.name).is_ok());
    let shortest = own.min_by_key(|run| (run.events, &run.name));
    shortest.map(|run| run.name.clone())
}
