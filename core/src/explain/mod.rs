//! From findings to explanations for people: one for each cause of failure, best first.
//!
//! Each failing run gets its cheapest story (`candidates`); runs that fail at the same place for the same
//! reason share one explanation. A story states only facts that the run and its corpus support.

mod after_free;
mod announced;
mod atomicity;
mod begins;
mod candidates;
mod causes;
mod circle;
mod deadlock;
mod decided;
mod draft;
mod found;
mod guards;
mod handovers;
mod intervention;
mod late_entry;
mod locking;
mod lost_wakeup;
mod missing;
mod no_memory;
mod order;
mod refused;
mod sequential;
mod slice;
mod spurious;
mod symptom;
#[cfg(test)]
mod tests;
mod too_early;
mod turned;
mod view;
mod waiting;
mod weigh;

use crate::{
    budget::{Budget, Outcome, StopReason},
    corpus::{Corpus, RunSummary},
    explanation::{Certainty, Explanation},
    findings::Beside,
};
use candidates::{Candidate, Story, candidates, spurious_wakeup};
use causes::Told;
pub use decided::decided;
pub use guards::guarding;
pub use intervention::{Intervention, intervention};
use std::collections::{BTreeMap, BTreeSet};
pub use symptom::ends_in_the_check;
pub use turned::{Turn, Turned, bears_out, never_came, outermost, turned};
use view::View;
pub use weigh::{in_order, rank_in_words};

/// Bound on the failing runs of one failure place that are examined: the shortest ones.
const LOOKED_AT: usize = 16;

/// Stop reason for long straight code on many variables, which has too many couples of access pairs to
/// examine.
const TOO_MANY_COUPLES: StopReason = StopReason::TooMuch("couples of access pairs");

/// Explains why the failing runs of a corpus fail. No findings with [`StopReason::Complete`] means that no
/// run failed, or that nothing in the runs explains the failures ([`unexplained`] distinguishes the two).
pub fn explain(corpus: &Corpus, budget: &Budget) -> Outcome<Explanation> {
    if let Some(note) = sequential::sequential(corpus) {
        return Outcome {
            findings: vec![note],
            stopped: StopReason::Complete,
        };
    }
    let mut told: Vec<Told> = Vec::new();
    let mut stopped = match corpus.counts().knows_all_couples() {
        true => StopReason::Complete,
        false => TOO_MANY_COUPLES,
    };
    let places = by_place(corpus);
    for runs in places.values() {
        for run in runs.iter().take(LOOKED_AT) {
            if let Some(reason) = budget.stop() {
                stopped = reason;
                break;
            }
            if run.pairs.couples_cut {
                stopped = TOO_MANY_COUPLES;
            }
            if let Some(new) = tell(corpus, run, budget) {
                causes::add(&mut told, new);
            }
        }
    }
    // The last run examined may also lack findings for want of time.
    stopped = budget.stop().unwrap_or(stopped);
    let mut told = causes::as_few_as_will_do(told);
    for (place, runs) in &places {
        causes::claim(&mut told, place, runs);
    }
    let beside = Beside::new(corpus, budget);
    for told in &mut told {
        causes::tidy(&mut told.explanation);
        note_engines(&beside, &mut told.explanation);
    }
    let mut findings = causes::ranked(told);
    let left = unexplained(corpus, &findings);
    let left: BTreeSet<&String> = left.iter().collect();
    for runs in places.values() {
        let left = runs.iter().filter(|run| left.contains(&run.name));
        let left: Vec<&RunSummary> = left.copied().collect();
        if budget.stop().is_none()
            && let Some(new) = found::found(corpus, &left, &beside)
        {
            findings.push(new);
        }
    }
    rank_in_words(&mut findings);
    Outcome { findings, stopped }
}

/// The alternative stories of the run that an explanation is about, the likeliest first: for explanations
/// that an execution has refuted.
pub fn retold(corpus: &Corpus, explanation: &Explanation, budget: &Budget) -> Vec<Explanation> {
    others(corpus, explanation, u32::MAX, budget)
}

/// The alternative stories that the run supports nearly as well.
pub fn retold_nearly(
    corpus: &Corpus,
    explanation: &Explanation,
    budget: &Budget,
) -> Vec<Explanation> {
    others(corpus, explanation, causes::NEARLY, budget)
}

/// The alternative stories whose cost exceeds that of the best one by at most a given amount.
fn others(
    corpus: &Corpus,
    explanation: &Explanation,
    more: u32,
    budget: &Budget,
) -> Vec<Explanation> {
    const LOOKED_AT: usize = 24;
    let view = corpus
        .get(&explanation.run)
        .and_then(|run| View::new(corpus, run));
    let Some(view) = view else { return Vec::new() };
    let beside = Beside::new(corpus, budget);
    let found = candidates(&view, budget);
    let best = found.first().map_or(0, |best| best.cost);
    let found = found
        .into_iter()
        .take_while(|one| one.cost.saturating_sub(best) <= more)
        .take(LOOKED_AT);
    let mut others: Vec<Explanation> = Vec::new();
    for candidate in found {
        let mut other = write(&view, &candidate);
        let is_known = |known: &Explanation| known.blames_as(&other);
        if is_known(explanation) || others.iter().any(is_known) {
            continue;
        }
        other.certainty = certainty(corpus, &candidate);
        other.runs.clone_from(&explanation.runs);
        other.also_fails.clone_from(&explanation.also_fails);
        note_engines(&beside, &mut other);
        others.push(other);
    }
    others
}

/// Asks the engines that compare runs whether they name the same places; the stories themselves come from the
/// orders of single runs.
fn note_engines(beside: &Beside, explanation: &mut Explanation) {
    let told = match explanation.run.as_str() {
        "" => "tells it from the orders of the runs".to_owned(),
        run => format!("tells it from the order of the steps of {run}"),
    };
    explanation.join("orders", told);
    for engine in beside.agreeing(explanation) {
        explanation.join(engine.name(), engine.agrees_in_words().to_owned());
    }
}

/// Names of failing runs without an explanation.
pub fn unexplained(corpus: &Corpus, explanations: &[Explanation]) -> Vec<String> {
    let explained = |name: &String| {
        explanations
            .iter()
            .any(|explanation| explanation.runs.contains(name))
    };
    let failing = corpus.failing().map(|run| run.name.clone());
    failing.filter(|name| !explained(name)).collect()
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

/// Finds the story of one failing run.
fn tell(corpus: &Corpus, run: &RunSummary, budget: &Budget) -> Option<Told> {
    let view = View::new(corpus, run)?;
    let place = failure_place(run);
    if run.outcome == unsnarl_trace::Outcome::Deadlocked
        && let Some(explanation) = hang(&view, budget)
    {
        return Some(Told::new(explanation, 0, place));
    }
    let found = candidates(&view, budget);
    let best = found.first().copied()?;
    let mut explanation = write(&view, &best);
    explanation.certainty = certainty(corpus, &best);
    let evidence = best.new.then(|| causes::Evidence::of(&view, &best.story));
    let told = Told::new(explanation, best.cost, place);
    Some(told.resting_on(evidence, causes::borne_out(&view, &found)))
}

/// Explains threads that wait for ever: by a spurious wakeup, by a cause that kept the condition false, or by
/// the waits alone.
fn hang(view: &View, budget: &Budget) -> Option<Explanation> {
    if let Some(found) = spurious_wakeup(view) {
        let mut explanation = write(view, &found);
        explanation.certainty = certainty(view.corpus, &found);
        return Some(explanation);
    }
    let waits = deadlock::deadlock(view)?;
    let Some(checked) = waits.condition else {
        return Some(waits.explanation);
    };
    let found = candidates(view, budget);
    let overwritten = found.iter().find(|one| {
        let is_about = |row| view.event(row).location == view.event(checked).location;
        one.new && matches!(one.story, Story::Atomicity(triple) if is_about(triple.first))
    });
    let Some(cause) = overwritten else {
        return Some(waits.explanation);
    };
    let mut explanation = write(view, cause);
    explanation.certainty = certainty(view.corpus, cause);
    explanation.remark_first(&format!(
        "{}: it had read {}{}.",
        view.waits_for_ever(waits.wait),
        view.variable(checked),
        view.equals_read(checked)
    ));
    Some(explanation)
}

fn write(view: &View, candidate: &Candidate) -> Explanation {
    match &candidate.story {
        Story::Atomicity(triple) => atomicity::single(view, triple),
        Story::MultiVariable(couple) => {
            order::handed_over(view, couple).unwrap_or_else(|| atomicity::multi(view, couple))
        }
        Story::Order { early, late } => order::swapped(view, *early, *late),
        Story::Missing {
            original,
            reader,
            by,
        } => missing::missing(view, *original, *reader, *by),
        Story::Refused { held, attempt } => refused::refused(view, *held, *attempt),
        Story::HalfWay { write, attempt } => refused::half_way(view, *write, *attempt),
        Story::Unchecked { check, wake } => spurious::unchecked(view, *check, *wake),
        Story::NoMemory { alloc } => no_memory::no_memory(view, *alloc),
        Story::AfterFree { free, used } => after_free::after_free(view, *free, *used),
    }
}

/// Certainty of a candidate: likely needs enough passing runs to compare with, or a direct read by the
/// failure.
fn certainty(corpus: &Corpus, candidate: &Candidate) -> Certainty {
    const ENOUGH: u32 = 5;
    const FEW: u32 = 3;
    let compared = candidate.new && corpus.counts().passing() >= ENOUGH;
    // Only passing runs show which of two orders was intended.
    let by_order = matches!(candidate.story, Story::Order { .. } | Story::Missing { .. });
    let direct = candidate.relevant
        && candidate.cost < 60
        && (!by_order || corpus.counts().passing() >= FEW);
    if compared && candidate.relevant || direct {
        Certainty::Likely
    } else {
        Certainty::Possible
    }
}
