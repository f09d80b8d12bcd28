//! Instances of an abstract pattern in a macro trace in which every macro has a dependency with another one
//! (Definition 4, and condition 2 of Section 4).
//!
//! The search follows the dependencies instead of trying all places.

use super::graph::MacroGraph;
use std::ops::Range;

/// Calls back with the places of each instance, some more than once, until `found` returns `false`. Returns
/// `false` then, or when there are more than `most` instances, of which the first were reported.
pub fn instances(
    graph: &MacroGraph,
    pattern: &[u32],
    most: usize,
    mut found: impl FnMut(&[u32]) -> bool,
) -> bool {
    let mut search = InstanceSearch {
        graph,
        pattern,
        left: most,
        places: vec![None; pattern.len()],
        complete: Vec::with_capacity(pattern.len()),
        found: &mut found,
    };
    search.cover()
}

struct InstanceSearch<'a, F> {
    graph: &'a MacroGraph,
    pattern: &'a [u32],
    left: usize,
    /// Places of the elements that have one.
    places: Vec<Option<u32>>,
    complete: Vec<u32>,
    found: &'a mut F,
}

impl<F: FnMut(&[u32]) -> bool> InstanceSearch<'_, F> {
    /// Places the first element without a place, along a dependency; `false` when the limit is reached.
    fn cover(&mut self) -> bool {
        let Some(first) = self.places.iter().position(Option::is_none) else {
            return self.report();
        };
        for other in 0..self.pattern.len() {
            let go_on = match self.places.get(other).copied().flatten() {
                _ if other == first => true,
                Some(place) => self.beside(first, place),
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
        let graph = self.graph;
        let wanted = self.pattern.get(element).copied();
        let room = self.room(element);
        let around = graph.around(place);
        for &(other, _) in within(around, &room, |(other, _)| *other) {
            let is = graph.abstracts.get(other as usize).copied();
            if is == wanted && !self.with(element, other) {
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
            self.set(element, Some(edge.from));
            let go_on = self.with(other, edge.to);
            self.set(element, None);
            if !go_on {
                return false;
            }
        }
        true
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
