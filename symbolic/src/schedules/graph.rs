//! Orders as a graph: decides whether an order with these reads-from choices exists, and gives the reason if
//! not.
//!
//! The graph holds the precedence that is common to all such orders. Its clocks (one number per chain and
//! node) answer queries in constant time; [`super::saturate`] adds consequences to the fixed point. Each edge
//! keeps its reason, so that a contradiction is reported as the choices that cause it.

use super::problem::{OrderingProblem, StepsId, SymbolRead};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_order::ClockTable;

/// A choice of the solver: the number of its literal, and its consequence.
#[derive(Clone, Debug)]
pub(super) struct Chosen<'e> {
    pub literal: u32,
    pub what: Consequence<'e>,
}

/// Consequence of a [`Chosen`] literal.
#[derive(Clone, Debug)]
pub(super) enum Consequence<'e> {
    /// The read reads from this node, or the initial value.
    Reads(SymbolRead, Option<StepsId>),
    /// These orders hold.
    Orders(&'e [(StepsId, StepsId)]),
}

/// Reason of an edge.
#[derive(Clone, Debug)]
pub(super) enum EdgeReason {
    /// The edge holds in every order.
    Always,
    /// The goal demands it.
    Asked,
    /// The choice brings it.
    Chosen(u32),
    /// The edge follows from a choice, if any, and from the precedence of two nodes by the edges below this
    /// number.
    Follows(Option<u32>, Option<(StepsId, StepsId)>, u32),
}

#[derive(Clone, Debug)]
struct ReasonedEdge {
    from: StepsId,
    to: StepsId,
    why: EdgeReason,
}

/// Choices that no order satisfies together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Conflict {
    /// Their literals, ascending.
    pub literals: Vec<u32>,
    /// `true` if the conflict also depends on the goal.
    pub asked: bool,
}

/// Precedence graph.
#[derive(Clone, Debug)]
pub(super) struct PrecedenceGraph<'p, 't> {
    pub problem: &'p OrderingProblem<'t>,
    pub chosen: &'p [Chosen<'p>],
    edges: Vec<ReasonedEdge>,
    /// By node: the outgoing edges.
    out: Vec<Vec<u32>>,
    clocks: ClockTable,
}

impl<'p, 't> PrecedenceGraph<'p, 't> {
    /// Saturates these choices and orders, or returns a contradiction. Each round takes time in proportion to
    /// the nodes and edges times the chains; there are few.
    pub fn new(
        problem: &'p OrderingProblem<'t>,
        chosen: &'p [Chosen<'p>],
        asked: &[(StepsId, StepsId)],
    ) -> Result<PrecedenceGraph<'p, 't>, Conflict> {
        let mut graph = PrecedenceGraph {
            problem,
            chosen,
            edges: Vec::new(),
            out: vec![Vec::new(); problem.nodes.len()],
            clocks: ClockTable::default(),
        };
        for &(from, to) in &problem.edges {
            graph.push(from, to, EdgeReason::Always);
        }
        for &(from, to) in asked {
            graph.push(from, to, EdgeReason::Asked);
        }
        for choice in chosen {
            match choice.what {
                Consequence::Reads(_, None) => {}
                Consequence::Reads(read, Some(write)) => {
                    graph.push(write, read.node, EdgeReason::Chosen(choice.literal));
                }
                Consequence::Orders(orders) => {
                    for &(from, to) in orders {
                        graph.push(from, to, EdgeReason::Chosen(choice.literal));
                    }
                }
            }
        }
        graph.tighten()?;
        Ok(graph)
    }

    /// Adds an order.
    pub fn add(&mut self, from: StepsId, to: StepsId) -> Result<(), Conflict> {
        self.push(from, to, EdgeReason::Asked);
        self.tighten()
    }

    fn tighten(&mut self) -> Result<(), Conflict> {
        loop {
            self.tell_time()?;
            let new = super::saturate::what_follows(self)?;
            if new.is_empty() {
                return Ok(());
            }
            for (from, to, why) in new {
                self.push(from, to, why);
            }
        }
    }

    fn push(&mut self, from: StepsId, to: StepsId, why: EdgeReason) {
        let number = self.edges.len() as u32;
        self.edges.push(ReasonedEdge { from, to, why });
        if let Some(out) = self.out.get_mut(from as usize) {
            out.push(number);
        }
    }

    /// Number of edges so far.
    pub fn known(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Number of nodes of a chain that are before a node, or are the node itself.
    pub fn clock(&self, id: StepsId, chain: usize) -> u32 {
        self.clocks.entry(id, chain)
    }

    /// Returns whether a node is before another in every order.
    pub fn is_before(&self, a: StepsId, b: StepsId) -> bool {
        let (chain, at) = self.problem.spot(a);
        a != b && self.clock(b, chain) > at
    }

    /// Direct successors: the next node of the chain, and those along edges.
    pub fn after(&self, id: StepsId) -> impl Iterator<Item = StepsId> {
        let (chain, at) = self.problem.spot(id);
        let next = self.problem.chains.get(chain);
        let next = next.and_then(|chain| chain.get(at as usize + 1)).copied();
        let out = self.out.get(id as usize).map_or(&[][..], |out| out);
        let along = out.iter().filter_map(|&edge| self.edges.get(edge as usize));
        next.into_iter().chain(along.map(|edge| edge.to))
    }

    /// Number of chain links and edges that end at each node.
    pub fn arrivals(&self) -> Vec<u32> {
        let mut arrivals: Vec<u32> = self
            .problem
            .nodes
            .iter()
            .map(|node| u32::from(node.at > 0))
            .collect();
        for edge in &self.edges {
            if let Some(count) = arrivals.get_mut(edge.to as usize) {
                *count += 1;
            }
        }
        arrivals
    }

    /// Sets all clocks, or finds a cycle.
    fn tell_time(&mut self) -> Result<(), Conflict> {
        let mut clocks = ClockTable::new(self.problem.chains.len(), self.problem.nodes.len());
        let mut arrivals = self.arrivals();
        let mut ready: Vec<StepsId> = (0..)
            .zip(&arrivals)
            .filter(|(_, n)| **n == 0)
            .map(|(id, _)| id)
            .collect();
        let mut done = 0;
        while let Some(id) = ready.pop() {
            done += 1;
            let (chain, at) = self.problem.spot(id);
            clocks.set(id, chain, at + 1);
            for next in self.after(id) {
                clocks.join(next, id);
                if let Some(left) = arrivals.get_mut(next as usize) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(next);
                    }
                }
            }
        }
        self.clocks = clocks;
        match done == self.problem.nodes.len() {
            true => Ok(()),
            false => Err(self.circle(&arrivals)),
        }
    }

    /// A cycle among the nodes that still have predecessors.
    fn circle(&self, arrivals: &[u32]) -> Conflict {
        let is_left = |id: StepsId| arrivals.get(id as usize).is_some_and(|&left| left > 0);
        let mut before: FxHashMap<StepsId, (StepsId, Option<u32>)> = FxHashMap::default();
        for chain in &self.problem.chains {
            for pair in chain.windows(2) {
                if let (Some(&a), Some(&b)) = (pair.first(), pair.get(1))
                    && is_left(a)
                    && is_left(b)
                {
                    before.insert(b, (a, None));
                }
            }
        }
        for (number, edge) in (0..).zip(&self.edges) {
            if is_left(edge.from) && is_left(edge.to) {
                before.entry(edge.to).or_insert((edge.from, Some(number)));
            }
        }
        let mut seen: FxHashMap<StepsId, usize> = FxHashMap::default();
        let mut walked: Vec<Option<u32>> = Vec::new();
        let mut at = (0..)
            .zip(arrivals)
            .find(|(_, left)| **left > 0)
            .map(|(id, _)| id);
        while let Some(id) = at {
            if let Some(&start) = seen.get(&id) {
                let circle = walked.get(start..).unwrap_or(&[]);
                return self.explain(circle.iter().flatten().copied().collect(), &[]);
            }
            seen.insert(id, walked.len());
            let step = before.get(&id).copied();
            walked.extend(step.map(|(_, edge)| edge));
            at = step.map(|(from, _)| from);
        }
        // Every remaining node has a remaining predecessor, so the walk closes a cycle.
        self.everything()
    }

    /// All choices, as a conflict of which no smaller part is known.
    pub fn everything(&self) -> Conflict {
        let mut literals: Vec<u32> = self.chosen.iter().map(|choice| choice.literal).collect();
        literals.sort_unstable();
        Conflict {
            literals,
            asked: true,
        }
    }

    /// Reasons of a path between two nodes by the edges known so far, together with these choices.
    pub fn contradiction(&self, literals: &[u32], path: Option<(StepsId, StepsId)>) -> Conflict {
        let edges = path.map_or_else(Vec::new, |(a, b)| self.path(a, b, self.known()));
        self.explain(edges, literals)
    }

    fn explain(&self, mut open: Vec<u32>, literals: &[u32]) -> Conflict {
        let mut conflict = Conflict {
            literals: literals.to_vec(),
            asked: false,
        };
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(number) = open.pop() {
            if !seen.insert(number) {
                continue;
            }
            match self.edges.get(number as usize).map(|edge| &edge.why) {
                Some(EdgeReason::Asked) => conflict.asked = true,
                Some(&EdgeReason::Chosen(literal)) => conflict.literals.push(literal),
                Some(&EdgeReason::Follows(literal, path, known)) => {
                    conflict.literals.extend(literal);
                    if let Some((a, b)) = path {
                        open.extend(self.path(a, b, known));
                    }
                }
                Some(EdgeReason::Always) | None => {}
            }
        }
        conflict.literals.sort_unstable();
        conflict.literals.dedup();
        conflict
    }

    /// The edges of a shortest path among the first `known`.
    fn path(&self, a: StepsId, b: StepsId, known: u32) -> Vec<u32> {
        let mut from: FxHashMap<StepsId, (StepsId, Option<u32>)> = FxHashMap::default();
        let mut open = VecDeque::from([a]);
        while let Some(id) = open.pop_front() {
            if id == b {
                break;
            }
            let (chain, at) = self.problem.spot(id);
            let next = self.problem.chains.get(chain);
            let next = next.and_then(|chain| chain.get(at as usize + 1));
            let next = next.map(|&next| (next, None));
            let out = self.out.get(id as usize).map_or(&[][..], |out| out);
            let along = out.iter().filter(|&&edge| edge < known);
            let along =
                along.filter_map(|&edge| Some((self.edges.get(edge as usize)?.to, Some(edge))));
            for (to, edge) in next.into_iter().chain(along) {
                if to != a && !from.contains_key(&to) {
                    from.insert(to, (id, edge));
                    open.push_back(to);
                }
            }
        }
        let mut edges = Vec::new();
        let mut at = b;
        while let Some(&(before, edge)) = from.get(&at) {
            edges.extend(edge);
            at = before;
            if at == a {
                break;
            }
        }
        edges
    }
}
