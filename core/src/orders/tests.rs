//! Tests of the orders against their definitions: the transitive closure, held locks by replaying,
//! dependencies by comparing all pairs.

use super::*;
use crate::fixture::{anything, feasible, run};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use unsnarl_trace::{Event, EventKind, MemoryOrder, ThreadId};

/// Happens-before by definition, as a matrix.
fn closure(run: &Run) -> Vec<Vec<bool>> {
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let n = rows.len();
    let mut before = vec![vec![false; n]; n];
    for b in 0..n {
        for a in 0..b {
            before[a][b] = rows[a].thread == rows[b].thread || synchronizes(&rows, a, b);
        }
    }
    for k in 0..n {
        for a in 0..k {
            if before[a][k] {
                let through = before[k].clone();
                let mine = before[a].iter_mut();
                mine.zip(through)
                    .for_each(|(mine, through)| *mine |= through);
            }
        }
    }
    before
}

fn synchronizes(rows: &[Event], a: usize, b: usize) -> bool {
    use EventKind::*;
    let (first, second) = (&rows[a], &rows[b]);
    let about = |event: &Event, thread: ThreadId| {
        event.value == Some(unsnarl_trace::Value::Bits(u64::from(thread.0)))
    };
    let number = |event: &Event| event.value != Some(unsnarl_trace::Value::Bits(0));
    let same = first.location == second.location;
    match (first.kind, second.kind) {
        (Fork, _) if about(first, second.thread) => true,
        (_, Join) if about(second, first.thread) => true,
        (Unlock, Lock | SharedLock) | (SharedUnlock, Lock) => same,
        (Signal | Broadcast, Wake) => same && number(first) && !number(second),
        (SemPost, SemWait) | (OnceEnd, OncePass) => same,
        (BarrierArrive, BarrierLeave) => same && generation(rows, a) == generation(rows, b),
        (AtomicWrite | Rmw | Fence, AtomicRead | Rmw | Fence) => atomics(rows, a, b),
        _ => false,
    }
}

/// Generation of the barrier in which the thread arrived last, at or before this row; all threads of a random
/// run pass in pairs, so the generation is the number of completed pairs.
fn generation(rows: &[Event], at: usize) -> usize {
    let arrive = |event: &Event| event.kind == EventKind::BarrierArrive;
    let mine = if arrive(&rows[at]) {
        at
    } else {
        (0..at)
            .rev()
            .find(|&i| arrive(&rows[i]) && rows[i].thread == rows[at].thread)
            .unwrap()
    };
    rows[..mine].iter().filter(|event| arrive(event)).count() / 2
}

fn releases(event: &Event) -> bool {
    matches!(
        event.order(),
        Some(MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
    )
}

fn acquires(event: &Event) -> bool {
    !matches!(
        event.order(),
        Some(MemoryOrder::Relaxed | MemoryOrder::Release)
    )
}

/// C11's synchronizes-with, fences included, when every load sees the latest store.
fn atomics(rows: &[Event], a: usize, b: usize) -> bool {
    let (first, second) = (&rows[a], &rows[b]);
    if !releases(first) || !acquires(second) {
        return false;
    }
    let writes: Vec<usize> = match first.kind {
        EventKind::Fence => (a + 1..b)
            .filter(|&i| {
                rows[i].thread == first.thread && rows[i].kind.is_atomic() && rows[i].kind.writes()
            })
            .collect(),
        _ => vec![a],
    };
    let reads: Vec<usize> = match second.kind {
        EventKind::Fence => (a + 1..b)
            .filter(|&i| {
                rows[i].thread == second.thread && rows[i].kind.is_atomic() && rows[i].kind.reads()
            })
            .collect(),
        _ => vec![b],
    };
    writes
        .iter()
        .any(|&w| reads.iter().any(|&r| sees(rows, w, r)))
}

/// Returns whether the read sees the write or a later part of its release sequence.
fn sees(rows: &[Event], write: usize, read: usize) -> bool {
    write < read
        && rows[write].location == rows[read].location
        && (write + 1..read).all(|i| {
            rows[i].location != rows[write].location || rows[i].kind != EventKind::AtomicWrite
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn happens_before_is_the_closure(run in feasible(120)) {
        let (orders, expected) = (Orders::new(&run), closure(&run));
        for (a, row) in expected.iter().enumerate() {
            for (b, &before) in row.iter().enumerate() {
                let got = orders.happens_before(EventId(a as u32), EventId(b as u32));
                prop_assert_eq!(got, before, "{} {}\n{:#?}", a, b, run.events.iter().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn feasible_runs_have_no_anomalies(run in feasible(200)) {
        let orders = Orders::new(&run);
        prop_assert_eq!(orders.anomalies(), &[]);
    }

    #[test]
    fn held_locks_are_those_not_given_back(run in feasible(200)) {
        let orders = Orders::new(&run);
        let mut held: Vec<(ThreadId, LocationId, EventId)> = Vec::new();
        for (row, event) in run.events.iter() {
            match event.kind {
                EventKind::Lock | EventKind::SharedLock => held.push((event.thread, event.location, row)),
                EventKind::Unlock | EventKind::SharedUnlock => held.retain(|h| (h.0, h.1) != (event.thread, event.location)),
                _ => {}
            }
            let mut expected: Vec<_> = held.iter().filter(|h| h.0 == event.thread).map(|h| h.2).collect();
            let mut got: Vec<_> = orders.locks_held(row).iter().map(|s| s.acquired).collect();
            expected.sort();
            got.sort();
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn dependencies_are_those_of_all_pairs(run in feasible(200)) {
        let mut got = Vec::new();
        dependencies(&run, &Accesses::new(&run), |d| got.push((d.head, d.tail, d.direct)));
        got.sort();
        let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
        let mut expected = Vec::new();
        for b in 0..rows.len() {
            for a in 0..b {
                if is_dependency(&rows, a, b) {
                    expected.push((EventId(a as u32), EventId(b as u32), is_direct(&rows, a, b)));
                }
            }
        }
        expected.sort();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn queries_agree_with_a_scan(run in feasible(200)) {
        let orders = Orders::new(&run);
        for (row, event) in run.events.iter().filter(|(_, event)| event.kind.is_access()) {
            let on = |e: &Event| e.location == event.location;
            let expected = run.events.iter().filter(|(r, e)| *r < row && on(e) && e.kind.writes()).map(|(r, _)| r).last();
            prop_assert_eq!(orders.last_write_before(event.location, row), expected);
            let mut readers = Vec::new();
            for (r, e) in run.events.iter().filter(|(r, e)| *r > row && on(e) && e.kind.is_access()) {
                if e.kind.reads() { readers.push(r); }
                if e.kind.writes() { break; }
            }
            prop_assert_eq!(orders.readers_after(event.location, row), readers);
        }
    }

    #[test]
    fn anything_is_analysed(run in anything(200)) {
        let orders = Orders::new(&run);
        for (row, _) in run.events.iter() {
            orders.locks_held(row);
            orders.happens_before(row, EventId(row.0 / 2));
        }
    }
}

/// Returns whether no relevant access lies in between: for a write after a write any, for a read one of the
/// same thread.
fn is_direct(rows: &[Event], a: usize, b: usize) -> bool {
    let mut between = rows[a + 1..b]
        .iter()
        .filter(|e| e.location == rows[a].location);
    match (rows[a].kind.writes(), rows[b].kind.reads()) {
        (true, true) => between.all(|e| e.thread != rows[b].thread || !e.kind.is_access()),
        (true, false) => between.all(|e| !e.kind.is_access()),
        (false, _) => between.all(|e| e.thread != rows[a].thread || !e.kind.reads()),
    }
}

fn is_dependency(rows: &[Event], a: usize, b: usize) -> bool {
    let (first, second) = (&rows[a], &rows[b]);
    let mut between = rows[a + 1..b]
        .iter()
        .filter(|e| e.location == first.location);
    let access = first.kind.is_access() && second.kind.is_access();
    access
        && first.location == second.location
        && first.thread != second.thread
        && between.all(|e| !e.kind.writes())
        && (first.kind.writes() || second.kind.writes())
}

fn check_anomalies(text: &str, expected: Expect) {
    let orders = Orders::new(&run(text));
    let told: Vec<String> = orders
        .anomalies()
        .iter()
        .map(|a| format!("{}: {}\n", a.event.0, a.kind))
        .collect();
    expected.assert_eq(&told.concat());
}

#[test]
fn anomalies_are_told() {
    check_anomalies(
        "
        main fork main.1
        main.1 begin
        main lock m
        main.1 unlock m
        main unlock m
        main.1 lock m
        main lock m
        main.1 end
        main.1 W x
        main join main.1
        main join main.2
        ",
        expect![[r#"
            3: a lock is released by a thread that does not hold it
            4: a lock is released that nobody holds
            6: a lock is taken while another thread holds it
            8: a thread goes on after its end or after it was joined
            10: a thread is joined that was never created
        "#]],
    );
}

#[test]
fn recursive_locks_are_held_to_the_last_unlock() {
    let run = run("main lock m\nmain lock m\nmain unlock m\nmain W x\nmain unlock m\nmain W x");
    let orders = Orders::new(&run);
    assert_eq!(orders.locks_held(EventId(3)).len(), 1);
    assert_eq!(orders.locks_held(EventId(5)).len(), 0);
    assert_eq!(orders.anomalies(), []);
}

#[test]
fn lock_order_names_where() {
    let run = run(
        "main.1 lock a\nmain.1 lock b\nmain.1 unlock a\nmain.1 lock c\nmain.2 lock b\nmain.2 lock-wait a",
    );
    let orders = Orders::new(&run);
    let edges: Vec<_> = orders
        .locks()
        .order()
        .iter()
        .map(|e| {
            (
                run.location(e.held),
                run.location(e.wanted),
                e.held_at.0,
                e.wanted_at.0,
            )
        })
        .collect();
    assert_eq!(
        edges,
        [("a", "b", 0, 1), ("b", "c", 1, 3), ("b", "a", 4, 5)]
    );
}

#[test]
fn races_need_no_order_and_a_write() {
    let run = run("
        main W x
        main fork main.1
        main W x
        main.1 R x
        main.1 atomic-read y
        main atomic-write y
        main.1 W y
    ");
    let orders = Orders::new(&run);
    assert!(!orders.is_race(EventId(0), EventId(3)), "fork orders them");
    assert!(orders.is_race(EventId(2), EventId(3)));
    assert!(!orders.is_race(EventId(4), EventId(5)), "both atomic");
    assert!(orders.is_race(EventId(5), EventId(6)));
}
