//! Linearization of a graph without contradictions, as close to the base order as its edges allow.
//!
//! Whatever the graph leaves open (which of two critical sections comes first, on which side of a read a
//! write falls) is decided when it comes up. At a dead end, one of the decisions that block each other is
//! reversed; both ways are explored, so that "no order" is a proof.

use super::{
    graph::{Consequence, PrecedenceGraph},
    problem::{LockedNodes, OrderingProblem, StepsId},
};
use crate::Action;
use rustc_hash::FxHashMap;
use unsnarl_core::{Budget, StopReason};

/// Result of the linearization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Linearized {
    /// An order of all nodes.
    Order(Vec<StepsId>),
    /// No order exists.
    None,
    /// The bound on decisions was reached.
    GaveUp,
    /// The budget ended.
    Stopped(StopReason),
}

/// Bound on the reversed decisions.
const DECISIONS: u32 = 2000;

/// Finds an order of the graph's nodes. One try takes time in proportion to nodes times chains.
pub(super) fn linearize(graph: PrecedenceGraph, budget: &Budget) -> Linearized {
    let mut left = DECISIONS;
    search(graph, budget, &mut left)
}

fn search(mut graph: PrecedenceGraph, budget: &Budget, left: &mut u32) -> Linearized {
    loop {
        let blocks = match Greedy::new(&graph).run() {
            Ok(order) => return Linearized::Order(order),
            Err(blocks) => blocks,
        };
        let mut is_new = false;
        for block in blocks {
            if let Some(stopped) = budget.stop() {
                return Linearized::Stopped(stopped);
            }
            let Some(still) = left.checked_sub(1) else {
                return Linearized::GaveUp;
            };
            *left = still;
            match decide(&mut graph, block, budget, left) {
                DecidedOrders::Line(line) => return line,
                DecidedOrders::New => is_new = true,
                DecidedOrders::Known => {}
            }
        }
        if !is_new {
            return Linearized::GaveUp;
        }
    }
}

enum DecidedOrders {
    /// The search ended.
    Line(Linearized),
    /// The reversed decision is impossible, and the graph has learned that.
    New,
    /// The reversed decision is impossible, as the graph knew.
    Known,
}

fn decide(
    graph: &mut PrecedenceGraph,
    block: BlockedOrders,
    budget: &Budget,
    left: &mut u32,
) -> DecidedOrders {
    let (from, to) = block.stays;
    if graph.is_before(from, to) {
        return DecidedOrders::Known;
    }
    if let Some((from, to)) = block.other {
        let mut other = graph.clone();
        if other.add(from, to).is_ok() {
            match search(other, budget, left) {
                Linearized::None => {}
                line => return DecidedOrders::Line(line),
            }
        }
    }
    match graph.add(from, to) {
        Ok(()) => DecidedOrders::New,
        Err(_) => DecidedOrders::Line(Linearized::None),
    }
}

/// Two orders of which one must hold: the one that the attempt took, and the other.
struct BlockedOrders {
    stays: (StepsId, StepsId),
    other: Option<(StepsId, StepsId)>,
}

struct Greedy<'g, 'p, 't> {
    graph: &'g PrecedenceGraph<'p, 't>,
    arrivals: Vec<u32>,
    next: Vec<usize>,
    /// Last writers of the cells.
    writers: FxHashMap<u32, StepsId>,
    /// By cell and source: the reads that have not happened yet.
    pending: FxHashMap<(u32, Option<StepsId>), Vec<StepsId>>,
    /// By node: locks and critical sections that begin or end there.
    begins: FxHashMap<StepsId, Vec<(usize, LockedNodes)>>,
    ends: FxHashMap<StepsId, Vec<(usize, LockedNodes)>>,
    held: Vec<Vec<LockedNodes>>,
}

impl<'g, 'p, 't> Greedy<'g, 'p, 't> {
    fn new(graph: &'g PrecedenceGraph<'p, 't>) -> Self {
        let problem = graph.problem;
        let mut greedy = Greedy {
            graph,
            arrivals: graph.arrivals(),
            next: vec![0; problem.chains.len()],
            writers: FxHashMap::default(),
            pending: FxHashMap::default(),
            begins: FxHashMap::default(),
            ends: FxHashMap::default(),
            held: vec![Vec::new(); problem.locks.len()],
        };
        for choice in graph.chosen {
            if let Consequence::Reads(read, write) = choice.what {
                let pending = greedy.pending.entry((read.cell.0, write)).or_default();
                pending.push(read.node);
            }
        }
        for (lock, sections) in problem.locks.iter().enumerate() {
            for &section in sections.all.iter().flatten() {
                greedy
                    .begins
                    .entry(section.from)
                    .or_default()
                    .push((lock, section));
                if let Some(end) = section.to {
                    greedy.ends.entry(end).or_default().push((lock, section));
                }
            }
        }
        greedy
    }

    fn problem(&self) -> &'p OrderingProblem<'t> {
        self.graph.problem
    }

    /// The whole order, or the blocks of the threads.
    fn run(mut self) -> Result<Vec<StepsId>, Vec<BlockedOrders>> {
        let count = self.problem().nodes.len();
        let mut order = Vec::with_capacity(count);
        while order.len() < count {
            let mut heads: Vec<StepsId> = self.heads().collect();
            heads.sort_by_key(|&id| self.problem().place_of(id));
            match heads.iter().copied().find(|&id| self.block(id).is_none()) {
                Some(id) => {
                    self.happens(id);
                    order.push(id);
                }
                None => return Err(heads.into_iter().filter_map(|id| self.block(id)).collect()),
            }
        }
        Ok(order)
    }

    fn heads(&self) -> impl Iterator<Item = StepsId> {
        let chains = self.problem().chains.iter().zip(&self.next);
        let heads = chains.filter_map(|(chain, &next)| chain.get(next).copied());
        heads.filter(|&id| self.arrivals.get(id as usize) == Some(&0))
    }

    fn block(&self, id: StepsId) -> Option<BlockedOrders> {
        self.locked(id).or_else(|| self.unread(id))
    }

    /// The block of a critical section by another one.
    fn locked(&self, id: StepsId) -> Option<BlockedOrders> {
        for (lock, section) in self.begins.get(&id).map_or(&[][..], |all| all) {
            let open = self.held.get(*lock).map_or(&[][..], |held| held);
            let excludes = |other: &&LockedNodes| {
                other.thread != section.thread && !(other.is_shared && section.is_shared)
            };
            if let Some(other) = open.iter().find(excludes) {
                return Some(BlockedOrders {
                    stays: (other.to.unwrap_or(other.from), section.from),
                    other: section.to.map(|to| (to, other.from)),
                });
            }
        }
        None
    }

    /// The block of a write over a value that still has to be read.
    fn unread(&self, id: StepsId) -> Option<BlockedOrders> {
        let written = self
            .problem()
            .actions(id)
            .filter_map(|(_, action)| match action {
                Action::Write { cell, .. } => Some(cell.0),
                _ => None,
            });
        for cell in written {
            let writer = self.writers.get(&cell).copied();
            let pending = self.pending.get(&(cell, writer));
            let reader = pending.and_then(|all| all.iter().find(|&&reader| reader != id));
            if let Some(&reader) = reader {
                return Some(BlockedOrders {
                    stays: (reader, id),
                    other: writer.map(|writer| (id, writer)),
                });
            }
        }
        None
    }

    fn happens(&mut self, id: StepsId) {
        let (chain, _) = self.problem().spot(id);
        if let Some(next) = self.next.get_mut(chain) {
            *next += 1;
        }
        for after in self.graph.after(id) {
            if let Some(left) = self.arrivals.get_mut(after as usize) {
                *left -= 1;
            }
        }
        for (lock, section) in self.ends.remove(&id).unwrap_or_default() {
            if let Some(held) = self.held.get_mut(lock) {
                held.retain(|other| other.from != section.from);
            }
        }
        for (lock, section) in self.begins.remove(&id).unwrap_or_default() {
            if let Some(held) = self.held.get_mut(lock) {
                held.push(section);
            }
        }
        self.accesses(id);
    }

    fn accesses(&mut self, id: StepsId) {
        for (_, action) in self.problem().actions(id) {
            match action {
                Action::Read { cell, .. } => {
                    let writer = self.writers.get(&cell.0).copied();
                    if let Some(pending) = self.pending.get_mut(&(cell.0, writer)) {
                        pending.retain(|&reader| reader != id);
                    }
                }
                Action::Write { cell, .. } => {
                    self.writers.insert(cell.0, id);
                }
                _ => {}
            }
        }
    }
}
