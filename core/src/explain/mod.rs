//! From findings to explanations for people: one for each cause of failure, best first.
//!
//! Each failing run gets its cheapest story (`candidates`); runs that fail at the same place for the same
//! reason share one explanation. A story states only facts that the run and its corpus support.

mod aba;
mod additions;
mod after_free;
mod announced;
mod atomicity;
mod before_any;
mod begins;
mod both_looked;
mod candidates;
mod causes;
mod circle;
mod deadlock;
mod draft;
mod ended_sender;
mod exhausted;
mod found;
mod guards;
mod handovers;
mod implied;
mod instances;
mod interruption;
mod intervention;
mod late_entry;
mod leaked;
mod left_behind;
mod locking;
mod look;
mod lost_wakeup;
mod missing;
mod multi_variable;
mod no_memory;
mod order;
mod outstanding;
mod own_unit;
mod parted;
mod parts;
mod pointee;
mod proposers;
mod refused;
mod returned;
mod sequential;
mod skipped;
mod slice;
mod spans;
mod spinning;
mod spurious;
mod starved;
mod statistic;
mod symptom;
#[cfg(test)]
mod tests;
mod too_early;
mod torn;
mod turned;
mod unaware;
mod undone;
mod unfinished;
mod unheeded;
mod unprotected;
mod unread;
mod view;
mod waiting;
mod weigh;
mod withheld;

use crate::{
    budget::{Budget, EngineOutcome, StopReason},
    corpus::{Corpus, RunSummary},
    explanation::Explanation,
};
pub use additions::blames_additions;
use candidates::{Candidate, Story, candidates, spurious_wakeup};
use causes::ToldExplanation;
pub use guards::guarding;
pub use instances::{Harmless, bears_out, bears_out_but, meets_the_other_way, set_apart};
pub use intervention::{Intervention, intervention};
pub(crate) use parted::have_common_lock;
pub use parted::{PartedSections, is_under_one_lock};
pub use parts::{SplitStory, parts};
pub use proposers::{Failing, Material, ORDERS, Proposals, Proposer, Proposers};
use proposers::{name_orders, write};
pub use spans::{calls_around, spans_visits};
pub use spurious::{comes_of_wakeup, is_spurious_wakeup};
pub(crate) use statistic::in_words as ochiai_in_words;
pub use statistic::{by_statistic, counted, in_order_of_statistic};
use std::collections::{BTreeMap, BTreeSet};
pub use symptom::ends_in_the_check;
pub use turned::{
    Turn, Turned, comes_between, never_came, outermost, still_to_take, story_begins, turned,
};
use unsnarl_trace::{Outcome, RunScope};
use view::View;
pub use weigh::{in_order, rank_in_words};

/// Bound on the failing runs of one failure place that are examined: the shortest ones.
const LOOKED_AT: usize = 16;

/// Stop reason for long straight code on many variables, which has too many couples of access pairs to
/// examine.
const TOO_MANY_COUPLES: StopReason = StopReason::TooMuch("couples of access pairs");

/// Explains why the failing runs of a corpus fail. No findings with [`StopReason::Complete`] means that no
/// run failed, or that nothing in the runs explains the failures ([`unexplained`] distinguishes the two).
pub fn explain(corpus: &Corpus, budget: &Budget) -> EngineOutcome<Explanation> {
    explain_by(&Proposers::comparing(corpus), budget)
}

/// The same with engines that are asked further afterwards: what they have worked out is not worked out again.
pub fn explain_by(proposers: &Proposers<'_>, budget: &Budget) -> EngineOutcome<Explanation> {
    let corpus = proposers.material().corpus;
    if let Some(note) = sequential::sequential(corpus) {
        return EngineOutcome {
            findings: vec![note],
            stopped: StopReason::Complete,
        };
    }
    let mut told: Vec<ToldExplanation> = Vec::new();
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
    for told in &mut told {
        causes::tidy(&mut told.explanation);
        proposers.support_by_comparing(&mut told.explanation, budget);
    }
    let mut findings = causes::ranked(told);
    let left = unexplained(corpus, &findings);
    let left: BTreeSet<&String> = left.iter().collect();
    for runs in places.values() {
        let left = runs.iter().filter(|run| left.contains(&run.name));
        let left: Vec<&RunSummary> = left.copied().collect();
        if budget.stop().is_none()
            && let Some(new) = found::found(proposers, &left, budget)
        {
            findings.push(new);
        }
    }
    if findings.is_empty() && stopped == StopReason::Complete {
        findings.extend(sequential::in_few_orders(corpus));
    }
    rank_in_words(&mut findings);
    EngineOutcome { findings, stopped }
}

/// Explains a run that hangs by a signal that a change on one of these lines lacks; `None` when it shows no such
/// change. For explanations by accesses that one more signal there has mended.
#[must_use]
pub fn missing_signal(
    corpus: &Corpus,
    run: &str,
    lines: &BTreeSet<(&str, u32)>,
) -> Option<Explanation> {
    let run = corpus.failing().find(|one| one.name == run)?;
    let hangs = run.outcome == Outcome::Deadlocked;
    let _scope = RunScope::enter(&run.name);
    let view = View::new(corpus, run).filter(|_| hangs)?;
    lost_wakeup::forgotten(&view, |_, write| {
        let place = view.place(write);
        lines.contains(&(place.file.as_str(), place.line))
    })
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

/// Explains one failing run of a corpus by itself, by the order of its steps; `None` when that tells nothing of it.
#[must_use]
pub fn told_of(corpus: &Corpus, run: &str, budget: &Budget) -> Option<Explanation> {
    let run = corpus.failing().find(|one| one.name == run)?;
    tell(corpus, run, budget).map(|told| told.explanation)
}

/// Finds the story of one failing run.
fn tell(corpus: &Corpus, run: &RunSummary, budget: &Budget) -> Option<ToldExplanation> {
    let _scope = RunScope::enter(&run.name);
    let view = View::new(corpus, run)?;
    let place = failure_place(run);
    if run.outcome == Outcome::Deadlocked
        && let Some(found) = spurious_wakeup(&view)
    {
        return story(&view, &[found], place);
    }
    let waits = match run.outcome {
        Outcome::Deadlocked => hang(&view, budget),
        Outcome::TimedOut => deadlock::endless(&view),
        _ => None,
    };
    if let Some(mut explanation) = waits {
        name_orders(&view, &mut explanation);
        return Some(ToldExplanation::new(explanation, 0, place));
    }
    story(&view, &candidates(&view, budget), place)
}

/// The first of the stories of a run, with what else it bears out.
fn story(view: &View, found: &[Candidate], place: String) -> Option<ToldExplanation> {
    let best = found.first()?;
    let explanation = write(view, best);
    let evidence = best
        .new
        .then(|| causes::StoryEvidence::of(view, &best.story));
    let parted = PartedSections::of(&explanation, &view.run);
    let told = ToldExplanation::new(explanation, best.cost, place).between(parted);
    Some(told.resting_on(evidence, causes::borne_out(view, found)))
}

/// Explains threads that wait for ever: by a cause that kept the condition false, or by the waits alone.
fn hang(view: &View, budget: &Budget) -> Option<Explanation> {
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
    explanation.remark_first(&format!(
        "{}: it had read {}{}.",
        view.waits_for_ever(waits.wait),
        view.variable(checked),
        view.equals_read(checked)
    ));
    Some(explanation)
}
