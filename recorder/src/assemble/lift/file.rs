//! The parts of a file of machine code that lifting needs: sections, symbols, and the addresses that the loader
//! writes.

use super::thread_data::ThreadData;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _, RelocationFlags,
    RelocationTarget, SectionKind, SymbolKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Types of relocations of the x86-64 ABI.
const R_X86_64_COPY: u32 = 5;
const R_X86_64_RELATIVE: u32 = 8;
const R_X86_64_64: u32 = 1;
const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;

/// The content that the loader gives a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Relocated {
    /// An address of the file's own.
    Address(u64),
    /// The address of something that another file defines.
    Outside {
        /// The linker's name.
        name: String,
        /// `true` for a function.
        is_function: bool,
    },
    /// Something else.
    Unknown,
}

/// A section in memory.
struct LoadedSection {
    start: u64,
    end: u64,
    bytes: Vec<u8>,
    is_writable: bool,
}

/// A function symbol.
#[derive(Clone, Debug)]
pub(super) struct CodeName {
    pub name: String,
    pub is_local: bool,
}

/// A loaded file.
pub(in crate::assemble) struct LoadedFile {
    sections: Vec<LoadedSection>,
    relocated: FxHashMap<u64, Relocated>,
    /// Starts of objects whose content another file gives.
    pub(super) copied: Vec<u64>,
    pub(super) functions: FxHashMap<u64, CodeName>,
    /// Entries of the tables of functions that run before `main`.
    pub(super) constructors: (u64, u64),
    /// `true` if the loader may put the file anywhere: then no number in the code is an address.
    pub(super) is_position_independent: bool,
    /// Data of which each thread has its own.
    pub(super) thread_data: ThreadData,
}

impl LoadedFile {
    /// Copies what is needed of a file.
    pub fn read(file: &object::File<'_>) -> LoadedFile {
        let mut loaded = LoadedFile {
            sections: file.sections().filter_map(|it| section(&it)).collect(),
            relocated: FxHashMap::default(),
            copied: Vec::new(),
            functions: functions(file),
            constructors: (0, 0),
            is_position_independent: file.kind() == object::ObjectKind::Dynamic,
            thread_data: ThreadData::read(file),
        };
        if let Some(table) = file.section_by_name(".init_array") {
            let (start, size) = (table.address(), table.size());
            loaded.constructors = (start, start.saturating_add(size));
        }
        loaded.relocate(file);
        loaded
    }

    /// A file that is nothing but this code.
    #[cfg(test)]
    pub fn of_code(start: u64, bytes: Vec<u8>) -> LoadedFile {
        let end = start + bytes.len() as u64;
        LoadedFile {
            sections: vec![LoadedSection {
                start,
                end,
                bytes,
                is_writable: false,
            }],
            relocated: FxHashMap::default(),
            copied: Vec::new(),
            functions: FxHashMap::default(),
            constructors: (0, 0),
            is_position_independent: true,
            thread_data: ThreadData::default(),
        }
    }

    fn relocate(&mut self, file: &object::File<'_>) {
        let symbols = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let addend = relocation.addend();
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => symbols
                    .as_ref()
                    .and_then(|table| table.symbol_by_index(index).ok()),
                _ => None,
            };
            let written = match (r_type.0, symbol) {
                (R_X86_64_RELATIVE, _) => Relocated::Address(addend as u64),
                (R_X86_64_COPY, _) => {
                    self.copied.push(at);
                    continue;
                }
                (R_X86_64_64 | R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT, Some(symbol)) => {
                    match (symbol.is_definition(), symbol.name()) {
                        (true, _) => {
                            Relocated::Address(symbol.address().wrapping_add_signed(addend))
                        }
                        (false, Ok(name)) if addend == 0 => Relocated::Outside {
                            name: name.to_owned(),
                            is_function: symbol.kind() == SymbolKind::Text,
                        },
                        _ => Relocated::Unknown,
                    }
                }
                _ => Relocated::Unknown,
            };
            self.relocated.insert(at, written);
        }
        self.copied.sort_unstable();
    }

    fn section(&self, address: u64) -> Option<&LoadedSection> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.start <= address && address < section.end)
    }

    /// Bytes from an address to the end of what the file has there; none for memory that begins as zero.
    pub fn bytes(&self, address: u64) -> &[u8] {
        let found = self.section(address).and_then(|section| {
            let into = usize::try_from(address - section.start).ok()?;
            section.bytes.get(into..)
        });
        found.unwrap_or(&[])
    }

    /// Exactly so many bytes.
    pub fn exactly(&self, address: u64, size: u64) -> Option<&[u8]> {
        self.bytes(address).get(..usize::try_from(size).ok()?)
    }

    /// A number of four bytes.
    pub fn word(&self, address: u64) -> Option<i32> {
        let bytes = self.exactly(address, 4)?;
        Some(i32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Returns whether the program may write there. What only the loader writes counts as constant.
    pub fn is_writable(&self, address: u64) -> bool {
        self.section(address).is_some_and(|it| it.is_writable)
    }

    /// The content that the loader gives the word at an address.
    pub(super) fn relocated(&self, address: u64) -> Option<&Relocated> {
        self.relocated.get(&address)
    }
}

fn section(section: &object::Section<'_, '_>) -> Option<LoadedSection> {
    let kind = section.kind();
    let is_thread_local = matches!(kind, SectionKind::Tls | SectionKind::UninitializedTls);
    if section.address() == 0 || is_thread_local {
        return None;
    }
    let name = section.name().unwrap_or("");
    let is_writable = matches!(kind, SectionKind::Data | SectionKind::UninitializedData);
    let is_of_loader = name.starts_with(".data.rel.ro") || name.starts_with(".got");
    let bytes = match kind {
        SectionKind::UninitializedData => Vec::new(),
        _ => section.data().unwrap_or(&[]).to_vec(),
    };
    Some(LoadedSection {
        start: section.address(),
        end: section.address().saturating_add(section.size()),
        bytes,
        is_writable: is_writable && !is_of_loader,
    })
}

/// Function symbols by address: of several, a global one first, then the shortest.
fn functions(file: &object::File<'_>) -> FxHashMap<u64, CodeName> {
    let mut found: FxHashMap<u64, CodeName> = FxHashMap::default();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        let new = CodeName {
            name: name.to_owned(),
            is_local: symbol.is_local(),
        };
        let rank = |it: &CodeName| (it.is_local, it.name.len(), it.name.clone());
        let known = found.entry(symbol.address()).or_insert_with(|| new.clone());
        if rank(&new) < rank(known) {
            *known = new;
        }
    }
    tell_apart(&mut found);
    found
}

/// Gives functions that only their own files see names of their own.
fn tell_apart(functions: &mut FxHashMap<u64, CodeName>) {
    let mut addresses: Vec<u64> = functions.keys().copied().collect();
    addresses.sort_unstable();
    let global = functions.values().filter(|it| !it.is_local);
    let mut seen: FxHashSet<String> = global.map(|it| it.name.clone()).collect();
    for address in addresses {
        let Some(function) = functions.get_mut(&address).filter(|it| it.is_local) else {
            continue;
        };
        let plain = function.name.clone();
        for number in 2_u64.. {
            if seen.insert(function.name.clone()) {
                break;
            }
            function.name = format!("{plain}#{number}");
        }
    }
}
