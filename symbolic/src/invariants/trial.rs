//! Trial of a slice without one of its statements, executed with concrete numbers: the statement's result is
//! given another value, and the rest of the slice is executed. A trial that passes shows that the statement
//! is needed, without a query to the solver.

use super::encode::EncodedPath;
use crate::{ExprId, ExprNode, Exprs, SymbolId, expr::Values};
use rustc_hash::FxHashMap;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

/// A slice that is executed with other values.
pub(super) struct SliceTrial<'a> {
    pub encoding: &'a EncodedPath,
    pub rows: &'a BTreeSet<usize>,
    /// Per unknown: statements that use it, ascending, including those removed from the slice.
    pub readers: &'a [Vec<usize>],
    /// `true` if branches decide which statements are executed.
    pub is_control: bool,
    /// `true` if branches must go as recorded.
    pub assumes: bool,
}

/// Bound on the size of expression trees that are evaluated directly.
const SMALL: usize = 48;
/// Bounds on the levers, the values of each, and the values tried for statements that no branch leads to.
const LEVERS: usize = 4;
const VALUES: usize = 16;
const BEYOND: usize = 5;
/// Bound on the free versions, and on the values of each, that are tried last.
const MENDED: usize = 4;

/// A change to try first: an unknown that no statement of the slice makes any more, and its value.
#[derive(Clone, Copy)]
struct Lever {
    symbol: SymbolId,
    value: u128,
    /// The branch that was removed and may go in the other direction.
    not_taken: Option<SymbolId>,
}

impl SliceTrial<'_> {
    /// `true` if the slice passes for some value of the removed statement's result; `false` when none of the
    /// values tried does. Linear in the statements that depend on it, for each of a few values.
    pub fn passes_without(&self, row: usize) -> bool {
        let changes = self.changes();
        // Versions that no branch leads to are free: they may keep their values, or have others.
        let beyond = || {
            let changed = changes.iter().take(BEYOND).copied().map(Some);
            std::iter::once(None).chain(changed.filter(|_| self.is_control && !self.assumes))
        };
        let levers = self.levers(row, &changes);
        let any = |mends| {
            let mut levers = levers.iter();
            levers.any(|lever| beyond().any(|beyond| self.passes(row, *lever, beyond, mends)))
        };
        any(false) || any(true)
    }

    /// The unknowns that can be changed when a statement is removed, and their values.
    fn levers(&self, row: usize, changes: &[u128]) -> Vec<Lever> {
        let Some(statement) = self.encoding.statement(row) else {
            return Vec::new();
        };
        let mut levers: Vec<(SymbolId, Option<SymbolId>)> = Vec::new();
        if let Some(taken) = statement.taken.filter(|_| self.is_control) {
            levers.push((taken, Some(taken)));
            let readers = self
                .readers
                .get(taken.index())
                .map_or(&[][..], Vec::as_slice);
            let decided = readers.iter().filter(|row| self.rows.contains(row));
            let decided = decided.filter_map(|at| self.encoding.statement(*at)?.makes);
            levers.extend(decided.map(|made| (made, Some(taken))));
        }
        levers.extend(statement.makes.map(|made| (made, None)));
        let all = levers.into_iter().take(LEVERS);
        let all = all.flat_map(|(symbol, not_taken)| {
            let values = self.values(symbol, changes);
            let to = move |value| Lever {
                symbol,
                value,
                not_taken,
            };
            values.into_iter().map(to)
        });
        all.collect()
    }

    /// Likely values of an unknown: those that differ from the recorded one by a distance between failing and
    /// passing, and the ends of its type, which invert most comparisons.
    fn values(&self, symbol: SymbolId, changes: &[u128]) -> Vec<u128> {
        let var = self.encoding.var(symbol);
        let width = var.map_or(1, |var| var.width);
        let was = var.and_then(|var| var.recorded).unwrap_or(0);
        let near = changes.iter().map(|change| was.wrapping_add(*change));
        let most = mask(width) >> 1;
        let ends = [0, 1, most, most.wrapping_add(1), u128::MAX];
        let mut once = BTreeSet::new();
        let all = near.take(VALUES - ends.len()).chain(ends);
        let all = all.map(|value| value & mask(width));
        all.filter(|value| *value != was && once.insert(*value))
            .collect()
    }

    /// Distances by which values have to change for the failing condition to become false.
    fn changes(&self) -> Vec<u128> {
        let mut changes = gaps(self.encoding, &|symbol| self.encoding.var(symbol)?.recorded);
        changes.extend([1, u128::MAX]);
        let mut once = BTreeSet::from([0]);
        changes.retain(|change| once.insert(*change));
        changes
    }

    /// Executes the statements that depend on the lever. Statements that no branch leads to are changed by
    /// `beyond`; if that is not enough and `mends` is set, a free version is set to the value that the
    /// failure lacks.
    fn passes(&self, without: usize, lever: Lever, beyond: Option<u128>, mends: bool) -> bool {
        let mut held = HeldValues {
            trial: self,
            without,
            beyond,
            changed: FxHashMap::default(),
            reading: BinaryHeap::new(),
            free: Vec::new(),
        };
        held.set(lever.symbol, Some(lever.value));
        if let Some(taken) = lever.not_taken {
            held.set(taken, Some(0));
        }
        if !held.run() {
            return false;
        }
        held.has_passed() || mends && held.can_be_mended()
    }
}

/// Differences between the sides of the failing condition, for some values.
fn gaps(encoding: &EncodedPath, values: &impl Fn(SymbolId) -> Option<u128>) -> Vec<u128> {
    let exprs = &encoding.exprs;
    let mut gaps = Vec::new();
    let mut open: Vec<ExprId> = encoding.wrong().into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut known = Values::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let ExprNode::Compare(_, a, b) = exprs.node(id) {
            let sides = [a, b].map(|side| exprs.value(side, &mut known, values));
            if let [Some(a), Some(b)] = sides {
                let gap = b.wrapping_sub(a);
                gaps.extend([gap, gap.wrapping_add(1), gap.wrapping_sub(1)]);
                let back = gap.wrapping_neg();
                gaps.extend([back, back.wrapping_add(1), back.wrapping_sub(1)]);
            }
        }
        open.extend(exprs.operands(id));
    }
    gaps
}

/// Values of all versions while a slice is executed.
#[derive(Clone)]
struct HeldValues<'a> {
    trial: &'a SliceTrial<'a>,
    /// The removed statement.
    without: usize,
    /// Difference to the run for statements that no branch leads to.
    beyond: Option<u128>,
    /// Versions that differ from the recorded values.
    changed: FxHashMap<SymbolId, Option<u128>>,
    /// Statements that use a changed version, not executed yet.
    reading: BinaryHeap<Reverse<usize>>,
    /// Versions that may have any value.
    free: Vec<SymbolId>,
}

impl HeldValues<'_> {
    fn get(&self, symbol: SymbolId) -> Option<u128> {
        match self.changed.get(&symbol) {
            Some(value) => *value,
            None => self.trial.encoding.var(symbol)?.recorded,
        }
    }

    fn set(&mut self, symbol: SymbolId, value: Option<u128>) {
        if self.get(symbol) == value {
            return;
        }
        self.changed.insert(symbol, value);
        let readers = self.trial.readers.get(symbol.index());
        let readers = readers.into_iter().flatten();
        self.reading.extend(readers.copied().map(Reverse));
    }

    /// Executes all statements that use a changed version; `false` when the path could not have gone on.
    fn run(&mut self) -> bool {
        let failure = self.trial.encoding.failure();
        while let Some(Reverse(row)) = self.reading.pop() {
            // All versions that it uses are known by now; those that it makes are used later.
            while self.reading.peek() == Some(&Reverse(row)) {
                self.reading.pop();
            }
            if row <= self.without || row == failure || !self.trial.rows.contains(&row) {
                continue;
            }
            let goes_on = match self.is_reached(row) {
                true => self.execute(row),
                false => self.leave(row),
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn has_passed(&self) -> bool {
        let encoding = self.trial.encoding;
        let wrong = encoding.wrong();
        let is_wrong = wrong.and_then(|wrong| self.evaluate(wrong));
        is_wrong == Some(0) || !self.is_reached(encoding.failure())
    }

    /// `true` if one of the last free versions can take the value that the failure lacks.
    fn can_be_mended(&self) -> bool {
        if self.free.is_empty() {
            return false;
        }
        let gaps = gaps(self.trial.encoding, &|symbol| self.get(symbol));
        let last = self.free.iter().rev().take(MENDED);
        last.copied().any(|symbol| {
            let width = self.trial.encoding.var(symbol).map_or(1, |var| var.width);
            let was = self.get(symbol).unwrap_or(0);
            gaps.iter().take(MENDED).any(|gap| {
                let mut mended = self.clone();
                mended.set(symbol, Some(was.wrapping_add(*gap) & mask(width)));
                mended.run() && mended.has_passed()
            })
        })
    }

    fn evaluate(&self, id: ExprId) -> Option<u128> {
        evaluate(&self.trial.encoding.exprs, id, &|symbol| self.get(symbol))
    }

    /// Executes a statement with the current versions; `false` when the path could not have gone on.
    fn execute(&mut self, row: usize) -> bool {
        let Some(statement) = self.trial.encoding.statement(row) else {
            return true;
        };
        if let Some((made, value)) = statement.makes.zip(statement.value) {
            let bits = self.evaluate(value);
            self.set(made, bits);
        }
        if let Some((taken, condition)) = statement.taken.zip(statement.condition) {
            let bits = self.evaluate(condition);
            self.set(taken, bits);
            return !self.trial.assumes || bits == Some(1);
        }
        true
    }

    /// Skips a statement that no branch leads to.
    fn leave(&mut self, row: usize) -> bool {
        let Some(statement) = self.trial.encoding.statement(row) else {
            return true;
        };
        if let Some(condition) = statement.condition.filter(|_| self.trial.assumes) {
            return self.evaluate(condition) == Some(1);
        }
        self.free.extend(statement.makes);
        if let Some(by) = self.beyond {
            let var = statement
                .makes
                .and_then(|made| Some((made, self.trial.encoding.var(made)?)));
            if let Some((made, var)) = var {
                let value = var.recorded.unwrap_or(0).wrapping_add(by) & mask(var.width);
                self.set(made, Some(value));
            }
            if let Some(taken) = statement.taken {
                self.set(taken, Some(0));
            }
        }
        true
    }

    fn is_reached(&self, row: usize) -> bool {
        let encoding = self.trial.encoding;
        let statement = encoding.statement(row).filter(|_| self.trial.is_control);
        let guards = statement.map_or(&[][..], |one| one.guards.as_slice());
        guards.iter().all(|guard| {
            let taken = encoding.statement(*guard).and_then(|one| one.taken);
            taken.is_none_or(|taken| self.get(taken) == Some(1))
        })
    }
}

fn mask(width: u8) -> u128 {
    u128::MAX >> (128 - u32::from(width.clamp(1, 128)))
}

fn evaluate(exprs: &Exprs, id: ExprId, symbol: &impl Fn(SymbolId) -> Option<u128>) -> Option<u128> {
    let mut left = SMALL;
    match is_small(exprs, id, &mut left) {
        true => directly(exprs, id, symbol),
        false => exprs.value(id, &mut Values::new(), symbol),
    }
}

fn is_small(exprs: &Exprs, id: ExprId, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    exprs
        .operands(id)
        .all(|operand| is_small(exprs, operand, left))
}

/// Evaluates a tree of at most [`SMALL`] parts.
fn directly(exprs: &Exprs, id: ExprId, symbol: &impl Fn(SymbolId) -> Option<u128>) -> Option<u128> {
    exprs.evaluate(id, |operand| directly(exprs, operand, symbol), symbol)
}
