//! Failures that do not depend on the schedule.

use super::{ORDERS, deadlock::deadlock, proposers::name_orders, returned::nearest, view::View};
use crate::{
    corpus::{Corpus, RunSummary},
    explanation::{BugKind, Certainty, Explanation, Role, SiteMark},
    facts::short,
    render,
};
use std::collections::BTreeSet;
use unsnarl_trace::{Outcome, RunScope};

/// Number of different orders that have to fail before a failure counts as sequential.
const ENOUGH: usize = 20;

/// Number of runs that have to fail where there are fewer orders and nothing else explains them: as many as an
/// experiment draws.
const ENOUGH_RUNS: usize = 30;

/// Explains that the program fails in every order; none when a run passed or too few orders were seen.
pub(super) fn sequential(corpus: &Corpus) -> Option<Explanation> {
    let orders = orders(corpus);
    if orders < ENOUGH || !is_one_failure(corpus) {
        return None;
    }
    seen_in_shortest(corpus, orders).or_else(|| {
        note(
            corpus,
            &format!("fails in every one of {orders} different orders"),
        )
    })
}

/// The failure as the shortest run shows it, whatever the orders were: the waits at the end of a run that hangs, or a local that
/// was used after its function had returned.
fn seen_in_shortest(corpus: &Corpus, orders: usize) -> Option<Explanation> {
    let shortest = corpus.failing().min_by_key(|run| (run.events, &run.name))?;
    let _scope = RunScope::enter(&shortest.name);
    let view = View::new(corpus, shortest)?;
    let (mut told, remark) = if shortest.outcome == Outcome::Deadlocked {
        let remark = format!(
            "The program hangs in every one of {orders} different orders: this does not depend on the schedule."
        );
        (deadlock(&view)?.explanation, remark)
    } else {
        let told = Explanation {
            certainty: Certainty::Likely,
            ..nearest(&view)?
        };
        (
            told,
            format!("The program fails in every one of {orders} different orders."),
        )
    };
    name_orders(&view, &mut told);
    told.runs = corpus.failing().map(|run| run.name.clone()).collect();
    told.remark_last(&remark);
    Some(told)
}

/// The same where other explanations were looked for in vain: the program fails before it has a second thread, or in
/// many runs of few orders.
pub(super) fn in_few_orders(corpus: &Corpus) -> Option<Explanation> {
    if !is_one_failure(corpus) {
        return None;
    }
    if corpus.failing().all(is_alone) {
        return note(corpus, "fails before a second thread has done anything");
    }
    let runs = corpus.failing().count();
    let told = match orders(corpus) {
        1 => {
            format!("fails in all {runs} recorded runs, which have one order of conflicting steps")
        }
        orders => format!("fails in all {runs} recorded runs, in {orders} different orders"),
    };
    (runs >= ENOUGH_RUNS).then(|| note(corpus, &told))?
}

fn orders(corpus: &Corpus) -> usize {
    let orders: BTreeSet<u64> = corpus.failing().map(|run| run.order).collect();
    orders.len()
}

/// Returns whether all runs fail, and in the same way.
fn is_one_failure(corpus: &Corpus) -> bool {
    let way = |run: &RunSummary| {
        let failure = run.failure.as_ref();
        let place = failure.map(|it| (it.site.clone(), it.message.clone()));
        (place, run.outcome)
    };
    let mut ways = corpus.failing().map(way);
    let first = ways.next();
    corpus.passing().next().is_none() && ways.all(|other| Some(&other) == first.as_ref())
}

/// Returns whether one thread has all steps of a run.
fn is_alone(run: &RunSummary) -> bool {
    run.run.as_ref().is_some_and(|run| {
        let mut threads = run.events.iter().map(|(_, event)| event.thread);
        let first = threads.next();
        threads.all(|other| Some(other) == first)
    })
}

fn note(corpus: &Corpus, told: &str) -> Option<Explanation> {
    let failure = corpus.failing().next()?.failure.clone()?;
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
    let is_assertion = failure.message.starts_with("assertion");
    let what = if is_assertion {
        "the assertion"
    } else {
        "the program"
    };
    let detail = format!("Each run ends with: {}.", render::failure(&failure));
    Some(Explanation {
        id: format!(
            "{:08x}",
            crate::pairs::Fnv::of(&format!("sequential{at}{}", failure.message)) as u32
        ),
        kind: BugKind::Sequential,
        headline: format!("{what}{at} {told}: this does not depend on the schedule"),
        detail,
        remark: String::new(),
        contrast: String::new(),
        claims: Vec::new(),
        certainty: Certainty::Likely,
        runs: corpus.failing().map(|run| run.name.clone()).collect(),
        runs_without: Vec::new(),
        runs_mirrored: Vec::new(),
        run: corpus
            .failing()
            .next()
            .map_or(String::new(), |run| run.name.clone()),
        failure,
        also_fails: Vec::new(),
        steps: Vec::new(),
        absent: Vec::new(),
        gone: None,
        sites: mark.into_iter().collect(),
        edges: Vec::new(),
        region: None,
        invariants: Vec::new(),
        perturbed: None,
        engines: vec![ORDERS.to_owned()],
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
        by_comparison: false,
        takes_spurious_wakeup: false,
        caveats: Vec::new(),
        fixes: Vec::new(),
        not_fixed: Vec::new(),
        advice: None,
    })
}
