//! The statements that together make the run fail, as few as can be shown: the data (and control) slice of
//! the failure, from which statements are removed one by one while the rest still implies the failure.
//!
//! The versions that a removed statement makes become free. The effect on the failure is computed by
//! substitution; the remaining condition over the free versions, mostly over one of them, is decided by
//! [`Asker`].

use super::{
    encode::EncodedPath,
    model::{Minimality, Statement},
    rewrite::replaced,
    solve::{Can, SatisfiabilityQuery},
    trial::SliceTrial,
};
use crate::{ExprId, SymbolId};
use std::collections::BTreeSet;
use unsnarl_core::Budget;

/// A slice of the path with its known values.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// The statements, ascending, including the failure.
    pub rows: BTreeSet<usize>,
    /// The value of each version that the slice fixes: a number, or an expression over versions it leaves
    /// free.
    pub known: Vec<Option<ExprId>>,
    pub minimality: Minimality,
    /// `true` if path conditions are part of the formula themselves, not only as guards of other statements.
    pub assumes: bool,
}

impl Core {
    /// Returns whether the slice fixes this version.
    pub fn is_fixed(&self, encoding: &EncodedPath, symbol: SymbolId) -> bool {
        let known = self.known.get(symbol.index()).copied().flatten();
        known.is_some_and(|known| encoding.exprs.constant(known).is_some())
    }
}

/// Computes the slice. Quadratic in its length at worst; when the budget ends, untried statements stay in.
pub(super) fn core(
    encoding: &mut EncodedPath,
    is_control: bool,
    asker: &mut SatisfiabilityQuery,
    budget: &Budget,
) -> Option<Core> {
    let failure = encoding.failure();
    for assumes in [false, true] {
        let rows = reached(encoding, is_control, assumes);
        let mut search = MinimalSearch::new(encoding, rows, is_control, assumes);
        let known = search.evaluate(encoding, &vec![None; encoding.vars.len()], None);
        match search.can_pass(encoding, &known, asker, None) {
            Can::No => {}
            // The path conditions themselves may be part of the formula.
            _ => continue,
        }
        let mut core = Core {
            rows: search.rows.clone(),
            known,
            minimality: Minimality::Proved,
            assumes,
        };
        let mut open = 0;
        for row in search.candidates(encoding) {
            if row == failure {
                continue;
            }
            if budget.stop().is_some() {
                open += 1;
                continue;
            }
            let trial = SliceTrial {
                encoding,
                rows: &search.rows,
                readers: &search.readers,
                is_control,
                assumes,
            };
            if trial.passes_without(row) {
                continue;
            }
            let without = search.evaluate(encoding, &core.known, Some(row));
            search.rows.remove(&row);
            match search.can_pass(encoding, &without, asker, Some(row)) {
                Can::No => core.known = without,
                can => {
                    search.rows.insert(row);
                    open += usize::from(can == Can::Unknown);
                }
            }
        }
        core.rows = search.rows;
        if open > 0 {
            core.minimality = Minimality::Open(open);
        }
        return Some(core);
    }
    None
}

/// The statements that the failure is data dependent on; with control, also those it is control dependent on.
fn reached(encoding: &EncodedPath, is_control: bool, assumes: bool) -> BTreeSet<usize> {
    let mut open: Vec<usize> = vec![encoding.failure()];
    if assumes {
        let conditions = encoding.statements.iter().enumerate();
        open.extend(
            conditions
                .filter(|(_, one)| one.condition.is_some())
                .map(|one| one.0),
        );
    }
    let mut rows = BTreeSet::new();
    while let Some(row) = open.pop() {
        if !rows.insert(row) {
            continue;
        }
        let Some(statement) = encoding.statement(row) else {
            continue;
        };
        let used = [statement.value, statement.condition].into_iter().flatten();
        for symbol in used.flat_map(|used| encoding.exprs.symbols(used)) {
            open.extend(encoding.var(symbol).and_then(|var| var.made_by));
        }
        if is_control {
            open.extend(&statement.guards);
        }
    }
    rows
}

struct MinimalSearch {
    rows: BTreeSet<usize>,
    is_control: bool,
    assumes: bool,
    /// Unknowns that each statement uses.
    uses: Vec<Vec<SymbolId>>,
    /// Per unknown: the statements that use it, ascending.
    readers: Vec<Vec<usize>>,
}

impl MinimalSearch {
    fn new(
        encoding: &EncodedPath,
        rows: BTreeSet<usize>,
        is_control: bool,
        assumes: bool,
    ) -> MinimalSearch {
        let mut uses = vec![Vec::new(); encoding.statements.len()];
        for &row in &rows {
            let (Some(statement), Some(list)) = (encoding.statement(row), uses.get_mut(row)) else {
                continue;
            };
            let used = [statement.value, statement.condition].into_iter().flatten();
            list.extend(used.flat_map(|used| encoding.exprs.symbols(used)));
            if is_control {
                list.extend(taken(encoding, statement));
            }
        }
        let mut readers = vec![Vec::new(); encoding.vars.len()];
        for (row, uses) in uses.iter().enumerate() {
            for symbol in uses {
                if let Some(readers) = readers.get_mut(symbol.index()) {
                    readers.push(row);
                }
            }
        }
        MinimalSearch {
            rows,
            is_control,
            assumes,
            uses,
            readers,
        }
    }

    /// Statements in the order of removal: memory accesses and conditions first, then the oldest.
    fn candidates(&self, encoding: &EncodedPath) -> Vec<usize> {
        let is_condition = |row: &&usize| {
            let statement = encoding.statement(**row);
            self.assumes && statement.is_some_and(|one| one.makes.is_none())
        };
        let (first, then): (Vec<&usize>, Vec<&usize>) = self.rows.iter().partition(is_condition);
        first.into_iter().chain(then).copied().collect()
    }

    /// Values of all versions. `before` holds those with all rows; then only values that depend on `without`
    /// are recomputed.
    fn evaluate(
        &self,
        encoding: &mut EncodedPath,
        before: &[Option<ExprId>],
        without: Option<usize>,
    ) -> Vec<Option<ExprId>> {
        let mut known = before.to_vec();
        let mut is_new = vec![without.is_none(); known.len()];
        let rows: Vec<usize> = self.rows.range(without.unwrap_or(0)..).copied().collect();
        for row in rows {
            let is_used = |symbol: &SymbolId| is_new.get(symbol.index()) == Some(&true);
            let uses = self.uses.get(row).map_or(&[][..], Vec::as_slice);
            if Some(row) != without && without.is_some() && !uses.iter().any(is_used) {
                continue;
            }
            for (made, value) in self.made(encoding, row, &known) {
                let value = value.filter(|_| Some(row) != without);
                let slot = known.get_mut(made.index());
                let has_changed = slot.as_ref().is_some_and(|slot| **slot != value);
                if let (Some(slot), Some(new)) = (slot, is_new.get_mut(made.index())) {
                    *slot = value;
                    *new |= has_changed;
                }
            }
        }
        known
    }

    /// Versions that a statement makes, with known values substituted.
    fn made(
        &self,
        encoding: &mut EncodedPath,
        row: usize,
        known: &[Option<ExprId>],
    ) -> Vec<(SymbolId, Option<ExprId>)> {
        let Some(statement) = encoding.statement(row) else {
            return Vec::new();
        };
        let (makes, value) = (statement.makes, statement.value);
        let (has_taken, condition) = (statement.taken, statement.condition);
        let mut made = Vec::new();
        for (symbol, value) in [(makes, value), (has_taken, condition)] {
            let Some((symbol, value)) = symbol.zip(value) else {
                continue;
            };
            let value = put(encoding, value, known);
            let is_reached = self.reached(encoding, row, known);
            let width = encoding.exprs.width(value);
            let open = encoding.exprs.symbol(symbol, width);
            made.push((symbol, Some(encoding.exprs.choose(is_reached, value, open))));
        }
        made
    }

    /// The condition that the branches around a statement were taken.
    fn reached(&self, encoding: &mut EncodedPath, row: usize, known: &[Option<ExprId>]) -> ExprId {
        let statement = encoding.statement(row).filter(|_| self.is_control);
        let guards = statement.map_or(Vec::new(), |statement| taken(encoding, statement));
        let mut all = encoding.exprs.number(1, 1);
        for guard in guards {
            let guard = encoding.exprs.symbol(guard, 1);
            let guard = put(encoding, guard, known);
            all = both(encoding, all, guard);
        }
        all
    }

    /// Returns whether the statements permit the run to pass.
    fn can_pass(
        &self,
        encoding: &mut EncodedPath,
        known: &[Option<ExprId>],
        asker: &mut SatisfiabilityQuery,
        without: Option<usize>,
    ) -> Can {
        let failure = encoding.failure();
        let Some(wrong) = encoding.wrong() else {
            return Can::Yes;
        };
        let wrong = put(encoding, wrong, known);
        let is_reached = self.reached(encoding, failure, known);
        let fails = both(encoding, wrong, is_reached);
        let mut all = vec![encoding.exprs.not(fails)];
        if self.assumes {
            let rows: Vec<usize> = self.rows.iter().copied().collect();
            for row in rows.into_iter().filter(|row| *row != failure) {
                let condition = encoding.statement(row).and_then(|one| one.condition);
                if let Some(condition) = condition {
                    all.push(put(encoding, condition, known));
                }
            }
        }
        let hint = without.and_then(|row| encoding.statement(row)?.recorded);
        asker.all(&mut encoding.exprs, &all, hint.as_slice())
    }
}

/// The unknowns that stand for the directions of the branches around a statement.
pub(super) fn taken(encoding: &EncodedPath, statement: &Statement) -> Vec<SymbolId> {
    let guards = statement.guards.iter();
    guards
        .filter_map(|guard| encoding.statement(*guard)?.taken)
        .collect()
}

fn put(encoding: &mut EncodedPath, id: ExprId, known: &[Option<ExprId>]) -> ExprId {
    replaced(&mut encoding.exprs, id, &|symbol| {
        known.get(symbol.index()).copied().flatten()
    })
}

/// Conjunction of two conditions.
pub(super) fn both(encoding: &mut EncodedPath, a: ExprId, b: ExprId) -> ExprId {
    match (encoding.exprs.constant(a), encoding.exprs.constant(b)) {
        (Some(1), _) | (_, Some(0)) => b,
        (_, Some(1)) | (Some(0), _) => a,
        _ => encoding.exprs.binary(crate::Binary::And, a, b),
    }
}
