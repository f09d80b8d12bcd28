//! Arithmetic on integers.

use super::{
    body::{Held, RegisterSlot},
    flags::Flags,
    function::{Lifted, Lifting, width},
};
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind};
use unsnarl_trace::program::{BinaryOp, CastOp, Op, Operand};

/// Returns whether both operands are one register.
fn is_same(one: &Instruction) -> bool {
    let is_register = one.op0_kind() == OpKind::Register && one.op1_kind() == OpKind::Register;
    is_register && one.op0_register() == one.op1_register()
}

/// The registers of products and dividends: the lower and the upper half.
const LOW: RegisterSlot = RegisterSlot(0);
const HIGH: RegisterSlot = RegisterSlot(2);

impl Lifting<'_> {
    pub fn arithmetic(&mut self, one: &Instruction) -> Lifted {
        match one.mnemonic() {
            Mnemonic::Add | Mnemonic::Sub => self.add(one),
            Mnemonic::Cmp => self.compares(one),
            Mnemonic::And => self.logic(one, BinaryOp::And),
            Mnemonic::Or => self.logic(one, BinaryOp::Or),
            Mnemonic::Xor => self.logic(one, BinaryOp::Xor),
            Mnemonic::Test => self.tests(one),
            Mnemonic::Inc | Mnemonic::Dec => self.steps(one),
            Mnemonic::Neg => self.negates(one),
            Mnemonic::Not => self.inverts(one),
            Mnemonic::Adc | Mnemonic::Sbb => self.carries(one),
            Mnemonic::Imul if one.op_count() > 1 => self.multiplies(one),
            Mnemonic::Imul | Mnemonic::Mul => self.multiplies_wide(one),
            Mnemonic::Div | Mnemonic::Idiv => self.divides(one),
            Mnemonic::Shl | Mnemonic::Sal => self.shifts(one, BinaryOp::Shl),
            Mnemonic::Shr => self.shifts(one, BinaryOp::LShr),
            Mnemonic::Sar => self.shifts(one, BinaryOp::AShr),
            Mnemonic::Rol | Mnemonic::Ror => self.rotates(one),
            Mnemonic::Cbw => self.extends_low(8),
            Mnemonic::Cwde => self.extends_low(16),
            Mnemonic::Cdqe => self.extends_low(32),
            Mnemonic::Cwd => self.extends_high(16),
            Mnemonic::Cdq => self.extends_high(32),
            Mnemonic::Cqo => self.extends_high(64),
            _ => None,
        }
    }

    /// Both operands and their width.
    fn operands(&mut self, one: &Instruction) -> Option<(Operand, Operand, u32)> {
        let bits = width(one, 0);
        Some((self.source(one, 0, bits)?, self.source(one, 1, bits)?, bits))
    }

    fn add(&mut self, one: &Instruction) -> Lifted {
        if self.only_moves_pointer(one) {
            self.flags = Flags::Unknown;
            return Some(());
        }
        let (a, b, width) = self.operands(one)?;
        let is_sum = one.mnemonic() == Mnemonic::Add;
        let op = if is_sum { BinaryOp::Add } else { BinaryOp::Sub };
        let result = self.body.binary(op, a, b, width);
        self.flags = match is_sum {
            true => Flags::Sum {
                a,
                b,
                result,
                width,
            },
            false => Flags::Difference { a, b, width },
        };
        self.set(one, 0, result, width)
    }

    fn compares(&mut self, one: &Instruction) -> Lifted {
        let (a, b, width) = self.operands(one)?;
        self.flags = Flags::Difference { a, b, width };
        Some(())
    }

    fn logic(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let bits = width(one, 0);
        if self.logic_in_part(one, op).is_some() {
            return Some(());
        }
        let value = match (is_same(one), op) {
            (true, BinaryOp::Xor) => self.body.number(0, bits),
            (true, _) => self.source(one, 0, bits)?,
            _ => {
                let (a, b, _) = self.operands(one)?;
                self.body.binary(op, a, b, bits)
            }
        };
        self.flags = Flags::Result { value, width: bits };
        self.set(one, 0, value, bits)
    }

    /// Logic with a number on a register of which only the lowest bits are known: these are computed alone.
    fn logic_in_part(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let width = width(one, 0);
        let number = one.try_immediate(1).ok()?;
        let register = one.op0_register();
        if one.op0_kind() != OpKind::Register || !register.is_gpr32() && !register.is_gpr64() {
            return None;
        }
        if self.stack.offset(register.full_register()).is_some() {
            return None;
        }
        let register = RegisterSlot::general(register.number());
        let Held::Inserted(low, bits, below) = self.body.held(self.body.at, register) else {
            return None;
        };
        if *below != Held::Unknown || bits >= width {
            return None;
        }
        let number = self.body.number(number.into(), bits);
        let low = self.body.binary(op, low, number, bits);
        self.body.hold(register, Held::Inserted(low, bits, below));
        self.flags = Flags::Unknown;
        Some(())
    }

    fn tests(&mut self, one: &Instruction) -> Lifted {
        let width = width(one, 0);
        let value = match is_same(one) {
            true => self.source(one, 0, width)?,
            false => {
                let (a, b, _) = self.operands(one)?;
                self.body.binary(BinaryOp::And, a, b, width)
            }
        };
        self.flags = Flags::Result { value, width };
        Some(())
    }

    fn steps(&mut self, one: &Instruction) -> Lifted {
        let bits = width(one, 0);
        let (a, b) = (self.source(one, 0, bits)?, self.body.number(1, bits));
        let op = match one.mnemonic() {
            Mnemonic::Inc => BinaryOp::Add,
            _ => BinaryOp::Sub,
        };
        let value = self.body.binary(op, a, b, bits);
        // The carry stays what it was.
        self.flags = Flags::Number { value, width: bits };
        self.set(one, 0, value, bits)
    }

    fn negates(&mut self, one: &Instruction) -> Lifted {
        let width = width(one, 0);
        let (a, b) = (self.body.number(0, width), self.source(one, 0, width)?);
        let result = self.body.binary(BinaryOp::Sub, a, b, width);
        self.flags = Flags::Difference { a, b, width };
        self.set(one, 0, result, width)
    }

    fn inverts(&mut self, one: &Instruction) -> Lifted {
        let bits = width(one, 0);
        let (a, ones) = (
            self.source(one, 0, bits)?,
            self.body.number(u128::MAX, bits),
        );
        let value = self.body.binary(BinaryOp::Xor, a, ones, bits);
        self.set(one, 0, value, bits)
    }

    /// Addition and subtraction with the carry.
    fn carries(&mut self, one: &Instruction) -> Lifted {
        let carry = self.body.condition(self.flags, ConditionCode::b)?;
        let (a, b, width) = self.operands(one)?;
        let carry = self.body.resized(carry, 1, width);
        let op = match one.mnemonic() {
            Mnemonic::Adc => BinaryOp::Add,
            _ => BinaryOp::Sub,
        };
        let part = match is_same(one) && op == BinaryOp::Sub {
            true => self.body.number(0, width),
            false => self.body.binary(op, a, b, width),
        };
        let value = self.body.binary(op, part, carry, width);
        self.flags = Flags::Number { value, width };
        self.set(one, 0, value, width)
    }

    fn multiplies(&mut self, one: &Instruction) -> Lifted {
        let bits = width(one, 0);
        let first = one.op_count() - 2;
        let (a, b) = (
            self.source(one, first, bits)?,
            self.source(one, first + 1, bits)?,
        );
        let value = self.body.binary(BinaryOp::Mul, a, b, bits);
        self.flags = Flags::Unknown;
        self.set(one, 0, value, bits)
    }

    /// A product of twice the width in two registers.
    fn multiplies_wide(&mut self, one: &Instruction) -> Lifted {
        let width = width(one, 0);
        if width < 32 {
            return None;
        }
        let extend = match one.mnemonic() {
            Mnemonic::Imul => CastOp::SExt,
            _ => CastOp::ZExt,
        };
        let (a, b) = (self.body.read(LOW, width), self.source(one, 0, width)?);
        let a = self.body.cast(extend, a, width, 2 * width);
        let b = self.body.cast(extend, b, width, 2 * width);
        let product = self.body.binary(BinaryOp::Mul, a, b, 2 * width);
        let by = self.body.number(width.into(), 2 * width);
        let high = self.body.binary(BinaryOp::LShr, product, by, 2 * width);
        let low = self.body.resized(product, 2 * width, width);
        let high = self.body.resized(high, 2 * width, width);
        self.body.write(LOW, low, width);
        self.body.write(HIGH, high, width);
        (self.flags, self.extended) = (Flags::Unknown, None);
        Some(())
    }

    /// A division of the number in two registers. Most dividends are no wider than the divisor.
    fn divides(&mut self, one: &Instruction) -> Lifted {
        let width = width(one, 0);
        let is_signed = one.mnemonic() == Mnemonic::Idiv;
        if width < 32 {
            return None;
        }
        let (low, high) = (self.body.read(LOW, width), self.body.read(HIGH, width));
        let divisor = self.source(one, 0, width)?;
        let is_extended = match is_signed {
            true => self.extended == Some((low, high, width)) || self.is_sign(low, high, width),
            false => self.body.tables.known(high) == Some(0),
        };
        let (quotient, rest) = match is_extended {
            true => self.divided((low, divisor), width, is_signed),
            false => self.divided_wide((low, high), divisor, width, is_signed),
        };
        self.body.write(LOW, quotient, width);
        self.body.write(HIGH, rest, width);
        (self.flags, self.extended) = (Flags::Unknown, None);
        Some(())
    }

    /// Returns whether a number is the sign of another.
    fn is_sign(&self, low: Operand, high: Operand, width: u32) -> bool {
        let known = |operand| self.body.tables.known(operand);
        let (Some(low), Some(high)) = (known(low), known(high)) else {
            return false;
        };
        let is_negative = low >> (width - 1) & 1 == 1;
        high == if is_negative {
            super::unit::mask(width)
        } else {
            0
        }
    }

    /// Quotient and rest.
    fn divided(
        &mut self,
        (a, b): (Operand, Operand),
        width: u32,
        is_signed: bool,
    ) -> (Operand, Operand) {
        let (quotient, rest) = match is_signed {
            true => (BinaryOp::SDiv, BinaryOp::SRem),
            false => (BinaryOp::UDiv, BinaryOp::URem),
        };
        let quotient = self.body.binary(quotient, a, b, width);
        (quotient, self.body.binary(rest, a, b, width))
    }

    /// Quotient and rest of a number of twice the width.
    fn divided_wide(
        &mut self,
        (low, high): (Operand, Operand),
        divisor: Operand,
        width: u32,
        is_signed: bool,
    ) -> (Operand, Operand) {
        let wide = 2 * width;
        let extend = if is_signed {
            CastOp::SExt
        } else {
            CastOp::ZExt
        };
        let (low, high) = (
            self.body.resized(low, width, wide),
            self.body.resized(high, width, wide),
        );
        let by = self.body.number(width.into(), wide);
        let high = self.body.binary(BinaryOp::Shl, high, by, wide);
        let dividend = self.body.binary(BinaryOp::Or, high, low, wide);
        let divisor = self.body.cast(extend, divisor, width, wide);
        let (quotient, rest) = self.divided((dividend, divisor), wide, is_signed);
        let quotient = self.body.resized(quotient, wide, width);
        (quotient, self.body.resized(rest, wide, width))
    }

    /// The distance of a shift: the processor takes it modulo the width of the machine word.
    fn distance(&mut self, one: &Instruction, width: u32) -> Option<(Operand, Option<u128>)> {
        let mask = if width == 64 { 63 } else { 31 };
        let by = match one.op_count() {
            1 => self.body.number(1, 8),
            _ => self.source(one, 1, 8)?,
        };
        if let Some(by) = self.body.tables.known(by) {
            return Some((self.body.number(by & mask, width), Some(by & mask)));
        }
        let mask = self.body.number(mask, 8);
        let by = self.body.binary(BinaryOp::And, by, mask, 8);
        Some((self.body.resized(by, 8, width), None))
    }

    fn shifts(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let width = width(one, 0);
        let a = self.source(one, 0, width)?;
        let (by, known) = self.distance(one, width)?;
        let value = self.body.binary(op, a, by, width);
        self.flags = match known {
            Some(0) => self.flags,
            Some(_) => Flags::Number { value, width },
            // Nothing changes the flags if the distance is zero.
            None => Flags::Unknown,
        };
        self.set(one, 0, value, width)
    }

    fn rotates(&mut self, one: &Instruction) -> Lifted {
        let width = width(one, 0);
        let a = self.source(one, 0, width)?;
        let (_, by) = self.distance(one, width)?;
        let by = by? % u128::from(width);
        if by == 0 {
            return self.set(one, 0, a, width);
        }
        let left = match one.mnemonic() {
            Mnemonic::Rol => by,
            _ => u128::from(width) - by,
        };
        let (up, down) = (
            self.body.number(left, width),
            self.body.number(u128::from(width) - left, width),
        );
        let high = self.body.binary(BinaryOp::Shl, a, up, width);
        let low = self.body.binary(BinaryOp::LShr, a, down, width);
        let value = self.body.binary(BinaryOp::Or, high, low, width);
        self.flags = Flags::Unknown;
        self.set(one, 0, value, width)
    }

    /// The lower register with twice as many bits.
    fn extends_low(&mut self, from: u32) -> Lifted {
        let value = self.body.read(LOW, from);
        let value = self.body.cast(CastOp::SExt, value, from, 2 * from);
        self.body.write(LOW, value, 2 * from);
        Some(())
    }

    /// The sign of the lower register in all bits of the upper one.
    fn extends_high(&mut self, width: u32) -> Lifted {
        let low = self.body.read(LOW, width);
        let by = self.body.number(u128::from(width) - 1, width);
        let sign = self.body.binary(BinaryOp::AShr, low, by, width);
        self.body.write(HIGH, sign, width);
        self.extended = Some((low, sign, width));
        Some(())
    }

    /// The value behind a choice by a condition.
    pub fn choose(&mut self, condition: Operand, yes: Operand, no: Operand, width: u32) -> Operand {
        let ty = self.body.tables.integer(width);
        self.body.emit(Op::Select { condition, yes, no }, ty)
    }

    /// Forgets a vector register.
    pub fn forget_vector(&mut self, number: usize) {
        self.body.hold(RegisterSlot::low(number), Held::Unknown);
        self.body.hold(RegisterSlot::high(number), Held::Unknown);
    }
}
