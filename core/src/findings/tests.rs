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
