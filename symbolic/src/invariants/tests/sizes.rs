//! Long paths: the bank account in a loop, with branches, a second variable and irrelevant statements.

use super::path::path;
use crate::{
    SymbolicTrace,
    invariants::{InvariantOptions, Level, check, prepare},
};
use std::fmt::Write;
use unsnarl_core::Budget;
use unsnarl_trace::Run;

/// A number of rounds of two threads that take turns, with one lost update in the middle.
pub fn bank(rounds: usize) -> (SymbolicTrace, Run) {
    let mut text = String::from(
        "shared balance = 0\nshared count = 0\nmain fork main.1 @1\nmain fork main.2 @2\n",
    );
    let mut balance = 0;
    for round in 0..rounds {
        let who = if round % 2 == 0 { "main.1" } else { "main.2" };
        let other = if round % 2 == 0 { "main.2" } else { "main.1" };
        let is_lost = round == rounds / 2;
        writeln!(text, "{who} bal := balance @10").unwrap();
        writeln!(text, "{who} n := count @11\n{who} count = n + 1 @12").unwrap();
        writeln!(
            text,
            "{who} [ bal <= 100000 @13\n{who} bal := bal + {round} @14\n{who} ]"
        )
        .unwrap();
        if is_lost {
            writeln!(
                text,
                "{other} bal := balance @10\n{other} balance = bal + 7 @15"
            )
            .unwrap();
        }
        balance += round;
        writeln!(text, "{who} balance = bal @15").unwrap();
    }
    writeln!(text, "main join main.1 @1\nmain join main.2 @2").unwrap();
    writeln!(text, "main fails balance != {} @20", balance + 7).unwrap();
    path(&text)
}

#[test]
fn a_path_of_885_statements_is_explained_and_right() {
    let (trace, run) = bank(110);
    let prepared = prepare(&trace, &run, &trace.order).unwrap();
    let budget = Budget::unlimited();
    for level in Level::STEPS {
        let options = InvariantOptions {
            level: Some(level),
            ..InvariantOptions::default()
        };
        let explained = prepared.explain(&options, &budget).unwrap();
        assert!(explained.statements.len() >= 885);
        assert_eq!(check(&explained, &budget), []);
        let told: usize = (0..explained.statements.len())
            .map(|at| explained.at(at).count())
            .max()
            .unwrap();
        assert!(told <= 8, "{told} conjuncts at {level}");
    }
}

#[test]
fn a_budget_that_ends_on_the_way_leaves_a_part_that_is_right() {
    let (trace, run) = bank(60);
    let prepared = prepare(&trace, &run, &trace.order).unwrap();
    for milliseconds in [1, 4, 16, 64] {
        let budget = Budget::lasting(std::time::Duration::from_millis(milliseconds));
        if let Ok(explained) = prepared.explain(&InvariantOptions::default(), &budget) {
            assert_eq!(check(&explained, &Budget::unlimited()), []);
        }
    }
}
