//! The reads that matter, and what each may take.

use super::{
    super::{
        graph::Graph,
        problem::{NodeId, Read, Write},
        translate::number,
    },
    Engine,
};
use crate::symbolic::{ExprId, Origin, SymbolId};
use std::rc::Rc;
use z3::ast::{BV, Bool};

/// Candidates that the solver gets of a read that need not take what it takes in the order at hand, and how many
/// times as many when it asks for more.
const FIRST: usize = 6;
const MORE: usize = 4;

/// A read that matters.
#[derive(Debug)]
pub(in super::super) struct Known {
    pub read: Read,
    /// What the solver lets it take, with the literals; what it takes in the order at hand stands first, if it can.
    pub given: Vec<(Option<Write>, u32)>,
    /// The first is that of the order at hand.
    has_hint: bool,
    /// What else it may take, the nearest last; `None` as long as nobody asked.
    others: Option<Vec<Option<Write>>>,
    /// Assumed: there are no others than those that the solver has.
    pub only_these: Option<u32>,
}

impl Known {
    /// The literal that says that it takes what it takes in the order at hand.
    pub fn hint(&self) -> Option<u32> {
        let first = self.given.first().filter(|_| self.has_hint);
        first.map(|(_, literal)| *literal)
    }
}

impl Engine<'_, '_, '_> {
    pub(super) fn need(&mut self, id: ExprId) {
        for &symbol in self.symbols_of(id).iter() {
            if self.seen.insert(symbol) {
                self.open.push(symbol);
            }
        }
    }

    /// The symbols of an expression, worked out once.
    pub(super) fn symbols_of(&mut self, id: ExprId) -> Rc<[SymbolId]> {
        let exprs = &self.problem.trace.exprs;
        let symbols = self.symbols.entry(id);
        symbols.or_insert_with(|| exprs.symbols(id).into()).clone()
    }

    /// Gives the solver the reads that have turned out to matter.
    pub(super) fn give_all(&mut self) {
        while let Some(symbol) = self.open.pop() {
            match self.problem.reads.get(&symbol) {
                Some(&read) => self.give_first(symbol, read),
                None => self.outside(symbol),
            }
        }
    }

    pub(super) fn variable(&self, symbol: SymbolId) -> Option<BV> {
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

    /// The read with what it takes in the order at hand, or, where it cannot take that, with what is nearest.
    fn give_first(&mut self, symbol: SymbolId, read: Read) {
        let hint = self.last_before(read);
        let can = self.has_value(symbol, read, hint)
            && !excluded(&self.always, read, hint.map(|write| write.node));
        let known = Known {
            read,
            given: Vec::new(),
            has_hint: can,
            others: None,
            only_these: None,
        };
        self.known.insert(symbol, known);
        self.reads.push(symbol);
        match can {
            true => self.give(symbol, vec![hint], true),
            false => self.give_more(symbol),
        }
    }

    /// The last write before the read in the order at hand.
    fn last_before(&self, read: Read) -> Option<Write> {
        let here = self.problem.place_of(read.node);
        let chains = self.problem.writes.get(read.cell.index())?;
        let last = chains.iter().filter_map(|writes| {
            let count = writes.partition_point(|write| self.problem.place_of(write.node) < here);
            writes.get(count.checked_sub(1)?)
        });
        last.max_by_key(|write| self.problem.place_of(write.node))
            .copied()
    }

    /// Would the read have a value, of its width?
    fn has_value(&self, symbol: SymbolId, read: Read, candidate: Option<Write>) -> bool {
        let trace = self.problem.trace;
        match candidate {
            Some(write) => {
                let width = trace.symbol(symbol).map(|symbol| symbol.width);
                Some(trace.exprs.width(write.value)) == width
            }
            None => self.initial(read).is_some(),
        }
    }

    fn initial(&self, read: Read) -> Option<u128> {
        let first = self.problem.initial.get(read.cell.index());
        first.copied().flatten()
    }

    /// What a read may take as far as program order and synchronization go, besides what the solver has; the nearest
    /// last.
    fn others(
        &mut self,
        symbol: SymbolId,
        read: Read,
        given: &[Option<NodeId>],
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
        let place = |node: NodeId| self.problem.place_of(node);
        let here = place(read.node);
        others.sort_by_key(|candidate| {
            let far = candidate.map_or(here, |write| here.abs_diff(place(write.node)));
            std::cmp::Reverse(far)
        });
        others
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
            let is_before = |other: &Write| self.always.is_before(write.node, other.node);
            before.iter().any(is_before)
        };
        let last = before.iter().filter(|write| !is_over(write));
        found.extend(last.copied().map(Some));
        found
    }

    /// Gives the solver more of the read's candidates, the nearest of those that it does not have.
    pub(super) fn give_more(&mut self, symbol: SymbolId) {
        let Some(known) = self.known.get_mut(&symbol) else {
            return;
        };
        let read = known.read;
        let given: Vec<Option<NodeId>> = known
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

    /// Gives the solver these candidates of the read besides those that it has; are there others?
    fn give(&mut self, symbol: SymbolId, new: Vec<Option<Write>>, is_more: bool) {
        let Some(mut known) = self.known.remove(&symbol) else {
            return;
        };
        for candidate in new {
            let literal = self.take(symbol, known.read, candidate);
            known.given.push((candidate, literal));
            self.rule_out(known.read, candidate, literal);
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
                let known = self.problem.trace.symbol(symbol);
                let width = known.map_or(1, |symbol| symbol.width);
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
    pub(super) fn rule_out(&mut self, read: Read, candidate: Option<Write>, literal: u32) {
        let Some((guard, graph)) = &self.now else {
            return;
        };
        let write = candidate.map(|write| write.node);
        if excluded(graph, read, write) {
            let out = Bool::or(&[self.bool(*guard).not(), self.bool(literal).not()]);
            self.solver.assert(&out);
        }
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
