//! Operations on numbers: addresses, arithmetic, conversions, comparisons.

use super::{
    data::integer_op,
    floats,
    machine::PathMachine,
    value::{Scalar, Val},
};
use crate::expr::{Binary, Comparison, Unary};
use unsnarl_trace::{
    ThreadId,
    program::{BinaryOp, CastOp, CompareOp, Operand, Scaled, TypeId, UnitId},
};

impl PathMachine<'_> {
    pub fn address_of(
        &mut self,
        id: ThreadId,
        base: Operand,
        bytes: i64,
        scaled: &[Scaled],
    ) -> Result<Val, String> {
        let mut address = self.scalar(id, base)?;
        for part in scaled {
            let index = self.scalar(id, part.index)?;
            let wide = match self.exprs.width(index.expr) {
                64 => index,
                width if width < 64 => index.unary(&mut self.exprs, Unary::SExt, 64),
                _ => index.resized(&mut self.exprs, 64),
            };
            let step = Scalar::address(&mut self.exprs, part.bytes as u64);
            let by = wide.binary(&mut self.exprs, Binary::Mul, step);
            address = address.binary(&mut self.exprs, Binary::Add, by);
        }
        let bytes = Scalar::address(&mut self.exprs, bytes as u64);
        Ok(address.binary(&mut self.exprs, Binary::Add, bytes).into())
    }

    pub fn binary(&mut self, id: ThreadId, op: BinaryOp, a: &Val, b: &Val) -> Result<Val, String> {
        if let (Val::List(a), Val::List(b)) = (a, b) {
            let pairs = a.iter().zip(b.iter());
            let items: Result<Vec<Val>, String> =
                pairs.map(|(a, b)| self.binary(id, op, a, b)).collect();
            return Ok(Val::list(items?));
        }
        let (a, b) = self.of_one_width(a, b)?;
        if let Some(op) = integer_op(op) {
            if matches!(
                op,
                Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem
            ) {
                self.divides_by(id, b);
            }
            return Ok(a.binary(&mut self.exprs, op, b).into());
        }
        let width = self.exprs.width(a.expr);
        let known = self.floats(id, [a, b])?;
        let bits = known.and_then(|[a, b]| floats::binary(op, a, b, width));
        Ok(self.float(id, bits, width))
    }

    /// Two operands of one instruction.
    fn of_one_width(&self, a: &Val, b: &Val) -> Result<(Scalar, Scalar), String> {
        let (a, b) = a.scalar().zip(b.scalar()).ok_or("an empty structure")?;
        let is_one = self.exprs.width(a.expr) == self.exprs.width(b.expr);
        is_one
            .then_some((a, b))
            .ok_or_else(|| "its operands have different sizes".into())
    }

    fn divides_by(&mut self, id: ThreadId, divisor: Scalar) {
        let width = self.exprs.width(divisor.expr);
        let zero = Scalar::number(&mut self.exprs, 0, width);
        let is_zero = divisor.compare(&mut self.exprs, Comparison::Eq, zero);
        let is_not = is_zero.not(&mut self.exprs);
        if is_not.bits == Some(1) {
            self.assume(id, is_not);
        }
    }

    /// The bits of floating-point operands, fixed to their recorded values; `None` where one is not known.
    fn floats<const N: usize>(
        &mut self,
        id: ThreadId,
        of: [Scalar; N],
    ) -> Result<Option<[u128; N]>, String> {
        let mut bits = [0; N];
        for (slot, value) in bits.iter_mut().zip(of) {
            match self.fixed(id, value, || "a floating-point number".into()) {
                Some(known) => *slot = known,
                None => return Ok(None),
            }
        }
        Ok(Some(bits))
    }

    fn float(&mut self, id: ThreadId, bits: Option<u128>, width: u8) -> Val {
        match bits {
            Some(bits) => Scalar::number(&mut self.exprs, bits, width).into(),
            None => self
                .outside(id, "a floating-point number".into(), width, None)
                .into(),
        }
    }

    pub fn cast(
        &mut self,
        id: ThreadId,
        op: CastOp,
        of: &Val,
        (unit, ty): (UnitId, TypeId),
    ) -> Result<Val, String> {
        if let (Val::List(items), None) = (of, self.width(unit, ty)) {
            if op == CastOp::BitCast {
                return Err("a vector as another one".into());
            }
            let elements = self.elements(unit, ty);
            let parts = items.iter().zip(elements);
            let items: Result<Vec<Val>, String> = parts
                .map(|(item, (ty, _))| self.cast(id, op, item, (unit, ty)))
                .collect();
            return Ok(Val::list(items?));
        }
        let width = self.width(unit, ty).ok_or("a conversion to a structure")?;
        if let Val::List(items) = of {
            return self.packed(items, width);
        }
        let of = of.scalar().ok_or("an empty structure")?;
        let from = self.exprs.width(of.expr);
        let converted = match op {
            CastOp::Trunc
            | CastOp::ZExt
            | CastOp::PtrToInt
            | CastOp::IntToPtr
            | CastOp::BitCast
            | CastOp::AddrSpaceCast => {
                return Ok(of.resized(&mut self.exprs, width).into());
            }
            CastOp::SExt => return Ok(of.unary(&mut self.exprs, Unary::SExt, width).into()),
            CastOp::FPTrunc | CastOp::FPExt => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| floats::bits(floats::number(of, from)?, width))
            }
            CastOp::FPToUI => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| Some(floats::number(of, from)? as u128))
            }
            CastOp::FPToSI => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| Some(floats::number(of, from)? as i128 as u128))
            }
            CastOp::UIToFP => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| floats::bits(of as f64, width))
            }
            CastOp::SIToFP => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| floats::bits(crate::fold::signed(of, from) as f64, width))
            }
        };
        Ok(self.float(id, converted, width))
    }

    /// A vector's bits as one number.
    fn packed(&mut self, items: &[Val], width: u8) -> Result<Val, String> {
        let mut whole: Option<Scalar> = None;
        for item in items {
            let item = item.scalar().ok_or("an empty structure")?;
            whole = Some(match whole {
                Some(low) => item.above(&mut self.exprs, low),
                None => item,
            });
        }
        let whole = whole.ok_or("an empty vector")?;
        Ok(whole.resized(&mut self.exprs, width).into())
    }

    pub fn compare(
        &mut self,
        id: ThreadId,
        op: CompareOp,
        a: &Val,
        b: &Val,
    ) -> Result<Val, String> {
        if let (Val::List(a), Val::List(b)) = (a, b) {
            let pairs = a.iter().zip(b.iter());
            let items: Result<Vec<Val>, String> =
                pairs.map(|(a, b)| self.compare(id, op, a, b)).collect();
            return Ok(Val::list(items?));
        }
        let (a, b) = self.of_one_width(a, b)?;
        let exprs = &mut self.exprs;
        Ok(match op {
            CompareOp::Eq => a.compare(exprs, Comparison::Eq, b),
            CompareOp::Ne => a.compare(exprs, Comparison::Eq, b).not(exprs),
            CompareOp::Ult => a.compare(exprs, Comparison::Ult, b),
            CompareOp::Ule => a.compare(exprs, Comparison::Ule, b),
            CompareOp::Ugt => b.compare(exprs, Comparison::Ult, a),
            CompareOp::Uge => b.compare(exprs, Comparison::Ule, a),
            CompareOp::Slt => a.compare(exprs, Comparison::Slt, b),
            CompareOp::Sle => a.compare(exprs, Comparison::Sle, b),
            CompareOp::Sgt => b.compare(exprs, Comparison::Slt, a),
            CompareOp::Sge => b.compare(exprs, Comparison::Sle, a),
            _ => {
                let width = exprs.width(a.expr);
                let known = self.floats(id, [a, b])?;
                let holds = known.and_then(|[a, b]| floats::compare(op, a, b, width));
                return Ok(self.float(id, holds.map(u128::from), 1));
            }
        }
        .into())
    }

    pub fn select(
        &mut self,
        id: ThreadId,
        condition: Scalar,
        yes: Val,
        no: Val,
    ) -> Result<Val, String> {
        match (&yes, &no) {
            (Val::Scalar(yes), Val::Scalar(no)) => {
                Ok(condition.choose(&mut self.exprs, *yes, *no).into())
            }
            _ => match self.fixed(id, condition, || "which structure is taken".into()) {
                Some(1) => Ok(yes),
                Some(_) => Ok(no),
                None => Err("which structure is taken is not known".into()),
            },
        }
    }
}
