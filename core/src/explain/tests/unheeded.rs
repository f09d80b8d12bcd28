//! Tests of waits for input that never comes.

use crate::{
    Budget, BugKind, Explanation, explain, explain::intervention::intervention, fixture::corpus,
    fixture::run,
};
use unsnarl_trace::EventId;

const BEGIN: &str = "
    start main.1 work
    main fork main.1 @40 main
    main W head =0 @41 main";
const PUSHES: &str = "
    main.1 lock m @10 push
    main.1 W head =1 @11 push
    main.1 unlock m @12 push";
const DRAINS: &str = "
    main lock m @20 pop
    main R head =HEAD @21 pop
    main unlock m @22 pop";
const BLOCKED: &str = "
    main blocked io @50 main
    deadlocks";

fn drains(head: &str) -> String {
    DRAINS.replace("HEAD", head)
}

fn told(failing: &str) -> Explanation {
    let fine = [BEGIN, PUSHES, &drains("1")].concat();
    explain(&corpus(&[&*fine; 4], &[failing]), &Budget::unlimited())
        .findings
        .remove(0)
}

#[test]
fn what_was_changed_after_the_last_look_is_told() {
    let failing = [BEGIN, &drains("0"), PUSHES, BLOCKED].concat();
    let told = told(&failing);
    assert_eq!(
        told.headline,
        "main waits for input or output, and does not see that `head` was changed"
    );
    assert_eq!(told.kind, BugKind::LostWakeup);
    let run = run(&failing);
    // The change is under a lock, which is taken before it.
    let orders = intervention(&told, &run).unwrap();
    let line = |row: &EventId| run.meta.site(run.events.event(*row).site).line;
    assert_eq!(orders.with.iter().map(line).collect::<Vec<u32>>(), [21, 10]);
}

#[test]
fn what_was_seen_is_no_reason_to_wait() {
    let failing = [BEGIN, PUSHES, &drains("1"), BLOCKED].concat();
    let told = told(&failing);
    assert_eq!(told.headline, "main waits for input or output for ever");
}
