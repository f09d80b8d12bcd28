//! Accesses of all runs of a corpus to the blamed locations: their call paths while another thread could
//! interfere, and the locks held.

use super::{lock_calls, mutexes::lock_name};
use crate::{
    budget::Budget,
    callers::call_sites,
    facts::family,
    orders::{Locks, other_thread},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unsnarl_trace::{Event, EventId, EventKind, Location, LocationId, Outcome, Run};

/// Bound on the events of all runs together; beyond it fewer runs are examined.
const MOST_EVENTS: usize = 4_000_000;

/// A line of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct At {
    pub file: String,
    pub function: String,
    pub line: u32,
}

/// An access with the attributes that distinguish it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SeenAccess {
    /// Place and calls that led there, innermost first.
    pub frames: Vec<At>,
    pub writes: bool,
    pub location: String,
    /// Names of the locks that were held.
    pub held: Vec<String>,
    /// Families of all locks that were held, those of libraries among them.
    pub guards: BTreeSet<String>,
    /// It is atomic, and races with nothing.
    pub is_atomic: bool,
}

/// Evidence of the runs.
#[derive(Default, Debug)]
pub(super) struct RunEvidence {
    /// Accesses with their counts.
    pub accesses: BTreeMap<SeenAccess, u64>,
    /// Lines on which calls return with locks held: names by file and line.
    pub taken: BTreeMap<(String, u32), BTreeSet<String>>,
    /// Numbers of runs that were examined, and of all runs.
    pub runs: (usize, usize),
}

impl RunEvidence {
    /// Evidence of the runs about locks alone.
    pub fn of_locks(runs: &[(String, Arc<Run>)]) -> RunEvidence {
        let mut seen = RunEvidence::default();
        for (_, run) in runs {
            lock_calls::taken(run, &|row| lock_name(run, row), &mut seen.taken);
        }
        seen
    }
}

/// Collects accesses to these families of locations: from the failing runs first, which have the relevant
/// ones.
pub(super) fn look(
    runs: &[(String, Arc<Run>)],
    families: &BTreeSet<String>,
    budget: &Budget,
) -> RunEvidence {
    let (mut seen, mut events) = (RunEvidence::default(), 0);
    let passed = |run: &Arc<Run>| run.meta.outcome == Outcome::Passed;
    let failing = runs.iter().filter(|(_, run)| !passed(run));
    for (_, run) in failing.chain(runs.iter().filter(|(_, run)| passed(run))) {
        seen.runs.1 += 1;
        events += run.events.len();
        if events <= MOST_EVENTS && budget.stop().is_none() || seen.runs.0 == 0 {
            seen.runs.0 += 1;
            add(run, families, &mut seen);
        }
    }
    seen
}

fn add(run: &Run, families: &BTreeSet<String>, seen: &mut RunEvidence) {
    let locks = Locks::new(run, &mut Vec::new());
    lock_calls::taken(run, &|row| lock_name(run, row), &mut seen.taken);
    for (row, event) in shared(run, families) {
        let mut held: Vec<String> = locks
            .held_at(event.thread, row)
            .map(|section| lock_name(run, section.acquired))
            .collect();
        let guards = held.iter().map(|lock| family(lock)).collect();
        held.retain(|lock| !Location::of(lock).is_of_library());
        held.sort();
        held.dedup();
        let access = SeenAccess {
            frames: frames(run, row),
            writes: event.kind.writes(),
            location: run.location(event.location).to_owned(),
            held,
            guards,
            is_atomic: event.kind.is_atomic(),
        };
        *seen.accesses.entry(access).or_default() += 1;
    }
}

/// The runs within the bound: the failing ones first, which have the relevant accesses.
pub(super) fn within_bounds(runs: &[(String, Arc<Run>)]) -> Vec<&Run> {
    let passed = |run: &Run| run.meta.outcome == Outcome::Passed;
    let failing = runs.iter().filter(|(_, run)| !passed(run));
    let all = failing.chain(runs.iter().filter(|(_, run)| passed(run)));
    let mut events = 0;
    let within = all
        .map(|(_, run)| &**run)
        .enumerate()
        .take_while(|(at, run)| {
            events += run.events.len();
            *at == 0 || events <= MOST_EVENTS
        });
    within.map(|(_, run)| run).collect()
}

/// Accesses to these families of locations, and frees of such blocks, while another thread that uses them
/// exists.
pub(super) fn shared(run: &Run, families: &BTreeSet<String>) -> Vec<(EventId, Event)> {
    let lives = Lives::of(run);
    let named = run.locations.iter_enumerated();
    let wanted: BTreeSet<LocationId> = named
        .filter(|(_, name)| families.contains(&family(name)))
        .map(|(id, _)| id)
        .collect();
    let is_use = |row: EventId| {
        let kind = run.events.kind(row);
        (kind.is_access() || kind == EventKind::Free) && wanted.contains(&run.events.location(row))
    };
    let rows: Vec<(EventId, Event)> = run.events.select(is_use).collect();
    let mut users: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for (_, event) in &rows {
        let own = users.entry(event.location.0).or_default();
        own.insert(event.thread.0);
    }
    let is_shared = |(row, event): &(EventId, Event)| {
        let mut others = users.get(&event.location.0).into_iter().flatten();
        others.any(|&other| other != event.thread.0 && lives.alive(other, *row))
    };
    rows.into_iter().filter(is_shared).collect()
}

/// Place of a row and the places of its calls, innermost first.
pub(super) fn frames(run: &Run, row: EventId) -> Vec<At> {
    let sites = call_sites(run, row).into_iter().rev();
    let known = sites
        .map(|site| run.meta.site(site))
        .filter(|site| site.line != 0);
    known
        .map(|site| At {
            file: site.file.clone(),
            function: site.function.clone(),
            line: site.line,
        })
        .collect()
}

/// Lifetimes of threads.
struct Lives {
    begin: BTreeMap<u16, u32>,
    end: BTreeMap<u16, u32>,
}

impl Lives {
    fn of(run: &Run) -> Lives {
        let mut lives = Lives {
            begin: BTreeMap::new(),
            end: BTreeMap::new(),
        };
        let of_threads = |row| matches!(run.events.kind(row), EventKind::Fork | EventKind::Join);
        for (row, event) in run.events.select(of_threads) {
            let Some(other) = other_thread(event.value) else {
                continue;
            };
            match event.kind {
                EventKind::Fork => lives.begin.insert(other, row.0),
                EventKind::Join => lives.end.insert(other, row.0),
                _ => continue,
            };
        }
        lives
    }

    /// Returns whether this thread can execute anything at the row. `main` always can.
    fn alive(&self, thread: u16, row: EventId) -> bool {
        let begun = self.begin.get(&thread).is_none_or(|&begin| begin < row.0);
        begun && self.end.get(&thread).is_none_or(|&end| row.0 < end)
    }
}
