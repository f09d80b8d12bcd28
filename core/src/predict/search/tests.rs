//! Tests of the search against its definitions: Figures 1 to 3 of [pecan], all tuples of small random traces,
//! and all reorderings of smaller ones.
//!
//! [pecan]: crate::predict

use super::*;
use crate::{
    fixture::{anything, run},
    predict::{AccessType, Class, PatternEvent, Regions, regions::AtomicRegion},
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::collections::BTreeSet;
use unsnarl_trace::{
    Event, EventId, EventKind, Events, LocationId, Run, SiteId, SiteRow, StackId, ThreadId, Value,
    model::flags,
};

fn all(graph: &ForcedOrder<'_>, patterns: &Patterns) -> Vec<AnomalyCandidate> {
    let outcome = search(
        graph,
        patterns,
        &SearchOptions::default(),
        &Budget::unlimited(),
    );
    assert_eq!(outcome.stopped, StopReason::Complete);
    outcome.findings
}

/// Candidates as `pattern: lines`.
fn check(text: &str, patterns: &Patterns, expected: Expect) {
    let run = run(text);
    let found = all(&ForcedOrder::new(&run), patterns);
    let line = |event: &EventId| run.meta.site(run.events.get(*event).unwrap().site).line;
    let told = found.iter().map(|candidate| {
        let lines: Vec<String> = candidate
            .events
            .iter()
            .map(|event| line(event).to_string())
            .collect();
        format!("{}: {}\n", candidate.pattern, lines.join(" "))
    });
    expected.assert_eq(&told.collect::<String>());
}

/// Figure 1: the trace is 1, 5, 2, 3, 6, 7; the races are (2,5), (2,6) and (3,7), in either order.
#[test]
fn figure_one() {
    let text = "
        main.1 lock l    @1
        main.2 R x       @5
        main.1 W x       @2
        main.1 R y       @3
        main.2 R x       @6
        main.2 W y       @7
    ";
    check(
        text,
        &Patterns::races(),
        expect![[r#"
            w-r: 2 5
            r-w: 6 2
            w-r: 7 3
            r-w: 5 2
            r-w: 3 7
            w-r: 2 6
        "#]],
    );
}

/// Figure 2: an example of each class.
#[test]
fn figure_two() {
    let built_in = Patterns::built_in();
    let name = |name: &str| built_in.all.iter().find(|p| p.name == name).unwrap();
    let sequence = |p: &Pattern, what: fn(&PatternEvent) -> u8| -> Vec<u8> {
        p.steps.iter().map(what).collect()
    };

    let race = name("r-w");
    assert_eq!(sequence(race, |s| s.thread), [0, 1]);
    assert_eq!(sequence(race, |s| s.variable), [0, 0]);
    assert_eq!(sequence(race, |s| s.region), [0, 1]);
    let violation = name("r-w-r");
    assert_eq!(sequence(violation, |s| s.thread), [0, 1, 0]);
    assert_eq!(sequence(violation, |s| s.region), [0, 1, 0]);
    let set = name("set-8");
    assert_eq!(sequence(set, |s| s.thread), [0, 1, 1, 0]);
    assert_eq!(sequence(set, |s| s.variable), [0, 0, 1, 1]);
    let accesses: Vec<AccessType> = set.steps.iter().map(|s| s.access).collect();
    assert_eq!(
        accesses,
        [
            AccessType::Write,
            AccessType::Read,
            AccessType::Read,
            AccessType::Write
        ]
    );
    assert_eq!(built_in.all.len(), 3 + 4 + 7);
    assert!(
        built_in.all.iter().all(|p| PatternShape::of(p).is_some()),
        "all are searched by classes"
    );
}

/// Figure 3: v8 is under the lock that protects v2 and v5, but not v4.
#[test]
fn figure_three() {
    let text = "
        main.1 lock a    @1
        main.1 lock l    @2
        main.1 R x       @3
        main.1 unlock l  @4
        main.1 W y       @5
        main.1 lock l    @6
        main.1 R x       @7
        main.1 unlock l  @8
        main.1 unlock a  @9
        main.2 lock l    @20
        main.2 W x       @21
        main.2 unlock l  @22
    ";
    check(
        text,
        &Patterns::atomicity(),
        expect![[r#"
        r-w-r: 3 21 7
    "#]],
    );
    let held = text
        .replace("unlock l  @4", "R z  @4")
        .replace("lock l    @6", "R z  @6");
    check(&held, &Patterns::atomicity(), expect![""]);
}

#[test]
fn sets_of_two_locations() {
    let text = "
        main.1 lock a    @1
        main.1 W size    @2
        main.1 W last    @3
        main.1 unlock a  @4
        main.2 lock b    @10
        main.2 R size    @11
        main.2 R last    @12
        main.2 unlock b  @13
    ";
    check(
        text,
        &Patterns::atomic_sets(),
        expect![[r#"
            set-10: 11 2 3 12
            set-8: 2 11 12 3
        "#]],
    );
    let one_lock = text.replace(" b ", " a ");
    check(&one_lock, &Patterns::built_in(), expect![""]);
}

/// A place must be free of common locks and of order at once: the one before the flag has no lock in common
/// with line 6 and is ordered before it, those after it are unordered and under the lock.
#[test]
fn a_place_is_free_and_unordered_at_once() {
    let text = "
        main.1 lock a    @1
        main.1 R x       @2
        main.1 lock l    @3
        main.1 atomic-write ready =1 release @4
        main.1 R x       @5
        main.1 unlock l  @8
        main.1 unlock a  @9
        main.2 atomic-read ready =1 acquire @20
        main.2 lock l    @21
        main.2 W x       @6
        main.2 unlock l  @22
    ";
    check(text, &Patterns::atomicity(), expect![""]);
    let unordered = text.replace("release", "relaxed");
    check(
        &unordered,
        &Patterns::atomicity(),
        expect![[r#"
            r-w-r: 2 6 5
        "#]],
    );
}

/// Two foreign events need places in their order: here the first fits only after the change of locks, and the
/// second only before it; with the locks exchanged both fit.
#[test]
fn two_places_come_in_order() {
    let text = "
        main.1 lock a    @1
        main.1 lock m    @2
        main.1 W x       @3
        main.1 lock l    @4
        main.1 unlock m  @5
        main.1 W y       @6
        main.1 unlock l  @7
        main.1 unlock a  @8
        main.2 lock r    @20
        main.2 lock m    @21
        main.2 R x       @22
        main.2 unlock m  @23
        main.2 lock l    @24
        main.2 R y       @25
        main.2 unlock l  @26
        main.2 unlock r  @27
    ";
    let sets = Patterns::atomic_sets();
    let only = |name: &str| Patterns {
        all: sets
            .all
            .iter()
            .filter(|p| p.name == name)
            .cloned()
            .collect(),
    };
    check(text, &only("set-8"), expect![""]);
    let swapped = text
        .replace("main.1 lock m ", "main.1 lock k ")
        .replace("main.1 lock l ", "main.1 lock m ")
        .replace("main.1 lock k ", "main.1 lock l ")
        .replace("main.1 unlock m  @5", "main.1 unlock l  @5")
        .replace("main.1 unlock l  @7", "main.1 unlock m  @7");
    check(
        &swapped,
        &only("set-8"),
        expect![[r#"
            set-8: 3 22 25 6
        "#]],
    );
}

/// Accesses ordered by a fork, a join, a signal or a flag are no anomaly.
#[test]
fn what_is_ordered_is_not_told() {
    check(
        "
        main   W x @1
        main   fork main.1
        main.1 R x @2
        main.1 W x @3
        main   join main.1
        main   R x @4
        ",
        &Patterns::races(),
        expect![""],
    );
    check(
        "
        main.1 W x @1
        main.1 atomic-write ready =1 release @2
        main.2 atomic-read ready =1 acquire @3
        main.2 R x @4
        ",
        &Patterns::races(),
        expect![""],
    );
}

#[test]
fn the_same_lines_are_told_once_unless_more_are_wanted() {
    let run = run("
        main.1 W x @1
        main.1 W y @1
        main.2 R x @2
        main.2 R y @2
    ");
    let graph = ForcedOrder::new(&run);
    let count = |per_lines| {
        let options = SearchOptions { per_lines };
        search(&graph, &Patterns::races(), &options, &Budget::unlimited())
            .findings
            .len()
    };
    assert_eq!([1, 2, 3].map(count), [2, 4, 4], "w-r and r-w");
}

#[test]
fn a_cancelled_search_says_so() {
    let run = run("main.1 W x\nmain.2 R x");
    let budget = Budget::unlimited();
    budget.cancel();
    let outcome = search(
        &ForcedOrder::new(&run),
        &Patterns::built_in(),
        &SearchOptions::default(),
        &budget,
    );
    assert_eq!(outcome.stopped, StopReason::Cancelled);
}

#[test]
fn a_region_with_too_many_accesses_is_told() {
    let mut text = String::from("main.1 lock l\n");
    for i in 0..300 {
        text += &format!("main.1 W x[{i}] @{}\n", i + 1);
    }
    text += "main.1 unlock l\n";
    for i in 0..300 {
        text += &format!("main.2 R x[{i}] @{}\n", i + 1001);
    }
    let run = run(&text);
    let outcome = search(
        &ForcedOrder::new(&run),
        &Patterns::atomic_sets(),
        &SearchOptions::default(),
        &Budget::unlimited(),
    );
    assert_eq!(outcome.stopped, StopReason::TooMuch(MANY_ACCESSES));
}

/// A user's pattern with three threads, which the classes do not support.
#[test]
fn three_threads() {
    let step = |thread, variable, access| PatternEvent {
        thread,
        variable,
        region: thread,
        access,
    };

    let pattern = Pattern {
        name: "relay".to_owned(),
        class: Class::User,
        steps: vec![
            step(0, 0, AccessType::Write),
            step(1, 0, AccessType::Read),
            step(1, 1, AccessType::Write),
            step(2, 1, AccessType::Read),
        ],
        consecutive: false,
    };
    check(
        "
        main.1 W x @1
        main.3 R y @4
        main.2 lock l @9
        main.2 R x @2
        main.2 W y @3
        main.2 unlock l @9
        ",
        &Patterns { all: vec![pattern] },
        expect![[r#"
            relay: 1 2 3 4
        "#]],
    );
}

/// Random runs of threads that lock, read, write and communicate by flags. Lines are few, so that they recur.
fn busy(threads: u8, steps: usize) -> impl Strategy<Value = Run> {
    let step = (0..threads, 0u8..12, 0u8..3, 0u8..3);
    proptest::collection::vec(step, 0..steps).prop_map(move |steps| {
        let mut held: [Option<u8>; 2] = [None; 2];
        let mut rows = Vec::new();
        for (thread, what, which, line) in steps {
            let lock = usize::from(which % 2);
            let (kind, location) = match what {
                0..4 => (EventKind::Read, 1 + which),
                4..7 => (EventKind::Write, 1 + which),
                7 => (EventKind::AtomicRead, 6),
                8 => (EventKind::AtomicWrite, 6),
                9 => (EventKind::Rmw, 1),
                _ if held[lock].is_none() => (EventKind::Lock, 4 + lock as u8),
                _ if held[lock] == Some(thread) => (EventKind::Unlock, 4 + lock as u8),
                _ => continue,
            };
            match kind {
                EventKind::Lock => held[lock] = Some(thread),
                EventKind::Unlock => held[lock] = None,
                _ => {}
            }
            let order = if kind.is_atomic() && location == 6 {
                6
            } else {
                1
            };
            rows.push(Event {
                seq: rows.len() as u64,
                thread: ThreadId(u16::from(thread)),
                kind,
                site: SiteId(1 + u32::from(thread) * 3 + u32::from(line)),
                location: LocationId(u32::from(location)),
                size: 4,
                flags: order << flags::ORDER_SHIFT,
                value: Some(Value::Bits(0)),
                old: None,
                stack: StackId(0),
                point: unsnarl_trace::PointId(0),
            });
        }
        let mut run = Run {
            events: Events::from_rows(&rows),
            locations: ["", "x", "y", "z", "l", "m", "flag"]
                .into_iter()
                .map(str::to_owned)
                .collect(),
            ..Run::default()
        };
        let sites = 0..=3 * u32::from(threads);
        run.meta.sites = sites
            .map(|line| SiteRow {
                line,
                ..SiteRow::default()
            })
            .collect();
        run
    })
}

/// The graph with its critical sections or with each thread as one region.
fn graph(run: &Run, wide: bool) -> ForcedOrder<'_> {
    let graph = ForcedOrder::new(run);
    if !wide {
        return graph;
    }
    let stretches = (0..graph.threads().count() as u16).map(|thread| AtomicRegion {
        thread: ThreadId(thread),
        first: EventId(0),
        last: EventId(u32::MAX),
    });
    let regions = Regions::of(run, graph.threads(), stretches.collect());
    graph.with_regions(regions)
}

type ToldCandidate = BTreeSet<(String, Vec<u32>)>;

fn told(run: &Run, candidates: &[AnomalyCandidate]) -> ToldCandidate {
    let line = |event: &EventId| run.events.get(*event).unwrap().site.0;
    let told = candidates
        .iter()
        .map(|c| (c.pattern.clone(), c.events.iter().map(line).collect()));
    told.collect()
}

/// Returns whether no common lock and no order excludes the event from the gap between `left` and the next
/// event of its thread.
fn gap_lets_in(graph: &ForcedOrder<'_>, left: EventId, event: EventId) -> bool {
    let mine = graph.events_of(graph.thread(left));
    let right = mine[mine.iter().position(|e| *e == left).unwrap() + 1];
    graph.common_lock(left, event).is_none()
        && !graph.before(event, left)
        && !graph.before(right, event)
}

/// All candidates by definition, from all tuples of events.
fn naive(graph: &ForcedOrder<'_>, patterns: &Patterns) -> ToldCandidate {
    let mut candidates = Vec::new();
    for pattern in &patterns.all {
        let mut events = Vec::new();
        tuples(graph, pattern, &mut events, &mut candidates);
    }
    told(graph.run(), &candidates)
}

fn tuples(
    graph: &ForcedOrder<'_>,
    pattern: &Pattern,
    events: &mut Vec<EventId>,
    into: &mut Vec<AnomalyCandidate>,
) {
    let Some(step) = pattern.steps.get(events.len()) else {
        if placed(graph, pattern, events) {
            into.push(AnomalyCandidate {
                class: pattern.class,
                pattern: pattern.name.clone(),
                events: events.clone(),
            });
        }
        return;
    };
    for (row, event) in graph.run().events.iter() {
        let does = match step.access {
            AccessType::Read => event.kind.reads(),
            AccessType::Write => event.kind.writes(),
        };
        let labels_agree = events.iter().zip(&pattern.steps).all(|(known, other)| {
            let there = graph.run().events.get(*known).unwrap();
            (there.thread == event.thread) == (other.thread == step.thread)
                && (there.location == event.location) == (other.variable == step.variable)
                && (other.region != step.region
                    || (graph.region(*known).is_some()
                        && graph.region(*known) == graph.region(row)))
        });
        if does && labels_agree {
            events.push(row);
            tuples(graph, pattern, events, into);
            events.pop();
        }
    }
}

fn placed(graph: &ForcedOrder<'_>, pattern: &Pattern, events: &[EventId]) -> bool {
    let atomic = |event: EventId| graph.kind(event).is_atomic();
    if pattern.consecutive {
        return graph.independent(events[0], events[1])
            && !(atomic(events[0]) && atomic(events[1]));
    }
    let (first, last) = (events[0], events[events.len() - 1]);
    let gaps: Vec<EventId> = graph
        .events_of(graph.thread(first))
        .iter()
        .copied()
        .filter(|&event| event >= first && event < last)
        .collect();
    let fits = |event: EventId| -> Vec<usize> {
        (0..gaps.len())
            .filter(|&g| gap_lets_in(graph, gaps[g], event))
            .collect()
    };
    let in_order = events
        .windows(2)
        .all(|pair| graph.thread(pair[0]) != graph.thread(pair[1]) || pair[0] < pair[1]);
    let foreign: Vec<Vec<usize>> = events[1..events.len() - 1]
        .iter()
        .map(|&e| fits(e))
        .collect();
    in_order
        && first < last
        && match foreign.as_slice() {
            [one] => !one.is_empty(),
            [one, two] => one.iter().any(|a| two.iter().any(|b| a <= b)),
            _ => unreachable!("built-in patterns have up to two foreign events"),
        }
}

/// All orders of the events that respect the forced order and mutual exclusion.
fn reorderings(
    graph: &ForcedOrder<'_>,
    done: &mut Vec<EventId>,
    each: &mut impl FnMut(&[EventId]),
) {
    let count = graph.run().events.len() as u32;
    if done.len() == count as usize {
        return each(done);
    }
    for event in (0..count).map(EventId) {
        let waits = (0..count)
            .map(EventId)
            .any(|other| !done.contains(&other) && graph.before(other, event));
        if !done.contains(&event) && !waits && lock_is_free(graph, done, event) {
            done.push(event);
            reorderings(graph, done, each);
            done.pop();
        }
    }
}

fn lock_is_free(graph: &ForcedOrder<'_>, done: &[EventId], event: EventId) -> bool {
    let get = |event: EventId| graph.run().events.get(event).unwrap();
    let asked = get(event);
    let newest = done.iter().rev().map(|&e| get(e)).find(|e| {
        e.location == asked.location && matches!(e.kind, EventKind::Lock | EventKind::Unlock)
    });
    asked.kind != EventKind::Lock || newest.is_none_or(|e| e.kind == EventKind::Unlock)
}

/// Anomalies that one order of the events shows.
fn shown(
    graph: &ForcedOrder<'_>,
    patterns: &Patterns,
    order: &[EventId],
    into: &mut ToldCandidate,
) {
    for pattern in &patterns.all {
        let mut candidates = Vec::new();
        subsequences(graph, pattern, order, 0, &mut Vec::new(), &mut candidates);
        into.extend(told(graph.run(), &candidates));
    }
}

fn subsequences(
    graph: &ForcedOrder<'_>,
    pattern: &Pattern,
    order: &[EventId],
    from: usize,
    events: &mut Vec<EventId>,
    into: &mut Vec<AnomalyCandidate>,
) {
    let Some(step) = pattern.steps.get(events.len()) else {
        return into.push(AnomalyCandidate {
            class: pattern.class,
            pattern: pattern.name.clone(),
            events: events.clone(),
        });
    };
    for (at, &row) in order.iter().enumerate().skip(from) {
        if pattern.consecutive && !events.is_empty() && at > from {
            return;
        }
        let event = graph.run().events.get(row).unwrap();
        let does = match step.access {
            AccessType::Read => event.kind.reads(),
            AccessType::Write => event.kind.writes(),
        };
        let labels_agree = events.iter().zip(&pattern.steps).all(|(known, other)| {
            let there = graph.run().events.get(*known).unwrap();
            (there.thread == event.thread) == (other.thread == step.thread)
                && (there.location == event.location) == (other.variable == step.variable)
                && (other.region != step.region
                    || (graph.region(*known).is_some()
                        && graph.region(*known) == graph.region(row)))
                && !(pattern.consecutive && there.kind.is_atomic() && event.kind.is_atomic())
        });
        if does && labels_agree {
            events.push(row);
            subsequences(graph, pattern, order, at + 1, events, into);
            events.pop();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_found_is_what_all_tuples_have(run in busy(3, 28), wide in any::<bool>()) {
        let graph = graph(&run, wide);
        let found = told(&run, &all(&graph, &Patterns::built_in()));
        prop_assert_eq!(found, naive(&graph, &Patterns::built_in()), "{:#?}", run.events.iter().collect::<Vec<_>>());
    }

    /// Assignments find the same as classes.
    #[test]
    fn the_general_search_finds_the_same(run in busy(3, 28), wide in any::<bool>()) {
        let graph = graph(&run, wide);
        let patterns = Patterns::built_in();
        let places = SiteLines::new(&run);
        let wanted = WantedClasses { triples: false, sets: false, regions: true };
        let classes = RunClasses::new(&graph, &places, wanted, &Budget::unlimited());
        let mut found = FoundCandidates::new(1);
        let numbered: Vec<(usize, &Pattern)> = patterns.all.iter().enumerate().collect();
        let stopped = general::search(&graph, &places, &classes, &numbered, &Budget::unlimited(), &mut found);
        prop_assert_eq!(stopped, None);
        prop_assert_eq!(told(&run, &found.candidates), told(&run, &all(&graph, &patterns)));
    }

    #[test]
    fn anything_is_searched(run in anything(200)) {
        let graph = ForcedOrder::new(&run);
        for candidate in all(&graph, &Patterns::built_in()) {
            prop_assert!(candidate.events.len() > 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The hybrid model misses nothing: every anomaly that some order of the events shows is found.
    #[test]
    fn all_that_a_reordering_shows_is_found(run in busy(2, 11), wide in any::<bool>()) {
        let graph = graph(&run, wide);
        let mut expected = ToldCandidate::new();
        reorderings(&graph, &mut Vec::new(), &mut |order| shown(&graph, &Patterns::built_in(), order, &mut expected));
        let found = told(&run, &all(&graph, &Patterns::built_in()));
        let missed: Vec<_> = expected.difference(&found).collect();
        prop_assert!(missed.is_empty(), "{:?}\n{:#?}", missed, run.events.iter().collect::<Vec<_>>());
    }
}

/// Under one lock there is no race and, with one access in each section, no interruption: still either may
/// come first. An order that the run had already, or that a fork forces, is nothing new.
#[test]
fn accesses_under_one_lock_change_places() {
    let text = "
        main   W x       @1
        main   fork main.1 @2
        main   fork main.2 @3
        main.1 lock l    @11
        main.1 W x       @12
        main.1 unlock l  @13
        main.2 lock l    @21
        main.2 R x       @22
        main.2 unlock l  @23
    ";
    check(text, &Patterns::built_in(), expect![""]);
    let turned = expect![[r#"
        r-then-w: 22 12
    "#]];
    check(text, &Patterns::orders(), turned);
}

/// A check in one callee and its action in another are interrupted between the two.
#[test]
fn a_check_and_an_action_in_two_callees() {
    let callee = |thread: &str, line: u32, does: &str| {
        format!(
            "{thread} lock l via={line}@worker @{line}1 f{line}
             {thread} {does} n via={line}@worker @{line}2
             {thread} unlock l via={line}@worker @{line}3\n"
        )
    };
    let step = |thread: &str| callee(thread, 1, "R") + &callee(thread, 2, "W");
    let run = run(&(step("main.1") + &step("main.2")));
    let narrow = ForcedOrder::new(&run);
    let atomicity = Patterns::atomicity();
    assert!(all(&narrow, &atomicity).is_empty());
    let callers = crate::predict::RegionOptions {
        callers: true,
        ..Default::default()
    };
    let regions = Regions::new(&narrow, &callers);
    let found = all(&narrow.with_regions(regions), &atomicity);
    let names: BTreeSet<&str> = found.iter().map(|one| one.pattern.as_str()).collect();
    assert!(names.contains("r-w-w"), "{found:?}");
}
