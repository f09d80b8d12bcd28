//! Failures that do not depend on the schedule.

use crate::{
    corpus::{Corpus, RunSummary},
    explanation::{BugKind, Certainty, Explanation, FailurePlace, Role, SiteMark},
    facts::short,
};
use std::collections::BTreeSet;

/// Number of different orders that have to fail before a failure counts as sequential.
const ENOUGH: usize = 20;

/// Explains that the program fails in every order; none when a run passed or too few orders were seen.
pub(super) fn sequential(corpus: &Corpus) -> Option<Explanation> {
    if corpus.passing().next().is_some() {
        return None;
    }
    let first = corpus.failing().next()?;
    let place = |run: &RunSummary| {
        run.failure
            .as_ref()
            .map(|f| (f.site.clone(), f.message.clone()))
    };
    let same = corpus
        .failing()
        .all(|run| place(run) == place(first) && run.outcome == first.outcome);
    let orders: BTreeSet<u64> = corpus.failing().map(|run| run.order).collect();
    let failure = first.failure.clone()?;
    (same && orders.len() >= ENOUGH).then(|| note(corpus, failure, orders.len()))
}

fn note(corpus: &Corpus, failure: FailurePlace, orders: usize) -> Explanation {
    let at = failure
        .site
        .as_ref()
        .map_or(String::new(), |site| format!(" at {}", short(site)));
    let mark = failure.site.clone().map(|place| SiteMark {
        place,
        thread: String::new(),
        access: "failure".to_owned(),
        location: String::new(),
        role: Role::Failure,
        step: None,
    });
    let what = match failure.message.starts_with("assertion") {
        true => "the assertion",
        false => "the program",
    };
    Explanation {
        id: format!(
            "{:08x}",
            crate::pairs::Fnv::of(&format!("sequential{at}{}", failure.message)) as u32
        ),
        kind: BugKind::Sequential,
        headline: format!(
            "{what}{at} fails in every one of {orders} different orders: this does not depend on the schedule"
        ),
        detail: String::new(),
        remark: String::new(),
        contrast: String::new(),
        claims: Vec::new(),
        certainty: Certainty::Likely,
        runs: corpus.failing().map(|run| run.name.clone()).collect(),
        run: corpus
            .failing()
            .next()
            .map_or(String::new(), |run| run.name.clone()),
        failure,
        also_fails: Vec::new(),
        steps: Vec::new(),
        absent: Vec::new(),
        sites: mark.into_iter().collect(),
        edges: Vec::new(),
        region: None,
        invariants: Vec::new(),
        engines: vec!["orders".to_owned()],
        contributions: Vec::new(),
        rank: String::new(),
        confirmed: None,
        executed: None,
        decisive: Vec::new(),
        evidence: None,
        passed_over: Vec::new(),
        ochiai: None,
        progress: None,
        curve: Vec::new(),
        caveats: Vec::new(),
        fixes: Vec::new(),
        not_fixed: Vec::new(),
    }
}
