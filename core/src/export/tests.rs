use super::*;
use crate::{fixture, orders::HappensBefore};
use expect_test::expect;
use proptest::prelude::*;
use std::collections::BTreeMap;
use unsnarl_trace::EventId;

const LOST: &str = r#"
    file bank.c
    start main.1 add
    start main.2 add
    main fork main.1 @9 main "start(&a, add);"
    main fork main.2 @10 main "start(&b, add);"
    main.1 lock m @3 add "lock(&m);"
    main.1 R n =0 @4 add "int old = n;"
    main.1 unlock m @5 add "unlock(&m);"
    main.2 lock m @3 add "lock(&m);"
    main.2 R n =0 @4 add "int old = n;"
    main.2 unlock m @5 add "unlock(&m);"
    main.2 W n =1 @6 add "n = old + 1;"
    main.1 W n =1 @6 add "n = old + 1;"
    main join main.1 @11 main "join(a);"
    main join main.2 @12 main "join(b);"
    main R n =1 @13 main "assert(n == 2);"
    main fails @13 assertion `n == 2` failed
"#;

#[test]
fn what_threads_got_from_each_other() {
    let run = fixture::run(LOST);
    let said: Vec<String> = links(&run)
        .iter()
        .map(|link| {
            let end = |row| {
                let event = run.events.get(row).unwrap();
                format!(
                    "{} {}",
                    facts::thread_name(&run, event.thread),
                    deed(&run, &event)
                )
            };
            format!("{:?}: {} -> {}", link.kind, end(link.from), end(link.to))
        })
        .collect();
    expect![[r#"
        Order: main creates main.1 -> main.1 locks m
        Order: main creates main.2 -> main.2 locks m
        Order: main.1 unlocks m -> main.2 locks m
        Overwrites: main.1 reads n = 0 -> main.2 writes n = 1
        Overwrites: main.2 writes n = 1 -> main.1 writes n = 1
        Order: main.1 writes n = 1 -> main joins main.1
        Order: main.2 writes n = 1 -> main joins main.2
        Value: main.1 writes n = 1 -> main reads n = 1"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn as_a_log_with_vector_clocks() {
    expect![[r#"
        creates main.1  bank.c:9
        main {"main":1}
        creates main.2  bank.c:10
        main {"main":2}
        locks m  bank.c:3
        main.1 {"main":1, "main.1":1}
        reads n = 0  bank.c:4
        main.1 {"main":1, "main.1":2}
        unlocks m  bank.c:5
        main.1 {"main":1, "main.1":3}
        locks m  bank.c:3
        main.2 {"main":2, "main.1":3, "main.2":1}
        reads n = 0  bank.c:4
        main.2 {"main":2, "main.1":3, "main.2":2}
        unlocks m  bank.c:5
        main.2 {"main":2, "main.1":3, "main.2":3}
        writes n = 1  bank.c:6
        main.2 {"main":2, "main.1":3, "main.2":4}
        writes n = 1  bank.c:6
        main.1 {"main":1, "main.1":4}
        joins main.1  bank.c:11
        main {"main":3, "main.1":4}
        joins main.2  bank.c:12
        main {"main":4, "main.1":4, "main.2":4}
        reads n = 1  bank.c:13
        main {"main":5, "main.1":4, "main.2":4}
        fails  bank.c:13
        main {"main":6, "main.1":4, "main.2":4}
    "#]]
    .assert_eq(&shiviz(&fixture::run(LOST)));
}

#[test]
fn as_a_graph_that_says_what_it_leaves_out() {
    let run = fixture::run(LOST);
    let all = graph(&run, 100);
    assert_eq!((all.shown, all.of), (all.of, links(&run).len()));
    assert!(!all.text.contains("the last"));
    let cut = graph(&run, 2);
    assert_eq!((cut.shown, cut.of), (2, all.of));
    expect![[r##"
        digraph run {
          node [shape=box, fontname="monospace", fontsize=10];
          edge [fontname="sans-serif", fontsize=9];
          label="the last 2 of 8 arrows between threads";
          labelloc=t;
          subgraph cluster_0 {
            label="main";
            e11 [label="joins main.2  bank.c:12"];
            e12 [label="reads n = 1  bank.c:13"];
            e11 -> e12 [style=dotted, arrowhead=none, weight=10];
            e13 [label="fails  bank.c:13", style=filled, fillcolor="#f6cfcb"];
            e12 -> e13 [style=dotted, arrowhead=none, weight=10];
          }
          subgraph cluster_1 {
            label="add (main.1)";
            e9 [label="writes n = 1  bank.c:6"];
          }
          subgraph cluster_2 {
            label="add (main.2)";
            e8 [label="writes n = 1  bank.c:6"];
          }
          e8 -> e11 [label="", color="#62626a", fontcolor="#62626a"];
          e9 -> e12 [label="value", color="#3455a4", fontcolor="#3455a4"];
        }
    "##]]
    .assert_eq(&cut.text);
}

#[test]
fn as_a_timeline() {
    let lines: Vec<String> = timeline(&fixture::run(LOST))
        .trace_events
        .iter()
        .map(|entry| {
            let length = entry.dur.map_or(String::new(), |dur| format!("+{dur}"));
            format!(
                "{} {}{length} track {} {}",
                entry.ph, entry.ts, entry.tid, entry.name
            )
        })
        .collect();
    expect![[r#"
        M 0 track 0 process_name
        M 0 track 1 thread_name
        M 0 track 1 thread_sort_index
        X 0+14 track 1 main
        M 0 track 2 thread_name
        M 0 track 2 thread_sort_index
        X 2+8 track 2 add (main.1)
        X 2+3 track 2 holds m
        M 0 track 3 thread_name
        M 0 track 3 thread_sort_index
        X 5+4 track 3 add (main.2)
        X 5+3 track 3 holds m
        i 0 track 1 creates main.1
        i 1 track 1 creates main.2
        i 3 track 2 reads n = 0
        i 6 track 3 reads n = 0
        i 8 track 3 writes n = 1
        X 9+1 track 2 writes n = 1
        i 10 track 1 joins main.1
        i 11 track 1 joins main.2
        X 12+1 track 1 reads n = 1
        i 13 track 1 fails
        s 9 track 2 value
        f 12 track 1 value"#]]
    .assert_eq(&lines.join("\n"));
}

/// A clock of the log, by host.
type LoggedClock = BTreeMap<String, usize>;

/// Parses the log as ShiViz does: its expression has three groups, written out here.
fn parsed(log: &str) -> Vec<(String, String, LoggedClock)> {
    let lines: Vec<&str> = log.lines().collect();
    let pairs = lines.chunks(2);
    pairs
        .map(|pair| {
            let (host, clock) = pair[1].split_once(' ').unwrap();
            let clock = clock.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            let times = clock.split(", ").map(|entry| {
                let (host, time) = entry.split_once(':').unwrap();
                (host.trim_matches('"').to_owned(), time.parse().unwrap())
            });
            (pair[0].to_owned(), host.to_owned(), times.collect())
        })
        .collect()
}

/// Checks that slices of one track either nest or are disjoint.
fn nest(entries: &[TraceEvent]) {
    let slices: Vec<_> = entries.iter().filter(|entry| entry.ph == "X").collect();
    for (at, a) in slices.iter().enumerate() {
        for b in slices.iter().skip(at + 1).filter(|b| b.tid == a.tid) {
            let (a, b) = ((a.ts, a.ts + a.dur.unwrap()), (b.ts, b.ts + b.dur.unwrap()));
            let inside = |x: (u64, u64), y: (u64, u64)| y.0 <= x.0 && x.1 <= y.1;
            assert!(
                a.1 <= b.0 || b.1 <= a.0 || inside(a, b) || inside(b, a),
                "{a:?} {b:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn clocks_are_those_of_happens_before(run in fixture::feasible(120)) {
        let log = parsed(&shiviz(&run));
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, host, clock) in &log {
            let time = own.entry(host).or_default();
            *time += 1;
            prop_assert_eq!(clock.get(host), Some(&*time), "hosts count their own events without a gap");
        }
        // An event that knows another one also knows everything that the other one knew.
        for (_, host, clock) in &log {
            for (other, time) in clock.iter().filter(|(other, _)| *other != host) {
                let known = log.iter().filter(|(_, host, _)| host == other).nth(time - 1);
                let (_, _, known) = known.expect("an event that is in the log");
                prop_assert!(known.iter().all(|(host, time)| clock.get(host) >= Some(time)));
            }
        }
    }

    #[test]
    fn arrows_of_synchronization_give_happens_before(run in fixture::feasible(80)) {
        let order = HappensBefore::new(&run, &mut Vec::new());
        let rows = run.events.len();
        let threads = run.events.threads();
        let mut reaches = vec![vec![false; rows]; rows];
        let arrows: Vec<EventLink> = links(&run).into_iter().filter(|link| link.kind == LinkKind::Order).collect();
        for to in 0..rows {
            for from in (0..to).rev() {
                let own = threads[from] == threads[to];
                let direct = own || arrows.contains(&EventLink { to: EventId(to as u32), from: EventId(from as u32), kind: LinkKind::Order });
                reaches[from][to] = direct || (from + 1..to).any(|via| reaches[from][via] && reaches[via][to]);
            }
        }
        for to in 0..rows {
            for from in 0..to {
                let ordered = order.ordered(EventId(from as u32), threads[from], EventId(to as u32), threads[to]);
                prop_assert_eq!(ordered, reaches[from][to], "{} before {}", from, to);
            }
        }
    }

    #[test]
    fn slices_nest_and_arrows_join_slices(run in fixture::anything(80)) {
        let entries = timeline(&run).trace_events;
        nest(&entries);
        for end in entries.iter().filter(|entry| entry.ph == "s" || entry.ph == "f") {
            prop_assert!(entries.iter().any(|slice| slice.ph == "X" && slice.dur == Some(1) && slice.tid == end.tid && slice.ts == end.ts));
        }
    }
}
