//! The paper's first option (Section 4.1): macro patterns and their dependencies counted in the original
//! traces.
//!
//! A trace has a macro pattern when the concatenated events of its macros are a subsequence of it. All traces
//! are walked down together, macro by macro, each at the end of the earliest occurrence so far; the end of a
//! macro that begins after a position is cached for each place of its first event. The last macro is tried
//! only when it can give a dependency to each macro that has none yet.

use super::{
    graph::EventDependency, mapping::MappedPattern, prepared::MiningSteps, sequences::by_item,
};
use crate::{Budget, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

/// Positions of each item in a sequence.
#[derive(Debug)]
pub struct ItemPositions {
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl ItemPositions {
    /// Indexes a sequence of items below `kinds`.
    pub fn new(items: &[u32], kinds: usize) -> ItemPositions {
        let (starts, positions) = by_item(items, kinds);
        ItemPositions { starts, positions }
    }

    /// First position of the item at or after `from`.
    pub fn next(&self, item: u32, from: u32) -> Option<u32> {
        let at = |item: usize| self.starts.get(item).map_or(0, |&start| start as usize);
        let of_item = self
            .positions
            .get(at(item as usize)..at(item as usize + 1))?;
        let before = of_item.partition_point(|&position| position < from);
        of_item.get(before).copied()
    }

    /// Position after the earliest occurrence of a subsequence that begins at or after `from`.
    pub fn behind(&self, items: &[u32], from: u32) -> Option<u32> {
        let step = |at: u32, item: &u32| Some(self.next(*item, at)? + 1);
        items.iter().try_fold(from, step)
    }
}

/// The traces that have a macro pattern, each with the position after its occurrence.
type Occurring = Vec<(u32, u32)>;

/// Lookup tables of the mapping to original traces.
#[derive(Debug)]
pub struct Originals {
    indices: Vec<ItemPositions>,
    /// For each abstract event: its macros.
    of_class: Vec<Vec<u32>>,
    /// For each event: the macros that contain it, ascending.
    holders: Vec<Vec<u32>>,
    /// For each event: the dependencies with it as head.
    from_head: Vec<Vec<(u32, EventDependency)>>,
    /// For each failing trace: its dependencies.
    of_traces: Vec<FxHashSet<u32>>,
    /// Position after a macro, by trace, macro and place of the macro's first event.
    ends: FxHashMap<(u32, u32, u32), Option<u32>>,
    /// Dependencies between the events of two macros.
    between: FxHashMap<(u32, u32), Vec<u32>>,
}

impl Originals {
    /// Indexes all traces, in time linear in their length; memory is that of the traces, plus four bytes for
    /// each trace and distinct event.
    pub fn new(prepared: &MiningSteps) -> Originals {
        let kinds = prepared.set.items.len();
        let traces = prepared.set.traces.iter();
        let mut originals = Originals {
            indices: traces
                .map(|t| ItemPositions::new(&t.events, kinds))
                .collect(),
            of_class: vec![Vec::new(); prepared.abstraction.count],
            holders: vec![Vec::new(); kinds],
            from_head: vec![Vec::new(); kinds],
            of_traces: Vec::new(),
            ends: FxHashMap::default(),
            between: FxHashMap::default(),
        };
        for (id, events) in (0..).zip(&prepared.macros.events) {
            put(&mut originals.of_class, prepared.abstraction.of(id), id);
            let events: FxHashSet<u32> = events.iter().copied().collect();
            events
                .into_iter()
                .for_each(|event| put(&mut originals.holders, event, id));
        }
        originals.depend(prepared);
        originals
    }

    fn depend(&mut self, prepared: &MiningSteps) {
        let labels = &prepared.labels;
        let mut known = FxHashSet::default();
        for (graph, runs) in prepared.graphs.iter().zip(&prepared.set.traces) {
            let mut of_trace = FxHashSet::default();
            if !runs.failing.is_empty() {
                let sets = graph.labels().filter_map(|label| labels.sets.get(label));
                of_trace.extend(sets.flatten().copied());
            }
            for id in &of_trace {
                if let Some(dependency) = labels.dependencies.get(*id)
                    && known.insert(*id)
                {
                    put(&mut self.from_head, dependency.head, (*id, *dependency));
                }
            }
            self.of_traces.push(of_trace);
        }
    }

    /// Steps 4 to 6: the macro patterns of an abstract pattern that failing traces have, each macro of which
    /// has a dependency with another one; with the numbers of failing and passing runs.
    pub fn map(
        &mut self,
        prepared: &mut MiningSteps,
        pattern: &[u32],
        budget: &Budget,
    ) -> Result<Vec<MappedPattern>, StopReason> {
        let all: Occurring = (0..self.indices.len() as u32).map(|t| (t, 0)).collect();
        let mut found = Vec::new();
        let mut chosen = Vec::new();
        self.concretize(prepared, pattern, &mut chosen, &all, budget, &mut found)?;
        let candidates = found.into_iter().map(|(macros, dependencies, with)| {
            let runs = |(trace, _): &(u32, u32)| prepared.set.traces.get(*trace as usize);
            let runs: Vec<_> = with.iter().filter_map(runs).collect();
            MappedPattern {
                macros,
                dependencies: prepared.labels.sets.id(dependencies),
                failing: runs.iter().map(|runs| runs.failing.len() as u32).sum(),
                passing: runs.iter().map(|runs| runs.passing).sum(),
            }
        });
        Ok(candidates.collect())
    }

    fn concretize(
        &mut self,
        prepared: &MiningSteps,
        pattern: &[u32],
        chosen: &mut Vec<u32>,
        with: &Occurring,
        budget: &Budget,
        found: &mut Vec<(Vec<u32>, Vec<u32>, Occurring)>,
    ) -> Result<(), StopReason> {
        if let Some(reason) = budget.stop() {
            return Err(reason);
        }
        let Some((&class, rest)) = pattern.split_first() else {
            if let Some(dependencies) = self.dependencies_within(prepared, chosen, with) {
                found.push((chosen.clone(), dependencies, with.clone()));
            }
            return Ok(());
        };
        let of_class = self.of_class.get(class as usize).cloned();
        for id in of_class.unwrap_or_default() {
            if rest.is_empty() && !self.can_be_last(prepared, chosen, id) {
                continue;
            }
            let further: Occurring = with
                .iter()
                .filter_map(|&(trace, from)| Some((trace, self.behind(prepared, trace, from, id)?)))
                .collect();
            let fails = |(trace, _): &(u32, u32)| {
                let runs = prepared.set.traces.get(*trace as usize);
                runs.is_some_and(|runs| !runs.failing.is_empty())
            };
            if further.iter().any(fails) {
                chosen.push(id);
                self.concretize(prepared, rest, chosen, &further, budget, found)?;
                chosen.pop();
            }
        }
        Ok(())
    }

    /// Position after the first occurrence of a macro's events from a position on.
    fn behind(&mut self, prepared: &MiningSteps, trace: u32, from: u32, id: u32) -> Option<u32> {
        let events = prepared.macros.events.get(id as usize)?;
        let index = self.indices.get(trace as usize)?;
        let first = index.next(*events.first()?, from)?;
        let end = self.ends.entry((trace, id, first));
        *end.or_insert_with(|| index.behind(events, first))
    }

    /// Returns whether a macro can give a dependency to each chosen macro that has none, and to itself.
    fn can_be_last(&mut self, prepared: &MiningSteps, chosen: &[u32], id: u32) -> bool {
        let mut depends = false;
        for (at, &one) in chosen.iter().enumerate() {
            let with_last = !self.between(prepared, one, id).is_empty();
            depends |= with_last;
            let has_other = |other: usize, &with: &u32| {
                let (a, b) = if other < at { (with, one) } else { (one, with) };
                other != at && !self.between(prepared, a, b).is_empty()
            };
            let mut others = chosen.iter().enumerate();
            let mut has_other = has_other;
            if !with_last && !others.any(|(other, with)| has_other(other, with)) {
                return false;
            }
        }
        depends
    }

    /// Dependencies in failing traces between an event of the first macro and one of the second, ascending.
    fn between(&mut self, prepared: &MiningSteps, a: u32, b: u32) -> &[u32] {
        let (from_head, holders) = (&self.from_head, &self.holders);
        self.between.entry((a, b)).or_insert_with(|| {
            let events = prepared.macros.events.get(a as usize).into_iter().flatten();
            let dependencies = events.filter_map(|event| from_head.get(*event as usize));
            let reaches = |(_, dependency): &&(u32, EventDependency)| {
                let holders = holders.get(dependency.tail as usize);
                holders.is_some_and(|holders| holders.binary_search(&b).is_ok())
            };
            let ids = dependencies.flatten().filter(reaches).map(|(id, _)| *id);
            let mut ids: Vec<u32> = ids.collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        })
    }

    /// Step 6: dependencies between an event of an earlier macro and one of a later macro that one of these
    /// traces has; none when a macro is without.
    fn dependencies_within(
        &mut self,
        prepared: &MiningSteps,
        macros: &[u32],
        with: &Occurring,
    ) -> Option<Vec<u32>> {
        let mut covered = vec![false; macros.len()];
        let mut all = Vec::new();
        for (later, &b) in macros.iter().enumerate() {
            for (earlier, &a) in macros.iter().enumerate().take(later) {
                let before = all.len();
                all.extend_from_slice(self.between(prepared, a, b));
                let new = all.split_off(before);
                let has = |id: &u32| {
                    let mut sets = with
                        .iter()
                        .filter_map(|(trace, _)| self.of_traces.get(*trace as usize));
                    sets.any(|set| set.contains(id))
                };
                all.extend(new.into_iter().filter(has));
                if all.len() > before {
                    for (place, covered) in covered.iter_mut().enumerate() {
                        *covered |= place == earlier || place == later;
                    }
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        covered.into_iter().all(|covered| covered).then_some(all)
    }
}

fn put<T>(lists: &mut [Vec<T>], at: u32, thing: T) {
    if let Some(list) = lists.get_mut(at as usize) {
        list.push(thing);
    }
}
