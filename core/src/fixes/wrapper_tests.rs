//! Tests of locks behind functions of the program's own, and of sections after an edit, in runs written as
//! text.

use super::{
    EditRegion, Fix, FixKind, GuardedLines, RegionStatement,
    constraint::{OrderVerdict, verdict},
    lock_calls::PairedLockCalls,
    sections::{Again, sections},
    text::{locks::LockPair, source::ParsedSource},
    waits_for,
};
use std::sync::Arc;
use unsnarl_trace::{Run, script};

fn run(text: &str) -> Run {
    script::parse(text).unwrap()
}

/// Holds a lock on lines 10 to 12 of `f`, with a statement on each.
fn fix(lock: Option<&str>, opens: bool) -> Fix {
    let lines = GuardedLines {
        file: "test.c".to_owned(),
        first: 10,
        last: 12,
        function: "f".to_owned(),
    };
    let part = |line| RegionStatement {
        first: line,
        last: line,
        is_loop: false,
    };
    Fix {
        exclusive: vec![lines.clone()],
        lock: lock.map(str::to_owned),
        regions: vec![EditRegion {
            lines,
            opens,
            ends: 0,
            parts: (10..=12).map(part).collect(),
            ..EditRegion::default()
        }],
        ..Fix::edit(
            FixKind::WidenSection,
            String::new(),
            Vec::new(),
            String::new(),
        )
    }
}

fn refuse(fix: &Fix, runs: &[(String, Arc<Run>)]) -> Option<String> {
    waits_for::refuse(fix, runs.iter().map(|(_, run)| Ok(&**run)))
}

#[test]
fn each_round_of_a_loop_is_a_section() {
    let other = "main.2 R x @10 f\nmain.2 W x @12\nmain.2 W y @13\n";
    let rounds = |between: &str| {
        format!("main.1 R x @10 f\nmain.1 W x @12\n{between}main.1 R x @10 f\nmain.1 W x @12\n")
    };
    assert_eq!(
        verdict(&fix(None, false), &run(&rounds(other))),
        OrderVerdict::Allowed
    );
    let within = format!("main.1 R x @10 f\n{other}main.1 W x @12\n");
    assert_eq!(
        verdict(&fix(None, false), &run(&within)),
        OrderVerdict::Excluded
    );
    assert_eq!(
        sections(&fix(None, false), &run(&rounds(""))).spans.len(),
        2
    );
    // A statement's read after its own write belongs to the same iteration.
    let twice = "main.1 R x @10 f\nmain.1 W x @10:9\nmain.1 R x @10\nmain.1 W y @12\n";
    assert_eq!(sections(&fix(None, false), &run(twice)).spans.len(), 1);
    // A library goes round within a statement behind the first: the lines do not begin again there.
    let library =
        "main.1 R x @10 f\nmain.1 R p @11\nmain.1 R p @11\nmain.1 R p @11\nmain.1 W x @12\n";
    assert_eq!(sections(&fix(None, false), &run(library)).spans.len(), 1);
    // A function that is called goes round by itself.
    let round = "main.1 R p via=11@f @30 g\nmain.1 W q via=11@f @31 g\n".repeat(3);
    let called = format!("main.1 R x via=11@f @29 g\n{round}main.1 W x @12 f\n");
    assert_eq!(sections(&fix(None, false), &run(&called)).spans.len(), 1);
    assert_eq!(
        sections(&fix(None, false), &run(&called.repeat(2)))
            .spans
            .len(),
        2
    );
    // What one step reads twice is no round, and no more is a slot that a compiler uses twice.
    let again = "main.1 R x @10 f\nmain.1 R x @10 f\nmain.1 W x @12\n";
    assert_eq!(sections(&fix(None, false), &run(again)).spans.len(), 1);
    let slot = "main.1 R main.1:f-72 @10 f\nmain.1 W x @10 f\nmain.1 R main.1:f-72 @10 f\nmain.1 W y @12\n";
    assert_eq!(sections(&fix(None, false), &run(slot)).spans.len(), 1);
    // Nor is a variable of the C library, or the table of virtual functions that each of the constructors of a block sets.
    for reserved in [
        "R __libc_single_threaded",
        "W `heap(test.c:10 by main.1 #0)._vptr`",
    ] {
        let once = format!("main.1 {reserved} =1 @10 f\nmain.1 W x @10 f\n");
        let twice = format!("{once}main.1 {reserved} =1 @10 f\nmain.1 W y @12\n");
        assert_eq!(sections(&fix(None, false), &run(&twice)).spans.len(), 1);
    }
    // A single line can loop as well.
    let line = "main.1 R x @10 f\nmain.1 W x @10\nmain.1 R x @10\nmain.1 W x @10\n";
    assert_eq!(sections(&fix(None, false), &run(line)).spans.len(), 2);
}

#[test]
fn a_lock_that_is_held_in_a_run_is_not_taken_again() {
    // `take` and `give` stand in another file.
    let held = "main lock m via=8@f @lib.c:3 take\nmain R x @10 f\nmain W x @12 f\nmain unlock m via=14@f @lib.c:7 give\n";
    assert_eq!(
        sections(&fix(Some("m"), false), &run(held)).again,
        Some(Again::Held { line: 10, since: 3 })
    );
    let taken = "main R x @10 f\nmain lock m via=11@f @lib.c:3 take\nmain W x @12 f\nmain unlock m via=14@f @lib.c:7 give\n";
    assert_eq!(
        sections(&fix(Some("m"), false), &run(taken)).again,
        Some(Again::Taken { line: 11 })
    );
    let own = "main lock m via=10@f @lib.c:3 take\nmain W x @11 f\nmain unlock m via=12@f @lib.c:7 give\n";
    assert_eq!(sections(&fix(Some("m"), true), &run(own)).again, None);
    assert_eq!(sections(&fix(Some("n"), false), &run(held)).again, None);
}

#[test]
fn locks_of_other_objects_do_not_exclude_each_other() {
    let both = |second: &str| {
        format!(
            "main.1 lock boxes[0].lock @10 f\nmain.2 lock boxes[{second}].lock @10 f\nmain.1 W boxes[0].n @11\nmain.2 W boxes[{second}].n @11\n"
        )
    };
    let fix = fix(Some("boxes[0].lock"), true);
    assert_eq!(verdict(&fix, &run(&both("1"))), OrderVerdict::Allowed);
    assert_eq!(verdict(&fix, &run(&both("0"))), OrderVerdict::Excluded);
}

#[test]
fn a_new_lock_has_one_order_with_all_others() {
    let runs = |text: &str| [("failed-1".to_owned(), Arc::new(run(text)))];
    let inner = "main.1 R x @10 f\nmain.1 lock m @11\nmain.1 unlock m @11\nmain.1 W x @12\n";
    let outer =
        "main.2 lock m @30 g\nmain.2 W x via=31@g @10 f\nmain.2 W y @32 g\nmain.2 unlock m @33\n";
    let why = refuse(&fix(None, false), &runs(&format!("{inner}{outer}"))).unwrap();
    assert!(why.contains("`m` with the new mutex held"), "{why}");
    assert_eq!(refuse(&fix(None, false), &runs(inner)), None);
    // Another lock around both makes them take turns.
    let gated = |text: &str, by: &str| format!("{by} lock g @1 h\n{text}{by} unlock g @2 h\n");
    let both = gated(inner, "main.1") + &gated(outer, "main.2");
    assert_eq!(refuse(&fix(None, false), &runs(&both)), None);
}

#[test]
fn who_is_joined_with_the_lock_held_does_not_take_it() {
    let joins = "main fork main.1 @1 main\nmain.1 W x @10 f\nmain.1 W y @20 g\nmain.1 end\nmain R x @10 f\nmain join main.1 @11\nmain W x @12\n";
    let runs = [("failed-1".to_owned(), Arc::new(run(joins)))];
    let why = refuse(&fix(None, false), &runs).unwrap();
    assert!(why.contains("line 11 waits for"), "{why}");
}

#[test]
fn functions_that_return_with_a_lock_held_are_seen() {
    let text = "void f(void)\n{\n    grab(&m);\n    x = 1;\n    drop(&m);\n}\n";
    let section =
        "main lock m via=3@f @lib.c:3 grab\nmain W x @4 f\nmain unlock m via=5@f @lib.c:7 drop\n";
    let runs = [("passed-1".to_owned(), Arc::new(run(section)))];
    let source = ParsedSource::parse("test.c", text).unwrap();
    let found = PairedLockCalls::of(&runs).in_file("test.c", &source);
    assert_eq!(
        found.pairs,
        [LockPair {
            lock: "grab".to_owned(),
            unlock: "drop".to_owned(),
            by_name: false
        }]
    );
    // A function that releases the lock it acquires is no lock function.
    let whole = "main lock m via=3@f @lib.c:3 grab\nmain unlock m via=3@f @lib.c:4 grab\n";
    let runs = [("passed-1".to_owned(), Arc::new(run(whole)))];
    assert_eq!(
        PairedLockCalls::of(&runs).in_file("test.c", &source).pairs,
        []
    );
}

#[test]
fn functions_that_return_a_guard_are_seen() {
    let text = "struct List {\n    void f()\n    {\n        const auto held = hold(lock);\n        x = 1;\n    }\n    std::mutex lock;\n};\n";
    let section = "main lock m via=4@List::f @mutex:3 hold\nmain W x @5 List::f\nmain unlock m via=6@List::f @mutex:7 std::unique_lock<std::mutex>::~unique_lock()\n";
    let unlocked =
        "main lock m via=4@List::f @mutex:3 hold\nmain W x @5 List::f\nmain unlock m @6 List::f\n";
    let source = ParsedSource::parse("test.cpp", text).unwrap();
    for section in [section, unlocked] {
        let runs = [("passed-1".to_owned(), Arc::new(run(section)))];
        let found = PairedLockCalls::of(&runs).in_file("test.c", &source);
        assert_eq!(found.holders.into_iter().collect::<Vec<_>>(), ["hold"]);
    }
}

#[test]
fn a_lock_around_all_that_threads_do_is_no_fix() {
    let rounds = |thread: &str| format!("{thread} R x @10 f\n{thread} W x @11\n").repeat(5);
    let both = rounds("main.1") + &rounds("main.2");
    let runs = |text: &str| [("failed-1".to_owned(), Arc::new(run(text)))];
    let mut lines = fix(None, false);
    lines.kind = FixKind::NewMutex;
    assert_eq!(refuse(&lines, &runs(&both)), None, "no loop is around them");
    for part in lines
        .regions
        .iter_mut()
        .flat_map(|region| &mut region.parts)
    {
        *part = RegionStatement {
            first: 10,
            last: 12,
            is_loop: true,
        };
    }
    let why = refuse(&lines, &runs(&both)).unwrap();
    assert!(why.contains("they would take turns"), "{why}");
    let more = both + &"main.1 R y @20 f\n".repeat(3);
    assert_eq!(refuse(&lines, &runs(&more)), None);
}
