//! A symbolic trace as an ordering problem: steps that cannot be separated are one node, forced orders are
//! edges, and open alternatives are choices of the solver.

use super::{MemoryModel, sync};
use crate::{Action, CellId, StepId, SymbolId, SymbolicTrace};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// Consecutive steps of one thread that are atomic.
#[derive(Clone, Debug)]
pub(super) struct AtomicSteps {
    pub thread: ThreadId,
    /// The first and the last step's index in the thread.
    pub steps: (u32, u32),
    /// The chain that it belongs to, and its position there.
    pub chain: u32,
    pub at: u32,
}

/// A node's number. Nodes of a thread have ascending numbers.
pub(super) type StepsId = u32;

/// A critical section: a lock is held between two nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockedNodes {
    pub thread: ThreadId,
    pub from: StepsId,
    /// `None`: until the end of the order.
    pub to: Option<StepsId>,
    pub is_shared: bool,
}

/// All critical sections of one lock, and those that exclude other readers: by thread, in program order.
#[derive(Debug, Default)]
pub(super) struct SectionsOfLock {
    pub all: Vec<Vec<LockedNodes>>,
    pub exclusive: Vec<Vec<LockedNodes>>,
}

/// A read of a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolRead {
    pub node: StepsId,
    pub step: StepId,
    pub cell: CellId,
}

/// A write of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub node: StepsId,
    pub step: StepId,
    pub value: crate::ExprId,
}

/// The orders that an option implies, and the resource it uses up: of options with the same resource, one
/// holds.
pub(super) type OptionOrders = (Vec<(StepsId, StepsId)>, Option<u32>);

/// A choice besides the sources of reads: exactly one of the options holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub options: Vec<OptionOrders>,
    /// The option that holds in the base order.
    pub preferred: Option<usize>,
}

/// An ordering problem.
#[derive(Debug)]
pub(super) struct OrderingProblem<'t> {
    pub trace: &'t SymbolicTrace,
    pub nodes: Vec<AtomicSteps>,
    /// For each thread and step: its node.
    of_step: Vec<Vec<StepsId>>,
    /// Totally ordered nodes, each node in exactly one chain. With sequential consistency, each thread is
    /// one.
    pub chains: Vec<Vec<StepsId>>,
    /// Orders that hold in every run, except those within a chain.
    pub edges: Vec<(StepsId, StepsId)>,
    pub locks: Vec<SectionsOfLock>,
    pub groups: Vec<Group>,
    /// Reads by symbol.
    pub reads: FxHashMap<SymbolId, SymbolRead>,
    /// Writes by cell and chain, in the order of the chain.
    pub writes: Vec<Vec<Vec<Write>>>,
    /// Initial values of the cells, where known.
    pub initial: Vec<Option<u128>>,
    /// Position of each node in the base order.
    pub place: Vec<u32>,
    /// Reason why a refutation is no proof, in words.
    pub lacks: Option<String>,
}

impl<'t> OrderingProblem<'t> {
    /// Builds the problem of a trace; `order` is the base order that results stay close to. Linear in the
    /// trace.
    pub fn new(
        trace: &'t SymbolicTrace,
        order: &[StepId],
        model: MemoryModel,
    ) -> OrderingProblem<'t> {
        let mut problem = OrderingProblem {
            trace,
            nodes: Vec::new(),
            of_step: Vec::new(),
            chains: Vec::new(),
            edges: Vec::new(),
            locks: Vec::new(),
            groups: Vec::new(),
            reads: FxHashMap::default(),
            writes: vec![Vec::new(); trace.cells.len()],
            initial: trace.first_values(),
            place: Vec::new(),
            lacks: None,
        };
        problem.make_nodes();
        problem.make_chains(model);
        problem.place(order);
        problem.accesses();
        sync::constrain(&mut problem);
        problem
    }

    /// The node of a step.
    pub fn node_of(&self, id: StepId) -> Option<StepsId> {
        let steps = self.of_step.get(id.thread.index())?;
        steps.get(id.index as usize).copied()
    }

    pub fn node(&self, id: StepsId) -> Option<&AtomicSteps> {
        self.nodes.get(id as usize)
    }

    pub fn thread(&self, id: StepsId) -> Option<ThreadId> {
        self.node(id).map(|node| node.thread)
    }

    /// Chain of a node, and its position there.
    pub fn spot(&self, id: StepsId) -> (usize, u32) {
        self.node(id)
            .map_or((usize::MAX, 0), |node| (node.chain as usize, node.at))
    }

    pub fn place_of(&self, id: StepsId) -> u32 {
        self.place.get(id as usize).copied().unwrap_or(u32::MAX)
    }

    /// The steps of these nodes, in order.
    pub fn steps(&self, order: &[StepsId]) -> Vec<StepId> {
        let nodes = order.iter().filter_map(|&id| self.node(id));
        nodes
            .flat_map(|node| {
                let thread = node.thread;
                (node.steps.0..=node.steps.1).map(move |index| StepId { thread, index })
            })
            .collect()
    }

    /// The actions of a node.
    pub fn actions(&self, id: StepsId) -> impl Iterator<Item = (StepId, Action)> {
        let node = self.node(id).map(|node| (node.thread, node.steps));
        node.into_iter().flat_map(move |(thread, (from, to))| {
            (from..=to).filter_map(move |index| {
                let id = StepId { thread, index };
                Some((id, self.trace.step(id)?.action))
            })
        })
    }

    fn make_nodes(&mut self) {
        for (thread, steps) in (0..).map(ThreadId).zip(&self.trace.threads) {
            let mut of_step: Vec<StepsId> = Vec::with_capacity(steps.steps.len());
            let mut before = None;
            for (index, step) in (0..).zip(&steps.steps) {
                let joins = step.event.is_some() && step.event == before;
                before = step.event;
                match self.nodes.last_mut().filter(|_| joins) {
                    Some(node) => node.steps.1 = index,
                    None => self.nodes.push(AtomicSteps {
                        thread,
                        steps: (index, index),
                        chain: 0,
                        at: 0,
                    }),
                }
                of_step.push(self.nodes.len() as u32 - 1);
            }
            self.of_step.push(of_step);
        }
    }

    /// Adds Phi_mo.
    fn make_chains(&mut self, model: MemoryModel) {
        for thread in 0..self.trace.threads.len() {
            let nodes = self.of_step.get(thread).cloned().unwrap_or_default();
            let mut nodes = nodes;
            nodes.dedup();
            match model {
                MemoryModel::Sequential => {
                    let chain = self.chains.len();
                    self.chains.push(Vec::new());
                    nodes.into_iter().for_each(|node| self.append(chain, node));
                }
                MemoryModel::TotalStore => self.relaxed(&nodes, |_| 0),
                MemoryModel::PartialStore => self.relaxed(&nodes, |cell| cell.0),
            }
        }
    }

    fn append(&mut self, chain: usize, id: StepsId) {
        let Some(nodes) = self.chains.get_mut(chain) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(id as usize) {
            (node.chain, node.at) = (chain as u32, nodes.len() as u32);
        }
        nodes.push(id);
    }

    /// Gives writes chains of their own, by `key`. What else orders them within the thread are edges.
    fn relaxed(&mut self, nodes: &[StepsId], key: impl Fn(CellId) -> u32) {
        let main = self.chains.len();
        self.chains.push(Vec::new());
        let mut chains: FxHashMap<u32, usize> = FxHashMap::default();
        let mut last_write: Vec<StepsId> = Vec::new();
        let mut last_of_cell: FxHashMap<CellId, StepsId> = FxHashMap::default();
        let mut last_else = None;
        for &id in nodes {
            let (mut read, mut written, mut waits) = (Vec::new(), Vec::new(), false);
            for (_, action) in self.actions(id).collect::<Vec<_>>() {
                match action {
                    Action::Read { cell, .. } => read.push(cell),
                    Action::Write { cell, .. } => written.push(cell),
                    Action::Sync { .. } | Action::Release { .. } => waits = true,
                    Action::Assume(_) => {}
                }
            }
            let is_write = read.is_empty() && !waits && !written.is_empty();
            let of_cells = read
                .iter()
                .chain(&written)
                .filter_map(|cell| last_of_cell.get(cell));
            let mut before: Vec<StepsId> = of_cells.copied().collect();
            // A read-modify-write and synchronization wait until all writes have taken effect.
            if !is_write && (waits || !written.is_empty()) {
                before.append(&mut last_write);
            }
            if is_write {
                before.extend(last_else);
                let key = written.first().copied().map_or(0, &key);
                let next = self.chains.len();
                let chain = *chains.entry(key).or_insert(next);
                if chain == next {
                    self.chains.push(Vec::new());
                }
                self.append(chain, id);
                last_write.retain(|&other| self.spot(other).0 != chain);
                last_write.push(id);
            } else {
                last_else = Some(id);
                self.append(main, id);
            }
            self.edges
                .extend(before.into_iter().map(|other| (other, id)));
            last_of_cell.extend(written.into_iter().map(|cell| (cell, id)));
        }
    }

    /// Sets the positions of nodes; nodes that the order lacks come last.
    fn place(&mut self, order: &[StepId]) {
        self.place = vec![u32::MAX; self.nodes.len()];
        for (at, &id) in (0..).zip(order) {
            if let Some(node) = self.node_of(id)
                && let Some(place) = self.place.get_mut(node as usize)
            {
                *place = (*place).min(at);
            }
        }
        let mut next = order.len() as u32;
        for place in &mut self.place {
            if *place == u32::MAX {
                *place = next;
                next += 1;
            }
        }
    }

    fn accesses(&mut self) {
        for writes in &mut self.writes {
            writes.resize(self.chains.len(), Vec::new());
        }
        for node in 0..self.nodes.len() as u32 {
            let (chain, _) = self.spot(node);
            for (step, action) in self.actions(node).collect::<Vec<_>>() {
                match action {
                    Action::Read { cell, symbol } => {
                        self.reads.insert(symbol, SymbolRead { node, step, cell });
                    }
                    Action::Write { cell, value } => {
                        let of_cell = self.writes.get_mut(cell.index());
                        if let Some(writes) = of_cell.and_then(|chains| chains.get_mut(chain)) {
                            writes.push(Write { node, step, value });
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Replaces the base order, in which synchronization is feasible.
    pub fn stay_close_to(&mut self, order: &[StepsId]) {
        for (at, &id) in (0..).zip(order) {
            if let Some(place) = self.place.get_mut(id as usize) {
                *place = at;
            }
        }
        let mut used: Vec<u32> = Vec::new();
        for group in &mut self.groups {
            let place = |id: StepsId| self.place.get(id as usize).copied();
            let holds = |(orders, uses): &OptionOrders| {
                let is_free = uses.is_none_or(|uses| !used.contains(&uses));
                is_free && orders.iter().all(|&(a, b)| place(a) < place(b))
            };
            group.preferred = group.options.iter().position(holds);
            let option = group.preferred.and_then(|at| group.options.get(at));
            used.extend(option.and_then(|(_, uses)| *uses));
        }
    }

    /// Kind, object and value of a synchronization node.
    pub fn sync(&self, id: StepsId) -> Option<(EventKind, LocationId, u64)> {
        self.actions(id).find_map(|(_, action)| match action {
            Action::Sync {
                kind,
                object,
                value,
            } => Some((kind, object, value)),
            _ => None,
        })
    }
}
