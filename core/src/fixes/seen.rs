//! What all runs of a corpus show of the locations that an explanation is about: from where they are accessed while
//! another thread could, and with which locks held.

use super::{lock_calls, mutexes::lock_name};
use crate::{
    budget::Budget,
    callers::call_sites,
    facts::family,
    orders::{Locks, other_thread},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unsnarl_trace::{Event, EventId, EventKind, Outcome, Run};

/// Events of all runs together that are looked at: beyond that fewer runs are.
const MOST_EVENTS: usize = 4_000_000;

/// A line of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct At {
    pub file: String,
    pub function: String,
    pub line: u32,
}

/// An access as it is told apart from others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Access {
    /// Where, innermost first, with the calls that led there.
    pub frames: Vec<At>,
    pub writes: bool,
    pub location: String,
    /// Names of the locks that were held.
    pub held: Vec<String>,
}

/// What the runs show.
#[derive(Default, Debug)]
pub(super) struct Seen {
    /// Each with how often.
    pub accesses: BTreeMap<Access, u64>,
    /// Lines on which calls return with locks held: names by file and line.
    pub taken: BTreeMap<(String, u32), BTreeSet<String>>,
    /// Runs that were looked at, of how many.
    pub runs: (usize, usize),
}

impl Seen {
    /// What the runs show of locks alone.
    pub fn of_locks(runs: &[(String, Arc<Run>)]) -> Seen {
        let mut seen = Seen::default();
        for (_, run) in runs {
            lock_calls::taken(run, &|row| lock_name(run, row), &mut seen.taken);
        }
        seen
    }
}

/// Looks at the runs for accesses to these families of locations: at the failing ones first, they have what matters.
pub(super) fn look(
    runs: &[(String, Arc<Run>)],
    families: &BTreeSet<String>,
    budget: &Budget,
) -> Seen {
    let (mut seen, mut events) = (Seen::default(), 0);
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

fn add(run: &Run, families: &BTreeSet<String>, seen: &mut Seen) {
    let locks = Locks::new(run, &mut Vec::new());
    lock_calls::taken(run, &|row| lock_name(run, row), &mut seen.taken);
    for (row, event) in shared(run, families) {
        let mut held: Vec<String> = locks
            .held_at(event.thread, row)
            .map(|section| lock_name(run, section.acquired))
            .collect();
        held.sort();
        held.dedup();
        let access = Access {
            frames: frames(run, row),
            writes: event.kind.writes(),
            location: run.location(event.location).to_owned(),
            held,
        };
        *seen.accesses.entry(access).or_default() += 1;
    }
}

/// The runs that are looked at within bounds: the failing ones first, they have what matters.
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

/// Accesses to these families of locations, and blocks of them that are freed, while another thread that uses them is
/// there.
pub(super) fn shared(run: &Run, families: &BTreeSet<String>) -> Vec<(EventId, Event)> {
    let lives = Lives::of(run);
    let wanted: BTreeSet<u32> = (0..run.locations.len() as u32)
        .filter(|&id| {
            run.locations
                .get(id as usize)
                .is_some_and(|name| families.contains(&family(name)))
        })
        .collect();
    let rows = run.events.iter().filter(|(_, event)| {
        (event.kind.is_access() || event.kind == EventKind::Free)
            && wanted.contains(&event.location.0)
    });
    let rows: Vec<(EventId, Event)> = rows.collect();
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

/// Where a row is and from where that was called, innermost first.
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

/// From when to when threads are there.
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
        for (row, event) in run.events.iter() {
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

    /// Can this thread be doing something at the row? `main` always can.
    fn alive(&self, thread: u16, row: EventId) -> bool {
        let begun = self.begin.get(&thread).is_none_or(|&begin| begin < row.0);
        begun && self.end.get(&thread).is_none_or(|&end| row.0 < end)
    }
}
