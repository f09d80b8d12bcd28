//! The functions of other files that a program or library calls.
//!
//! A file that is not instrumented imports them. In an instrumented one, the runtime is linked in: it defines the functions
//! that it stands in for, and imports some for itself. There the code tells which functions the program's own calls go to.

use super::{
    CoverageError,
    table::{RuntimeTable, is_internal},
};
use crate::assemble::MOST;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _, RelocationTarget,
    SectionKind, SymbolKind,
};
use rustc_hash::FxHashMap;
use std::{collections::BTreeSet, ops::Range, path::Path};
use unsnarl_trace::{files::read_regular, raw::serve};

/// The calls of one file.
pub(super) struct ProgramCalls {
    /// Names of the functions.
    pub names: BTreeSet<String>,
    /// The runtime is linked into it.
    pub is_instrumented: bool,
    /// They are its own, and none of them only the runtime's.
    pub is_exact: bool,
}

impl ProgramCalls {
    /// Reads a file.
    pub fn of(path: &Path, table: &RuntimeTable) -> Result<ProgramCalls, CoverageError> {
        let bytes = read_regular(path, MOST).map_err(|error| CoverageError::Read {
            path: path.to_owned(),
            error,
        })?;
        let file =
            object::File::parse(&*bytes).map_err(|_| CoverageError::NotElf(path.to_owned()))?;
        let has = |name: &str| {
            file.symbols()
                .chain(file.dynamic_symbols())
                .any(|it| it.name() == Ok(name))
        };
        let is_instrumented = has(serve::SYMBOL) || has("__tsan_init");
        let has_symbols = file.symbols().next().is_some();
        let names = match is_instrumented && has_symbols {
            true => CodeScan::of(&file, table).names(&file),
            false => imported(&file),
        };
        Ok(ProgramCalls {
            names: names
                .into_iter()
                .filter(|name| !is_internal(name))
                .collect(),
            is_instrumented,
            is_exact: has_symbols || !is_instrumented,
        })
    }
}

/// The functions that a file takes from others.
fn imported(file: &object::File<'_>) -> BTreeSet<String> {
    let symbols = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined());
    let names = symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.filter(|name| !name.is_empty()).collect()
}

/// The targets that calls in an instrumented program can have, and its own code.
struct CodeScan<'t> {
    table: &'t RuntimeTable,
    /// Functions by their address: those that the runtime stands in for.
    entries: FxHashMap<u64, String>,
    /// Imported functions by the address of the pointer that the loader fills in.
    slots: FxHashMap<u64, String>,
    /// Slots by the address of the stub that jumps through them.
    stubs: FxHashMap<u64, u64>,
    /// The runtime's code, sorted.
    foreign: Vec<Range<u64>>,
}

/// Beginning of the labels of the functions that the runtime stands in for (`runtime/src/entry.rs`).
const ENTRY: &str = "unsnarl_entry_";
/// Size of a stub in bytes: its address is a multiple of this.
const STUB: u64 = 16;

impl<'t> CodeScan<'t> {
    fn of(file: &object::File<'_>, table: &'t RuntimeTable) -> CodeScan<'t> {
        let mut scan = CodeScan {
            table,
            entries: FxHashMap::default(),
            slots: slots(file),
            stubs: FxHashMap::default(),
            foreign: Vec::new(),
        };
        let mut symbols: Vec<_> = file.symbols().filter(is_in_code).collect();
        symbols.sort_by_key(|symbol| symbol.address());
        let ends = symbols.iter().skip(1).map(|next| next.address()).chain([0]);
        let places = symbols
            .iter()
            .map(|symbol| (symbol.name().unwrap_or(""), symbol.address()));
        let labels: FxHashMap<&str, u64> = places.collect();
        for (symbol, next) in symbols.iter().zip(ends) {
            // What is written in assembly may have no size: it goes on to whatever comes next.
            let end = match symbol.size() {
                0 => next,
                size => symbol.address() + size,
            };
            let name = symbol.name().unwrap_or("");
            // A function of the program's own may have the name of one that the runtime stands in for.
            let entry = labels.get(format!("{ENTRY}{name}").as_str());
            if entry.is_none_or(|entry| *entry == symbol.address()) {
                scan.note(name, symbol.address()..end);
            }
        }
        for section in code(file).filter(|section| is_linkage(section)) {
            let data = section.data().unwrap_or(&[]);
            for (address, six) in (section.address()..).zip(data.windows(6)) {
                let slot = through(six, address, [0xff, 0x25]);
                if let Some(slot) = slot.filter(|slot| scan.slots.contains_key(slot)) {
                    scan.stubs.insert(address / STUB * STUB, slot);
                }
            }
        }
        scan
    }

    fn note(&mut self, name: &str, range: Range<u64>) {
        if self.table.is_modelled(name) {
            self.entries.insert(range.start, name.to_owned());
        }
        if self.table.is_of_runtime(name) {
            self.foreign.push(range);
        }
    }

    /// The names that the program's own code refers to by calls, jumps and addresses.
    fn names(&self, file: &object::File<'_>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for section in code(file).filter(|section| !is_linkage(section)) {
            let data = section.data().unwrap_or(&[]);
            for (address, seven) in (section.address()..).zip(data.windows(7)) {
                let found = self.referred(seven, address);
                if let Some(name) = found.filter(|_| !self.is_foreign(address)) {
                    names.insert(name.to_owned());
                }
            }
        }
        names
    }

    /// Several symbols may be at one place, and the last one need not be the longest.
    fn is_foreign(&self, address: u64) -> bool {
        const NEAR: usize = 8;
        let behind = self.foreign.partition_point(|range| range.start <= address);
        let before = self.foreign.get(..behind).unwrap_or(&[]).iter().rev();
        before.take(NEAR).any(|range| range.contains(&address))
    }

    /// The function that an instruction at this address refers to, if the bytes are such an instruction.
    fn referred(&self, code: &[u8], address: u64) -> Option<&str> {
        const CALL: u8 = 0xe8;
        const JUMP: u8 = 0xe9;
        let slot = || {
            let opcodes = [[0xff, 0x15], [0xff, 0x25]].into_iter();
            let mut slots = opcodes.filter_map(|opcode| through(code, address, opcode));
            slots.find_map(|slot| self.slots.get(&slot))
        };
        let direct = match code {
            [CALL | JUMP, displacement @ ..] => Some(relative(displacement, address + 5)?),
            // The address of a function: `lea` relative to the program counter, `mov` from a pointer.
            [0x48 | 0x4c, 0x8d | 0x8b, mode, displacement @ ..] if mode & 0xc7 == 5 => {
                Some(relative(displacement, address + 7)?)
            }
            _ => None,
        };
        let by_address = direct.and_then(|target| {
            let stub = self.stubs.get(&(target / STUB * STUB));
            let slot = stub.map_or(target, |slot| *slot);
            self.entries.get(&target).or_else(|| self.slots.get(&slot))
        });
        by_address.or_else(slot).map(String::as_str)
    }
}

/// The address of the pointer that an instruction with this opcode goes through.
fn through(code: &[u8], address: u64, opcode: [u8; 2]) -> Option<u64> {
    relative(code.strip_prefix(&opcode)?, address + 6)
}

/// The place at this displacement from the end of an instruction.
fn relative(displacement: &[u8], end: u64) -> Option<u64> {
    let displacement = i32::from_le_bytes(*displacement.first_chunk()?);
    Some(end.wrapping_add_signed(displacement.into()))
}

/// Returns whether a symbol may stand for code: a function, or a place in assembly, which need not have a type.
fn is_in_code(symbol: &object::Symbol<'_, '_>) -> bool {
    symbol.is_definition() || matches!(symbol.kind(), SymbolKind::Label | SymbolKind::Unknown)
}

fn code<'d, 'f>(file: &'f object::File<'d>) -> impl Iterator<Item = object::Section<'d, 'f>> {
    let sections = file.sections();
    sections.filter(|section| section.kind() == SectionKind::Text)
}

/// Returns whether the section holds the stubs through which imported functions are called.
fn is_linkage(section: &object::Section<'_, '_>) -> bool {
    section.name().is_ok_and(|name| name.starts_with(".plt"))
}

/// Names of imported functions by the address of the pointer that the loader fills in.
fn slots(file: &object::File<'_>) -> FxHashMap<u64, String> {
    let symbols = file.dynamic_symbol_table();
    let named = file.dynamic_relocations().into_iter().flatten();
    let named = named.filter_map(|(slot, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
        symbol.name().ok().map(|name| (slot, name.to_owned()))
    });
    named.collect()
}
