//! The body of a function while it is lifted: blocks of operations on values, and the registers as values.
//!
//! A register that is read in a block and set before it becomes a phi where several ways meet, after Braun et al.,
//! "Simple and Efficient Construction of Static Single Assignment Form"; only registers that are read get any.

use super::{
    decode::MachineCode,
    flags::Flags,
    unit::{UnitTables, row},
};
use std::collections::VecDeque;
use unsnarl_trace::program::{BinaryOp, BlockId, CastOp, Op, Operand, TypeId, ValueId};

/// Number of registers: general ones, then the lower and the upper halves of vector registers.
pub(super) const REGISTERS: usize = 48;

/// A register: index into a block's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegisterSlot(pub usize);

impl RegisterSlot {
    /// The general register with this number in the encoding.
    pub fn general(number: usize) -> RegisterSlot {
        RegisterSlot(number)
    }

    /// The lower half of a vector register.
    pub fn low(number: usize) -> RegisterSlot {
        RegisterSlot(16 + number)
    }

    /// The upper half of a vector register.
    pub fn high(number: usize) -> RegisterSlot {
        RegisterSlot(32 + number)
    }
}

/// The content of a register.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Held {
    /// A number of 64 bits.
    Whole(Operand),
    /// A number of so many bits, with zeros above.
    Extended(Operand, u32),
    /// A number of so many bits in place of the lowest of another.
    Inserted(Operand, u32, Box<Held>),
    /// Something that is not known.
    Unknown,
}

/// An operation and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub op: Op,
    pub result: Option<ValueId>,
    pub ty: TypeId,
    /// Address of the machine instruction.
    pub address: u64,
}

/// A block that is being lifted.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyBlock {
    pub phis: Vec<(ValueId, RegisterSlot)>,
    pub code: Vec<Node>,
    /// The last operation, once it is known.
    pub end: Option<Node>,
    registers: Vec<Option<Held>>,
    before: Vec<usize>,
    pub flags: Flags,
}

/// A body that is being lifted.
pub(super) struct LiftedBody<'a> {
    pub tables: &'a mut UnitTables,
    pub blocks: Vec<BodyBlock>,
    /// The block that operations are appended to.
    pub at: usize,
    /// Address of the instruction that is being lifted.
    pub address: u64,
    values: u32,
    /// Phis whose operands have to be found.
    open: VecDeque<(usize, ValueId, RegisterSlot)>,
}

impl LiftedBody<'_> {
    /// An empty body; the first values are the parameters.
    pub fn new<'a>(
        tables: &'a mut UnitTables,
        code: &MachineCode,
        parameters: usize,
    ) -> LiftedBody<'a> {
        let block = |block: &super::decode::MachineBlock| BodyBlock {
            registers: vec![None; REGISTERS],
            before: block.before.clone(),
            ..BodyBlock::default()
        };
        LiftedBody {
            tables,
            blocks: code.blocks.iter().map(block).collect(),
            at: 0,
            address: 0,
            values: row(parameters),
            open: VecDeque::new(),
        }
    }

    /// A new value.
    fn value(&mut self) -> ValueId {
        let id = ValueId(self.values);
        self.values = self.values.saturating_add(1);
        id
    }

    /// Appends an operation with a result.
    pub fn emit(&mut self, op: Op, ty: TypeId) -> Operand {
        let result = self.value();
        self.push(Node {
            op,
            result: Some(result),
            ty,
            address: self.address,
        });
        Operand::Value(result)
    }

    /// Appends an operation without a result.
    pub fn act(&mut self, op: Op, ty: TypeId) {
        self.push(Node {
            op,
            result: None,
            ty,
            address: self.address,
        });
    }

    fn push(&mut self, node: Node) {
        if let Some(block) = self.blocks.get_mut(self.at) {
            block.code.push(node);
        }
    }

    /// Ends the block.
    pub fn end(&mut self, op: Op) {
        let ty = self.tables.void();
        let node = Node {
            op,
            result: None,
            ty,
            address: self.address,
        };
        if let Some(block) = self.blocks.get_mut(self.at) {
            block.end = Some(node);
        }
    }

    /// Returns whether the block has ended.
    pub fn has_ended(&self) -> bool {
        self.blocks
            .get(self.at)
            .is_some_and(|block| block.end.is_some())
    }

    /// A number.
    pub fn number(&mut self, bits: u128, width: u32) -> Operand {
        self.tables.number(bits, width)
    }

    /// An operation on integers of a width.
    pub fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand, width: u32) -> Operand {
        let ty = self.tables.integer(width);
        self.emit(Op::Binary { op, a, b }, ty)
    }

    /// A number with another width.
    pub fn cast(&mut self, op: CastOp, of: Operand, from: u32, to: u32) -> Operand {
        if from == to || from == 0 {
            return of;
        }
        if let Some(bits) = self.tables.known(of) {
            let is_negative = op == CastOp::SExt && bits >> (from - 1) & 1 == 1;
            let above = if is_negative {
                !super::unit::mask(from)
            } else {
                0
            };
            return self.number(bits | above, to);
        }
        let (from, ty) = (self.tables.integer(from), self.tables.integer(to));
        self.emit(Op::Cast { op, of, from }, ty)
    }

    /// The lowest bits of a number, or the number with zeros above.
    pub fn resized(&mut self, of: Operand, from: u32, to: u32) -> Operand {
        let op = if from < to {
            CastOp::ZExt
        } else {
            CastOp::Trunc
        };
        self.cast(op, of, from, to)
    }

    /// A value of which nothing is known: memory of its own that nothing was written to.
    pub fn unknown(&mut self, width: u32) -> Operand {
        let (ty, pointer) = (self.tables.integer(width), self.tables.pointer());
        let count = self.number(1, 64);
        let size = u64::from(width.div_ceil(8));
        let address = self.emit(Op::Alloca { ty, size, count }, pointer);
        let load = Op::Load {
            address,
            is_atomic: false,
        };
        self.emit(load, ty)
    }

    /// Sets a register of the current block.
    pub fn hold(&mut self, register: RegisterSlot, held: Held) {
        let block = self.blocks.get_mut(self.at);
        if let Some(slot) = block.and_then(|block| block.registers.get_mut(register.0)) {
            *slot = Some(held);
        }
    }

    /// The content of a register at the current place of a block, or at its end.
    pub fn held(&mut self, block: usize, register: RegisterSlot) -> Held {
        let mut at = block;
        let found = loop {
            let Some(here) = self.blocks.get(at) else {
                break Held::Unknown;
            };
            if let Some(Some(held)) = here.registers.get(register.0) {
                break held.clone();
            }
            match here.before.as_slice() {
                [] => break Held::Unknown,
                [one] if *one != at => at = *one,
                _ => break self.phi(at, register),
            }
        };
        let slot = self.blocks.get_mut(block);
        if let Some(slot) = slot.and_then(|block| block.registers.get_mut(register.0)) {
            *slot = Some(found.clone());
        }
        found
    }

    fn phi(&mut self, block: usize, register: RegisterSlot) -> Held {
        let value = self.value();
        let held = Held::Whole(Operand::Value(value));
        self.open.push_back((block, value, register));
        if let Some(block) = self.blocks.get_mut(block) {
            block.phis.push((value, register));
            if let Some(slot) = block.registers.get_mut(register.0) {
                *slot = Some(held.clone());
            }
        }
        held
    }

    /// The lowest bits of a register.
    pub fn read(&mut self, register: RegisterSlot, width: u32) -> Operand {
        let held = self.held(self.at, register);
        let (operand, is_new) = self.bits_of(&held, width);
        if is_new && width == 64 {
            self.hold(register, Held::Whole(operand));
        }
        operand
    }

    /// The lowest bits of what a register holds, and whether they had to be made.
    fn bits_of(&mut self, held: &Held, width: u32) -> (Operand, bool) {
        match held {
            Held::Whole(operand) => (self.resized(*operand, 64, width), false),
            Held::Extended(operand, bits) => (self.resized(*operand, *bits, width), true),
            Held::Inserted(operand, bits, _) if width <= *bits => {
                (self.resized(*operand, *bits, width), false)
            }
            Held::Inserted(operand, bits, below) => {
                let (below, _) = self.bits_of(below, width);
                let mask = self.number(!super::unit::mask(*bits), width);
                let above = self.binary(BinaryOp::And, below, mask, width);
                let low = self.resized(*operand, *bits, width);
                (self.binary(BinaryOp::Or, above, low, width), true)
            }
            Held::Unknown => (self.unknown(width), width == 64),
        }
    }

    /// Sets the lowest bits of a register; 32 of them clear those above.
    pub fn write(&mut self, register: RegisterSlot, operand: Operand, width: u32) {
        let held = match width {
            64 => Held::Whole(operand),
            32 => Held::Extended(operand, 32),
            _ => return self.insert(register, operand, width),
        };
        self.hold(register, held);
    }

    /// Sets the lowest bits of a register and keeps those above.
    pub fn insert(&mut self, register: RegisterSlot, operand: Operand, width: u32) {
        let mut below = self.held(self.at, register);
        // What is replaced needs not be kept.
        while let Held::Inserted(_, bits, inner) = &below
            && *bits <= width
        {
            below = Held::clone(inner);
        }
        self.hold(register, Held::Inserted(operand, width, Box::new(below)));
    }

    /// Finds the operands of all phis, and puts each in its place.
    pub fn finish(&mut self) -> Vec<Vec<Node>> {
        let ty = self.tables.integer(64);
        let mut phis: Vec<Vec<Node>> = vec![Vec::new(); self.blocks.len()];
        while let Some((block, value, register)) = self.open.pop_front() {
            let before = self.blocks.get(block).map(|block| block.before.clone());
            let mut ways = Vec::new();
            for from in before.unwrap_or_default() {
                self.at = from;
                self.address = 0;
                let operand = self.read(register, 64);
                ways.push((BlockId(row(from)), operand));
            }
            if let Some(list) = phis.get_mut(block) {
                list.push(Node {
                    op: Op::Phi(ways),
                    result: Some(value),
                    ty,
                    address: 0,
                });
            }
        }
        phis
    }

    /// The blocks before a block.
    pub fn before(&self, block: usize) -> &[usize] {
        self.blocks.get(block).map_or(&[], |block| &block.before)
    }
}
