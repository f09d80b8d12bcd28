//! Proposals of the engines for small runs.

use super::*;
use crate::{CorpusKey, fixture::run};
use std::collections::BTreeSet;

/// `work` reads and writes `hits` and then `done`; nothing orders the two that do so.
fn text(order: &[(u8, u32)], end: &str) -> String {
    let steps = order.iter().map(|(who, line)| {
        let (kind, what) = match line {
            10 => ("R", "hits"),
            11 => ("W", "hits"),
            12 => ("R", "done"),
            _ => ("W", "done"),
        };
        format!("main.{who} {kind} {what} =0 @{line} work\n")
    });
    let steps: String = steps.collect();
    format!(
        "main fork main.1 @40\nmain fork main.2 @41\n{steps}main join main.1 @42\nmain join main.2 @43\n\
         main R hits =0 @44\n{end}"
    )
}

fn whole(who: u8) -> [(u8, u32); 4] {
    [10, 11, 12, 13].map(|line| (who, line))
}

/// A corpus of six runs that pass and one that fails, and its runs.
fn recorded() -> (Corpus, Vec<(String, Arc<Run>)>) {
    let passing = text(&[whole(1), whole(2)].concat(), "");
    let lost = [
        (1, 10),
        (2, 10),
        (1, 11),
        (2, 11),
        (1, 12),
        (2, 12),
        (1, 13),
        (2, 13),
    ];
    let failing = text(&lost, "main fails @44");
    let mut runs: Vec<(String, Arc<Run>)> = (0..6)
        .map(|at| (format!("passed-{at}"), Arc::new(run(&passing))))
        .collect();
    runs.push(("failed-0".to_owned(), Arc::new(run(&failing))));
    let mut corpus = Corpus::new(CorpusKey::default());
    for (name, run) in &runs {
        corpus.insert(RunSummary::new(name.clone(), run.clone()));
    }
    (corpus, runs)
}

/// The engines that follow no values, for a corpus and its runs.
fn comparing<'a>(corpus: &'a Corpus, runs: &'a [(String, Arc<Run>)]) -> Proposers<'a> {
    Proposers::new(Material { corpus, runs }, Vec::new())
}

/// Proposals of an engine for the failing run, given decisive steps.
fn proposed(name: &str, decisive: &[EventId]) -> Vec<Explanation> {
    let (corpus, runs) = recorded();
    let proposers = comparing(&corpus, &runs);
    let summary = corpus.get("failed-0").unwrap();
    let view = View::new(&corpus, summary).unwrap();
    let failing = Failing {
        decisive,
        ..Failing::new(&proposers.material, &view, vec![summary])
    };
    let engine = proposers.all().find(|one| one.name() == name).unwrap();
    engine.propose(&failing, &Budget::unlimited())
}

/// The lines that explanations blame, in the order of their steps.
fn lines(found: &[Explanation]) -> Vec<Vec<u32>> {
    let blamed = |one: &Explanation| {
        let rows = super::super::turned::blamed(one).into_iter();
        rows.map(|blamed| blamed.step.place.line).collect()
    };
    found.iter().map(blamed).collect()
}

#[test]
fn every_engine_is_in_the_list_once() {
    let (corpus, _) = recorded();
    let proposers = Proposers::comparing(&corpus);
    let names: Vec<&str> = proposers.all().map(|engine| engine.name()).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len());
    let wanted = ["orders", "pairs", "mining", "predict", "decisive"];
    assert_eq!(different, wanted.into());
}

#[test]
fn engines_name_themselves() {
    for name in ["orders", "pairs", "mining", "predict", "decisive"] {
        let found = proposed(name, &[EventId(3)]);
        assert!(!found.is_empty(), "{name} proposes nothing");
        for one in found {
            assert_eq!(one.engines, [name], "{}", one.headline);
            assert_eq!(one.run, "failed-0");
        }
    }
}

#[test]
fn an_anomaly_of_a_passing_run_is_proposed_where_the_failing_run_has_it() {
    let found = lines(&proposed("predict", &[]));
    // Both read before one of them writes: the passing run has them one after the other.
    assert!(found.contains(&vec![10, 11]), "{found:?}");
}

#[test]
fn orders_around_a_decisive_step_are_proposed() {
    assert_eq!(proposed("decisive", &[]), []);
    // main.2 reads `hits`.
    let found = lines(&proposed("decisive", &[EventId(3)]));
    assert!(!found.is_empty());
    let is_hits = |of: &Vec<u32>| of.iter().all(|line| [10, 11].contains(line));
    assert!(found.iter().all(is_hits), "{found:?}");
    // What is half of an interruption may be all that matters.
    let halves = found.iter().filter(|of| of.len() == 2);
    assert!(halves.count() > 0, "{found:?}");
}

#[test]
fn nothing_is_proposed_twice() {
    let (corpus, runs) = recorded();
    let proposers = comparing(&corpus, &runs);
    let budget = Budget::unlimited();
    let told = crate::explain(&corpus, &budget).findings.remove(0);
    let steps: Vec<EventId> = (2..10).map(EventId).collect();
    let mut proposals = proposers.instead_of(&told, &steps);
    let engines = proposers.all();
    let all: Vec<Explanation> = engines
        .flat_map(|engine| proposals.by(engine, &budget))
        .collect();
    for (at, one) in all.iter().enumerate() {
        assert!(!one.blames_as(&told), "{}", one.headline);
        assert!(
            all[..at].iter().all(|known| !known.blames_as(one)),
            "{}",
            one.headline
        );
        assert_eq!(one.runs, told.runs);
    }
    let by: BTreeSet<&str> = all.iter().map(|one| one.engines[0].as_str()).collect();
    assert!(by.len() > 1, "{by:?}");
}

/// Proposals of an engine beyond the number that is asked for stay new: another one may have better reasons for them.
#[test]
fn what_was_not_returned_is_proposed_by_the_next() {
    let (corpus, runs) = recorded();
    let proposers = comparing(&corpus, &runs);
    let budget = Budget::unlimited();
    let told = crate::explain(&corpus, &budget).findings.remove(0);
    let steps: Vec<EventId> = (2..10).map(EventId).collect();
    let decisive = proposers
        .all()
        .find(|one| one.name() == "decisive")
        .unwrap();
    let all = proposers.instead_of(&told, &steps).by(decisive, &budget);
    let mut proposals = proposers.instead_of(&told, &steps);
    let first = proposals.first_by(decisive, 1, &budget);
    assert!(first.len() == 1 && all.len() > 1);
    let rest = proposals.by(decisive, &budget);
    assert_eq!([first, rest].concat(), all);
}
