//! Traces of other tools: what is read, what is told, and that what is written is read again.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use unsnarl_trace::{
    EventKind, OrderMode, Outcome, Run, ThreadId,
    rapid::{Format, ImportError, export, failed, import},
    read_run_bytes, script, write_run,
};

fn std(text: &str) -> Run {
    import(text.as_bytes(), Format::Std).unwrap().run
}

/// The events as the script language has them, then what the run says about itself.
fn check(text: &str, format: Format, expected: Expect) {
    let imported = import(text.as_bytes(), format).unwrap();
    assert_eq!(imported.run.meta.mode, OrderMode::Imported);
    assert!(!imported.run.meta.exact);
    let mut said = script::print(&imported.run);
    for problem in &imported.run.meta.problems {
        said.push_str(&format!("! {problem}\n"));
    }
    for bad in &imported.bad {
        said.push_str(&format!("? {bad}\n"));
    }
    expected.assert_eq(&said);
}

#[test]
fn operations_of_std() {
    let text = "T2|fork(T1)|0\r\n\nT1|w(V1.a[0])|347\nT1|acq(L 1)|x\nT1|acq(L1)|Bank.java:12\n\
                T1|r(V1.a[0])|Bank.java:13:5\nT1|rel(L1)|347\nT2|join(T1)|0\nT2|branch|9";
    check(
        text,
        Format::Std,
        expect![[r#"
            T2 fork T1 @`site 0:0`
            T1 W V1.a[0] size=0 @`site 347:0`
            T1 lock L1 @Bank.java:12
            T1 R V1.a[0] size=0 @Bank.java:13:5
            T1 unlock L1 @`site 347:0`
            T2 join T1 @`site 0:0`
            ! imported from STD text, which holds no values, no sources, no stacks and no outcome
            ! 1 line could not be read, the first is line 4, `T1|acq(L 1)|x`: expected an operand in parentheses, without white space: `r(x)`
            ! 1 line without effect (branch, dummy) were left out
            ? line 4, `T1|acq(L 1)|x`: expected an operand in parentheses, without white space: `r(x)`
        "#]],
    );
}

#[test]
fn operations_of_csv() {
    let text = "start(T2),,\n,enter(m),\n,,acq(L)\n,,w(x)\n,sync(z),\n,,rel(L)\n,exit(m),\n,r(x),w(x)\njoin(T2),,\n";
    check(
        text,
        Format::Csv,
        expect![[r#"
            T0 fork T2
            T1 begin
            T2 lock L
            T2 W x size=0
            T1 rmw z size=0
            T2 unlock L
            T1 end
            T0 join T2
            ! imported from CSV text, which holds no values, no sources, no stacks and no outcome
            ! 1 line could not be read, the first is line 8, `,r(x),w(x)`: expected one column, and only one, that is not empty
            ? line 8, `,r(x),w(x)`: expected one column, and only one, that is not empty
        "#]],
    );
}

#[test]
fn begin_and_end_of_threads_stay_and_those_of_blocks_do_not() {
    let steps = std("T0|begin|1\nT0|fork(T1)|2\nT1|begin(T1)|3\nT1|end(T1)|4\nT0|end|5\n");
    let kinds: Vec<EventKind> = steps.events.iter().map(|(_, event)| event.kind).collect();
    use EventKind::*;
    assert_eq!(kinds, [Begin, Fork, Begin, End, End]);
    check(
        "T0|fork(T1)|1\nT0|begin|2\nT0|w(x)|3\nT0|end|4\nT0|join(T1)|5\n",
        Format::Std,
        expect![[r#"
            T0 fork T1 @`site 1:0`
            T0 W x size=0 @`site 3:0`
            T0 join T1 @`site 5:0`
            ! imported from STD text, which holds no values, no sources, no stacks and no outcome
            ! 2 lines that begin or end a block that should be atomic were left out
        "#]],
    );
}

#[test]
fn what_is_no_trace_is_refused() {
    let refused = |text: &str| import(text.as_bytes(), Format::Std).unwrap_err();
    assert_eq!(refused(""), ImportError::Empty);
    assert_eq!(refused("\n\n"), ImportError::Empty);
    expect!["3 of its 4 lines are no events; the first is line 1, `int main(void)`: expected three fields: `thread|operation(operand)|location`"].assert_eq(&refused("int main(void)\n{\n}\nT1|r(x)|1\n").to_string());
}

#[test]
fn all_bad_lines_are_counted_and_many_are_kept() {
    let text = "T1|r(x)|1\n".repeat(200) + &"T1|r(x)\n".repeat(150);
    let imported = import(text.as_bytes(), Format::Std).unwrap();
    assert_eq!((imported.bad.len(), imported.bad_lines), (100, 150));
    assert_eq!(imported.run.events.len(), 200);
}

#[test]
fn threads_are_named_by_the_other_tool_and_have_parents() {
    let run = std(
        "main|fork(w 1)|7\nmain|fork(w1)|7\nlate|r(x)|1\nmain|fork(late)|8\nmain|join(never)|9\n",
    );
    let rows: Vec<_> = run
        .meta
        .threads
        .iter()
        .map(|row| (row.name.as_str(), row.parent))
        .collect();
    let main = Some(unsnarl_trace::ThreadId(0));
    assert_eq!(
        rows,
        [
            ("main", None),
            ("w1", main),
            ("late", None),
            ("never", None)
        ]
    );
    assert_eq!(
        run.meta.site(run.meta.thread(ThreadId(1)).created_at).file,
        "site 7"
    );
}

#[test]
fn recorded_runs_are_written_with_what_std_has_words_for() {
    let run = script::parse(
        "main fork main.1 @1\nmain.1 begin\nmain.1 W `heap(a.c:3 by main #0)` =4 @2\nmain rmw n 1->2 @3\n\
         main shared-lock rw @4\nmain.1 shared-lock rw @5\nmain signal c =1 @6\nmain alloc x =8 @7\nmain join main.1 @8",
    )
    .unwrap();
    let written = export(&run);
    expect![[r#"
        main|fork(main.1)|1
        main.1|w(heap(a.c:3%20by%20main%20#0))|2
        main|acq(atomic:n)|3
        main|r(n)|3
        main|w(n)|3
        main|rel(atomic:n)|3
        main|acq(rw)|4
        main|rel(rw)|4
        main.1|acq(rw)|5
        main.1|rel(rw)|5
        main|acq(c)|6
        main|rel(c)|6
        main|join(main.1)|8
    "#]]
    .assert_eq(&written.text);
    assert_eq!(
        written.left_out.into_iter().collect::<Vec<_>>(),
        [("alloc", 1), ("begin", 1)]
    );
    assert_eq!(
        written.as_locks.into_iter().collect::<Vec<_>>(),
        [("rmw", 1), ("shared-lock", 2), ("signal", 1)]
    );
    let again = std(&written.text);
    assert!(
        again
            .locations
            .iter()
            .any(|name| name == "heap(a.c:3 by main #0)")
    );
}

#[test]
fn names_that_are_read_as_the_same_text_are_one() {
    let run = std("T%25|w(%25)|0\nT%|w(%)|0\n");
    assert_eq!(run.locations.as_slice(), ["", "%"]);
    assert_eq!(run.meta.threads.len(), 1);
    assert_eq!(std(&export(&run).text), run);
}

/// A line of STD that can be read.
fn line() -> impl Strategy<Value = String> {
    let operation = prop_oneof![
        "r\\([a-z%(\\[]{1,12}\\)",
        "w\\([a-z%2057C|]{1,3}\\)".prop_map(|text| text.replace('|', "%7C")),
        "acq\\(L[0-9]\\)",
        "rel\\(L[0-9]\\)",
        "fork\\(T[0-9]\\)",
        "join\\(T[0-9]\\)",
    ];
    let place = prop_oneof![
        "[0-9]{1,7}",
        "[a-zA-Z.]{1,9}:[1-9][0-9]{0,3}",
        "[a-z]{1,3} [a-z]"
    ];
    ("T[0-9]{1,2}", operation, place).prop_map(|(t, o, l)| format!("{t}|{o}|{l}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_again(lines in proptest::collection::vec(line(), 1..60)) {
        let run = std(&lines.concat());
        prop_assert_eq!(run.events.len(), lines.len());
        let text = export(&run).text;
        prop_assert_eq!(&std(&text), &run);
        prop_assert_eq!(&export(&std(&text)).text, &text);
    }

    #[test]
    fn imported_runs_are_run_files(lines in proptest::collection::vec(line(), 1..60)) {
        let run = std(&lines.concat());
        let mut bytes = Vec::new();
        write_run(&run, &mut bytes).unwrap();
        prop_assert_eq!(read_run_bytes(bytes).unwrap(), run);
    }

    #[test]
    fn anything_is_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200), pieces in proptest::collection::vec("[T0-9|()rwacqel,\n\r%]{0,9}", 0..30)) {
        for format in [Format::Std, Format::Csv] {
            for text in [text.clone(), pieces.concat().into_bytes()] {
                if let Ok(imported) = import(&text, format) {
                    let mut bytes = Vec::new();
                    write_run(&imported.run, &mut bytes).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_trace_of_a_failing_run_fails_at_its_last_event() {
    let run = failed(std("T0|fork(T1)|1\nT1|w(x)|bank.c:2\n"));
    assert_eq!(run.meta.outcome, Outcome::Failed);
    let failure = run.meta.failure.as_ref().unwrap();
    let thread = failure.thread.map(|id| run.meta.thread(id).name.as_str());
    assert_eq!(thread, Some("T1"));
    let site = failure.site.map(|id| run.meta.site(id));
    assert_eq!(
        site.map(|site| (site.file.as_str(), site.line)),
        Some(("bank.c", 2))
    );
    assert_eq!(failure.event.map(|row| row.index()), Some(1));
}
