//! Tests of claims: the fast evaluation against the literal one, and the claims that explanations make.

use super::{Claim, Operation, Visit, naive};
use crate::{
    Budget, Corpus, CorpusKey, RunSummary, StopReason, explain, explanation::Place, fixture::run,
    mining::Trace, orders::Accesses, pairs::AccessClass,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::sync::Arc;
use unsnarl_trace::Run;

/// Thread, line, location, class.
type StepFields = (u8, u8, u8, u8);

fn line(step: &StepFields) -> String {
    let (thread, line, location, class) = step;
    let access = match class % 3 {
        0 => format!("R x{location} =0"),
        1 => format!("W x{location} =1"),
        _ => format!("rmw x{location} 1->2"),
    };
    // Lines of their own for each class, as most have.
    let line = line * 3 + class % 3 + 1;
    format!("main.{} {access} @{line} f\n", thread + 1)
}

fn random_run(most: usize) -> impl Strategy<Value = String> {
    let step = (0u8..3, 0u8..3, 0u8..2, 0u8..3);
    proptest::collection::vec(step, 1..most)
        .prop_map(|steps| steps.iter().map(line).collect::<String>())
}

fn operation((number, class): (u8, u8)) -> Operation {
    let access = match class % 3 {
        0 => AccessClass::Read,
        1 => AccessClass::Write,
        _ => AccessClass::Update,
    };
    Operation {
        place: Place {
            file: "test.c".into(),
            line: u32::from(number * 3 + class % 3 + 1),
            ..Place::default()
        },
        access,
    }
}

fn random_claim() -> impl Strategy<Value = Claim> {
    let any = || (0u8..3, 0u8..3).prop_map(operation);
    let visit = || {
        (1u8..4, 1u32..4).prop_map(|(thread, number)| Visit {
            thread: format!("main.{thread}"),
            number,
        })
    };
    let location = || (0u8..2).prop_map(|location| format!("x{location}"));
    let pair = move || (any(), any(), location());
    prop_oneof![
        (any(), any(), any()).prop_map(|(first, remote, second)| Claim::Between {
            first,
            remote,
            second
        }),
        (any(), any(), any(), any(), proptest::bool::ANY).prop_map(
            |(first, second, after_first, before_second, in_this_order)| Claim::Overlap {
                first,
                second,
                after_first,
                before_second,
                in_this_order
            }
        ),
        (any(), any(), location(), proptest::option::of(visit())).prop_map(
            |(early, late, location, visit)| Claim::Before {
                early,
                late,
                location,
                visit
            }
        ),
        (any(), any(), location(), visit(), visit()).prop_map(
            |(early, late, location, visit, by)| Claim::BeforeBy {
                early,
                by,
                late,
                location,
                visit
            }
        ),
        pair().prop_map(|(early, late, location)| Claim::After {
            early,
            late,
            location
        }),
        (pair(), pair()).prop_map(|(one, other)| Claim::Together { one, other }),
        (any(), any(), 0u32..3).prop_map(|(write, read, more_than)| Claim::ReadsFrom {
            write,
            read,
            more_than
        }),
        (any(), any()).prop_map(|(head, tail)| Claim::Follows { head, tail }),
    ]
}

fn trace(run: &Run) -> Trace {
    Trace::new(run, &Accesses::new(run))
}

fn corpus(passing: &[Run], failing: &[Run]) -> Corpus {
    let mut corpus = Corpus::new(CorpusKey::default());
    for (at, run) in passing.iter().chain(failing).enumerate() {
        corpus.insert(RunSummary::new(format!("run-{at}"), Arc::new(run.clone())));
    }
    corpus
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_claim_holds_where_it_holds_literally(text in random_run(40), claim in random_claim()) {
        let run = run(&text);
        prop_assert_eq!(claim.holds(&trace(&run)), naive::holds(&claim, &run), "{:?}\n{}", claim, text);
        prop_assert_eq!(claim.is_had(&trace(&run)), naive::is_had(&claim, &run), "{:?}\n{}", claim, text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn explanations_state_what_the_runs_have(
        passing in proptest::collection::vec(random_run(24), 1..8),
        failing in random_run(24),
    ) {
        let passing: Vec<Run> = passing.iter().map(|text| run(text)).collect();
        let failing = run(&format!("{failing}main.1 R x0 =5 @20\nmain.1 fails @20"));
        let corpus = corpus(&passing, &[failing]);
        let found = explain(&corpus, &Budget::unlimited());
        prop_assert_ne!(found.stopped, StopReason::Cancelled);
        for told in &found.findings {
            for counted in &told.claims {
                let with = passing.iter().filter(|run| naive::holds(&counted.claim, run));
                prop_assert_eq!(with.count(), counted.holds_in as usize, "{:?}", counted);
                prop_assert_eq!(passing.len(), counted.of as usize);
            }
            let mut said = told.claims.iter().map(super::Counted::in_words);
            let is_comparison = told.contrast.starts_with("That is in ");
            prop_assert!(
                told.contrast.is_empty() || is_comparison || said.any(|said| said == told.contrast),
                "{} is no claim: {:?}", told.contrast, told.claims
            );
        }
    }
}

fn at(line: u32, access: AccessClass) -> Operation {
    Operation {
        place: Place {
            file: "test.c".into(),
            line,
            ..Place::default()
        },
        access,
    }
}

fn check(claim: &Claim, passing: &[&str], expected: &Expect) {
    let passing: Vec<Run> = passing.iter().map(|text| run(text)).collect();
    let said = claim.clone().count(&corpus(&passing, &[])).in_words();
    expected.assert_eq(&said);
}

/// A sentence about lines leaves out which block they are at.
#[test]
fn a_block_that_runs_name_otherwise_is_not_counted() {
    let claim = |location: &str, late| Claim::Before {
        early: at(14, AccessClass::Write),
        late: at(late, AccessClass::Read),
        location: location.into(),
        visit: None,
    };
    let runs = |block: &str| {
        let run = |by: &str| {
            let block = block.replace("BY", by);
            run(&format!(
                "{by} W `{block}` =1 @14\nmain.2 R `{block}` =1 @38"
            ))
        };
        corpus(&["main.1", "main.2"].map(run), &[])
    };
    let block = "heap(a.c:9 by BY #0)";
    let known = block.replace("BY", "main.1");
    assert!(!claim(&known, 38).is_comparable(&runs(block)));
    assert!(claim(&known, 38).is_comparable(&runs(&known)));
    assert!(claim("window", 38).is_comparable(&runs("window")));
    assert!(!claim("window", 14).is_comparable(&runs("window")));
}

const READS_FIRST: &str = "main.1 R x =0 @61\nmain.1 W x =1 @62\nmain.2 W x =2 @75";
const WRITES_FIRST: &str = "main.2 W x =2 @75\nmain.1 R x =2 @61\nmain.1 W x =3 @62";
const BETWEEN: &str = "main.1 R x =0 @61\nmain.2 W x =2 @75\nmain.1 W x =1 @62";
const ONE_ONLY: &str = "main.1 R x =0 @61\nmain.1 W x =1 @62";

#[test]
fn what_never_came_between_need_not_have_run() {
    let claim = Claim::Between {
        first: at(61, AccessClass::Read),
        remote: at(75, AccessClass::Write),
        second: at(62, AccessClass::Write),
    };
    check(
        &claim,
        &[READS_FIRST, WRITES_FIRST, ONE_ONLY],
        &expect![
            "In none of 3 passing runs did line 75 come between lines 61 and 62 on the same data."
        ],
    );
    check(
        &claim,
        &[READS_FIRST, BETWEEN],
        &expect![
            "In 1 of 2 passing runs line 75 came between lines 61 and 62 on the same data too, without harm."
        ],
    );
    check(
        &claim,
        &[ONE_ONLY],
        &expect![
            "In the only passing run line 75 did not come between lines 61 and 62 on the same data."
        ],
    );
    check(&claim, &[], &expect![""]);
}

#[test]
fn a_read_before_the_write_is_not_after_it_because_another_one_follows() {
    let claim = Claim::Before {
        early: at(51, AccessClass::Write),
        late: at(40, AccessClass::Read),
        location: "x".into(),
        visit: None,
    };
    let late = "main.1 R x =0 @40\nmain.2 W x =1 @51\nmain.1 R x =1 @40";
    let early = "main.2 W x =1 @51\nmain.1 R x =1 @40";
    check(
        &claim,
        &[late, early, late],
        &expect!["In 1 of 3 passing runs line 51 ran before line 40."],
    );
    check(&claim, &[late], &expect![""]);
}

#[test]
fn the_same_line_of_another_thread_is_named_as_such() {
    check(
        &Claim::Between {
            first: at(9, AccessClass::Read),
            remote: at(9, AccessClass::Write),
            second: at(9, AccessClass::Write),
        },
        &["main.1 R x =0 @9\nmain.1 W x =1 @9\nmain.2 R x =1 @9\nmain.2 W x =2 @9"; 2],
        &expect![
            "In none of 2 passing runs did another thread's line 9 come between the read and the write of line 9 on the same data."
        ],
    );
}

#[test]
fn two_steps_on_two_variables() {
    let overlap = |in_this_order| Claim::Overlap {
        first: at(9, AccessClass::Write),
        second: at(12, AccessClass::Write),
        after_first: at(21, AccessClass::Read),
        before_second: at(22, AccessClass::Read),
        in_this_order,
    };
    let old = "main.2 R x =0 @21\nmain.2 R y =0 @22\nmain.1 W x =1 @9\nmain.1 W y =1 @12";
    check(
        &overlap(true),
        &[old; 2],
        &expect![
            "In none of 2 passing runs did lines 21 and 22 come between lines 9 and 12 on the same data."
        ],
    );
    check(
        &overlap(false),
        &[old; 2],
        &expect![
            "In none of 2 passing runs did another thread's line 22 run before line 12 and then its line 21 after line 9 on the same data."
        ],
    );
}

/// A total of several accounts, each read under its own lock, and transfers between two of them.
#[test]
fn a_pass_over_several_locations_on_one_line() {
    let torn = |in_this_order| Claim::Overlap {
        first: at(26, AccessClass::Read),
        second: at(26, AccessClass::Read),
        after_first: at(22, AccessClass::Write),
        before_second: at(21, AccessClass::Write),
        in_this_order,
    };
    let sum = |of: &str| format!("main.1 R {of} =0 @26\n");
    let transfer = "main.2 W c =1 @21\nmain.2 W a =1 @22\n";
    let whole = format!("{}{}{}{transfer}{}", sum("a"), sum("b"), sum("c"), sum("a"));
    check(
        &torn(false),
        &[whole.as_str(); 2],
        &expect![
            "In none of 2 passing runs did a thread's reads on line 26 come after another thread's line 21 and before its line 22 on the same data."
        ],
    );
    let half = format!("{}{}{transfer}{}", sum("a"), sum("b"), sum("c"));
    check(
        &torn(false),
        &[half.as_str(); 2],
        &expect![
            "In all 2 passing runs a thread's reads on line 26 came after another thread's line 21 and before its line 22 on the same data too, without harm."
        ],
    );
}

/// A run that fails between the two writes of the other thread lacks the second one.
#[test]
fn a_step_that_had_begun_when_the_run_ended_counts_in_runs_that_fail() {
    let torn = Claim::Overlap {
        first: at(9, AccessClass::Read),
        second: at(12, AccessClass::Read),
        after_first: at(22, AccessClass::Write),
        before_second: at(21, AccessClass::Write),
        in_this_order: false,
    };
    let cut = "main.1 R x =0 @9\nmain.2 W y =1 @21\nmain.1 R y =1 @12\n";
    let of = |text: &str| trace(&run(text));
    assert!(torn.had_begun(&of(cut)) && !torn.is_had(&of(cut)));
    let whole = [cut, "main.2 W x =1 @22\n"].concat();
    assert!(torn.had_begun(&of(&whole)) && torn.is_had(&of(&whole)));
    let own = Claim::Overlap {
        first: at(21, AccessClass::Write),
        second: at(22, AccessClass::Write),
        after_first: at(12, AccessClass::Read),
        before_second: at(13, AccessClass::Read),
        in_this_order: true,
    };
    let cut_own = "main.2 W y =1 @21\nmain.1 R y =1 @12\nmain.1 R x =0 @13\n";
    assert!(own.had_begun(&of(cut_own)) && !own.is_had(&of(cut_own)));
    let other = cut.replace("R y =1", "R z =1");
    assert!(!torn.had_begun(&of(&other)));
}
