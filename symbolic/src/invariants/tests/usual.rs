//! Conditions that passing runs have as well.

use super::{super::*, path::path};
use unsnarl_core::Budget;
use unsnarl_trace::{Run, script};

/// `main` fails with what it read of `limit` and `used`.
const FAILING: &str = "
    shared limit = 8
    shared used = 12
    main most := limit @1
    main n := used @2
    main fails most < n @3
";

fn conditions(passing: &[&str]) -> Vec<String> {
    let (trace, run) = path(FAILING);
    let options = InvariantOptions::default();
    let found = explain(&trace, &run, &trace.order, &options, &Budget::unlimited()).unwrap();
    let passing: Vec<Run> = passing
        .iter()
        .map(|text| script::parse(text).unwrap())
        .collect();
    let passing: Vec<&Run> = passing.iter().collect();
    let kept = without_usual(&found, &run, &passing);
    kept.invariants
        .iter()
        .map(|reach| kept.say(reach))
        .collect()
}

#[test]
fn what_holds_in_passing_runs_too_is_left_out() {
    let all = conditions(&[]);
    assert!(all.iter().any(|text| text.contains("most")), "{all:?}");
    let with = |used: u32| format!("file path.c\nmain R limit =8 @1\nmain R used ={used} @1");
    let told = conditions(&[&with(3), &with(12)]);
    assert!(told.iter().any(|text| text.contains('n')), "{told:?}");
    assert!(told.len() < all.len(), "{told:?} {all:?}");
    // Where a passing run does not come there, nothing speaks against it.
    assert_eq!(conditions(&["file path.c\nmain R other =3 @9"]), all);
}

/// That a value is just what a step read or wrote repeats the step; a bound says more.
#[test]
fn bounds_are_told_from_values_that_steps_show() {
    let bounds = |text: &str| {
        let fixture = super::fixture(text);
        let (trace, run) = (fixture.trace, fixture.run);
        let options = InvariantOptions::default();
        let budget = Budget::unlimited();
        let explained = explain(&trace, &run, &trace.order, &options, &budget).unwrap();
        let reach = explained.invariants.iter();
        let values = reach.filter(|reach| matches!(reach.fact, Fact::Value(_)));
        let values: Vec<bool> = values.map(|reach| explained.is_bound(reach)).collect();
        values
    };
    let bank = bounds(super::BANK);
    assert!(bank.iter().all(|&is_bound| is_bound), "{bank:?}");
    assert!(!bank.is_empty());
    let flag = "
        file flag.c
        start main.1 set
        init done = 0
        main fork main.1 @1
        main R done -> seen @4
        main.1 W done = 1 @2
        main bug seen == 0 @5";
    let flag = bounds(flag);
    assert!(!flag.iter().any(|&is_bound| is_bound), "{flag:?}");
    assert!(!flag.is_empty());
}
