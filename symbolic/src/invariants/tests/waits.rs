//! Waits that nothing ends, and reads of what nobody has written.

use super::*;

fn lightest(text: &str) -> String {
    let (trace, run) = path(text);
    let (options, budget) = (InvariantOptions::default(), Budget::unlimited());
    let explained = explain(&trace, &run, &trace.order, &options, &budget).unwrap();
    assert_eq!(check(&explained, &budget), []);
    let said = explained
        .invariants
        .iter()
        .map(|reach| explained.say(reach));
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    expect_test::expect![[r#"
        main: ready == 0
        main: seen == 0
        main found seen == 0 at line 11
        main.1 stored ready at line 20 after main read it at line 10
        main waits for c
        main waited for c at line 12 after main.1 had signalled it at line 21, when no thread waited"#]]
    .assert_eq(&lightest(
        "
        shared ready = 0
        main fork main.1 @1
        main seen := ready @10
        main [ seen == 0 @11
        main.1 ready = 1 @20
        main.1 signal c @21
        main wait c @12
        main blocked c @12
        main deadlocks
    ",
    ));
}

#[test]
fn a_wait_without_a_signal() {
    expect_test::expect![[r#"
        main waits for c
        no thread signalled c after main waited at line 12"#]]
    .assert_eq(&lightest(
        "
        main fork main.1 @1
        main wait c @12
        main blocked c @12
        main deadlocks
    ",
    ));
}

#[test]
fn a_semaphore_without_units() {
    expect_test::expect![[r#"
        units of s <= 1
        units of s <= 0"#]]
    .assert_eq(&lightest(
        "
        main fork main.1 @1
        main.1 post s @20
        main take s @10
        main blocked s @11
        main deadlocks
    ",
    ));
}

#[test]
fn a_barrier_that_others_do_not_come_to() {
    expect_test::expect!["main waits for b"].assert_eq(&lightest(
        "
        main fork main.1 @1
        main arrive b @10
        main blocked b @10
        main deadlocks
    ",
    ));
}

#[test]
fn what_nobody_has_stored() {
    expect_test::expect![[r#"
        no thread stored saved before main read it at line 10
        main: saved == 0"#]]
    .assert_eq(&lightest(
        "
        shared saved = 0
        shared other = 0
        main fork main.1 @1
        main.1 other = 1 @20
        main fails saved == 0 @10
    ",
    ));
}

#[test]
fn what_no_other_thread_has_stored() {
    expect_test::expect![[r#"
        saved == 3
        no other thread stored saved after main stored it at line 5 and before it read it at line 10
        main: saved == 3"#]]
    .assert_eq(&lightest(
        "
        shared saved = 0
        main saved = 3 @5
        main fork main.1 @6
        main fails saved == 3 @10
    ",
    ));
}
