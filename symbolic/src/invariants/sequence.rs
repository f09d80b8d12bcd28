//! The sequence of error invariants, computed backwards from the failure: the condition that has to hold
//! before a statement so that the one after it does.
//!
//! At a statement of the slice the conjuncts over the versions it makes become conditions over those it uses
//! (its weakest precondition). Where the statement is more than a copy, bounds at the recorded values replace
//! them, as few and as weak as suffice (`bal <= 300`): people read those, and they follow one variable at a
//! time. The solver has verified every implication, so the sequence is inductive by construction.

mod bounds;

use super::{
    encode::EncodedPath,
    minimal::{Core, taken},
    model::{Fact, Kind, Minimality, Reach, VarKind},
    range::{self, Bound},
    rewrite::replaced,
    solve::{Can, SatisfiabilityQuery},
};
use crate::{ExprId, ExprNode, SymbolId, Unary};
use bounds::Carried;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_core::{Budget, StopReason};

/// The invariants of a slice.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub reaches: Vec<Reach>,
    /// Stop reason of the search.
    pub stopped: StopReason,
}

/// Computes the invariants for the core's statements. Statements that turn out to be needed are added to the
/// core. Linear in the path, with a few queries for each statement of the slice.
pub(super) fn sequence(
    encoding: &mut EncodedPath,
    core: &mut Core,
    is_control: bool,
    asker: &mut SatisfiabilityQuery,
    budget: &Budget,
) -> Sequence {
    let mut backwards = Backwards {
        encoding,
        core,
        is_control,
        asker,
        grown: BTreeSet::new(),
        live: BTreeMap::new(),
        reaches: Vec::new(),
    };
    let stopped = backwards.all(budget);
    backwards.end(stopped)
}

struct Backwards<'a, 'b> {
    encoding: &'a mut EncodedPath,
    core: &'a mut Core,
    is_control: bool,
    asker: &'a mut SatisfiabilityQuery<'b>,
    /// Unknowns used by statements that were added to the slice.
    grown: BTreeSet<SymbolId>,
    /// Conjuncts at the current position, with the last position they hold at.
    live: BTreeMap<ExprId, usize>,
    reaches: Vec<Reach>,
}

impl Backwards<'_, '_> {
    fn all(&mut self, budget: &Budget) -> StopReason {
        let failure = self.encoding.failure();
        self.begin(failure);
        for row in (0..failure).rev() {
            if let Some(stopped) = budget.stop() {
                self.close(row + 1);
                return stopped;
            }
            self.step(row);
        }
        self.close(0);
        StopReason::Complete
    }

    fn end(mut self, stopped: StopReason) -> Sequence {
        self.reaches.sort();
        Sequence {
            reaches: self.reaches,
            stopped,
        }
    }

    /// Ends the ranges of all live conjuncts at this position.
    fn close(&mut self, from: usize) {
        for (conjunct, to) in std::mem::take(&mut self.live) {
            let fact = Fact::Value(conjunct);
            self.reaches.push(Reach { from, to, fact });
        }
    }

    /// Starts with the invariant right before the failure: the failing condition, and the branches that the
    /// thread took to get there.
    fn begin(&mut self, failure: usize) {
        let wrong = self.encoding.wrong();
        let guards = self.guards(failure);
        self.require(failure, wrong.into_iter().collect(), true);
        self.add(failure, guards);
    }

    fn guards(&mut self, row: usize) -> Vec<ExprId> {
        let statement = self.encoding.statement(row).filter(|_| self.is_control);
        let taken = statement.map_or(Vec::new(), |one| taken(self.encoding, one));
        let exprs = &mut self.encoding.exprs;
        taken.into_iter().map(|one| exprs.symbol(one, 1)).collect()
    }

    fn add(&mut self, position: usize, conjuncts: Vec<ExprId>) {
        for conjunct in conjuncts {
            if self.encoding.exprs.constant(conjunct) == Some(1) {
                continue;
            }
            match range::recognized(&self.encoding.exprs, conjunct) {
                Some((symbol, bound)) => self.bound(position, symbol, bound),
                None => {
                    self.live.entry(conjunct).or_insert(position);
                }
            }
        }
    }

    fn step(&mut self, row: usize) {
        let Some(statement) = self.encoding.statement(row) else {
            return;
        };
        let (makes, value) = (statement.makes, statement.value);
        let (is_taken, condition) = (statement.taken, statement.condition);
        let is_assumed = self.core.assumes && self.core.rows.contains(&row);
        let mut changed: BTreeMap<SymbolId, ExprId> = BTreeMap::new();
        changed.extend(makes.zip(value));
        changed.extend(is_taken.zip(condition));
        let mut affected = Vec::new();
        for &conjunct in self.live.keys() {
            let symbols = self.encoding.exprs.symbols(conjunct);
            if symbols.iter().any(|symbol| changed.contains_key(symbol)) {
                affected.push(conjunct);
            }
        }
        if !affected.is_empty() {
            self.through(row, &changed, &affected);
        }
        if let Some(condition) = condition.filter(|_| is_assumed) {
            self.assumed(row, condition);
        }
    }

    /// Turns the conjuncts over a statement's results into ones over its inputs.
    fn through(&mut self, row: usize, changed: &BTreeMap<SymbolId, ExprId>, affected: &[ExprId]) {
        for conjunct in affected {
            if let Some(to) = self.live.remove(conjunct) {
                let fact = Fact::Value(*conjunct);
                let from = row + 1;
                self.reaches.push(Reach { from, to, fact });
            }
        }
        if !self.core.rows.contains(&row) {
            // The value it makes is unknown: the conjuncts over it must hold for any value.
            let not = self.none_of(affected);
            if self.asker.all(&mut self.encoding.exprs, &[not], &[]) == Can::No {
                return;
            }
            self.grow(row, changed);
        }
        let mut wanted = Vec::new();
        for &conjunct in affected {
            match self.carried(conjunct, changed) {
                Carried::Always => {}
                Carried::To(symbol, bound) => self.bound(row, symbol, bound),
                Carried::No => {
                    let exprs = &mut self.encoding.exprs;
                    let by = |symbol| changed.get(&symbol).copied();
                    wanted.push(replaced(exprs, conjunct, &by));
                }
            }
        }
        let is_copy = changed.values().all(|value| {
            matches!(self.encoding.exprs.node(*value), ExprNode::Symbol(_))
                || self.encoding.exprs.constant(*value).is_some()
        });
        let is_branch = self
            .encoding
            .statement(row)
            .is_some_and(|one| matches!(one.kind, Kind::Branch | Kind::Lock));
        let is_told = wanted.iter().all(|wanted| !self.has_address(*wanted));
        match (is_copy || is_branch) && is_told {
            true => self.add(row, wanted),
            false => self.require(row, wanted, false),
        }
        let guards = self.guards(row);
        self.add(row, guards);
    }

    /// A bound of a statement's result, as one of its inputs.
    fn carried(&self, conjunct: ExprId, changed: &BTreeMap<SymbolId, ExprId>) -> Carried {
        let exprs = &self.encoding.exprs;
        let bound = range::recognized(exprs, conjunct);
        let value = bound.and_then(|(symbol, bound)| Some((*changed.get(&symbol)?, bound)));
        let Some((value, bound)) = value else {
            return Carried::No;
        };
        let carried = bounds::carried(exprs, value, bound);
        // Ranges do not describe a value that overflowed in the run.
        match carried {
            Carried::To(symbol, bound) => {
                let exact = bounds::exact(self.encoding, symbol);
                match exact.is_none_or(|exact| bound.and(exact) == exact) {
                    true => carried,
                    false => Carried::No,
                }
            }
            _ => carried,
        }
    }

    /// `true` for expressions with addresses or with numbers close to the largest one, which mean nothing to
    /// people.
    fn has_address(&self, id: ExprId) -> bool {
        let numbers = self.encoding.exprs.numbers(id);
        numbers.into_iter().any(|number| number >= 1 << 33)
    }

    /// `true` if the condition holds for all values; queried for comparisons with addresses, most of which
    /// do.
    fn is_always(&mut self, id: ExprId) -> bool {
        if self.encoding.exprs.constant(id) == Some(1) {
            return true;
        }
        self.has_address(id) && self.asker.implies(&mut self.encoding.exprs, &[], id)
    }

    /// Adds a statement to the slice.
    fn grow(&mut self, row: usize, changed: &BTreeMap<SymbolId, ExprId>) {
        self.core.rows.insert(row);
        let open = match self.core.minimality {
            Minimality::Proved => 0,
            Minimality::Open(open) => open,
        };
        self.core.minimality = Minimality::Open(open + 1);
        for value in changed.values() {
            self.grown.extend(self.encoding.exprs.symbols(*value));
        }
    }

    /// The condition that not all of them hold.
    fn none_of(&mut self, conjuncts: &[ExprId]) -> ExprId {
        let mut all = self.encoding.exprs.number(1, 1);
        for conjunct in conjuncts {
            all = super::minimal::both(self.encoding, all, *conjunct);
        }
        self.encoding.exprs.not(all)
    }

    /// Drops conjuncts that follow from a path condition, since the condition is part of the formula.
    fn assumed(&mut self, row: usize, condition: ExprId) {
        let symbols = self.encoding.exprs.symbols(condition);
        let near: Vec<ExprId> = self
            .live
            .keys()
            .copied()
            .filter(|one| {
                let own = self.encoding.exprs.symbols(*one);
                own.iter().any(|symbol| symbols.contains(symbol))
            })
            .collect();
        for conjunct in near {
            if self
                .asker
                .implies(&mut self.encoding.exprs, &[condition], conjunct)
                && let Some(to) = self.live.remove(&conjunct)
            {
                let (from, fact) = (row + 1, Fact::Value(conjunct));
                self.reaches.push(Reach { from, to, fact });
            }
        }
        // A conjunct that follows only together with others stays unchanged: it is the stronger invariant.
    }

    /// Adds conjuncts at a position that imply `wanted`: bounds where all values are known, `wanted` itself
    /// elsewhere.
    fn require(&mut self, row: usize, mut wanted: Vec<ExprId>, is_failure: bool) {
        wanted.retain(|wanted| !self.is_always(*wanted));
        if wanted.is_empty() {
            return;
        }
        let mut symbols: Vec<SymbolId> = wanted
            .iter()
            .flat_map(|wanted| self.encoding.exprs.symbols(*wanted))
            .collect();
        symbols.sort_unstable();
        symbols.dedup();
        let is_known = symbols.iter().all(|symbol| self.has_bound(*symbol));
        if !is_known || self.is_plain(&wanted, symbols.len(), is_failure) {
            return self.add(row, wanted);
        }
        match bounds::weakest(self.encoding, self.asker, &symbols, &wanted) {
            Some(bounds) => {
                for (symbol, bound) in bounds {
                    self.bound(row, symbol, bound);
                }
            }
            None => self.add(row, wanted),
        }
    }

    /// `true` if bounds can be stated for a version: it is fixed by the slice, and its value is known.
    fn has_bound(&self, symbol: SymbolId) -> bool {
        let var = self.encoding.var(symbol);
        let is_recorded = var.is_some_and(|var| var.recorded.is_some());
        let is_fixed = self.core.is_fixed(self.encoding, symbol) || self.grown.contains(&symbol);
        is_recorded && (is_fixed || self.is_growing(symbol))
    }

    /// `true` if a statement outside of the slice makes the version; it is added when needed.
    fn is_growing(&self, symbol: SymbolId) -> bool {
        let var = self.encoding.var(symbol);
        let made_by = var.and_then(|var| var.made_by);
        let is_taken = var.is_some_and(|var| var.kind == VarKind::Taken);
        is_taken && made_by.is_some_and(|row| !self.core.rows.contains(&row))
    }

    /// `true` for one short condition as the source has it: `f <= 0`.
    fn is_plain(&self, wanted: &[ExprId], symbols: usize, is_failure: bool) -> bool {
        let [wanted] = wanted else { return false };
        let exprs = &self.encoding.exprs;
        let is_leaf = |id: ExprId| {
            matches!(exprs.node(id), ExprNode::Symbol(_)) || exprs.constant(id).is_some()
        };
        match exprs.node(*wanted) {
            ExprNode::Compare(_, a, b) => is_leaf(a) && is_leaf(b),
            ExprNode::Symbol(_) => true,
            // `x != 450` says less than where `x` was instead.
            ExprNode::Unary(Unary::Not, inner) => match exprs.node(inner) {
                ExprNode::Compare(_, a, b) => {
                    is_failure && symbols == 2 && is_leaf(a) && is_leaf(b)
                }
                ExprNode::Symbol(_) => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// Replaces all bounds of a version by their intersection.
    fn bound(&mut self, row: usize, symbol: SymbolId, bound: Bound) {
        let exprs = &self.encoding.exprs;
        let olds = self.live.keys().copied().filter_map(|id| {
            let (of, old) = range::recognized(exprs, id)?;
            (of == symbol).then_some((id, old))
        });
        let olds: Vec<(ExprId, Bound)> = olds.collect();
        let joint = olds.iter().fold(bound, |joint, (_, old)| joint.and(*old));
        let Some(width) = self.encoding.var(symbol).map(|var| var.width) else {
            return;
        };
        let new = range::expression(&mut self.encoding.exprs, symbol, width, joint);
        for (id, _) in olds.into_iter().filter(|(id, _)| *id != new) {
            if let Some(to) = self.live.remove(&id) {
                let (from, fact) = (row + 1, Fact::Value(id));
                if from <= to {
                    self.reaches.push(Reach { from, to, fact });
                }
            }
        }
        if self.encoding.exprs.constant(new).is_none() {
            self.live.entry(new).or_insert(row);
        }
    }
}
