//! Expressions as source text: `balance - a[4]`, `filled <= 0`.

use super::{
    expr::{Binary, Comparison, ExprId, ExprNode, Exprs, SymbolId, Unary},
    fold::{mask, signed},
};
use std::fmt::{self, Write};

/// Binding strength of the operator that was written last, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Choice,
    Either,
    Both,
    Bits,
    Equality,
    Order,
    Shift,
    Sum,
    Product,
    Prefix,
}

/// Depth below which expressions are cut short with `...`, since nobody reads them.
const DEEPEST: u32 = 40;

impl Exprs {
    /// The expression as source text; `name` names symbols and `address` names numbers that are addresses.
    pub fn show(
        &self,
        id: ExprId,
        name: &impl Fn(SymbolId) -> String,
        address: &impl Fn(u128) -> Option<String>,
    ) -> String {
        let mut text = String::new();
        let shown = ShownExpr {
            exprs: self,
            name,
            address,
        };
        // Writing to a string does not fail.
        match shown.write(&mut text, id, Strength::Choice, DEEPEST) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }
}

struct ShownExpr<'a, N, A> {
    exprs: &'a Exprs,
    name: &'a N,
    address: &'a A,
}

impl<N: Fn(SymbolId) -> String, A: Fn(u128) -> Option<String>> ShownExpr<'_, N, A> {
    fn write(&self, out: &mut String, id: ExprId, around: Strength, depth: u32) -> fmt::Result {
        let Some(depth) = depth.checked_sub(1) else {
            return out.write_str("...");
        };
        match self.exprs.node(id) {
            ExprNode::Constant(bits) => self.number(out, bits, self.exprs.width(id)),
            ExprNode::Symbol(symbol) => out.write_str(&(self.name)(symbol)),
            ExprNode::Unary(op, of) => self.unary(out, (op, of), around, depth),
            ExprNode::Binary(op, a, b) => self.binary(out, (op, a, b), around, depth),
            ExprNode::Compare(op, a, b) => {
                let (sign, strength) = compare_sign(op);
                // People write the number on the right: `filled > 0`.
                let turned = self.exprs.constant(a).and(turned_sign(op));
                let (a, sign, b) = turned.map_or((a, sign, b), |sign| (b, sign, a));
                self.infix(out, (a, sign, b), (strength, around), depth)
            }
            ExprNode::Concat(high, low) => {
                self.write(out, high, Strength::Prefix, depth)?;
                out.write_str(":")?;
                self.write(out, low, Strength::Prefix, depth)
            }
            ExprNode::If(condition, yes, no) => {
                let bracket = around > Strength::Choice;
                out.write_str(if bracket { "(" } else { "" })?;
                self.write(out, condition, Strength::Either, depth)?;
                out.write_str(" ? ")?;
                self.write(out, yes, Strength::Either, depth)?;
                out.write_str(" : ")?;
                self.write(out, no, Strength::Choice, depth)?;
                out.write_str(if bracket { ")" } else { "" })
            }
        }
    }

    /// Writes a number; bits that are nearly all set are shown as a small negative number.
    fn number(&self, out: &mut String, bits: u128, width: u8) -> fmt::Result {
        if let Some(name) = Some(bits).filter(|_| width == 64).and_then(self.address) {
            return out.write_str(&name);
        }
        let number = signed(bits, width);
        match width {
            1 => out.write_str(if bits == 1 { "true" } else { "false" }),
            _ if number < -0xffff => write!(out, "{bits}"),
            _ => write!(out, "{number}"),
        }
    }

    /// Writes a unary operation; extensions and truncations are not shown, since the source seldom spells
    /// them out.
    fn unary(
        &self,
        out: &mut String,
        (op, of): (Unary, ExprId),
        around: Strength,
        depth: u32,
    ) -> fmt::Result {
        match (op, self.exprs.node(of)) {
            (Unary::Not, ExprNode::Compare(Comparison::Eq, a, b)) => {
                self.infix(out, (a, "!=", b), (Strength::Equality, around), depth)
            }
            (Unary::Not, _) => {
                out.write_str(if self.exprs.width(of) == 1 { "!" } else { "~" })?;
                self.write(out, of, Strength::Prefix, depth)
            }
            (Unary::Extract(low), _) if low > 0 => {
                let bracket = around > Strength::Shift;
                out.write_str(if bracket { "(" } else { "" })?;
                self.write(out, of, Strength::Shift, depth)?;
                write!(out, " >> {low}{}", if bracket { ")" } else { "" })
            }
            _ => self.write(out, of, around, depth),
        }
    }

    fn binary(
        &self,
        out: &mut String,
        (op, a, b): (Binary, ExprId, ExprId),
        around: Strength,
        depth: u32,
    ) -> fmt::Result {
        let width = self.exprs.width(a);
        if op == Binary::Add
            && let Some(bits) = self.exprs.constant(b)
            && signed(bits, width) < 0
        {
            let amount = bits.wrapping_neg() & mask(width);
            let bracket = around > Strength::Sum;
            out.write_str(if bracket { "(" } else { "" })?;
            self.write(out, a, Strength::Sum, depth)?;
            return write!(out, " - {amount}{}", if bracket { ")" } else { "" });
        }
        let (sign, strength) = binary_sign(op);
        self.infix(out, (a, sign, b), (strength, around), depth)
    }

    fn infix(
        &self,
        out: &mut String,
        (a, sign, b): (ExprId, &str, ExprId),
        (strength, around): (Strength, Strength),
        depth: u32,
    ) -> fmt::Result {
        let bracket = around > strength;
        out.write_str(if bracket { "(" } else { "" })?;
        self.write(out, a, strength, depth)?;
        write!(out, " {sign} ")?;
        self.write(out, b, above(strength), depth)?;
        out.write_str(if bracket { ")" } else { "" })
    }
}

/// The binding strength that a right operand needs to stand without parentheses: `a - (b - c)`.
fn above(strength: Strength) -> Strength {
    match strength {
        Strength::Choice => Strength::Either,
        Strength::Either => Strength::Both,
        Strength::Both => Strength::Bits,
        Strength::Bits => Strength::Equality,
        Strength::Equality => Strength::Order,
        Strength::Order => Strength::Shift,
        Strength::Shift => Strength::Sum,
        Strength::Sum => Strength::Product,
        Strength::Product | Strength::Prefix => Strength::Prefix,
    }
}

fn compare_sign(op: Comparison) -> (&'static str, Strength) {
    match op {
        Comparison::Eq => ("==", Strength::Equality),
        Comparison::Ult | Comparison::Slt => ("<", Strength::Order),
        Comparison::Ule | Comparison::Sle => ("<=", Strength::Order),
    }
}

/// The comparison sign after its operands are swapped.
fn turned_sign(op: Comparison) -> Option<&'static str> {
    match op {
        Comparison::Eq => None,
        Comparison::Ult | Comparison::Slt => Some(">"),
        Comparison::Ule | Comparison::Sle => Some(">="),
    }
}

fn binary_sign(op: Binary) -> (&'static str, Strength) {
    match op {
        Binary::Add => ("+", Strength::Sum),
        Binary::Sub => ("-", Strength::Sum),
        Binary::Mul => ("*", Strength::Product),
        Binary::UDiv | Binary::SDiv => ("/", Strength::Product),
        Binary::URem | Binary::SRem => ("%", Strength::Product),
        Binary::Shl => ("<<", Strength::Shift),
        Binary::LShr | Binary::AShr => (">>", Strength::Shift),
        Binary::And => ("&", Strength::Bits),
        Binary::Or => ("|", Strength::Bits),
        Binary::Xor => ("^", Strength::Bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(exprs: &Exprs, id: ExprId) -> String {
        exprs.show(
            id,
            &|symbol| ["balance", "a[4]"][symbol.index()].into(),
            &|_| None,
        )
    }

    #[test]
    fn brackets_stand_only_where_they_are_needed() {
        let mut exprs = Exprs::default();
        let (x, y) = (exprs.symbol(SymbolId(0), 32), exprs.symbol(SymbolId(1), 32));
        let three = exprs.number(3, 32);
        let sum = exprs.binary(Binary::Add, x, y);
        let less = exprs.binary(Binary::Sub, x, three);
        let nested = exprs.binary(Binary::Sub, y, sum);
        let product = exprs.binary(Binary::Mul, sum, y);
        let compared = exprs.compare(Comparison::Sle, less, product);
        let other = exprs.compare(Comparison::Eq, x, y);
        let other = exprs.not(other);
        assert_eq!(show(&exprs, less), "balance - 3");
        assert_eq!(show(&exprs, nested), "a[4] - (balance + a[4])");
        assert_eq!(
            show(&exprs, compared),
            "balance - 3 <= (balance + a[4]) * a[4]"
        );
        assert_eq!(show(&exprs, other), "balance != a[4]");
        let above = exprs.compare(Comparison::Slt, three, x);
        assert_eq!(show(&exprs, above), "balance > 3");
    }
}
