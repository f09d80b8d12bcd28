//! Instances of an abstract pattern in a macro trace in which every macro has a dependency with another one
//! (Definition 4, and condition 2 of Section 4).
//!
//! The search follows the dependencies instead of trying all places.

use super::graph::{MacroEdge, MacroGraph};
use rustc_hash::FxHashMap;
use std::{mem, ops::Range};

/// Calls back with the places of each instance, some more than once, until `found` returns `false`. Returns
/// `false` then, or when there are more than `most` instances, of which the first were reported.
pub fn instances(
    graph: &MacroGraph,
    pattern: &[u32],
    most: usize,
    mut found: impl FnMut(&[u32]) -> bool,
) -> bool {
    InstanceSearch::new(graph, pattern, most, false, &mut found).cover()
}

/// A pair beside which independent ones come: which elements these have, and the kind of its own edge.
type PairBeside = ((usize, usize), u32);

/// Like [`instances`], but of several that have the same macros and the same dependencies only some are
/// reported. Where two pairs depend on nothing in each other, there are as many instances as the product of
/// theirs (in a loop: the square of its rounds), of which one of each kind is enough.
pub fn distinct_instances(
    graph: &MacroGraph,
    pattern: &[u32],
    most: usize,
    mut found: impl FnMut(&[u32]) -> bool,
) -> bool {
    InstanceSearch::new(graph, pattern, most, true, &mut found).cover()
}

struct InstanceSearch<'a, F> {
    graph: &'a MacroGraph,
    pattern: &'a [u32],
    left: usize,
    /// Once is enough for equal macros and dependencies.
    once: bool,
    /// The kinds of edges that were not reported beside a pair yet.
    unreported: FxHashMap<PairBeside, Vec<u32>>,
    /// Kind of the edge along which the elements were placed, if there are two.
    kind: u32,
    /// Places of the elements that have one.
    places: Vec<Option<u32>>,
    complete: Vec<u32>,
    found: &'a mut F,
}

impl<'a, F: FnMut(&[u32]) -> bool> InstanceSearch<'a, F> {
    fn new(
        graph: &'a MacroGraph,
        pattern: &'a [u32],
        most: usize,
        once: bool,
        found: &'a mut F,
    ) -> Self {
        InstanceSearch {
            graph,
            pattern,
            left: most,
            once,
            unreported: FxHashMap::default(),
            kind: 0,
            places: vec![None; pattern.len()],
            complete: Vec::with_capacity(pattern.len()),
            found,
        }
    }

    /// Places the first element without a place, along a dependency; `false` when the limit is reached.
    fn cover(&mut self) -> bool {
        let Some(first) = self.places.iter().position(Option::is_none) else {
            return self.report();
        };
        for other in 0..self.pattern.len() {
            let go_on = match self.places.get(other).copied().flatten() {
                _ if other == first => true,
                Some(place) => self.beside(first, place),
                None if self.is_last_pair() => self.last_pair(first, other),
                None => self.together(first, other),
            };
            if !go_on {
                return false;
            }
        }
        true
    }

    fn report(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.complete.clear();
        self.complete.extend(self.places.iter().flatten());
        (self.found)(&self.complete)
    }

    /// Places the element beside one that has a place.
    fn beside(&mut self, element: usize, place: u32) -> bool {
        // A macro has few neighbours: looking for those within the room takes longer than passing over the others.
        let graph = self.graph;
        let wanted = self.pattern.get(element).copied();
        let room = self.room(element);
        for &(other, _) in graph.around(place) {
            let is_it = graph.abstracts.get(other as usize).copied() == wanted;
            if is_it && room.contains(&other) && !self.with(element, other) {
                return false;
            }
        }
        true
    }

    /// Places the element together with a later one that has no place yet either.
    fn together(&mut self, element: usize, other: usize) -> bool {
        let graph = self.graph;
        let (Some(&from), Some(&to)) = (self.pattern.get(element), self.pattern.get(other)) else {
            return true;
        };
        let (room, of_other) = (self.room(element), self.room(other));
        for edge in within(graph.edges(from, to), &room, |edge| edge.from) {
            if !of_other.contains(&edge.to) {
                continue;
            }
            self.kind = edge.kind;
            self.set(element, Some(edge.from));
            let go_on = self.with(other, edge.to);
            self.set(element, None);
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Returns whether two of four elements have a place, and once is enough.
    fn is_last_pair(&self) -> bool {
        self.once && self.places.len() == 4 && self.places.iter().flatten().count() == 2
    }

    /// Places the last two elements: along a dependency of the later one on what has a place, or apart from it.
    fn last_pair(&mut self, element: usize, other: usize) -> bool {
        for at in 0..self.places.len() {
            let place = self.places.get(at).copied().flatten();
            if place.is_some_and(|place| !self.beside(other, place)) {
                return false;
            }
        }
        self.apart(element, other)
    }

    /// Places the last two elements where neither has a dependency with what has a place: once for all pairs
    /// that are alike.
    fn apart(&mut self, element: usize, other: usize) -> bool {
        let graph = self.graph;
        let (Some(&from), Some(&to)) = (self.pattern.get(element), self.pattern.get(other)) else {
            return true;
        };
        let pair = ((element, other), self.kind);
        let unreported = self.unreported.entry(pair);
        let mut kinds =
            mem::take(unreported.or_insert_with(|| graph.alike.kinds(from, to).collect()));
        let (room, of_other) = (self.room(element), self.room(other));
        let mut go_on = true;
        kinds.retain(|kind| {
            let edges = within(graph.alike.edges(*kind), &room, |edge| edge.from);
            let fits = |edge: &&MacroEdge| of_other.contains(&edge.to) && self.is_apart(edge);
            let edge = edges.iter().find(fits).filter(|_| go_on);
            if let Some(edge) = edge {
                self.set(element, Some(edge.from));
                go_on = self.with(other, edge.to);
                self.set(element, None);
            }
            edge.is_none()
        });
        self.unreported.insert(pair, kinds);
        go_on
    }

    /// Returns whether there is no dependency between an edge's places and those of the elements that have one.
    fn is_apart(&self, edge: &MacroEdge) -> bool {
        let depends = |one: u32, other: u32| self.graph.label(one, other).is_some();
        let mut placed = self.places.iter().flatten();
        !placed.any(|one| depends(*one, edge.from) || depends(*one, edge.to))
    }

    fn with(&mut self, element: usize, place: u32) -> bool {
        self.set(element, Some(place));
        let go_on = self.cover();
        self.set(element, None);
        go_on
    }

    fn set(&mut self, element: usize, place: Option<u32>) {
        if let Some(slot) = self.places.get_mut(element) {
            *slot = place;
        }
    }

    /// The places between those of the elements before and after.
    fn room(&self, element: usize) -> Range<u32> {
        let (before, behind) = self.places.split_at_checked(element).unwrap_or_default();
        let last = before.iter().flatten().max();
        let next = behind.iter().flatten().min().copied();
        last.map_or(0, |last| last.saturating_add(1))..next.unwrap_or(u32::MAX)
    }
}

/// The part of a list, sorted by place, that lies in a room.
fn within<'l, T>(list: &'l [T], room: &Range<u32>, place: impl Fn(&T) -> u32) -> &'l [T] {
    let start = list.partition_point(|one| place(one) < room.start);
    let end = list.partition_point(|one| place(one) < room.end);
    list.get(start..end).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Found = BTreeSet<(Vec<u32>, Vec<u32>)>;

    /// The macros and the labels between them of what a search reports.
    fn found(graph: &MacroGraph, search: impl Fn(&mut dyn FnMut(&[u32]) -> bool) -> bool) -> Found {
        let mut found = Found::new();
        search(&mut |places| {
            let macros = places.iter().map(|at| graph.macros[*at as usize]).collect();
            let pairs = places
                .iter()
                .flat_map(|a| places.iter().map(move |b| (a, b)));
            let labels = pairs
                .filter(|(a, b)| a < b)
                .filter_map(|(a, b)| graph.label(*a, *b));
            let mut labels: Vec<u32> = labels.collect();
            labels.sort_unstable();
            found.insert((macros, labels));
            true
        });
        found
    }

    proptest! {
        /// Two kinds of macros for each of two abstract events, and edges of two labels.
        #[test]
        fn nothing_is_missing_where_once_is_enough(
            macros in proptest::collection::vec(0u32..4, 4..14),
            edges in proptest::collection::btree_map((0u32..14, 1u32..6), 0u32..2, 0..24),
            pattern in proptest::collection::vec(0u32..2, 2..6),
        ) {
            let abstracts: Vec<u32> = macros.iter().map(|one| one / 2).collect();
            let edges = edges.iter().map(|(&(from, by), &label)| {
                MacroEdge { from, to: from + by, label, kind: 0 }
            });
            let edges = edges.filter(|edge| (edge.to as usize) < macros.len()).collect();
            let graph = MacroGraph::of_edges(macros, abstracts, edges);
            let each = found(&graph, |all| instances(&graph, &pattern, usize::MAX, all));
            let distinct = found(&graph, |all| distinct_instances(&graph, &pattern, usize::MAX, all));
            prop_assert_eq!(each, distinct);
        }
    }

    #[test]
    fn independent_pairs_of_a_loop_are_reported_once() {
        let rounds = 50;
        let macros = [0, 1].repeat(rounds);
        let edge = |round: usize| MacroEdge {
            from: 2 * round as u32,
            to: 2 * round as u32 + 1,
            label: 0,
            kind: 0,
        };
        let graph = MacroGraph::of_edges(macros.clone(), macros, (0..rounds).map(edge).collect());
        let mut reported = 0;
        let count = |_: &[u32]| {
            reported += 1;
            true
        };
        distinct_instances(&graph, &[0, 1, 0, 1], usize::MAX, count);
        assert_eq!(reported, 1);
    }
}
