//! Hovers over a line of a bank, and over one that the C++ library fills.

use super::*;
use crate::fixture::run;
use expect_test::{Expect, expect};

const BANK: &str = r#"
    file /src/bank.c
    main fork main.1 @70 main "pthread_create(&a, NULL, payroll, NULL);"
    main fork main.2 @71 main "pthread_create(&b, NULL, cash_machine, NULL);"
    main.2 lock m @48 cash_machine "pthread_mutex_lock(&m);"
    main.2 R balance =300 @49 cash_machine "long available = balance;"
    main.2 unlock m @50 cash_machine "pthread_mutex_unlock(&m);"
    main.1 lock m @40 payroll "pthread_mutex_lock(&m);"
    main.1 W balance =500 @41 payroll "balance += amount;"
    main.1 unlock m @42 payroll "pthread_mutex_unlock(&m);"
    main.2 lock m @56 cash_machine "pthread_mutex_lock(&m);"
    main.2 W balance =250 @57 cash_machine "balance = available - amount;"
    main.2 unlock m @58 cash_machine "pthread_mutex_unlock(&m);"
    main.1 W seen =1 @44 payroll "seen = 1;"
    main.2 R seen =1 @60 cash_machine "if (seen)"
    main.1 signal ready =0 @45 payroll "pthread_cond_signal(&ready);"
"#;

fn told(run: &Run, place: &HoverPlace<'_>) -> String {
    let told = hover(run, &Orders::new(run), place, &[]);
    told.map_or(String::from("nothing"), |hover| {
        [hover.summary, vec!["---".to_owned()], hover.details]
            .concat()
            .join("\n")
            + "\n"
    })
}

fn check(line: u32, word: Option<&str>, expected: Expect) {
    let run = run(BANK);
    let told = told(
        &run,
        &HoverPlace {
            file: "bank.c",
            line,
            word,
        },
    );
    expected.assert_eq(&told);
}

#[test]
fn a_write_between_critical_sections() {
    check(
        57,
        None,
        expect![[r#"
            `balance`: cash_machine (main.2) wrote 250.
            Since its own access at line 49, main.1 wrote 500 (line 41).
            It holds `m` (since line 56), like main.1 at line 41: either may come first.
            ---
            Guarded by `m` in all 3 accesses of this run that could meet another thread's.
        "#]],
    );
}

/// `main` sets the total before it starts the thread: the lock that it holds meanwhile does not make that come later.
#[test]
fn what_is_set_before_a_thread_begins_comes_first() {
    let text = "main lock m @5 main\nmain W total =2 @6 main\nmain unlock m @7 main\n\
        main fork main.1 @8 main\nmain.1 lock m @20 look\nmain.1 R total =2 @21 look\n\
        main.1 unlock m @22 look\n";
    let place = HoverPlace {
        file: "test.c",
        line: 21,
        word: None,
    };
    let told = told(&run(text), &place);
    assert!(told.contains("It holds `m` (since line 20).\n"), "{told}");
}

#[test]
fn the_end_of_a_wait_is_told_in_the_past() {
    let text = "main fork main.1 @8 main\nmain.1 lock m @20 look\nmain.1 wait ready @21 look\n\
        main.1 unlock m @21 look\nmain signal ready =1 @9 main\nmain.1 lock m @21 look\n\
        main.1 wake ready =0 @21 look\nmain.1 unlock m @22 look\n";
    let place = HoverPlace {
        file: "test.c",
        line: 21,
        word: Some("ready"),
    };
    let told = told(&run(text), &place);
    assert!(told.contains("woke up from it"), "{told}");
}

#[test]
fn a_racy_read() {
    check(
        60,
        None,
        expect![[r#"
            `seen`: cash_machine (main.2) read 1.
            main.1 wrote 1 before (line 44).
            Nothing orders it with main.1 at line 44, neither a lock nor another event: a data race.
            ---
        "#]],
    );
}

#[test]
fn a_lock_a_signal_and_nothing() {
    check(
        56,
        None,
        expect![[r#"
            `m`: cash_machine (main.2) locked it.
            ---
        "#]],
    );
    check(
        45,
        None,
        expect![[r#"
            `ready`: payroll (main.1) signalled it, but nobody waited.
            ---
        "#]],
    );
    check(1, None, expect!["nothing"]);
}

#[test]
fn another_file_of_the_same_name_is_not_meant() {
    let run = run(BANK);
    let orders = Orders::new(&run);
    let at = |file| {
        let place = HoverPlace {
            file,
            line: 57,
            word: None,
        };
        hover(&run, &orders, &place, &[])
    };
    assert!(at("src/bank.c").is_some());
    assert!(at("test/bank.c").is_none());
}

/// Data of one thread and of the library are left out beside what threads share; the word under the cursor comes first.
#[test]
fn what_is_asked_about_comes_first() {
    let run = run(
        "file /src/total.c\nmain fork main.1 @1\nmain.1 R main.1:worker.i =1 @7 worker \"total += count[i];\"\n\
        main.1 R count =5 @7 worker \"total += count[i];\"\nmain.1 R main.1:worker.__end =9 @7 worker \"total += count[i];\"\n\
        main.1 W total =5 @7 worker \"total += count[i];\"\nmain W count =6 @9\nmain R total =5 @10",
    );
    let at = |word| HoverPlace {
        file: "total.c",
        line: 7,
        word,
    };
    let plain = expect![[r#"
        `total`: worker (main.1) wrote 5.
        main read 5 after (line 10).
        Nothing orders it with main at line 10, neither a lock nor another event: a data race.
        `count`: worker (main.1) read 5.
        ---
        4 events here in this run, from the 2nd to the 5th of all 7.
    "#]];
    plain.assert_eq(&told(&run, &at(None)));
    let shared = expect![[r#"
        `count`: worker (main.1) read 5.
        main wrote 6 after (line 9).
        Nothing orders it with main at line 9, neither a lock nor another event: a data race.
        `total`: worker (main.1) wrote 5.
        ---
        4 events here in this run, from the 2nd to the 5th of all 7.
    "#]];
    shared.assert_eq(&told(&run, &at(Some("count"))));
    let own = expect![[r#"
        `i`: worker (main.1) read 1.
        Also here: `total` and `count`.
        ---
        4 events here in this run, from the 2nd to the 5th of all 7.
    "#]];
    own.assert_eq(&told(&run, &at(Some("i"))));
}
