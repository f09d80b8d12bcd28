//! Random runs, and runs as bytes.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "these are tests, and not all of them use all of it"
)]

use proptest::{collection::vec, option, prelude::*};
use unsnarl_trace::program::PointNumber;
use unsnarl_trace::{
    BlockRow, Event, EventId, EventKind, Events, Failure, FailureKind, FrameRow, LocationId,
    Minimized, OrderMode, Outcome, PathRow, PointId, PointRow, Preemption, Run, RunMeta, SiteId,
    SiteRow, SourceRow, StackId, ThreadId, ThreadRow, UnitNameId, Value,
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
        let is_event = |event: &EventId| event.index() < rows.len();
        if let Some(failure) = &mut meta.failure {
            failure.event = failure.event.filter(is_event);
        }
        for preemption in meta.minimized.iter_mut().flat_map(|it| &mut it.preemptions) {
            preemption.event = preemption.event.filter(is_event);
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
    (1u8..=33, ids, rest).prop_map(|(kind, ids, (seq, size, flags, value, old))| {
        let event = Event {
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
        };
        match value {
            Some(Value::Bits(bits)) if event.names_thread() => Event {
                value: Some(Value::Bits(bits % u64::from(THREADS))),
                ..event
            },
            _ => event,
        }
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
            units: vec!["aa".to_owned(), "bb".to_owned()].into(),
            blocks: (1..3).map(block).collect(),
            paths: vec![PathRow::new(ThreadId(1), 2, &[])],
            minimized: Some(minimized()),
            points: (0..POINTS).map(point).collect(),
            locks: vec![LocationId(2)],
            schedule: choices.into_iter().collect(),
            sources: vec![SourceRow {
                file: "a.c".to_owned(),
                sha256: "00".to_owned(),
            }],
            problems: vec![text],
            ..RunMeta::default()
        },
    )
}

fn block(n: u32) -> BlockRow {
    BlockRow {
        id: u64::from(n),
        site: SiteId(n),
        point: PointId(n),
        is_entry: false,
    }
}

fn minimized() -> Minimized {
    let preemption = |thread, to| Preemption {
        thread: ThreadId(thread),
        to: ThreadId(to),
        event: Some(EventId(1)),
    };
    Minimized {
        preemptions: vec![preemption(0, 1), preemption(2, 0)],
        ..Minimized::default()
    }
}

/// Indexes every table of the run by every id that leads into it.
pub fn follow_ids(run: &Run) {
    assert_eq!(run.events.iter().count(), run.events.len());
    let meta = &run.meta;
    for (_, event) in run.events.iter() {
        meta.thread(event.thread);
        meta.site(event.site);
        run.location(event.location);
        meta.frame(event.stack);
        meta.point(event.point);
        event.other_thread().map(|id| meta.thread(id));
        assert!(
            !event.names_thread()
                || event.other_thread().is_some()
                || !matches!(event.value, Some(Value::Bits(_)))
        );
        if let Some(Value::Address(location)) = event.value {
            run.location(location);
        }
    }
    for (id, thread) in meta.threads.iter_enumerated() {
        assert!(thread.parent.is_none_or(|parent| parent < id));
        meta.site(thread.created_at);
    }
    for (id, FrameRow(caller, site)) in meta.frames.iter_enumerated() {
        assert!(*caller < id || id == StackId(0) && *caller == id);
        meta.site(*site);
    }
    for block in &meta.blocks {
        meta.site(block.site);
        meta.point(block.point);
    }
    for id in meta.points.ids() {
        meta.point(id);
    }
    for path in &meta.paths {
        meta.thread(path.thread);
    }
    for lock in &meta.locks {
        run.location(*lock);
    }
    let failure = meta.failure.as_ref();
    let mut events: Vec<_> = failure
        .and_then(|failure| failure.event)
        .into_iter()
        .collect();
    failure.and_then(|it| it.thread).map(|id| meta.thread(id));
    failure.and_then(|it| it.site).map(|id| meta.site(id));
    for preemption in meta.minimized.iter().flat_map(|it| &it.preemptions) {
        meta.thread(preemption.thread);
        meta.thread(preemption.to);
        events.extend(preemption.event);
    }
    assert!(events.iter().all(|id| run.events.get(*id).is_some()));
}

fn point(n: u32) -> PointRow {
    PointRow(UnitNameId(n / 2), PointNumber(n * 7))
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
