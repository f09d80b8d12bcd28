//! The paper's Figures 3 and 4 and its Example 3.

use super::{super::Level, path::path, shown};

/// Figure 3: `if (x < 0) x := 1; else x := 2; y := x`, on the way through the first branch.
#[test]
fn figure_3_the_branch_matters_with_control() {
    let text = "
        shared out = 0
        main x := 0 - 5 @1
        main [ x < 0 @2
        main x := 1 @3
        main ]
        main y := x @5
        main fails y != 2 @6
    ";
    expect_test::expect![[r#"
        ds
        main set x = 1
            main: x <= 1
        main set y = 1
            main: y <= 1
        main failed: y != 2"#]]
    .assert_eq(&shown(path(text), Some(Level::DS)));
    expect_test::expect![[r#"
        ds+cs
        main set x = -5
            main: x <= -1
        main went on with x < 0
            main found x < 0 at line 2
        main set x = 1
            main: x <= 1
        main set y = 1
            main: y <= 1
        main failed: y != 2"#]]
    .assert_eq(&shown(path(text), Some(Level::CS)));
}

/// Figure 4, Examples 1 and 2: the statements that led into the branch are only in the control-sensitive
/// slice.
#[test]
fn figure_4_control_sensitive_slices_say_why_the_branch_was_taken() {
    let text = "
        shared out = 0
        main bal := 10 @1
        main amount := 25 @2
        main other := bal + 1 @3
        main [ bal < amount @4
        main bal := 0 @5
        main ]
        main fails bal < 1 @7
    ";
    expect_test::expect![[r#"
        ds
        main set bal = 0
            main: bal <= 0
        main failed: bal < 1"#]]
    .assert_eq(&shown(path(text), Some(Level::DS)));
    expect_test::expect![[r#"
        ds+cs
        main set bal = 10
            main: bal <= 24
        main set amount = 25
            main: bal < amount
        main went on with bal < amount
            main found bal < amount at line 4
        main set bal = 0
            main: bal <= 0
        main failed: bal < 1"#]]
    .assert_eq(&shown(path(text), Some(Level::CS)));
}

/// Figure 5, Example 3: L2 is in the slice only for its order, and the invariant says so.
#[test]
fn example_3_the_overwritten_store_is_a_hazard() {
    let text = "
        shared balance = 300
        main fork main.1 @1
        main fork main.2 @2
        main.2 bal := balance @100
        main.1 bal := balance @67
        main.1 balance = bal + 200 @74
        main.2 balance = bal - 50 @107
        main join main.1 @3
        main join main.2 @4
        main fails balance != 450 @120
    ";
    for level in [Level::DS, Level::CS] {
        assert!(!shown(path(text), Some(level)).contains("main.1 stored"));
    }
    let waw = Level::parse("ds+waw");
    expect_test::expect![[r#"
        ds+waw
        main.2 read balance = 300
            main.2: balance <= 300
        main.2 set bal = 300
            main.2: bal <= 300
        main.1 stored balance = 500
        main.2 stored balance = 250
            balance <= 250
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
        main read balance = 250
            main: balance <= 250
        main failed: balance != 450"#]]
    .assert_eq(&shown(path(text), waw));
}

/// Private variables of two threads are told with their threads, above all where they have one name.
#[test]
fn private_variables_of_several_threads_have_their_threads() {
    let text = "
        shared slot = 0
        shared first = 3
        shared second = 4
        main fork main.1 @1
        main n := second @2
        main.1 n := first @3
        main.1 slot = n @4
        main k := slot @5
        main fails k != n @6
    ";
    expect_test::expect![[r#"
        ds
        main read second = 4
            main: second != 3
        main set n = 4
            main: n != 3
        main.1 read first = 3
            first != main's n
        main.1 set n = 3
            main.1's n != main's n
        main.1 stored slot = 3
            main: slot != n
        main read slot = 3
            main: slot != n
        main set k = 3
            main: k != n
        main failed: k != n"#]]
    .assert_eq(&shown(path(text), Some(Level::DS)));
}
