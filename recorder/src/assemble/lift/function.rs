//! The lifting of one function: its state, and the operands of its instructions.

use super::{
    super::image::Image,
    abi::{Abi, Passed},
    abis::Abis,
    body::{Held, LiftedBody, RegisterSlot},
    data::DataRows,
    decode::End,
    file::{LoadedFile, Relocated},
    flags::Flags,
    frame::FrameObjects,
    stack::StackState,
};
use iced_x86::{Instruction, InstructionInfoFactory, OpKind, Register as Name};
use unsnarl_trace::program::{BinaryOp, Op, Operand, Scaled};

/// Result of lifting an instruction; `None` if it is not understood.
pub(super) type Lifted = Option<()>;

/// The offset of the canary in a thread's own memory.
pub(super) const GUARD: u64 = 0x28;

/// Registers that pass integers, by their number in the encoding.
pub(super) const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

/// A function that is being lifted.
pub(super) struct Lifting<'a> {
    pub body: LiftedBody<'a>,
    pub file: &'a LoadedFile,
    pub image: &'a Image,
    pub abis: &'a Abis,
    pub data: &'a mut DataRows,
    pub frame: &'a FrameObjects,
    /// Addresses of the frame's objects.
    pub objects: Vec<Operand>,
    /// Address of the word that stands for the canary, once it is needed.
    pub guard: Option<Operand>,
    pub stack: StackState,
    /// The ends of the blocks.
    pub ends: Vec<End>,
    /// Offset of the words that a call passes in memory.
    pub arguments: i64,
    pub abi: &'a Abi,
    pub flags: Flags,
    /// The dividend's halves, the lower one first, and their width, as the instruction that extends a sign has made
    /// them.
    pub extended: Option<(Operand, Operand, u32)>,
    pub factory: InstructionInfoFactory,
}

/// An address as the parts of an instruction's operand.
#[derive(Clone, Debug)]
pub(super) struct OperandPlace {
    base: Operand,
    bytes: i64,
    scaled: Vec<Scaled>,
}

impl OperandPlace {
    /// So many bytes behind an address.
    pub fn at(base: Operand, bytes: i64) -> OperandPlace {
        OperandPlace {
            base,
            bytes,
            scaled: Vec::new(),
        }
    }

    /// So many bytes behind.
    pub fn behind(&self, bytes: i64) -> OperandPlace {
        OperandPlace {
            bytes: self.bytes.wrapping_add(bytes),
            ..self.clone()
        }
    }
}

/// The width of an instruction's operand in bits.
pub(super) fn width(one: &Instruction, operand: u32) -> u32 {
    let bytes = match one.op_kind(operand) {
        OpKind::Register => one.op_register(operand).size(),
        OpKind::Memory => one.memory_size().size(),
        _ => one.op0_register().size(),
    };
    u32::try_from(bytes * 8).unwrap_or(0)
}

/// The general register of a name, and whether it is its second byte.
fn general(name: Name) -> Option<(usize, bool)> {
    let is_second = matches!(name, Name::AH | Name::BH | Name::CH | Name::DH);
    let number = match is_second {
        true => name.number() - 4,
        false if name.is_gpr() => name.full_register().number(),
        false => return None,
    };
    Some((number, is_second))
}

impl Lifting<'_> {
    /// The address of a place in the frame.
    pub fn frame_place(&mut self, at: i64) -> Option<OperandPlace> {
        let (object, bytes) = self.frame.find(at)?;
        Some(OperandPlace {
            base: *self.objects.get(object)?,
            bytes,
            scaled: Vec::new(),
        })
    }

    /// The place that an instruction's memory operand names.
    pub fn place(&mut self, one: &Instruction) -> Option<OperandPlace> {
        match one.segment_prefix() {
            Name::None | Name::CS | Name::DS | Name::ES | Name::SS => {}
            _ => return self.own_place(one).or_else(|| self.thread_place(one)),
        }
        let index = one.memory_index();
        let mut place = match one.memory_base() {
            Name::RIP => self.fixed_place(one.ip_rel_memory_address())?,
            _ if self.stack.operand(one).is_some() => {
                let at = self.stack.operand(one)?;
                self.frame_place(at)?
            }
            Name::None => {
                let base = self.body.number(0, 64);
                OperandPlace {
                    base,
                    bytes: one.memory_displacement64() as i64,
                    scaled: Vec::new(),
                }
            }
            base if base.is_gpr64() => OperandPlace {
                base: self.body.read(RegisterSlot::general(base.number()), 64),
                bytes: one.memory_displacement64() as i64,
                scaled: Vec::new(),
            },
            _ => return None,
        };
        if index != Name::None {
            let bytes = i64::from(one.memory_index_scale());
            let index = self.register(index, 64)?;
            place.scaled.push(Scaled { index, bytes });
        }
        Some(place)
    }

    /// The place of the canary.
    fn own_place(&mut self, one: &Instruction) -> Option<OperandPlace> {
        let is_guard = one.segment_prefix() == Name::FS
            && one.memory_base() == Name::None
            && one.memory_index() == Name::None
            && one.memory_displacement64() == GUARD;
        let base = self.guard.filter(|_| is_guard)?;
        Some(OperandPlace {
            base,
            bytes: 0,
            scaled: Vec::new(),
        })
    }

    fn fixed_place(&mut self, address: u64) -> Option<OperandPlace> {
        let base = self.fixed(address)?;
        Some(OperandPlace {
            base,
            bytes: 0,
            scaled: Vec::new(),
        })
    }

    /// An address of the file's own as a constant.
    pub fn fixed(&mut self, address: u64) -> Option<Operand> {
        let constant = self
            .data
            .address(self.body.tables, (self.file, self.image), address)?;
        Some(Operand::Constant(constant))
    }

    /// The address of a place.
    pub fn address(&mut self, place: &OperandPlace) -> Operand {
        if place.scaled.is_empty() {
            if place.bytes == 0 {
                return place.base;
            }
            if let Operand::Constant(base) = place.base {
                return Operand::Constant(self.body.tables.behind(base, place.bytes));
            }
        }
        let ty = self.body.tables.pointer();
        let op = Op::Address {
            base: place.base,
            bytes: place.bytes,
            scaled: place.scaled.clone(),
        };
        self.body.emit(op, ty)
    }

    /// Reads memory.
    pub fn load(&mut self, place: &OperandPlace, width: u32) -> Operand {
        let address = self.address(place);
        let ty = self.body.tables.integer(width);
        let op = Op::Load {
            address,
            is_atomic: false,
        };
        self.body.emit(op, ty)
    }

    /// Writes memory.
    pub fn store(&mut self, place: &OperandPlace, value: Operand, width: u32) {
        let address = self.address(place);
        let ty = self.body.tables.integer(width);
        let op = Op::Store {
            value,
            address,
            is_atomic: false,
        };
        self.body.act(op, ty);
    }

    /// The content of a register of any kind and width.
    pub fn register(&mut self, name: Name, width: u32) -> Option<Operand> {
        if let Some(at) = self.stack.offset(name.full_register()) {
            let place = self.frame_place(at)?;
            let address = self.address(&place);
            return Some(self.body.resized(address, 64, width));
        }
        if name.is_xmm() {
            return Some(self.body.read(RegisterSlot::low(name.number()), width));
        }
        let (number, is_second) = general(name)?;
        if !is_second {
            return Some(self.body.read(RegisterSlot::general(number), width));
        }
        let both = self.body.read(RegisterSlot::general(number), 16);
        let by = self.body.number(8, 16);
        let second = self.body.binary(BinaryOp::LShr, both, by, 16);
        Some(self.body.resized(second, 16, width))
    }

    /// Sets a general register; one that holds a place in the frame is tracked elsewhere.
    pub fn set_register(&mut self, name: Name, value: Operand, width: u32) -> Lifted {
        if name.is_xmm() {
            self.body
                .insert(RegisterSlot::low(name.number()), value, width);
            return Some(());
        }
        let (number, is_second) = general(name)?;
        let register = RegisterSlot::general(number);
        if !is_second {
            self.body.write(register, value, width);
            return Some(());
        }
        let both = self.body.read(register, 16);
        let mask = self.body.number(0xff, 16);
        let low = self.body.binary(BinaryOp::And, both, mask, 16);
        let (value, by) = (self.body.resized(value, 8, 16), self.body.number(8, 16));
        let high = self.body.binary(BinaryOp::Shl, value, by, 16);
        let both = self.body.binary(BinaryOp::Or, high, low, 16);
        self.body.write(register, both, 16);
        Some(())
    }

    /// The value of an operand.
    pub fn source(&mut self, one: &Instruction, operand: u32, width: u32) -> Option<Operand> {
        match one.op_kind(operand) {
            OpKind::Register => self.register(one.op_register(operand), width),
            OpKind::Memory => self.source_in_memory(one, width),
            _ => {
                let bits = one.try_immediate(operand).ok()?;
                Some(self.body.number(bits.into(), width))
            }
        }
    }

    /// Reads a memory operand; the words that the loader writes for the code are known.
    fn source_in_memory(&mut self, one: &Instruction, width: u32) -> Option<Operand> {
        if one.memory_base() == Name::RIP && width == 64 {
            let at = one.ip_rel_memory_address();
            if !self.file.is_writable(at) && self.file.relocated(at).is_some() {
                return self.relocated(at);
            }
        }
        let place = self.place(one)?;
        Some(self.load(&place, width))
    }

    fn relocated(&mut self, at: u64) -> Option<Operand> {
        let written = self.file.relocated(at)?.clone();
        let constant = self
            .data
            .written(self.body.tables, (self.file, self.image), &written)?;
        Some(Operand::Constant(constant))
    }

    /// Sets an operand.
    pub fn set(&mut self, one: &Instruction, operand: u32, value: Operand, width: u32) -> Lifted {
        match one.op_kind(operand) {
            OpKind::Register => self.set_register(one.op_register(operand), value, width),
            OpKind::Memory => {
                let place = self.place(one)?;
                self.store(&place, value, width);
                Some(())
            }
            _ => None,
        }
    }

    /// Gives the parameters to the registers and the words of the stack that pass them.
    pub fn take_parameters(&mut self) {
        let abi = self.abi;
        for (row, passed) in abi.parameters.iter().enumerate() {
            let value = Operand::Value(unsnarl_trace::program::ValueId(super::unit::row(row)));
            let (register, bits) = match *passed {
                Passed::Integer(at, bits) => {
                    (ARGUMENTS.get(at).map(|at| RegisterSlot::general(*at)), bits)
                }
                Passed::Float(at, bits) => (Some(RegisterSlot::low(at)), bits),
                Passed::Stack(at) => {
                    let at = i64::try_from(at).unwrap_or(0);
                    if let Some(place) = self.frame_place(8 * at) {
                        self.store(&place, value, 64);
                    }
                    continue;
                }
            };
            let held = match bits {
                64 => Held::Whole(value),
                _ if matches!(passed, Passed::Float(..)) => {
                    Held::Inserted(value, bits, Box::new(Held::Unknown))
                }
                _ => Held::Extended(value, bits),
            };
            if let Some(register) = register {
                self.body.hold(register, held);
            }
        }
    }
}

/// Name of the relocated word's function, if it is one of another file.
pub(super) fn outside_function(written: &Relocated) -> Option<&str> {
    match written {
        Relocated::Outside { name, .. } => Some(name),
        _ => None,
    }
}
