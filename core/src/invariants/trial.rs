//! Whether a slice without one of its statements lets the run pass, tried with numbers: what the statement made is
//! given another value, and the rest of the slice is executed. One that passes shows that the statement is needed,
//! without a question to the solver.

use super::encode::Encoding;
use crate::symbolic::{ExprId, Exprs, Node, SymbolId, expr::Values};
use std::collections::BTreeSet;

/// Values of all versions while a slice is executed.
pub(super) struct Trial<'a> {
    encoding: &'a Encoding,
    rows: &'a BTreeSet<usize>,
    /// Unknowns that each statement uses.
    uses: &'a [Vec<SymbolId>],
    is_control: bool,
    assumes: bool,
}

/// Trees of expressions up to this size are worked out directly.
const SMALL: usize = 48;

impl<'a> Trial<'a> {
    pub fn new(
        encoding: &'a Encoding,
        rows: &'a BTreeSet<usize>,
        uses: &'a [Vec<SymbolId>],
        (is_control, assumes): (bool, bool),
    ) -> Trial<'a> {
        Trial {
            encoding,
            rows,
            uses,
            is_control,
            assumes,
        }
    }

    /// Whether the slice passes for some value of what this statement of it made. False when none of those tried
    /// does. Linear in the slice behind it, for each of some values.
    pub fn passes_without(&self, row: usize) -> bool {
        let Some(statement) = self.encoding.statement(row) else {
            return false;
        };
        let changes = self.changes();
        let of_itself = statement.makes.map(|made| (made, None));
        let mut levers: Vec<(SymbolId, Option<SymbolId>)> = of_itself.into_iter().collect();
        if let Some(taken) = statement.taken.filter(|_| self.is_control) {
            let behind = self.rows.range(row..);
            let decided = behind.filter_map(|at| self.encoding.statement(*at));
            let decided = decided.filter(|one| one.guards.contains(&row));
            levers.extend(decided.filter_map(|one| Some((one.makes?, Some(taken)))));
            levers.push((taken, Some(taken)));
        }
        levers.into_iter().take(4).any(|(lever, not_taken)| {
            let width = self.encoding.var(lever).map_or(1, |var| var.width);
            let was = self.encoding.var(lever).and_then(|var| var.recorded);
            let was = was.unwrap_or(0);
            let values = changes
                .iter()
                .map(|change| was.wrapping_add(*change) & mask(width));
            values
                .filter(|value| *value != was || not_taken.is_some())
                .any(|value| self.passes(row, (lever, value), not_taken))
        })
    }

    /// By how much values have to change for what failed to hold no more, as its comparisons suggest.
    fn changes(&self) -> Vec<u128> {
        let exprs = &self.encoding.exprs;
        let was = |symbol: SymbolId| self.encoding.var(symbol)?.recorded;
        let mut changes = Vec::new();
        let mut open: Vec<ExprId> = self.encoding.wrong().into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut values = Values::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Node::Compare(_, a, b) = exprs.node(id) {
                let sides = [a, b].map(|side| exprs.value(side, &mut values, &was));
                if let [Some(a), Some(b)] = sides {
                    let gap = b.wrapping_sub(a);
                    changes.extend([gap, gap.wrapping_add(1), gap.wrapping_sub(1)]);
                    let back = gap.wrapping_neg();
                    changes.extend([back, back.wrapping_add(1), back.wrapping_sub(1)]);
                }
            }
            open.extend(exprs.operands(id));
        }
        changes.extend([1, u128::MAX]);
        let mut once = BTreeSet::new();
        changes.retain(|change| once.insert(*change));
        changes.truncate(12);
        changes
    }

    fn passes(
        &self,
        without: usize,
        (lever, value): (SymbolId, u128),
        not_taken: Option<SymbolId>,
    ) -> bool {
        let encoding = self.encoding;
        let mut held: Vec<Option<u128>> = encoding.vars.iter().map(|var| var.recorded).collect();
        let mut is_new = vec![false; held.len()];
        let mut set = |held: &mut Vec<Option<u128>>, symbol: SymbolId, value: Option<u128>| {
            if let (Some(slot), Some(new)) =
                (held.get_mut(symbol.index()), is_new.get_mut(symbol.index()))
            {
                *new |= *slot != value;
                *slot = value;
            }
            is_new.get(symbol.index()).copied().unwrap_or(false)
        };
        set(&mut held, lever, Some(value));
        if let Some(taken) = not_taken {
            set(&mut held, taken, Some(0));
        }
        let failure = encoding.failure();
        for &row in self.rows.range(without + 1..) {
            let Some(statement) = encoding.statement(row).filter(|_| row != failure) else {
                continue;
            };
            let uses = self.uses.get(row).map_or(&[][..], Vec::as_slice);
            let has_changed = |symbol: &SymbolId| {
                let was = encoding.var(*symbol).and_then(|var| var.recorded);
                held.get(symbol.index()).copied().flatten() != was
            };
            if !uses.iter().any(has_changed) {
                continue;
            }
            // What no branch leads to may hold anything: the lever its value, the rest what it held.
            if !self.is_reached(row, &held) {
                continue;
            }
            let pairs = [
                (statement.makes, statement.value),
                (statement.taken, statement.condition),
            ];
            for (made, value) in pairs {
                if let Some((made, value)) = made.zip(value) {
                    let bits = evaluate(&encoding.exprs, value, &held);
                    set(&mut held, made, bits);
                    if self.assumes && Some(made) == statement.taken && bits != Some(1) {
                        return false;
                    }
                }
            }
        }
        let wrong = encoding.wrong();
        let is_wrong = wrong.and_then(|wrong| evaluate(&encoding.exprs, wrong, &held));
        is_wrong == Some(0) || !self.is_reached(failure, &held)
    }

    fn is_reached(&self, row: usize, held: &[Option<u128>]) -> bool {
        let statement = self.encoding.statement(row).filter(|_| self.is_control);
        let guards = statement.map_or(&[][..], |one| one.guards.as_slice());
        guards.iter().all(|guard| {
            let taken = self.encoding.statement(*guard).and_then(|one| one.taken);
            taken.is_none_or(|taken| held.get(taken.index()).copied().flatten() == Some(1))
        })
    }
}

fn mask(width: u8) -> u128 {
    u128::MAX >> (128 - u32::from(width.clamp(1, 128)))
}

fn evaluate(exprs: &Exprs, id: ExprId, held: &[Option<u128>]) -> Option<u128> {
    let symbol = |symbol: SymbolId| held.get(symbol.index()).copied().flatten();
    let mut left = SMALL;
    match is_small(exprs, id, &mut left) {
        true => directly(exprs, id, &symbol),
        false => exprs.value(id, &mut Values::new(), &symbol),
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

/// A tree of at most [`SMALL`] parts.
fn directly(exprs: &Exprs, id: ExprId, symbol: &impl Fn(SymbolId) -> Option<u128>) -> Option<u128> {
    exprs.evaluate(id, |operand| directly(exprs, operand, symbol), symbol)
}
