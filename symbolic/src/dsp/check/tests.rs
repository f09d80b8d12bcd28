use super::*;
use crate::dsp::fixture::{Fixture, PFSCAN, fixture};

fn told(fixture: &Fixture, order: &[usize]) -> String {
    let order: Vec<StepId> = order
        .iter()
        .map(|&line| fixture.trace.order[line])
        .collect();
    match check(&fixture.trace, &order) {
        Ok(Feasible { fails, cut, .. }) => format!("{fails:?}, {} cut", cut.len()),
        Err(why) => infeasible_in_words(&why, &fixture.trace, &fixture.run),
    }
}

#[test]
fn the_recorded_order_is_feasible_and_fails() {
    let pfscan = fixture(PFSCAN);
    let found = check(&pfscan.trace, &pfscan.trace.order).unwrap();
    assert_eq!(found.fails, Some(true));
    assert_eq!(found.cut, []);
    let recorded: Vec<_> = pfscan.trace.symbols.iter().map(|s| s.recorded).collect();
    assert_eq!(found.symbols, recorded);
}

#[test]
fn the_alternate_of_figure_three_passes() {
    let pfscan = fixture(PFSCAN);
    // The assertion of main.2 holds when it comes before main.1 takes the element.
    let order: Vec<usize> = (0..15).chain(21..25).chain(15..21).collect();
    assert_eq!(told(&pfscan, &order), "Some(false), 0 cut");
    // A thread may be left out.
    let order: Vec<usize> = (0..7).chain(11..15).chain(21..25).collect();
    assert_eq!(told(&pfscan, &order), "Some(false), 1 cut");
    let order: Vec<usize> = (0..2).chain(3..5).chain(7..10).collect();
    assert!(told(&pfscan, &order).starts_with("each thread's steps"));
    let order: Vec<usize> = (0..3).chain(7..10).collect();
    assert_eq!(
        told(&pfscan, &order),
        "the thread takes the path that it took: main.1, condition f110 > 0 at pfscan.c:10"
    );
}

#[test]
fn rules() {
    let check = |script: &str, order: &[usize], expected: &str| {
        assert_eq!(told(&fixture(script), order), expected, "{script}");
    };
    let locks = "main lock m @1\nmain unlock m @2\nmain.1 lock m @3\nmain.1 unlock m @4";
    check(locks, &[2, 3, 0, 1], "None, 0 cut");
    check(
        locks,
        &[0, 2],
        "a lock is taken when no other thread holds it: main.1, lock m at test.c:3, against main, lock m at test.c:1",
    );
    check(
        locks,
        &[0, 1, 1],
        "each thread's steps come in program order and without gaps: main, unlock m at test.c:2, against main, unlock m at test.c:2",
    );
    let shared = "main shared-lock m @1\nmain.1 shared-lock m @2\nmain shared-unlock m @3\nmain.1 shared-unlock m @4\nmain.2 lock m @5\nmain.2 unlock m @6";
    check(shared, &[0, 2, 4, 5, 1, 3], "None, 0 cut");
    check(
        shared,
        &[0, 4],
        "a lock is taken when no other thread holds it: main.2, lock m at test.c:5, against main, shared-lock m at test.c:1",
    );
    let recursive =
        "main lock m @1\nmain lock m @2\nmain unlock m @3\nmain unlock m @4\nmain.1 lock m @5";
    check(
        recursive,
        &[0, 1, 2, 4],
        "a lock is taken when no other thread holds it: main.1, lock m at test.c:5, against main, lock m at test.c:1",
    );
    let attempt = "main lock m @1\nmain.1 trylock-failed m @2\nmain unlock m @3";
    check(attempt, &[0, 1, 2], "None, 0 cut");
    check(
        attempt,
        &[1],
        "an attempt at a lock fails only while another thread holds it: main.1, trylock-failed m at test.c:2",
    );
    let family = "main fork main.1 @1\nmain.1 begin @2\nmain.1 end @3\nmain join main.1 @4";
    check(
        family,
        &[1],
        "a thread begins after it was created: main.1, begin at test.c:2, against main, fork at test.c:1",
    );
    check(
        family,
        &[0, 1, 3],
        "a join comes after all that the other thread does: main, join at test.c:4, against main.1, end at test.c:3",
    );
    let semaphore = "main sem-post s @1\nmain.1 sem-wait s @2";
    check(
        semaphore,
        &[1, 0],
        "a unit of a semaphore is taken when there is one: main.1, sem-wait s at test.c:2",
    );
    check(
        "main.1 sem-wait s @2\nmain sem-post s @1\nmain.1 sem-wait s @3",
        &[1, 0, 2],
        "None, 0 cut",
    );
    let barrier = "main barrier-arrive b @1\nmain.1 barrier-arrive b @2\nmain barrier-leave b @3\nmain.1 barrier-leave b @4";
    check(barrier, &[1, 0, 3, 2], "None, 0 cut");
    check(
        barrier,
        &[0, 2],
        "a barrier is left when all have come: main, barrier-leave b at test.c:3",
    );
    let once = "main once-begin o @1\nmain once-end o @2\nmain.1 once-pass o @3";
    check(
        once,
        &[0, 2],
        "a once-only initialization is passed when it is done: main.1, once-pass o at test.c:3, against main, once-end o at test.c:2",
    );
    check(
        once,
        &[2],
        "a once-only initialization is passed when it is done: main.1, once-pass o at test.c:3, against main, once-end o at test.c:2",
    );
    check(once, &[0, 1], "None, 1 cut");
}

#[test]
fn waits() {
    let script = "
        main.1 lock m @1
        main.1 wait c @2
        main.1 unlock m @2
        main lock m @3
        main signal c =1 @4
        main unlock m @5
        main.1 lock m @2
        main.1 wake c =0 @2
        main.1 unlock m @6";
    let waits = fixture(script);
    assert_eq!(told(&waits, &[0, 1, 2, 3, 4, 5, 6, 7, 8]), "None, 0 cut");
    assert!(told(&waits, &[3, 4, 5, 0, 1, 2, 6]).starts_with("a wait goes on after a signal"));
    let by_itself = fixture(&script.replace("wake c =0", "wake c =2"));
    assert_eq!(
        told(&by_itself, &[0, 1, 2, 6, 7, 8, 3, 4, 5]),
        "None, 0 cut"
    );
}

#[test]
fn what_was_used_against_the_rules_keeps_its_order() {
    let odd = fixture("main lock m @1\nmain.1 unlock m @2\nmain.1 W x = 1 @3");
    assert_eq!(told(&odd, &[0, 1, 2]), "None, 0 cut");
    assert!(told(&odd, &[1]).starts_with("what was used against the rules"));
}

#[test]
fn steps_of_one_event_come_together() {
    let mut rmw = fixture("main R x -> a @1\nmain W x = a + 1 @1\nmain.1 W x = 5 @2");
    let event = rmw.trace.threads[0].steps[0].event;
    rmw.trace.threads[0].steps[1].event = event;
    assert_eq!(told(&rmw, &[2, 0, 1]), "None, 0 cut");
    assert!(told(&rmw, &[0, 2, 1]).starts_with("the steps of one event come together"));
}
