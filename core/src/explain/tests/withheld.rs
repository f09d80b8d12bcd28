//! Tests of signals that a thread did not send, by what it had read.

use super::check;
use crate::{
    Budget, Explanation, explain, explain::intervention::intervention, fixture::corpus,
    fixture::run,
};
use expect_test::expect;
use unsnarl_trace::EventId;

/// A semaphore that signals only where it was empty: the second unit comes before the one that was woken took the first.
const SEMAPHORE: &str = "
    start main.1 take
    start main.2 take
    main fork main.1 @40 main
    main fork main.2 @41 main
    main.1 lock m @30 take
    main.1 R units =0 @31 take \"while (units == 0)\"
    main.1 wait given @32 take
    main.1 unlock m @32 take
    main.2 lock m @30 take
    main.2 R units =0 @31 take \"while (units == 0)\"
    main.2 wait given @32 take
    main.2 unlock m @32 take
    main lock m @20 give
    main R units =0 @21 give \"if (units == 0)\"
    main signal given =1 @22 give
    main W units =1 @23 give
    main unlock m @24 give
    main lock m @20 give
    main R units =1 @21 give \"if (units == 0)\"
    main W units =2 @23 give
    main unlock m @24 give
    main.2 lock m @32 take
    main.2 wake given =0 @32 take
    main.2 R units =2 @31 take \"while (units == 0)\"
    main.2 W units =1 @33 take
    main.2 unlock m @34 take
    main.1 blocked condition given @32 take
    main blocked join main.1 @50 main
    deadlocks";

fn told(failing: &str) -> Explanation {
    let corpus = corpus(&[], &[failing]);
    explain(&corpus, &Budget::unlimited()).findings.remove(0)
}

#[test]
fn a_signal_for_the_first_unit_only() {
    check(
        &[],
        &[SEMAPHORE],
        expect![[r#"
            error: take (main.1) waits for a signal that main did not send
              main read `units` = 1 at test.c:21 and did not signal `given`, for which main.1 waited at
                test.c:32;
              take (main.2) changed it from 2 to 1 only after that, at line 33.

               main.1  test.c:32                   waits for given  for ever
               main    test.c:22                   signals given
               main    test.c:21  if (units == 0)  reads 1          no signal
               main.2  test.c:33                   writes 1         too late

              main had read `units` = 0 there, and signalled `given`, at line 22.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

/// The old value of an atomic update is kept, and asked for on another line.
#[test]
fn a_signal_by_the_value_that_an_update_found() {
    let updates = SEMAPHORE
        .replace(
            "main R units =0 @21 give \"if (units == 0)\"\n    main signal",
            "main rmw units 0->1 @21 give \"old = units++;\"\n    main signal",
        )
        .replace("\n    main W units =1 @23 give", "")
        .replace(
            "main R units =1 @21 give \"if (units == 0)\"\n    main W units =2 @23 give",
            "main rmw units 1->2 @21 give \"old = units++;\"",
        );
    assert_ne!(updates, SEMAPHORE);
    let told = told(&updates);
    assert_eq!(
        told.headline,
        "take (main.1) waits for a signal that main did not send"
    );
    assert!(
        told.detail
            .starts_with("main read `units` = 1 at test.c:21"),
        "{}",
        told.detail
    );
}

/// A value that is kept, and asked for on another line. Of a list a look reads both ends; the one that the reader
/// of the list moves tells nothing, as it has not moved.
#[test]
fn a_signal_by_a_look_at_both_ends_of_a_list_that_is_kept() {
    let (end, begin) = ("units._M_finish", "units._M_start");
    let look = "\"bool was_empty = units.empty();\"";
    let lists = SEMAPHORE
        .replace(
            "main R units =0 @21 give \"if (units == 0)\"",
            &format!("main R {end} =0 @21 give {look}\n    main R {begin} =0 @21 give {look}"),
        )
        .replace(
            "main R units =1 @21 give \"if (units == 0)\"",
            &format!("main R {end} =1 @21 give {look}\n    main R {begin} =0 @21 give {look}"),
        )
        .replace("main W units", &format!("main W {end}"))
        .replace("main.2 W units", &format!("main.2 W {begin}"));
    let told = told(&lists);
    assert_eq!(
        told.headline,
        "take (main.1) waits for a signal that main did not send"
    );
    let asked = lists.replace("bool was_empty = units.empty();", "show(units.empty());");
    assert_ne!(self::told(&asked).headline, told.headline);
}

/// The wait comes first, the look during it; without it the look comes before the wait, or after the change.
#[test]
fn the_look_comes_during_the_wait_and_before_the_change() {
    let (told, run) = (told(SEMAPHORE), run(SEMAPHORE));
    let line = |row: &EventId| {
        let event = run.events.event(*row);
        (event.thread.0, run.meta.site(event.site).line)
    };
    let orders = intervention(&told, &run).unwrap();
    let with: Vec<(u16, u32)> = orders.with.iter().map(line).collect();
    assert_eq!(with, [(1, 32), (0, 20), (0, 21), (2, 32)]);
    let without = orders
        .without
        .iter()
        .map(|order| order.iter().map(line).collect());
    let without: Vec<Vec<(u16, u32)>> = without.collect();
    assert_eq!(without, [vec![(0, 21), (1, 30)], vec![(2, 33), (0, 20)]]);
}

#[test]
fn who_signals_after_the_look_has_not_withheld_it() {
    let second = "main W units =2 @23 give";
    let sends = SEMAPHORE.replace(second, &format!("main signal given =1 @22 give\n{second}"));
    assert!(!told(&sends).headline.contains("did not send"));
}

/// A signal that the same line leads to only later says nothing of what it had led to before.
#[test]
fn a_signal_that_is_sent_only_later_was_not_withheld() {
    let (begin, rest) = SEMAPHORE.split_once("main lock m @20 give").unwrap();
    let (first, rest) = rest.split_once("main lock m @20 give").unwrap();
    let (second, end) = rest.split_once("main.2 lock m @32 take").unwrap();
    let give = "main lock m @20 give";
    let swapped = format!("{begin}{give}{second}{give}{first}main.2 lock m @32 take{end}");
    assert!(!told(&swapped).headline.contains("did not send"));
}

/// A look of a loop that waits is about that thread's own wait.
#[test]
fn who_waits_after_the_look_has_not_withheld_it() {
    let waits = "main wait taken @25 give\n    main unlock m @25 give\n    main lock m @25 give\n    main wake taken =0 @25 give";
    let second = "main W units =2 @23 give";
    let waits = SEMAPHORE.replace(second, &format!("{waits}\n    {second}"));
    assert!(!told(&waits).headline.contains("did not send"));
}

/// The same value led to a signal before, so that it is something else that decides.
#[test]
fn a_look_that_read_the_same_does_not_tell_why() {
    let same = SEMAPHORE.replace("main R units =0 @21 give", "main R units =1 @21 give");
    assert!(!told(&same).headline.contains("did not send"));
}

/// Nobody else has changed what was read: no other order of this would have helped.
#[test]
fn a_value_that_stays_is_no_matter_of_order() {
    let stays = SEMAPHORE.replace("main.2 W units =1 @33 take", "");
    assert!(!told(&stays).headline.contains("did not send"));
}
