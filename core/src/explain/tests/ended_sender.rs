//! Tests of waits for a signal whose sender has ended.

use crate::{
    Budget, BugKind, Explanation, explain, explain::intervention::intervention, fixture::corpus,
    fixture::run,
};
use unsnarl_trace::EventId;

const BEGIN: &str = "
    start main.1 work
    start main.2 stop
    main fork main.1 @40 main
    main fork main.2 @41 main
    main W pending =1 @42 main";
const STOPS: &str = "
    main.2 W alive =0 @20 stop";
const WORKS: &str = "
    main.1 R alive =1 @10 work
    main.1 lock m @11 work
    main.1 W pending =0 @12 work
    main.1 signal idle =0 @13 work
    main.1 unlock m @14 work
    main.1 end @16 work";
const IDLE: &str = "
    main lock m @50 main
    main R pending =0 @51 main \"while (pending)\"
    main unlock m @53 main";
const LEAVES: &str = "
    main.1 R alive =0 @10 work
    main.1 end @16 work";
const WAITS: &str = "
    main lock m @50 main
    main R pending =1 @51 main \"while (pending)\"
    main wait idle @52 main
    main unlock m @52 main
    main blocked condition idle @52 main
    deadlocks";

fn told(failing: &str) -> Explanation {
    let fine = [BEGIN, WORKS, IDLE, STOPS].concat();
    let corpus = corpus(&[&*fine; 4], &[failing]);
    explain(&corpus, &Budget::unlimited()).findings.remove(0)
}

#[test]
fn what_the_sender_had_learned_before_it_ended_is_told() {
    let failing = [BEGIN, STOPS, LEAVES, WAITS].concat();
    let told = told(&failing);
    assert_eq!(
        told.headline,
        "main waits for a signal of work (main.1), which has ended"
    );
    assert!(
        told.detail.contains(
            "before work (main.1) ended, it had read alive = 0 at test.c:10, written by stop (main.2) at line 20"
        ),
        "{}",
        told.detail
    );
    assert_eq!(
        told.remark,
        "In passing runs main.1 signals it, at line 13."
    );
    assert_eq!(told.kind, BugKind::LostWakeup);
    // The order of the two is what experiments try.
    let run = run(&failing);
    let orders = intervention(&told, &run).unwrap();
    let line = |row: &EventId| run.meta.site(run.events.event(*row).site).line;
    assert_eq!(orders.with.iter().map(line).collect::<Vec<u32>>(), [20, 10]);
}

#[test]
fn a_sender_that_still_runs_has_not_ended() {
    let failing = [BEGIN, STOPS, LEAVES, WAITS].concat();
    let running = failing.replace("main.1 end @16 work", "main.1 R alive =0 @15 work");
    assert!(!told(&running).headline.contains("has ended"));
}

/// A node of a ring takes its turn, sees that all is cancelled, and returns without passing the turn on.
#[test]
fn a_unit_that_an_ended_thread_would_have_posted_is_told_with_the_reason() {
    let begin = "
    start main.1 node
    start main.2 node
    main fork main.1 @40 main
    main fork main.2 @41 main
    main W cancelled =0 @42 main
    main sem-post turn[0] @43 main
    main.1 sem-wait turn[0] @30 node";
    let passes = "
    main.1 R cancelled =0 @31 node
    main.1 sem-post turn[1] @17 pass
    main.1 end @35 node
    main.2 sem-wait turn[1] @30 node
    main.2 end @35 node
    main W cancelled =1 @45 main";
    let leaves = "
    main W cancelled =1 @45 main
    main.1 R cancelled =1 @31 node
    main.1 end @32 node
    main blocked join main.2 @50 main
    main.2 blocked semaphore turn[1] @30 node
    deadlocks";
    let (fine, failing) = ([begin, passes].concat(), [begin, leaves].concat());
    let corpus = corpus(&[&*fine; 4], &[&failing]);
    let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    assert_eq!(
        told.headline,
        "node (main.2) waits for a unit of `turn[1]` from node (main.1), which has ended"
    );
    assert!(
        told.detail
            .contains("it had read cancelled = 1 at test.c:31, written by main at line 45"),
        "{}",
        told.detail
    );
    assert_eq!(told.remark, "In passing runs main.1 posts it, at line 17.");
}
