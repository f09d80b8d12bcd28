//! Tests of looks that told a thread too early that nobody waits.

use super::check;
use crate::{Budget, explain, fixture::corpus};
use expect_test::expect;

/// A pool whose worker announces that it is idle, after somebody has looked for one that is.
const POOL: &str = "
    start main.1 worker
    main fork main.1 @40 main
    main.1 lock m @10 worker
    main.1 R queue =0 @11 worker \"while (queue == 0)\"
    main R idle =0 @30 post \"bool is_one_idle = idle > 0;\"
    main.1 W idle =1 @12 worker
    main.1 wait work @13 worker
    main.1 unlock m @13 worker
    main lock m @31 post
    main W queue =1 @32 post
    main unlock m @35 post
    main.1 blocked condition work @13 worker
    main blocked join main.1 @50 main
    deadlocks";

#[test]
fn the_look_that_came_before_the_announcement_is_told() {
    check(
        &[],
        &[POOL],
        expect![[r#"
        error: worker (main.1) is not woken after `queue` was changed
          main.1 began to wait at test.c:13 for `work`;
          main changed `queue` to 1 at test.c:32, and no thread signalled `work` after that.

           main.1  test.c:11  while (queue == 0)            reads 0
           main    test.c:30  bool is_one_idle = idle > 0;  reads 0
           main.1  test.c:12                                writes 1
           main.1  test.c:13                                waits for work  for ever
           main    test.c:32                                writes 1        not signalled

          main had read `idle` = 0 at test.c:30, before worker (main.1) changed it at line 12. It last
          checked `queue` at test.c:11.
          Possible: the recorded runs do not settle it. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

fn said(failing: &str) -> String {
    let corpus = corpus(&[], &[failing]);
    let found = explain(&corpus, &Budget::unlimited()).findings;
    found
        .first()
        .map(|told| told.remark.clone())
        .unwrap_or_default()
}

/// `cond_wait` stands between the function that has announced itself and the library's.
#[test]
fn a_wait_may_be_in_a_function_of_its_own() {
    let wrapped = POOL.replace("@13 worker", "via=13@worker @70 cond_wait");
    let said = said(&wrapped);
    assert!(said.starts_with("main had read `idle` = 0"), "{said}");
}

#[test]
fn who_looks_again_knows() {
    let again = "main unlock m @35 post";
    let again_too = POOL.replace(again, &format!("main R idle =1 @34 post\n{again}"));
    assert!(said(POOL).contains("had read `idle` = 0"));
    assert!(!said(&again_too).contains("had read `idle`"));
}

#[test]
fn what_another_function_changes_is_no_announcement() {
    let elsewhere = POOL.replace("W idle =1 @12 worker", "W idle =1 @72 start");
    assert!(!said(&elsewhere).contains("had read `idle`"));
}

/// The condition has a second term, which nobody else uses in this run.
#[test]
fn the_shared_term_of_a_condition_is_what_the_wait_is_for() {
    let first = "main.1 R queue =0 @11 worker \"while (queue == 0)\"";
    let both = POOL.replace(
        first,
        &format!("{first}\n    main.1 R stop =0 @11 worker \"while (queue == 0)\""),
    );
    assert_ne!(both, POOL);
    assert!(
        said(&both).contains("It last checked `queue`"),
        "{}",
        said(&both)
    );
}
