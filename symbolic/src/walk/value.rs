//! Values of the followed program: an expression paired with its recorded value.

use crate::{
    expr::{Binary, Comparison, ExprId, Exprs, Unary},
    fold,
};
use std::rc::Rc;

/// A number: its expression, and its recorded value as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scalar {
    pub expr: ExprId,
    pub bits: Option<u128>,
    /// The expression over variables, where paths are kept; otherwise the same one.
    pub said: ExprId,
}

/// Result of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Val {
    /// An integer, an address, the bits of a floating-point number.
    Scalar(Scalar),
    /// Structure, array or vector.
    List(Rc<Vec<Val>>),
}

impl Val {
    pub fn list(items: Vec<Val>) -> Val {
        Val::List(Rc::new(items))
    }

    /// The number; the first one of an aggregate.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Val::Scalar(scalar) => Some(*scalar),
            Val::List(items) => items.first()?.scalar(),
        }
    }
}

impl From<Scalar> for Val {
    fn from(scalar: Scalar) -> Val {
        Val::Scalar(scalar)
    }
}

impl Scalar {
    pub fn number(exprs: &mut Exprs, bits: u128, width: u8) -> Scalar {
        let expr = exprs.number(bits, width);
        Scalar {
            expr,
            bits: Some(bits & fold::mask(width)),
            said: expr,
        }
    }

    /// A 64-bit number.
    pub fn address(exprs: &mut Exprs, bits: u64) -> Scalar {
        Scalar::number(exprs, bits.into(), 64)
    }

    /// A number with one expression for both forms.
    pub fn same(expr: ExprId, bits: Option<u128>) -> Scalar {
        let said = expr;
        Scalar { expr, bits, said }
    }

    fn made(exprs: &Exprs, expr: ExprId, bits: Option<u128>, said: ExprId) -> Scalar {
        let bits = exprs.constant(expr).or(bits);
        Scalar { expr, bits, said }
    }

    fn is_same(self, other: Scalar) -> bool {
        self.said == self.expr && other.said == other.expr
    }

    pub fn unary(self, exprs: &mut Exprs, op: Unary, width: u8) -> Scalar {
        let from = exprs.width(self.expr);
        let expr = exprs.unary(op, self.expr, width);
        let bits = self
            .bits
            .map(|bits| fold::unary_bits(op, bits, from, width));
        let said = match self.said == self.expr {
            true => expr,
            false => exprs.unary(op, self.said, width),
        };
        Scalar::made(exprs, expr, bits, said)
    }

    pub fn binary(self, exprs: &mut Exprs, op: Binary, other: Scalar) -> Scalar {
        let width = exprs.width(self.expr);
        let expr = exprs.binary(op, self.expr, other.expr);
        let bits = self
            .bits
            .zip(other.bits)
            .map(|(a, b)| fold::binary_bits(op, a, b, width));
        let said = match self.is_same(other) {
            true => expr,
            false => exprs.binary(op, self.said, other.said),
        };
        Scalar::made(exprs, expr, bits, said)
    }

    pub fn compare(self, exprs: &mut Exprs, op: Comparison, other: Scalar) -> Scalar {
        let width = exprs.width(self.expr);
        let expr = exprs.compare(op, self.expr, other.expr);
        let bits = self.bits.zip(other.bits);
        let bits = bits.map(|(a, b)| u128::from(fold::compare_bits(op, a, b, width)));
        let said = match self.is_same(other) {
            true => expr,
            false => exprs.compare(op, self.said, other.said),
        };
        Scalar::made(exprs, expr, bits, said)
    }

    pub fn not(self, exprs: &mut Exprs) -> Scalar {
        self.unary(exprs, Unary::Not, 1)
    }

    pub fn choose(self, exprs: &mut Exprs, yes: Scalar, no: Scalar) -> Scalar {
        let expr = exprs.choose(self.expr, yes.expr, no.expr);
        let bits = match self.bits {
            Some(1) => yes.bits,
            Some(_) => no.bits,
            None => None,
        };
        let said = match self.said == self.expr && yes.is_same(no) {
            true => expr,
            false => exprs.choose(self.said, yes.said, no.said),
        };
        Scalar::made(exprs, expr, bits, said)
    }

    /// Concatenates two numbers: this one's bits above the other's, at most 128 together.
    pub fn above(self, exprs: &mut Exprs, low: Scalar) -> Scalar {
        let by = exprs.width(low.expr);
        let expr = exprs.concat(self.expr, low.expr);
        let bits = self.bits.zip(low.bits);
        let bits = bits.map(|(a, b)| a.checked_shl(by.into()).unwrap_or(0) | b);
        let said = match self.is_same(low) {
            true => expr,
            false => exprs.concat(self.said, low.said),
        };
        Scalar::made(exprs, expr, bits, said)
    }

    /// Truncates or zero-extends the number to this width.
    pub fn resized(self, exprs: &mut Exprs, width: u8) -> Scalar {
        let from = exprs.width(self.expr);
        match from.cmp(&width) {
            std::cmp::Ordering::Equal => self,
            std::cmp::Ordering::Less => self.unary(exprs, Unary::ZExt, width),
            std::cmp::Ordering::Greater => self.unary(exprs, Unary::Extract(0), width),
        }
    }

    /// Bytes `from..from + size` of the number.
    pub fn bytes(self, exprs: &mut Exprs, from: u8, size: u8) -> Scalar {
        let width = size.saturating_mul(8);
        match from {
            0 => self.resized(exprs, width),
            from => self.unary(exprs, Unary::Extract(from.saturating_mul(8)), width),
        }
    }

    /// `true` if the number depends on an unknown.
    pub fn is_symbolic(self, exprs: &Exprs) -> bool {
        exprs.constant(self.expr).is_none()
    }
}
