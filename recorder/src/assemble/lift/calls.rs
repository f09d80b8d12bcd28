//! Calls: what they are given, what they return, and what they leave of the registers.

use super::{
    abi::{Abi, Passed, Returned, Word},
    body::{Held, RegisterSlot},
    file::LoadedFile,
    flags::Flags,
    function::{ARGUMENTS, Lifted, Lifting, outside_function},
};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use unsnarl_trace::program::{Op, Operand};

/// Registers that a call may change, by their number in the encoding.
const CHANGED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// Number of vector registers.
const VECTORS: usize = 16;

/// The registers of a result in two parts.
pub(super) fn pair_registers(first: Word, second: Word) -> [RegisterSlot; 2] {
    let is_float = |word| matches!(word, Word::Float(_));
    let (general, vector) = (RegisterSlot::general, RegisterSlot::low);
    match (is_float(first), is_float(second)) {
        (false, false) => [general(0), general(2)],
        (false, true) => [general(0), vector(0)],
        (true, false) => [vector(0), general(0)],
        (true, true) => [vector(0), vector(1)],
    }
}

/// The linker's name of the function that a call goes to, directly or by a stub.
pub(super) fn callee<'f>(file: &'f LoadedFile, call: &Instruction) -> Option<&'f str> {
    match call.op0_kind() {
        OpKind::NearBranch64 => named(file, call.near_branch_target()),
        OpKind::Memory if call.is_ip_rel_memory_operand() => {
            let at = call.ip_rel_memory_address();
            let written = file.relocated(at).filter(|_| !file.is_writable(at));
            match written? {
                super::file::Relocated::Address(at) => named(file, *at),
                written => outside_function(written),
            }
        }
        _ => None,
    }
}

/// The name of the function at an address, or of the one that the stub there jumps to.
fn named(file: &LoadedFile, at: u64) -> Option<&str> {
    if let Some(symbol) = file.functions.get(&at) {
        return Some(&symbol.name);
    }
    let mut decoder = Decoder::with_ip(64, file.bytes(at), at, DecoderOptions::NONE);
    let first = decoder.decode();
    let jump = match first.mnemonic() {
        Mnemonic::Endbr64 => decoder.decode(),
        _ => first,
    };
    if jump.mnemonic() != Mnemonic::Jmp || !jump.is_ip_rel_memory_operand() {
        return None;
    }
    outside_function(file.relocated(jump.ip_rel_memory_address())?)
}

impl Lifting<'_> {
    /// A call, or a jump to a function, which takes over the caller's arguments in memory.
    pub fn call(&mut self, one: &Instruction) -> Lifted {
        let is_jump = one.mnemonic() == Mnemonic::Jmp;
        self.arguments = self.stack.pointer + if is_jump { 8 } else { 0 };
        let name = callee(self.file, one).map(str::to_owned);
        let abi = match &name {
            // What is not understood is not lifted either, so nothing takes its arguments apart.
            Some(name) => self.abis.of(name).unwrap_or_else(|_| Abi::unknown()),
            None => Abi::unknown(),
        };
        let target = match &name {
            Some(name) => Operand::Constant(self.body.tables.function_address(name)),
            None => self.source(one, 0, 64)?,
        };
        let arguments: Option<Vec<Operand>> = abi
            .parameters
            .iter()
            .map(|passed| self.argument(*passed))
            .collect();
        let arguments = arguments?;
        let by_value = vec![0; arguments.len()];
        let op = Op::Call {
            callee: target,
            arguments,
            by_value,
            normal: None,
            unwind: None,
        };
        let result = self.made(&abi.returned, op);
        self.forget();
        if let Some(result) = result {
            self.take_result(&abi.returned, result);
        }
        if abi.is_final {
            self.body.end(Op::Unreachable);
        }
        Some(())
    }

    /// An argument; a register that holds nothing holds no argument either.
    fn argument(&mut self, passed: Passed) -> Option<Operand> {
        let (register, bits) = match passed {
            Passed::Integer(at, bits) => (RegisterSlot::general(*ARGUMENTS.get(at)?), bits),
            Passed::Float(at, bits) => (RegisterSlot::low(at), bits),
            Passed::Stack(at) => {
                let at = self.arguments + 8 * i64::try_from(at).ok()?;
                let place = self.frame_place(at)?;
                return Some(self.load(&place, 64));
            }
        };
        let is_empty = self.body.held(self.body.at, register) == Held::Unknown;
        Some(match is_empty {
            true => self.body.number(0, bits),
            false => self.body.read(register, bits),
        })
    }

    /// The call, and its result.
    fn made(&mut self, returned: &Returned, op: Op) -> Option<Operand> {
        let ty = self.body.tables.returned(returned);
        match returned {
            Returned::Nothing => {
                self.body.act(op, ty);
                None
            }
            _ => Some(self.body.emit(op, ty)),
        }
    }

    fn forget(&mut self) {
        for number in CHANGED {
            self.body.hold(RegisterSlot::general(number), Held::Unknown);
        }
        for number in 0..VECTORS {
            self.forget_vector(number);
        }
        (self.flags, self.extended) = (Flags::Unknown, None);
    }

    fn take_result(&mut self, returned: &Returned, result: Operand) {
        match *returned {
            Returned::One(Word::Float(bits)) => self.take(RegisterSlot::low(0), result, bits),
            Returned::One(Word::Integer(bits)) => self.take(RegisterSlot::general(0), result, bits),
            Returned::Two(first, second) => {
                let ty = self.body.tables.integer(64);
                let registers = pair_registers(first, second);
                for (path, register) in [0, 1].into_iter().zip(registers) {
                    let path = vec![path];
                    let half = self.body.emit(Op::Extract { of: result, path }, ty);
                    self.body.hold(register, Held::Whole(half));
                }
            }
            Returned::Nothing | Returned::One(Word::Memory) => {}
        }
    }

    /// A result of few bits leaves those above as they happen to be.
    fn take(&mut self, register: RegisterSlot, result: Operand, bits: u32) {
        let is_general = register == RegisterSlot::general(0);
        let held = match bits {
            64 => Held::Whole(result),
            32 if is_general => Held::Extended(result, 32),
            _ => Held::Inserted(result, bits, Box::new(Held::Unknown)),
        };
        self.body.hold(register, held);
    }
}
