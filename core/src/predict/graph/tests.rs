//! Tests of the graph against its definitions, and the paper's Figure 5.

use super::*;
use crate::fixture::{anything, feasible, run};
use proptest::prelude::*;
use std::collections::BTreeSet;
use unsnarl_trace::{Event, MemoryOrder, Value};

/// The edges of Definition 1 between threads, and other edges by which threads wait.
fn communicates(rows: &[Event], woken_by: &[Option<usize>], a: usize, b: usize) -> bool {
    use EventKind::*;
    let (first, second) = (&rows[a], &rows[b]);
    let about =
        |event: &Event, thread: ThreadId| event.value == Some(Value::Bits(u64::from(thread.0)));
    let same = first.location == second.location;
    match (first.kind, second.kind) {
        (Fork, _) if about(first, second.thread) => true,
        (_, Join) if about(second, first.thread) => true,
        (Signal | Broadcast, Wake) => woken_by[b] == Some(a),
        (SemPost, SemWait) => same && !as_lock(rows, first.location),
        (OnceEnd, OncePass) => same,
        (AtomicWrite, AtomicRead) => same && is_flag(rows, a, b),
        _ => false,
    }
}

/// A release store and an acquire load with no other store between; read-modify-writes pass it on.
fn is_flag(rows: &[Event], a: usize, b: usize) -> bool {
    use MemoryOrder::*;
    matches!(rows[a].order(), Some(Release | AcqRel | SeqCst))
        && matches!(rows[b].order(), Some(Acquire | Consume | AcqRel | SeqCst))
        && rows[a + 1..b]
            .iter()
            .all(|row| row.location != rows[a].location || row.kind != EventKind::AtomicWrite)
}

/// Returns whether waits and posts alternate, each post by the thread that waited.
fn as_lock(rows: &[Event], semaphore: LocationId) -> bool {
    let steps: Vec<&Event> = rows
        .iter()
        .filter(|row| row.location == semaphore)
        .collect();
    steps.chunks(2).all(|pair| {
        pair[0].kind == EventKind::SemWait
            && pair
                .get(1)
                .is_none_or(|post| post.kind == EventKind::SemPost && post.thread == pair[0].thread)
    })
}

/// For each wakeup, the signal that it is matched with.
fn wakers(rows: &[Event]) -> Vec<Option<usize>> {
    let mut left: Vec<u64> = rows
        .iter()
        .map(|row| match (row.kind, row.value) {
            (EventKind::Signal | EventKind::Broadcast, Some(Value::Bits(woken))) => woken,
            _ => 0,
        })
        .collect();
    let mut wakers = vec![None; rows.len()];
    for b in 0..rows.len() {
        if rows[b].kind == EventKind::Wake && rows[b].value == Some(Value::Bits(0)) {
            let began = (0..b)
                .rev()
                .find(|&i| rows[i].kind == EventKind::Wait && rows[i].thread == rows[b].thread)
                .unwrap();
            let by = (began..b)
                .find(|&i| left[i] > 0 && rows[i].location == rows[b].location)
                .unwrap();
            left[by] -= 1;
            wakers[b] = Some(by);
        }
    }
    wakers
}

/// Returns whether a run has no fences and barriers, which have tests of their own in `orders`.
fn plain(run: &Run) -> bool {
    use EventKind::*;
    let strange = [Fence, BarrierArrive, BarrierLeave].map(|kind| kind as u8);
    !run.events.kinds().iter().any(|kind| strange.contains(kind))
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn the_order_is_the_closure_of_communication(run in feasible(100)) {
        prop_assume!(plain(&run));
        let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
        let woken_by = wakers(&rows);
        let n = rows.len();
        let mut before = vec![vec![false; n]; n];
        for b in 0..n {
            for a in 0..b {
                before[a][b] = rows[a].thread == rows[b].thread || communicates(&rows, &woken_by, a, b);
            }
        }
        for k in 0..n {
            for a in 0..k {
                for b in k..n {
                    before[a][b] |= before[a][k] && before[k][b];
                }
            }
        }
        let graph = ForcedOrder::new(&run);
        for (a, row) in before.iter().enumerate() {
            for (b, &expected) in row.iter().enumerate() {
                let got = graph.before(EventId(a as u32), EventId(b as u32));
                prop_assert_eq!(got, expected, "{} {}\n{:#?}", a, b, rows);
            }
        }
    }

    /// The answers about whole threads agree with those about pairs.
    #[test]
    fn what_is_known_of_a_thread_is_what_is_before(run in feasible(100)) {
        let graph = ForcedOrder::new(&run);
        for (b, event) in run.events.iter() {
            for other in (0..graph.threads().count() as u16).map(ThreadId) {
                if other == event.thread { continue; }
                let known = graph.order().known(b, event.thread.0, other.0);
                let from = graph.order().known_from(b, event.thread.0, other.0);
                for &a in graph.events_of(other) {
                    prop_assert_eq!(graph.before(a, b), a.0 < known);
                    prop_assert_eq!(graph.before(b, a), a.0 >= from);
                }
            }
        }
    }

    /// Equal locksets have equal numbers, and a common lock is one that both hold, not both shared.
    #[test]
    fn locksets_are_the_held_locks(run in feasible(150)) {
        let graph = ForcedOrder::new(&run);
        let orders = crate::Orders::new(&run);
        prop_assume!(semaphores_as_locks(&run).is_empty());
        for (row, _) in run.events.iter() {
            let held: BTreeSet<_> = orders.locks_held(row).iter().map(|s| (s.lock.0, s.shared)).collect();
            let got: BTreeSet<_> = graph.locksets().locks(graph.lockset(row)).iter().copied().collect();
            prop_assert_eq!(&got, &held);
            let first = orders.locks_held(row).iter().map(|s| s.acquired).min();
            prop_assert_eq!(graph.outermost(row), first);
            let other = EventId(row.0 / 2);
            let theirs = orders.locks_held(other);
            let common = theirs.iter().any(|s| held.contains(&(s.lock.0, false)) || (!s.shared && held.contains(&(s.lock.0, true))));
            prop_assert_eq!(graph.common_lock(row, other).is_some(), common);
        }
    }

    #[test]
    fn anything_is_taken(run in anything(200)) {
        let graph = ForcedOrder::new(&run);
        for (row, _) in run.events.iter() {
            let other = EventId(row.0 / 2);
            graph.independent(row, other);
            graph.outermost(row);
            if let Some(region) = graph.region(row) {
                prop_assert!(graph.events_of_region(region).contains(&row));
            }
        }
    }
}

/// Figure 5 of [pecan]: (v3, v8) have no common lock, and none is before the other as long as lock
/// operations order nothing.
#[test]
fn figure_five() {
    let run = run("
        main.1 lock l    @1
        main.1 W y       @2
        main.1 W x       @3
        main.1 unlock l  @4
        main.2 lock l    @5
        main.2 R y       @6
        main.2 unlock l  @7
        main.2 W x       @8
    ");
    let graph = ForcedOrder::new(&run);
    let v = |n: u32| EventId(n - 1);
    assert!(graph.independent(v(3), v(8)));
    assert!(!graph.independent(v(2), v(6)));
    assert_eq!(graph.common_lock(v(2), v(6)), Some(LocationId(1)));
    assert_eq!(graph.outermost(v(3)), Some(v(1)));
    assert_eq!(graph.outermost(v(8)), None);
    assert_eq!(graph.region(v(3)), graph.region(v(2)));
    assert_eq!(graph.region(v(8)), None);
    assert_eq!(graph.next_access(v(3)), Some(v(8)));
}

#[test]
fn readers_do_not_exclude_each_other_and_failed_attempts_take_nothing() {
    let run = run("
        main.1 shared-lock l
        main.1 R x
        main.2 shared-lock l
        main.2 R x
        main.2 trylock-failed m
        main.2 W y
        main.1 shared-unlock l
        main.2 shared-unlock l
        main.1 lock l
        main.1 W x
        main.1 unlock l
        main.1 lock m
        main.1 W y
    ");
    let graph = ForcedOrder::new(&run);
    assert!(graph.independent(EventId(1), EventId(3)));
    assert!(!graph.independent(EventId(3), EventId(9)));
    assert!(graph.independent(EventId(5), EventId(12)));
}

#[test]
fn a_semaphore_used_as_a_lock_excludes_and_orders_nothing() {
    let run = run("
        main.1 sem-wait s
        main.1 W x
        main.1 sem-post s
        main.1 W y
        main.2 sem-wait s
        main.2 W x
        main.2 sem-post s
        main.2 W y
    ");
    let graph = ForcedOrder::new(&run);
    assert!(graph.common_lock(EventId(1), EventId(5)).is_some());
    assert!(graph.independent(EventId(3), EventId(7)));
}

#[test]
fn which_atomics_order_is_an_option() {
    let run = run("
        main.1 W data
        main.1 rmw count 0->1
        main.1 W other
        main.1 atomic-write ready =1 release
        main.2 atomic-read ready =1 acquire
        main.2 R data
        main.2 rmw count 1->2
        main.2 R other
    ");
    let with =
        |atomics| ForcedOrder::with(&run, &GraphOptions { atomics }).before(EventId(0), EventId(5));
    assert_eq!(
        [Atomics::Ignored, Atomics::Flags, Atomics::All].map(with),
        [false, true, true]
    );
    let run = crate::fixture::run(
        "
        main.1 W data
        main.1 rmw count 0->1
        main.2 rmw count 1->2
        main.2 R data
    ",
    );
    let with =
        |atomics| ForcedOrder::with(&run, &GraphOptions { atomics }).before(EventId(0), EventId(3));
    assert_eq!(
        [Atomics::Ignored, Atomics::Flags, Atomics::All].map(with),
        [false, false, true]
    );
}

#[test]
fn regions_end_where_threads_communicate() {
    let run = run("
        main lock a
        main W x
        main lock b
        main unlock a
        main W x
        main unlock b
        main W x
        main lock a
        main W x
        main fork main.1
        main W x
        main unlock a
    ");
    let graph = ForcedOrder::new(&run);
    let regions: Vec<Option<u32>> = (0..12)
        .map(|row| graph.region(EventId(row)).map(|r| r.0))
        .collect();
    let expected = [
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        None,
        Some(1),
        Some(1),
        None,
        Some(2),
        Some(2),
    ];
    assert_eq!(regions, expected);
}
