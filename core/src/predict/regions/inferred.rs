//! Regions inferred from correct runs: two consecutive accesses of one location in one call of a function,
//! which no relevant foreign access ever separated.

use super::{AtomicRegion, calls::CallsInProgress};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, Run, SiteId, ThreadId};

/// Number of observations from which on a pair counts.
const ENOUGH: u32 = 3;

/// File, function and two lines in it.
type LinePair = (String, String, u32, u32);

/// Evidence of runs about a pair of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct PairEvidence {
    seen: u32,
    interrupted: u32,
}

/// Regions learned from runs. They refer to lines, not ids, so they hold for every run of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inferred {
    pairs: BTreeMap<LinePair, PairEvidence>,
}

impl Inferred {
    /// Learns from these runs, which should be correct.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Inferred {
        let mut inferred = Inferred::default();
        for run in runs {
            inferred.learn(run);
        }
        inferred
    }

    /// Learns from one more correct run; one pass over its events.
    pub fn learn(&mut self, run: &Run) {
        let mut found: FxHashMap<(u32, u32), PairEvidence> = FxHashMap::default();
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

    /// Returns whether nothing was learned.
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

    /// Stretches of a run between the two lines of a pair that counts.
    pub(super) fn stretches(&self, run: &Run) -> Vec<AtomicRegion> {
        let mut known: FxHashMap<(u32, u32), bool> = FxHashMap::default();
        let mut stretches = Vec::new();
        each_pair(run, |stretch, sites, _| {
            let atomic = known.entry(sites).or_insert_with(|| {
                let evidence = lines(run, sites).and_then(|lines| self.pairs.get(&lines));
                evidence.is_some_and(PairEvidence::is_atomic)
            });
            if *atomic {
                stretches.push(stretch);
            }
        });
        stretches
    }
}

impl PairEvidence {
    fn is_atomic(&self) -> bool {
        self.seen >= ENOUGH && self.interrupted == 0
    }
}

fn lines(run: &Run, (first, second): (u32, u32)) -> Option<LinePair> {
    let (a, b) = (run.meta.site(SiteId(first)), run.meta.site(SiteId(second)));
    (a.line != 0 && b.line != 0).then(|| (a.file.clone(), a.function.clone(), a.line, b.line))
}

/// The latest access of a location by a thread.
struct Newest {
    thread: u16,
    row: u32,
    site: u32,
    call: u32,
    writes: bool,
    /// Accesses of other threads since.
    read: bool,
    written: bool,
}

/// Calls back for consecutive accesses of one location in one call: the stretch, the sites, and whether an
/// access without an equivalent serial order came between.
fn each_pair(run: &Run, mut f: impl FnMut(AtomicRegion, (u32, u32), bool)) {
    let mut calls = CallsInProgress::new(run);
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
            let stretch = AtomicRegion {
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
