//! From findings to what a person reads: one explanation per cause of failure, best first.
//!
//! Each failing run gets its cheapest story (`candidates`); runs that fail at the same place for the same
//! reason share one explanation. A story is told only as far as the run and its corpus bear it out.

mod after_free;
mod atomicity;
mod candidates;
mod deadlock;
mod draft;
mod locking;
mod lost_wakeup;
mod missing;
mod order;
mod refused;
mod sequential;
mod slice;
#[cfg(test)]
mod tests;
mod view;

use crate::{
    budget::{Budget, Outcome, StopReason},
    corpus::{Corpus, RunSummary},
    explanation::{BugKind, Certainty, Explanation, Role, SiteMark},
};
use candidates::{Candidate, Story, candidates};
use std::collections::BTreeMap;
use view::View;

/// Failing runs of one failure place that are looked at: the shortest ones.
const LOOKED_AT: usize = 16;

/// Explains why the failing runs of a corpus fail. No findings with [`StopReason::Complete`] means that
/// nothing failed, or that nothing in the runs explains the failures ([`unexplained`] tells which).
pub fn explain(corpus: &Corpus, budget: &Budget) -> Outcome<Explanation> {
    if let Some(note) = sequential::sequential(corpus) {
        return Outcome {
            findings: vec![note],
            stopped: StopReason::Complete,
        };
    }
    let mut told: Vec<Told> = Vec::new();
    let mut stopped = StopReason::Complete;
    for runs in by_place(corpus).into_values() {
        for run in runs.iter().take(LOOKED_AT) {
            if let Some(reason) = budget.stop() {
                stopped = reason;
                break;
            }
            if let Some(new) = tell(corpus, run, budget) {
                add(&mut told, new);
            }
        }
        claim(&mut told, &runs);
    }
    Outcome {
        findings: ranked(told),
        stopped,
    }
}

/// Names of failing runs that no explanation covers.
pub fn unexplained(corpus: &Corpus, explanations: &[Explanation]) -> Vec<String> {
    let explained = |name: &String| {
        explanations
            .iter()
            .any(|explanation| explanation.runs.contains(name))
    };
    let failing = corpus.failing().map(|run| run.name.clone());
    failing.filter(|name| !explained(name)).collect()
}

/// An explanation with the cost of its story and the runs that told it.
struct Told {
    explanation: Explanation,
    cost: u32,
    times: usize,
    place: String,
    /// What this and the stories merged into it blame.
    blamed: Vec<SiteMark>,
}

impl Told {
    fn new(explanation: Explanation, cost: u32, place: String) -> Told {
        let marks = explanation.sites.iter();
        let blamed = marks.filter(|mark| matches!(mark.role, Role::Cause | Role::Interference));
        let blamed = blamed.cloned().collect();
        Told {
            explanation,
            cost,
            times: 1,
            place,
            blamed,
        }
    }
}

/// Failing runs by the place and kind of failure, the shortest first.
fn by_place(corpus: &Corpus) -> BTreeMap<String, Vec<&RunSummary>> {
    let mut places: BTreeMap<String, Vec<&RunSummary>> = BTreeMap::new();
    for run in corpus.failing() {
        places.entry(failure_place(run)).or_default().push(run);
    }
    for runs in places.values_mut() {
        runs.sort_by(|a, b| (a.events, &a.name).cmp(&(b.events, &b.name)));
    }
    places
}

fn failure_place(run: &RunSummary) -> String {
    let site = run
        .failure
        .as_ref()
        .and_then(|failure| failure.site.as_ref());
    let place = site.map_or(String::new(), |site| format!("{}:{}", site.file, site.line));
    let kind = run
        .failure_kind
        .map_or(String::new(), |kind| format!("{kind:?}"));
    format!("{} {kind} {place}", run.outcome.name())
}

/// The story of one failing run.
fn tell(corpus: &Corpus, run: &RunSummary, budget: &Budget) -> Option<Told> {
    let view = View::new(corpus, run)?;
    let place = failure_place(run);
    if run.outcome == unsnarl_trace::Outcome::Deadlocked
        && let Some(mut explanation) = deadlock::deadlock(&view)
    {
        explanation.engines = vec!["orders".to_owned()];
        return Some(Told::new(explanation, 0, place));
    }
    let best = candidates(&view, budget).into_iter().next()?;
    let mut explanation = write(&view, &best);
    explanation.certainty = certainty(corpus, &best);
    explanation.engines = vec!["orders".to_owned(), "pairs".to_owned()];
    Some(Told::new(explanation, best.cost, place))
}

fn write(view: &View, candidate: &Candidate) -> Explanation {
    match &candidate.story {
        Story::Atomicity(triple) => atomicity::single(view, triple),
        Story::MultiVariable(couple) => {
            order::handed_over(view, couple).unwrap_or_else(|| atomicity::multi(view, couple))
        }
        Story::Order { early, late } => order::swapped(view, *early, *late),
        Story::Missing { original, reader } => missing::missing(view, *original, *reader),
        Story::Refused { held, attempt } => refused::refused(view, *held, *attempt),
        Story::AfterFree { free, used } => after_free::after_free(view, *free, *used),
    }
}

/// Likely needs enough passing runs to compare with, or that the failure read it directly.
fn certainty(corpus: &Corpus, candidate: &Candidate) -> Certainty {
    const ENOUGH: u32 = 5;
    let compared = candidate.new && corpus.counts().passing() >= ENOUGH;
    let direct = candidate.relevant && candidate.cost < 60;
    if compared && candidate.relevant || direct {
        Certainty::Likely
    } else {
        Certainty::Possible
    }
}

/// Stories about the same variable that share a line are versions of one; the cheapest stays.
fn add(told: &mut Vec<Told>, new: Told) {
    let mut merged = new;
    let mut i = 0;
    while let Some(known) = told.get(i) {
        if akin(known, &merged) {
            merged = merge(told.remove(i), merged);
        } else {
            i += 1;
        }
    }
    told.push(merged);
}

fn merge(known: Told, new: Told) -> Told {
    let better = (new.cost, new.explanation.kind) < (known.cost, known.explanation.kind);
    let (mut kept, other) = if better { (new, known) } else { (known, new) };
    kept.times += other.times;
    kept.blamed.extend(other.blamed);
    kept.explanation.runs.extend(other.explanation.runs);
    kept
}

/// Do both blame the same variable and one of the same lines, and neither or both wait? Memory that was
/// freed goes by its own name, so there the line is enough.
fn akin(a: &Told, b: &Told) -> bool {
    let waits = |told: &Told| {
        matches!(
            told.explanation.kind,
            BugKind::Deadlock | BugKind::LostWakeup
        )
    };
    let freed = [a, b]
        .iter()
        .any(|told| told.explanation.kind == BugKind::UseAfterFree);
    let any = |same: fn(&SiteMark, &SiteMark) -> bool| {
        a.blamed.iter().any(|a| b.blamed.iter().any(|b| same(a, b)))
    };
    a.explanation.id == b.explanation.id
        || waits(a) == waits(b)
            && (freed || any(|a, b| a.location == b.location))
            && any(|a, b| (&a.place.file, a.place.line) == (&b.place.file, b.place.line))
}

/// Runs that fail at the same place and were not looked at belong to the explanation told most often there.
fn claim(told: &mut [Told], runs: &[&RunSummary]) {
    let Some(first) = runs.first() else { return };
    let place = failure_place(first);
    let known: Vec<String> = told
        .iter()
        .flat_map(|told| told.explanation.runs.clone())
        .collect();
    let here = told.iter_mut().filter(|told| told.place == place);
    let Some(most) = here.max_by_key(|told| (told.times, std::cmp::Reverse(told.cost))) else {
        return;
    };
    let rest = runs
        .iter()
        .map(|run| run.name.clone())
        .filter(|name| !known.contains(name));
    most.explanation.runs.extend(rest);
    most.explanation.runs.sort();
}

/// Best first: told most surely, by most runs, at least cost.
fn ranked(mut told: Vec<Told>) -> Vec<Explanation> {
    told.sort_by_key(|told| {
        let sequential = told.explanation.kind == BugKind::Sequential;
        (
            sequential,
            told.explanation.certainty,
            std::cmp::Reverse(told.times),
            told.cost,
            told.explanation.id.clone(),
        )
    });
    let ranked = told.into_iter().map(|told| {
        let mut explanation = told.explanation;
        explanation.runs.sort();
        explanation.runs.dedup();
        explanation
    });
    ranked.collect()
}
