//! Tests of which runs an explanation keeps: those that fail otherwise are told apart, those of another part of the same
//! cause are taken over.

use super::{absorbed::absorbed, apart::told_apart};
use std::sync::Arc;
use unsnarl_core::{
    Budget, Certainty, Corpora, Corpus, Explanation, Role, RunSummary,
    diagnosis::{Evidence, FailingShare},
    explain::{Proposers, explain, set_apart},
};
use unsnarl_trace::{Run, script};

const BEGIN: &str =
    "start main.1 add\nstart main.2 add\nmain fork main.1 @40 main\nmain fork main.2 @41 main\n";

fn line(name: &str) -> u32 {
    match name {
        "hits" => 10,
        _ => 11,
    }
}

/// An update by a thread, with what another one does in between.
fn update(name: &str, between: &str) -> String {
    let line = line(name);
    format!("main.1 R {name} =0 @{line} add\n{between}main.1 W {name} =1 @{line} add\n")
}

fn other(name: &str, old: u32) -> String {
    let (line, new) = (line(name), old + 1);
    format!("main.2 R {name} ={old} @{line} add\nmain.2 W {name} ={new} @{line} add\n")
}

fn lost(name: &str) -> String {
    update(name, &other(name, 0))
}

fn fine(name: &str) -> String {
    update(name, "") + &other(name, 1)
}

fn run(hits: &str, sum: &str, ends: [u32; 2]) -> String {
    let looks = format!(
        "main R hits ={} @44 main\nmain R sum ={} @44 main\n",
        ends[0], ends[1]
    );
    let ending = match ends {
        [2, 2] => "",
        _ => "main fails @44 main\n",
    };
    [BEGIN, hits, sum, &looks, ending].concat()
}

/// Passing runs, and failing ones in which these updates were lost.
fn runs(failing: &[[bool; 2]]) -> Vec<(String, Arc<Run>)> {
    let text = |[hits, sum]: [bool; 2]| {
        let of = |is_lost: bool, name| if is_lost { lost(name) } else { fine(name) };
        let ends = [hits, sum].map(|is_lost| 2 - u32::from(is_lost));
        run(&of(hits, "hits"), &of(sum, "sum"), ends)
    };
    let passed = (0..12).map(|at| (format!("passed-{at}"), text([false, false])));
    let failed = failing.iter().enumerate();
    let failed = failed.map(|(at, lost)| (format!("failed-{at}"), text(*lost)));
    let parsed =
        |(name, text): (String, String)| (name, Arc::new(script::parse(&text).expect("a run")));
    passed.chain(failed).map(parsed).collect()
}

fn corpora(runs: &[(String, Arc<Run>)]) -> Corpora {
    let mut corpora = Corpora::default();
    for (name, run) in runs {
        corpora.insert(RunSummary::new(name.clone(), run.clone()));
    }
    corpora
}

/// The explanation that is told of a variable.
fn told(corpus: &Corpus, name: &str) -> Explanation {
    let found = explain(corpus, &Budget::unlimited()).findings;
    let mut found = found.into_iter();
    let is_it = |one: &Explanation| one.headline.contains(name);
    found.find(is_it).expect("an explanation")
}

#[test]
fn most_of_the_runs_fail_for_another_reason() {
    let runs = runs(&[[true, false], [false, true], [false, true]]);
    let corpora = corpora(&runs);
    let corpus = corpora.iter().next().expect("a corpus");
    let budget = Budget::unlimited();
    let mut told = told(corpus, "hits");
    told.runs = (0..3).map(|at| format!("failed-{at}")).collect();
    set_apart(&mut told, &runs);
    let proposers = Proposers::comparing(corpus);
    let other = told_apart(&mut told, &proposers, &runs, &budget).expect("another one");
    assert!(other.headline.contains("sum"), "{}", other.headline);
    assert_eq!(other.runs, ["failed-1", "failed-2"]);
    assert_eq!(told.runs, ["failed-0"]);
    assert!(told_apart(&mut told, &proposers, &runs, &budget).is_none());
}

/// An explanation of the lost updates of `hits`, confirmed, and one of `sum` in so many runs, in which both were lost.
fn left(both: usize) -> Vec<usize> {
    left_of(both, Certainty::Confirmed)
}

/// The same where the explanation of `sum` is so certain.
fn left_of(both: usize, certainty: Certainty) -> Vec<usize> {
    let failing: Vec<[bool; 2]> = [[true, false]; 4]
        .into_iter()
        .chain(vec![[true, true]; both])
        .collect();
    let runs = runs(&failing);
    let apart = [[[false, true]; 4].as_slice(), &failing].concat();
    let others = self::runs(&apart);
    let (own, other) = (corpora(&runs), corpora(&others));
    let corpus = own.iter().next().expect("a corpus");
    let names = |from: usize, to: usize| (from..to).map(|at| format!("failed-{at}")).collect();
    let share = |fails| FailingShare {
        fails,
        of: 30,
        orders: 30,
    };
    let hits = Explanation {
        certainty: Certainty::Confirmed,
        evidence: Some(Evidence {
            with: share(20),
            without: share(0),
        }),
        runs: names(0, 4),
        ..told(corpus, "hits")
    };
    let sum = Explanation {
        certainty,
        runs: names(4, 4 + both),
        ..told(other.iter().next().expect("a corpus"), "sum")
    };
    let all = absorbed(vec![hits, sum], &runs);
    all.iter().map(|one| one.runs.len()).collect()
}

#[test]
fn runs_that_all_have_what_is_blamed_are_taken_over() {
    assert_eq!(left(4), [8]);
}

#[test]
fn few_runs_may_have_it_by_chance() {
    assert_eq!(left(2), [4, 2]);
    assert_eq!(left_of(2, Certainty::Likely), [6]);
    assert_eq!(left_of(1, Certainty::Likely), [4, 1]);
}

/// The same causes on the same variable, met on another line in another run.
#[test]
fn one_cause_that_is_met_elsewhere_is_told_once() {
    let runs = runs(&[[true, false]]);
    let corpora = corpora(&runs);
    let hits = told(corpora.iter().next().expect("a corpus"), "hits");
    let moved = |role: Role| {
        let mut other = hits.clone();
        (other.id, other.runs) = ("other".to_owned(), vec!["failed-9".to_owned()]);
        let mut marks = other.sites.iter_mut();
        let mark = marks.find(|mark| mark.role == role).expect("a mark");
        mark.place.line += 1;
        other
    };
    let once = absorbed(vec![hits.clone(), moved(Role::Interference)], &runs);
    assert_eq!(once.len(), 1);
    assert_eq!(once[0].runs, ["failed-0", "failed-9"]);
    let apart = absorbed(vec![hits.clone(), moved(Role::Cause)], &runs);
    assert_eq!(apart.len(), 2);
}
