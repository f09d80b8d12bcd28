//! Calls from a file's own code to functions of other libraries: where in the code they stand.
//!
//! A library that is not instrumented (`std::thread::join` in libstdc++) calls what is recorded from
//! its own code. Its caller is known by function only; the machine code says where in that function
//! the call is.

use super::{image::CodeSymbol, names::FunctionName};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget};
use rustc_hash::FxHashMap;

/// The code of a file, with the targets of its calls through the linkage table.
#[derive(Default)]
pub(super) struct Imports {
    /// Sections of code by address.
    code: Vec<(u64, Vec<u8>)>,
    /// Names by the address of the pointer that the loader fills in.
    slots: FxHashMap<u64, FunctionName>,
    /// Slots by the address of the stub that jumps through them.
    stubs: FxHashMap<u64, u64>,
}

/// Addresses that a function leads to by displacements.
pub(super) struct FunctionTargets {
    pub called: Vec<u64>,
    pub jumped: Vec<u64>,
}

impl FunctionTargets {
    pub fn contain(&self, address: u64) -> bool {
        self.called.contains(&address) || self.jumped.contains(&address)
    }
}

/// Opcode of `jmp` with a displacement.
const JUMP: u8 = 0xe9;
/// Opcodes of `call` with a displacement, and of `call` and `jmp` through a pointer relative to the program counter.
const CALL: u8 = 0xe8;
const CALL_THROUGH: [u8; 2] = [0xff, 0x15];
const JUMP_THROUGH: [u8; 2] = [0xff, 0x25];
/// Size of a stub in bytes: its address is a multiple of this.
const STUB: u64 = 16;

impl Imports {
    /// Reads the code sections and the table of dynamic relocations.
    pub fn read(file: &object::File<'_>) -> Imports {
        let mut imports = Imports::default();
        let symbols = file.dynamic_symbol_table();
        for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let symbol = symbols.as_ref().and_then(|table| {
                use object::ObjectSymbolTable as _;
                table.symbol_by_index(index).ok()
            });
            if let Some(name) = symbol.as_ref().and_then(|symbol| symbol.name().ok()) {
                imports.slots.insert(slot, FunctionName::of(name));
            }
        }
        let is_code =
            |section: &object::Section<'_, '_>| section.kind() == object::SectionKind::Text;
        for section in file.sections().filter(is_code) {
            let bytes = section.data().unwrap_or(&[]).to_vec();
            if section.name().is_ok_and(|name| name.starts_with(".plt")) {
                imports.note_stubs(section.address(), &bytes);
            } else {
                imports.code.push((section.address(), bytes));
            }
        }
        imports
    }

    /// Possible return addresses of calls: those behind everything in the code that decodes as a call. Bytes in the
    /// middle of an instruction may decode as one too, so some of these are not real.
    pub fn returns(&self) -> Vec<u64> {
        let inside = |address: u64| {
            self.code
                .iter()
                .any(|(start, bytes)| address.wrapping_sub(*start) < bytes.len() as u64)
        };
        let mut returns = Vec::new();
        for (start, bytes) in &self.code {
            for at in memchr::memchr2_iter(CALL, CALL_THROUGH[0], bytes) {
                let Some(window) = bytes.get(at..at + 7) else {
                    break;
                };
                let address = start + at as u64;
                let direct = called(window, address)
                    .filter(|to| inside(*to) || self.stubs.contains_key(&(to / STUB * STUB)));
                let length = direct.map(|_| 5).or_else(|| indirect_call(window));
                returns.extend(length.map(|length| address + length));
            }
        }
        returns
    }

    fn note_stubs(&mut self, start: u64, bytes: &[u8]) {
        for (offset, six) in (start..).zip(bytes.windows(6)) {
            if let Some(slot) = through(six, JUMP_THROUGH, offset)
                && self.slots.contains_key(&slot)
            {
                self.stubs.insert(offset / STUB * STUB, slot);
            }
        }
    }

    /// Return address of the first call within `function` of an import whose name `is_it`, seen from `from` onwards, then
    /// from the start of the function.
    pub fn call_after(
        &self,
        function: &CodeSymbol,
        from: u64,
        is_it: impl Fn(&str) -> bool,
    ) -> Option<u64> {
        let end = function.start.checked_add(function.size)?;
        self.call_between(from, end, &is_it)
            .or_else(|| self.call_between(function.start, from, &is_it))
    }

    /// The addresses that a function calls without the linkage table, by a displacement, and those that it jumps to, within
    /// itself included. Bytes in the middle of an instruction may decode as one too.
    pub fn targets(&self, function: &CodeSymbol) -> FunctionTargets {
        let size = usize::try_from(function.size).unwrap_or(usize::MAX);
        let code = self.code_at(function.start).unwrap_or(&[]);
        let code = code.get(..size).unwrap_or(code);
        let all = || (function.start..).zip(code.windows(5));
        FunctionTargets {
            called: all().filter_map(|(at, five)| led(five, CALL, at)).collect(),
            jumped: all().filter_map(|(at, five)| led(five, JUMP, at)).collect(),
        }
    }

    /// The code from an address to the end of its section.
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        self.code.iter().find_map(|(start, bytes)| {
            let into = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(into..).filter(|rest| !rest.is_empty())
        })
    }

    /// Name of the function that the stub at this address jumps to.
    pub fn stub_name(&self, address: u64) -> Option<&str> {
        self.slot_name(*self.stubs.get(&(address / STUB * STUB))?)
    }

    /// Name of the function whose address the loader stores there.
    pub fn slot_name(&self, address: u64) -> Option<&str> {
        self.slots.get(&address).map(FunctionName::get)
    }

    fn call_between(&self, from: u64, to: u64, is_it: impl Fn(&str) -> bool) -> Option<u64> {
        let (start, bytes) = self.code.iter().find(|(start, bytes)| {
            from.checked_sub(*start)
                .is_some_and(|into| into < bytes.len() as u64)
        })?;
        let first = usize::try_from(from - start).ok()?;
        let last = usize::try_from(to.checked_sub(*start)?)
            .ok()?
            .min(bytes.len());
        let code = bytes.get(first..last)?;
        (from..).zip(code.windows(6)).find_map(|(address, six)| {
            let (slot, length) = match through(six, CALL_THROUGH, address) {
                Some(slot) => (slot, 6),
                None => (*self.stubs.get(&called(six, address)?)?, 5),
            };
            let known = self.slots.get(&slot);
            known
                .is_some_and(|known| is_it(known.get()))
                .then(|| address + length)
        })
    }
}

/// The address of the pointer that an instruction with this opcode goes through.
fn through(six: &[u8], opcode: [u8; 2], address: u64) -> Option<u64> {
    let displacement = six.strip_prefix(&opcode)?.first_chunk()?;
    Some(
        address
            .wrapping_add(6)
            .wrapping_add_signed(i32::from_le_bytes(*displacement).into()),
    )
}

/// Length of a `call` through a register or memory.
fn indirect_call(code: &[u8]) -> Option<u64> {
    const CALL_OF_GROUP: u8 = 2;
    let [0xff, modes, scaled, ..] = *code else {
        return None;
    };
    let (mode, operation, register) = (modes >> 6, modes >> 3 & 7, modes & 7);
    if operation != CALL_OF_GROUP {
        return None;
    }
    let scale_byte = u64::from(mode != 3 && register == 4);
    let displacement = match (mode, register) {
        (0, 5) => 4,
        (0, 4) if scaled & 7 == 5 => 4,
        (1, _) => 1,
        (2, _) => 4,
        _ => 0,
    };
    Some(2 + scale_byte + displacement)
}

/// The address that a `call` goes to.
fn called(code: &[u8], address: u64) -> Option<u64> {
    led(code, CALL, address)
}

/// The address that an instruction with this opcode and a displacement goes to.
fn led(code: &[u8], opcode: u8, address: u64) -> Option<u64> {
    let displacement = code.strip_prefix(&[opcode])?.first_chunk()?;
    Some(
        address
            .wrapping_add(5)
            .wrapping_add_signed(i32::from_le_bytes(*displacement).into()),
    )
}
