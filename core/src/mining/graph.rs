//! Data dependencies between the macros of a trace (Section 2.2, lifted in Section 4).
//!
//! A dependency is between events of two threads on one location without a write in between: flow (read after
//! write), anti (write after read), output (write after write). Each access ends at most one dependency of
//! each preceding writer and read, so there are not many more dependencies than accesses.

use super::{alike::AlikeEdges, dataset::DatasetItem};
use crate::{orders::DependencyKind, pairs::AccessClass};
use rustc_hash::FxHashMap;

/// Interning table that gives equal values equal numbers.
#[derive(Debug)]
pub struct Interner<T> {
    ids: FxHashMap<T, u32>,
    list: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner {
            ids: FxHashMap::default(),
            list: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    /// The number of a value.
    pub fn id(&mut self, thing: T) -> u32 {
        let new = self.list.len() as u32;
        *self.ids.entry(thing).or_insert_with_key(|thing| {
            self.list.push(thing.clone());
            new
        })
    }

    /// The value with this number.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.list.get(id as usize)
    }
}

/// A dependency, identified by its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventDependency {
    /// The earlier event: index into [`DataSet::items`](super::DataSet::items).
    pub head: u32,
    /// The later event.
    pub tail: u32,
    /// Kind of the dependency.
    pub kind: DependencyKind,
}

/// Dependencies and sets of them, numbered over all traces.
#[derive(Debug, Default)]
pub struct DependencyLabels {
    /// Single dependencies.
    pub dependencies: Interner<EventDependency>,
    /// Dependencies between two macros: sets of their numbers, ascending.
    pub sets: Interner<Vec<u32>>,
}

/// Dependency of a macro on an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MacroEdge {
    /// Place of the earlier macro in the trace.
    pub from: u32,
    /// Place of the later one.
    pub to: u32,
    /// Set of dependencies: a number of [`Labels::sets`].
    pub label: u32,
    /// Edges of the same trace with the same number have equal macros and labels.
    pub kind: u32,
}

/// A macro trace with its dependencies.
#[derive(Debug, Default)]
pub struct MacroGraph {
    /// Macros in order.
    pub macros: Vec<u32>,
    /// Their abstract events.
    pub abstracts: Vec<u32>,
    /// Edges sorted by abstract events, then by place.
    edges: Vec<MacroEdge>,
    by_pair: FxHashMap<(u32, u32), (u32, u32)>,
    /// The same edges by kind.
    pub alike: AlikeEdges,
    /// For each place: the start of its neighbours.
    starts: Vec<u32>,
    /// Neighbour and label, sorted by the neighbour's place.
    neighbours: Vec<(u32, u32)>,
}

impl MacroGraph {
    /// Builds the graph of the macros `first..first + macros.len()` of a trace of these events; `lengths` are
    /// the lengths of all macros of the trace.
    pub fn new(
        trace: &MacroParts<'_>,
        abstracts: Vec<u32>,
        items: &[DatasetItem],
        labels: &mut DependencyLabels,
    ) -> MacroGraph {
        let mut raw = between_macros(trace, items, labels);
        let edges = labelled(&mut raw, labels);
        MacroGraph::of_edges(trace.macros.to_vec(), abstracts, edges)
    }

    /// The graph with these edges, sorted by place.
    pub(super) fn of_edges(
        macros: Vec<u32>,
        abstracts: Vec<u32>,
        edges: Vec<MacroEdge>,
    ) -> MacroGraph {
        let (starts, neighbours) = around(&edges, macros.len());
        let alike = AlikeEdges::new(edges, &macros, &abstracts);
        let mut graph = MacroGraph {
            macros,
            abstracts,
            edges: alike.all().to_vec(),
            alike,
            starts,
            neighbours,
            by_pair: FxHashMap::default(),
        };
        graph.index();
        graph
    }

    fn index(&mut self) {
        let abstracts = &self.abstracts;
        let of = |place: u32| abstracts.get(place as usize).copied().unwrap_or(0);
        let pair = |edge: &MacroEdge| (of(edge.from), of(edge.to));
        self.edges
            .sort_unstable_by_key(|edge| (pair(edge), edge.from, edge.to));
        let mut start = 0;
        for group in self.edges.chunk_by(|a, b| pair(a) == pair(b)) {
            let end = start + group.len() as u32;
            if let Some(edge) = group.first() {
                self.by_pair.insert(pair(edge), (start, end));
            }
            start = end;
        }
    }

    /// Pairs of abstract events with a dependency somewhere.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.by_pair.keys().copied()
    }

    /// Edges from one abstract event to another, by place.
    pub fn edges(&self, from: u32, to: u32) -> &[MacroEdge] {
        let range = self.by_pair.get(&(from, to));
        range.map_or(&[], |&(start, end)| {
            self.edges.get(start as usize..end as usize).unwrap_or(&[])
        })
    }

    /// Neighbours of a macro, by dependencies in either direction: places and labels.
    pub fn around(&self, place: u32) -> &[(u32, u32)] {
        let at = |i: usize| self.starts.get(i).map_or(0, |&start| start as usize);
        self.neighbours
            .get(at(place as usize)..at(place as usize + 1))
            .unwrap_or(&[])
    }

    /// The label between two places.
    pub fn label(&self, a: u32, b: u32) -> Option<u32> {
        let around = self.around(a);
        let at = around.binary_search_by_key(&b, |(other, _)| *other).ok()?;
        around.get(at).map(|(_, label)| *label)
    }

    /// All dependencies of the trace between kept macros.
    pub fn labels(&self) -> impl Iterator<Item = u32> + '_ {
        self.edges.iter().map(|edge| edge.label)
    }
}

/// A trace split into its macros.
#[derive(Clone, Copy, Debug)]
pub struct MacroParts<'a> {
    /// All events of the trace.
    pub events: &'a [u32],
    /// Number of events before the first kept macro.
    pub skipped: usize,
    /// The kept macros.
    pub macros: &'a [u32],
    /// Events of all macros.
    pub of_macros: &'a [Vec<u32>],
}

/// Accesses to one location so far, as event and place.
#[derive(Clone, Default)]
struct LocationState {
    writer: Option<(u32, u32)>,
    readers: Vec<(u32, u32)>,
}

/// Place of events outside of the kept macros.
const OUTSIDE: u32 = u32::MAX;

/// Dependencies between kept macros: places and number of the dependency.
fn between_macros(
    trace: &MacroParts<'_>,
    items: &[DatasetItem],
    labels: &mut DependencyLabels,
) -> Vec<(u32, u32, u32)> {
    let mut found = Vec::new();
    let mut states: FxHashMap<u32, LocationState> = FxHashMap::default();
    for (&event, place) in trace.events.iter().zip(places(trace)) {
        let Some(item) = items.get(event as usize) else {
            continue;
        };
        let state = states.entry(item.location).or_default();
        let mut note = |(head, from): (u32, u32), kind| {
            let other = items.get(head as usize).map(|head| head.thread);
            if other != Some(item.thread) && from != OUTSIDE && place != OUTSIDE {
                let tail = event;
                let id = labels.dependencies.id(EventDependency { head, tail, kind });
                found.push((from, place, id));
            }
        };
        match (state.writer, item.access) {
            (Some(writer), AccessClass::Write) => note(writer, DependencyKind::Output),
            (Some(writer), _) => note(writer, DependencyKind::Flow),
            (None, _) => {}
        }
        if item.access == AccessClass::Read {
            if state.readers.last() != Some(&(event, place)) {
                state.readers.push((event, place));
            }
        } else {
            state
                .readers
                .drain(..)
                .for_each(|reader| note(reader, DependencyKind::Anti));
            state.writer = Some((event, place));
        }
    }
    found
}

/// For each event: the place of its macro.
fn places<'a>(trace: &MacroParts<'a>) -> impl Iterator<Item = u32> + 'a {
    let of_macros = trace.of_macros;
    let kept = trace
        .macros
        .iter()
        .enumerate()
        .flat_map(move |(place, id)| {
            let length = of_macros.get(*id as usize).map_or(0, Vec::len);
            std::iter::repeat_n(place as u32, length)
        });
    let before = std::iter::repeat_n(OUTSIDE, trace.skipped);
    before.chain(kept).chain(std::iter::repeat(OUTSIDE))
}

fn labelled(raw: &mut Vec<(u32, u32, u32)>, labels: &mut DependencyLabels) -> Vec<MacroEdge> {
    raw.sort_unstable();
    raw.dedup();
    let groups = raw.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    let edge = |group: &[(u32, u32, u32)]| {
        let &(from, to, _) = group.first()?;
        let set = group.iter().map(|(_, _, id)| *id).collect();
        let label = labels.sets.id(set);
        let kind = 0;
        Some(MacroEdge {
            from,
            to,
            label,
            kind,
        })
    };
    groups.filter_map(edge).collect()
}

fn around(edges: &[MacroEdge], places: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
    let both = edges.iter().flat_map(|edge| {
        [
            (edge.from, edge.to, edge.label),
            (edge.to, edge.from, edge.label),
        ]
    });
    let mut both: Vec<(u32, u32, u32)> = both.collect();
    both.sort_unstable();
    let mut starts = vec![0u32; places + 1];
    for (place, _, _) in &both {
        if let Some(count) = starts.get_mut(*place as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let neighbours = both.into_iter().map(|(_, other, label)| (other, label));
    (starts, neighbours.collect())
}
