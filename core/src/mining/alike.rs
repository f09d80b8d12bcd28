//! The edges of a graph by kind: equal macros with equal dependencies.

use super::graph::MacroEdge;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Edges by abstract events, then by kind, then by place.
#[derive(Debug, Default)]
pub struct AlikeEdges {
    edges: Vec<MacroEdge>,
    /// The edges of each kind.
    kinds: Vec<Range<usize>>,
    /// The kinds of each pair of abstract events.
    by_pair: FxHashMap<(u32, u32), Range<u32>>,
}

impl AlikeEdges {
    /// Numbers the kinds of edges between places with these macros and abstract events.
    pub fn new(mut edges: Vec<MacroEdge>, macros: &[u32], abstracts: &[u32]) -> AlikeEdges {
        let at = |list: &[u32], place: u32| list.get(place as usize).copied().unwrap_or(0);
        let pair = |edge: &MacroEdge| (at(abstracts, edge.from), at(abstracts, edge.to));
        let kind = |edge: &MacroEdge| {
            let macros = (at(macros, edge.from), at(macros, edge.to));
            (pair(edge), macros, edge.label)
        };
        edges.sort_unstable_by_key(|edge| (kind(edge), edge.from, edge.to));
        let mut alike = AlikeEdges::default();
        let mut start = 0;
        for group in edges.chunk_by_mut(|a, b| kind(a) == kind(b)) {
            let Some(first) = group.first() else { continue };
            let number = alike.kinds.len() as u32;
            let of_pair = alike.by_pair.entry(pair(first));
            of_pair.or_insert(number..number).end = number + 1;
            alike.kinds.push(start..start + group.len());
            start += group.len();
            group.iter_mut().for_each(|edge| edge.kind = number);
        }
        alike.edges = edges;
        alike
    }

    /// All of them.
    pub fn all(&self) -> &[MacroEdge] {
        &self.edges
    }

    /// The kinds of edges from one abstract event to another.
    pub fn kinds(&self, from: u32, to: u32) -> Range<u32> {
        self.by_pair.get(&(from, to)).cloned().unwrap_or(0..0)
    }

    /// The edges of a kind, by place.
    pub fn edges(&self, kind: u32) -> &[MacroEdge] {
        let range = self.kinds.get(kind as usize).cloned();
        range.and_then(|range| self.edges.get(range)).unwrap_or(&[])
    }
}
