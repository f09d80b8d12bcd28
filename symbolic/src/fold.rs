//! Arithmetic on bits, and expressions simplified as far as their direct operands allow.
//!
//! The rules keep what people wrote recognizable: sums of constants come together, comparisons lose the
//! widening and the truth values that the compiler puts around them. Nothing is reordered beyond that.

use super::expr::{Binary, Comparison, ExprId, ExprNode, Exprs, Unary};

/// A mask with all bits of a width set, 1 to 128.
pub(super) fn mask(width: u8) -> u128 {
    match width {
        128.. => u128::MAX,
        width => (1 << width) - 1,
    }
}

/// Interprets the bits as a signed number.
pub(super) fn signed(bits: u128, width: u8) -> i128 {
    let unused = 128u32.saturating_sub(u32::from(width.max(1)));
    ((bits << unused) as i128) >> unused
}

pub(super) fn unary_bits(op: Unary, a: u128, from: u8, to: u8) -> u128 {
    let bits = match op {
        Unary::Not => !a,
        Unary::ZExt => a,
        Unary::SExt => signed(a, from) as u128,
        Unary::Extract(low) => a.checked_shr(u32::from(low)).unwrap_or(0),
    };
    bits & mask(to)
}

pub(super) fn binary_bits(op: Binary, a: u128, b: u128, width: u8) -> u128 {
    let (s, t) = (signed(a, width), signed(b, width));
    let shift = u32::try_from(b).ok().filter(|&by| by < u32::from(width));
    let bits = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b).unwrap_or(u128::MAX),
        Binary::URem => a.checked_rem(b).unwrap_or(a),
        Binary::SDiv if t == 0 => (if s < 0 { 1i128 } else { -1 }) as u128,
        Binary::SDiv => s.wrapping_div(t) as u128,
        Binary::SRem if t == 0 => a,
        Binary::SRem => s.wrapping_rem(t) as u128,
        Binary::Shl => shift.map_or(0, |by| a << by),
        Binary::LShr => shift.map_or(0, |by| a >> by),
        Binary::AShr => (s >> shift.unwrap_or(127)) as u128,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
    };
    bits & mask(width)
}

pub(super) fn compare_bits(op: Comparison, a: u128, b: u128, width: u8) -> bool {
    let (s, t) = (signed(a, width), signed(b, width));
    match op {
        Comparison::Eq => a == b,
        Comparison::Ult => a < b,
        Comparison::Ule => a <= b,
        Comparison::Slt => s < t,
        Comparison::Sle => s <= t,
    }
}

pub(super) fn unary(exprs: &mut Exprs, op: Unary, of: ExprId, width: u8) -> ExprId {
    let from = exprs.width(of);
    if let Some(bits) = exprs.constant(of) {
        return exprs.number(unary_bits(op, bits, from, width), width);
    }
    match (op, exprs.node(of)) {
        (Unary::ZExt | Unary::SExt | Unary::Extract(0), _) if from == width => of,
        (Unary::Not, ExprNode::Unary(Unary::Not, inner)) => inner,
        // `!(a < b)` is `b <= a`.
        (Unary::Not, ExprNode::Compare(op, a, b)) if op != Comparison::Eq => {
            let other = match op {
                Comparison::Ult => Comparison::Ule,
                Comparison::Ule => Comparison::Ult,
                Comparison::Slt => Comparison::Sle,
                _ => Comparison::Slt,
            };
            compare(exprs, other, b, a)
        }
        (Unary::Extract(low), ExprNode::Unary(Unary::Extract(inner), source)) => unary(
            exprs,
            Unary::Extract(low.saturating_add(inner)),
            source,
            width,
        ),
        (Unary::Extract(low), ExprNode::Unary(Unary::ZExt | Unary::SExt, source))
            if u16::from(low) + u16::from(width) <= u16::from(exprs.width(source)) =>
        {
            unary(exprs, Unary::Extract(low), source, width)
        }
        (Unary::Extract(low), ExprNode::Concat(high, rest)) => {
            extract_of_pair(exprs, (low, width), of, (high, rest))
        }
        (Unary::ZExt, ExprNode::Unary(Unary::ZExt, source)) => {
            unary(exprs, Unary::ZExt, source, width)
        }
        (Unary::SExt, ExprNode::Unary(Unary::SExt, source)) => {
            unary(exprs, Unary::SExt, source, width)
        }
        _ => exprs.intern(ExprNode::Unary(op, of), width),
    }
}

/// Extracts bits of a concatenation from the operand that holds all of them.
fn extract_of_pair(
    exprs: &mut Exprs,
    (low, width): (u8, u8),
    of: ExprId,
    (high, rest): (ExprId, ExprId),
) -> ExprId {
    let border = exprs.width(rest);
    if low.saturating_add(width) <= border {
        return unary(exprs, Unary::Extract(low), rest, width);
    }
    match low.checked_sub(border) {
        Some(low) => unary(exprs, Unary::Extract(low), high, width),
        None => exprs.intern(ExprNode::Unary(Unary::Extract(low), of), width),
    }
}

pub(super) fn binary(exprs: &mut Exprs, op: Binary, a: ExprId, b: ExprId) -> ExprId {
    let width = exprs.width(a);
    match (exprs.constant(a), exprs.constant(b)) {
        (Some(a), Some(b)) => exprs.number(binary_bits(op, a, b, width), width),
        (Some(_), None)
            if matches!(
                op,
                Binary::Add | Binary::Mul | Binary::And | Binary::Or | Binary::Xor
            ) =>
        {
            binary(exprs, op, b, a)
        }
        (None, Some(number)) => with_number(exprs, op, a, (b, number), width),
        _ if a == b && matches!(op, Binary::Sub | Binary::Xor) => exprs.number(0, width),
        _ if a == b && matches!(op, Binary::And | Binary::Or) => a,
        _ => exprs.intern(ExprNode::Binary(op, a, b), width),
    }
}

fn with_number(
    exprs: &mut Exprs,
    op: Binary,
    a: ExprId,
    (b, number): (ExprId, u128),
    width: u8,
) -> ExprId {
    let ones = mask(width);
    match (op, number) {
        (
            Binary::Add
            | Binary::Sub
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::LShr
            | Binary::AShr,
            0,
        ) => a,
        (Binary::Mul | Binary::UDiv | Binary::SDiv, 1) => a,
        (Binary::Mul | Binary::And, 0) => b,
        (Binary::And, bits) if bits == ones => a,
        (Binary::Xor, bits) if bits == ones => unary(exprs, Unary::Not, a, width),
        (Binary::Sub, _) => {
            let negated = exprs.number(number.wrapping_neg(), width);
            binary(exprs, Binary::Add, a, negated)
        }
        (Binary::Add, _) => match exprs.node(a) {
            ExprNode::Binary(Binary::Add, x, y) => match exprs.constant(y) {
                Some(before) => {
                    let sum = exprs.number(before.wrapping_add(number), width);
                    binary(exprs, Binary::Add, x, sum)
                }
                None => exprs.intern(ExprNode::Binary(op, a, b), width),
            },
            _ => exprs.intern(ExprNode::Binary(op, a, b), width),
        },
        _ => exprs.intern(ExprNode::Binary(op, a, b), width),
    }
}

pub(super) fn compare(exprs: &mut Exprs, op: Comparison, a: ExprId, b: ExprId) -> ExprId {
    let width = exprs.width(a);
    if let (Some(a), Some(b)) = (exprs.constant(a), exprs.constant(b)) {
        return exprs.number(u128::from(compare_bits(op, a, b, width)), 1);
    }
    if a == b {
        return exprs.number(
            u128::from(!matches!(op, Comparison::Ult | Comparison::Slt)),
            1,
        );
    }
    if op != Comparison::Eq {
        return exprs.intern(ExprNode::Compare(op, a, b), 1);
    }
    if exprs.constant(a).is_some() {
        return compare(exprs, op, b, a);
    }
    match (exprs.node(a), exprs.constant(b)) {
        // A truth value compared with a truth value.
        (_, Some(1)) if width == 1 => a,
        (_, Some(0)) if width == 1 => unary(exprs, Unary::Not, a, 1),
        // `zext(x) == n`: `x == n`, or never.
        (ExprNode::Unary(Unary::ZExt, inner), Some(number)) => {
            narrowed(exprs, inner, number, number <= mask(exprs.width(inner)))
        }
        (ExprNode::Unary(Unary::SExt, inner), Some(number)) => {
            let narrow = exprs.width(inner);
            let fits = unary_bits(Unary::SExt, number & mask(narrow), narrow, width) == number;
            narrowed(exprs, inner, number, fits)
        }
        // `x + m == n` is `x == n - m`.
        (ExprNode::Binary(Binary::Add, x, y), Some(number)) => match exprs.constant(y) {
            Some(added) => {
                let rest = exprs.number(number.wrapping_sub(added), width);
                compare(exprs, op, x, rest)
            }
            None => exprs.intern(ExprNode::Compare(op, a, b), 1),
        },
        _ => exprs.intern(ExprNode::Compare(op, a, b), 1),
    }
}

fn narrowed(exprs: &mut Exprs, inner: ExprId, number: u128, fits: bool) -> ExprId {
    if !fits {
        return exprs.number(0, 1);
    }
    let number = exprs.number(number, exprs.width(inner));
    compare(exprs, Comparison::Eq, inner, number)
}

pub(super) fn concat(exprs: &mut Exprs, high: ExprId, low: ExprId) -> ExprId {
    let (above, below) = (exprs.width(high), exprs.width(low));
    let width = above.saturating_add(below);
    if let (Some(high), Some(low)) = (exprs.constant(high), exprs.constant(low)) {
        return exprs.number(high << below | low, width);
    }
    // Two neighbouring parts of one value are that part of it.
    if let (ExprNode::Unary(Unary::Extract(h), x), ExprNode::Unary(Unary::Extract(l), y)) =
        (exprs.node(high), exprs.node(low))
        && x == y
        && h == l.saturating_add(below)
    {
        return unary(exprs, Unary::Extract(l), x, width);
    }
    exprs.intern(ExprNode::Concat(high, low), width)
}

pub(super) fn choose(exprs: &mut Exprs, condition: ExprId, yes: ExprId, no: ExprId) -> ExprId {
    match exprs.constant(condition) {
        Some(1) => yes,
        Some(_) => no,
        None if yes == no => yes,
        None if exprs.width(yes) == 1
            && exprs.constant(yes) == Some(1)
            && exprs.constant(no) == Some(0) =>
        {
            condition
        }
        None => exprs.intern(ExprNode::If(condition, yes, no), exprs.width(yes)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::{SymbolId, Values};
    use super::*;
    use proptest::prelude::*;

    const BINARY: [Binary; 13] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::UDiv,
        Binary::SDiv,
        Binary::URem,
        Binary::SRem,
        Binary::Shl,
        Binary::LShr,
        Binary::AShr,
        Binary::And,
        Binary::Or,
        Binary::Xor,
    ];
    const COMPARE: [Comparison; 5] = [
        Comparison::Eq,
        Comparison::Ult,
        Comparison::Ule,
        Comparison::Slt,
        Comparison::Sle,
    ];

    /// Builds a random expression from the choices and returns it with its value, computed independently.
    fn build(
        exprs: &mut Exprs,
        choices: &mut impl Iterator<Item = u8>,
        depth: u8,
        x: [u128; 2],
    ) -> (ExprId, u128) {
        let mut next = || choices.next().unwrap_or(0);
        let (kind, which) = (next(), next());
        if depth == 0 || kind % 8 == 0 {
            return match which % 3 {
                2 => {
                    let bits = u128::from(next() % 4);
                    (exprs.number(bits, 8), bits)
                }
                n => (exprs.symbol(SymbolId(u32::from(n)), 8), x[usize::from(n)]),
            };
        }
        let (a, av) = build(exprs, choices, depth - 1, x);
        let (b, bv) = build(exprs, choices, depth - 1, x);
        match kind % 8 {
            1..=3 => {
                let op = BINARY[usize::from(which) % BINARY.len()];
                (exprs.binary(op, a, b), binary_bits(op, av, bv, 8))
            }
            4 => {
                let op = COMPARE[usize::from(which) % COMPARE.len()];
                let compared = exprs.compare(op, a, b);
                let compared = if which & 64 == 0 {
                    compared
                } else {
                    exprs.not(compared)
                };
                let bit = u128::from(compare_bits(op, av, bv, 8) == (which & 64 == 0));
                (exprs.choose(compared, a, b), if bit == 1 { av } else { bv })
            }
            5 => (exprs.unary(Unary::Not, a, 8), !av & 255),
            6 => {
                let wide = exprs.unary(
                    if which & 1 == 0 {
                        Unary::ZExt
                    } else {
                        Unary::SExt
                    },
                    a,
                    16,
                );
                let bits = unary_bits(
                    if which & 1 == 0 {
                        Unary::ZExt
                    } else {
                        Unary::SExt
                    },
                    av,
                    8,
                    16,
                );
                let low = which % 9;
                (exprs.unary(Unary::Extract(low), wide, 8), bits >> low & 255)
            }
            _ => {
                let pair = exprs.concat(a, b);
                let low = which % 9;
                (
                    exprs.unary(Unary::Extract(low), pair, 8),
                    (av << 8 | bv) >> low & 255,
                )
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn simplified_expressions_keep_their_value(choices in prop::collection::vec(any::<u8>(), 0..80), x in any::<[u8; 2]>()) {
            let x = x.map(u128::from);
            let mut exprs = Exprs::default();
            let (id, expected) = build(&mut exprs, &mut choices.into_iter(), 5, x);
            let value = exprs.value(id, &mut Values::new(), &|symbol| x.get(symbol.index()).copied());
            prop_assert_eq!(value, Some(expected));
        }
    }

    #[test]
    fn a_condition_as_clang_writes_it_becomes_the_condition() {
        let mut exprs = Exprs::default();
        let (x, zero) = (exprs.symbol(SymbolId(0), 32), exprs.number(0, 32));
        let less = exprs.compare(Comparison::Slt, x, zero);
        let wide = exprs.unary(Unary::ZExt, less, 32);
        let tested = exprs.compare(Comparison::Eq, wide, zero);
        assert_eq!(
            exprs.node(tested),
            ExprNode::Compare(Comparison::Sle, zero, x)
        );
    }
}
