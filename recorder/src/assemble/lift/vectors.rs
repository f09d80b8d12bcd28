//! Vector registers: scalar floating-point numbers, and moves of whole registers.

use super::{
    body::{Held, RegisterSlot},
    flags::Flags,
    function::{Lifted, Lifting, width},
};
use iced_x86::{Instruction, Mnemonic, OpKind};
use unsnarl_trace::program::{BinaryOp, CastOp, CompareOp, Op, Operand};

/// The halves of a vector.
type Halves = [Operand; 2];

impl Lifting<'_> {
    pub fn vector(&mut self, one: &Instruction) -> Lifted {
        match one.mnemonic() {
            Mnemonic::Movss => self.moves_scalar(one, 32),
            Mnemonic::Movsd => self.moves_scalar(one, 64),
            Mnemonic::Movd => self.moves_low(one, 32),
            Mnemonic::Movq => self.moves_low(one, 64),
            Mnemonic::Movaps
            | Mnemonic::Movapd
            | Mnemonic::Movups
            | Mnemonic::Movupd
            | Mnemonic::Movdqa
            | Mnemonic::Movdqu => self.moves_whole(one),
            Mnemonic::Movhps | Mnemonic::Movhpd => self.moves_half(one, RegisterSlot::high),
            Mnemonic::Movlps | Mnemonic::Movlpd => self.moves_half(one, RegisterSlot::low),
            Mnemonic::Movhlps | Mnemonic::Movlhps => self.moves_between(one),
            Mnemonic::Unpcklpd | Mnemonic::Punpcklqdq => self.joins_halves(one, 0),
            Mnemonic::Unpckhpd | Mnemonic::Punpckhqdq => self.joins_halves(one, 1),
            Mnemonic::Unpcklps | Mnemonic::Punpckldq => self.interleaves(one),
            Mnemonic::Pshufd => self.shuffles(one),
            Mnemonic::Pxor | Mnemonic::Xorps | Mnemonic::Xorpd => self.bits(one, BinaryOp::Xor),
            Mnemonic::Pand | Mnemonic::Andps | Mnemonic::Andpd => self.bits(one, BinaryOp::And),
            Mnemonic::Por | Mnemonic::Orps | Mnemonic::Orpd => self.bits(one, BinaryOp::Or),
            Mnemonic::Pandn | Mnemonic::Andnps | Mnemonic::Andnpd => self.bits_without(one),
            Mnemonic::Paddq => self.adds_words(one, BinaryOp::Add),
            Mnemonic::Psubq => self.adds_words(one, BinaryOp::Sub),
            Mnemonic::Paddd => self.adds_lanes(one, BinaryOp::Add),
            Mnemonic::Psubd => self.adds_lanes(one, BinaryOp::Sub),
            _ => self.scalar(one),
        }
    }

    fn scalar(&mut self, one: &Instruction) -> Lifted {
        match one.mnemonic() {
            Mnemonic::Addss => self.computes(one, BinaryOp::FAdd, 32),
            Mnemonic::Addsd => self.computes(one, BinaryOp::FAdd, 64),
            Mnemonic::Subss => self.computes(one, BinaryOp::FSub, 32),
            Mnemonic::Subsd => self.computes(one, BinaryOp::FSub, 64),
            Mnemonic::Mulss => self.computes(one, BinaryOp::FMul, 32),
            Mnemonic::Mulsd => self.computes(one, BinaryOp::FMul, 64),
            Mnemonic::Divss => self.computes(one, BinaryOp::FDiv, 32),
            Mnemonic::Divsd => self.computes(one, BinaryOp::FDiv, 64),
            Mnemonic::Minss => self.chooses(one, CompareOp::FOlt, 32),
            Mnemonic::Minsd => self.chooses(one, CompareOp::FOlt, 64),
            Mnemonic::Maxss => self.chooses(one, CompareOp::FOgt, 32),
            Mnemonic::Maxsd => self.chooses(one, CompareOp::FOgt, 64),
            Mnemonic::Sqrtss => self.root(one, 32),
            Mnemonic::Sqrtsd => self.root(one, 64),
            Mnemonic::Cvtsi2ss => self.converts_integer(one, 32),
            Mnemonic::Cvtsi2sd => self.converts_integer(one, 64),
            Mnemonic::Cvttss2si => self.converts_float(one, 32),
            Mnemonic::Cvttsd2si => self.converts_float(one, 64),
            Mnemonic::Cvtss2sd => self.resizes(one, CastOp::FPExt, 32, 64),
            Mnemonic::Cvtsd2ss => self.resizes(one, CastOp::FPTrunc, 64, 32),
            Mnemonic::Ucomiss | Mnemonic::Comiss => self.compares_floats(one, 32),
            Mnemonic::Ucomisd | Mnemonic::Comisd => self.compares_floats(one, 64),
            _ => None,
        }
    }

    /// Number of the vector register that an operand is.
    fn number(one: &Instruction, operand: u32) -> Option<usize> {
        let is_register = one.op_kind(operand) == OpKind::Register;
        let name = one.op_register(operand);
        let is_known = is_register && name.is_xmm() && name.number() < 16;
        is_known.then(|| name.number())
    }

    /// Both halves of an operand.
    fn halves(&mut self, one: &Instruction, operand: u32) -> Option<Halves> {
        if let Some(number) = Lifting::number(one, operand) {
            let low = self.body.read(RegisterSlot::low(number), 64);
            return Some([low, self.body.read(RegisterSlot::high(number), 64)]);
        }
        if one.op_kind(operand) != OpKind::Memory || one.memory_size().size() != 16 {
            return None;
        }
        let place = self.place(one)?;
        Some([self.load(&place, 64), self.load(&place.behind(8), 64)])
    }

    fn set_halves(&mut self, one: &Instruction, [low, high]: Halves) -> Lifted {
        if let Some(number) = Lifting::number(one, 0) {
            self.body.hold(RegisterSlot::low(number), Held::Whole(low));
            self.body
                .hold(RegisterSlot::high(number), Held::Whole(high));
            return Some(());
        }
        if one.op_kind(0) != OpKind::Memory || one.memory_size().size() != 16 {
            return None;
        }
        let place = self.place(one)?;
        self.store(&place, low, 64);
        self.store(&place.behind(8), high, 64);
        Some(())
    }

    /// Sets a register to a number with zeros above.
    fn set_alone(&mut self, number: usize, value: Operand, width: u32) {
        let zero = self.body.number(0, 64);
        self.body.write(RegisterSlot::low(number), value, width);
        self.body
            .hold(RegisterSlot::high(number), Held::Whole(zero));
    }

    fn moves_scalar(&mut self, one: &Instruction, width: u32) -> Lifted {
        let value = self.source(one, 1, width)?;
        match (Lifting::number(one, 0), one.op_kind(1)) {
            (Some(number), OpKind::Memory) => self.set_alone(number, value, width),
            (Some(number), _) => self.body.insert(RegisterSlot::low(number), value, width),
            (None, _) => return self.set(one, 0, value, width),
        }
        Some(())
    }

    fn moves_low(&mut self, one: &Instruction, width: u32) -> Lifted {
        if [0, 1]
            .iter()
            .any(|at| one.op_kind(*at) == OpKind::Register && one.op_register(*at).is_mm())
        {
            return None;
        }
        let value = self.source(one, 1, width)?;
        match Lifting::number(one, 0) {
            Some(number) => self.set_alone(number, value, width),
            None => return self.set(one, 0, value, width),
        }
        Some(())
    }

    fn moves_whole(&mut self, one: &Instruction) -> Lifted {
        let halves = self.halves(one, 1)?;
        self.set_halves(one, halves)
    }

    fn moves_half(&mut self, one: &Instruction, half: fn(usize) -> RegisterSlot) -> Lifted {
        match Lifting::number(one, 0) {
            Some(number) => {
                let value = self.source(one, 1, 64)?;
                self.body.hold(half(number), Held::Whole(value));
                Some(())
            }
            None => {
                let value = self.body.read(half(Lifting::number(one, 1)?), 64);
                self.set(one, 0, value, 64)
            }
        }
    }

    fn moves_between(&mut self, one: &Instruction) -> Lifted {
        let (to, from) = (Lifting::number(one, 0)?, Lifting::number(one, 1)?);
        let (to, from) = match one.mnemonic() {
            Mnemonic::Movhlps => (RegisterSlot::low(to), RegisterSlot::high(from)),
            _ => (RegisterSlot::high(to), RegisterSlot::low(from)),
        };
        let value = self.body.read(from, 64);
        self.body.hold(to, Held::Whole(value));
        Some(())
    }

    fn joins_halves(&mut self, one: &Instruction, half: usize) -> Lifted {
        let (a, b) = (self.halves(one, 0)?, self.halves(one, 1)?);
        self.set_halves(one, [*a.get(half)?, *b.get(half)?])
    }

    /// The four numbers of a vector.
    fn lanes(&mut self, halves: Halves) -> [Operand; 4] {
        let [low, high] = halves;
        let by = self.body.number(32, 64);
        [(low, false), (low, true), (high, false), (high, true)].map(|(half, is_upper)| {
            let half = match is_upper {
                true => self.body.binary(BinaryOp::LShr, half, by, 64),
                false => half,
            };
            self.body.resized(half, 64, 32)
        })
    }

    fn set_lanes(&mut self, one: &Instruction, [a, b, c, d]: [Operand; 4]) -> Lifted {
        let by = self.body.number(32, 64);
        let halves = [(a, b), (c, d)].map(|(low, high)| {
            let (low, high) = (
                self.body.resized(low, 32, 64),
                self.body.resized(high, 32, 64),
            );
            let high = self.body.binary(BinaryOp::Shl, high, by, 64);
            self.body.binary(BinaryOp::Or, high, low, 64)
        });
        self.set_halves(one, halves)
    }

    fn interleaves(&mut self, one: &Instruction) -> Lifted {
        let (a, b) = (self.halves(one, 0)?, self.halves(one, 1)?);
        let ([a, c, ..], [b, d, ..]) = (self.lanes(a), self.lanes(b));
        self.set_lanes(one, [a, b, c, d])
    }

    fn shuffles(&mut self, one: &Instruction) -> Lifted {
        let from = self.halves(one, 1)?;
        let from = self.lanes(from);
        let order = one.immediate8();
        let lane = |at: u32| from.get(usize::from(order >> (2 * at) & 3)).copied();
        self.set_lanes(one, [lane(0)?, lane(1)?, lane(2)?, lane(3)?])
    }

    fn bits(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let is_same = Lifting::number(one, 0) == Lifting::number(one, 1);
        if is_same && op == BinaryOp::Xor {
            let zero = self.body.number(0, 64);
            return self.set_halves(one, [zero, zero]);
        }
        self.adds_words(one, op)
    }

    fn bits_without(&mut self, one: &Instruction) -> Lifted {
        let ([low, high], b) = (self.halves(one, 0)?, self.halves(one, 1)?);
        let ones = self.body.number(u128::MAX, 64);
        let a = [low, high].map(|half| self.body.binary(BinaryOp::Xor, half, ones, 64));
        let [a, c] = a;
        let [b, d] = b;
        let low = self.body.binary(BinaryOp::And, a, b, 64);
        let high = self.body.binary(BinaryOp::And, c, d, 64);
        self.set_halves(one, [low, high])
    }

    fn adds_words(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let ([a, c], [b, d]) = (self.halves(one, 0)?, self.halves(one, 1)?);
        let low = self.body.binary(op, a, b, 64);
        let high = self.body.binary(op, c, d, 64);
        self.set_halves(one, [low, high])
    }

    fn adds_lanes(&mut self, one: &Instruction, op: BinaryOp) -> Lifted {
        let (a, b) = (self.halves(one, 0)?, self.halves(one, 1)?);
        let (a, b) = (self.lanes(a), self.lanes(b));
        let [a0, a1, a2, a3] = a;
        let [b0, b1, b2, b3] = b;
        let sums = [(a0, b0), (a1, b1), (a2, b2), (a3, b3)];
        let sums = sums.map(|(a, b)| self.body.binary(op, a, b, 32));
        self.set_lanes(one, sums)
    }

    fn computes(&mut self, one: &Instruction, op: BinaryOp, width: u32) -> Lifted {
        let (a, b) = (self.source(one, 0, width)?, self.source(one, 1, width)?);
        let ty = self.body.tables.float(width);
        let value = self.body.emit(Op::Binary { op, a, b }, ty);
        self.set(one, 0, value, width)
    }

    fn chooses(&mut self, one: &Instruction, op: CompareOp, width: u32) -> Lifted {
        let (a, b) = (self.source(one, 0, width)?, self.source(one, 1, width)?);
        let (ty, of) = (self.body.tables.integer(1), self.body.tables.float(width));
        let condition = self.body.emit(Op::Compare { op, a, b, of }, ty);
        let value = self.choose(condition, a, b, width);
        self.set(one, 0, value, width)
    }

    fn root(&mut self, one: &Instruction, width: u32) -> Lifted {
        let of = self.source(one, 1, width)?;
        let name = format!("llvm.sqrt.f{width}");
        let callee = Operand::Constant(self.body.tables.function_address(&name));
        let ty = self.body.tables.float(width);
        let op = Op::Call {
            callee,
            arguments: vec![of],
            by_value: vec![0],
            normal: None,
            unwind: None,
        };
        let value = self.body.emit(op, ty);
        self.set(one, 0, value, width)
    }

    fn converts_integer(&mut self, one: &Instruction, width: u32) -> Lifted {
        let from = super::function::width(one, 1);
        let of = self.source(one, 1, from)?;
        let (ty, from) = (
            self.body.tables.float(width),
            self.body.tables.integer(from),
        );
        let op = CastOp::SIToFP;
        let value = self.body.emit(Op::Cast { op, of, from }, ty);
        self.set(one, 0, value, width)
    }

    fn converts_float(&mut self, one: &Instruction, from: u32) -> Lifted {
        let to = width(one, 0);
        let of = self.source(one, 1, from)?;
        let (ty, from) = (self.body.tables.integer(to), self.body.tables.float(from));
        let op = CastOp::FPToSI;
        let value = self.body.emit(Op::Cast { op, of, from }, ty);
        self.set(one, 0, value, to)
    }

    fn resizes(&mut self, one: &Instruction, op: CastOp, from: u32, to: u32) -> Lifted {
        let of = self.source(one, 1, from)?;
        let (ty, from) = (self.body.tables.float(to), self.body.tables.float(from));
        let value = self.body.emit(Op::Cast { op, of, from }, ty);
        self.set(one, 0, value, to)
    }

    fn compares_floats(&mut self, one: &Instruction, width: u32) -> Lifted {
        let (a, b) = (self.source(one, 0, width)?, self.source(one, 1, width)?);
        self.flags = Flags::Floats { a, b, width };
        Some(())
    }
}
