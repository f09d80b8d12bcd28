//! Tests of the figures and scenarios of LOCON as traces, and of the incremental state against a fresh one.

use super::{procedure_three::candidates, *};
use crate::{
    Budget, Corpus, CorpusKey, RunSummary, StopReason,
    fixture::{corpus, feasible},
    orders::{Accesses, Dependency, dependencies},
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::sync::Arc;
use unsnarl_trace::{
    Event, EventId, EventKind, Events, FrameRow, IndexVec, LocationId, Outcome, Run, SiteId,
    SiteRow, StackId, ThreadId, ThreadRow,
};

/// The results of every procedure for the failing run, a line each.
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
    let known = |key, pair| {
        let site = corpus.counts().site(key).unwrap();
        let location = corpus.counts().location(pair);
        format!("{} {location}@{}", site.class.letter(), site.place.line)
    };
    let mut lines = Vec::new();
    for procedure in Procedure::ORDER {
        let found = localize(&corpus, summary, procedure, &Budget::unlimited());
        assert_eq!(found.stopped, StopReason::Complete);
        for reported in found.reported {
            let text = match reported {
                Reported::Seen(pair) => format!("{} -> {}", access(pair.head), access(pair.tail)),
                Reported::Missing(pair) => format!(
                    "{} -> {}",
                    known(pair.reversed().head, pair.original),
                    known(pair.reversed().tail, pair.original)
                ),
                Reported::Couple(Couple { first, second }) => format!(
                    "{} -> {} with {} -> {}",
                    access(first.head),
                    access(first.tail),
                    access(second.head),
                    access(second.tail)
                ),
            };
            lines.push(format!("{:8} {text}\n", procedure.name()));
        }
    }
    expected.assert_eq(&lines.concat());
}

/// Interleaves two threads: `1` is the next step of the first, `2` of the second, `!` its failure.
fn interleaved(threads: [&[&str]; 2], order: &str) -> String {
    let mut steps = threads.map(|steps| steps.iter());
    let (mut lines, mut last) = (Vec::new(), 0);
    for step in order.chars() {
        last = match step {
            '1' => 0,
            '2' => 1,
            _ => {
                lines.push(format!("main.{} fails @99", last + 1));
                continue;
            }
        };
        lines.push(format!("main.{} {}", last + 1, steps[last].next().unwrap()));
    }
    lines.join("\n")
}

/// A row of Table 1: two threads, the orders of its passing runs and that of the failing one.
fn row(threads: [&[&str]; 2], passing: &[&str], failing: &str, expected: Expect) {
    let passing: Vec<String> = passing
        .iter()
        .map(|order| interleaved(threads, order))
        .collect();
    let passing: Vec<&str> = passing.iter().map(String::as_str).collect();
    check(&passing, &interleaved(threads, failing), expected);
}

#[test]
fn figure_1_transmission() {
    check(
        &["main.1 W bandwidth @10\nmain.2 R bandwidth @20\nmain.2 R limit @21\nmain.1 W limit @12"],
        "main.2 R bandwidth @20\nmain.2 fails @20",
        expect![[r#"
            II       R bandwidth@20 -> W bandwidth@10
            II       W limit@12 -> R limit@21
        "#]],
    );
}

#[test]
fn figure_3_the_predictable_pair_hides_its_inner_one() {
    let (first, second) = (&["W x @1", "R y @2"][..], &["W y @3", "R x @4"][..]);
    // FRun1 of the figure, then FRun2.
    row(
        [first, second],
        &["1122"],
        "1221!",
        expect![[r#"
        I        W y@3 -> R y@2
        II       W y@3 -> R y@2
    "#]],
    );
    row(
        [first, second],
        &["1122"],
        "2211!",
        expect![[r#"
        I        W y@3 -> R y@2
        II       W y@3 -> R y@2
        II       R x@4 -> W x@1
    "#]],
    );
}

#[test]
fn figure_4_only_loops_tell_the_iterations_apart() {
    let threads: [&[&str]; 2] = [
        &["W x @2", "W y @3", "W x @2", "W y @3"],
        &["R x @5", "R y @6"],
    ];
    row(
        threads,
        &["221111", "112211", "111122"],
        "211211!",
        expect![[r#"
            II       R x@5 -> W x@2
            III-loop R x@5 -> W x@2 with W y@3 -> R y@6
        "#]],
    );
}

#[test]
fn figure_6_mysql_two_variables_found_by_procedure_one() {
    let (name, log) = ("log_file_name", "cur_log");
    let reader = [format!("R {name} @2"), format!("R {log} @3")];
    let writer = [format!("W {name} @8"), format!("W {log} @9")];
    let threads = [
        &[reader[0].as_str(), &reader[1]][..],
        &[writer[0].as_str(), &writer[1]][..],
    ];
    // If the writer is first, the reader sees another name and does not read the log.
    row(
        threads,
        &["1122", "221"],
        "1221!",
        expect![[r#"
        I        W cur_log@9 -> R cur_log@3
        II       W cur_log@9 -> R cur_log@3
    "#]],
    );
}

/// A premature write.
#[test]
fn scenario_01_order_write_read() {
    let threads: [&[&str]; 2] = [&["W x @1"], &["R x @2"]];
    row(
        threads,
        &["21"],
        "12!",
        expect![[r#"
        I        W x@1 -> R x@2
        II       W x@1 -> R x@2
    "#]],
    );
}

/// A late write, which came or did not.
#[test]
fn scenario_02_order_read_write() {
    let threads: [&[&str]; 2] = [&["R x @1"], &["W x @2"]];
    row(
        threads,
        &["21"],
        "12!",
        expect![[r#"
        I        R x@1 -> W x@2
        II       R x@1 -> W x@2
    "#]],
    );
    // The read ended the run.
    row(
        threads,
        &["21"],
        "1!",
        expect![[r#"
        II       R x@1 -> W x@2
    "#]],
    );
}

/// The first write is covered by the second.
#[test]
fn scenario_03_order_write_write() {
    let threads: [&[&str]; 2] = [&["W x @1"], &["W x @2"]];
    row(
        threads,
        &["21"],
        "12!",
        expect![[r#"
        I        W x@1 -> W x@2
        II       W x@1 -> W x@2
    "#]],
    );
}

/// The first write is overwritten.
#[test]
fn scenario_04_one_variable_write_write_read() {
    let threads: [&[&str]; 2] = [&["W x @1", "R x @3"], &["W x @2"]];
    row(
        threads,
        &["112", "211"],
        "121!",
        expect![[r#"
        I        W x@1 -> W x@2
        I        W x@2 -> R x@3
    "#]],
    );
}

/// The write in between is lost.
#[test]
fn scenario_05_one_variable_read_write_write() {
    let threads: [&[&str]; 2] = [&["R x @1", "W x @3"], &["W x @2"]];
    row(
        threads,
        &["112", "211"],
        "121!",
        expect![[r#"
        I        R x@1 -> W x@2
        I        W x@2 -> W x@3
    "#]],
    );
}

/// Two reads that differ.
#[test]
fn scenario_06_one_variable_read_write_read() {
    let threads: [&[&str]; 2] = [&["R x @1", "R x @3"], &["W x @2"]];
    row(
        threads,
        &["112", "211"],
        "121!",
        expect![[r#"
        I        R x@1 -> W x@2
        I        W x@2 -> R x@3
    "#]],
    );
}

/// An intermediate value becomes visible.
#[test]
fn scenario_07_one_variable_write_read_write() {
    let threads: [&[&str]; 2] = [&["W x @1", "W x @3"], &["R x @2"]];
    row(
        threads,
        &["112", "211"],
        "121!",
        expect![[r#"
        I        W x@1 -> R x@2
        I        R x@2 -> W x@3
    "#]],
    );
    // The read ended the run.
    row(
        threads,
        &["112", "211"],
        "12!",
        expect![[r#"
        I        W x@1 -> R x@2
    "#]],
    );
}

#[test]
fn scenario_08_read_write_with_write_read() {
    let threads: [&[&str]; 2] = [&["R x @1", "W y @4"], &["W x @2", "R y @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       R x@1 -> W x@2
        II       R y@3 -> W y@4
        III-pc   R x@1 -> W x@2 with R y@3 -> W y@4
        III-tid  R x@1 -> W x@2 with R y@3 -> W y@4
        III-loop R x@1 -> W x@2 with R y@3 -> W y@4
    "#]],
    );
    // The other interleaving.
    row(
        threads,
        &["1122", "2211"],
        "2112!",
        expect![[r#"
        II       W x@2 -> R x@1
        II       W y@4 -> R y@3
        III-pc   W x@2 -> R x@1 with W y@4 -> R y@3
        III-tid  W x@2 -> R x@1 with W y@4 -> R y@3
        III-loop W x@2 -> R x@1 with W y@4 -> R y@3
    "#]],
    );
    // A read of `y` ended the run.
    row(
        threads,
        &["1122", "2211"],
        "122!",
        expect![[r#"
        II       R y@3 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_09_read_write_with_read_write() {
    let threads: [&[&str]; 2] = [&["R x @1", "W y @4"], &["R y @2", "W x @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       R y@2 -> W y@4
        II       R x@1 -> W x@3
        III-pc   R x@1 -> W x@3 with R y@2 -> W y@4
        III-tid  R x@1 -> W x@3 with R y@2 -> W y@4
        III-loop R x@1 -> W x@3 with R y@2 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_10_writes_with_reads() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["R x @2", "R y @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       W x@1 -> R x@2
        II       R y@3 -> W y@4
        III-pc   W x@1 -> R x@2 with R y@3 -> W y@4
        III-tid  W x@1 -> R x@2 with R y@3 -> W y@4
        III-loop W x@1 -> R x@2 with R y@3 -> W y@4
    "#]],
    );
    // The other interleaving.
    row(
        threads,
        &["1122", "2211"],
        "2112!",
        expect![[r#"
        II       R x@2 -> W x@1
        II       W y@4 -> R y@3
        III-pc   R x@2 -> W x@1 with W y@4 -> R y@3
        III-tid  R x@2 -> W x@1 with W y@4 -> R y@3
        III-loop R x@2 -> W x@1 with W y@4 -> R y@3
    "#]],
    );
    // A read of `y` ended the run.
    row(
        threads,
        &["1122", "2211"],
        "122!",
        expect![[r#"
        II       R y@3 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_11_writes_with_write_read() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["W x @2", "R y @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       W x@1 -> W x@2
        II       R y@3 -> W y@4
        III-pc   W x@1 -> W x@2 with R y@3 -> W y@4
        III-tid  W x@1 -> W x@2 with R y@3 -> W y@4
        III-loop W x@1 -> W x@2 with R y@3 -> W y@4
    "#]],
    );
    // The other interleaving.
    row(
        threads,
        &["1122", "2211"],
        "2112!",
        expect![[r#"
        II       W x@2 -> W x@1
        II       W y@4 -> R y@3
        III-pc   W x@2 -> W x@1 with W y@4 -> R y@3
        III-tid  W x@2 -> W x@1 with W y@4 -> R y@3
        III-loop W x@2 -> W x@1 with W y@4 -> R y@3
    "#]],
    );
    // A read of `y` ended the run.
    row(
        threads,
        &["1122", "2211"],
        "122!",
        expect![[r#"
        II       R y@3 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_12_writes_with_writes() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["W x @2", "W y @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       W x@1 -> W x@2
        II       W y@3 -> W y@4
        III-pc   W x@1 -> W x@2 with W y@3 -> W y@4
        III-tid  W x@1 -> W x@2 with W y@3 -> W y@4
        III-loop W x@1 -> W x@2 with W y@3 -> W y@4
    "#]],
    );
    // The other interleaving.
    row(
        threads,
        &["1122", "2211"],
        "2112!",
        expect![[r#"
        II       W x@2 -> W x@1
        II       W y@4 -> W y@3
        III-pc   W x@2 -> W x@1 with W y@4 -> W y@3
        III-tid  W x@2 -> W x@1 with W y@4 -> W y@3
        III-loop W x@2 -> W x@1 with W y@4 -> W y@3
    "#]],
    );
}

#[test]
fn scenario_13_writes_with_reads_the_other_way() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["R y @2", "R x @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       R y@2 -> W y@4
        II       W x@1 -> R x@3
        III-pc   W x@1 -> R x@3 with R y@2 -> W y@4
        III-tid  W x@1 -> R x@3 with R y@2 -> W y@4
        III-loop W x@1 -> R x@3 with R y@2 -> W y@4
    "#]],
    );
    // The read of `x` ended the run.
    row(
        threads,
        &["1122", "2211"],
        "122!",
        expect![[r#"
        II       R y@2 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_14_writes_with_read_write_the_other_way() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["R y @2", "W x @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       R y@2 -> W y@4
        II       W x@1 -> W x@3
        III-pc   W x@1 -> W x@3 with R y@2 -> W y@4
        III-tid  W x@1 -> W x@3 with R y@2 -> W y@4
        III-loop W x@1 -> W x@3 with R y@2 -> W y@4
    "#]],
    );
}

#[test]
fn scenario_15_writes_with_writes_the_other_way() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["W y @2", "W x @3"]];
    row(
        threads,
        &["1122", "2211"],
        "1221!",
        expect![[r#"
        II       W y@2 -> W y@4
        II       W x@1 -> W x@3
        III-pc   W x@1 -> W x@3 with W y@2 -> W y@4
        III-tid  W x@1 -> W x@3 with W y@2 -> W y@4
        III-loop W x@1 -> W x@3 with W y@2 -> W y@4
    "#]],
    );
}

#[test]
fn nothing_to_say_when_the_failing_run_is_like_the_passing_ones() {
    let threads: [&[&str]; 2] = [&["W x @1", "W y @4"], &["R x @2", "R y @3"]];
    row(threads, &["1122", "2211"], "1122!", expect![[""]]);
}

#[test]
fn one_event_and_no_passing_run() {
    check(&[], "main W x @1\nmain fails @1", expect![[""]]);
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

    /// Removing a run restores the state without it.
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

    /// Both procedures agree with Algorithms 1 (step 1) and 2 taken literally.
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

/// A random run with calls, loops, several sites at one place in the source, and either outcome.
fn varied() -> impl Strategy<Value = Run> {
    let step = (0u16..3, 0u32..9, 1u32..5, 0u8..4, 0u32..4);
    let steps = proptest::collection::vec(step, 0..90);
    (steps, any::<bool>()).prop_map(|(steps, passes)| {
        let event =
            |(seq, (thread, site, location, kind, stack)): (u64, (u16, u32, u32, u8, u32))| Event {
                seq,
                thread: ThreadId(thread),
                kind: [
                    EventKind::Read,
                    EventKind::Write,
                    EventKind::Read,
                    EventKind::Rmw,
                ][usize::from(kind)],
                site: SiteId(site),
                location: LocationId(location),
                size: 4,
                flags: 0,
                value: None,
                old: None,
                stack: StackId(stack),
                point: unsnarl_trace::PointId(0),
            };
        let rows: Vec<Event> = (0..).zip(steps).map(event).collect();
        let mut run = Run {
            locations: (0..5).map(|i| format!("v{i}")).collect(),
            events: Events::from_rows(&rows),
            ..Run::default()
        };
        // Some are one place with two texts.
        let site = |i: u32| SiteRow {
            file: "a.c".to_owned(),
            line: i % 6,
            text: format!("{i}"),
            ..SiteRow::default()
        };
        run.meta.sites = (0..9).map(site).collect();
        run.meta.threads = IndexVec::filled(ThreadRow::default(), 4);
        run.meta.frames = (0..4)
            .map(|i| FrameRow(StackId(i / 2), SiteId(i)))
            .collect();
        run.meta.outcome = if passes {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Columns and ranks give the same result as maps of keys.
    #[test]
    fn collecting_is_the_simple_way(run in varied()) {
        prop_assert_eq!(RunPairs::collect(&run), naive::collect(&run));
    }

    /// Columns and ranks give the same result with synchronization events in between.
    #[test]
    fn collecting_feasible_runs_is_the_simple_way(run in feasible(120)) {
        prop_assert_eq!(RunPairs::collect(&run), naive::collect(&run));
    }
}

/// Two threads write `size` variables one after the other, the second half of them in the opposite direction.
fn straight(size: usize) -> Run {
    let line = |thread: u8, at: usize| {
        format!(
            "main.{thread} W v{at} @{}",
            usize::from(thread) * 10_000 + at
        )
    };
    let there = (0..size).flat_map(|at| [line(1, at), line(2, at)]);
    let back = (size..2 * size).flat_map(|at| [line(2, at), line(1, at)]);
    let lines: Vec<String> = there.chain(back).collect();
    crate::fixture::run(&lines.join("\n"))
}

#[test]
fn straight_code_of_some_length_has_all_its_couples() {
    let pairs = RunPairs::collect(&straight(300));
    assert!(!pairs.couples_cut);
    assert_eq!(pairs.couples.len(), 300 * 300);
}

/// Of more partners than can be examined the nearest ones stay, and the run and its corpus are marked.
#[test]
fn too_many_couples_are_told() {
    let pairs = RunPairs::collect(&straight(1200));
    assert!(pairs.couples_cut);
    assert_eq!(pairs.couples.len(), 200_000);
    let mut corpus = Corpus::new(CorpusKey::default());
    corpus.insert(summary("long", straight(1200), true));
    assert!(!corpus.counts().knows_all_couples());
    corpus.remove("long");
    assert!(corpus.counts().knows_all_couples());
}

/// Algorithm 3, steps 1 and 2, taken literally: all couples of occurrences, compared with all of every run.
fn literal_three(
    failing: &RunSummary,
    passing: &[(Run, &RunPairs)],
    precision: Precision,
) -> Vec<(PairKey, PairKey)> {
    let run = failing.run.as_ref().unwrap();
    let in_some = |key| passing.iter().any(|(_, pairs)| pairs.find(key).is_some());
    let mut found: Vec<(PairKey, PairKey)> = together(run, precision, true)
        .into_iter()
        .filter(|(a, b)| in_some(*a) && in_some(*b))
        .collect();
    for (run, _) in passing {
        let harmless = together(run, precision, false);
        found.retain(|couple| !harmless.contains(couple));
    }
    found
}

/// Pairs that occur together in a run, the smaller key first; in a failing run between two threads always.
fn together(run: &Run, precision: Precision, fails: bool) -> Vec<(PairKey, PairKey)> {
    let mut direct = Vec::new();
    dependencies(run, &Accesses::new(run), |dependency| {
        if dependency.direct {
            direct.push(dependency);
        }
    });
    let loops = Loops::new(run);
    let thread = |row: EventId| run.events.threads()[row.index()];
    let key = |d: &Dependency| PairKey {
        head: access_key(run, d.head),
        tail: access_key(run, d.tail),
    };
    let mut found = Vec::new();
    for a in &direct {
        for b in &direct {
            let back = thread(a.head) == thread(b.tail) && thread(a.tail) == thread(b.head);
            let same = thread(a.head) == thread(b.head) && thread(a.tail) == thread(b.tail);
            let near = |x: EventId, y: EventId| loops.are_together(x.index(), y.index());
            let fits = match precision {
                Precision::Pc => !fails || back || same,
                Precision::Tid => back,
                Precision::Loop => back && near(a.head, b.tail) && near(a.tail, b.head),
            };
            let couple = (key(a), key(b));
            if fits && a.location != b.location && couple.0 < couple.1 {
                found.push(couple);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Procedure III before its last step is the algorithm; the last step leaves some of it.
    #[test]
    fn procedure_three_is_the_algorithm(runs in proptest::collection::vec(feasible(80), 2..6)) {
        let mut corpus = Corpus::new(CorpusKey::default());
        for (i, run) in runs.iter().enumerate() {
            corpus.insert(summary(&format!("run-{i}"), run.clone(), i > 0));
        }
        let failing = corpus.failing().next().unwrap();
        let passing: Vec<(Run, &RunPairs)> = runs.iter().skip(1).cloned().zip(corpus.passing().map(|run| &*run.pairs)).collect();
        let pairs: Vec<&RunPairs> = passing.iter().map(|(_, pairs)| *pairs).collect();
        for precision in [Precision::Pc, Precision::Tid, Precision::Loop] {
            let found = candidates(&failing.pairs, &pairs, corpus.counts(), precision, &Budget::unlimited());
            let mut keys: Vec<_> = found.couples.iter().map(|c| (c.first.key.min(c.second.key), c.first.key.max(c.second.key))).collect();
            keys.sort();
            let expected = literal_three(failing, &passing, precision);
            prop_assert_eq!(&keys, &expected, "{:?}", precision);
            let kept = procedure_three(failing.run.as_ref().unwrap(), &failing.pairs, &pairs, corpus.counts(), precision, &Budget::unlimited());
            prop_assert!(kept.couples.iter().all(|couple| found.couples.contains(couple)));
            prop_assert_eq!(kept.couples.is_empty(), found.couples.is_empty());
        }
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
