//! Tests of engines' answers, and of the messages where there is no answer.

use super::*;
use crate::{
    fixture::{corpus, run},
    pairs::{Precision, Procedure},
};
use std::sync::Arc;

fn ask_pairs(corpus: &Corpus) -> Answer {
    let questions = Questions {
        engines: vec![Engine::Pairs],
        ..Questions::default()
    };
    ask(corpus, &questions, &Budget::unlimited()).remove(0)
}

#[test]
fn engines_have_names() {
    for engine in Engine::ALL {
        assert_eq!(Engine::from_name(engine.name()), Some(engine));
    }
    assert_eq!(Engine::from_name("magic"), None);
}

#[test]
fn nothing_to_compare_with_is_said() {
    let run = "main.1 W x @1\nmain.2 R x @2";
    let failing = format!("{run}\nmain.2 fails @2");
    let alone = ask_pairs(&corpus(&[], &[&failing]));
    assert_eq!(
        alone.stopped,
        StopReason::Lacks("a passing run to compare with")
    );
    let passing = ask_pairs(&corpus(&[run], &[]));
    assert_eq!(passing.stopped, StopReason::Lacks("a failing run"));
}

fn ask_mining(corpus: &Corpus) -> Answer {
    let questions = Questions {
        engines: vec![Engine::Mining],
        ..Questions::default()
    };
    ask(corpus, &questions, &Budget::unlimited()).remove(0)
}

const DEPOSIT: &str = "main.1 R balance @67 deposit\nmain.1 W balance @74";
const WITHDRAW: &str = "main.2 R balance @100 withdraw\nmain.2 W balance @107";
const INTERRUPTED: &str = "main.1 R balance @67 deposit\nmain.2 R balance @100 withdraw\n\
    main.2 W balance @107\nmain.1 W balance @74\nmain.1 fails @80";

#[test]
fn mining_says_what_only_failing_runs_have() {
    let passing = [
        format!("{DEPOSIT}\n{WITHDRAW}"),
        format!("{WITHDRAW}\n{DEPOSIT}"),
    ];
    let corpus = corpus(&[&passing[0], &passing[1]], &[INTERRUPTED, INTERRUPTED]);
    let answer = ask_mining(&corpus);
    assert_eq!(answer.stopped, StopReason::Complete);
    let best = &answer.findings[0];
    assert_eq!(best.runs, ["failed-0", "failed-1"]);
    assert_eq!(best.passing, 2);
    let lines: Vec<u32> = best.sites.iter().map(|site| site.place.line).collect();
    assert_eq!(lines, [67, 100, 107, 74], "a macro with what stands around");
    assert_eq!(best.dependencies.len(), 2);
    assert_eq!(
        best.headline,
        "the read of deposit (main.1) at test.c:67 before the write of withdraw (main.2) at test.c:107 on \
         `balance`; the write of withdraw (main.2) at test.c:107 before the write of deposit (main.1) at \
         test.c:74 on `balance`: in 2 of 2 failing and 0 of 2 passing runs"
    );
}

/// A copy that accesses many locations on one line is one site and one dependency.
#[test]
fn a_copy_is_one_site() {
    let passing = "main.1 R n @1 f\nmain.1 W b[0] @2\nmain.1 W b[1] @2\nmain.1 W n @3\n\
                   main.2 R n @1 g\nmain.2 W b[0] @2\nmain.2 W b[1] @2\nmain.2 W n @3";
    let failing = "main.1 R n @1 f\nmain.1 W b[0] @2\nmain.1 W b[1] @2\nmain.2 R n @1 g\n\
                   main.2 W b[0] @2\nmain.2 W b[1] @2\nmain.2 W n @3\nmain.1 W n @3\nmain.1 fails @4";
    let swapped = passing
        .replace("main.1", "main.3")
        .replace("main.2", "main.1")
        .replace("main.3", "main.2");
    let answer = ask_mining(&corpus(&[passing, &swapped], &[failing]));
    let best = &answer.findings[0];
    let sites: Vec<(u32, &str)> = best
        .sites
        .iter()
        .map(|site| (site.place.line, site.thread.as_str()))
        .collect();
    assert_eq!(
        sites.iter().filter(|(line, _)| *line == 2).count(),
        2,
        "{sites:?}"
    );
    let copies = best.dependencies.iter().filter(|dependency| {
        let line = |index: u32| best.sites[index as usize].place.line;
        (line(dependency.head), line(dependency.tail)) == (2, 2)
    });
    assert_eq!(copies.count(), 1);
}

#[test]
fn mining_never_answers_with_nothing_at_all() {
    let alone = ask_mining(&corpus(&[], &[INTERRUPTED]));
    assert_eq!(
        alone.stopped,
        StopReason::Lacks("a passing run to compare with")
    );
    let one = ask_mining(&corpus(&["main W x @1"], &["main W x @1\nmain fails @1"]));
    assert_eq!(
        one.stopped,
        StopReason::Lacks("accesses to data that two threads share")
    );
    let other_order = format!("{DEPOSIT}\n{WITHDRAW}");
    let cut_short = format!("{DEPOSIT}\ncut-short");
    let both = ask_mining(&corpus(&[&other_order, &cut_short], &[INTERRUPTED]));
    assert!(
        both.notes[0].contains("1 run was cut short"),
        "{:?}",
        both.notes
    );
}

#[test]
fn runs_of_another_build_are_left_out_and_named() {
    let passing = [
        format!("{DEPOSIT}\n{WITHDRAW}"),
        format!("{WITHDRAW}\n{DEPOSIT}"),
    ];
    let mut mixed = corpus(&[&passing[0], &passing[1]], &[INTERRUPTED]);
    let mut other = crate::fixture::run(INTERRUPTED);
    other.meta.build_id = "other".to_owned();
    mixed.insert(crate::RunSummary::new("other", std::sync::Arc::new(other)));
    let answer = ask_mining(&mixed);
    assert_eq!(answer.findings[0].runs, ["failed-0"]);
    assert!(
        answer.notes[0].contains("another build"),
        "{:?}",
        answer.notes
    );
}

const BOTH_NEW: &str = "main.1 W x @1\nmain.1 W y @2\nmain.2 R x @3\nmain.2 R y @4";
const BOTH_OLD: &str = "main.2 R x @3\nmain.2 R y @4\nmain.1 W x @1\nmain.1 W y @2";
const TORN: &str = "main.1 W x @1\nmain.2 R x @3\nmain.2 R y @4\nmain.1 W y @2\nmain.2 fails @5";

/// Method, lines, and names of the failing runs, a line each.
fn told(answer: &Answer) -> Vec<String> {
    let line = |finding: &Finding| {
        let at = |site: u32| {
            let site = &finding.sites[site as usize];
            format!("{} {}@{}", site.access, site.location, site.place.line)
        };
        let dependencies = finding.dependencies.iter();
        let pairs: Vec<String> = dependencies
            .map(|d| format!("{} -> {} {:?} {:?}", at(d.head), at(d.tail), d.kind, d.seen))
            .collect();
        format!(
            "{}: {} ({})",
            finding.method,
            pairs.join(" with "),
            finding.runs.join(" ")
        )
    };
    answer.findings.iter().map(line).collect()
}

#[test]
fn the_first_procedure_that_reports_something_is_enough() {
    let corpus = corpus(&[BOTH_NEW, BOTH_OLD], &[TORN]);
    let found = told(&ask_pairs(&corpus));
    assert_eq!(
        found,
        [
            "procedure II: write x@1 -> read x@3 Flow Missing (failed-0)",
            "procedure II: read y@4 -> write y@2 Anti Missing (failed-0)"
        ]
    );
    let options = pairs::PairOptions {
        procedures: vec![Procedure::Three(Precision::Tid)],
    };
    let answer = pairs::ask(&corpus, &options, &Budget::unlimited());
    assert_eq!(
        told(&answer),
        [
            "procedure III-tid: write x@1 -> read x@3 Flow Failing with read y@4 -> write y@2 Anti Failing (failed-0)"
        ]
    );
    assert_eq!(
        answer.findings[0].headline,
        "the write of main.1 at test.c:1 came before the read of main.2 at test.c:3 on `x`, and the read of \
         main.2 at test.c:4 came before the write of main.1 at test.c:2 on `y`: no passing run has both together"
    );
}

#[test]
fn equal_findings_of_several_runs_are_one() {
    let failing = "main.2 W x @2\nmain.1 R x @1\nmain.1 fails @1";
    let longer = format!("main W z @9\n{failing}");
    let passing = "main.1 R x @1\nmain.2 W x @2";
    let found = told(&ask_pairs(&corpus(&[passing], &[failing, &longer])));
    assert_eq!(
        found,
        ["procedure I: write x@2 -> read x@1 Flow Failing (failed-0 failed-1)"]
    );
}

#[test]
fn nothing_found_says_who_looked() {
    let same = format!("{BOTH_NEW}\nmain.2 fails @5");
    let answer = ask_pairs(&corpus(&[BOTH_NEW, BOTH_OLD], &[&same]));
    assert_eq!(
        (answer.findings.len(), answer.stopped),
        (0, StopReason::Complete)
    );
    assert!(
        answer.notes[0].starts_with("procedures I, II, III-pc, III-tid, III-loop found nothing")
    );
}

#[test]
fn one_event_lacks_accesses_of_two_threads() {
    let answer = ask_pairs(&corpus(&["main W x @1"], &["main W x @1\nmain fails @1"]));
    assert_eq!(
        answer.stopped,
        StopReason::Lacks("accesses of two threads to the same data")
    );
}

#[test]
fn a_spent_budget_is_no_answer() {
    let corpus = corpus(&[BOTH_NEW, BOTH_OLD], &[TORN]);
    let budget = Budget::unlimited();
    budget.cancel();
    for procedure in Procedure::ORDER {
        let options = pairs::PairOptions {
            procedures: vec![procedure],
        };
        assert_eq!(
            pairs::ask(&corpus, &options, &budget).stopped,
            StopReason::Cancelled
        );
    }
}

#[test]
fn ten_thousand_runs_some_cut_short_some_inexact() {
    let mut corpus = corpus(&[BOTH_NEW], &[TORN]);
    let (old, new, cut) = (
        run(BOTH_OLD),
        run(BOTH_NEW),
        run("main.1 W x @1\ncut-short"),
    );
    let mut inexact = run(BOTH_NEW);
    inexact.meta.exact = false;
    let [old, new, cut, inexact] = [old, new, cut, inexact].map(Arc::new);
    for i in 0..10_000 {
        let kind = match i % 100 {
            0 => &cut,
            1 => &inexact,
            n if n % 2 == 0 => &old,
            _ => &new,
        };
        corpus.insert(RunSummary::new(format!("run-{i}"), kind.clone()));
    }
    let answer = ask_pairs(&corpus);
    assert!(!answer.findings.is_empty());
    assert!(
        answer.notes[0].starts_with("100 runs were cut short"),
        "{:?}",
        answer.notes
    );
    assert!(
        answer.notes[1].starts_with("100 runs were inexact"),
        "{:?}",
        answer.notes
    );
}

#[test]
fn many_failing_runs_are_sampled_and_it_is_said() {
    let failing = vec![TORN; 20];
    let answer = ask_pairs(&corpus(&[BOTH_NEW, BOTH_OLD], &failing));
    assert_eq!(answer.findings[0].runs.len(), 16);
    assert_eq!(
        answer.notes,
        ["of the 20 runs that end so: failed at test.c:5, the 16 shortest were looked at"]
    );
}

#[test]
fn passing_runs_of_another_build_are_pointed_out() {
    let mut corpora = Corpora::default();
    for (name, build, text) in [("a", "one", BOTH_NEW), ("b", "two", TORN)] {
        let mut run = run(text);
        run.meta.build_id = build.to_owned();
        corpora.insert(RunSummary::new(name, Arc::new(run)));
    }
    let words: Vec<_> = corpora
        .iter()
        .map(|corpus| elsewhere(&corpora, corpus))
        .collect();
    assert_eq!(words[0], None);
    assert!(
        words[1]
            .as_ref()
            .unwrap()
            .starts_with("1 passing runs are of another build")
    );
}

#[test]
fn explanations_name_the_engines_that_agree() {
    let orders = [
        format!("{DEPOSIT}\n{WITHDRAW}"),
        format!("{WITHDRAW}\n{DEPOSIT}"),
    ];
    let engines = |passing: &[&str]| {
        let corpus = corpus(passing, &[INTERRUPTED]);
        let found = crate::explain(&corpus, &Budget::unlimited()).findings;
        found[0].engines.join(" ")
    };
    assert_eq!(engines(&[&orders[0], &orders[1]]), "orders pairs mining");
    assert_eq!(engines(&[]), "orders", "nothing to compare with");
}

#[test]
fn headlines_say_what_the_source_says() {
    let block = "`heap(a.c:3 by main #0).level`";
    let passing =
        format!("main.1 R {block} @1 \"use(e->level);\"\nmain.2 W {block} @2 \"e->level = 2;\"");
    let failing = format!(
        "main.2 W {block} @2 \"e->level = 2;\"\nmain.1 R {block} @1 \"use(e->level);\"\nmain.1 fails @1"
    );
    let answer = ask_pairs(&corpus(&[&passing], &[&failing]));
    assert!(
        answer.findings[0].headline.contains("on `e->level`"),
        "{}",
        answer.findings[0].headline
    );
    assert_eq!(
        answer.findings[0].sites[0].location,
        "heap(a.c:3 by main #0).level"
    );
}

#[test]
fn elements_that_one_line_touches_are_one_site_and_other_variables_are_not() {
    let line =
        "main.1 R n @1 f\nmain.1 W a[0] @1\nmain.1 W a[1] @1\nmain.1 W a[2] @1\nmain.1 W n @1";
    let other = line.replace("main.1", "main.2").replace(" f", " g");
    let passing = [format!("{line}\n{other}"), format!("{other}\n{line}")];
    let failing = "main.1 R n @1 f\nmain.2 R n @1 g\nmain.2 W a[0] @1\nmain.2 W a[1] @1\nmain.2 W n @1\n\
                   main.1 W a[0] @1\nmain.1 W a[1] @1\nmain.1 W n @1\nmain.1 fails @4";
    let answer = ask_mining(&corpus(&[&passing[0], &passing[1]], &[failing]));
    let mut writes: Vec<(&str, &str)> = Vec::new();
    for finding in &answer.findings {
        let sites = finding.sites.iter().filter(|site| site.access == "write");
        writes.extend(sites.map(|site| (site.thread.as_str(), site.location.as_str())));
    }
    writes.sort_unstable();
    writes.dedup();
    assert_eq!(
        writes,
        [
            ("f (main.1)", "a[*]"),
            ("f (main.1)", "n"),
            ("g (main.2)", "a[*]"),
            ("g (main.2)", "n")
        ]
    );
    assert!(
        answer
            .findings
            .iter()
            .all(|found| found.in_passing.is_some_and(|runs| runs <= 2))
    );
}
