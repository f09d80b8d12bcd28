//! Threads that let others go on prematurely, and threads that are counted too late.

use super::check;
use crate::{Budget, BugKind, explain, fixture::corpus};
use expect_test::expect;

/// The permit comes back before the slot is free.
#[test]
fn a_unit_of_a_semaphore_is_posted_too_early() {
    let takes = |who: &str, busy: u32| {
        format!(
            "
        {who} sem-wait permits @16 take_slot \"sem_wait(&permits);\"
        {who} lock table_lock @17 take_slot
        {who} R busy ={busy} @19 take_slot \"if (!busy)\"
        "
        )
    };
    let took = |who: &str| {
        format!(
            "
        {who} W busy =1 @20 take_slot \"busy = true;\"
        {who} unlock table_lock @23 take_slot
        "
        )
    };
    let posts =
        |who: &str| format!("\n{who} sem-post permits @30 give_slot \"sem_post(&permits);\"");
    let frees = |who: &str| {
        format!(
            "
        {who} lock table_lock @31 give_slot
        {who} W busy =0 @32 give_slot \"busy = false;\"
        {who} unlock table_lock @33 give_slot
        "
        )
    };
    let all = |who: &str| [takes(who, 0), took(who), posts(who), frees(who)].concat();
    let fine = [all("main.1"), all("main.2")].concat();
    let fails = [
        takes("main.1", 0),
        took("main.1"),
        posts("main.1"),
        takes("main.2", 1),
        "main.2 fails @24 assertion `got >= 0` failed".to_owned(),
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `permits` was posted before `busy` was changed
              take_slot (main.1) posted permits at test.c:30, take_slot (main.2) took a unit of it at line 16
                and then read busy = 1 at line 19;
              main.1 changes busy only at line 32.

               main.1  test.c:30  sem_post(&permits);  posts permits   <- too early
               main.2  test.c:16  sem_wait(&permits);  passes permits
                       test.c:32  busy = false;        (in passing runs main.1 runs it here)
               main.2  test.c:19  if (!busy)           reads 1         the old value
               main.2  test.c:24                       fails

              In all 6 passing runs line 32 ran before main.2 ran line 19.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// The latch is counted down by the destructor of an object declared above the line whose result it
/// announces.
#[test]
fn a_latch_is_counted_down_before_the_result_is_stored() {
    let forks = "
        start main.1 job
        start main.2 job
        main W left =2 @9 main
        main fork main.1 @10 main
        main fork main.2 @10 main";
    let counts = |who: &str, old: u32| {
        format!(
            "
        {who} lock m via=45@job @19 count_down
        {who} R left ={old} via=45@job @20 count_down \"if (--left == 0)\"
        {who} W left ={} via=45@job @20 count_down \"if (--left == 0)\"
        {who} unlock m via=45@job @21 count_down",
            old - 1
        )
    };
    let stores =
        |who: &str, at: u32| format!("\n{who} W `out[{at}]` =5 @46 job \"out[tile] = v;\"");
    let collects = |second: u32| {
        format!(
            "
        main lock m @25 wait_all
        main R left =0 @26 wait_all \"while (left > 0)\"
        main unlock m @27 wait_all
        main R `out[0]` =5 @57 main \"sum += out[i];\"
        main R `out[1]` ={second} @57 main \"sum += out[i];\""
        )
    };
    let fine = [
        forks,
        &counts("main.1", 2),
        &stores("main.1", 0),
        &counts("main.2", 1),
        &stores("main.2", 1),
        &collects(5),
    ]
    .concat();
    let fails = [
        forks,
        &counts("main.2", 2),
        &counts("main.1", 1),
        &stores("main.1", 0),
        &collects(0),
        &stores("main.2", 1),
        "\nmain fails @58 main assertion `sum == 10` failed",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `left` was changed before `out[1]` was set
              job (main.2) set left = 1 at test.c:20 (called at line 45), main read left = 0 at line 26 and then
                out[1] = 0 at line 57;
              main.2 sets out[1] only at line 46.

               main.2  test.c:20  if (--left == 0)  writes 1  <- too early
               main.1  test.c:20  if (--left == 0)  writes 0
               main    test.c:26  while (left > 0)  reads 0
               main    test.c:57  sum += out[i];    reads 0   not set yet
               main.2  test.c:46  out[tile] = v;    writes 5
               main    test.c:58                    fails

              In all 6 passing runs line 46 ran before line 57 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// A worker takes the job and counts it down before it is counted up.
#[test]
fn a_job_is_counted_behind_the_line_that_hands_it_over() {
    let pushes = "
        start main.1 run
        main W pending =0 @3 main
        main fork main.1 @4 main
        main lock m @22 push
        main W queue =7 @23 push \"queue = job;\"
        main unlock m @24 push";
    let counted = |old: i32| {
        format!(
            "\nmain rmw pending {old}->{} @26 push \"int before = atomic_fetch_add(&pending, 1);\"",
            old + 1
        )
    };
    let works = |old: i32| {
        format!(
            "
        main.1 lock m @38 run
        main.1 R queue =7 @39 run \"int job = queue;\"
        main.1 unlock m @40 run
        main.1 rmw pending {old}->{} @46 run \"atomic_fetch_sub(&pending, 1);\"",
            old - 1
        )
    };
    let fine = [pushes, &counted(0), &works(1)].concat();
    let fails = [
        pushes,
        &works(0),
        &counted(-1),
        "\nmain fails @27 push assertion `before >= 0` failed",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `queue` was changed before `pending` was
              main set queue = 7 at test.c:23, run (main.1) read it at line 39 and then updated pending from 0
                to -1 at line 46;
              main changes pending only at line 26.

               main    test.c:23  queue = job;                                 writes 7         <- too early
               main.1  test.c:39  int job = queue;                             reads 7
               main.1  test.c:46  atomic_fetch_sub(&pending, 1);               updates 0 to -1  the old value
               main    test.c:26  int before = atomic_fetch_add(&pending, 1);  updates -1 to 0
               main    test.c:27                                               fails

              In all 6 passing runs line 26 ran before line 46.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// An announcement and its write under one lock each time are one update in two steps.
#[test]
fn two_steps_under_one_lock_are_no_announcement() {
    let step = |who: &str, what: &str, line: u32| {
        format!("\n{who} lock m @{line} -\n{who} {what} @{line} -\n{who} unlock m @{line} -")
    };
    let feeds = |n: u32| {
        [
            step("main.1", &format!("W sum ={}", 10 * n), 9),
            step("main.1", &format!("W count ={n}"), 12),
        ]
    };
    let reads = |sum: u32, count: u32| {
        [
            step("main.2", &format!("R sum ={sum}"), 21),
            step("main.2", &format!("R count ={count}"), 22),
        ]
        .concat()
    };
    let [first, second] = feeds(1);
    let old = [reads(0, 0), first.clone(), second.clone()].concat();
    let new = [first.clone(), second.clone(), reads(10, 1)].concat();
    let fails = [
        first,
        reads(10, 0),
        second,
        "\nmain.2 fails @23 assertion failed".to_owned(),
    ]
    .concat();
    check(
        &[&new, &old, &new, &old, &new],
        &[&fails],
        expect![[r#"
            error: `sum` and `count` were read while only one of them was new
              main.1 wrote sum at test.c:9 and wrote count at line 12;
              in between main.2 read sum at test.c:21 and read count at line 22.

               main.1  test.c:9     writes 10
               main.2  test.c:21    reads 10   <- in between
               main.2  test.c:22    reads 0    <- in between
               main.1  test.c:12    writes 1
               main.2  test.c:23    fails

              Both accesses hold `m`, but main.1 releases it between them.
              In none of 5 passing runs did lines 21 and 22 come between lines 9 and 12 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// The thread that waits for the count to reach zero goes on before another one has counted itself in.
#[test]
fn a_thread_that_counts_itself_in_is_counted_too_late() {
    let start = "
        start main.1 fetch
        main W n =0 @5 main
        main W pages =0 @6 main
        main fork main.1 @10 main";
    let count = |new: u32, line: u32, via: u32| {
        format!(
            "
        main.1 lock m via={via}@fetch @{line} change
        main.1 W n ={new} via={via}@fetch @{line} change \"n += k;\"
        main.1 unlock m via={via}@fetch @{line} change"
        )
    };
    let adds = "\nmain.1 W pages =1 @40 fetch \"pages++;\"";
    let fetches = [&count(1, 16, 37), adds, &count(0, 21, 42)].concat();
    let waits = |pages: u32| {
        format!(
            "
        main lock m @26 wait_all
        main R n =0 @27 wait_all \"while (n != 0)\"
        main unlock m @28 wait_all
        main R pages ={pages} @47 main \"return pages;\""
        )
    };
    let fine = [start, &fetches, &waits(1)].concat();
    let fails = [
        start,
        &waits(0),
        &fetches,
        "\nmain R pages =1 @48 main\nmain fails @48 main assertion failed",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `n` was read before fetch (main.1) had counted itself in
              main read n = 0 at test.c:27 and then read pages at line 47;
              fetch (main.1) changes n only at line 16 (called at line 37), and changes pages after that, at
                line 40.

               main    test.c:27  while (n != 0)  reads 0         <- too early
               main    test.c:47  return pages;   reads 0
               main.1  test.c:16  n += k;         writes 1
                         called from fetch at test.c:37
               main.1  test.c:40  pages++;        writes 1
               main    test.c:48                  reads 1, fails

              main.1 changes `n` itself: until it has come there, nothing keeps main from going on.
              In all 6 passing runs line 16 ran before line 27.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// A slot and the next one are not halves of one update.
#[test]
fn elements_of_an_array_are_not_updated_together() {
    let posts = |at: u32| {
        [
            format!(
                "\nmain.1 rmw tail {at}->{} @16 post \"unsigned i = tail++;\"",
                at + 1
            ),
            format!("\nmain.1 W `ring[{at}].value` =5 @18 post \"e->value = value;\""),
            format!("\nmain.1 W `ring[{at}].kind` =1 @19 post \"e->kind = kind;\""),
        ]
    };
    let looks =
        |end: u32| format!("\nmain.2 atomic-read tail ={end} @37 consume \"unsigned end = tail;\"");
    let takes = |at: u32, kind: u32, value: u32| {
        format!(
            "
        main.2 R `ring[{at}].kind` ={kind} @39 consume \"struct event e = ring[head];\"
        main.2 R `ring[{at}].value` ={value} @39 consume \"struct event e = ring[head];\""
        )
    };
    let [first, value, kind] = posts(0);
    let [second, next_value, next_kind] = posts(1);
    let all = [&*first, &value, &kind, &second, &next_value, &next_kind].concat();
    let both = [&*all, &looks(2), &takes(0, 1, 5), &takes(1, 1, 5)].concat();
    let one = [
        &*first,
        &value,
        &kind,
        &looks(1),
        &takes(0, 1, 5),
        &second,
        &next_value,
        &next_kind,
    ]
    .concat();
    let fails = [
        &*first,
        &value,
        &kind,
        &second,
        &looks(2),
        &takes(0, 1, 5),
        &takes(1, 0, 0),
        "\nmain.2 fails @40 assertion `e.kind != 0` failed",
    ]
    .concat();
    check(
        &[&both, &one, &both, &one, &both],
        &[&fails],
        expect![[r#"
            error: `tail` was changed before `ring[1].value` was set
              post (main.1) updated tail from 1 to 2 at test.c:16, consume (main.2) read it at line 37 and then
                ring[1].value = 0 at line 39;
              main.1 sets ring[1].value only at line 18.

               main.1  test.c:16  unsigned i = tail++;          updates 1 to 2  <- too early
               main.2  test.c:37  unsigned end = tail;          reads 2
                       test.c:18  e->value = value;             (in most passing runs main.1 runs it here)
               main.2  test.c:39  struct event e = ring[head];  reads 0         not set yet
               main.2  test.c:40                                fails

              In 3 of 5 passing runs line 18 ran before line 39 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// Two atomic steps that are taken again and again are no announcement.
#[test]
fn two_atomic_steps_are_no_announcement() {
    let moves = |v: i32| {
        [
            format!("\nmain.1 atomic-write x ={v} @15 move_to \"atomic_store(&x, v);\""),
            format!("\nmain.1 atomic-write y =-{v} @16 move_to \"atomic_store(&y, -v);\""),
        ]
    };
    let looks = |x: i32, y: i32| {
        format!(
            "
        main.2 atomic-read x ={x} @26 look \"int a = atomic_load(&x);\"
        main.2 atomic-read y =-{y} @27 look \"int b = atomic_load(&y);\""
        )
    };
    let [x, y] = moves(10);
    let [next_x, next_y] = moves(20);
    let early = [&*x, &y, &looks(10, 10), &next_x, &next_y].concat();
    let late = [&*x, &y, &next_x, &next_y, &looks(20, 20)].concat();
    let fails = [
        &*x,
        &y,
        &next_x,
        &looks(20, 10),
        &next_y,
        "\nmain.2 fails @28 assertion `a + b == 0` failed",
    ]
    .concat();
    check(
        &[&early, &late, &early, &late, &early],
        &[&fails],
        expect![[r#"
            error: `x` and `y` were read while only one of them was new
              move_to (main.1) wrote x at test.c:15 and wrote y at line 16;
              in between look (main.2) read x at test.c:26 and read y at line 27.

               main.1  test.c:15  atomic_store(&x, v);      writes 20
               main.2  test.c:26  int a = atomic_load(&x);  reads 20    <- in between
               main.2  test.c:27  int b = atomic_load(&y);  reads -10   <- in between
               main.1  test.c:16  atomic_store(&y, -v);     writes -20
               main.2  test.c:28                            fails

              In none of 5 passing runs did lines 26 and 27 come between lines 15 and 16 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// Two stages with a lock each, which the reader holds both, are no announcement.
#[test]
fn two_stages_with_locks_of_their_own_are_no_announcement() {
    let stages = |v: i32| {
        let stage = |what: &str, at: u32, value: i32| {
            format!(
                "
        main.1 lock {what}_lock @{at} change
        main.1 W {what} ={value} @{at} change
        main.1 unlock {what}_lock @{at} change"
            )
        };
        [stage("first", 43, v), stage("second", 48, v + 1)]
    };
    let looks = |first: i32, second: i32| {
        format!(
            "
        main.2 lock first_lock @64 look
        main.2 lock second_lock @65 look
        main.2 R first ={first} @66 look
        main.2 R second ={second} @67 look
        main.2 unlock second_lock @68 look
        main.2 unlock first_lock @69 look"
        )
    };
    let [first, second] = stages(10);
    let [next_first, next_second] = stages(20);
    let early = [&*first, &second, &looks(10, 11), &next_first, &next_second].concat();
    let late = [&*first, &second, &next_first, &next_second, &looks(20, 21)].concat();
    let half = [&*first, &second, &next_first, &looks(20, 11)].concat();
    let fails = "\nmain.2 fails @70 assertion `second == first + 1` failed";
    let cut_off = [&*half, fails].concat();
    let fails = [&*half, &next_second, fails].concat();
    let corpus = corpus(&[&early, &late, &early, &late, &early], &[&fails, &cut_off]);
    let told = explain(&corpus, &Budget::unlimited()).findings;
    let kind = BugKind::MultiVariableAtomicityViolation;
    assert!(told.iter().all(|one| one.kind == kind), "{told:?}");
}

/// The flag is raised before the object is complete. Whoever sees the flag relies on the pointer beside it, so
/// setting the pointer later helps nobody.
#[test]
fn a_flag_that_comes_with_a_pointer_is_blamed_before_the_pointer() {
    let makes = "
        start main.1 instance
        start main.2 instance
        main fork main.1 @10 main
        main fork main.2 @10 main
        main.1 W it =&`heap(l.c:18 by main.1 #0)` @18 instance \"it = new Locale;\"
        main.1 atomic-write ready =1 @19 instance \"ready.store(true);\"";
    let sets = "
        main.1 W `heap(l.c:18 by main.1 #0)` =&point size=8 via=20@instance @9 load \"point_ = p;\"";
    let uses = |point: &str| {
        format!(
            "
        main.2 atomic-read ready =1 @15 instance \"if (!ready.load())\"
        main.2 R it =&`heap(l.c:18 by main.1 #0)` @23 instance \"return *it;\"
        main.2 R `heap(l.c:18 by main.1 #0)` ={point} size=8 @31 format \"return point_;\""
        )
    };
    let fine = [makes, sets, &uses("&point")].concat();
    let fails = [
        makes,
        &uses("0"),
        sets,
        "\nmain.2 fails @32 segmentation fault",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `ready` was changed before `the heap block from l.c:18` was set
              instance (main.1) set ready = 1 at test.c:19, instance (main.2) read it at line 15 and then the
                heap block from l.c:18 = NULL at line 31;
              main.1 sets the heap block from l.c:18 only at line 9.

               main.1  test.c:19  ready.store(true);  writes 1       <- too early
               main.2  test.c:15  if (!ready.load())  reads 1
               main.2  test.c:31  return point_;      reads NULL     not set yet
               main.1  test.c:9   point_ = p;         writes &point
               main.2  test.c:32                      fails

              In all 6 passing runs line 9 ran before line 31 on the same data.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// The post comes after the pointer and before the sum: it is what lets the other thread look.
#[test]
fn a_semaphore_is_blamed_before_the_data_that_it_hands_over() {
    let puts = "
        start main.1 postman
        main fork main.1 @50 main
        main.1 W slot =5 @25 postman \"m->slot = msg;\"
        main.1 sem-post filled @26 postman \"sem_post(&m->filled);\"";
    let sums = "
        main.1 W sum =262 @27 postman \"m->checksum = sum(msg);\"";
    let takes = |sum: u32| {
        format!(
            "
        main sem-wait filled @32 receive \"sem_wait(&m->filled);\"
        main R slot =5 @33 receive \"msg = m->slot;\"
        main R sum ={sum} @34 receive \"unsigned sum = m->checksum;\""
        )
    };
    let fine = [puts, sums, &takes(262)].concat();
    let fails = [
        puts,
        &takes(0),
        sums,
        "
        main fails @35 assertion `sum == own` failed",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
        error: `filled` was posted before `sum` was set
          postman (main.1) posted filled at test.c:26, main took a unit of it at line 32 and then read sum =
            0 at line 34;
          main.1 sets sum only at line 27.

           main.1  test.c:26  sem_post(&m->filled);        posts filled   <- too early
           main    test.c:32  sem_wait(&m->filled);        passes filled
           main    test.c:34  unsigned sum = m->checksum;  reads 0        not set yet
           main.1  test.c:27  m->checksum = sum(msg);      writes 262
           main    test.c:35                               fails

          In all 6 passing runs line 27 ran before line 34.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
    "#]],
    );
}

/// A line that sets a value and then the mark that there is one writes twice; both belong to one change.
#[test]
fn a_value_that_one_line_sets_in_two_steps_comes_after_its_announcement() {
    let announces = "
        start main.1 set_value
        main fork main.1 @50 main
        main.1 atomic-write state.status =1 @23 set_value \"state->status = 1;\"";
    let sets = "
        main.1 W state.value.payload =7 @25 set_value \"state->value = v;\"
        main.1 W state.value.engaged =1 @25 set_value \"state->value = v;\"";
    let gets = |engaged: u32| {
        format!(
            "
        main atomic-read state.status =1 @34 get \"while (s->status == 0)\"
        main R state.value.engaged ={engaged} @36 get \"return s->value.value();\""
        )
    };
    let fine = [announces, sets, &gets(1)].concat();
    let fails = [
        announces,
        &gets(0),
        sets,
        "
        main fails @36 assertion `engaged` failed",
    ]
    .concat();
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
        error: `state.status` was changed before `state.value.engaged` was set
          set_value (main.1) set state.status = 1 at test.c:23, main read it at line 34 and then
            state.value.engaged = 0 at line 36;
          main.1 sets state.value.engaged only at line 25.

           main.1  test.c:23  state->status = 1;        writes 1        <- too early
           main    test.c:34  while (s->status == 0)    reads 1
           main    test.c:36  return s->value.value();  reads 0, fails  not set yet
           main.1  test.c:25  state->value = v;         writes 1

          In all 6 passing runs line 25 ran before line 36.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
    "#]],
    );
}

/// The pump tells that it is done before it has looked at the session for the last time.
#[test]
fn a_block_is_freed_by_a_thread_that_was_let_go_too_early() {
    let text = "
        start main.1 pump
        main alloc `heap(s.c:12 by main #0)` =32 @12 open \"s = malloc(sizeof *s);\"
        main fork main.1 @44 main
        main.1 sem-post done @33 pump \"sem_post(&done);\"
        main sem-wait done @24 close_session \"sem_wait(&done);\"
        main free `heap(s.c:12 by main #0)` @25 close_session \"free(s);\"
        main.1 R `heap(s.c:12 by main #0)+8` =7 @34 pump \"total += s->bytes;\"
        main.1 fails @34 segmentation fault";
    check(
        &[],
        &[text],
        expect![[r#"
            error: `*s` was freed while pump (main.1) still used it
              open (main) freed it at test.c:25 before pump (main.1) read it at line 34.

               main.1  test.c:33  sem_post(&done);    posts done
               main    test.c:24  sem_wait(&done);    passes done
               main    test.c:25  free(s);            frees the block  <- too early
               main.1  test.c:34  total += s->bytes;  reads 7          after it was freed
               main.1  test.c:34                      fails

              main.1 posts `done` at line 33, before this use: main takes a unit of it at line 24, and goes on.
              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
              Note: There is no passing run to compare with.
        "#]],
    );
}

/// The line that uses the block looks at something of its own first; what let the other thread go is told with its steps.
#[test]
fn a_line_that_does_several_things_uses_the_block_once() {
    let text = "
        start main.1 fetch
        main alloc `heap(s.c:12 by main #0)` =32 @12 main
        main fork main.1 @44 main
        main.1 rmw finished 0->1 @33 fetch \"finished = true;\"
        main.1 R spare =0 @34 fetch \"if (!spare) req->call();\"
        main rmw finished 1->1 @24 main \"if (finished)\"
        main R spare =0 @25 main
        main free `heap(s.c:12 by main #0)` @25 main \"delete req;\"
        main.1 R spare =0 @34 fetch \"if (!spare) req->call();\"
        main.1 R `heap(s.c:12 by main #0)+8` =7 @34 fetch \"if (!spare) req->call();\"
        main.1 fails @34 segmentation fault";
    let told = |text: &str| {
        let found = crate::explain(
            &crate::fixture::corpus(&[], &[text]),
            &crate::Budget::unlimited(),
        );
        let told = found.findings.into_iter().next().unwrap();
        let lines: Vec<u32> = told.steps.iter().map(|step| step.place.line).collect();
        (told.remark, lines)
    };
    let (remark, lines) = told(text);
    let said = "main.1 changes `finished` at line 33, before this use: main reads it at line 24, and goes on.";
    assert_eq!(remark, said);
    assert_eq!(lines, [33, 24, 25, 34]);
    // It came there once before: the announcement was right then.
    let again = text.replace(
        "main rmw finished 1->1",
        "main.1 R other =0 @40 fetch\n        main rmw finished 1->1",
    );
    assert_eq!(told(&again).0, "Nothing orders the two.");
}

/// The function that sets the data was called before, or by another thread: that is how the line that the run was cut off
/// before is known to come after the announcement.
#[test]
fn an_announcement_before_the_call_that_sets_the_data() {
    let push = |who: &str, tail: (u32, u32)| {
        format!(
            "{who} rmw tail {}->{} via=85@sample @39 push\n",
            tail.0, tail.1
        )
    };
    let write = |who: &str, slot: u32| {
        let call = "via=40@push,85@sample";
        format!(
            "{who} W frames[{slot}] =1 {call} @55 write\n{who} W counts[{slot}] =2 {call} @61 write\n"
        )
    };
    let pop = |tail: u32, slot: u32, count: u32| {
        format!("main R tail ={tail} @45 pop\nmain R counts[{slot}] ={count} @73 record\n")
    };
    let begin = "main W tail =3 @80 main\nmain fork main.1 @87 main\n";
    let fine = [
        begin,
        &push("main.1", (3, 4)),
        &write("main.1", 0),
        &pop(4, 0, 2),
    ]
    .concat();
    let started = "main.1 W frames[0] =1 via=40@push,85@sample @55 write\n";
    let told = |started: &str| {
        let failing = [
            begin,
            &push("main.1", (3, 4)),
            started,
            &pop(4, 0, 0),
            "main fails @73 record\n",
        ]
        .concat();
        let found = crate::explain(
            &crate::fixture::corpus(&[&*fine; 6], &[&failing]),
            &crate::Budget::unlimited(),
        );
        found.findings.into_iter().next().unwrap().headline
    };
    assert_eq!(
        told(started),
        "`tail` was changed before `counts[0]` was set"
    );
    // Called from a line above, it sets what was announced behind it.
    let above = started.replace("via=40@push", "via=30@push");
    assert_ne!(
        told(&above),
        "`tail` was changed before `counts[0]` was set"
    );
}

/// The filling thread has put one of three words in when the other one looks, and has said before the first one that all are
/// there.
#[test]
fn a_flag_is_raised_before_the_loop_that_counts() {
    let raises = "main.1 atomic-write ready =1 @39 fill \"atomic_store(&ready, true);\"";
    let counts = |from: u32| {
        let to = from + 1;
        format!(
            "main.1 rmw count {from}->{to} via=41@fill @32 add \"atomic_fetch_add(&count, 1);\""
        )
    };
    let looks = |count: u32| {
        format!(
            "
        main.2 atomic-read ready =1 @48 is_known \"if (!atomic_load(&ready))\"
        main.2 atomic-read count ={count} @50 is_known \"int n = atomic_load(&count);\"
        "
        )
    };
    let begins = "main fork main.1 @60 main\nmain fork main.2 @61 main";
    let fine = [
        begins,
        raises,
        &counts(0),
        &counts(1),
        &counts(2),
        &looks(3),
    ]
    .join("\n");
    let fails = [
        begins,
        raises,
        &counts(0),
        &looks(1),
        "main.2 fails @54 is_known",
    ]
    .join("\n");
    check(
        &[fine.as_str(); 6],
        &[&fails],
        expect![[r#"
            error: `ready` was changed before the last change of `count`
              fill (main.1) set ready = 1 at test.c:39, is_known (main.2) read it at line 48 and then count = 1
                at line 50;
              in passing runs count had been changed more often by then, at line 32.

               main.1  test.c:39  atomic_store(&ready, true);   writes 1  <- too early
               main.2  test.c:48  if (!atomic_load(&ready))     reads 1
                       test.c:32  atomic_fetch_add(&count, 1);  (in passing runs main.1 runs it here)
               main.2  test.c:50  int n = atomic_load(&count);  reads 1   the old value
               main.2  test.c:54                                fails

              Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
        "#]],
    );
}

/// One thread fills a map, and has said before that it is full; in passing runs the other one does. The node that is read was
/// made on the line that links the next one to it.
#[test]
fn a_flag_is_raised_before_a_map_is_filled() {
    let fills = |who: &str| {
        let node = format!("`heap(test.c:14 by {who} #0)._M_right`");
        let add = |value: u32| {
            format!(
                "{who} W {node} ={value} via=31@load @14 add \"types.emplace(name, type);\"\n{who} W at ={value} @20 load"
            )
        };
        let raise = format!("{who} atomic-write loaded =1 @29 load \"loaded = true;\"");
        [raise, add(0), add(7)]
    };
    let looks = |who: &str, filler: &str, value: u32| {
        format!(
            "
        {who} atomic-read loaded =1 @26 find \"if (!loaded)\"
        {who} R `heap(test.c:14 by {filler} #0)._M_right` ={value} @38 find \"types.find(name);\"
        "
        )
    };
    let begins = "main fork main.1 @60 main\nmain fork main.2 @61 main";
    let [raise, first, second] = fills("main.2");
    let fine = [
        begins,
        &raise,
        &first,
        &second,
        &looks("main.1", "main.2", 7),
    ]
    .join("\n");
    let [raise, first, second] = fills("main.1");
    let early = looks("main.2", "main.1", 0);
    let fails = [
        begins,
        &raise,
        &first,
        &early,
        &second,
        "main.2 fails @54 find",
    ];
    let corpus = corpus(&[fine.as_str(); 6], &[&fails.join("\n")]);
    let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    assert!(
        told.headline.starts_with("`loaded` was changed before"),
        "{}",
        told.headline
    );
}

/// A container that is filled in several steps is told with the last of them.
#[test]
fn a_flag_is_raised_before_a_vector_is_filled() {
    let block = "heap(test.c:21 by main.1 #0)";
    let raise = "main.1 atomic-write ready =1 @14 instance \"ready = true;\"";
    let step = |member: &str, at: u32, line: u32| {
        format!(
            "main.1 W codecs.{member} =&`{block}[{at}]` via=15@instance @{line} load \"codecs.emplace_back(name);\""
        )
    };
    let steps = [
        step("_M_start", 0, 21),
        step("_M_finish", 0, 21),
        step("_M_finish", 1, 22),
        step("_M_finish", 2, 23),
    ];
    let looks = |begin: &str, end: &str| {
        format!(
            "
        main.2 atomic-read ready =1 @8 find \"if (ready)\"
        main.2 R codecs._M_start ={begin} @44 find \"for (auto &c : codecs)\"
        main.2 R codecs._M_finish ={end} @44 find \"for (auto &c : codecs)\"
        "
        )
    };
    let begins = "main fork main.1 @60 main\nmain fork main.2 @61 main";
    let full = looks(&format!("&`{block}[0]`"), &format!("&`{block}[2]`"));
    let fine = [begins, raise, &steps.join("\n"), &full].join("\n");
    let fails = [begins, raise, &looks("0", "0"), "main.2 fails @54 find"].join("\n");
    let corpus = corpus(&[fine.as_str(); 6], &[&fails]);
    let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
    assert_eq!(
        told.detail,
        "instance (main.1) set ready = 1 at test.c:14, find (main.2) read it at line 8 and then codecs (size 0) at line 44;\n\
         main.1 changes codecs only after that, up to line 23."
    );
}

/// A flag that is asked for says that the object is there, however early the pointer to it is stored.
#[test]
fn a_flag_that_is_asked_for_before_the_pointer_is_read_is_told() {
    let block = "heap(a.c:15 by main.1 #0)";
    let begin = "
        start main.1 make
        start main.2 use
        main fork main.1 @60 main
        main fork main.2 @61 main";
    let raises = "
        main.1 W ready =1 @14 make \"ready = 1;\"";
    let stores = format!(
        "
        main.1 alloc `{block}` =16 @15 make
        main.1 W config =&`{block}` @15 make \"config = malloc(16);\""
    );
    let sets = format!(
        "
        main.1 W `{block}.port` =7 @16 make \"config->port = 7;\""
    );
    let uses = |asks: &str, port: u32| {
        format!(
            "
        main.2 R ready =1 @30 use \"{asks}\"
        main.2 R config =&`{block}` @31 use \"struct config *c = config;\"
        main.2 R `{block}.port` ={port} @32 use \"assert(c->port == 7);\""
        )
    };
    let headline = |asks: &str| {
        let passing = [begin, raises, &stores, &sets, &uses(asks, 7)].concat();
        let fails = "\n        main.2 fails @32 assertion `c->port == 7` failed";
        let failing = [begin, raises, &stores, &uses(asks, 0), fails].concat();
        let corpus = corpus(&[passing.as_str(); 6], &[failing.as_str()]);
        let mut found = explain(&corpus, &Budget::unlimited()).findings;
        found.remove(0).headline
    };
    assert_eq!(
        headline("if (ready)"),
        "`ready` was changed before `c->port` was set"
    );
    assert_eq!(
        headline("count(ready);"),
        "`config` was visible before `c->port` was set"
    );
}
