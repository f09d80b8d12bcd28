//! Intervals of signed numbers: bounds, and conclusions from them without a solver.

use crate::{Binary, Comparison, ExprId, ExprNode, Exprs, SymbolId, Unary};
use rustc_hash::FxHashMap;

/// Range of signed numbers that contains a version's value, ends included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Bound {
    pub low: i128,
    pub high: i128,
}

/// The smallest and the largest signed number of a width.
pub(super) fn whole(width: u8) -> Bound {
    let high = i128::MAX >> (128 - u32::from(width.clamp(1, 128)));
    Bound {
        low: -high - 1,
        high,
    }
}

impl Bound {
    pub const fn exactly(number: i128) -> Bound {
        Bound {
            low: number,
            high: number,
        }
    }

    /// The intersection of both ranges.
    pub fn and(self, other: Bound) -> Bound {
        Bound {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    pub fn holds(self, number: i128) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

/// Interprets the bits as a signed number.
pub(super) fn signed(bits: u128, width: u8) -> i128 {
    let unused = 128 - u32::from(width.clamp(1, 128));
    ((bits << unused) as i128) >> unused
}

/// The bound as a condition; `true` where it excludes nothing.
pub(super) fn expression(exprs: &mut Exprs, symbol: SymbolId, width: u8, bound: Bound) -> ExprId {
    let version = exprs.symbol(symbol, width);
    let [low, high] = [bound.low, bound.high].map(|end| exprs.number(end as u128, width));
    if bound.low == bound.high {
        return exprs.compare(Comparison::Eq, version, low);
    }
    let all = whole(width);
    let least = exprs.compare(Comparison::Sle, low, version);
    let most = exprs.compare(Comparison::Sle, version, high);
    match (bound.low <= all.low, bound.high >= all.high) {
        (true, true) => exprs.number(1, 1),
        (true, false) => most,
        (false, true) => least,
        (false, false) => exprs.binary(Binary::And, least, most),
    }
}

/// The version and its range, if the condition is such a bound.
pub(super) fn recognized(exprs: &Exprs, id: ExprId) -> Option<(SymbolId, Bound)> {
    let (op, a, b) = match exprs.node(id) {
        ExprNode::Compare(op, a, b) => (op, a, b),
        ExprNode::Binary(Binary::And, a, b) => {
            let ((symbol, a), (other, b)) = (recognized(exprs, a)?, recognized(exprs, b)?);
            return (symbol == other).then(|| (symbol, a.and(b)));
        }
        _ => return None,
    };
    let width = exprs.width(a);
    let all = whole(width);
    let number = |id| Some(signed(exprs.constant(id)?, width));
    match (op, exprs.node(a), exprs.node(b)) {
        (Comparison::Eq, ExprNode::Symbol(symbol), _) => Some((symbol, Bound::exactly(number(b)?))),
        (Comparison::Sle, ExprNode::Symbol(symbol), _) => {
            let high = number(b)?;
            Some((symbol, Bound { high, ..all }))
        }
        (Comparison::Slt, ExprNode::Symbol(symbol), _) => {
            let high = number(b)?.checked_sub(1)?;
            Some((symbol, Bound { high, ..all }))
        }
        (Comparison::Sle, _, ExprNode::Symbol(symbol)) => {
            let low = number(a)?;
            Some((symbol, Bound { low, ..all }))
        }
        (Comparison::Slt, _, ExprNode::Symbol(symbol)) => {
            let low = number(a)?.checked_add(1)?;
            Some((symbol, Bound { low, ..all }))
        }
        _ => None,
    }
}

/// Returns whether a condition holds for all values in the ranges that other conditions give; `false` also
/// where ranges are not enough. Linear in the condition.
pub(super) fn follows(exprs: &Exprs, given: &[ExprId], then: ExprId) -> bool {
    let mut known: FxHashMap<SymbolId, Bound> = FxHashMap::default();
    for &one in given {
        if let Some((symbol, bound)) = recognized(exprs, one) {
            let joint = known.get(&symbol).map_or(bound, |old| old.and(bound));
            known.insert(symbol, joint);
        }
    }
    truth(exprs, &known, then) == Some(true)
}

/// The truth value of a condition, if the ranges determine it.
fn truth(exprs: &Exprs, known: &FxHashMap<SymbolId, Bound>, id: ExprId) -> Option<bool> {
    match exprs.node(id) {
        ExprNode::Constant(bits) => Some(bits == 1),
        ExprNode::Unary(Unary::Not, of) if exprs.width(of) == 1 => Some(!truth(exprs, known, of)?),
        ExprNode::Binary(Binary::And, a, b) if exprs.width(a) == 1 => {
            match (truth(exprs, known, a), truth(exprs, known, b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }
        }
        ExprNode::Binary(Binary::Or, a, b) if exprs.width(a) == 1 => {
            match (truth(exprs, known, a), truth(exprs, known, b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }
        }
        ExprNode::Compare(op, a, b) => {
            let (x, y) = (range(exprs, known, a), range(exprs, known, b));
            let is_unsigned = matches!(op, Comparison::Ult | Comparison::Ule);
            if is_unsigned && (x.low < 0 || y.low < 0) {
                return None;
            }
            match op {
                Comparison::Eq if x.high < y.low || y.high < x.low => Some(false),
                Comparison::Eq => (x.low == x.high && x == y).then_some(true),
                Comparison::Slt | Comparison::Ult if x.high < y.low => Some(true),
                Comparison::Slt | Comparison::Ult if x.low >= y.high => Some(false),
                Comparison::Sle | Comparison::Ule if x.high <= y.low => Some(true),
                Comparison::Sle | Comparison::Ule if x.low > y.high => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Bound on the size of expressions whose range is computed; larger ones may have any value.
const PARTS: u32 = 256;

/// The range of an expression whose unknowns may have any value.
pub(super) fn of_all_values(exprs: &Exprs, id: ExprId) -> Bound {
    range(exprs, &FxHashMap::default(), id)
}

fn range(exprs: &Exprs, known: &FxHashMap<SymbolId, Bound>, id: ExprId) -> Bound {
    range_of(exprs, known, id, &mut PARTS.clone())
}

fn range_of(
    exprs: &Exprs,
    known: &FxHashMap<SymbolId, Bound>,
    id: ExprId,
    left: &mut u32,
) -> Bound {
    let width = exprs.width(id);
    let all = whole(width);
    match left.checked_sub(1) {
        Some(rest) => *left = rest,
        None => return all,
    }
    let mut of = |id| range_of(exprs, known, id, left);
    let found = match exprs.node(id) {
        ExprNode::Constant(bits) => Some(Bound::exactly(signed(bits, width))),
        ExprNode::Symbol(symbol) => known.get(&symbol).copied(),
        ExprNode::Unary(Unary::SExt | Unary::Extract(0), a) => Some(of(a)),
        ExprNode::Unary(Unary::ZExt, a) => Some(of(a)).filter(|a| a.low >= 0),
        ExprNode::Binary(Binary::SRem, a, b) => remainder(of(a), of(b)),
        ExprNode::Binary(op, a, b) => arithmetic(op, of(a), of(b)),
        ExprNode::If(_, a, b) => {
            let (a, b) = (of(a), of(b));
            Some(Bound {
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            })
        }
        _ => None,
    };
    // A value beyond the width has wrapped around.
    let fits = |found: &Bound| all.holds(found.low) && all.holds(found.high);
    found.filter(fits).unwrap_or(all)
}

/// Range of a remainder: smaller than the divisor, with the sign of the dividend.
fn remainder(a: Bound, b: Bound) -> Option<Bound> {
    let most = match b
        .low
        .checked_abs()?
        .max(b.high.checked_abs()?)
        .checked_sub(1)
    {
        Some(most) if !b.holds(0) => most,
        // The remainder of a division by zero is the dividend.
        _ => return None,
    };
    Some(Bound {
        low: if a.low < 0 { a.low.max(-most) } else { 0 },
        high: if a.high > 0 { a.high.min(most) } else { 0 },
    })
}

fn arithmetic(op: Binary, a: Bound, b: Bound) -> Option<Bound> {
    let ends = match op {
        Binary::Add => [a.low.checked_add(b.low)?, a.high.checked_add(b.high)?].to_vec(),
        Binary::Sub => [a.low.checked_sub(b.high)?, a.high.checked_sub(b.low)?].to_vec(),
        Binary::Mul => {
            let pairs = [
                (a.low, b.low),
                (a.low, b.high),
                (a.high, b.low),
                (a.high, b.high),
            ];
            let products = pairs.into_iter().map(|(x, y)| x.checked_mul(y));
            products.collect::<Option<Vec<i128>>>()?
        }
        _ => return None,
    };
    Some(Bound {
        low: ends.iter().copied().min()?,
        high: ends.iter().copied().max()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Values;
    use proptest::prelude::*;

    proptest! {
        /// Conclusions from ranges hold for all values in them.
        #[test]
        fn what_follows_holds(ends in any::<[i8; 4]>(), at in any::<[u8; 2]>(), op in 0..4usize, limit in any::<i8>()) {
            let mut exprs = Exprs::default();
            let order = |a: i8, b: i8| Bound { low: a.min(b).into(), high: a.max(b).into() };
            let bounds = [order(ends[0], ends[1]), order(ends[2], ends[3])];
            let given = [0, 1].map(|row| expression(&mut exprs, SymbolId(row), 8, bounds[row as usize]));
            let [x, y] = [0, 1].map(|row| exprs.symbol(SymbolId(row), 8));
            let ops = [Binary::Add, Binary::Sub, Binary::Mul, Binary::SRem];
            let value = exprs.binary(ops[op], x, y);
            let number = exprs.number(limit as u128, 8);
            let then = exprs.compare(Comparison::Sle, value, number);
            let picked = [0, 1].map(|row: usize| {
                let Bound { low, high } = bounds[row];
                (low + i128::from(at[row]) % (high - low + 1)) as u128 & 255
            });
            let holds = exprs.value(then, &mut Values::new(), &|symbol| picked.get(symbol.index()).copied());
            if follows(&exprs, &given, then) {
                prop_assert_eq!(holds, Some(1));
            }
        }
    }
}
