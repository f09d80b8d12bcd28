//! Writes of passing runs before the visit that corresponds to a read of the failing run.
//!
//! A failing run was cut off there; later events of other runs are not missing in it. So reads are compared
//! visit by visit: the same thread's same visit of the line, or its last one where it makes fewer.

use crate::{
    explain::view::View,
    explanation::Place,
    facts,
    mining::{
        Trace,
        trace::{LineAccess, line_hash},
    },
    pairs::{AccessClass, AccessSite, Fnv},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, ThreadId};

/// Writes of passing runs before one visit.
#[derive(Default)]
pub(super) struct WritesBefore {
    /// Number of runs in which the thread reaches the line.
    pub runs: u32,
    /// Of each thread and line, the number of these runs in which it had written there, and the least number of times.
    by_thread: BTreeMap<(u64, LineAccess), LineWrites>,
    /// Of each line, whoever had written there, the numbers of times, with the number of runs.
    by_anyone: BTreeMap<LineAccess, BTreeMap<u32, u32>>,
}

/// Writes of one thread at one line.
#[derive(Clone, Copy)]
struct LineWrites {
    /// Number of runs that have some.
    runs: u32,
    /// The least number of them in a run that has some.
    least: u32,
}

impl WritesBefore {
    /// Number of runs in which the line had written.
    pub fn written(&self, site: &AccessSite) -> u32 {
        let line = line_hash(&site.place.file, site.place.line);
        let written = self.by_anyone.get(&(line, site.class));
        written.map_or(0, |times| times.values().sum())
    }

    /// Threads and lines that had written in every run, of those whose names a run has, with the least number of times.
    pub fn always(&self, view: &View) -> Vec<(ThreadId, LineAccess, u32)> {
        let threads = (0..view.run.meta.threads.len() as u16).map(ThreadId);
        let names: FxHashMap<u64, ThreadId> = threads
            .map(|thread| (Fnv::of(&facts::thread_name(&view.run, thread)), thread))
            .collect();
        let always = self
            .by_thread
            .iter()
            .filter(|(_, written)| written.runs == self.runs);
        let known = always.filter_map(|((thread, line), written)| {
            Some((*names.get(thread)?, *line, written.least))
        });
        known.collect()
    }

    /// Lines that had written in every run, by whichever thread, with the least number of times.
    pub fn always_by_anyone(&self) -> impl Iterator<Item = (LineAccess, u32)> {
        let always = self
            .by_anyone
            .iter()
            .filter(|(_, times)| times.values().sum::<u32>() == self.runs);
        always.filter_map(|(line, times)| Some((*line, *times.keys().next()?)))
    }

    /// The number of times that a line had written in most of the runs.
    fn usually(&self, line: LineAccess) -> Option<u32> {
        const MOST: u32 = 75;
        let times = self.by_anyone.get(&line)?.iter();
        let (usual, runs) = times.max_by_key(|(_, runs)| **runs)?;
        (*runs * 100 >= self.runs * MOST).then_some(*usual)
    }
}

/// The number of writes at a place before the visit that corresponds to a read, in most of the passing runs, all of which come
/// there; 1 where they differ, and for later visits than the first: who looks again and again may look at any time.
pub(in crate::explain) fn times_before(view: &View, reader: EventId, place: &Place) -> u32 {
    if !view.event(reader).kind.reads() || view.visit(reader).number > 1 {
        return 1;
    }
    let before = before_visits(view, &[reader]);
    let all = view.corpus.counts().passing();
    let line = line_hash(&place.file, place.line);
    let classes = [AccessClass::Write, AccessClass::Update];
    let usual = |before: &WritesBefore| {
        let mut times = classes
            .into_iter()
            .map(|class| before.usually((line, class)));
        times.find_map(|times| times)
    };
    let before = before.first().filter(|before| before.runs == all);
    before.and_then(usual).unwrap_or(1)
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
            let mut by: BTreeMap<(u64, LineAccess), u32> = BTreeMap::new();
            for (kind, times) in writes {
                if let Some(kind) = run.kinds.get(*kind as usize) {
                    let line = (kind.line, kind.access);
                    *by.entry((kind.thread, line)).or_default() += times;
                }
            }
            let mut lines: BTreeMap<LineAccess, u32> = BTreeMap::new();
            for (one, times) in by {
                *lines.entry(one.1).or_default() += times;
                let written = found.by_thread.entry(one);
                let written = written.or_insert(LineWrites {
                    runs: 0,
                    least: times,
                });
                written.runs += 1;
                written.least = written.least.min(times);
            }
            for (line, times) in lines {
                let of_line = found.by_anyone.entry(line).or_default();
                *of_line.entry(times).or_default() += 1;
            }
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

/// For each visit the writes before it, as kinds of the run and their numbers; none where the thread does not reach it.
fn seen_before(
    run: &Trace,
    wanted: &[WantedVisit],
    locations: &FxHashSet<u64>,
) -> Vec<Option<Vec<(u32, u32)>>> {
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
    let mut written: FxHashMap<u64, Vec<(u32, u32)>> = FxHashMap::default();
    let mut visits = vec![0; wanted.len()];
    let mut seen: Vec<Option<Vec<(u32, u32)>>> = wanted.iter().map(|_| None).collect();
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
        if kind.access != AccessClass::Read {
            match before.iter_mut().find(|(known, _)| *known == event) {
                Some((_, times)) => *times += 1,
                None => before.push((event, 1)),
            }
        }
    }
    seen
}
