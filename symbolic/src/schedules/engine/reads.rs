//! The reads that matter, and the constraints on them that the solver gets in turn: none, then the value in
//! the base order, then the origin of that value, then the other possible sources.

use super::{
    super::{
        graph::PrecedenceGraph,
        problem::{StepsId, SymbolRead, Write},
        translate::number,
    },
    ScheduleEngine,
};
use crate::{ExprId, SymbolId, SymbolOrigin};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use z3::ast::{BV, Bool};

/// Number of candidates that the solver gets for a read that may change its source, and the factor when it
/// asks for more.
const FIRST: usize = 6;
const MORE: usize = 4;

/// A read that a condition or a value depends on.
#[derive(Debug)]
pub(in super::super) struct NeededRead {
    pub read: SymbolRead,
    /// The candidate sources that the solver knows, with their literals; that of the base order comes first,
    /// if it is possible.
    pub given: Vec<(Option<Write>, u32)>,
    /// `true` if the first candidate is that of the base order.
    has_hint: bool,
    /// The other candidates, the nearest last; `None` until they are needed.
    others: Option<Vec<Option<Write>>>,
    /// Assumption that the solver has all candidates.
    pub only_these: Option<u32>,
    /// Assumption that the value is that of the base order, while the solver does not know its origin.
    pub frozen: Option<u32>,
    /// `true` if the solver knows the value that the first of `given` makes.
    is_traced: bool,
}

impl NeededRead {
    /// The literal of the source in the base order.
    pub fn hint(&self) -> Option<u32> {
        let first = self.given.first().filter(|_| self.has_hint);
        first.map(|(_, literal)| *literal)
    }
}

impl ScheduleEngine<'_, '_, '_> {
    /// Notes an expression that the solver is going to have a term of.
    pub(super) fn mention(&mut self, id: ExprId) {
        for &symbol in self.symbols_of(id).iter() {
            if self.mentioned.insert(symbol) {
                self.open.push(symbol);
            }
        }
    }

    /// The symbols of an expression, computed once.
    pub(super) fn symbols_of(&mut self, id: ExprId) -> Rc<[SymbolId]> {
        let exprs = &self.problem.trace.exprs;
        let symbols = self.symbols.entry(id);
        symbols.or_insert_with(|| exprs.symbols(id).into()).clone()
    }

    /// Adds constraints on all symbols in the solver's terms.
    pub(super) fn give_all(&mut self) {
        while let Some(symbol) = self.open.pop() {
            match self.problem.reads.get(&symbol) {
                Some(&read) => {
                    self.know(symbol, read);
                    self.freeze(symbol);
                }
                None => self.outside(symbol),
            }
        }
    }

    pub(super) fn variable(&self, symbol: SymbolId) -> Option<BV> {
        let width = self.problem.trace.symbol(symbol)?.width;
        Some(BV::new_const(symbol.0, u32::from(width)))
    }

    /// Constrains a value from outside: it is the same in every order; an unrecorded one can be anything.
    fn outside(&mut self, symbol: SymbolId) {
        let Some(known) = self.problem.trace.symbol(symbol) else {
            return;
        };
        match (known.origin, known.recorded, self.variable(symbol)) {
            (SymbolOrigin::Outside { .. }, Some(recorded), Some(variable)) => {
                let fixed = variable.eq(number(recorded, known.width));
                self.solver.assert(&fixed);
            }
            _ => self.inputs.push(symbol),
        }
    }

    /// Makes a read known, with its source in the base order or, where that is impossible, the nearest one.
    pub(super) fn know(&mut self, symbol: SymbolId, read: SymbolRead) {
        if self.known.contains_key(&symbol) {
            return;
        }
        let hint = self.last_before(read);
        let node = hint.map(|write| write.node);
        let has_hint = self.has_value(symbol, read, hint) && !excluded(&self.always, read, node);
        let mut known = NeededRead {
            read,
            given: Vec::new(),
            has_hint,
            others: None,
            only_these: None,
            frozen: None,
            is_traced: false,
        };
        if has_hint {
            known.given.push((hint, self.literal()));
        }
        self.known.insert(symbol, known);
        self.reads.push(symbol);
        match has_hint {
            true => self.rule_out_given(symbol),
            false => self.give_more(symbol),
        }
    }

    /// Adds the value of the base order as an assumption; where it is unknown, its origin.
    fn freeze(&mut self, symbol: SymbolId) {
        let is_new = |known: &&NeededRead| known.hint().is_some() && !known.is_traced;
        if self.known.get(&symbol).filter(is_new).is_none() {
            return;
        }
        let (Some(&value), Some(variable)) = (self.recorded.get(&symbol), self.variable(symbol))
        else {
            self.trace(symbol);
            return;
        };
        let frozen = self.literal();
        let is_recorded = variable.eq(number(value, variable.get_size() as u8));
        let clause = Bool::or(&[self.bool(frozen).not(), is_recorded]);
        self.solver.assert(&clause);
        if let Some(known) = self.known.get_mut(&symbol) {
            known.frozen = Some(frozen);
        }
    }

    /// Adds the value that the write of the base order gives the read.
    pub(super) fn trace(&mut self, symbol: SymbolId) {
        let Some(known) = self.known.get_mut(&symbol) else {
            return;
        };
        known.frozen = None;
        let read = known.read;
        let first = known.given.first().copied();
        if let Some((candidate, literal)) = first.filter(|_| !known.is_traced) {
            known.is_traced = true;
            self.makes(symbol, read, candidate, literal);
        }
    }

    /// Traces back the values that a refutation takes from the base order, and the values they come from,
    /// twice as far each time. Returns whether there are any.
    pub(super) fn trace_back(&mut self, core: &FxHashSet<u32>) -> bool {
        let is_taken =
            |known: &NeededRead| known.frozen.is_some_and(|frozen| core.contains(&frozen));
        let taken = self.reads.iter().copied();
        let mut taken: Vec<SymbolId> = taken
            .filter(|symbol| self.known.get(symbol).is_some_and(is_taken))
            .collect();
        let is_any = !taken.is_empty();
        for _ in 0..self.reach {
            for symbol in std::mem::take(&mut taken) {
                let first = self.known.get(&symbol).filter(|known| !known.is_traced);
                let write = first.and_then(|known| known.given.first()?.0);
                self.trace(symbol);
                self.give_all();
                if let Some(write) = write {
                    taken.extend(self.symbols_of(write.value).iter());
                }
            }
        }
        if is_any {
            self.reach = self.reach.saturating_mul(2);
        }
        is_any
    }

    /// Drops the assumption that the read keeps its source of the base order.
    pub(super) fn let_go(&mut self, symbol: SymbolId) {
        let Some(known) = self.known.get(&symbol) else {
            return;
        };
        let is_alone = known.others.is_none();
        self.dropped.extend(known.hint());
        self.trace(symbol);
        match is_alone {
            true => self.give_more(symbol),
            false => self.rule_out_given(symbol),
        }
    }

    /// The last write before the read in the base order.
    fn last_before(&self, read: SymbolRead) -> Option<Write> {
        let here = self.problem.place_of(read.node);
        let chains = self.problem.writes.get(read.cell.index())?;
        let last = chains.iter().filter_map(|writes| {
            let count = writes.partition_point(|write| self.problem.place_of(write.node) < here);
            writes.get(count.checked_sub(1)?)
        });
        last.max_by_key(|write| self.problem.place_of(write.node))
            .copied()
    }

    /// Returns whether the read has a value of its width from this candidate.
    fn has_value(&self, symbol: SymbolId, read: SymbolRead, candidate: Option<Write>) -> bool {
        let trace = self.problem.trace;
        match candidate {
            Some(write) => {
                let width = trace.symbol(symbol).map(|symbol| symbol.width);
                Some(trace.exprs.width(write.value)) == width
            }
            None => self.initial(read).is_some(),
        }
    }

    pub(super) fn initial(&self, read: SymbolRead) -> Option<u128> {
        let first = self.problem.initial.get(read.cell.index());
        first.copied().flatten()
    }

    /// The sources that program order and synchronization permit, besides those that the solver has; the
    /// nearest last.
    fn others(
        &mut self,
        symbol: SymbolId,
        read: SymbolRead,
        given: &[Option<StepsId>],
    ) -> Vec<Option<Write>> {
        let mut others = self.possible(read);
        let count = others.len();
        others.retain(|&candidate| self.has_value(symbol, read, candidate));
        if others.len() < count {
            let cell = self.problem.trace.cell(read.cell);
            let name = cell.map_or("a cell", |cell| cell.name.as_str());
            self.lacks = Some(format!("what {name} held at first is not known"));
        }
        others.retain(|candidate| !given.contains(&candidate.map(|write| write.node)));
        let place = |node: StepsId| self.problem.place_of(node);
        let here = place(read.node);
        others.sort_by_key(|candidate| {
            let far = candidate.map_or(here, |write| here.abs_diff(place(write.node)));
            std::cmp::Reverse(far)
        });
        others
    }

    fn possible(&self, read: SymbolRead) -> Vec<Option<Write>> {
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
            let is_before = |other: &Write| self.always.is_before(write.node, other.node);
            before.iter().any(is_before)
        };
        let last = before.iter().filter(|write| !is_over(write));
        found.extend(last.copied().map(Some));
        found
    }

    /// Adds more of the read's candidates, the nearest of those that the solver lacks.
    pub(super) fn give_more(&mut self, symbol: SymbolId) {
        let Some(known) = self.known.get_mut(&symbol) else {
            return;
        };
        let read = known.read;
        let given: Vec<Option<StepsId>> = known
            .given
            .iter()
            .map(|(candidate, _)| candidate.map(|write| write.node))
            .collect();
        let wanted = FIRST.max(given.len().saturating_mul(MORE)) - given.len();
        let mut others = match known.others.take() {
            Some(others) => others,
            None => self.others(symbol, read, &given),
        };
        let left = others.len().saturating_sub(wanted);
        let new = others.drain(left..).rev().collect();
        let is_more = !others.is_empty();
        if let Some(known) = self.known.get_mut(&symbol) {
            known.others = Some(others);
        }
        self.give(symbol, new, is_more);
    }

    /// Adds these candidates to those that the solver has; `is_more` if others remain.
    fn give(&mut self, symbol: SymbolId, new: Vec<Option<Write>>, is_more: bool) {
        // The first, too, has to make its value where there are others.
        self.trace(symbol);
        let Some(mut known) = self.known.remove(&symbol) else {
            return;
        };
        known.is_traced = true;
        for candidate in new {
            let literal = self.literal();
            self.makes(symbol, known.read, candidate, literal);
            known.given.push((candidate, literal));
        }
        let given = known.given.iter();
        let mut any: Vec<Bool> = given.map(|&(_, literal)| self.bool(literal)).collect();
        known.only_these = None;
        if is_more {
            let only_these = self.literal();
            any.push(self.bool(only_these).not());
            known.only_these = Some(only_these);
        }
        self.solver.assert(&Bool::or(&any));
        self.known.insert(symbol, known);
        self.rule_out_given(symbol);
    }

    /// Adds the value that the candidate makes.
    fn makes(
        &mut self,
        symbol: SymbolId,
        read: SymbolRead,
        candidate: Option<Write>,
        literal: u32,
    ) {
        let exprs = &self.problem.trace.exprs;
        let value = match candidate {
            Some(write) => {
                self.mention(write.value);
                self.terms.term(exprs, write.value)
            }
            None => {
                let known = self.problem.trace.symbol(symbol);
                let width = known.map_or(1, |symbol| symbol.width);
                number(self.initial(read).unwrap_or(0), width)
            }
        };
        if let Some(variable) = self.variable(symbol) {
            let takes = Bool::or(&[self.bool(literal).not(), variable.eq(value)]);
            self.solver.assert(&takes);
        }
    }

    /// Excludes candidates that the orders of the current goal rule out, for a read that may change its
    /// source. A read whose source in the base order is impossible is released.
    pub(super) fn rule_out_given(&mut self, symbol: SymbolId) {
        let (Some((guard, graph)), Some(known)) = (&self.now, self.known.get(&symbol)) else {
            return;
        };
        let is_out = |candidate: Option<Write>| {
            excluded(graph, known.read, candidate.map(|write| write.node))
        };
        if let Some(hint) = known.hint().filter(|hint| !self.dropped.contains(hint)) {
            let first = known.given.first().map(|(candidate, _)| *candidate);
            if first.is_some_and(is_out) {
                self.dropped.insert(hint);
                self.let_go(symbol);
            }
            return;
        }
        let out = known
            .given
            .iter()
            .filter(|(candidate, _)| is_out(*candidate));
        let guard = self.bool(*guard).not();
        let clauses: Vec<Bool> = out
            .map(|&(_, literal)| Bool::or(&[guard.clone(), self.bool(literal).not()]))
            .collect();
        clauses.iter().for_each(|clause| self.solver.assert(clause));
    }
}

/// Returns whether these orders exclude that the read reads from that write.
fn excluded(graph: &PrecedenceGraph, read: SymbolRead, write: Option<StepsId>) -> bool {
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
