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
