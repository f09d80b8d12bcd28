//! Races: for each access an earlier one of another thread that is not in the closure of both accesses'
//! predecessors (the POPL paper's incremental algorithm).
//!
//! Closures only grow along both threads. So an earlier access that was in one closure never races with a
//! later access of the same thread: each thread passes once through each list of accesses.

use super::SyncPreserving;
use crate::{
    budget::{Budget, EngineOutcome, StopReason},
    orders::Accesses,
    predict::{AnomalyCandidate, Class},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_order::VectorClock;
use unsnarl_trace::{Event, EventId, EventKind, LocationId, SiteId};

/// Number of accesses between two polls of the budget.
const LOOK: usize = 256;

/// One candidate for each two places in the program.
pub(super) fn candidates(
    these: &SyncPreserving<'_>,
    budget: &Budget,
) -> EngineOutcome<AnomalyCandidate> {
    let mut known: FxHashSet<[u32; 3]> = FxHashSet::default();
    let mut findings = Vec::new();
    let stopped = search(these, budget, |search, row, second| {
        for list in search.against(second) {
            let key = places(second, search.site(list));
            if known.contains(&key) {
                continue;
            }
            if let Some(first) = search.race(list, row) {
                known.insert(key);
                findings.push(candidate(these, first, row, second));
            }
        }
    });
    EngineOutcome { findings, stopped }
}

/// The accesses that race with an earlier one.
pub(super) fn racy(these: &SyncPreserving<'_>, budget: &Budget) -> EngineOutcome<EventId> {
    let mut findings = Vec::new();
    let stopped = search(these, budget, |search, row, second| {
        let mut lists = search.against(second).into_iter();
        if lists.any(|list| search.race(list, row).is_some()) {
            findings.push(row);
        }
    });
    EngineOutcome { findings, stopped }
}

/// Two places in a canonical order; with the location where a place is not known.
fn places(second: &Event, first: SiteId) -> [u32; 3] {
    let (a, b) = (first.min(second.site), first.max(second.site));
    let location = if a == SiteId(0) { second.location.0 } else { 0 };
    [a.0, b.0, location]
}

fn candidate(
    these: &SyncPreserving<'_>,
    first: EventId,
    row: EventId,
    second: &Event,
) -> AnomalyCandidate {
    let letter = |kind: EventKind| if kind.writes() { "w" } else { "r" };
    let first_letter = letter(these.run.events.kind(first));
    AnomalyCandidate {
        class: Class::Race,
        pattern: format!("{first_letter}-{}", letter(second.kind)),
        events: vec![first, row],
    }
}

/// Calls back for each access of a shared location, then adds it to its list.
fn search(
    these: &SyncPreserving<'_>,
    budget: &Budget,
    mut visit: impl FnMut(&mut RaceSearch<'_, '_>, EventId, &Event),
) -> StopReason {
    let mut search = RaceSearch {
        these,
        of_location: FxHashMap::default(),
        lists: Vec::new(),
        walks: FxHashMap::default(),
    };
    let accesses = Accesses::new(these.run);
    let rows = these.run.events.iter();
    let shared =
        rows.filter(|(_, event)| event.kind.is_access() && accesses.is_shared(event.location));
    for (count, (row, event)) in shared.enumerate() {
        if count % LOOK == 0
            && let Some(reason) = budget.stop()
        {
            return reason;
        }
        visit(&mut search, row, &event);
        search.add(row, &event);
    }
    StopReason::Complete
}

/// Accesses that are equivalent for others: one location, thread, kind and place.
struct List {
    thread: u16,
    kind: EventKind,
    site: SiteId,
    /// Step and row, rising.
    accesses: Vec<(u32, EventId)>,
}

/// Position of a thread in a list.
struct ListWalk {
    at: usize,
    /// The closure so far.
    ideal: VectorClock,
}

struct RaceSearch<'a, 'r> {
    these: &'a SyncPreserving<'r>,
    of_location: FxHashMap<LocationId, Vec<u32>>,
    lists: Vec<List>,
    walks: FxHashMap<(u32, u16), ListWalk>,
}

impl RaceSearch<'_, '_> {
    /// The lists of accesses that conflict with this one.
    fn against(&self, event: &Event) -> Vec<u32> {
        let lists = self.of_location.get(&event.location);
        let conflicts = |list: &&u32| {
            self.lists.get(**list as usize).is_some_and(|list| {
                list.thread != event.thread.0
                    && (list.kind.writes() || event.kind.writes())
                    && !(list.kind.is_atomic() && event.kind.is_atomic())
            })
        };
        lists
            .into_iter()
            .flatten()
            .filter(conflicts)
            .copied()
            .collect()
    }

    fn site(&self, list: u32) -> SiteId {
        self.lists
            .get(list as usize)
            .map_or(SiteId(0), |list| list.site)
    }

    /// The first access of the list that races with the row, if one does.
    fn race(&mut self, list: u32, row: EventId) -> Option<EventId> {
        let SyncPreserving {
            clocks, sections, ..
        } = self.these;
        let (t, step) = clocks.step_of(row)?;
        let walk = self.walks.entry((list, t)).or_insert_with(|| ListWalk {
            at: 0,
            ideal: clocks.bottom(),
        });
        let list = self.lists.get(list as usize)?;
        let mut reached = clocks.entry_before(t, step, list.thread);
        loop {
            let rest = list.accesses.get(walk.at..)?;
            walk.at += rest.partition_point(|&(step, _)| step < reached);
            let &(first_step, first) = list.accesses.get(walk.at)?;
            let mut ideal = walk.ideal.clone();
            clocks.join_before(&mut ideal, list.thread, first_step);
            clocks.join_before(&mut ideal, t, step);
            if !sections.close(clocks, &walk.ideal, &mut ideal) {
                walk.at = usize::MAX;
                return None;
            }
            walk.ideal = ideal;
            // If locks are released by other threads, the prerequisites can include the row itself.
            if walk.ideal.get(t) > step {
                return None;
            }
            reached = walk.ideal.get(list.thread);
            if reached <= first_step {
                return Some(first);
            }
        }
    }

    fn add(&mut self, row: EventId, event: &Event) {
        let Some((thread, step)) = self.these.clocks.step_of(row) else {
            return;
        };
        let lists = self.of_location.entry(event.location).or_default();
        let is_its = |list: &List| {
            list.thread == thread && list.kind == event.kind && list.site == event.site
        };
        let known = lists
            .iter()
            .copied()
            .find(|&list| self.lists.get(list as usize).is_some_and(is_its));
        let list = known.unwrap_or_else(|| {
            let list = self.lists.len() as u32;
            lists.push(list);
            self.lists.push(List {
                thread,
                kind: event.kind,
                site: event.site,
                accesses: Vec::new(),
            });
            list
        });
        if let Some(list) = self.lists.get_mut(list as usize) {
            list.accesses.push((step, row));
        }
    }
}
