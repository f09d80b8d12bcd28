//! What access pairs say: the test procedures of LOCON on the failing runs.

use super::{
    Answer, Engine, Finding, FoundDependency, FoundSite, Seen, cannot_compare, weaknesses,
};
use crate::{
    Budget, Corpus, RunSummary, StopReason,
    facts::{place, short, thread_in_words},
    orders::DependencyKind,
    pairs::{AccessClass, AccessSite, MissingPair, SeenPair, procedure_one, procedure_two},
};
use unsnarl_trace::{EventId, Run};

/// How pairs are looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {}

/// Asks the procedures about the failing runs.
pub fn ask(corpus: &Corpus, _options: &Options, budget: &Budget) -> Answer {
    let mut answer = Answer {
        engine: Engine::Pairs,
        findings: Vec::new(),
        stopped: StopReason::Complete,
        notes: weaknesses(corpus),
    };
    if let Some(lacks) = cannot_compare(corpus) {
        answer.stopped = lacks;
        return answer;
    }
    for failing in corpus.failing() {
        if let Some(stop) = budget.stop() {
            answer.stopped = stop;
            break;
        }
        let Some(run) = &failing.run else { continue };
        let only_here = procedure_one(run, &failing.pairs, corpus.counts());
        let missing = procedure_two(&failing.pairs, corpus.counts());
        let found = only_here
            .iter()
            .map(|pair| seen(corpus, failing, run, pair));
        answer.findings.extend(found);
        let lacking = missing
            .iter()
            .filter_map(|pair| lacking(corpus, failing, pair));
        answer.findings.extend(lacking);
    }
    answer
}

/// Procedure I: the pair that only the failing run has.
fn seen(corpus: &Corpus, failing: &RunSummary, run: &Run, pair: &SeenPair) -> Finding {
    let (head, tail) = (site_of(run, pair.head), site_of(run, pair.tail));
    let headline = format!(
        "{} came before {} on `{}`: no passing run has this",
        in_words(&head),
        in_words(&tail),
        head.location
    );
    let kind = kind(&head.access, &tail.access);
    finding(
        corpus,
        failing,
        "procedure I",
        headline,
        [head, tail],
        kind,
        Seen::Failing,
    )
}

/// Procedure II: the reverse of a pair that the failing run lacks.
fn lacking(corpus: &Corpus, failing: &RunSummary, pair: &MissingPair) -> Option<Finding> {
    let counts = corpus.counts();
    let reversed = pair.reversed();
    let location = counts.location(pair.original);
    let head = of_site(counts.site(reversed.head)?, location);
    let tail = of_site(counts.site(reversed.tail)?, location);
    let headline = format!(
        "{} did not come before {} on `{location}`: it does in passing runs",
        in_words(&tail),
        in_words(&head),
    );
    let kind = kind(&head.access, &tail.access);
    Some(finding(
        corpus,
        failing,
        "procedure II",
        headline,
        [head, tail],
        kind,
        Seen::Missing,
    ))
}

fn finding(
    corpus: &Corpus,
    failing: &RunSummary,
    method: &str,
    headline: String,
    sites: [FoundSite; 2],
    kind: DependencyKind,
    seen: Seen,
) -> Finding {
    Finding {
        engine: Engine::Pairs,
        method: method.to_owned(),
        headline,
        sites: sites.into(),
        dependencies: vec![FoundDependency {
            head: 0,
            tail: 1,
            kind,
            seen,
        }],
        runs: vec![failing.name.clone()],
        passing: corpus.counts().passing(),
    }
}

fn site_of(run: &Run, row: EventId) -> FoundSite {
    let Some(event) = run.events.get(row) else {
        return FoundSite::default();
    };
    let class = AccessClass::of(event.kind).map_or("", AccessClass::name);
    FoundSite {
        place: place(run, event.site),
        thread: thread_in_words(run, event.thread),
        access: class.to_owned(),
        location: run.location(event.location).to_owned(),
    }
}

fn of_site(site: &AccessSite, location: &str) -> FoundSite {
    FoundSite {
        place: site.place.clone(),
        thread: String::new(),
        access: site.class.name().to_owned(),
        location: location.to_owned(),
    }
}

fn in_words(site: &FoundSite) -> String {
    let at = short(&site.place);
    match site.thread.as_str() {
        "" => format!("the {} at {at}", site.access),
        thread => format!("the {} of {thread} at {at}", site.access),
    }
}

fn kind(head: &str, tail: &str) -> DependencyKind {
    match (head, tail) {
        (_, "read") | ("write" | "update", "update") => DependencyKind::Flow,
        ("read", _) => DependencyKind::Anti,
        _ => DependencyKind::Output,
    }
}
