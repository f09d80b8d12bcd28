//! The figures and scenarios of LOCON as traces, and the incremental state against a fresh one.

use super::*;
use crate::{
    Corpus, CorpusKey, RunSummary,
    fixture::{corpus, feasible},
    orders::Accesses,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::sync::Arc;
use unsnarl_trace::{EventId, Outcome};

/// What the procedures say about the failing run, a line each.
fn check(passing: &[&str], failing: &str, expected: Expect) {
    let corpus = corpus(passing, &[failing]);
    let summary = corpus.failing().next().unwrap();
    let run = summary.run.as_ref().unwrap();
    let access = |row: EventId| {
        let event = run.events.get(row).unwrap();
        let letter = AccessClass::of(event.kind).unwrap().letter();
        format!(
            "{letter} {}@{}",
            run.location(event.location),
            run.meta.site(event.site).line
        )
    };
    let mut lines = Vec::new();
    for pair in procedure_one(run, &summary.pairs, corpus.counts()) {
        lines.push(format!(
            "I   {} -> {}\n",
            access(pair.head),
            access(pair.tail)
        ));
    }
    for missing in procedure_two(&summary.pairs, corpus.counts()) {
        let side = |key| {
            let site = corpus.counts().site(key).unwrap();
            format!(
                "{} {}@{}",
                site.class.letter(),
                corpus.counts().location(missing.original),
                site.place.line
            )
        };
        let reversed = missing.reversed();
        lines.push(format!(
            "II  {} -> {}\n",
            side(reversed.head),
            side(reversed.tail)
        ));
    }
    for (couple, runs) in procedure_three(run, &Accesses::new(run), corpus.counts()) {
        if runs > 0 {
            continue;
        }
        let dependency =
            |d: crate::orders::Dependency| format!("{} -> {}", access(d.head), access(d.tail));
        lines.push(format!(
            "III {} with {}\n",
            dependency(couple.first),
            dependency(couple.second)
        ));
    }
    expected.assert_eq(&lines.concat());
}

#[test]
fn figure_1_transmission() {
    check(
        &["main.1 W bandwidth @10\nmain.2 R bandwidth @20\nmain.2 R limit @21\nmain.1 W limit @12"],
        "main.2 R bandwidth @20\nmain.2 fails @20",
        expect![[r#"
            II  R bandwidth@20 -> W bandwidth@10
            II  W limit@12 -> R limit@21
        "#]],
    );
}

#[test]
fn figure_3_the_predictable_pair_hides_its_inner_one() {
    let passing = "main.1 W x @1\nmain.1 R y @2\nmain.2 W y @3\nmain.2 R x @4";
    check(
        &[passing],
        "main.2 W y @3\nmain.2 R x @4\nmain.1 W x @1\nmain.1 R y @2\nmain.1 fails @2",
        expect![[r#"
            I   W y@3 -> R y@2
            II  W y@3 -> R y@2
            II  R x@4 -> W x@1
        "#]],
    );
}

#[test]
fn order_1_premature_write() {
    check(
        &["main.2 R x @20\nmain.1 W x @10"],
        "main.1 W x @10\nmain.2 R x @20\nmain.2 fails @20",
        expect![[r#"
            I   W x@10 -> R x@20
            II  W x@10 -> R x@20
        "#]],
    );
}

#[test]
fn order_2_late_write_that_still_came() {
    check(
        &["main.2 W x @20\nmain.1 R x @10"],
        "main.1 R x @10\nmain.2 W x @20\nmain.1 fails @10",
        expect![[r#"
            I   R x@10 -> W x@20
            II  R x@10 -> W x@20
        "#]],
    );
}

#[test]
fn order_2_late_write_that_never_came() {
    check(
        &["main.2 W x @20\nmain.1 R x @10"],
        "main.1 R x @10\nmain.1 fails @10",
        expect![[r#"
            II  R x@10 -> W x@20
        "#]],
    );
}

#[test]
fn order_3_first_write_covered() {
    check(
        &["main.2 W x @20\nmain.1 W x @10"],
        "main.1 W x @10\nmain.2 W x @20\nmain.2 fails @21",
        expect![[r#"
            I   W x@10 -> W x@20
            II  W x@10 -> W x@20
        "#]],
    );
}

#[test]
fn atomicity_4_write_write_read() {
    check(
        &[
            "main.1 W x @10\nmain.1 R x @11\nmain.2 W x @20",
            "main.2 W x @20\nmain.1 W x @10\nmain.1 R x @11",
        ],
        "main.1 W x @10\nmain.2 W x @20\nmain.1 R x @11\nmain.1 fails @11",
        expect![[r#"
            I   W x@10 -> W x@20
            I   W x@20 -> R x@11
        "#]],
    );
}

#[test]
fn atomicity_5_read_write_write() {
    check(
        &[
            "main.1 R x @10\nmain.1 W x @11\nmain.2 W x @20",
            "main.2 W x @20\nmain.1 R x @10\nmain.1 W x @11",
        ],
        "main.1 R x @10\nmain.2 W x @20\nmain.1 W x @11\nmain.1 fails @12",
        expect![[r#"
            I   R x@10 -> W x@20
            I   W x@20 -> W x@11
        "#]],
    );
}

#[test]
fn atomicity_6_read_write_read() {
    check(
        &[
            "main.1 R x @10\nmain.1 R x @11\nmain.2 W x @20",
            "main.2 W x @20\nmain.1 R x @10\nmain.1 R x @11",
        ],
        "main.1 R x @10\nmain.2 W x @20\nmain.1 R x @11\nmain.1 fails @11",
        expect![[r#"
            I   R x@10 -> W x@20
            I   W x@20 -> R x@11
        "#]],
    );
}

#[test]
fn atomicity_7_write_read_write() {
    check(
        &[
            "main.1 W x @10\nmain.1 W x @11\nmain.2 R x @20",
            "main.2 R x @20\nmain.1 W x @10\nmain.1 W x @11",
        ],
        "main.1 W x @10\nmain.2 R x @20\nmain.1 W x @11\nmain.2 fails @20",
        expect![[r#"
            I   W x@10 -> R x@20
            I   R x@20 -> W x@11
        "#]],
    );
}

/// Row 10 of Table 1, third case: the reader fails before the second write.
const BOTH_NEW: &str = "main.1 W x @1\nmain.1 W y @2\nmain.2 R x @3\nmain.2 R y @4";
const BOTH_OLD: &str = "main.2 R x @3\nmain.2 R y @4\nmain.1 W x @1\nmain.1 W y @2";

#[test]
fn multi_variable_10_partially_missing() {
    check(
        &[BOTH_NEW, BOTH_OLD],
        "main.1 W x @1\nmain.2 R x @3\nmain.2 R y @4\nmain.2 fails @4",
        expect![[r#"
            II  R y@4 -> W y@2
        "#]],
    );
}

#[test]
fn multi_variable_10_coupled() {
    check(
        &[BOTH_NEW, BOTH_OLD],
        "main.1 W x @1\nmain.2 R x @3\nmain.2 R y @4\nmain.1 W y @2\nmain.2 fails @5",
        expect![[r#"
            II  W x@1 -> R x@3
            II  R y@4 -> W y@2
            III W x@1 -> R x@3 with R y@4 -> W y@2
        "#]],
    );
}

#[test]
fn nothing_to_say_when_the_failing_run_is_like_the_passing_ones() {
    check(
        &[BOTH_NEW, BOTH_OLD],
        &format!("{BOTH_NEW}\nmain.2 fails @5"),
        expect![[r#""#]],
    );
}

#[test]
fn one_event_and_no_passing_run() {
    check(&[], "main W x @1\nmain fails @1", expect![[r#""#]]);
}

/// A summary of a random run.
fn summary(name: &str, mut run: unsnarl_trace::Run, passes: bool) -> RunSummary {
    run.meta.outcome = if passes {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    RunSummary::new(name, Arc::new(run))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Taking a run out leaves what would be there without it.
    #[test]
    fn counts_are_incremental(runs in proptest::collection::vec(feasible(60), 2..6), gone in 0usize..6) {
        let names: Vec<String> = (0..runs.len()).map(|i| format!("run-{i}")).collect();
        let mut corpus = Corpus::new(CorpusKey::default());
        for (name, run) in names.iter().zip(&runs) {
            corpus.insert(summary(name, run.clone(), true));
        }
        let gone = gone % runs.len();
        corpus.remove(&names[gone]);
        let mut fresh = Corpus::new(CorpusKey::default());
        for (i, (name, run)) in names.iter().zip(&runs).enumerate().rev() {
            if i != gone { fresh.insert(summary(name, run.clone(), true)); }
        }
        let sorted = |corpus: &Corpus| {
            let mut pairs: Vec<_> = corpus.counts().pairs().map(|(key, stats)| (key, stats.runs, stats.signature, stats.places)).collect();
            pairs.sort();
            pairs
        };
        prop_assert_eq!(sorted(&corpus), sorted(&fresh));
        prop_assert_eq!(corpus.counts().passing(), fresh.counts().passing());
    }

    /// Both procedures against Algorithms 1 (step 1) and 2 taken literally.
    #[test]
    fn procedures_are_the_algorithms(runs in proptest::collection::vec(feasible(60), 2..6)) {
        let mut corpus = Corpus::new(CorpusKey::default());
        for (i, run) in runs.iter().enumerate() {
            corpus.insert(summary(&format!("run-{i}"), run.clone(), i > 0));
        }
        let failing = corpus.failing().next().unwrap();
        let passing: Vec<&RunPairs> = corpus.passing().map(|run| &*run.pairs).collect();
        let only: Vec<PairKey> = failing.pairs.pairs.iter().map(|p| p.key).filter(|key| passing.iter().all(|run| run.find(*key).is_none())).collect();
        let found = procedure_one(failing.run.as_ref().unwrap(), &failing.pairs, corpus.counts());
        prop_assert!(found.iter().all(|pair| only.contains(&pair.key)));
        prop_assert_eq!(found.is_empty(), only.is_empty());

        let mut expected = literal_two(&failing.pairs, &passing, &corpus);
        let mut found: Vec<PairKey> = procedure_two(&failing.pairs, corpus.counts()).iter().map(MissingPair::reversed).collect();
        expected.sort();
        expected.dedup();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}

/// Algorithm 2 as printed, quadratic.
fn literal_two(failing: &RunPairs, passing: &[&RunPairs], corpus: &Corpus) -> Vec<PairKey> {
    let mut all: Vec<PairKey> = passing
        .iter()
        .flat_map(|run| run.pairs.iter().map(|p| p.key))
        .collect();
    all.sort();
    all.dedup();
    let has = |run: &RunPairs, key: PairKey| run.find(key).is_some();
    let always: Vec<PairKey> = all
        .iter()
        .copied()
        .filter(|key| passing.iter().all(|run| has(run, *key)))
        .collect();
    let mut found: Vec<PairKey> = always
        .iter()
        .copied()
        .filter(|key| !has(failing, *key))
        .map(PairKey::reversed)
        .collect();
    for i in all.iter().copied().filter(|key| !always.contains(key)) {
        for j in all.iter().copied().filter(|key| !always.contains(key)) {
            let variables = corpus.counts().location(i) != corpus.counts().location(j);
            let coupled = passing.iter().all(|run| has(run, i) == has(run, j));
            if variables && coupled && has(failing, i) && !has(failing, j) {
                found.push(j.reversed());
            }
        }
    }
    found
}
