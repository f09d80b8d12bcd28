//! Tests of two changes that belong together, of which a thread saw one.

use crate::{
    Budget, BugKind, Explanation, explain,
    explain::{missing, view::View},
    explanation::Place,
    fixture::corpus,
};
use std::collections::BTreeSet;

const BEGIN: &str = "main fork main.1 @40\nmain fork main.2 @41\n";

fn change(line: u32, variable: &str) -> String {
    format!(
        "main.1 lock m @{line} change\nmain.1 W {variable} =1 @{} change\nmain.1 unlock m @{} change\n",
        line + 1,
        line + 2
    )
}

/// The reader's look at `a` and, under the same lock or after it, at `b`.
fn look(a: u32, b: u32, is_one: bool) -> String {
    let first = format!("main.2 lock m @20 look\nmain.2 R a ={a} @21 look\n");
    let second = format!("main.2 R b ={b} @23 look\nmain.2 unlock m @24 look\n");
    let between = match is_one {
        true => "",
        false => "main.2 unlock m @22 look\nmain.2 lock m @22 look\n",
    };
    [&first, between, &second].concat()
}

fn told(is_one: bool) -> Explanation {
    told_of(is_one, "a")
}

/// The explanation with another variable in the place of `a`.
fn told_of(is_one: bool, variable: &str) -> Explanation {
    let (a, b) = (change(5, "a"), change(8, "b"));
    let after = [BEGIN, &a, &b, &look(1, 1, is_one)].concat();
    let torn = [BEGIN, &a, &look(1, 0, is_one), "main.2 fails @25 look\n"].concat();
    let of = |run: String| {
        let run = run.replace("W a ", &format!("W {variable} "));
        run.replace("R a ", &format!("R {variable} "))
    };
    let runs = corpus(&[&*of(after); 6], &[&of(torn)]);
    let mut found = explain(&runs, &Budget::unlimited()).findings;
    found.remove(0)
}

#[test]
fn a_look_in_one_section_needs_both_changes() {
    let told = told(true);
    assert_eq!(told.kind, BugKind::MultiVariableAtomicityViolation);
    let blamed = told.blamed();
    let lines: BTreeSet<u32> = blamed.map(|mark| mark.place.line).collect();
    assert_eq!(lines, BTreeSet::from([6, 9, 21, 23]));
}

/// Whoever makes or copies a smart pointer counts it under a lock by chance: those who let go of it take none.
#[test]
fn a_use_count_is_no_half_of_a_change() {
    let count = "`heap(a.c:5 by main #0)._M_use_count`";
    let told = told_of(true, count);
    assert_ne!(
        told.kind,
        BugKind::MultiVariableAtomicityViolation,
        "{}",
        told.headline
    );
}

#[test]
fn a_look_in_two_sections_is_told_by_an_order() {
    assert_eq!(told(false).kind, BugKind::OrderViolation);
}

/// A change is seen half done in its second round, in which the run ends: the other half is known from the first.
#[test]
fn a_half_that_never_came_is_known_from_an_earlier_round() {
    let round = |n: u32| {
        let change = |line: u32, variable: &str| {
            format!(
                "main.1 lock m @{line} add\nmain.1 W {variable} ={n} @{} add\nmain.1 unlock m @{} add\n",
                line + 1,
                line + 2
            )
        };
        [change(5, "sum"), change(8, "count")]
    };
    let look = |sum: u32, count: u32| {
        format!(
            "main.2 lock m @20 mean\nmain.2 R sum ={sum} @22 mean\n\
             main.2 R count ={count} @23 mean\nmain.2 unlock m @24 mean\n"
        )
    };
    let ([a, b], [c, d]) = (round(1), round(2));
    let fine = [BEGIN, &a, &b, &look(1, 1), &c, &d, &look(2, 2)].concat();
    let torn = [
        BEGIN,
        &a,
        &b,
        &look(1, 1),
        &c,
        &look(2, 1),
        "main.2 fails @25 mean\n",
    ]
    .concat();
    let runs = corpus(&[&*fine; 6], &[&torn]);
    let told = explain(&runs, &Budget::unlimited()).findings.remove(0);
    let headline = "`sum` and `count` were read while only one of them was new";
    assert_eq!(told.headline, headline);
}

/// A thread that has made both changes lacks no half of them, whatever a later round would change.
#[test]
fn an_update_that_was_whole_lacks_no_half() {
    let is_half = |update: &str| {
        let look = "main.2 R sum =1 @22 mean\nmain.2 R count =0 @23 mean\nmain.2 fails @25 mean\n";
        let runs = corpus(&[], &[&[BEGIN, update, look].concat()]);
        let view = View::new(&runs, runs.failing().next().unwrap()).unwrap();
        let mut rows = view.run.events.iter().map(|(row, _)| row);
        let mut on = |line: u32| rows.find(|row| view.place(*row).line == line);
        let (written, reader) = (on(6).unwrap(), on(23).unwrap());
        let setter = Place {
            line: 7,
            ..view.place(written)
        };
        missing::is_half(&view, written, reader, &setter)
    };
    let half = "main.1 W sum =1 @6 add\n";
    assert!(is_half(half));
    assert!(!is_half(&[half, "main.1 W count =1 @7 add\n"].concat()));
}
