//! Slices of a thread: its life, the locks it holds, its waits; arranged so that those on one track nest.

use crate::{
    export::place_of,
    facts,
    orders::{Locks, Section},
};
use std::collections::BTreeMap;
use unsnarl_trace::{Event, EventId, EventKind, Run, ThreadId};

/// A slice of one thread's time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TimeSlice {
    /// Display name.
    pub name: String,
    /// Kind, for filters.
    pub kind: &'static str,
    /// First row.
    pub from: u64,
    /// The row after the last one.
    pub to: u64,
    /// Place in the source at which it begins.
    pub place: String,
    /// Track within the thread, from 0.
    pub lane: u32,
}

/// The slices of each thread, sorted by their start, the longest first.
pub(super) fn slices(run: &Run) -> BTreeMap<u16, Vec<TimeSlice>> {
    let mut slices: BTreeMap<u16, Vec<TimeSlice>> = BTreeMap::new();
    for (thread, slice) in lives(run) {
        slices.entry(thread).or_default().push(slice);
    }
    for section in Locks::new(run, &mut Vec::new()).sections() {
        slices
            .entry(section.thread.0)
            .or_default()
            .push(held(run, section));
    }
    for (thread, slice) in waits(run) {
        slices.entry(thread).or_default().push(slice);
    }
    for slices in slices.values_mut() {
        slices.sort_by_key(|slice| (slice.from, u64::MAX - slice.to));
        arrange(slices);
    }
    slices
}

/// Gives each slice the first track on which it nests.
fn arrange(slices: &mut [TimeSlice]) {
    let mut lanes: Vec<Vec<u64>> = Vec::new();
    for slice in slices {
        let fits = |open: &mut Vec<u64>| {
            while open.last().is_some_and(|&end| end <= slice.from) {
                open.pop();
            }
            open.last().is_none_or(|&end| end >= slice.to)
        };
        let lane = lanes.iter_mut().position(fits).unwrap_or(lanes.len());
        match lanes.get_mut(lane) {
            Some(open) => open.push(slice.to),
            None => lanes.push(vec![slice.to]),
        }
        slice.lane = lane as u32;
    }
}

fn lives(run: &Run) -> BTreeMap<u16, TimeSlice> {
    let mut lives: BTreeMap<u16, TimeSlice> = BTreeMap::new();
    for (row, &thread) in run.events.threads().iter().enumerate() {
        let row = row as u64;
        let life = lives.entry(thread).or_insert_with(|| TimeSlice {
            name: facts::thread_in_words(run, ThreadId(thread)),
            kind: "thread",
            from: row,
            to: row,
            place: String::new(),
            lane: 0,
        });
        life.to = row + 1;
    }
    lives
}

fn held(run: &Run, section: &Section) -> TimeSlice {
    let end = section
        .released
        .map_or(run.events.len() as u64, |row| u64::from(row.0) + 1);
    let taken = run.events.event(section.acquired);
    let name = facts::variable(run, &taken);
    let how = if section.shared { "shares" } else { "holds" };
    TimeSlice {
        name: format!("{how} {name}"),
        kind: "lock",
        from: section.acquired.0.into(),
        to: end,
        place: place_of(run, &taken),
        lane: 0,
    }
}

/// Waits of a thread, from their start to its next step; a wait on a condition does not extend into the
/// sections of its mutex.
fn waits(run: &Run) -> Vec<(u16, TimeSlice)> {
    let mut waiting: BTreeMap<u16, (u64, Event)> = BTreeMap::new();
    let mut found = Vec::new();
    for (EventId(row), event) in run.events.iter() {
        let thread = event.thread.0;
        let from = match event.kind {
            EventKind::Branch => continue,
            kind if kind.role().begins_wait() => {
                waiting.insert(thread, (u64::from(row) + 1, event));
                continue;
            }
            // The release of the condition's mutex does not end the wait.
            EventKind::Unlock => match waiting.get_mut(&thread) {
                Some((from, begun)) if begun.kind == EventKind::Wait => {
                    *from = u64::from(row) + 1;
                    continue;
                }
                _ => waiting.remove(&thread),
            },
            _ => waiting.remove(&thread),
        };
        if let Some((from, begun)) = from {
            found.extend(wait(run, from, row.into(), &begun).map(|slice| (thread, slice)));
        }
    }
    let end = run.events.len() as u64;
    let left = waiting.into_iter();
    found.extend(
        left.filter_map(|(thread, (from, begun))| Some((thread, wait(run, from, end, &begun)?))),
    );
    found
}

fn wait(run: &Run, from: u64, to: u64, begun: &Event) -> Option<TimeSlice> {
    (from < to).then(|| TimeSlice {
        name: format!("waits for {}", facts::variable(run, begun)),
        kind: "wait",
        from,
        to,
        place: place_of(run, begun),
        lane: 0,
    })
}
