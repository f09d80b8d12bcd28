//! Equations between sums: terms that occur on both sides are cancelled, modulo the size of the type. That
//! decides most of the queries that take a bit-vector solver longest (the accounts' sum and the total).

use super::range::{Bound, of_all_values, signed, whole};
use crate::{Binary, Comparison, ExprId, ExprNode, Exprs, Unary};
use std::collections::BTreeMap;

/// Bound on the depth of conjunctions and negations that are examined.
const DEEPEST: u32 = 8;

/// Simplifies the equations of a condition by collecting terms; a constant where that decides it. Linear in
/// the distinct parts of its sums.
pub(super) fn simplified(exprs: &mut Exprs, condition: ExprId) -> ExprId {
    within(exprs, condition, DEEPEST)
}

fn within(exprs: &mut Exprs, id: ExprId, deepest: u32) -> ExprId {
    let Some(deepest) = deepest.checked_sub(1) else {
        return id;
    };
    match exprs.node(id) {
        ExprNode::Unary(Unary::Not, of) if exprs.width(id) == 1 => {
            let of = within(exprs, of, deepest);
            exprs.not(of)
        }
        ExprNode::Binary(op @ (Binary::And | Binary::Or), a, b) if exprs.width(id) == 1 => {
            let (a, b) = (within(exprs, a, deepest), within(exprs, b, deepest));
            let decides = u128::from(op == Binary::Or);
            match (exprs.constant(a), exprs.constant(b)) {
                (Some(bit), _) if bit == decides => a,
                (Some(_), _) => b,
                (_, Some(bit)) if bit == decides => b,
                (_, Some(_)) => a,
                _ => exprs.binary(op, a, b),
            }
        }
        ExprNode::Compare(Comparison::Eq, a, b) if exprs.width(a) > 1 => equation(exprs, a, b),
        _ => id,
    }
}

fn equation(exprs: &mut Exprs, a: ExprId, b: ExprId) -> ExprId {
    let width = exprs.width(a);
    let sum = Sum::difference(exprs, a, b);
    if sum.terms.is_empty() {
        return exprs.number(u128::from(sum.rest == 0), 1);
    }
    if sum.is_never_zero(exprs) {
        return exprs.number(0, 1);
    }
    let mut all: Option<ExprId> = None;
    for (term, times) in sum.terms {
        let times = exprs.number(times, width);
        let product = exprs.binary(Binary::Mul, term, times);
        all = Some(match all {
            Some(all) => exprs.binary(Binary::Add, all, product),
            None => product,
        });
    }
    let rest = exprs.number(sum.rest.wrapping_neg(), width);
    match all {
        Some(all) => exprs.compare(Comparison::Eq, all, rest),
        None => exprs.number(0, 1),
    }
}

/// `true` if a simplified condition is an equation of unknowns, or the negation of one, that has solutions;
/// `false` where that is not obvious.
pub(super) fn is_solvable(exprs: &Exprs, condition: ExprId) -> bool {
    let (equation, is_opposite) = match exprs.node(condition) {
        ExprNode::Unary(Unary::Not, of) => (of, true),
        _ => (condition, false),
    };
    let ExprNode::Compare(Comparison::Eq, a, b) = exprs.node(equation) else {
        return false;
    };
    let sum = Sum::difference(exprs, a, b);
    let is_unknown = |id: &ExprId| matches!(exprs.node(*id), ExprNode::Symbol(_));
    let has_unknowns = !sum.terms.is_empty() && sum.terms.keys().all(is_unknown);
    has_unknowns && (is_opposite || sum.is_divisible())
}

/// A sum of products of terms with numbers, modulo a power of two.
struct Sum {
    width: u8,
    terms: BTreeMap<ExprId, u128>,
    rest: u128,
}

impl Sum {
    /// Computes `a - b`. Operands have smaller ids than their expressions, so each part is expanded once.
    fn difference(exprs: &Exprs, a: ExprId, b: ExprId) -> Sum {
        let width = exprs.width(a);
        let mut sum = Sum {
            width,
            terms: BTreeMap::new(),
            rest: 0,
        };
        let mut open: BTreeMap<ExprId, u128> = BTreeMap::new();
        let add = |open: &mut BTreeMap<ExprId, u128>, id: ExprId, times: u128| {
            let slot = open.entry(id).or_insert(0);
            *slot = slot.wrapping_add(times) & mask(width);
        };
        add(&mut open, a, 1);
        add(&mut open, b, u128::MAX);
        while let Some((id, times)) = open.pop_last() {
            if times == 0 {
                continue;
            }
            match exprs.node(id) {
                ExprNode::Constant(bits) => {
                    let product = bits.wrapping_mul(times);
                    sum.rest = sum.rest.wrapping_add(product) & mask(width);
                }
                ExprNode::Binary(Binary::Add, x, y) => {
                    add(&mut open, x, times);
                    add(&mut open, y, times);
                }
                ExprNode::Binary(Binary::Sub, x, y) => {
                    add(&mut open, x, times);
                    add(&mut open, y, times.wrapping_neg());
                }
                ExprNode::Binary(Binary::Mul, x, y) if exprs.constant(y).is_some() => {
                    let by = exprs.constant(y).unwrap_or(0);
                    add(&mut open, x, times.wrapping_mul(by));
                }
                // The complement of all bits is -x - 1.
                ExprNode::Unary(Unary::Not, x) => {
                    add(&mut open, x, times.wrapping_neg());
                    sum.rest = sum.rest.wrapping_sub(times) & mask(width);
                }
                _ => {
                    sum.terms.insert(id, times);
                }
            }
        }
        sum
    }

    /// `true` if no values make the sum zero: by the ranges of its terms, or because all terms are even and
    /// the constant is odd.
    fn is_never_zero(&self, exprs: &Exprs) -> bool {
        !self.is_divisible() || self.range(exprs).is_some_and(|range| !range.holds(0))
    }

    /// `true` if the largest power of two that divides all factors divides the constant.
    fn is_divisible(&self) -> bool {
        let zeros = self.terms.values().map(|times| times.trailing_zeros());
        zeros
            .min()
            .is_some_and(|least| self.rest == 0 || self.rest.trailing_zeros() >= least)
    }

    /// Range of the sum, if it does not wrap around.
    fn range(&self, exprs: &Exprs) -> Option<Bound> {
        let mut all = Bound::exactly(signed(self.rest, self.width));
        for (term, times) in &self.terms {
            let Bound { low, high } = of_all_values(exprs, *term);
            let times = signed(*times, self.width);
            let (x, y) = (low.checked_mul(times)?, high.checked_mul(times)?);
            all = Bound {
                low: all.low.checked_add(x.min(y))?,
                high: all.high.checked_add(x.max(y))?,
            };
        }
        let size = whole(self.width);
        (size.holds(all.low) && size.holds(all.high)).then_some(all)
    }
}

fn mask(width: u8) -> u128 {
    u128::MAX >> (128 - u32::from(width.clamp(1, 128)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SymbolId, expr::Values};
    use proptest::prelude::*;

    /// Builds a sum of products from the choices.
    fn sum(exprs: &mut Exprs, choices: &[(u8, i8)]) -> ExprId {
        let mut all = exprs.number(0, 8);
        for &(kind, number) in choices {
            let number = exprs.number(number as u128, 8);
            let unknown = exprs.symbol(SymbolId(u32::from(kind % 3)), 8);
            let term = match kind / 3 % 5 {
                0 => unknown,
                1 => exprs.binary(Binary::Mul, unknown, number),
                2 => exprs.binary(Binary::SRem, unknown, number),
                3 => exprs.unary(Unary::Not, unknown, 8),
                _ => number,
            };
            let op = if kind < 128 { Binary::Add } else { Binary::Sub };
            all = exprs.binary(op, all, term);
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Checks that the simplified condition holds for the same values, and that a condition reported as
        /// solvable has a solution.
        #[test]
        fn simplifying_changes_nothing(
            a in prop::collection::vec(any::<(u8, i8)>(), 1..5),
            b in prop::collection::vec(any::<(u8, i8)>(), 1..5),
            is_opposite in any::<bool>(),
        ) {
            let mut exprs = Exprs::default();
            let (a, b) = (sum(&mut exprs, &a), sum(&mut exprs, &b));
            let mut condition = exprs.compare(Comparison::Eq, a, b);
            if is_opposite {
                condition = exprs.not(condition);
            }
            let simple = simplified(&mut exprs, condition);
            let mut holds = false;
            for values in 0..1u32 << 9 {
                // Some values of each unknown, both ends among them.
                let of = |symbol: SymbolId| {
                    let choice = values >> (3 * symbol.0) & 7;
                    Some([0, 1, 2, 7, 33, 127, 128, 255][choice as usize])
                };
                let was = exprs.value(condition, &mut Values::new(), &of);
                prop_assert_eq!(exprs.value(simple, &mut Values::new(), &of), was);
                holds |= was == Some(1);
            }
            if is_solvable(&exprs, simple) && !holds {
                // Solutions may lie between the values that were tried, but not for the negation of an
                // equation.
                prop_assert!(!is_opposite);
                let unknowns = exprs.symbols(simple);
                if let [unknown] = unknowns.as_slice() {
                    let solves = |value: u128| exprs.value(simple, &mut Values::new(), &|symbol| (symbol == *unknown).then_some(value)) == Some(1);
                    prop_assert!((0..256).any(solves));
                }
            }
        }
    }

    #[test]
    fn what_stands_on_both_sides_decides() {
        let mut exprs = Exprs::default();
        let [x, y] = [0, 1].map(|at| exprs.symbol(SymbolId(at), 64));
        let seven = exprs.number(7, 64);
        let rest = exprs.binary(Binary::SRem, y, seven);
        let [left, right] = [3, 20].map(|more| {
            let more = exprs.number(more, 64);
            let sum = exprs.binary(Binary::Add, x, more);
            exprs.binary(Binary::Add, sum, rest)
        });
        let never = exprs.compare(Comparison::Eq, left, right);
        let never = simplified(&mut exprs, never);
        assert_eq!(exprs.constant(never), Some(0));
        // A remainder of a division by seven is never 17.
        let number = exprs.number(17, 64);
        let far = exprs.binary(Binary::Add, x, number);
        let near = exprs.binary(Binary::Add, x, rest);
        let never = exprs.compare(Comparison::Eq, near, far);
        let never = simplified(&mut exprs, never);
        assert_eq!(exprs.constant(never), Some(0));
    }
}
