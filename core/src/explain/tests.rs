//! Tests of explanations of traces, as text.

mod before_any;
mod ended_sender;
mod given_away;
mod handed_over;
mod look;
mod past;
mod torn;
mod unaware;
mod undone;
mod unheeded;
mod unread;
mod unset;
mod waits;
mod withheld;

use super::{locking::taken_again, set_apart, view::View};
use crate::{
    Budget, Corpus, CorpusKey, Orders, RunSummary, StopReason, explain, facts,
    fixture::{anything, corpus},
    hover,
    hover::HoverPlace,
    render, unexplained,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::sync::Arc;
use unsnarl_trace::{EventId, Outcome};

fn check(passing: &[&str], failing: &[&str], expected: Expect) {
    let corpus = corpus(passing, failing);
    let outcome = explain(&corpus, &Budget::unlimited());
    assert_eq!(outcome.stopped, StopReason::Complete);
    let mut text: String = outcome.findings.iter().map(render::text).collect();
    text.push_str(&render::unexplained(
        &corpus,
        &unexplained(&corpus, &outcome.findings),
        outcome.stopped,
    ));
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    expected.assert_eq(&text);
}

const FORKS: &str = r#"
    file bank.c
    start main.1 payroll
    start main.2 cash_machine
    main fork main.1 @72 main "pthread_create(&threads[0], NULL, payroll, NULL);"
    main fork main.2 @73 main "pthread_create(&threads[1], NULL, cash_machine, NULL);"
"#;
const DEPOSIT: &str = r#"
    main.1 lock account.lock @40 deposit "pthread_mutex_lock(&account.lock);"
    main.1 R account.balance =B0 @41 deposit "account.balance += amount;"
    main.1 W account.balance =B1 @41 deposit "account.balance += amount;"
    main.1 unlock account.lock @43 deposit "pthread_mutex_unlock(&account.lock);"
"#;
const LOOK: &str = r#"
    main.2 lock account.lock @48 withdraw "pthread_mutex_lock(&account.lock);"
    main.2 R account.balance =B0 @49 withdraw "long available = account.balance;"
    main.2 unlock account.lock @50 withdraw "pthread_mutex_unlock(&account.lock);"
"#;
const TAKE: &str = r#"
    main.2 lock account.lock @56 withdraw "pthread_mutex_lock(&account.lock);"
    main.2 W account.balance =B1 @57 withdraw "account.balance = available - amount - fee;"
    main.2 unlock account.lock @59 withdraw "pthread_mutex_unlock(&account.lock);"
"#;
const CHECK: &str = r#"
    main join main.1 @75 main "pthread_join(threads[i], NULL);"
    main join main.2 @75 main "pthread_join(threads[i], NULL);"
    main R account.balance =B0 @79 main "assert(account.balance == 450);"
"#;
const FAILS: &str = "main fails @79 assertion `account.balance == 450` failed";

/// Plays parts in this order, with the values that each reads and writes.
fn play(parts: &[(&str, i64, i64)]) -> String {
    let text = |(part, old, new): &(&str, i64, i64)| {
        part.replace("B0", &old.to_string())
            .replace("B1", &new.to_string())
    };
    parts.iter().map(text).collect()
}

#[test]
fn bank_account_with_two_critical_sections() {
    let first = play(&[
        (FORKS, 0, 0),
        (DEPOSIT, 300, 500),
        (LOOK, 500, 0),
        (TAKE, 0, 450),
        (CHECK, 450, 0),
    ]);
    let second = play(&[
        (FORKS, 0, 0),
        (LOOK, 300, 0),
        (TAKE, 0, 250),
        (DEPOSIT, 250, 450),
        (CHECK, 450, 0),
    ]);
    let fails = play(&[
        (FORKS, 0, 0),
        (LOOK, 300, 0),
        (DEPOSIT, 300, 500),
        (TAKE, 0, 250),
        (CHECK, 250, 0),
        (FAILS, 0, 0),
    ]);
    check(
        &[&first, &second, &first, &second, &first],
        &[&fails],
        expect![[r#"
            error: another thread's update of `account.balance` was lost
              cash_machine (main.2) read account.balance = 300 at bank.c:49 and wrote 250 at line 57;
              in between payroll (main.1) wrote 500 at bank.c:41.

               main.2  bank.c:49  long available = account.balance;            reads 300
               main.1  bank.c:41  account.balance += amount;                   writes 500        <- in between
               main.2  bank.c:57  account.balance = available - amount - fee;  writes 250        500 is lost
               main    bank.c:79  assert(account.balance == 450);              reads 250, fails

              Both accesses hold `account.lock`, but withdraw releases it between them.
              In none of 5 passing runs did line 41 come between lines 49 and 57 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
    check(
        &[],
        &[&fails],
        expect![[r#"
            error: another thread's update of `account.balance` was lost
              cash_machine (main.2) read account.balance = 300 at bank.c:49 and wrote 250 at line 57;
              in between payroll (main.1) wrote 500 at bank.c:41.

               main.2  bank.c:49  long available = account.balance;            reads 300
               main.1  bank.c:41  account.balance += amount;                   writes 500        <- in between
               main.2  bank.c:57  account.balance = available - amount - fee;  writes 250        500 is lost
               main    bank.c:79  assert(account.balance == 450);              reads 250, fails

              Both accesses hold `account.lock`, but withdraw releases it between them.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

#[test]
fn table_cleared_too_early() {
    let start = r#"
        start main.1 consume
        start main.2 print_heading
        main W table =&block @60 main "table = new_table();"
        main fork main.1 @61 main "pthread_create(&consumer, NULL, consume, NULL);"
        main fork main.2 @62 main "pthread_create(&printer, NULL, print_heading, title);"
    "#;
    let consume = r#"
        main.1 R table =&block @34 consume "for (int i = 0; i < table->used; i++)"
        main.1 R `heap(a.c:20 by main #0)` =4 @34 consume "for (int i = 0; i < table->used; i++)"
    "#;
    let drop = r#"
        main.2 end
        main join main.2 @64 main "pthread_join(printer, NULL);"
        main R table =&block @54 drop_table "struct table *old = table;"
        main W table =0 size=8 @55 drop_table "table = NULL;"
    "#;
    let fails = r#"
        main.1 R table =0 size=8 @34 consume "for (int i = 0; i < table->used; i++)"
        main.1 fails @34 segmentation fault
    "#;
    let passes = [start, consume, consume, drop].concat();
    check(
        &[passes.as_str(); 6],
        &[&[start, consume, drop, fails].concat()],
        expect![[r#"
            error: `table` was cleared while consume (main.1) still used it
              main set table = NULL at test.c:55 before consume (main.1) read it at line 34.

               main.1  test.c:34  for (int i = 0; i < table->used; i++)  reads &block
               main    test.c:55  table = NULL;                          writes NULL        <- too early
               main.1  test.c:34  for (int i = 0; i < table->used; i++)  reads NULL, fails

              Nothing orders the two: main joins main.2 but not main.1 before.
              In none of 6 passing runs did line 34 run after line 55 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
    check(
        &[passes.as_str(); 6],
        &[&[start, drop, fails].concat()],
        expect![[r#"
            error: `table` was cleared while consume (main.1) still used it
              main set table = NULL at test.c:55 before consume (main.1) read it at line 34.

               main    test.c:55  table = NULL;                          writes NULL        <- too early
               main.1  test.c:34  for (int i = 0; i < table->used; i++)  reads NULL, fails

              Nothing orders the two: main joins main.2 but not main.1 before.
              In all 6 passing runs line 34 ran before line 55.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

#[test]
fn session_used_before_its_bandwidth_is_set() {
    let start = r#"
        start main.1 event_loop
        main W `heap(s.c:53 by main #0)+8` =3 @54 session_new "session->peers = peers;"
        main fork main.1 @55 session_new "pthread_create(&session->events, NULL, event_loop, session);"
    "#;
    let set = r#"main W `heap(s.c:53 by main #0)+16` =&b @56 session_new "session->bandwidth = bandwidth_new(4096);"
    "#;
    let take = r#"
        main.1 R `heap(s.c:53 by main #0)+8` =3 @44 event_loop "for (int peer = 0; peer < session->peers; peer++)"
        main.1 R `heap(s.c:53 by main #0)+16` =VALUE size=8 @33 bandwidth_take "assert(session->bandwidth != NULL);"
    "#;
    let fails = "main.1 fails @33 assertion `session->bandwidth != NULL` failed";
    let passes = [start, set, &take.replace("VALUE", "&b")].concat();
    check(
        &[passes.as_str(); 5],
        &[&[start, &take.replace("VALUE", "0"), fails].concat()],
        expect![[r#"
            error: `session->bandwidth` was used before it was set
              event_loop (main.1) read session->bandwidth = NULL at test.c:33, but line 56 had not set it yet.

               main    test.c:55  pthread_create(&session->events, NULL, even...  creates main.1
                       test.c:56  session->bandwidth = bandwidth_new(4096);
                         (in passing runs main runs it here)
               main.1  test.c:33  assert(session->bandwidth != NULL);             reads NULL, fails  not set yet

              session_new starts main.1 at line 55 and sets it only at line 56.
              In all 5 passing runs line 56 ran before line 33 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

#[test]
fn two_variables_half_new() {
    let feed = |n: i64| {
        format!(
            r#"
        main.1 W stats.sum ={} @9 feed "stats.sum += value;"
        "#,
            n * 10
        )
    };
    let count = |n: i64| {
        format!(
            r#"
        main.1 W stats.count ={n} @12 feed "stats.count++;"
        "#
        )
    };
    let sum_read = |n: i64| {
        format!(
            r#"
        main.2 R stats.sum ={} @21 report "long sum = stats.sum;"
        "#,
            n * 10
        )
    };
    let count_read = |n: i64| {
        format!(
            r#"
        main.2 R stats.count ={n} @22 report "long count = stats.count;"
        "#
        )
    };
    let new = [feed(1), count(1), sum_read(1), count_read(1)].concat();
    let old = [sum_read(0), count_read(0), feed(1), count(1)].concat();
    let half = [
        feed(1),
        sum_read(1),
        count_read(0),
        count(1),
        "main.2 fails @23 assertion `sum == 10 * count` failed".into(),
    ]
    .concat();
    check(
        &[&new, &old, &new, &old, &new],
        &[&half],
        expect![[r#"
            error: `stats.sum` and `stats.count` were read while only one of them was new
              feed (main.1) wrote stats.sum at test.c:9 and wrote stats.count at line 12;
              in between report (main.2) read stats.sum at test.c:21 and read stats.count at line 22.

               main.1  test.c:9   stats.sum += value;        writes 10
               main.2  test.c:21  long sum = stats.sum;      reads 10   <- in between
               main.2  test.c:22  long count = stats.count;  reads 0    <- in between
               main.1  test.c:12  stats.count++;             writes 1
               main.2  test.c:23                             fails

              In none of 5 passing runs did lines 21 and 22 come between lines 9 and 12 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

#[test]
fn locks_in_opposite_order() {
    let text = r#"
        start main.1 execute
        start main.2 execute
        main fork main.1 @48 main
        main fork main.2 @48 main
        main.1 lock alice.lock @28 transfer "pthread_mutex_lock(&from->lock);"
        main.2 lock bob.lock @28 transfer "pthread_mutex_lock(&from->lock);"
        main.1 lock-wait bob.lock @29 transfer "pthread_mutex_lock(&to->lock);"
        main.2 lock-wait alice.lock @29 transfer "pthread_mutex_lock(&to->lock);"
        main blocked join main.1 @50 main "pthread_join(threads[i], NULL);"
        main.1 blocked lock bob.lock @29 transfer "pthread_mutex_lock(&to->lock);"
        main.2 blocked lock alice.lock @29 transfer "pthread_mutex_lock(&to->lock);"
        deadlocks
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
        error: main.1 and main.2 wait for each other's lock
          execute (main.1) holds `alice.lock` (test.c:28) and waits for `bob.lock` (test.c:29);
          execute (main.2) holds `bob.lock` (test.c:28) and waits for `alice.lock` (test.c:29).

           main.1  test.c:28  pthread_mutex_lock(&from->lock);  locks alice.lock      holds it to the end
           main.2  test.c:28  pthread_mutex_lock(&from->lock);  locks bob.lock        holds it to the end
           main.1  test.c:29  pthread_mutex_lock(&to->lock);    waits for bob.lock    for ever
           main.2  test.c:29  pthread_mutex_lock(&to->lock);    waits for alice.lock  for ever

          The same lines lock in both orders: which lock comes first depends on the arguments.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

/// The threads have other names for the same locks, which lie in blocks.
#[test]
fn a_lock_is_told_by_both_of_its_names() {
    let text = r#"
        start main.1 execute
        start main.2 execute
        main fork main.1 @48 main
        main fork main.2 @48 main
        main.1 lock `heap(a.c:3 by main #0).lock` @28 transfer "pthread_mutex_lock(&from->lock);"
        main.2 lock `heap(a.c:3 by main #1).lock` @28 transfer "pthread_mutex_lock(&from->lock);"
        main.1 lock-wait `heap(a.c:3 by main #1).lock` @29 transfer "pthread_mutex_lock(&to->lock);"
        main.2 lock-wait `heap(a.c:3 by main #0).lock` @29 transfer "pthread_mutex_lock(&to->lock);"
        main blocked join main.1 @50 main "pthread_join(threads[i], NULL);"
        main.1 blocked lock `heap(a.c:3 by main #1).lock` @29 transfer "pthread_mutex_lock(&to->lock);"
        main.2 blocked lock `heap(a.c:3 by main #0).lock` @29 transfer "pthread_mutex_lock(&to->lock);"
        deadlocks
    "#;
    let told = explain(&corpus(&[], &[text]), &Budget::unlimited()).findings;
    assert_eq!(
        told[0].detail,
        "execute (main.1) holds `from->lock` (test.c:28) and waits for `to->lock` (test.c:29), which is the `from->lock` of main.2;\n\
         execute (main.2) holds `from->lock` (test.c:28) and waits for `to->lock` (test.c:29), which is the `from->lock` of main.1."
    );
}

#[test]
fn locks_of_which_one_is_forgotten() {
    let text = r#"
        main.1 lock m @28 work "pthread_mutex_lock(&m);"
        main.1 end
        main.2 lock-wait m @38 other "pthread_mutex_lock(&m);"
        main.2 blocked lock m @38 other "pthread_mutex_lock(&m);"
        deadlocks
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
        error: other (main.2) waits for `m`, which is never unlocked
          other (main.2) waits at test.c:38;
          work (main.1) locked it at test.c:28 and did not unlock it.

           main.1  test.c:28  pthread_mutex_lock(&m);  locks m      never unlocked
           main.2  test.c:38  pthread_mutex_lock(&m);  waits for m  for ever

          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

/// `if` around a wait: another thread takes the item between the signal and the return from the wait.
#[test]
fn a_condition_that_is_not_looked_at_again_after_the_wait() {
    let text = r#"
        start main.1 consume
        start main.2 produce
        start main.3 thief
        main.1 lock m @10 consume
        main.1 R items =0 @11 consume "if (items == 0)"
        main.1 wait filled @12 consume
        main.1 unlock m @12 consume
        main.2 lock m @20 produce
        main.2 W items =1 @21 produce "items = 1;"
        main.2 signal filled =1 @22 produce
        main.2 unlock m @23 produce
        main.3 lock m @30 thief
        main.3 R items =1 @31 thief "if (items > 0)"
        main.3 W items =0 @31 thief "items--;"
        main.3 unlock m @32 thief
        main.1 lock m @12 consume
        main.1 wake filled =0 @12 consume
        main.1 R items =0 @14 consume "assert(items > 0);"
        main.1 fails @14 assertion `items > 0` failed
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
            error: consume (main.1) did not look at `items` again after it had waited
              consume (main.1) read items = 0 at test.c:11 and read 0 at line 14;
              in between thief (main.3) wrote 0 at test.c:31.

               main.1  test.c:11  if (items == 0)     reads 0
               main.3  test.c:31  items--;            writes 0        <- in between
               main.1  test.c:14  assert(items > 0);  reads 0, fails

              consume (main.1) waits at line 12 in between, and that gives `m` back: look again after the wait
              (`while` instead of `if`).
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

#[test]
fn wakeup_that_came_before_the_wait() {
    let text = r#"
        start main.1 wait_for_it
        start main.2 waker
        main.1 R done =0 @14 wait_for_it "if (!done)"
        main.2 W done =1 @23 waker "done = 1;"
        main.2 signal ready =0 @24 waker "pthread_cond_signal(&ready);"
        main.1 lock m @15 wait_for_it "pthread_mutex_lock(&m);"
        main.1 wait ready @16 wait_for_it "pthread_cond_wait(&ready, &m);"
        main.1 unlock m @16 wait_for_it "pthread_cond_wait(&ready, &m);"
        main blocked join main.1 @30 main "pthread_join(a, NULL);"
        main.1 blocked condition ready @16 wait_for_it "pthread_cond_wait(&ready, &m);"
        deadlocks
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
            error: wait_for_it (main.1) waits for a signal that was already sent
              waker (main.2) signalled `ready` at test.c:24 while nobody waited;
              main.1 began to wait at test.c:16.

               main.1  test.c:14  if (!done)                      reads 0
               main.2  test.c:23  done = 1;                       writes 1
               main.2  test.c:24  pthread_cond_signal(&ready);    signals ready    nobody waits
               main.1  test.c:16  pthread_cond_wait(&ready, &m);  waits for ready  for ever

              It last checked `done` at test.c:14: the signal came between that and the wait.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

#[test]
fn an_update_of_freed_memory_is_told_as_one() {
    let text = r#"
        start main.1 worker
        main alloc `heap(a.c:20 by main #0)` =16 @20 main "job = malloc(sizeof *job);"
        main free `heap(a.c:20 by main #0)` @40 main "free(job);"
        main.1 rmw `heap(a.c:20 by main #0)+8` size=4 3688618971->3688618972 @31 worker "atomic_fetch_add(&job->users, 1);"
        main.1 fails @32 segmentation fault
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
        error: `*job` was freed while worker (main.1) still used it
          main freed it at test.c:40 before worker (main.1) updated it at line 31.

           main    test.c:40  free(job);                         frees the block       <- too early
           main.1  test.c:31  atomic_fetch_add(&job->users, 1);  updates freed memory  after it was freed
           main.1  test.c:32                                     fails

          Nothing orders the two.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

#[test]
fn different_locks_of_one_name_are_told_apart() {
    let of_bucket = |part: &str, bucket: u32| {
        let lock = format!("lock `heap(bank.c:20 by main #0)[{bucket}].lock` @");
        part.replace("lock account.lock @", &lock)
            .replace("&account.lock", "&b->lock")
    };
    let (look, take, deposit) = (
        of_bucket(LOOK, 2),
        of_bucket(TAKE, 2),
        of_bucket(DEPOSIT, 3),
    );
    let fails = play(&[
        (FORKS, 0, 0),
        (&look, 300, 0),
        (&deposit, 300, 500),
        (&take, 0, 250),
        (CHECK, 250, 0),
        (FAILS, 0, 0),
    ]);
    check(
        &[],
        &[&fails],
        expect![[r#"
        error: another thread's update of `account.balance` was lost
          cash_machine (main.2) read account.balance = 300 at bank.c:49 and wrote 250 at line 57;
          in between payroll (main.1) wrote 500 at bank.c:41.

           main.2  bank.c:49  long available = account.balance;            reads 300
           main.1  bank.c:41  account.balance += amount;                   writes 500        <- in between
           main.2  bank.c:57  account.balance = available - amount - fee;  writes 250        500 is lost
           main    bank.c:79  assert(account.balance == 450);              reads 250, fails

          cash_machine (main.2) and payroll (main.1) hold a `b->lock` each, but not the same one.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

#[test]
fn use_after_free() {
    let text = r#"
        start main.1 worker
        main alloc `heap(a.c:20 by main #0)` =16 @20 main "job = malloc(sizeof *job);"
        main.1 R job =&`heap(a.c:20 by main #0)` @31 worker "use(job->size);"
        main free `heap(a.c:20 by main #0)` @40 main "free(job);"
        main.1 R `heap(a.c:20 by main #0)+8` =7 @31 worker "use(job->size);"
        main.1 fails @32 segmentation fault
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
            error: `*job` was freed while worker (main.1) still used it
              main freed it at test.c:40 before worker (main.1) read it at line 31.

               main    test.c:40  free(job);       frees the block  <- too early
               main.1  test.c:31  use(job->size);  reads 7          after it was freed
               main.1  test.c:32                   fails

              Nothing orders the two.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

/// A notification after which nobody waits any more: the one who waited has gone, and has taken the condition along.
#[test]
fn a_signal_to_a_condition_in_a_freed_block() {
    let text = r#"
        start main.1 serve
        main alloc `heap(a.c:20 by main #0)` =64 @20 ask "r = new Request;"
        main fork main.1 @21 ask
        main.1 W `heap(a.c:20 by main #0)` =1 @31 serve "r->ready = 1;"
        main R `heap(a.c:20 by main #0)` =1 @23 ask "while (!r->ready)"
        main free `heap(a.c:20 by main #0)` @25 ask "delete r;"
        main.1 signal `heap(a.c:20 by main #0)+8` =0 @32 serve "r->cv.notify_one();"
        main.1 fails @32 segmentation fault
    "#;
    check(
        &[],
        &[text],
        expect![[r#"
            error: `*r` was freed while serve (main.1) still used it
              ask (main) freed it at test.c:25 before serve (main.1) used it at line 32.

               main.1  test.c:31  r->ready = 1;        writes 1
               main    test.c:23  while (!r->ready)    reads 1
               main    test.c:25  delete r;            frees the block  <- too early
               main.1  test.c:32  r->cv.notify_one();  signals r->cv    after it was freed
               main.1  test.c:32                       fails

              main.1 changes `r->ready` at line 31, before this use: main reads it at line 23, and goes on.
              Possible: the recorded runs do not settle it. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

#[test]
fn sequential_bug() {
    let run = |n: usize| {
        format!(
            "main R sum =4 @26\n{}main R sum =4 @27\nmain fails @27 assertion `sum == 5` failed",
            "main.1 W x\n".repeat(n)
        )
    };
    let texts: Vec<String> = (0..25).map(run).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    check(
        &[],
        &texts,
        expect![[r#"
            note: the assertion at test.c:27 fails in every one of 25 different orders: this does not depend on
              the schedule
              Each run ends with: assertion `sum == 5` failed at test.c:27.
        "#]],
    );
    check(
        &[],
        &texts[1..2],
        expect![[r#"
            failed-0 failed without an explanation: assertion `sum == 5` failed at test.c:27.
            There was no passing run to compare with: record more runs, or take in those that were left out.
        "#]],
    );
    let many = vec![texts[1]; 30];
    check(
        &[],
        &many,
        expect![[r#"
            note: the assertion at test.c:27 fails in all 30 recorded runs, which have one order of conflicting
              steps: this does not depend on the schedule
              Each run ends with: assertion `sum == 5` failed at test.c:27.
        "#]],
    );
    let alone = "main R sum =4 @26\nmain fails @27 assertion `sum == 5` failed";
    check(
        &[],
        &[alone],
        expect![[r#"
            note: the assertion at test.c:27 fails before a second thread has done anything: this does not
              depend on the schedule
              Each run ends with: assertion `sum == 5` failed at test.c:27.
        "#]],
    );
}

#[test]
fn nothing_failed() {
    let corpus = corpus(&["main W x", "main W x"], &[]);
    expect![[r#"
        Nothing failed: 2 runs passed. To look for failures: unsnarl record --until-failing 1 -- 
    "#]]
    .assert_eq(&render::nothing_failed(&corpus));
    assert!(explain(&corpus, &Budget::unlimited()).findings.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Arbitrary rows are explained or not, deterministically and without a panic; so are hovers.
    #[test]
    fn anything_is_explained_or_not(runs in proptest::collection::vec(anything(80), 1..5)) {
        let corpus = |order: Vec<usize>| {
            let mut corpus = Corpus::new(CorpusKey::default());
            for i in order {
                let mut run = runs[i].clone();
                run.meta.outcome = if i % 2 == 0 { Outcome::Deadlocked } else { Outcome::Passed };
                if i == 0 { run.meta.outcome = Outcome::Failed; }
                corpus.insert(RunSummary::new(format!("run-{i}"), Arc::new(run)));
            }
            corpus
        };
        let forward = explain(&corpus((0..runs.len()).collect()), &Budget::unlimited());
        let backward = explain(&corpus((0..runs.len()).rev().collect()), &Budget::unlimited());
        prop_assert_eq!(&forward.findings, &backward.findings);
        let texts: String = forward.findings.iter().map(render::text).collect();
        prop_assert!(texts.lines().all(|line| line.chars().count() <= 100));
        let orders = Orders::new(&runs[0]);
        (0..20).for_each(|line| drop(hover(&runs[0], &orders, &HoverPlace { file: "r.c", line, word: None }, &[])));
    }
}

#[test]
fn cancelled() {
    let budget = Budget::unlimited();
    budget.cancel();
    let outcome = explain(&corpus(&[], &["main W x @1\nmain fails @1"]), &budget);
    assert_eq!(outcome.stopped, StopReason::Cancelled);
}

#[test]
fn a_signal_goes_to_a_thread_that_waits_for_something_else() {
    let run = r#"
        main fork main.1 @80 main "pthread_create(&sender, NULL, post, NULL);"
        main fork main.2 @81 main "pthread_create(&receiver, NULL, take, NULL);"
        start main.1 post
        start main.2 take
        main.1 lock m @36 post "pthread_mutex_lock(&m);"
        main.1 wait changed @38 post "pthread_cond_wait(&changed, &m);"
        main.1 unlock m @38 post "pthread_cond_wait(&changed, &m);"
        main.2 lock m @46 take "pthread_mutex_lock(&m);"
        main.2 wait changed @49 take "pthread_cond_wait(&changed, &m);"
        main.2 unlock m @49 take "pthread_cond_wait(&changed, &m);"
        main signal changed =1 @52 main "pthread_cond_signal(&changed);"
        main.2 lock m @49 take "pthread_cond_wait(&changed, &m);"
        main.2 wake changed @49 take "pthread_cond_wait(&changed, &m);"
        main.2 wait changed @49 take "pthread_cond_wait(&changed, &m);"
        main.2 unlock m @49 take "pthread_cond_wait(&changed, &m);"
        main blocked join main.1 @83 main "pthread_join(sender, NULL);"
        main.1 blocked condition changed @38 post "pthread_cond_wait(&changed, &m);"
        main.2 blocked condition changed @49 take "pthread_cond_wait(&changed, &m);"
        deadlocks no thread can go on
    "#;
    check(
        &[],
        &[run],
        expect![[r#"
            error: post (main.1) waits for a signal that went to another thread
              main signalled `changed` at test.c:52 and woke take (main.2),
              which began to wait again at test.c:49.

               main.1  test.c:38  pthread_cond_wait(&changed, &m);  waits for changed  for ever
               main    test.c:52  pthread_cond_signal(&changed);    signals changed    wakes main.2
               main.2  test.c:49  pthread_cond_wait(&changed, &m);  waits for changed  for ever

              Both wait for `changed`, and a signal wakes only one of those that wait.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

#[test]
fn a_write_that_cannot_come_any_more_is_told_by_what_its_thread_had_learned() {
    let start = r#"
        main fork main.1 @70 main "pthread_create(&worker, NULL, work, NULL);"
        start main.1 work
    "#;
    let works = r#"
        main.1 R stop =0 @46 work "if (stop)"
        main.1 W done =1 @56 work "done = 1;"
        main W stop =1 @36 main "stop = 1;"
    "#;
    let stops = r#"
        main W stop =1 @36 main "stop = 1;"
        main.1 R stop =1 @46 work "if (stop)"
    "#;
    let ends = r#"
        main.1 end
        main join main.1 @76 main "pthread_join(worker, NULL);"
        main R done =VALUE @77 main "assert(done == 1);"
    "#;
    let passes = [start, works, &ends.replace("VALUE", "1")].concat();
    let fails = "main fails @77 assertion `done == 1` failed";
    check(
        &[passes.as_str(); 5],
        &[&[start, stops, &ends.replace("VALUE", "0"), fails].concat()],
        expect![[r#"
            error: work (main.1) ended before it had set `done`
              work (main.1) had read stop = 1 at test.c:46, written by main at line 36, and ended;
              then main read done = 0 at test.c:77.

               main    test.c:36  stop = 1;           writes 1
               main.1  test.c:46  if (stop)           reads 1         the last that it learned
                       test.c:56  done = 1;           (in passing runs main.1 runs it here)
               main    test.c:77  assert(done == 1);  reads 0, fails  not set

              In all 5 passing runs line 56 ran before line 77.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// The vector is empty since the thread has taken out itself what another one had put in.
#[test]
fn a_thread_learns_nothing_from_a_size_that_it_has_made_itself() {
    let block = "heap(test.c:27 by main #0)";
    let start = format!(
        r#"
        main fork main.1 @13 main "std::thread worker(loop);"
        start main.1 loop
        main W jobs._M_start =&`{block}[0]` @27 main "jobs.push_back(job);"
        main W jobs._M_finish =&`{block}[1]` @27 main "jobs.push_back(job);"
    "#
    );
    let works = format!(
        r#"
        main.1 R jobs._M_start =&`{block}[0]` @42 loop "if (jobs.empty())"
        main.1 R jobs._M_finish =&`{block}[1]` @42 loop "if (jobs.empty())"
        main.1 W jobs._M_finish =&`{block}[0]` @45 loop "jobs.erase(jobs.begin());"
        main.1 R closing =CLOSING @41 loop "closing || !jobs.empty()"
    "#
    );
    let closes = "main W closing =1 @18 main\n";
    let ends = format!(
        r#"
        main.1 R jobs._M_finish =&`{block}[0]` @46 loop "if (jobs.empty())"
        main.1 R jobs._M_start =&`{block}[0]` @46 loop "if (jobs.empty())"
        main.1 end
        main join main.1 @21 main
        main R highest =HIGHEST @90 main "assert(highest == 70);"
    "#
    );
    let sets = "main.1 W highest =70 @69 loop \"highest = value;\"\n";
    let whole = works.replace("CLOSING", "0");
    let passes = [&start, &whole, sets, closes, &ends.replace("HIGHEST", "70")].concat();
    let seen = works.replace("CLOSING", "1");
    let fails = "main fails @90 assertion `highest == 70` failed";
    let fails = [&start, closes, &seen, &ends.replace("HIGHEST", "0"), fails].concat();
    let corpus = corpus(&[passes.as_str(); 5], &[&fails]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    let detail =
        "loop (main.1) had read closing = 1 at test.c:41, written by main at line 18, and ended;";
    assert!(told[0].detail.starts_with(detail), "{}", told[0].detail);
}

/// A smart pointer looks at what it holds before it takes what is assigned to it.
#[test]
fn the_assignment_of_a_smart_pointer_is_a_write() {
    let read = |who: &str, value: u32| {
        format!("{who} R current_._M_ptr ={value} @16 set \"auto copy = clone(current_);\"\n")
    };
    let set = |who: &str, old: u32, new: u32| {
        let line = "set \"current_ = std::move(copy);\"";
        format!(
            "{who} R current_._M_ptr ={old} @5 {line}\n{who} W current_._M_ptr ={new} @5 {line}\n"
        )
    };
    let begin = "main fork main.1 @40 main\nmain fork main.2 @41 main\n";
    let ends = |last: u32| {
        format!(
            "main join main.1 @42 main\nmain join main.2 @43 main\nmain R current_._M_ptr ={last} @44 main\n"
        )
    };
    let passes = [
        begin,
        &read("main.1", 1),
        &set("main.1", 1, 2),
        &read("main.2", 2),
        &set("main.2", 2, 3),
        &ends(3),
    ]
    .concat();
    let fails = [
        begin,
        &read("main.1", 1),
        &read("main.2", 1),
        &set("main.2", 1, 4),
        &set("main.1", 4, 5),
        &ends(5),
        "main fails @44 main",
    ]
    .concat();
    let corpus = corpus(&[passes.as_str(); 6], &[&fails]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    assert_eq!(
        told[0].headline,
        "another thread's update of `current_` was lost"
    );
}

#[test]
fn one_cause_that_fails_in_two_places_is_told_once() {
    let start = r#"
        main fork main.1 @70 main "pthread_create(&a, NULL, add, NULL);"
        main fork main.2 @71 main "pthread_create(&b, NULL, add, NULL);"
    "#;
    let turn = |thread: &str, old: u32| {
        format!(
            "{thread} R items ={old} @10 add \"items++;\"\n{thread} W items ={} @10 add \"items++;\"\n",
            old + 1
        )
    };
    let check_total =
        |value: u32| format!("main R items ={value} @80 main \"assert(items == 2);\"\n");
    let check_slot = |value: u32| format!("main R items ={value} @90 audit \"if (items < 2)\"\n");
    let one_by_one = [turn("main.1", 0), turn("main.2", 1)].concat();
    let other = [turn("main.2", 0), turn("main.1", 1)].concat();
    let lost = r#"
        main.1 R items =0 @10 add "items++;"
        main.2 R items =0 @10 add "items++;"
        main.2 W items =1 @10 add "items++;"
        main.1 W items =1 @10 add "items++;"
    "#;
    let passes = [start, &one_by_one, &check_slot(2), &check_total(2)].concat();
    let passes_too = [start, &other, &check_slot(2), &check_total(2)].concat();
    let total = [
        start,
        lost,
        &check_total(1),
        "main fails @80 main assertion `items == 2` failed",
    ]
    .concat();
    let audit = [
        start,
        lost,
        &check_slot(1),
        "main fails @91 audit abort called",
    ]
    .concat();
    let corpus = corpus(
        &[&passes, &passes_too, &passes, &passes_too, &passes],
        &[&total, &audit],
    );
    let told = explain(&corpus, &Budget::unlimited()).findings;
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0].runs.len(), 2);
    let text = render::text(&told[0]);
    assert!(
        text.contains("For the same reason other runs fail elsewhere: a"),
        "{text}"
    );
    // A status has no place: the last step before the end says nothing of it.
    let mut ended = told[0].clone();
    ended.failure.is_by_status = true;
    let elsewhere = crate::FailurePlace {
        site: ended.also_fails[0].site.clone(),
        ..ended.failure.clone()
    };
    ended.also_fails = vec![elsewhere];
    super::causes::tidy(&mut ended);
    assert_eq!(ended.also_fails, []);
    let mut here = told[0].clone();
    here.also_fails[0].site.clone_from(&here.failure.site);
    let text = render::text(&here);
    assert!(text.contains("runs fail in another way: a"), "{text}");
}

#[test]
fn no_memory_is_told_as_such() {
    let start = r#"
        main fork main.1 @70 main "pthread_create(&a, NULL, fill, NULL);"
    "#;
    let passes = r#"
        main.1 alloc `heap(test.c:12 by main.1 #0)` =40 @12 fill "struct page *page = malloc(sizeof *page);"
        main.1 W `heap(test.c:12 by main.1 #0).id` =1 @13 fill "page->id = 1;"
        main join main.1 @72 main
    "#;
    let fails = r#"
        main.1 alloc =40 @12 fill "struct page *page = malloc(sizeof *page);"
        main.1 fails @13 fill segmentation fault
    "#;
    check(
        &[&[start, passes].concat()],
        &[&[start, fails].concat()],
        expect![[r#"
            note: the program fails when there is no memory at test.c:12
              fill (main.1) asked for 40 bytes and got none; it failed at line 13.

               main.1  test.c:12  struct page *page = malloc(sizeof *page);  gets no memory
               main.1  test.c:13                                             fails

              This does not depend on the order of the threads.
        "#]],
    );
}

#[test]
fn a_signal_for_all_wakes_only_one() {
    let run = r#"
        main.1 lock m @10 run "lock_guard guard(m);"
        main.1 R stopping =0 @11 run "while (!stopping)"
        main.1 wait wake @12 run "wake.wait(guard);"
        main.1 unlock m @12 run
        main.2 lock m @10 run "lock_guard guard(m);"
        main.2 R stopping =0 @11 run "while (!stopping)"
        main.2 wait wake @12 run "wake.wait(guard);"
        main.2 unlock m @12 run
        main W stopping =1 @40 stop "stopping = true;"
        main signal wake =1 @41 stop "wake.notify_one();"
        main.2 lock m @12 run "wake.wait(guard);"
        main.2 wake wake =0 @12 run "wake.wait(guard);"
        main.2 R stopping =1 @11 run "while (!stopping)"
        main.2 unlock m @14 run
        main.2 end
        main.1 blocked condition wake @12
        main blocked join main.1 @42
        deadlocks
    "#;
    check(
        &[],
        &[run],
        expect![[r#"
        error: run (main.1) waits for a signal that went to another thread
          stop (main) signalled `wake` at test.c:41 and woke run (main.2) only.

           main.1  test.c:12  wake.wait(guard);   waits for wake  for ever
           main    test.c:41  wake.notify_one();  signals wake    wakes main.2

          Both wait for `wake`, and a signal wakes only one of those that wait.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]],
    );
}

/// Events of other runs after the point where this one was cut off are not missing in it.
#[test]
fn what_passing_runs_do_behind_the_failure_is_not_missing() {
    let start = "
        start main.1 work
        start main.2 balance
        main fork main.1 @50 main
        main fork main.2 @51 main
        main.1 R stop =0 @10 work \"while (!stop)\"";
    let moves = "
        main.2 W n =-1 @20 balance \"n -= 1;\"";
    let back = "
        main.2 W n =0 @21 balance \"n += 1;\"";
    let looks = |n: i32| format!("\nmain.1 R n ={n} @11 work \"assert(n >= 0);\"");
    let stops = "
        main W stop =1 @60 main \"stop = 1;\"
        main.1 R stop =1 @10 work \"while (!stop)\"";
    let before = [start, &looks(0), moves, back, stops].concat();
    let after = [start, moves, back, &looks(0), stops].concat();
    let fails = [
        start,
        moves,
        &looks(-1),
        "\nmain.1 fails @11 assertion `n >= 0` failed",
    ]
    .concat();
    let passing: Vec<&str> = [&before, &after]
        .into_iter()
        .cycle()
        .take(6)
        .map(String::as_str)
        .collect();
    let corpus = corpus(&passing, &[&fails]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    assert!(told[0].headline.contains("`n`"), "{}", told[0].headline);
    let view = corpus
        .get("failed-0")
        .and_then(|run| super::View::new(&corpus, run));
    let found = super::candidates(&view.unwrap(), &Budget::unlimited());
    let about_stop = found.iter().filter(|one| match one.story {
        super::Story::Missing { reader, .. } => reader.0 == 2,
        _ => false,
    });
    assert_eq!(about_stop.count(), 0);
}

/// `restore` sets what it has kept elsewhere: it does not compute that from what `look` has read, and loses no update.
#[test]
fn a_value_that_is_copied_from_elsewhere_loses_no_update() {
    let start = "start main.1 work\nstart main.2 tune\n
        main fork main.1 @60 main\nmain fork main.2 @61 main\n";
    let look = "main.1 R level =1 via=20@work @10 look \"return level;\"\n";
    let tune = "main.2 W level =2 @30 tune \"level = 2;\"\n";
    let restore = |kept: u32| {
        let line = "@15 restore \"level = kept;\"";
        format!(
            "main.1 R kept ={kept} via=21@work {line}\nmain.1 W level ={kept} via=21@work {line}\n"
        )
    };
    let ends = |level: u32| {
        format!("main join main.1 @63\nmain join main.2 @64\nmain R level ={level} @65 main\n")
    };
    let headline = |kept: u32| {
        let fine = [start, look, &restore(kept), tune, &ends(2)].concat();
        let fails = "main fails @65 assertion `level == 2` failed\n";
        let bad = [start, look, tune, &restore(kept), &ends(kept), fails].concat();
        let corpus = corpus(&[&fine, &fine, &fine], &[&bad]);
        let told = explain(&corpus, &Budget::unlimited()).findings;
        told[0].headline.clone()
    };
    assert!(!headline(5).contains("lost"), "{}", headline(5));
    // The value that was read may have come back.
    assert!(headline(1).contains("lost"), "{}", headline(1));
}

/// Each thread raises the counter on the same line, and main does not wait for the other.
#[test]
fn a_counter_that_main_and_a_worker_raise_on_one_line() {
    let start = "
        file pool.c
        start main.1 work
        main fork main.1 @50 main";
    let raise = |who: &str, old: i32| {
        format!(
            "\n{who} rmw done {old}->{} @31 finish \"atomic_fetch_add(&done, 1);\"",
            old + 1
        )
    };
    let looks = |done: i32| {
        format!("\nmain atomic-read done ={done} @40 main \"assert(atomic_load(&done) == 2);\"")
    };
    let first = [start, &raise("main", 0), &raise("main.1", 1), &looks(2)].concat();
    let second = [start, &raise("main.1", 0), &raise("main", 1), &looks(2)].concat();
    let fails = [
        start,
        &raise("main", 0),
        &looks(1),
        "\nmain fails @40 assertion failed",
    ]
    .concat();
    check(
        &[&first, &second, &first, &second, &first],
        &[&fails],
        expect![[r#"
            error: main read `done` before work (main.1) had changed it
              main read done = 1 at pool.c:40, but work (main.1) had not changed it at line 31 yet.

               main  pool.c:31  atomic_fetch_add(&done, 1);       updates 0 to 1
                     pool.c:31  atomic_fetch_add(&done, 1);       (in passing runs main.1 runs it here)
               main  pool.c:40  assert(atomic_load(&done) == 2);  reads 1, fails  <- too early

              main does not join main.1 before.
              In all 5 passing runs main.1 ran line 31 before main ran line 40.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// A sleep makes room for another thread; it does not mean that accesses belong together.
#[test]
fn a_sleep_between_two_accesses_changes_no_story() {
    let reads = |sleep: &str, a: i32, b: i32| {
        [
            format!("\nmain.1 R x ={a} @10 work \"int a = x;\"{sleep}"),
            format!("\nmain.1 R x ={b} @12 work \"int b = x; assert(a == b);\""),
        ]
    };
    let writes = "\nmain.2 W x =1 @20 other \"x = 1;\"";
    let told = |sleep: &str| {
        let [first, second] = reads(sleep, 0, 0);
        let before = [&first, &second, writes].concat();
        let [first, second] = reads(sleep, 1, 1);
        let after = [writes, &first, &second].concat();
        let [first, second] = reads(sleep, 0, 1);
        let fails = [
            &first,
            writes,
            &second,
            "\nmain.1 fails @12 assertion failed",
        ]
        .concat();
        let corpus = corpus(&[&before, &after, &before, &after, &before], &[&fails]);
        let told = explain(&corpus, &Budget::unlimited()).findings;
        (told[0].headline.clone(), told[0].certainty)
    };
    assert_eq!(told(""), told("\nmain.1 yield @11 work \"usleep(10);\""));
}

/// Two iterations of a loop are two operations: nothing says that the lines of a loop should be atomic.
#[test]
fn the_next_turn_of_a_loop_is_no_region() {
    let turn = |n: i32| format!("\nmain.1 W x ={n} @87 work \"x = next();\"");
    let looks = |n: i32| format!("\nmain.2 R x ={n} @30 watch \"assert(x != 1);\"");
    let fine = [looks(0), turn(1), turn(2)].concat();
    let fails = [turn(1), looks(1), turn(2)].concat();
    let corpus = corpus(
        &[fine.as_str(); 6],
        &[&format!("{fails}\nmain.2 fails @30")],
    );
    let told = explain(&corpus, &Budget::unlimited()).findings;
    assert!(told.iter().all(|one| one.region.is_none()), "{told:?}");
}

#[test]
fn an_update_is_told_by_what_it_read_and_wrote() {
    let fine = "main.1 rmw n 0->1 @31 take\nmain.1 R n =1 @32\nmain.2 rmw n 1->2 @31 take\nmain.2 R n =2 @32";
    let fails = "main.1 rmw n 0->1 @31 take\nmain.2 rmw n 1->2 @31 take\nmain.1 R n =2 @32\nmain.1 fails @32";
    let corpus = corpus(&[fine; 6], &[fails]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    let said = &told[0].detail;
    assert!(said.contains("updated n from 0 to 1"), "{said}");
}

/// Two calls of a function that takes the lock each time: nothing is given back within what belongs together.
#[test]
fn two_visits_are_no_one_step() {
    let link = |thread: &str, page: u32, head: u32| {
        format!(
            "{thread} lock m @35 link\n{thread} W page[{page}].next ={head} @36 link \"f->next = head;\"\n\
             {thread} W head ={} @37 link \"head = f;\"\n{thread} unlock m @38 link\n",
            page + 1
        )
    };
    let begin = "main fork main.1 @40 main\nmain fork main.2 @41 main\n";
    let fine = [
        begin,
        &link("main.1", 1, 0),
        &link("main.1", 5, 2),
        &link("main.2", 7, 6),
    ]
    .concat();
    let fine = format!("{fine}main R head =8 @50 main\n");
    let failing = [
        begin,
        &link("main.1", 1, 0),
        &link("main.2", 7, 2),
        &link("main.1", 5, 8),
    ]
    .concat();
    let failing = format!("{failing}main R head =6 @50 main\nmain fails @50 main\n");
    let corpus = corpus(&[fine.as_str(); 6], &[&failing]);
    let summary = corpus.failing().next().unwrap();
    let view = View::new(&corpus, summary).unwrap();
    let rows = view.run.events.iter().filter(|(_, event)| {
        event.kind.is_access() && facts::thread_name(&view.run, event.thread) == "main.1"
    });
    let rows: Vec<EventId> = rows.map(|(row, _)| row).collect();
    let [next, head, _, again] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert!(taken_again(&view, *next, *again));
    assert!(!taken_again(&view, *next, *head));
}

/// A pointer that was not there yet, handed on to the function that fails by it: nearer than what that function's caller
/// has read besides.
#[test]
fn a_null_argument_comes_from_the_line_that_calls() {
    let failing = "
        main fork main.1 @42 main
        main.1 R dq =0 size=8 @8 steal \"if (take(victim->dq))\"
        main.1 R bottom =0 @6 steal \"if (bottom == 0)\"
        main.1 fails via=8@steal @39 segmentation fault";
    let corpus = corpus(&[], &[failing]);
    let summary = corpus.failing().next().unwrap();
    let view = View::new(&corpus, summary).unwrap();
    let rows = view.run.events.iter().map(|(row, _)| row);
    let near: Vec<Option<u32>> = rows.map(|row| view.slice.distance(row)).collect();
    assert_eq!(near, [None, Some(1), Some(2), None]);
}

/// Runs that fail at the same place without what is blamed are counted apart.
#[test]
fn runs_without_what_is_blamed_are_told_apart() {
    let begin = "main fork main.1 @40\nmain fork main.2 @41\n";
    let update = |one: &str, other: &str, ends: u32| {
        format!(
            "{begin}{one} R n =0 @10 add\n{other}{one} W n =1 @11 add\nmain R n ={ends} @44 main\n"
        )
    };
    let second = |old: u32| {
        format!(
            "main.2 R n ={old} @10 add\nmain.2 W n ={} @11 add\n",
            old + 1
        )
    };
    let fine = update("main.1", "", 2).replace("main R n", &format!("{}main R n", second(1)));
    let lost = format!("{}main fails @44 main\n", update("main.1", &second(0), 1));
    let without = format!(
        "{begin}main.1 R n =0 @10 add\nmain.1 W n =1 @11 add\nmain R n =1 @44 main\nmain fails @44 main\n"
    );
    let corpus = corpus(&[fine.as_str(); 6], &[&lost]);
    let mut told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    told.runs = ["failed-0", "failed-1", "failed-2"]
        .map(str::to_owned)
        .to_vec();
    let run = |(name, text): (&str, &String)| {
        (
            name.to_owned(),
            std::sync::Arc::new(crate::fixture::run(text)),
        )
    };
    let runs = [
        ("failed-0", &lost),
        ("failed-1", &lost),
        ("failed-2", &without),
    ]
    .map(run);
    set_apart(&mut told, &runs);
    assert_eq!(told.runs_without, ["failed-2"]);
    let text = render::text(&told);
    let says = "Fails so in failed-0 and 1 more. One more run fails there without these steps, by the same cause in another order or by another one.";
    assert!(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(says),
        "{text}"
    );
    // A place where no run fails that has what is blamed is none of its own.
    let elsewhere = without.replace("fails @44", "fails @50");
    let mut runs = Vec::from(runs);
    runs.push(run(("failed-3", &elsewhere)));
    told.runs.push("failed-3".to_owned());
    told.also_fails = vec![crate::corpus::failure_place(&runs[3].1).unwrap()];
    set_apart(&mut told, &runs);
    assert_eq!(told.runs_without, ["failed-2", "failed-3"]);
    assert_eq!(told.also_fails, []);
    // What the run itself does not have is no order.
    told.run = "failed-2".to_owned();
    told.runs_without.clear();
    set_apart(&mut told, &runs);
    assert!(told.runs_without.is_empty());
}

/// A count and a sum are added to one after the other, and read so: only one of them is new, or both become new in between.
#[test]
fn runs_in_which_the_threads_meet_the_other_way_round_are_told() {
    let adds = |n: u32| {
        let [old, new] = [n - 1, n].map(|n| n * 50);
        [
            format!("main.1 rmw n {}->{n} @10 add\n", n - 1),
            format!("main.1 rmw sum {old}->{new} @11 add\n"),
        ]
    };
    let looks = |n: u32, sum: u32| {
        [
            format!("main.2 atomic-read n ={n} @22 mean\n"),
            format!("main.2 atomic-read sum ={sum} @23 mean\n"),
        ]
    };
    let begin =
        "start main.1 add\nstart main.2 mean\nmain fork main.1 @1 main\nmain fork main.2 @2 main\n";
    let run_of = |steps: &[&str], end: &str| [begin, &steps.concat(), end].concat();
    let fails = "main.2 fails @24 assertion `n == sum / 50` failed\n";
    let ([n, sum], [next_n, next_sum]) = (adds(1), adds(2));
    let early = run_of(&[&n, &sum, &looks(1, 50).concat(), &next_n, &next_sum], "");
    let late = run_of(&[&n, &sum, &next_n, &next_sum, &looks(2, 100).concat()], "");
    let half = run_of(
        &[&n, &sum, &next_n, &looks(2, 50).concat(), &next_sum],
        fails,
    );
    let [look_n, look_sum] = looks(1, 100);
    let around = run_of(&[&n, &sum, &look_n, &next_n, &next_sum, &look_sum], fails);
    // The end of one update and the beginning of the next one, which are two.
    let [look_n, look_sum] = looks(1, 50);
    let across = run_of(&[&n, &look_n, &sum, &next_n, &look_sum, &next_sum], "");
    let passing = [&*early, &late, &early, &late, &early];
    let corpus = corpus(&passing, &[&half]);
    let mut told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    told.runs = vec!["failed-0".to_owned(), "failed-1".to_owned()];
    let run = |(name, text): (&str, &String)| {
        let run = std::sync::Arc::new(crate::fixture::run(text));
        (name.to_owned(), run)
    };
    let named = [
        ("failed-0", &half),
        ("failed-1", &around),
        ("passed-0", &early),
        ("passed-1", &across),
    ];
    let mut runs = named.map(run).to_vec();
    set_apart(&mut told, &runs);
    assert_eq!((told.runs_mirrored.len(), told.runs_without.len()), (1, 0));
    let text = render::text(&told);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "Fails so in failed-0. In 1 more it is the other way round";
    assert!(said.contains(says), "{text}");
    // Where a run passes so, it does no harm.
    runs.push(run(("passed-2", &around.replace(fails, ""))));
    set_apart(&mut told, &runs);
    assert_eq!((told.runs_mirrored.len(), told.runs_without.len()), (0, 1));
}

/// The other thread gives back what it has taken before this one takes it without looking again.
#[test]
fn an_update_that_is_taken_back_in_time_is_not_lost() {
    let text = "
        start main.1 take
        start main.2 take
        main.2 R pins =0 @9 victim \"if (frame.pins > 0) continue;\"
        main.1 R pins =0 @34 pin \"frame->pins++;\"
        main.1 W pins =1 @34 pin \"frame->pins++;\"
        main.1 R pins =1 @56 unpin \"frame->pins--;\"
        main.1 W pins =0 @56 unpin \"frame->pins--;\"
        main.2 W pins =1 @41 take \"frame->pins = 1;\"
        main.2 fails @50 lost";
    let told = explain(&corpus(&[], &[text]), &Budget::default());
    let headlines: Vec<&str> = told
        .findings
        .iter()
        .map(|one| one.headline.as_str())
        .collect();
    let back = "`pins` was changed and changed back before take (main.2) wrote it";
    assert!(headlines.contains(&back), "{headlines:?}");
    assert!(
        !headlines.iter().any(|one| one.contains("was lost")),
        "{headlines:?}"
    );
}

/// The first holder of a lock decides in which order the accesses under it come; what one thread holds alone does not.
#[test]
fn a_story_begins_where_a_common_lock_is_acquired() {
    let runs = |lock: &str, other: &str| {
        let text = format!(
            "start main.1 take
            start main.2 take
            main.1 lock {lock} @8 take
            main.1 R n =0 @9 take
            main.1 unlock {lock} @10 take
            main.2 lock {other} @8 take
            main.2 W n =1 @9 take
            main.2 unlock {other} @10 take
            main.1 W n =1 @12 take
            main.1 fails @13 lost"
        );
        let corpus = corpus(&[], &[&text]);
        let told = explain(&corpus, &Budget::default()).findings.remove(0);
        let run = corpus.get("failed-0").unwrap().run.clone().unwrap();
        let begins = crate::explain::story_begins(&told, &run, &[]).unwrap();
        run.meta.site(run.events.event(begins).site).line
    };
    assert_eq!(runs("m", "m"), 8);
    assert_eq!(runs("m", "other"), 9);
}

/// The failing line reads what the other thread has counted, and then what only the thread itself has cleared.
#[test]
fn of_what_the_failing_line_reads_the_other_threads_variable_is_told() {
    let steps = |written: u32, failed: &str| {
        format!(
            "main W dropped =0 @5 main\nmain fork main.1 @6 main\nmain R stopping =0 @7 main\n{}\
             main join main.1 @22 main\nmain R written ={written} @24 main\nmain R dropped =0 @24 main\n{failed}",
            match written {
                2 =>
                    "main.1 W written =1 @9 flush\nmain.1 W written =2 @9 flush\nmain W stopping =1 @8 main\nmain.1 R stopping =1 @10 flush\n",
                _ =>
                    "main.1 W written =1 @9 flush\nmain W stopping =1 @8 main\nmain.1 R stopping =1 @10 flush\n",
            }
        )
    };
    let (fine, bad) = (
        steps(2, ""),
        steps(
            1,
            "main fails @24 assertion `written + dropped == 2` failed",
        ),
    );
    let corpus = corpus(&[&*fine; 6], &[&bad]);
    let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
    let step = view.failure_step(&[]).unwrap();
    assert_eq!(step.location, "written");
}

/// `tick();` does not show that the program ended in `std::terminate`.
#[test]
fn a_failure_that_its_line_does_not_show_is_said() {
    let forks = "main fork main.1 @10 main\n";
    let fine = format!("{forks}main W beat.kind =2 @11 main\nmain.1 R beat.kind =2 @37 run\n");
    let fails = |message: &str| {
        let text = format!(
            "{forks}main.1 R beat.kind =1 @37 run\nmain W beat.kind =2 @11 main\nmain.1 R n =1 @38 run \"tick();\"\nmain.1 fails @38 {message}\n"
        );
        let corpus = corpus(&[fine.as_str(); 5], &[&text]);
        let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
        told.steps.last().map(|step| step.effect.clone()).unwrap()
    };
    assert!(fails("std::terminate was called").ends_with("fails: std::terminate was called"));
    assert!(fails("assertion `n == 2` failed").ends_with("fails"));
}

/// A reader uses what it found after the writer has freed it, whichever of the lines that make such blocks made this one.
#[test]
fn blocks_of_another_line_are_freed_for_the_same_reason() {
    let run = |line: u32| {
        let block = format!("heap(feed.c:{line} by main #0)");
        format!(
            "main alloc `{block}` =4 @{line} make\nmain W sample =&`{block}` @{line} make\nmain fork main.1 @40 main\n\
             main fork main.2 @41 main\nmain.2 R sample =&`{block}` @26 peek\nmain.1 R sample =&`{block}` @18 replace\n\
             main.1 free `{block}` @21 replace\nmain.2 R `{block}` @28 peek\n\
             main.2 fails @28 a heap block was used after it was freed\n"
        )
    };
    let corpus = corpus(&[], &[&run(10)]);
    let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    let bears_out = |text: &str| super::bears_out(&told, &crate::fixture::run(text));
    assert_eq!(bears_out(&run(14)), Some(true), "{}", told.headline);
    assert_eq!(
        bears_out(&run(14).replace("@21 replace", "@22 clear")),
        Some(false)
    );
}

/// The sum that a loop ends with lacks what its first iterations lost: the iterations since then put it no farther away, and
/// no other order that passing runs have too stands before it.
#[test]
fn an_update_that_was_lost_long_ago_is_told() {
    const BEGIN: &str = "main fork main.1 @40\nmain fork main.2 @41\n";
    let add = |thread: &str, old: u32| {
        let new = old + 1;
        format!("{thread} R n ={old} @10 add\n{thread} W n ={new} @10 add\n")
    };
    let turns = |from: u32| -> String {
        let turn = |turn: u32| {
            let n = from + 2 * turn;
            [add("main.1", n), add("main.2", n + 1)].concat()
        };
        (0..400).map(turn).collect()
    };
    let lost = "main.1 R n =0 @10 add\nmain.2 R n =0 @10 add\nmain.2 W n =1 @10 add\nmain.1 W n =1 @10 add\n";
    let fine = format!("{BEGIN}{}main R n =800 @44 main", turns(0));
    let failing = format!(
        "{BEGIN}{lost}{}main R n =801 @44 main\nmain fails @44 main",
        turns(1)
    );
    let corpus = corpus(&[fine.as_str(); 6], &[failing.as_str()]);
    let view = View::new(&corpus, corpus.failing().next().unwrap());
    let found = super::candidates(&view.unwrap(), &Budget::unlimited());
    let Some(super::Story::Atomicity(told)) = found.first().map(|best| best.story) else {
        panic!("{:?}", found.first());
    };
    let rows = [told.first, told.remote, told.second];
    assert_eq!(rows.map(|row| row.0), [2, 4, 5]);
}

/// Of runs that fail by the same lines the one is told that has them meet once: the others fail by each of several meetings.
#[test]
fn a_run_that_lost_one_update_is_told_rather_than_one_that_lost_two() {
    const BEGIN: &str = "main fork main.1 @40\nmain fork main.2 @41\n";
    let lost = |old: u32| {
        let new = old + 1;
        format!(
            "main.1 R n ={old} @10 add\nmain.2 R n ={old} @10 add\nmain.2 W n ={new} @10 add\nmain.1 W n ={new} @10 add\n"
        )
    };
    let kept = |old: u32| {
        let add = |thread: &str, old: u32| {
            let new = old + 1;
            format!("{thread} R n ={old} @10 add\n{thread} W n ={new} @10 add\n")
        };
        [add("main.1", old), add("main.2", old + 1)].concat()
    };
    let end = |n: u32| format!("main R n ={n} @44 main\n");
    let fine = [BEGIN, &kept(0), &kept(2), &end(4)].concat();
    let twice = [BEGIN, &lost(0), &lost(1), &end(2), "main fails @44 main"].concat();
    let once = [BEGIN, &lost(0), &kept(1), &end(3), "main fails @44 main"].concat();
    let corpus = corpus(&[fine.as_str(); 6], &[twice.as_str(), once.as_str()]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    assert_eq!(told[0].headline, "another thread's update of `n` was lost");
    assert_eq!(told[0].run, "failed-1");
}

/// A transfer that takes the locks of both accounts in one call.
#[test]
fn two_locks_of_one_call_are_one_visit() {
    let text = "main fork main.1 @40 main\nmain.1 lock a @19 move\nmain.1 lock b @19 move\n\
                main.1 W from =1 @21 move\nmain.1 W to =2 @22 move\n\
                main.1 unlock b @23 move\nmain.1 unlock a @23 move\n\
                main.1 lock b @19 move\nmain.1 lock a @19 move\nmain.1 W from =3 @21 move\n\
                main.1 unlock a @23 move\nmain.1 unlock b @23 move\nmain R to =2 @50 main\nmain R from =3 @50 main\n\
                main fails @51 main";
    let corpus = corpus(&[], &[text]);
    let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
    let rows = view.run.events.iter();
    let rows = rows.filter(|(_, event)| event.kind.is_access() && event.kind.writes());
    let rows: Vec<EventId> = rows.map(|(row, _)| row).collect();
    let [from, to, again] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert!(!taken_again(&view, *from, *to));
    assert!(taken_again(&view, *from, *again));
}
