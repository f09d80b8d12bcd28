//! Regions that correct runs suggest: two accesses of one location, one after the other in one call of a
//! function, that no foreign access ever came between which would matter.

use super::{Region, calls::Calls};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, Run, SiteId, ThreadId};

/// How often a pair must have been seen to count.
const ENOUGH: u32 = 3;

/// A file and two of its lines, within one function.
type Lines = (String, String, u32, u32);

/// What runs show of a pair of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Evidence {
    seen: u32,
    interrupted: u32,
}

/// What was learned from runs. It knows lines, not ids, so it holds for every run of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inferred {
    pairs: BTreeMap<Lines, Evidence>,
}

impl Inferred {
    /// What these runs, which should be correct, suggest.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Inferred {
        let mut inferred = Inferred::default();
        for run in runs {
            inferred.learn(run);
        }
        inferred
    }

    /// Looks at one more correct run; one pass over its events.
    pub fn learn(&mut self, run: &Run) {
        let mut found: FxHashMap<(u32, u32), Evidence> = FxHashMap::default();
        each_pair(run, |_, sites, interrupted| {
            let evidence = found.entry(sites).or_default();
            evidence.seen += 1;
            evidence.interrupted += u32::from(interrupted);
        });
        for (sites, evidence) in found {
            if let Some(lines) = lines(run, sites) {
                let known = self.pairs.entry(lines).or_default();
                known.seen += evidence.seen;
                known.interrupted += evidence.interrupted;
            }
        }
    }

    /// Nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs of lines that count: file, function, the two lines; sorted.
    pub fn lines(&self) -> impl Iterator<Item = (&str, &str, u32, u32)> {
        let atomic = self
            .pairs
            .iter()
            .filter(|(_, evidence)| evidence.is_atomic());
        atomic.map(|((file, function, a, b), _)| (file.as_str(), function.as_str(), *a, *b))
    }

    /// Where a run is between two lines of a pair that counts.
    pub(super) fn stretches(&self, run: &Run) -> Vec<Region> {
        let mut known: FxHashMap<(u32, u32), bool> = FxHashMap::default();
        let mut stretches = Vec::new();
        each_pair(run, |stretch, sites, _| {
            let atomic = known.entry(sites).or_insert_with(|| {
                let evidence = lines(run, sites).and_then(|lines| self.pairs.get(&lines));
                evidence.is_some_and(Evidence::is_atomic)
            });
            if *atomic {
                stretches.push(stretch);
            }
        });
        stretches
    }
}

impl Evidence {
    fn is_atomic(&self) -> bool {
        self.seen >= ENOUGH && self.interrupted == 0
    }
}

fn lines(run: &Run, (first, second): (u32, u32)) -> Option<Lines> {
    let (a, b) = (run.meta.site(SiteId(first)), run.meta.site(SiteId(second)));
    (a.line != 0 && b.line != 0).then(|| (a.file.clone(), a.function.clone(), a.line, b.line))
}

/// The newest access of a location by a thread.
struct Newest {
    thread: u16,
    row: u32,
    site: u32,
    call: u32,
    writes: bool,
    /// What others did since.
    read: bool,
    written: bool,
}

/// Calls back for accesses of one location that follow each other in one call: stretch, sites, and whether
/// something came between that no serial order explains.
fn each_pair(run: &Run, mut f: impl FnMut(Region, (u32, u32), bool)) {
    let mut calls = Calls::new(run);
    let mut newest: FxHashMap<u32, Vec<Newest>> = FxHashMap::default();
    let events = &run.events;
    let columns = events
        .threads()
        .iter()
        .zip(events.kinds())
        .zip(events.locations());
    let columns = columns.zip(events.sites().iter().zip(events.stacks()));
    for (row, (((&thread, &kind), &location), (&site, &stack))) in (0..).zip(columns) {
        let call = calls.of(thread, site, stack);
        let kind = EventKind::from_u8(kind).filter(|kind| kind.is_access() && location != 0);
        let Some(kind) = kind else {
            continue;
        };
        let by_thread = newest.entry(location).or_default();
        let mine = by_thread.iter().position(|newest| newest.thread == thread);
        if let Some(before) = mine
            .map(|at| by_thread.swap_remove(at))
            .filter(|n| n.call == call)
        {
            let stretch = Region {
                thread: ThreadId(thread),
                first: EventId(before.row),
                last: EventId(row),
            };
            let lost = before.read && before.writes && kind.writes();
            f(stretch, (before.site, site), before.written || lost);
        }
        for other in by_thread.iter_mut() {
            other.read |= kind.reads();
            other.written |= kind.writes();
        }
        by_thread.push(Newest {
            thread,
            row,
            site,
            call,
            writes: kind.writes(),
            read: false,
            written: false,
        });
    }
}
