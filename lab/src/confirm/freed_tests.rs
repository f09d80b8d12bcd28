//! Tests of the stories of one run in which freed memory is used: what led there is told, what comes of it is not.

use super::{decide::Decision, experiment::Experiment, tried::TriedStory};
use std::sync::Arc;
use unsnarl_core::{
    Budget, BugKind, Corpora, Explanation, RunSummary,
    diagnosis::{Evidence, FailingShare},
    explain::{explain, intervention},
};
use unsnarl_trace::{EventId, Run, script};

/// A worker looks at a flag in a block twice; in between the block is freed.
const FAILS: &str = r#"
    start main.1 worker
    main alloc `heap(a.c:20 by main #0)` =16 @20 main "job = malloc(sizeof *job);"
    main W `heap(a.c:20 by main #0)` =1 @21 main "job->go = 1;"
    main fork main.1 @22 main
    main.1 R `heap(a.c:20 by main #0)` =1 @30 worker "while (job->go)"
    main free `heap(a.c:20 by main #0)` @40 main "free(job);"
    main.1 R `heap(a.c:20 by main #0)` =219 @30 worker "while (job->go)"
    main.1 fails @30 worker
"#;

fn freed() -> (Arc<Run>, Explanation) {
    let run = Arc::new(script::parse(FAILS).expect("a run"));
    let mut corpora = Corpora::default();
    corpora.insert(RunSummary::new("failed-0".to_owned(), run.clone()));
    let corpus = corpora.iter().next().expect("a corpus");
    let mut told = explain(corpus, &Budget::unlimited()).findings;
    (run, told.remove(0))
}

/// A story without which nothing fails, with the orders of the use after free.
fn necessary(
    story: &Explanation,
    run: &Run,
    kind: BugKind,
    complete: impl Fn(EventId) -> EventId,
) -> TriedStory {
    let share = |fails| FailingShare {
        fails,
        of: 30,
        orders: 30,
    };
    let mut orders = intervention(story, run).expect("orders");
    orders.complete = complete(orders.complete);
    let begins = match kind {
        BugKind::UseAfterFree => orders.complete,
        _ => EventId(0),
    };
    let experiment = Experiment {
        evidence: Evidence {
            with: share(30),
            without: share(0),
        },
        takes_more: false,
        orders,
        begins,
    };
    let story = Explanation {
        kind,
        ..story.clone()
    };
    TriedStory::new(experiment, &story, run, &Decision::default())
}

#[test]
fn values_of_freed_memory_are_no_interruption() {
    let (run, story) = freed();
    assert_eq!(story.kind, BugKind::UseAfterFree);
    let freed = necessary(&story, &run, BugKind::UseAfterFree, |used| used);
    let changed = necessary(&story, &run, BugKind::AtomicityViolation, |used| used);
    assert!(!changed.is_better_than(Some(&freed)));
    // The worker's first visit of the line.
    let before = |used: EventId| EventId(used.0 - 2);
    let led_there = necessary(&story, &run, BugKind::AtomicityViolation, before);
    assert!(led_there.is_better_than(Some(&freed)));
}
