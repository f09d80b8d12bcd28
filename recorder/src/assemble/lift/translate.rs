//! Machine instructions as operations: moves, conversions and jumps. Arithmetic is in [`super::arithmetic`], vector
//! registers in [`super::vectors`], calls in [`super::calls`].

use super::{
    abi::{Returned, Word},
    body::{Held, RegisterSlot},
    decode::{End, MachineBlock},
    flags::Flags,
    function::{Lifted, Lifting, width},
    unit::row,
};
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpAccess, OpKind, Register as Name};
use unsnarl_trace::program::{BinaryOp, BlockId, CastOp, Op, Operand, SwitchCase};

fn block(at: usize) -> BlockId {
    BlockId(row(at))
}

impl Lifting<'_> {
    /// Lifts a block whose stack state is set.
    pub fn block(&mut self, at: usize, machine: &MachineBlock) -> Result<(), String> {
        self.body.at = at;
        self.flags = self.flags_before(at);
        let before = self.flags;
        self.extended = None;
        for one in &machine.instructions {
            self.body.address = one.ip();
            if !self.body.has_ended() {
                self.instruction(at, one);
            }
            self.stack.step(one, &mut self.factory)?;
        }
        if let Some(block) = self.body.blocks.get_mut(at) {
            block.flags = self.flags;
        }
        if !self.body.has_ended() {
            self.ends(machine, before);
        }
        Ok(())
    }

    /// The flags at the beginning of a block: those of the one block before it.
    fn flags_before(&self, at: usize) -> Flags {
        let before = self.body.before(at);
        match before {
            [one] => self
                .body
                .blocks
                .get(*one)
                .map_or(Flags::Unknown, |it| it.flags),
            _ => Flags::Unknown,
        }
    }

    fn ends(&mut self, machine: &MachineBlock, before: Flags) {
        let op = match &machine.end {
            End::Jump(to) => Op::Jump(block(*to)),
            End::Branch { yes, no } => self.branch(machine, *yes, *no),
            End::Switch { cases, default } => self.switch(before, cases, *default),
            End::Return => self.returns(),
            End::Nothing => Op::Unreachable,
        };
        self.body.end(op);
    }

    fn branch(&mut self, machine: &MachineBlock, yes: usize, no: usize) -> Op {
        let code = machine.instructions.last().map(|one| one.condition_code());
        let condition = code.and_then(|code| self.body.condition(self.flags, code));
        let Some(condition) = condition else {
            let last = machine.instructions.last().map(|one| one.mnemonic());
            self.unknown_operation(&format!("{last:?}"));
            return Op::Unreachable;
        };
        let (yes, no) = (block(yes), block(no));
        match yes == no {
            true => Op::Jump(yes),
            false => Op::Branch { condition, yes, no },
        }
    }

    /// A jump by a table: the block before has compared the number.
    fn switch(&mut self, before: Flags, cases: &[usize], default: usize) -> Op {
        let Flags::Difference { a: value, .. } = before else {
            self.unknown_operation("a jump by a table");
            return Op::Unreachable;
        };
        let case = |(bits, to): (u128, &usize)| SwitchCase {
            bits,
            to: block(*to),
        };
        Op::Switch {
            value,
            cases: (0..).zip(cases).map(case).collect(),
            default: block(default),
        }
    }

    fn returns(&mut self) -> Op {
        let abi = self.abi;
        match abi.returned {
            Returned::Nothing => Op::Return(None),
            Returned::One(Word::Float(bits)) => {
                Op::Return(Some(self.body.read(RegisterSlot::low(0), bits)))
            }
            Returned::One(Word::Integer(bits)) => {
                Op::Return(Some(self.body.read(RegisterSlot::general(0), bits)))
            }
            Returned::One(Word::Memory) => Op::Return(None),
            Returned::Two(first, second) => {
                let [first, second] = super::calls::pair_registers(first, second);
                let ty = self.body.tables.pair();
                let zero = unsnarl_trace::program::Constant::Zero(ty);
                let mut into = Operand::Constant(self.body.tables.constant(zero));
                for (path, register) in [(0, first), (1, second)] {
                    let value = self.body.read(register, 64);
                    let path = vec![path];
                    into = self.body.emit(Op::Insert { into, value, path }, ty);
                }
                Op::Return(Some(into))
            }
        }
    }

    /// Notes an instruction that is not understood: nothing behind it can be followed.
    pub fn unknown_operation(&mut self, text: &str) {
        let ty = self.body.tables.void();
        self.body.act(Op::Unknown(text.to_owned()), ty);
    }

    fn instruction(&mut self, at: usize, one: &Instruction) {
        if self.translate(at, one).is_some() {
            return;
        }
        self.unknown_operation(&format!("{:?} at {:#x}", one.mnemonic(), one.ip()));
        self.flags = Flags::Unknown;
        self.extended = None;
        let used = self.factory.info(one).used_registers().to_vec();
        for used in used {
            let is_written = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            let name = used.register().full_register();
            if is_written && name.is_gpr64() {
                self.body
                    .hold(RegisterSlot::general(name.number()), Held::Unknown);
            } else if is_written && name.is_vector_register() && name.number() < 16 {
                self.body
                    .hold(RegisterSlot::low(name.number()), Held::Unknown);
                self.body
                    .hold(RegisterSlot::high(name.number()), Held::Unknown);
            }
        }
    }

    fn translate(&mut self, at: usize, one: &Instruction) -> Lifted {
        if one.has_rep_prefix() || one.has_repne_prefix() {
            let is_plain = matches!(
                one.mnemonic(),
                Mnemonic::Ret | Mnemonic::Nop | Mnemonic::Pause
            );
            return match is_plain {
                true => Some(()),
                false => self.repeated(one),
            };
        }
        if one.has_lock_prefix() {
            return None;
        }
        match one.mnemonic() {
            Mnemonic::Nop
            | Mnemonic::Endbr64
            | Mnemonic::Pause
            | Mnemonic::Mfence
            | Mnemonic::Lfence
            | Mnemonic::Sfence
            | Mnemonic::Ret => Some(()),
            Mnemonic::Jmp if self.is_tail_call(at, one) => self.call(one),
            Mnemonic::Jmp => Some(()),
            Mnemonic::Ud2 | Mnemonic::Int3 | Mnemonic::Hlt => {
                self.body.end(Op::Unreachable);
                Some(())
            }
            Mnemonic::Mov => self.moves(one),
            Mnemonic::Movzx => self.extends(one, CastOp::ZExt),
            Mnemonic::Movsx | Mnemonic::Movsxd => self.extends(one, CastOp::SExt),
            Mnemonic::Lea => self.lea(one),
            Mnemonic::Push => self.push(at, one),
            Mnemonic::Pop => self.pop(one),
            Mnemonic::Leave => self.leave(),
            Mnemonic::Xchg => self.exchange(one),
            Mnemonic::Call => self.call(one),
            _ if one.condition_code() != ConditionCode::None => self.conditional(one),
            _ => self.arithmetic(one).or_else(|| self.vector(one)),
        }
    }

    /// Returns whether a jump takes the place of a call and a return.
    fn is_tail_call(&self, at: usize, jump: &Instruction) -> bool {
        let is_last = self.ends.get(at) == Some(&End::Return);
        is_last && super::calls::callee(self.file, jump).is_some()
    }

    fn is_pointer(&self, one: &Instruction) -> bool {
        one.op0_kind() == OpKind::Register
            && (one.op0_register() == Name::RSP || one.op0_register() == Name::RBP)
    }

    /// Returns whether the instruction only moves the stack or frame pointer within the frame, which is tracked
    /// elsewhere.
    pub fn only_moves_pointer(&self, one: &Instruction) -> bool {
        let to = one.op0_kind() == OpKind::Register && one.op0_register() == Name::RSP;
        let from = match one.op_count() {
            2 if one.op1_kind() == OpKind::Register => one.op1_register(),
            2 if one.op1_kind() == OpKind::Memory => one.memory_base(),
            _ => Name::None,
        };
        to || self.is_pointer(one)
            && matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Lea)
            && (one.op1_kind() == OpKind::Register || one.mnemonic() == Mnemonic::Lea)
            && one.memory_index() == Name::None
            && self.stack.offset(from).is_some()
    }

    fn moves(&mut self, one: &Instruction) -> Lifted {
        if self.only_moves_pointer(one) || self.takes_thread_address(one).is_some() {
            return Some(());
        }
        let bits = width(one, 0);
        let value = self.source(one, 1, bits)?;
        self.set(one, 0, value, bits)
    }

    fn extends(&mut self, one: &Instruction, op: CastOp) -> Lifted {
        let (to, from) = (width(one, 0), width(one, 1));
        let value = self.source(one, 1, from)?;
        let value = self.body.cast(op, value, from, to);
        self.set(one, 0, value, to)
    }

    fn lea(&mut self, one: &Instruction) -> Lifted {
        if self.only_moves_pointer(one) {
            return Some(());
        }
        let to = width(one, 0);
        if let Some(value) = self.sum(one, to) {
            return self.set(one, 0, value, to);
        }
        let place = self.place(one)?;
        let address = self.address(&place);
        let value = self.body.resized(address, 64, to);
        self.set(one, 0, value, to)
    }

    /// The sum that an address computation of numbers is, in the width that it is computed for: expressions of
    /// narrow numbers stay narrow.
    fn sum(&mut self, one: &Instruction, to: u32) -> Option<Operand> {
        let (base, index) = (one.memory_base(), one.memory_index());
        let is_number = |name: Name| name == Name::None || name.is_gpr();
        let is_frame = self.stack.operand(one).is_some();
        if to == 64 || is_frame || !is_number(base) || !is_number(index) {
            return None;
        }
        let bytes = one.memory_displacement64();
        let mut sum = match base {
            Name::None => None,
            base => Some(self.register(base, to)?),
        };
        if index != Name::None {
            let index = self.register(index, to)?;
            let scale = self.body.number(one.memory_index_scale().into(), to);
            let by = match one.memory_index_scale() {
                1 => index,
                _ => self.body.binary(BinaryOp::Mul, index, scale, to),
            };
            sum = Some(match sum {
                Some(sum) => self.body.binary(BinaryOp::Add, sum, by, to),
                None => by,
            });
        }
        let number = self.body.number(bytes.into(), to);
        Some(match sum {
            Some(sum) if bytes == 0 => sum,
            Some(sum) => self.body.binary(BinaryOp::Add, sum, number, to),
            None => number,
        })
    }

    fn push(&mut self, at: usize, one: &Instruction) -> Lifted {
        let place = self.frame_place(self.stack.pointer - 8)?;
        if one.op0_kind() == OpKind::Register && at == 0 {
            let name = one.op0_register();
            let is_frame = self.stack.offset(name).is_some();
            let register = RegisterSlot::general(name.full_register().number());
            // What the caller had in it is not known, and neither is the slot's content.
            if !is_frame && self.body.held(at, register) == Held::Unknown {
                return Some(());
            }
        }
        let value = self.source(one, 0, 64)?;
        self.store(&place, value, 64);
        Some(())
    }

    fn pop(&mut self, one: &Instruction) -> Lifted {
        let place = self.frame_place(self.stack.pointer)?;
        let value = self.load(&place, 64);
        match one.op0_kind() {
            OpKind::Register => self.set_register(one.op0_register(), value, 64),
            _ => None,
        }
    }

    fn leave(&mut self) -> Lifted {
        let place = self.frame_place(self.stack.frame?)?;
        let value = self.load(&place, 64);
        self.set_register(Name::RBP, value, 64)
    }

    fn exchange(&mut self, one: &Instruction) -> Lifted {
        if one.op0_kind() != OpKind::Register || one.op1_kind() != OpKind::Register {
            return None;
        }
        let bits = width(one, 0);
        let (a, b) = (self.source(one, 0, bits)?, self.source(one, 1, bits)?);
        self.set(one, 0, b, bits)?;
        self.set(one, 1, a, bits)
    }

    /// Instructions that depend on the flags.
    fn conditional(&mut self, one: &Instruction) -> Lifted {
        let flow = one.flow_control();
        if flow == iced_x86::FlowControl::ConditionalBranch {
            return Some(());
        }
        let condition = self.body.condition(self.flags, one.condition_code())?;
        if one.op_count() == 1 {
            let value = self.body.resized(condition, 1, 8);
            return self.set(one, 0, value, 8);
        }
        let bits = width(one, 0);
        let (no, yes) = (self.source(one, 0, bits)?, self.source(one, 1, bits)?);
        let ty = self.body.tables.integer(bits);
        let op = Op::Select { condition, yes, no };
        let value = self.body.emit(op, ty);
        self.set(one, 0, value, bits)
    }

    /// Copies and fills of as many words as a register says.
    fn repeated(&mut self, one: &Instruction) -> Lifted {
        let (name, bytes) = match one.mnemonic() {
            Mnemonic::Movsb => ("memcpy", 1),
            Mnemonic::Movsd if one.op0_kind() == OpKind::MemoryESRDI => ("memcpy", 4),
            Mnemonic::Movsq => ("memcpy", 8),
            Mnemonic::Stosb => ("memset", 1),
            Mnemonic::Stosd => ("memset", 4),
            Mnemonic::Stosq => ("memset", 8),
            _ => return None,
        };
        let (to, from) = (
            self.body.read(RegisterSlot(7), 64),
            self.body.read(RegisterSlot(6), 64),
        );
        let count = self.body.read(RegisterSlot(1), 64);
        let size = self.body.number(bytes, 64);
        let total = self.body.binary(BinaryOp::Mul, count, size, 64);
        let what = match name {
            "memcpy" => from,
            // Only a fill with equal bytes is one of bytes.
            _ => {
                let word = self.body.read(RegisterSlot(0), 64);
                let byte = self.body.tables.known(word).filter(|word| *word == 0)?;
                self.body.number(byte, 32)
            }
        };
        self.repeat(name, [to, what, total])?;
        let end = self.body.binary(BinaryOp::Add, to, total, 64);
        self.body.hold(RegisterSlot(7), Held::Whole(end));
        if name == "memcpy" {
            let end = self.body.binary(BinaryOp::Add, from, total, 64);
            self.body.hold(RegisterSlot(6), Held::Whole(end));
        }
        let zero = self.body.number(0, 64);
        self.body.hold(RegisterSlot(1), Held::Whole(zero));
        Some(())
    }

    /// A copy or fill by the intrinsic that compilers have for it.
    fn repeat(&mut self, name: &str, [to, what, total]: [Operand; 3]) -> Lifted {
        let text = format!("llvm.{name}.p0.i64");
        let callee = Operand::Constant(self.body.tables.function_address(&text));
        let no = self.body.number(0, 1);
        let op = Op::Call {
            callee,
            arguments: vec![to, what, total, no],
            by_value: vec![0; 4],
            normal: None,
            unwind: None,
        };
        let ty = self.body.tables.void();
        self.body.act(op, ty);
        Some(())
    }
}
