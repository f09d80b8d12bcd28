//! The loop between the solver and the graph.
//!
//! The solver knows, of each read that matters, which writes it may take (a literal each, which fixes the value), the
//! path conditions and what is asked. What it chooses goes to the graph; a contradiction comes back as a clause.
//! Reads matter when a condition depends on what they find. Candidates are given to the solver nearest first, a few
//! at a time, and more only when a refutation leans on there being no others. That each read takes what it takes in
//! the order at hand is assumed until a refutation leans on it.

use super::{
    Options, Unknown, Verdict,
    graph::{Chosen, Conflict, Graph, What},
    linearize::{Line, linearize},
    problem::{NodeId, Problem, Read, Write},
    solver::{Limited, Solved},
    translate::{Terms, number},
};
use crate::{
    Budget,
    symbolic::{Action, Bug, ExprId, Origin, SymbolId},
};
use rustc_hash::{FxHashMap, FxHashSet};
use z3::ast::{Ast, BV, Bool};

/// Candidates that the solver gets of a read at first, and how many times as many when it asks for more.
const FIRST: usize = 6;
const MORE: usize = 4;

/// Contradictions that are looked for in one answer of the solver.
const CONTRADICTIONS: usize = 12;

/// A read that matters.
#[derive(Debug)]
pub(super) struct Known {
    pub read: Read,
    /// What it may take, nearest first; what it takes in the order at hand stands first, if it can.
    pub candidates: Vec<Option<Write>>,
    /// The literals of those that the solver has.
    pub literals: Vec<u32>,
    /// The first candidate is that of the order at hand.
    pub has_hint: bool,
    /// Assumed: there are no others than those that the solver has.
    only_these: Option<u32>,
}

/// What is asked besides the paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Whether the run fails; `None` for either.
    pub fails: Option<bool>,
    /// Orders that hold.
    pub orders: Vec<(NodeId, NodeId)>,
}

/// A found order with the values of what came from outside unrecorded.
pub(super) type Found = (Vec<NodeId>, Vec<(SymbolId, u128)>);

pub(super) struct Engine<'p, 't, 'b> {
    pub problem: &'p Problem<'t>,
    pub solver: Limited<'b>,
    budget: &'b Budget,
    terms: Terms,
    literals: Vec<Bool>,
    number_of: FxHashMap<Bool, u32>,
    known: FxHashMap<SymbolId, Known>,
    /// The reads that matter, in the order in which that was found.
    pub reads: Vec<SymbolId>,
    open: Vec<SymbolId>,
    seen: FxHashSet<SymbolId>,
    inputs: Vec<SymbolId>,
    roots: Vec<SymbolId>,
    groups: Vec<Vec<u32>>,
    /// What holds in every order.
    always: Graph<'p, 't>,
    /// What holds in every order that was asked for, while it is asked for, with the literal that says so.
    now: Option<(u32, Graph<'p, 't>)>,
    /// Literals for "fails" and "does not fail".
    bug: Option<(ExprId, [u32; 2])>,
    /// What makes a refutation no proof.
    pub lacks: Option<String>,
    pub path: u64,
    pub rounds: u64,
}

impl<'p, 't, 'b> Engine<'p, 't, 'b> {
    /// Gives the solver the paths and what synchronization leaves open. None when synchronization is impossible.
    pub fn new(
        problem: &'p Problem<'t>,
        options: &Options,
        budget: &'b Budget,
    ) -> Option<Engine<'p, 't, 'b>> {
        let always = Graph::new(problem, &[], &[]).ok()?;
        let mut engine = Engine {
            problem,
            solver: Limited::new(options, budget),
            budget,
            terms: Terms::default(),
            literals: Vec::new(),
            number_of: FxHashMap::default(),
            known: FxHashMap::default(),
            reads: Vec::new(),
            open: Vec::new(),
            seen: FxHashSet::default(),
            inputs: Vec::new(),
            roots: Vec::new(),
            groups: Vec::new(),
            always,
            now: None,
            bug: None,
            lacks: problem.lacks.clone(),
            path: 0,
            rounds: 0,
        };
        engine.add_groups();
        engine.add_path();
        engine.add_bug();
        engine.give_all();
        Some(engine)
    }

    fn literal(&mut self) -> u32 {
        let number = self.literals.len() as u32;
        let literal = Bool::new_const(format!("c{number}"));
        self.number_of.insert(literal.clone(), number);
        self.literals.push(literal);
        number
    }

    pub fn bool(&self, literal: u32) -> Bool {
        let known = self.literals.get(literal as usize);
        known.cloned().unwrap_or_else(|| Bool::from_bool(false))
    }

    /// The choices of synchronization: at least one option each, and nothing used up twice.
    fn add_groups(&mut self) {
        let problem = self.problem;
        let mut users: std::collections::BTreeMap<u32, Vec<u32>> = Default::default();
        for group in &problem.groups {
            let literals: Vec<u32> = group.options.iter().map(|_| self.literal()).collect();
            for ((_, uses), &literal) in group.options.iter().zip(&literals) {
                if let Some(uses) = uses {
                    users.entry(*uses).or_default().push(literal);
                }
            }
            let any: Vec<Bool> = literals.iter().map(|&literal| self.bool(literal)).collect();
            self.solver.assert(&Bool::or(&any));
            self.groups.push(literals);
        }
        for users in users.into_values() {
            for (at, &a) in users.iter().enumerate() {
                for &b in users.get(at + 1..).unwrap_or(&[]) {
                    let not_both = Bool::or(&[self.bool(a).not(), self.bool(b).not()]);
                    self.solver.assert(&not_both);
                }
            }
        }
    }

    /// Phi_path.
    fn add_path(&mut self) {
        let problem = self.problem;
        let exprs = &problem.trace.exprs;
        let bug = match problem.trace.bug {
            Bug::Condition { step, .. } => Some(step),
            _ => None,
        };
        let mut seen = FxHashSet::default();
        for (id, step) in problem.trace.steps() {
            if let Action::Assume(condition) = step.action
                && Some(id) != bug
                && exprs.constant(condition) != Some(1)
                && seen.insert(condition)
            {
                let truth = self.terms.truth(exprs, condition);
                self.solver.assert(&truth);
                self.path += 1;
                self.need(condition);
                self.roots.extend(exprs.symbols(condition));
            }
        }
    }

    /// Phi_bug and its negation, each behind a literal.
    fn add_bug(&mut self) {
        let exprs = &self.problem.trace.exprs;
        if let Bug::Condition { condition, .. } = self.problem.trace.bug {
            let literals = [self.literal(), self.literal()];
            let truth = self.terms.truth(exprs, condition);
            let [fails, passes] = literals.map(|literal| self.bool(literal).not());
            self.solver.assert(&Bool::or(&[fails, truth.clone()]));
            self.solver.assert(&Bool::or(&[passes, truth.not()]));
            self.need(condition);
            self.bug = Some((condition, literals));
        }
    }

    fn need(&mut self, id: ExprId) {
        for symbol in self.problem.trace.exprs.symbols(id) {
            if self.seen.insert(symbol) {
                self.open.push(symbol);
            }
        }
    }

    /// Gives the solver the reads that have turned out to matter.
    fn give_all(&mut self) {
        while let Some(symbol) = self.open.pop() {
            match self.problem.reads.get(&symbol) {
                Some(&read) => {
                    let known = self.candidates(symbol, read);
                    self.known.insert(symbol, known);
                    self.reads.push(symbol);
                    self.give(symbol, FIRST);
                }
                None => self.outside(symbol),
            }
        }
    }

    fn variable(&self, symbol: SymbolId) -> Option<BV> {
        let width = self.problem.trace.symbol(symbol)?.width;
        Some(BV::new_const(symbol.0, u32::from(width)))
    }

    /// What comes from outside is the same in every order; unrecorded it can be anything.
    fn outside(&mut self, symbol: SymbolId) {
        let Some(known) = self.problem.trace.symbol(symbol) else {
            return;
        };
        match (known.origin, known.recorded, self.variable(symbol)) {
            (Origin::Outside { .. }, Some(recorded), Some(variable)) => {
                let fixed = variable.eq(number(recorded, known.width));
                self.solver.assert(&fixed);
            }
            _ => self.inputs.push(symbol),
        }
    }

    /// What a read may take as far as program order and synchronization go, nearest first.
    fn candidates(&mut self, symbol: SymbolId, read: Read) -> Known {
        let mut candidates = self.possible(read);
        let place = |node: NodeId| self.problem.place_of(node);
        let here = place(read.node);
        let hint = self.hint(read);
        candidates.sort_by_key(|candidate| match candidate {
            Some(write) => (Some(write.node) != hint, here.abs_diff(place(write.node))),
            None => (hint.is_some(), here),
        });
        let first = candidates
            .first()
            .map(|first| first.map(|write| write.node));
        let width = self.problem.trace.symbol(symbol).map(|symbol| symbol.width);
        let exprs = &self.problem.trace.exprs;
        let before = candidates.len();
        candidates.retain(|candidate| match candidate {
            Some(write) => Some(exprs.width(write.value)) == width,
            None => self.initial(read).is_some(),
        });
        if candidates.len() < before {
            let cell = self.problem.trace.cell(read.cell);
            let name = cell.map_or("a cell", |cell| cell.name.as_str());
            self.lacks = Some(format!("what {name} held at first is not known"));
        }
        Known {
            read,
            has_hint: first == Some(hint) && !candidates.is_empty(),
            candidates,
            literals: Vec::new(),
            only_these: None,
        }
    }

    fn initial(&self, read: Read) -> Option<u128> {
        self.problem
            .initial
            .get(read.cell.index())
            .copied()
            .flatten()
    }

    /// The last write before the read in the order at hand.
    fn hint(&self, read: Read) -> Option<NodeId> {
        let here = self.problem.place_of(read.node);
        let chains = self.problem.writes.get(read.cell.index())?;
        let last = chains.iter().filter_map(|writes| {
            let count = writes.partition_point(|write| self.problem.place_of(write.node) < here);
            writes.get(count.checked_sub(1)?)
        });
        last.map(|write| write.node)
            .max_by_key(|&node| self.problem.place_of(node))
    }

    fn possible(&self, read: Read) -> Vec<Option<Write>> {
        let mut before: Vec<Write> = Vec::new();
        let mut found = Vec::new();
        let chains = self.problem.writes.get(read.cell.index());
        for (chain, writes) in chains.map_or(&[][..], |chains| chains).iter().enumerate() {
            let clock = self.always.clock(read.node, chain);
            let count = writes.partition_point(|write| self.problem.spot(write.node).1 < clock);
            let (earlier, later) = writes.split_at_checked(count).unwrap_or_default();
            before.extend(earlier.iter().rev().find(|write| write.node != read.node));
            let is_free = |write: &&Write| !self.always.is_before(read.node, write.node);
            let free = later.iter().take_while(is_free).copied();
            found.extend(free.filter(|write| write.node != read.node).map(Some));
        }
        if before.is_empty() {
            found.push(None);
        }
        let is_over = |write: &Write| {
            let node = write.node;
            before
                .iter()
                .any(|other| self.always.is_before(node, other.node))
        };
        found.extend(
            before
                .iter()
                .filter(|write| !is_over(write))
                .copied()
                .map(Some),
        );
        found
    }

    /// Gives the solver the read's candidates up to this many.
    fn give(&mut self, symbol: SymbolId, count: usize) {
        let Some(mut known) = self.known.remove(&symbol) else {
            return;
        };
        let new: Vec<Option<Write>> = known
            .candidates
            .iter()
            .take(count)
            .skip(known.literals.len())
            .copied()
            .collect();
        for candidate in new {
            let literal = self.take(symbol, known.read, candidate);
            known.literals.push(literal);
            self.rule_out(known.read, candidate, literal);
        }
        let mut any: Vec<Bool> = known
            .literals
            .iter()
            .map(|&literal| self.bool(literal))
            .collect();
        known.only_these = None;
        if known.literals.len() < known.candidates.len() {
            let only_these = self.literal();
            any.push(self.bool(only_these).not());
            known.only_these = Some(only_these);
        }
        self.solver.assert(&Bool::or(&any));
        self.known.insert(symbol, known);
    }

    /// The literal of a candidate: it makes the value.
    fn take(&mut self, symbol: SymbolId, read: Read, candidate: Option<Write>) -> u32 {
        let literal = self.literal();
        let exprs = &self.problem.trace.exprs;
        let value = match candidate {
            Some(write) => {
                self.need(write.value);
                self.terms.term(exprs, write.value)
            }
            None => {
                let width = self
                    .problem
                    .trace
                    .symbol(symbol)
                    .map_or(1, |symbol| symbol.width);
                number(self.initial(read).unwrap_or(0), width)
            }
        };
        if let Some(variable) = self.variable(symbol) {
            let takes = Bool::or(&[self.bool(literal).not(), variable.eq(value)]);
            self.solver.assert(&takes);
        }
        literal
    }

    /// While orders are asked for: a candidate that they exclude.
    fn rule_out(&mut self, read: Read, candidate: Option<Write>, literal: u32) {
        let Some((guard, graph)) = &self.now else {
            return;
        };
        let write = candidate.map(|write| write.node);
        if excluded(graph, read, write) {
            let out = Bool::or(&[self.bool(*guard).not(), self.bool(literal).not()]);
            self.solver.assert(&out);
        }
    }

    /// Looks for an order with the recorded paths and what is asked.
    pub fn solve(&mut self, asked: &Asked) -> Verdict<Found> {
        let Ok(graph) = Graph::new(self.problem, &[], &asked.orders) else {
            return self.refuted();
        };
        let guard = self.literal();
        self.now = Some((guard, graph));
        for symbol in self.reads.clone() {
            let Some(known) = self.known.get(&symbol) else {
                continue;
            };
            let given: Vec<_> = known
                .candidates
                .iter()
                .copied()
                .zip(known.literals.clone())
                .collect();
            let read = known.read;
            for (candidate, literal) in given {
                self.rule_out(read, candidate, literal);
            }
        }
        let mut goals = vec![guard];
        if let (Some(fails), Some((_, [yes, no]))) = (asked.fails, self.bug) {
            goals.push(if fails { yes } else { no });
        }
        let verdict = self.search(&goals, asked);
        self.now = None;
        verdict
    }

    fn search(&mut self, goals: &[u32], asked: &Asked) -> Verdict<Found> {
        let mut dropped: FxHashSet<u32> = FxHashSet::default();
        loop {
            self.rounds += 1;
            self.give_all();
            let mut assumed = goals.to_vec();
            for symbol in &self.reads {
                let Some(known) = self.known.get(symbol) else {
                    continue;
                };
                let hint = known.literals.first().filter(|_| known.has_hint);
                assumed.extend(hint.filter(|hint| !dropped.contains(hint)));
                assumed.extend(known.only_these);
            }
            let assumptions: Vec<Bool> =
                assumed.iter().map(|&literal| self.bool(literal)).collect();
            match self.solver.check(&assumptions) {
                Solved::Unknown(why) => return Verdict::Unknown(why),
                Solved::Unsat(core) => {
                    let core: FxHashSet<u32> = core
                        .iter()
                        .filter_map(|literal| self.number_of.get(literal).copied())
                        .collect();
                    if !self.relax(&core, &mut dropped) {
                        return self.refuted();
                    }
                }
                Solved::Sat(model) => {
                    if let Some(verdict) = self.try_order(&model, goals, asked) {
                        return verdict;
                    }
                }
            }
        }
    }

    fn refuted<T>(&self) -> Verdict<T> {
        match &self.lacks {
            Some(what) => Verdict::Unknown(Unknown::Trace(what.clone())),
            None => Verdict::Impossible,
        }
    }

    /// Gives up assumptions that a refutation leans on: first those that keep reads as they are, then those that
    /// leave candidates out. False when it leans on neither.
    fn relax(&mut self, core: &FxHashSet<u32>, dropped: &mut FxHashSet<u32>) -> bool {
        let before = dropped.len();
        let hints = self.reads.iter().filter_map(|symbol| {
            let known = self.known.get(symbol)?;
            known.literals.first().copied().filter(|_| known.has_hint)
        });
        let new: Vec<u32> = hints.filter(|hint| core.contains(hint)).collect();
        dropped.extend(new);
        if dropped.len() > before {
            return true;
        }
        let mut is_more = false;
        for symbol in self.reads.clone() {
            let Some(known) = self.known.get(&symbol) else {
                continue;
            };
            if known
                .only_these
                .is_some_and(|literal| core.contains(&literal))
            {
                let count = known.literals.len() * MORE;
                self.give(symbol, count);
                is_more = true;
            }
        }
        is_more
    }

    /// An order with the reads that the solver chose; none when there is no such order, which the solver knows then.
    fn try_order(
        &mut self,
        model: &z3::Model,
        goals: &[u32],
        asked: &Asked,
    ) -> Option<Verdict<Found>> {
        let (problem, budget) = (self.problem, self.budget);
        let mut chosen = self.choices(model, asked.fails.is_some());
        for contradictions in 0..CONTRADICTIONS {
            let conflict = match Graph::new(problem, &chosen, &asked.orders) {
                Err(conflict) => self.smaller(conflict, &chosen, asked),
                // What is left of a contradictory choice proves nothing.
                Ok(_) if contradictions > 0 => return None,
                Ok(graph) => {
                    let everything = graph.everything();
                    match linearize(graph, budget) {
                        Line::Order(order) => {
                            return Some(Verdict::Found((order, self.input_values(model))));
                        }
                        Line::None => everything,
                        Line::GaveUp => return Some(Verdict::Unknown(Unknown::Effort)),
                        Line::Stopped(why) => {
                            return Some(Verdict::Unknown(Unknown::Stopped(why)));
                        }
                    }
                }
            };
            self.exclude(&conflict, goals);
            // Without one of them, others may show.
            let last = *conflict.literals.last()?;
            chosen.retain(|choice| choice.literal != last);
        }
        None
    }

    fn exclude(&mut self, conflict: &Conflict, goals: &[u32]) {
        let literals = conflict.literals.iter();
        let mut clause: Vec<Bool> = literals.map(|&literal| self.bool(literal).not()).collect();
        let guard = goals.first().filter(|_| conflict.asked);
        clause.extend(guard.map(|&guard| self.bool(guard).not()));
        self.solver.assert(&Bool::or(&clause));
    }

    /// The choices that the conditions depend on, and those of synchronization.
    fn choices(&self, model: &z3::Model, with_bug: bool) -> Vec<Chosen<'p>> {
        let is_true = |literal: u32| {
            let value = model.eval(&self.bool(literal), true);
            value.and_then(|value| value.as_bool()) == Some(true)
        };
        let mut chosen = Vec::new();
        let exprs = &self.problem.trace.exprs;
        let mut open = self.roots.clone();
        if let Some((condition, _)) = self.bug.filter(|_| with_bug) {
            open.extend(exprs.symbols(condition));
        }
        let mut seen: FxHashSet<SymbolId> = FxHashSet::default();
        while let Some(symbol) = open.pop() {
            if !seen.insert(symbol) {
                continue;
            }
            let Some(known) = self.known.get(&symbol) else {
                continue;
            };
            let given = known.literals.iter().zip(&known.candidates);
            if let Some((&literal, write)) =
                given.into_iter().find(|(literal, _)| is_true(**literal))
            {
                let node = write.map(|write| write.node);
                chosen.push(Chosen {
                    literal,
                    what: What::Reads(known.read, node),
                });
                open.extend(write.iter().flat_map(|write| exprs.symbols(write.value)));
            }
        }
        for (group, literals) in self.problem.groups.iter().zip(&self.groups) {
            let numbers = group.preferred.into_iter().chain(0..literals.len());
            let options =
                numbers.filter_map(|at| Some((*literals.get(at)?, group.options.get(at)?)));
            if let Some((literal, (orders, _))) =
                options.into_iter().find(|(literal, _)| is_true(*literal))
            {
                chosen.push(Chosen {
                    literal,
                    what: What::Orders(orders),
                });
            }
        }
        chosen
    }

    /// The contradiction without what it does not need, as far as a few tries show.
    fn smaller(&self, mut conflict: Conflict, chosen: &[Chosen], asked: &Asked) -> Conflict {
        const TRIES: usize = 40;
        for literal in conflict.literals.clone().into_iter().take(TRIES) {
            if conflict.literals.len() < 3 {
                break;
            }
            let is_kept = |choice: &&Chosen| {
                choice.literal != literal && conflict.literals.contains(&choice.literal)
            };
            if !conflict.literals.contains(&literal) {
                continue;
            }
            let kept: Vec<Chosen> = chosen.iter().filter(is_kept).cloned().collect();
            if let Err(smaller) = Graph::new(self.problem, &kept, &asked.orders) {
                conflict = smaller;
            }
        }
        conflict
    }

    fn input_values(&self, model: &z3::Model) -> Vec<(SymbolId, u128)> {
        let value = |&symbol: &SymbolId| {
            let variable = self.variable(symbol)?;
            let width = variable.get_size();
            let part = |from: u32| -> Option<u128> {
                let to = (from + 63).min(width - 1);
                let bits = model.eval(&variable.extract(to, from), true)?.simplify();
                bits.as_u64().map(u128::from)
            };
            let high = if width > 64 { part(64)? } else { 0 };
            Some((symbol, high << 64 | part(0)?))
        };
        self.inputs.iter().filter_map(value).collect()
    }

    /// The reads whose candidates of the order at hand, taken together, leave only what the goal excludes; `None` with
    /// the reason when the solver gives up, an empty list when they do not exclude it.
    pub fn refuting(
        &mut self,
        fails: bool,
        among: &[SymbolId],
    ) -> Result<Option<Vec<SymbolId>>, Unknown> {
        self.give_all();
        let goal = self.bug.map(|(_, [yes, no])| if fails { yes } else { no });
        let hints: Vec<(SymbolId, u32)> = among
            .iter()
            .filter_map(|&symbol| {
                let known = self.known.get(&symbol)?;
                let hint = known.literals.first().filter(|_| known.has_hint)?;
                Some((symbol, *hint))
            })
            .collect();
        let assumed = goal.into_iter().chain(hints.iter().map(|(_, hint)| *hint));
        let assumptions: Vec<Bool> = assumed.map(|literal| self.bool(literal)).collect();
        match self.solver.check(&assumptions) {
            Solved::Unknown(why) => Err(why),
            Solved::Sat(_) => Ok(None),
            Solved::Unsat(core) => {
                let core: FxHashSet<u32> = core
                    .iter()
                    .filter_map(|literal| self.number_of.get(literal).copied())
                    .collect();
                let kept = hints.into_iter().filter(|(_, hint)| core.contains(hint));
                Ok(Some(kept.map(|(symbol, _)| symbol).collect()))
            }
        }
    }

    /// Is it before the other in every order?
    pub fn always_before(&self, a: NodeId, b: NodeId) -> bool {
        self.always.is_before(a, b)
    }

    /// A read that matters, and what it takes in the order at hand.
    pub fn hinted(&self, symbol: SymbolId) -> Option<(Read, Option<Write>)> {
        let known = self.known.get(&symbol)?;
        Some((known.read, *known.candidates.first()?))
    }

    /// Literals that the solver has: choices of reads and of synchronization, goals, assumptions.
    pub fn variables(&self) -> u64 {
        (self.literals.len() + self.reads.len() + self.inputs.len()) as u64
    }
}

/// Do these orders exclude that the read takes that write?
fn excluded(graph: &Graph, read: Read, write: Option<NodeId>) -> bool {
    if write.is_some_and(|write| graph.is_before(read.node, write)) {
        return true;
    }
    let chains = graph.problem.writes.get(read.cell.index());
    let mut chains = chains.map_or(&[][..], |chains| chains).iter().enumerate();
    chains.any(|(chain, writes)| {
        let clock = graph.clock(read.node, chain);
        let count = writes.partition_point(|other| graph.problem.spot(other.node).1 < clock);
        let earlier = writes.get(..count).unwrap_or(&[]).iter().rev();
        let last = earlier.into_iter().find(|other| other.node != read.node);
        last.is_some_and(|last| write.is_none_or(|write| graph.is_before(write, last.node)))
    })
}
