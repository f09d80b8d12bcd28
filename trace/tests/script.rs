//! The text form of runs.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{bytes_of, runs};
use proptest::prelude::*;
use unsnarl_trace::{
    Event, EventKind, FailureKind, LocationId, MemoryOrder, Outcome, Run, Value, flags,
    read_run_bytes,
    script::{parse, print},
};

proptest! {
    /// Everything that a script can express survives printing and parsing.
    #[test]
    fn print_and_parse(run in runs()) {
        let once = parse(&print(&run)).unwrap();
        prop_assert_eq!(once.events.len(), run.events.len());
        prop_assert_eq!(&parse(&print(&once)).unwrap(), &once);
        prop_assert_eq!(read_run_bytes(bytes_of(&once)).unwrap(), once);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z RW@:=&>`\"0-9.\\n-]{0,80}") {
        if let Ok(run) = parse(&text) {
            prop_assert_eq!(read_run_bytes(bytes_of(&run)).unwrap().events, run.events);
        }
    }
}

/// The only event of a script.
fn only(line: &str) -> (Run, Event) {
    let run = parse(line).unwrap();
    let event = run.events.get(Default::default()).unwrap();
    (run, event)
}

#[test]
fn accesses() {
    let (run, event) =
        only("main W `heap(a.c:3 by main #0)+8` =-1 size=2 volatile @b.c:7:3 f \"*p = \"x\";\"");
    assert_eq!(run.location(event.location), "heap(a.c:3 by main #0)+8");
    assert_eq!(
        (event.value, event.size, event.flags),
        (Some(Value::Bits(0xffff)), 2, flags::VOLATILE)
    );
    let site = run.meta.site(event.site);
    assert_eq!((site.file.as_str(), site.line, site.column), ("b.c", 7, 3));
    assert_eq!(
        (site.function.as_str(), site.text.as_str()),
        ("f", "*p = \"x\";")
    );

    let (run, event) = only("main W head =&node[1]");
    assert_eq!(
        (event.size, event.value),
        (8, Some(Value::Address(LocationId(2))))
    );
    assert_eq!(run.location(LocationId(2)), "node[1]");

    let (_, event) = only("main rmw n 3->4 acquire");
    assert_eq!(
        (event.kind, event.old, event.value),
        (EventKind::Rmw, Some(3), Some(Value::Bits(4)))
    );
    assert_eq!(event.order(), Some(MemoryOrder::Acquire));
    let (_, event) = only("main atomic-read n =4");
    assert_eq!(event.order(), Some(MemoryOrder::SeqCst));
}

#[test]
fn endings() {
    let run = parse("main R x =1 @3\nfails @4 assertion `x` failed").unwrap();
    let failure = run.meta.failure.unwrap();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Assert, "assertion `x` failed")
    );
    assert_eq!(
        run.events.get(failure.event.unwrap()).unwrap().kind,
        EventKind::Failure
    );
    let outcome = |text| parse(text).unwrap().meta.outcome;
    assert_eq!(outcome("main lock m"), Outcome::Passed);
    assert_eq!(outcome("main lock m\ndeadlocks"), Outcome::Deadlocked);
    assert_eq!(outcome("main lock m\ntimes-out"), Outcome::TimedOut);
    assert_eq!(outcome("main lock m\ncut-short"), Outcome::CutShort);
}

#[test]
fn errors_name_the_line() {
    let errors = [
        (
            "main",
            "line 1 of the script, `main`: expected what the thread does, as in `main R x`",
        ),
        (
            "\nmain jumps x",
            "line 2 of the script, `main jumps x`: `jumps` is no kind of event",
        ),
        (
            "main R x @y",
            "line 1 of the script, `main R x @y`: `@y` is no site: write @LINE or @FILE:LINE:COLUMN",
        ),
        (
            "main R x y",
            "line 1 of the script, `main R x y`: `y` is no value, modifier or site",
        ),
        (
            "fails",
            "line 1 of the script, `fails`: nobody failed: write `THREAD fails ...`",
        ),
    ];
    for (script, error) in errors {
        assert_eq!(parse(script).unwrap_err().to_string(), error);
    }
}
