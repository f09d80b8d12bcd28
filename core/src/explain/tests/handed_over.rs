//! Tests of blocks that a thread makes and hands over.

use crate::{Budget, Explanation, explain, fixture::corpus};

/// `main` makes a task, and hands it over under a lock; `main.1` sets its state before `main` looks at it.
const TASK: &str = "
    start main.1 fetch
    main fork main.1 @40 main
    main alloc `heap(a.c:7 by main #0)` =16 @7 main
    main W `heap(a.c:7 by main #0)+8` =0 @8 main
    main lock m @9 main
    main W task =1 @10 main
    main unlock m @11 main
    main.1 lock m @20 fetch
    main.1 R task =1 @21 fetch
    main.1 unlock m @22 fetch
    main.1 W `heap(a.c:7 by main #0)+8` =2 @23 fetch
    main R `heap(a.c:7 by main #0)+8` =2 @30 main
    main fails @31 assertion `task->state == 0` failed";

fn told(failing: &str) -> Explanation {
    let found = explain(&corpus(&[], &[failing]), &Budget::unlimited()).findings;
    found.into_iter().next().expect("an explanation")
}

#[test]
fn what_a_thread_sets_before_it_hands_a_block_over_was_not_interrupted() {
    assert!(
        told(TASK)
            .headline
            .ends_with("was changed before main had read it"),
        "{}",
        told(TASK).headline
    );
}

/// Set behind the lock by which the block was handed over, it could have come later.
#[test]
fn what_is_set_after_the_handing_over_may_be_interrupted() {
    let sets = "main W `heap(a.c:7 by main #0)+8` =0 @8 main\n    ";
    let late = TASK.replace(sets, "");
    let late = late.replace("main.1 lock m", &format!("{sets}main.1 lock m"));
    assert!(
        told(&late).headline.contains("was overwritten before"),
        "{}",
        told(&late).headline
    );
}
