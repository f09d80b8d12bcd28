//! Values of the reads under the solver's choices: constraints that the solver does not know must hold for
//! them, or it is given those constraints.

use super::{super::problem::Write, ScheduleEngine};
use crate::{Action, ExprId, SymbolId, SymbolOrigin, expr::Values};
use rustc_hash::{FxHashMap, FxHashSet};
use z3::{Model, ast::Ast};

/// Source of each read, with the literal.
pub(super) type ReadSources = FxHashMap<SymbolId, (Option<Write>, u32)>;

impl ScheduleEngine<'_, '_, '_> {
    /// Values of the reads in the base order, where known.
    pub(super) fn values_at_hand(&self) -> FxHashMap<SymbolId, u128> {
        let mut order: Vec<u32> = (0..self.problem.nodes.len() as u32).collect();
        order.sort_by_key(|&node| self.problem.place_of(node));
        let (mut memory, mut found) = (self.problem.initial.clone(), FxHashMap::default());
        let mut known = Values::new();
        for (_, action) in order.iter().flat_map(|&node| self.problem.actions(node)) {
            match action {
                Action::Read { cell, symbol } => {
                    let value = memory.get(cell.index()).copied().flatten();
                    found.extend(value.map(|value| (symbol, value)));
                }
                Action::Write { cell, value } => {
                    let symbol = |id: SymbolId| match self.problem.reads.contains_key(&id) {
                        true => found.get(&id).copied(),
                        false => self.recorded_outside(id),
                    };
                    let written = self.problem.trace.exprs.value(value, &mut known, &symbol);
                    if let Some(content) = memory.get_mut(cell.index()) {
                        *content = written;
                    }
                }
                _ => {}
            }
        }
        let exprs_fit = |(id, value): &(SymbolId, u128)| {
            let width = self
                .problem
                .trace
                .symbol(*id)
                .map_or(0, |symbol| symbol.width);
            width >= 128 || *value >> width == 0
        };
        found.into_iter().filter(exprs_fit).collect()
    }

    fn recorded_outside(&self, id: SymbolId) -> Option<u128> {
        let symbol = self.problem.trace.symbol(id)?;
        match symbol.origin {
            SymbolOrigin::Outside { .. } => symbol.recorded,
            SymbolOrigin::Read(_) => None,
        }
    }

    /// Sources of the relevant reads in the solver's model; those of reads that the solver does not know are
    /// as in the base order.
    pub(super) fn taken(&mut self, model: &Model) -> ReadSources {
        let mut taken = ReadSources::default();
        let mut open: Vec<SymbolId> = Vec::new();
        for at in 0..self.conditions.len() {
            if let Some(&condition) = self.conditions.get(at) {
                open.extend(self.symbols_of(condition).iter());
            }
        }
        if let Some((condition, _)) = self.bug {
            open.extend(self.symbols_of(condition).iter());
        }
        let mut seen: FxHashSet<SymbolId> = FxHashSet::default();
        while let Some(symbol) = open.pop() {
            let Some(&read) = self
                .problem
                .reads
                .get(&symbol)
                .filter(|_| seen.insert(symbol))
            else {
                continue;
            };
            self.know(symbol, read);
            let Some(known) = self.known.get(&symbol) else {
                continue;
            };
            let hint = known.hint().filter(|hint| !self.dropped.contains(hint));
            let mut given = known.given.iter();
            let found =
                given.find(|(_, literal)| Some(*literal) == hint || self.is_true(model, *literal));
            if let Some(&(write, literal)) = found {
                taken.insert(symbol, (write, literal));
                if let Some(write) = write {
                    open.extend(self.symbols_of(write.value).iter());
                }
            }
        }
        taken
    }

    /// Adds constraints that the solver's choices violate: values of the base order that come out
    /// differently, and path conditions. Returns whether there are any.
    pub(super) fn tell_broken(&mut self, model: &Model, taken: &ReadSources) -> bool {
        let values = self.worked_out(model, taken);
        let is_other = |symbol: &SymbolId| {
            let known = self.known.get(symbol);
            let is_frozen = known.is_some_and(|known| known.frozen.is_some());
            is_frozen && values.get(symbol) != self.recorded.get(symbol)
        };
        let other: Vec<SymbolId> = self.reads.iter().copied().filter(is_other).collect();
        let mut known = Values::new();
        let exprs = &self.problem.trace.exprs;
        let symbol = |id: SymbolId| values.get(&id).copied();
        let is_broken = |condition: &ExprId| {
            !self.given.contains(condition)
                && exprs.value(*condition, &mut known, &symbol) != Some(1)
        };
        let broken: Vec<_> = self.conditions.iter().copied().filter(is_broken).collect();
        for &symbol in &other {
            self.trace(symbol);
        }
        for &condition in &broken {
            self.give_condition(condition);
        }
        !other.is_empty() || !broken.is_empty()
    }

    /// As [`Engine::tell_broken`], where reads may have any value that the solver chose.
    pub(super) fn give_broken(&mut self, model: &Model) -> bool {
        let mut values = self.recorded.clone();
        let mentioned = self.mentioned.iter();
        let of_model =
            mentioned.filter_map(|&symbol| Some((symbol, self.value_in(model, symbol)?)));
        values.extend(of_model);
        let exprs = &self.problem.trace.exprs;
        let mut known = Values::new();
        let symbol = |id: SymbolId| {
            values
                .get(&id)
                .copied()
                .or_else(|| self.recorded_outside(id))
        };
        let is_broken = |condition: &ExprId| {
            !self.given.contains(condition)
                && exprs.value(*condition, &mut known, &symbol) == Some(0)
        };
        let broken: Vec<_> = self.conditions.iter().copied().filter(is_broken).collect();
        for &condition in &broken {
            self.give_condition(condition);
        }
        !broken.is_empty()
    }

    fn give_condition(&mut self, condition: ExprId) {
        if self.given.insert(condition) {
            let truth = self.terms.truth(&self.problem.trace.exprs, condition);
            self.solver.assert(&truth);
            self.mention(condition);
        }
    }

    /// Values that follow from the sources of the reads; reads that depend on themselves have none.
    fn worked_out(&self, model: &Model, taken: &ReadSources) -> FxHashMap<SymbolId, u128> {
        let mut values = self.outside_values(model);
        let mut begun: FxHashSet<SymbolId> = FxHashSet::default();
        let mut known = Values::new();
        let exprs = &self.problem.trace.exprs;
        let mut open: Vec<SymbolId> = taken.keys().copied().collect();
        open.sort_unstable();
        while let Some(&symbol) = open.last() {
            let write = match taken.get(&symbol) {
                Some((Some(write), _)) if !values.contains_key(&symbol) => write,
                Some((None, _)) => {
                    let read = self.problem.reads.get(&symbol);
                    values.extend(read.and_then(|&read| Some((symbol, self.initial(read)?))));
                    open.pop();
                    continue;
                }
                _ => {
                    open.pop();
                    continue;
                }
            };
            let parts = self
                .symbols
                .get(&write.value)
                .map_or(&[][..], |parts| parts);
            let missing = parts.iter().filter(|part| {
                taken.contains_key(part) && !values.contains_key(part) && !begun.contains(part)
            });
            let missing: Vec<SymbolId> = missing.copied().collect();
            if begun.insert(symbol) && !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            open.pop();
            let is_known = parts.iter().all(|part| values.contains_key(part));
            if is_known {
                let value = exprs.value(write.value, &mut known, &|id| values.get(&id).copied());
                values.extend(value.map(|value| (symbol, value)));
            }
        }
        values
    }

    /// Values from outside: the recorded ones, or else the solver's.
    fn outside_values(&self, model: &Model) -> FxHashMap<SymbolId, u128> {
        let symbols = (0..).map(SymbolId).zip(&self.problem.trace.symbols);
        let outside =
            symbols.filter(|(_, symbol)| matches!(symbol.origin, SymbolOrigin::Outside { .. }));
        let value = |(id, symbol): (SymbolId, &crate::UnknownValue)| {
            let value = symbol.recorded.or_else(|| self.value_in(model, id));
            (id, value.unwrap_or(0))
        };
        outside.map(value).collect()
    }

    /// Assumed values of unrecorded input from outside.
    pub(super) fn input_values(&self, model: &Model) -> Vec<(SymbolId, u128)> {
        let is_unrecorded = |id: SymbolId| {
            let symbol = self.problem.trace.symbol(id);
            symbol.is_some_and(|symbol| symbol.recorded.is_none())
        };
        let values = self.outside_values(model).into_iter();
        let mut inputs: Vec<_> = values.filter(|(id, _)| is_unrecorded(*id)).collect();
        inputs.sort_unstable();
        inputs
    }

    fn value_in(&self, model: &Model, symbol: SymbolId) -> Option<u128> {
        let variable = self.variable(symbol)?;
        let width = variable.get_size();
        let part = |from: u32| -> Option<u128> {
            let to = (from + 63).min(width - 1);
            let bits = model.eval(&variable.extract(to, from), true)?.simplify();
            bits.as_u64().map(u128::from)
        };
        let high = if width > 64 { part(64)? } else { 0 };
        Some(high << 64 | part(0)?)
    }
}
