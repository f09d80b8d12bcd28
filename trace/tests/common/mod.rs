//! Random runs, and runs as bytes.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "these are tests, and not all of them use all of it"
)]

use proptest::{collection::vec, option, prelude::*};
use unsnarl_trace::program::PointNumber;
use unsnarl_trace::{
    Event, EventId, EventKind, Events, Failure, FailureKind, FrameRow, LocationId, OrderMode,
    Outcome, PointId, PointRow, Run, RunMeta, Schedule, SiteId, SiteRow, SourceRow, StackId,
    ThreadId, ThreadRow, Value,
};

/// The run as the bytes of its file.
pub fn bytes_of(run: &Run) -> Vec<u8> {
    let mut bytes = Vec::new();
    unsnarl_trace::write_run(run, &mut bytes).unwrap();
    bytes
}

const THREADS: u16 = 4;
const SITES: u32 = 5;
const LOCATIONS: u32 = 6;
const FRAMES: u32 = 4;
const POINTS: u32 = 3;

/// Runs whose ids are all in their tables.
pub fn runs() -> impl Strategy<Value = Run> {
    (vec(events(), 0..40), metas()).prop_map(|(rows, mut meta)| {
        if let Some(failure) = &mut meta.failure {
            failure.event = failure.event.filter(|event| event.index() < rows.len());
        }
        let locations = std::iter::once(String::new())
            .chain((1..LOCATIONS).map(|n| format!("place[{n}]")))
            .collect();
        Run {
            meta,
            locations,
            events: Events::from_rows(&rows),
            damage: Vec::new(),
        }
    })
}

fn events() -> impl Strategy<Value = Event> {
    let ids = (0..THREADS, 0..SITES, 0..LOCATIONS, 0..FRAMES, 0..POINTS);
    let rest = (
        any::<u64>(),
        // More than a gigabyte is no access.
        0..=1u32 << 30,
        any::<u16>(),
        values(),
        option::of(any::<u64>()),
    );
    (1u8..=33, ids, rest).prop_map(|(kind, ids, (seq, size, flags, value, old))| Event {
        seq,
        thread: ThreadId(ids.0),
        kind: EventKind::from_u8(kind).unwrap(),
        site: SiteId(ids.1),
        location: LocationId(ids.2),
        size,
        flags,
        value,
        old,
        stack: StackId(ids.3),
        point: PointId(ids.4),
    })
}

fn values() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        any::<u64>().prop_map(|bits| Some(Value::Bits(bits))),
        (1..LOCATIONS).prop_map(|id| Some(Value::Address(LocationId(id)))),
    ]
}

fn metas() -> impl Strategy<Value = RunMeta> {
    let failure = option::of((0..THREADS, 1..SITES, 0u32..40));
    (failure, ".{0,8}", vec(0u16..3, 0..20), any::<u64>()).prop_map(
        |(failure, text, choices, seed)| RunMeta {
            format: unsnarl_trace::meta::FORMAT,
            program: format!("/tmp/{text}"),
            command: vec!["./bank".to_owned(), text.clone()],
            mode: OrderMode::Controlled,
            exact: true,
            strategy: "random".to_owned(),
            seed,
            outcome: if failure.is_some() {
                Outcome::Failed
            } else {
                Outcome::Passed
            },
            failure: failure.map(|(thread, site, event)| Failure {
                kind: FailureKind::Assert,
                message: text.clone(),
                thread: Some(ThreadId(thread)),
                site: Some(SiteId(site)),
                event: Some(EventId(event)),
            }),
            threads: (0..THREADS).map(thread).collect(),
            sites: (0..SITES).map(|n| site(n, &text)).collect(),
            frames: (0..FRAMES)
                .map(|n| FrameRow(StackId(n / 2), SiteId(n)))
                .collect(),
            units: vec!["aa".to_owned(), "bb".to_owned()],
            points: (0..POINTS).map(point).collect(),
            locks: vec![LocationId(2)],
            schedule: Schedule { choices },
            sources: vec![SourceRow {
                file: "a.c".to_owned(),
                sha256: "00".to_owned(),
            }],
            problems: vec![text],
            ..RunMeta::default()
        },
    )
}

fn point(n: u32) -> PointRow {
    PointRow(n / 2, PointNumber(n * 7))
}

fn thread(n: u16) -> ThreadRow {
    let name = if n == 0 {
        "main".to_owned()
    } else {
        format!("main.{n}")
    };
    let parent = (n > 0).then_some(ThreadId(0));
    ThreadRow {
        name,
        start: "work".to_owned(),
        parent,
        created_at: SiteId(u32::from(n)),
    }
}

fn site(n: u32, text: &str) -> SiteRow {
    if n == 0 {
        return SiteRow::default();
    }
    // Two of them at one place: an inlined function.
    let line = if n == 2 { 1 } else { n };
    SiteRow {
        file: "a.c".to_owned(),
        line,
        column: 3,
        function: format!("f{n}"),
        text: text.to_owned(),
    }
}
