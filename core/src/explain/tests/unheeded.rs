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

/// A lock of the program's own: who gives it back has not seen that somebody waits by now.
#[test]
fn a_word_that_was_changed_without_a_wake_up_is_told() {
    let begin = "
        start main.1 pay
        main fork main.1 @40 main";
    let look = "
        main.1 atomic-read word =1 @10 unlock";
    let sleeps = "
        main rmw word 1->2 @20 lock
        main blocked futex word @21 lock";
    let gives_back = "
        main.1 atomic-write word =0 @11 unlock";
    let hangs = |steps: &[&str]| {
        let text = [begin, &steps.concat(), "\n deadlocks"].concat();
        explain(&corpus(&[], &[&text]), &Budget::unlimited())
            .findings
            .remove(0)
            .headline
    };
    assert_eq!(
        hangs(&[look, sleeps, gives_back]),
        "main waits for a wake-up, and does not see that `word` was changed"
    );
    assert_eq!(
        hangs(&[look, gives_back, &sleeps.replace("1->2", "0->2")]),
        "main waits for `word` for ever"
    );
}

/// The thread that drains takes back that it was woken only after it has looked for work.
#[test]
fn the_flag_that_kept_the_announcement_back_is_told() {
    let raised = "
    main.1 rmw woken 1->1 @33 wake";
    let reset = "
    main atomic-write woken =0 @64 run";
    let failing = [BEGIN, &drains("0"), PUSHES, raised, reset, BLOCKED].concat();
    let told = told(&failing);
    let headline_of = |text: &str| self::told(text).headline;
    assert_eq!(
        told.headline,
        "main waits for input or output that work (main.1) did not send"
    );
    assert_eq!(
        told.detail,
        "main read `head` = 0 at test.c:21, and set `woken` to 0 only at line 64;\n\
         in between work (main.1) changed `head` to 1 at line 11, read `woken` = 1 at line 33, and went on."
    );
    assert!(intervention(&told, &run(&failing)).is_some());
    let same = reset.replace("=0", "=1");
    let unchanged = [BEGIN, &drains("0"), PUSHES, raised, &same, BLOCKED].concat();
    assert!(headline_of(&unchanged).ends_with("was changed"));
    let before = [BEGIN, &drains("0"), reset, PUSHES, raised, BLOCKED].concat();
    assert!(headline_of(&before).ends_with("was changed"));
}

/// A loop takes what was posted, and clears its flag before or after that.
fn coalesced(clears: &str) -> String {
    let text = format!(
        "start main.1 io_main
        start main.2 client
        main fork main.1 @40 main
        main fork main.2 @41 main
        main W l.head =1 @27 loop_post
        main rmw l.notified 0->1 via=30@loop_post @19 loop_notify
        main sem-post l.wake via=30@loop_post @20 loop_notify
        main.1 sem-wait l.wake @59 loop_run
        main.1 R l.head =1 @38 loop_take
        {clears}
        main.1 blocked semaphore l.wake @59 loop_run
        main.2 blocked condition c.cv @25 call
        deadlocks"
    );
    let found = explain(&corpus(&[], &[&text]), &Budget::unlimited()).findings;
    found.first().map_or(String::new(), |told| {
        format!("{}: {}", told.headline, told.detail)
    })
}

#[test]
fn a_flag_that_is_set_back_too_late() {
    let posts = "main.2 W l.head =2 @27 loop_post\nmain.2 rmw l.notified 1->1 via=30@loop_post @19 loop_notify\n";
    let clears = "main.1 atomic-write l.notified =0 @62 loop_run\n";
    assert_eq!(
        coalesced(&format!("{posts}{clears}")),
        "io_main (main.1) waits for a unit of `l.wake` that client (main.2) did not post: io_main (main.1) read `l.head` = 1 at \
         test.c:38, and set `l.notified` to 0 only at line 62;\nin between client (main.2) changed `l.head` to 2 at line 27, read \
         `l.notified` = 1 at line 19, and went on."
    );
    let in_time = posts.replace("1->1", "0->1");
    let told = coalesced(&format!(
        "{clears}{in_time}main.2 sem-post l.wake via=30@loop_post @20 loop_notify\n"
    ));
    assert!(!told.contains("did not post"), "{told}");
}
