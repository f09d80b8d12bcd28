//! Writes of passing runs before the visit that corresponds to a read of the failing run.
//!
//! A failing run was cut off there; later events of other runs are not missing in it. So reads are compared
//! visit by visit: the same thread's same visit of the line, or its last one where it makes fewer.

use crate::{
    explain::view::View,
    facts,
    mining::{
        Trace,
        trace::{LineAccess, line_hash},
    },
    pairs::{AccessClass, AccessSite, Fnv},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, ThreadId};

/// Writes of passing runs before one visit.
#[derive(Default)]
pub(super) struct WritesBefore {
    /// Number of runs in which the thread reaches the line.
    pub runs: u32,
    /// Number of these runs in which each line had written.
    lines: BTreeMap<LineAccess, u32>,
    /// Number of these runs in which each thread had written at a line.
    by_thread: BTreeMap<(u64, LineAccess), u32>,
}

impl WritesBefore {
    /// Number of runs in which the line had written.
    pub fn written(&self, site: &AccessSite) -> u32 {
        let line = line_hash(&site.place.file, site.place.line);
        self.lines.get(&(line, site.class)).copied().unwrap_or(0)
    }

    /// Threads and lines that had written in every run, of those whose names a run has.
    pub fn always(&self, view: &View) -> Vec<(ThreadId, LineAccess)> {
        let threads = (0..view.run.meta.threads.len() as u16).map(ThreadId);
        let names: FxHashMap<u64, ThreadId> = threads
            .map(|thread| (Fnv::of(&facts::thread_name(&view.run, thread)), thread))
            .collect();
        let always = self
            .by_thread
            .iter()
            .filter(|(_, runs)| **runs == self.runs);
        let known = always.filter_map(|((thread, line), _)| Some((*names.get(thread)?, *line)));
        known.collect()
    }
}

/// A visit to find.
struct WantedVisit {
    thread: u64,
    line: LineAccess,
    location: u64,
    number: u32,
}

/// For each of the reads, the writes of passing runs before it. One pass over each of the runs.
pub(super) fn before_visits(view: &View, reads: &[EventId]) -> Vec<WritesBefore> {
    let wanted: Vec<WantedVisit> = reads.iter().map(|&row| wanted(view, row)).collect();
    let locations: FxHashSet<u64> = wanted.iter().map(|one| one.location).collect();
    let mut found: Vec<WritesBefore> = wanted.iter().map(|_| WritesBefore::default()).collect();
    if wanted.is_empty() {
        return found;
    }
    for run in view.corpus.passing() {
        let run: &Trace = &run.accesses;
        for (seen, found) in seen_before(run, &wanted, &locations).iter().zip(&mut found) {
            let Some(writes) = seen else { continue };
            found.runs += 1;
            let kinds = writes
                .iter()
                .filter_map(|&kind| run.kinds.get(kind as usize));
            let by: BTreeSet<(u64, LineAccess)> = kinds
                .map(|kind| (kind.thread, (kind.line, kind.access)))
                .collect();
            let lines: BTreeSet<LineAccess> = by.iter().map(|(_, line)| *line).collect();
            by.into_iter()
                .for_each(|one| *found.by_thread.entry(one).or_default() += 1);
            lines
                .into_iter()
                .for_each(|line| *found.lines.entry(line).or_default() += 1);
        }
    }
    found
}

fn wanted(view: &View, row: EventId) -> WantedVisit {
    let (operation, visit) = (view.operation(row), view.visit(row));
    let line = line_hash(&operation.place.file, operation.place.line);
    WantedVisit {
        thread: Fnv::of(&visit.thread),
        line: (line, operation.access),
        location: Fnv::of(view.run.location(view.event(row).location)),
        number: visit.number,
    }
}

/// For each visit the writes before it, as kinds of the run; none where the thread does not reach it.
fn seen_before(
    run: &Trace,
    wanted: &[WantedVisit],
    locations: &FxHashSet<u64>,
) -> Vec<Option<Vec<u32>>> {
    // For each kind, the wanted visits that it belongs to.
    let of_kind: Vec<Option<Vec<usize>>> = run
        .kinds
        .iter()
        .map(|kind| {
            let is = |one: &WantedVisit| {
                (one.thread, one.line, one.location)
                    == (kind.thread, (kind.line, kind.access), kind.location)
            };
            let here = wanted.iter().enumerate().filter(|(_, one)| is(one));
            locations
                .contains(&kind.location)
                .then(|| here.map(|(at, _)| at).collect())
        })
        .collect();
    let mut written: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    let mut visits = vec![0; wanted.len()];
    let mut seen: Vec<Option<Vec<u32>>> = wanted.iter().map(|_| None).collect();
    for &event in &run.events {
        let known = of_kind.get(event as usize).and_then(Option::as_ref);
        let (Some(here), Some(kind)) = (known, run.kinds.get(event as usize)) else {
            continue;
        };
        let before = written.entry(kind.location).or_default();
        for &at in here {
            let slots = (visits.get_mut(at), wanted.get(at), seen.get_mut(at));
            if let (Some(visits), Some(wanted), Some(seen)) = slots {
                *visits += 1;
                if *visits <= wanted.number {
                    *seen = Some(before.clone());
                }
            }
        }
        if kind.access != AccessClass::Read && !before.contains(&event) {
            before.push(event);
        }
    }
    seen
}
