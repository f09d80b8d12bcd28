//! Tests of the sources of regions on small runs.

use super::*;
use crate::fixture::run;

/// The rows of each region, in the order of threads.
fn regions(text: &str, options: &RegionOptions) -> Vec<(u32, u32)> {
    let run = run(text);
    let regions = Regions::new(&ForcedOrder::new(&run), options);
    regions
        .all()
        .iter()
        .map(|region| (region.first.0, region.last.0))
        .collect()
}

fn only() -> RegionOptions {
    RegionOptions {
        sections: false,
        functions: false,
        ..RegionOptions::default()
    }
}

/// Two sections of one call are one region; sections of the next call are another.
#[test]
fn a_function_that_holds_a_lock() {
    let text = "
        main.1 lock l    via=9@worker @1 add
        main.1 R n       via=9@worker @2
        main.1 unlock l  via=9@worker @3
        main.1 R k       via=9@worker @4
        main.1 lock l    via=9@worker @5
        main.1 W n       via=9@worker @6
        main.1 unlock l  via=9@worker @7
        main.1 lock l    via=9@worker @1
        main.1 R n       via=9@worker @2
        main.1 unlock l  via=9@worker @3
    ";
    let functions = RegionOptions {
        functions: true,
        ..only()
    };
    assert_eq!(regions(text, &functions), [(1, 5), (8, 8)]);
    let both = RegionOptions::default();
    assert_eq!(regions(text, &both), [(0, 6), (7, 9)]);
    let sections = RegionOptions {
        sections: true,
        ..only()
    };
    assert_eq!(regions(text, &sections), [(0, 2), (4, 6), (7, 9)]);
}

/// A loop over a section has one region per iteration, even where something else came first.
#[test]
fn a_loop_in_a_function_is_many_regions() {
    let text = "
        main.1 R limit   @1 worker
        main.1 lock l    @2
        main.1 W n       @3
        main.1 unlock l  @4
        main.1 lock l    @2
        main.1 W n       @3
        main.1 unlock l  @4
    ";
    let functions = RegionOptions {
        functions: true,
        ..only()
    };
    assert_eq!(regions(text, &functions), [(2, 2), (5, 5)]);
}

/// The callees of a function are part of its call; a call from elsewhere is another.
#[test]
fn a_call_goes_on_below_and_ends_above() {
    let text = "
        main.1 lock l   via=9@worker       @1 add
        main.1 W n      via=9@worker       @2
        main.1 W depth  via=3@add,9@worker @20 helper
        main.1 W n      via=9@worker       @4 add
        main.1 unlock l via=9@worker       @5
        main.1 R done                      @10 worker
        main.1 lock l   via=9@worker       @6 add
        main.1 W n      via=9@worker       @7
        main.1 unlock l via=9@worker       @8
    ";
    let functions = RegionOptions {
        functions: true,
        ..only()
    };
    assert_eq!(regions(text, &functions), [(1, 3), (7, 7)]);
}

#[test]
fn what_the_user_says() {
    let text = "
        main.1 R n   @1 other
        main.1 R n   @2 add
        main.1 R k via=3@add  @20 helper
        main.1 W n   @4 add
        main.1 R n   @2 add
        main.1 W n   @4 add
        main.1 W n   @9 other
    ";
    let function = Annotation::Function("add".to_owned());
    let options = RegionOptions {
        annotations: vec![function],
        ..only()
    };
    assert_eq!(regions(text, &options), [(1, 3), (4, 5)]);
    let lines = Annotation::Lines {
        file: "test.c".to_owned(),
        first: 4,
        last: 9,
    };
    let options = RegionOptions {
        annotations: vec![lines],
        ..only()
    };
    assert_eq!(regions(text, &options), [(3, 3), (5, 6)]);
    let elsewhere = Annotation::Lines {
        file: "st.c".to_owned(),
        first: 1,
        last: 99,
    };
    let options = RegionOptions {
        annotations: vec![elsewhere],
        ..only()
    };
    assert_eq!(regions(text, &options), []);
}

/// A stretch seen often enough and never interrupted is a region; one with a foreign write is none.
#[test]
fn what_correct_runs_suggest() {
    let once = "
        main.1 R n @1 add
        main.1 W n @2
        main.2 R n @1 add
        main.2 W n @2
    ";
    let interrupted = "
        main.1 R n @1 add
        main.2 W n @2 add
        main.1 W n @2
    ";
    let (once_run, interrupted_run) = (run(once), run(interrupted));
    let learned = |runs: &[&Run]| RegionOptions {
        inferred: Inferred::of(runs.iter().copied()),
        ..only()
    };
    assert_eq!(regions(once, &learned(&[&once_run])), [], "seen twice only");
    assert_eq!(
        regions(once, &learned(&[&once_run, &once_run])),
        [(0, 1), (2, 3)]
    );
    assert_eq!(
        regions(once, &learned(&[&once_run, &once_run, &interrupted_run])),
        []
    );
    let lines = Inferred::of([&once_run, &once_run]);
    assert_eq!(lines.lines().collect::<Vec<_>>(), [("test.c", "add", 1, 2)]);
}

/// A check in one callee and its action in another are one step of their caller; the next iteration of a loop
/// is another one, and so is a callee that is called alone.
#[test]
fn what_a_function_calls_one_after_the_other() {
    let text = "
        main.1 lock l    via=9@worker  @1 check
        main.1 R n       via=9@worker  @2
        main.1 unlock l  via=9@worker  @3
        main.1 lock l    via=10@worker @21 act
        main.1 W n       via=10@worker @22
        main.1 unlock l  via=10@worker @23
        main.1 lock l    via=9@worker  @1 check
        main.1 R n       via=9@worker  @2
        main.1 unlock l  via=9@worker  @3
        main.2 lock l    via=9@worker  @1 check
        main.2 R n       via=9@worker  @2
        main.2 unlock l  via=9@worker  @3
    ";
    let callers = RegionOptions {
        callers: true,
        ..only()
    };
    assert_eq!(regions(text, &callers), [(1, 4)]);
}
