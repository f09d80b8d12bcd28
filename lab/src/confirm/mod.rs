//! Explanations are confirmed by running: the failing run again and again, and an order in which what is blamed comes
//! the other way round. What fails in that order as well is refuted.

mod absorbed;
mod apart;
mod attempt;
mod beginnings;
mod case;
mod choose;
mod counterexamples;
mod decide;
mod directed;
mod experiment;
mod judge;
mod others;
mod samples;
mod time;
mod tried;

#[cfg(test)]
mod apart_tests;
#[cfg(test)]
mod choose_tests;
#[cfg(test)]
mod freed_tests;

pub use counterexamples::Counterexamples;
pub use decide::decisive_steps;
pub use time::{DEFAULT as DEFAULT_TIME, TimeShare};
pub(crate) use {beginnings::MissedBeginnings, samples::policy, time::within};

use self::{absorbed::absorbed, apart::told_apart, judge::Judge};
use crate::Executing;
use std::{collections::VecDeque, time::Duration};
use unsnarl_core::{
    Budget, Certainty, Execution, Explanation, Verdict,
    explain::{Proposers, by_statistic, in_order, in_order_of_statistic, set_apart},
};

/// Time for counting over runs of which none can be executed.
const COUNTING: Duration = Duration::from_secs(10);

/// Weight of the experiments on an explanation for each of its failing runs.
const EXPERIMENTS: usize = 4;

/// Weight of the experiments on an explanation, in the time that the command line allows for executing: the more failing
/// runs it tells of, the more is lost if they are cut short.
pub fn weight(explanation: &Explanation) -> usize {
    EXPERIMENTS * explanation.runs.len().max(1)
}

/// Runs the orders of each explanation, each in its share of the time. What executing refutes is taken out and returned.
pub fn confirm(
    proposers: &Proposers<'_>,
    explanations: &mut Vec<Explanation>,
    with: &Executing<'_>,
    (time, counterexamples): (&mut TimeShare, &Counterexamples),
) -> Vec<Explanation> {
    let mut known: Vec<String> = Vec::new();
    let mut left: VecDeque<Explanation> = std::mem::take(explanations).into();
    let mut all = Vec::new();
    while let Some(mut explanation) = left.pop_front() {
        let judge = Judge {
            proposers,
            with,
            time: time.take(weight(&explanation)),
            known: &known,
            counterexamples,
        };
        judge.judge(&mut explanation);
        if verdict(&explanation) == Some(Verdict::Confirmed) {
            explanation.certainty = Certainty::Confirmed;
            known.push(explanation.id.clone());
        }
        let runs = &with.loaded.runs;
        set_apart(&mut explanation, runs);
        let counting = Budget::lasting(COUNTING);
        if let Some(other) = told_apart(&mut explanation, proposers, runs, &counting) {
            time.add(weight(&other));
            left.push_back(other);
        }
        all.push(explanation);
    }
    let (refuted, kept): (Vec<Explanation>, Vec<Explanation>) = all
        .into_iter()
        .partition(|one| verdict(one) == Some(Verdict::Refuted));
    let mut kept = merged(kept);
    for explanation in &mut kept {
        set_apart(explanation, &with.loaded.runs);
    }
    in_order(&mut kept);
    *explanations = absorbed(kept, &with.loaded.runs);
    rank_unexecuted(proposers, explanations, &Budget::lasting(COUNTING));
    refuted
}

/// Tells of each explanation of which nothing could be executed what the statistic over its runs speaks for most, and puts
/// them in its order if that is all of them.
pub fn rank_unexecuted(
    proposers: &Proposers<'_>,
    explanations: &mut Vec<Explanation>,
    budget: &Budget,
) {
    let is_unexecuted = |one: &Explanation| verdict(one) == Some(Verdict::NotRun);
    for explanation in explanations.iter_mut().filter(|one| is_unexecuted(one)) {
        let executed = explanation.executed.clone();
        by_statistic(proposers, explanation, budget);
        explanation.executed = executed;
    }
    if explanations.iter().all(is_unexecuted) {
        *explanations = merged(std::mem::take(explanations));
        in_order_of_statistic(explanations);
    }
}

/// Experiments may tell the same story of runs that were told apart before: it is told once.
fn merged(all: Vec<Explanation>) -> Vec<Explanation> {
    let mut kept: Vec<Explanation> = Vec::new();
    for one in all {
        let Some(known) = kept.iter_mut().find(|known| known.id == one.id) else {
            kept.push(one);
            continue;
        };
        known.runs.extend(one.runs);
        known.runs.sort();
        known.runs.dedup();
        if one.failure != known.failure && !known.also_fails.contains(&one.failure) {
            known.also_fails.push(one.failure);
        }
    }
    kept
}

fn verdict(explanation: &Explanation) -> Option<Verdict> {
    explanation
        .executed
        .as_ref()
        .map(|executed| executed.verdict)
}

/// Says of each explanation why nothing was executed.
pub fn leave_out(explanations: &mut [Explanation], reason: &str) {
    for explanation in explanations {
        explanation.executed = Some(not_run(reason));
    }
}

fn not_run(reason: &str) -> Execution {
    let (reason, next) = reason.split_once("\n  next: ").unwrap_or((reason, ""));
    Execution {
        verdict: Verdict::NotRun,
        other: String::new(),
        is_recorded: false,
        reason: reason.to_owned(),
        next: next.to_owned(),
        says: Vec::new(),
        counterexample: None,
    }
}
