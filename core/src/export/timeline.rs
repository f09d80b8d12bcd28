//! A run as a timeline in the trace event format that Perfetto and Chrome's tracing page open.
//!
//! Time is the index of the event, a microsecond each, since runs have no clock.

mod slices;

use self::slices::{TimeSlice, slices};
use super::{LinkKind, deed, links, place_of};
use crate::{facts, render::lanes::path};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{Event, EventId, EventKind, Run, ThreadId, shell};

/// The contents of the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The entries: names of tracks, then each thread's slices and instants, then the arrows.
    pub trace_events: Vec<TraceEvent>,
    /// Time unit of viewers.
    pub display_time_unit: &'static str,
    /// Program of the run and its outcome.
    pub other_data: BTreeMap<&'static str, String>,
}

/// One entry of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TraceEvent {
    /// Display name.
    pub name: String,
    /// Kind, for filters.
    pub cat: &'static str,
    /// `M` names a track, `X` is a slice, `i` an instant, `s` and `f` are the ends of an arrow.
    pub ph: &'static str,
    /// Time: the row of the event.
    pub ts: u64,
    /// Length of a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<u64>,
    /// Process; there is only one.
    pub pid: u32,
    /// Track.
    pub tid: u32,
    /// Number of an arrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Binding point: an arrow ends at the enclosing slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bp: Option<&'static str>,
    /// Scope of an instant: its track.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<&'static str>,
    /// Details.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<&'static str, EntryDetail>,
}

/// Detail of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum EntryDetail {
    /// Text.
    Words(String),
    /// A number.
    Number(u64),
}

/// Makes the timeline: a track for each thread with its life, the locks it held and its waits as slices, its
/// accesses and other steps as instants with their values, and an arrow from each write to the first read of
/// it in each other thread. An access that has an arrow is a slice of one step, because arrows join slices.
/// Sections that overlap without nesting stand on a further track of their thread. Linear in the events.
pub fn timeline(run: &Run) -> Timeline {
    let arrows: Vec<(EventId, EventId)> = links(run)
        .into_iter()
        .filter(|link| link.kind == LinkKind::Value)
        .map(|link| (link.from, link.to))
        .collect();
    let joined: BTreeSet<EventId> = arrows.iter().flat_map(|&(from, to)| [from, to]).collect();
    let mut entries = vec![named("process_name", 0, &program(run))];
    let mut tracks: BTreeMap<u16, u32> = BTreeMap::new();
    let mut slices = slices(run);
    let mut next = 1;
    for thread in threads(run) {
        let of_thread = slices.remove(&thread).unwrap_or_default();
        let lanes = of_thread
            .iter()
            .map(|slice| slice.lane + 1)
            .max()
            .unwrap_or(1);
        tracks.insert(thread, next);
        for lane in 0..lanes {
            let name = facts::thread_in_words(run, ThreadId(thread));
            entries.extend(track(next + lane, lane, &name));
        }
        entries.extend(of_thread.into_iter().map(|slice| slice_entry(slice, next)));
        next += lanes;
    }
    let track_of = |event: &Event| tracks.get(&event.thread.0).copied().unwrap_or(0);
    for (row, event) in run.events.iter().filter(|(_, event)| is_told(event.kind)) {
        entries.push(step(
            run,
            row,
            &event,
            track_of(&event),
            joined.contains(&row),
        ));
    }
    for (number, (from, to)) in arrows.into_iter().enumerate() {
        for (row, ph, bp) in [(from, "s", None), (to, "f", Some("e"))] {
            let event = run.events.get(row);
            entries.push(TraceEvent {
                name: "value".to_owned(),
                cat: "value",
                ph,
                ts: u64::from(row.0),
                pid: 1,
                tid: event.map_or(0, |event| track_of(&event)),
                id: Some(number as u64 + 1),
                bp,
                ..TraceEvent::default()
            });
        }
    }
    Timeline {
        trace_events: entries,
        display_time_unit: "ns",
        other_data: about(run),
    }
}

fn program(run: &Run) -> String {
    match run.meta.command.is_empty() {
        true => run.meta.program.clone(),
        false => shell::command(&run.meta.command),
    }
}

fn about(run: &Run) -> BTreeMap<&'static str, String> {
    let failure = run.meta.failure.as_ref();
    let failure = failure.map_or(String::new(), |failure| failure.message.clone());
    BTreeMap::from([
        ("outcome", run.meta.outcome.name().to_owned()),
        ("failure", failure),
        ("time", "1 microsecond is 1 event".to_owned()),
    ])
}

/// Threads with events, in the order of the fork tree.
fn threads(run: &Run) -> Vec<u16> {
    let threads: BTreeSet<u16> = run.events.threads().iter().copied().collect();
    let mut threads: Vec<u16> = threads.into_iter().collect();
    threads.sort_by_key(|thread| path(&facts::thread_name(run, ThreadId(*thread))));
    threads
}

fn named(what: &str, tid: u32, name: &str) -> TraceEvent {
    TraceEvent {
        name: what.to_owned(),
        cat: "__metadata",
        ph: "M",
        pid: 1,
        tid,
        args: BTreeMap::from([("name", EntryDetail::Words(name.to_owned()))]),
        ..TraceEvent::default()
    }
}

fn track(tid: u32, lane: u32, name: &str) -> [TraceEvent; 2] {
    let name = match lane {
        0 => name.to_owned(),
        lane => format!("{name}, overlapping locks {lane}"),
    };
    let mut order = named("thread_sort_index", tid, "");
    order.args = BTreeMap::from([("sort_index", EntryDetail::Number(tid.into()))]);
    [named("thread_name", tid, &name), order]
}

fn slice_entry(slice: TimeSlice, first: u32) -> TraceEvent {
    let place = [("place", slice.place)].into_iter();
    TraceEvent {
        name: slice.name,
        cat: slice.kind,
        ph: "X",
        ts: slice.from,
        dur: Some(slice.to.saturating_sub(slice.from)),
        pid: 1,
        tid: first + slice.lane,
        args: place
            .filter(|(_, place)| !place.is_empty())
            .map(|(key, place)| (key, EntryDetail::Words(place)))
            .collect(),
        ..TraceEvent::default()
    }
}

/// Returns whether an event of this kind is shown as an instant, because no slice shows it.
fn is_told(kind: EventKind) -> bool {
    use EventKind::{
        Begin, Blocked, Branch, End, Lock, LockWait, SharedLock, SharedUnlock, Unlock,
    };
    !matches!(
        kind,
        Begin | Blocked | Branch | End | Lock | LockWait | SharedLock | SharedUnlock | Unlock
    )
}

fn step(run: &Run, row: EventId, event: &Event, tid: u32, is_joined: bool) -> TraceEvent {
    let site = run.meta.site(event.site);
    let details = [
        ("place", place_of(run, event)),
        ("source", site.text.clone()),
        ("location", run.location(event.location).to_owned()),
    ];
    let details = details.into_iter().filter(|(_, text)| !text.is_empty());
    TraceEvent {
        name: deed(run, event),
        cat: event.kind.name(),
        ph: if is_joined { "X" } else { "i" },
        ts: row.0.into(),
        dur: is_joined.then_some(1),
        pid: 1,
        tid,
        s: (!is_joined).then_some("t"),
        args: details
            .map(|(key, text)| (key, EntryDetail::Words(text)))
            .chain([("event", EntryDetail::Number(row.0.into()))])
            .collect(),
        ..TraceEvent::default()
    }
}
