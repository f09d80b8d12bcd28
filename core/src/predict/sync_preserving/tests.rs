//! Tests against an enumeration of all sync-preserving orders of small runs; witnesses against the checker of
//! orders.

use super::*;
use crate::{
    fixture::{anything, feasible, of_rows, run},
    predict::{Class, feasible::check},
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventKind, LocationId, SiteId, ThreadId, Value, rapid};

/// State of a partial order under construction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Partial {
    /// Rows done, by thread.
    done: Vec<usize>,
    /// Last write of each location.
    written: Vec<Option<usize>>,
    /// Last acquisition of each lock, and its holders for writing and for reading.
    taken: Vec<(Option<usize>, Option<u16>, BTreeSet<u16>)>,
}

/// All sync-preserving orders of a run of reads, writes, locks, forks and joins.
struct Enumeration {
    rows: Vec<Event>,
    of_thread: Vec<Vec<usize>>,
    saw: Vec<Option<usize>>,
    seen: BTreeSet<Partial>,
    /// Sets of rows that can come next together in some order.
    together: BTreeSet<Vec<usize>>,
}

impl Enumeration {
    fn new(run: &Run) -> Enumeration {
        let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
        let mut of_thread = vec![Vec::new(); 8];
        let mut last = vec![None; 32];
        let mut saw = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            of_thread[row.thread.index()].push(at);
            saw.push(last[row.location.index()]);
            if row.kind.writes() {
                last[row.location.index()] = Some(at);
            }
        }
        let mut this = Enumeration {
            rows,
            of_thread,
            saw,
            seen: BTreeSet::new(),
            together: BTreeSet::new(),
        };
        let start = Partial {
            done: vec![0; 8],
            written: vec![None; 32],
            taken: vec![(None, None, BTreeSet::new()); 32],
        };
        this.explore(start);
        this
    }

    fn explore(&mut self, state: Partial) {
        if !self.seen.insert(state.clone()) {
            return;
        }
        let next: Vec<usize> = (0..8).filter_map(|t| self.next(&state, t)).collect();
        for (i, &a) in next.iter().enumerate() {
            for &b in &next[i + 1..] {
                self.together.insert(vec![a.min(b), a.max(b)]);
            }
        }
        for &at in &next {
            if let Some(after) = self.step(&state, at) {
                self.explore(after);
            }
        }
    }

    /// The thread's next row, if it has been forked.
    fn next(&self, state: &Partial, t: usize) -> Option<usize> {
        let at = *self.of_thread[t].get(state.done[t])?;
        let about = Some(Value::Bits(t as u64));
        let mut forks = (0..at).filter(|&f| {
            self.rows[f].kind == EventKind::Fork
                && self.rows[f].value == about
                && self.rows[f].thread.index() != t
        });
        forks.all(|f| self.is_done(state, f)).then_some(at)
    }

    fn is_done(&self, state: &Partial, at: usize) -> bool {
        let t = self.rows[at].thread.index();
        self.of_thread[t][..state.done[t]].contains(&at)
    }

    fn step(&self, state: &Partial, at: usize) -> Option<Partial> {
        let row = &self.rows[at];
        let mut state = state.clone();
        let location = row.location.index();
        let (last, writer, readers) = &mut state.taken[location];
        match row.kind {
            EventKind::Read if state.written[location] != self.saw[at] => return None,
            EventKind::Write => state.written[location] = Some(at),
            EventKind::Lock | EventKind::SharedLock => {
                let shared = row.kind == EventKind::SharedLock;
                let free = writer.is_none() && (shared || readers.is_empty());
                if !free || last.is_some_and(|last| last > at) {
                    return None;
                }
                *last = Some(at);
                match shared {
                    true => drop(readers.insert(row.thread.0)),
                    false => *writer = Some(row.thread.0),
                }
            }
            EventKind::Unlock => *writer = None,
            EventKind::SharedUnlock => drop(readers.remove(&row.thread.0)),
            EventKind::Join => {
                let Some(Value::Bits(other)) = row.value else {
                    return None;
                };
                let theirs = self.of_thread[other as usize].iter();
                if !theirs
                    .take_while(|&&theirs| theirs < at)
                    .all(|&theirs| self.is_done(&state, theirs))
                {
                    return None;
                }
            }
            _ => {}
        }
        state.done[row.thread.index()] += 1;
        Some(state)
    }

    fn races(&self) -> BTreeSet<(usize, usize)> {
        let conflict = |pair: &&Vec<usize>| {
            let (a, b) = (&self.rows[pair[0]], &self.rows[pair[1]]);
            a.location == b.location
                && a.kind.is_access()
                && b.kind.is_access()
                && (a.kind.writes() || b.kind.writes())
        };
        self.together
            .iter()
            .filter(conflict)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    }
}

/// Small feasible runs of reads, writes, locks, forks and joins.
fn small() -> impl Strategy<Value = Run> {
    proptest::collection::vec((0u16..3, 0u8..12, 0u32..2), 4..26).prop_map(|steps| {
        let mut rows: Vec<Event> = Vec::new();
        let mut holders: Vec<Vec<(u16, bool)>> = vec![Vec::new(); 4];
        let mut push = |t: u16, kind, location: u32, value: Option<u64>| {
            rows.push(Event {
                seq: rows.len() as u64,
                thread: ThreadId(t),
                kind,
                site: SiteId(rows.len() as u32 % 59 + 1),
                location: LocationId(location),
                size: 4,
                flags: 0,
                value: value.map(Value::Bits),
                old: None,
                stack: unsnarl_trace::StackId(0),
                point: unsnarl_trace::PointId(0),
            });
        };
        push(0, EventKind::Fork, 0, Some(1));
        let (mut forked, mut joined) = (false, false);
        for (t, what, which) in steps {
            let alive = t == 0 || t == 1 && !joined || t == 2 && forked;
            let lock = which as usize + usize::from(what == 11) * 2;
            match what {
                _ if !alive => {}
                0..=2 => push(t, EventKind::Read, 1 + which, None),
                3..=5 => push(t, EventKind::Write, 1 + which, None),
                6..=11 => {
                    let shared = what == 11 && which == 1;
                    let mine = holders[lock].iter().position(|held| held.0 == t);
                    let free = holders[lock].iter().all(|held| held.1 && shared);
                    let location = 3 + lock as u32;
                    match mine {
                        Some(at) => {
                            let was_shared = holders[lock].remove(at).1;
                            let kind = if was_shared {
                                EventKind::SharedUnlock
                            } else {
                                EventKind::Unlock
                            };
                            push(t, kind, location, None);
                        }
                        None if free => {
                            holders[lock].push((t, shared));
                            let kind = if shared {
                                EventKind::SharedLock
                            } else {
                                EventKind::Lock
                            };
                            push(t, kind, location, None);
                        }
                        None if t == 0 && !forked => {
                            forked = true;
                            push(0, EventKind::Fork, 0, Some(2));
                        }
                        None if t == 0
                            && holders.iter().flatten().all(|held| held.0 != 1)
                            && !joined =>
                        {
                            joined = true;
                            push(0, EventKind::Join, 0, Some(1));
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
        of_rows(&rows)
    })
}

fn unlimited() -> Budget {
    Budget::unlimited()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn races_are_those_of_all_sync_preserving_orders(run in small()) {
        let expected = Enumeration::new(&run).races();
        let these = SyncPreserving::new(&run);
        let got: BTreeSet<usize> = these.racy(&unlimited()).findings.iter().map(|row| row.index()).collect();
        let racy: BTreeSet<usize> = expected.iter().map(|&(_, second)| second).collect();
        prop_assert_eq!(got, racy, "{}", rapid::export(&run).text);
        // Almost every row has a place of its own, so each pair is a candidate.
        let candidates = these.races(&unlimited()).findings;
        let pairs: BTreeSet<(usize, usize)> = candidates.iter().map(|c| (c.events[0].index(), c.events[1].index())).collect();
        prop_assert_eq!(pairs, expected, "{}", rapid::export(&run).text);
    }

    #[test]
    fn deadlocks_are_those_of_all_sync_preserving_orders(run in small()) {
        let all = Enumeration::new(&run);
        let these = SyncPreserving::new(&run);
        let got = these.deadlocks(&unlimited()).findings;
        for found in &got {
            let mut rows: Vec<usize> = found.events.iter().map(|row| row.index()).collect();
            rows.sort_unstable();
            prop_assert!(rows.len() != 2 || all.together.contains(&rows), "{}", rapid::export(&run).text);
        }
        for pair in &all.together {
            if is_deadlock(&run, pair[0], pair[1]) {
                let threads = |rows: [usize; 2]| rows.map(|row| run.events.threads()[row]);
                let wanted = |rows: [usize; 2]| rows.map(|row| run.events.locations()[row]);
                let covers = |c: &AnomalyCandidate| c.events.len() == 2 && {
                    let rows = [c.events[0].index(), c.events[1].index()];
                    let other = [rows[1], rows[0]];
                    let pair = [pair[0], pair[1]];
                    [rows, other].iter().any(|&rows| threads(rows) == threads(pair) && wanted(rows) == wanted(pair))
                };
                prop_assert!(got.iter().any(covers), "{:?}\n{}", pair, rapid::export(&run).text);
            }
        }
    }

    #[test]
    fn witnesses_are_feasible(run in feasible(150)) {
        let these = SyncPreserving::new(&run);
        let found = [these.races(&unlimited()), these.deadlocks(&unlimited())];
        for candidate in found.iter().flat_map(|outcome| &outcome.findings) {
            let order = these.order(candidate).unwrap();
            prop_assert_eq!(check(&run, &order), Ok(()), "{:?}\n{}", candidate, unsnarl_trace::script::print(&run));
            if candidate.class == Class::Race {
                let [first, second] = candidate.events[..] else { panic!("a race of two") };
                prop_assert_eq!(&order.events[order.events.len() - 2..], &[first, second]);
            }
        }
    }

    #[test]
    fn anything_is_searched(run in anything(150)) {
        let these = SyncPreserving::new(&run);
        for candidate in these.races(&unlimited()).findings {
            prop_assert!(these.order(&candidate).is_some());
        }
        these.deadlocks(&unlimited());
    }

    /// Races by happens-before, up to the first race, are sync-preserving.
    #[test]
    fn the_first_race_by_happens_before_is_found(run in small()) {
        let orders = crate::orders::Orders::new(&run);
        let (by_hb, by_shb) = (hb_racy(&run, &orders), shb_racy(&run));
        let these = SyncPreserving::new(&run).racy(&unlimited()).findings;
        prop_assert_eq!(by_hb.first(), by_shb.first());
        prop_assert!(by_shb.iter().all(|row| these.contains(row)), "{}", rapid::export(&run).text);
        prop_assert!(by_shb.iter().all(|row| by_hb.contains(row)));
    }
}

/// A lock is released by a third thread, after that has met the second one: no order has both accesses next.
#[test]
fn a_race_has_an_order_where_locks_are_used_against_the_rules() {
    let run = run("
        main.1 lock m @1
        main.2 lock m @2
        main   R y @3
        main.2 unlock m @4
        main.1 R x @5
        main   R y @6
        main.2 W x @7
        main.2 signal c @8
        main   barrier-leave c @9
        main   unlock m @10
    ");
    let these = SyncPreserving::new(&run);
    for candidate in these.races(&unlimited()).findings {
        assert!(these.order(&candidate).is_some(), "{candidate:?}");
    }
}

/// Returns whether both request a lock that the other holds for writing.
fn is_deadlock(run: &Run, a: usize, b: usize) -> bool {
    let locks = crate::orders::Locks::new(run, &mut Vec::new());
    let wants = |row: usize| {
        let event = run.events.get(EventId(row as u32)).unwrap();
        (event.kind == EventKind::Lock).then_some((event.thread, event.location))
    };
    let (Some((t, first)), Some((u, second))) = (wants(a), wants(b)) else {
        return false;
    };
    let holds = |t, row: usize, lock| {
        let mut held = locks.held_at(t, EventId(row as u32));
        held.any(|held| held.lock == lock && !held.shared && held.acquired.index() != row)
    };
    t != u && holds(t, a, second) && holds(u, b, first)
}

fn found(text: &str, expected: Expect) {
    let run = run(text);
    let these = SyncPreserving::new(&run);
    let mut said = String::new();
    for outcome in [these.races(&unlimited()), these.deadlocks(&unlimited())] {
        assert_eq!(outcome.stopped, crate::StopReason::Complete);
        for candidate in outcome.findings {
            let order = these.order(&candidate).unwrap();
            assert_eq!(check(&run, &order), Ok(()));
            let rows = |rows: &[EventId]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
            let (events, order) = (rows(&candidate.events), rows(&order.events));
            said.push_str(&format!(
                "{} {events:?} after {order:?}\n",
                candidate.pattern
            ));
        }
    }
    expected.assert_eq(&said);
}

/// The example of the POPL paper's introduction: no happens-before race, since a section comes between.
#[test]
fn a_section_that_is_not_needed_is_left_out() {
    found(
        "
        main fork main.1
        main W x @1
        main lock m
        main unlock m
        main.1 lock m
        main.1 unlock m
        main.1 W x @2
        ",
        expect![[r#"
            w-w [1, 6] after [0, 4, 5, 1, 6]
        "#]],
    );
}

#[test]
fn what_a_read_saw_stays() {
    found(
        "
        main fork main.1
        main W data @1
        main W ready @2
        main.1 R ready @3
        main.1 R data @4
        ",
        expect![[r#"
            w-r [2, 3] after [0, 1, 2, 3]
        "#]],
    );
}

#[test]
fn requests_in_the_other_order_deadlock() {
    found(
        "
        main fork main.1
        main fork main.2
        main.1 lock a @10
        main.1 lock b @11
        main.1 unlock b
        main.1 unlock a
        main.2 lock b @20
        main.2 lock a @21
        main.2 unlock a
        main.2 unlock b
        ",
        expect![[r#"
            cycle of 2 [3, 7] after [0, 1, 2, 6]
        "#]],
    );
}

#[test]
fn guards_and_data_keep_threads_from_deadlocking() {
    for guarded in [
        "main.1 lock g\nmain.1 lock a\nmain.1 lock b\nmain.1 unlock b\nmain.1 unlock a\nmain.1 unlock g\n\
         main.2 lock g\nmain.2 lock b\nmain.2 lock a\nmain.2 unlock a\nmain.2 unlock b\nmain.2 unlock g",
        "main.1 lock a\nmain.1 lock b\nmain.1 unlock b\nmain.1 unlock a\nmain.1 W x\n\
         main.2 R x\nmain.2 lock b\nmain.2 lock a\nmain.2 unlock a\nmain.2 unlock b",
    ] {
        let run = run(guarded);
        assert_eq!(deadlocks(&run, &unlimited()).findings, []);
    }
}

/// A signalled wait does not reacquire its mutex without the signal.
#[test]
fn signals_come_before_what_follows_the_wait() {
    found(
        "
        main fork main.1
        main lock m
        main wait c
        main unlock m
        main.1 W x @20
        main.1 lock m
        main.1 signal c =1
        main.1 unlock m
        main lock m
        main wake c =0
        main unlock m
        main W x @30
        ",
        expect![[r#""#]],
    );
}
