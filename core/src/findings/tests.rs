//! Answers of engines, and words where there is nothing to answer.

use super::*;
use crate::fixture::corpus;

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
    assert_eq!(lines, [67, 107, 74]);
    assert_eq!(best.dependencies.len(), 2);
    assert_eq!(
        best.headline,
        "the read of deposit (main.1) at test.c:67 before the write of withdraw (main.2) at test.c:107 on \
         `balance`; the write of withdraw (main.2) at test.c:107 before the write of deposit (main.1) at \
         test.c:74 on `balance`: in 2 of 2 failing and 0 of 2 passing runs"
    );
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
