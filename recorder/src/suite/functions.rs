//! Functions of a program with hashes of their code, which are the same wherever the linker has put them, and whatever
//! lines of their file they stand on.

use crate::assemble::SourceLines;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use unsnarl_trace::files::read_regular;

/// A hash of a name, or of code.
pub(super) type ShortHash = u64;

/// A function by its symbol.
struct FunctionSymbol {
    start: u64,
    size: u64,
    name: String,
}

/// The functions of a program.
pub(super) struct ProgramFunctions {
    /// Sorted by their starts.
    symbols: Vec<FunctionSymbol>,
    /// Hash of the code by the hash of the name. Functions with one name count as one.
    hashes: BTreeMap<ShortHash, ShortHash>,
}

impl ProgramFunctions {
    /// Reads the functions of a program; `None` if it is no program. Takes time linear in its code.
    pub fn of(program: &Path) -> Option<ProgramFunctions> {
        let bytes = read_regular(program, crate::assemble::MOST).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let symbols = file.symbols();
        let wanted =
            symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let mut symbols: Vec<FunctionSymbol> = wanted
            .filter_map(|symbol| {
                Some(FunctionSymbol {
                    start: symbol.address(),
                    size: symbol.size(),
                    name: symbol.name().ok()?.to_owned(),
                })
            })
            .collect();
        symbols.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
        symbols.dedup_by_key(|symbol| symbol.start);
        let mut functions = ProgramFunctions {
            symbols,
            hashes: BTreeMap::new(),
        };
        functions.hash(&file);
        Some(functions)
    }

    fn hash(&mut self, file: &object::File<'_>) {
        let lines = SourceLines::of(file);
        let mut hashes: BTreeMap<ShortHash, Sha256> = BTreeMap::new();
        // Other sections, such as those of debug info, have no addresses: theirs are counted from 0.
        let code_sections = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text);
        for section in code_sections {
            let (start, code) = (section.address(), section.data().unwrap_or_default());
            for symbol in self.in_range(start, code.len() as u64) {
                let from = (symbol.start - start) as usize;
                let to = from.saturating_add(symbol.size as usize).min(code.len());
                let code = code.get(from..to).unwrap_or_default();
                let hash = hashes.entry(short(symbol.name.as_bytes())).or_default();
                self.add_code(hash, symbol, code, lines.as_ref());
            }
        }
        let finished = hashes
            .into_iter()
            .map(|(name, hash)| (name, first_bytes(hash)));
        self.hashes = finished.collect();
    }

    /// The functions that begin in a range of addresses.
    fn in_range(&self, start: u64, size: u64) -> &[FunctionSymbol] {
        let from = self.symbols.partition_point(|symbol| symbol.start < start);
        let to = self
            .symbols
            .partition_point(|symbol| symbol.start < start.saturating_add(size));
        self.symbols.get(from..to).unwrap_or_default()
    }

    /// Adds code to a hash. In place of distances, which depend on where everything lies, there are places within the
    /// function and names of other functions. Numbers of the lines that they stand on, which checks of test frameworks
    /// hold, are left out.
    fn add_code(
        &self,
        hash: &mut Sha256,
        symbol: &FunctionSymbol,
        code: &[u8],
        lines: Option<&SourceLines>,
    ) {
        let mut decoder = Decoder::with_ip(64, code, symbol.start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            let at = (decoder.ip() - symbol.start) as usize;
            decoder.decode_out(&mut instruction);
            let bytes = code.get(at..at + instruction.len()).unwrap_or_default();
            let constants = decoder.get_constant_offsets(&instruction);
            let immediate = (constants.immediate_offset(), constants.immediate_size());
            let Some(target) = target(&instruction) else {
                match names_its_line(&instruction, lines) {
                    true => add_without(hash, bytes, immediate),
                    false => hash.update(bytes),
                }
                continue;
            };
            let distance = match instruction.is_ip_rel_memory_operand() {
                true => (
                    constants.displacement_offset(),
                    constants.displacement_size(),
                ),
                false => immediate,
            };
            add_without(hash, bytes, distance);
            match self.holder(target) {
                Some(holder) if holder.start == symbol.start => {
                    hash.update((target - symbol.start).to_le_bytes());
                }
                Some(holder) => hash.update(&holder.name),
                None => {}
            }
        }
    }

    /// The function that an address lies in.
    fn holder(&self, address: u64) -> Option<&FunctionSymbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        (address - symbol.start < symbol.size).then_some(symbol)
    }

    /// Hashes of the names and of the code of the functions that these addresses lie in.
    pub fn at(&self, addresses: &[u64]) -> BTreeSet<(ShortHash, ShortHash)> {
        let names = addresses.iter().filter_map(|address| self.holder(*address));
        let hashes = names.filter_map(|symbol| {
            let name = short(symbol.name.as_bytes());
            Some((name, *self.hashes.get(&name)?))
        });
        hashes.collect()
    }

    /// Returns whether a function with this name still has the same code.
    pub fn has(&self, (name, code): &(ShortHash, ShortHash)) -> bool {
        self.hashes.get(name) == Some(code)
    }
}

/// The address that an instruction names by its distance.
fn target(instruction: &Instruction) -> Option<u64> {
    if instruction.is_ip_rel_memory_operand() {
        return Some(instruction.ip_rel_memory_address());
    }
    let is_near = instruction.is_call_near()
        || instruction.is_jmp_short_or_near()
        || instruction.is_jcc_short_or_near();
    is_near.then(|| instruction.near_branch_target())
}

/// Adds an instruction without the part at an offset and of a size.
fn add_without(hash: &mut Sha256, instruction: &[u8], (offset, size): (usize, usize)) {
    hash.update(instruction.get(..offset).unwrap_or_default());
    hash.update(instruction.get(offset + size..).unwrap_or_default());
}

/// Returns whether an instruction holds the number of the line that it was made for.
fn names_its_line(instruction: &Instruction, lines: Option<&SourceLines>) -> bool {
    let numbers = (0..instruction.op_count()).filter_map(|at| instruction.try_immediate(at).ok());
    let mut numbers = numbers.filter(|number| *number != 0);
    numbers.any(|number| {
        let line = lines.and_then(|lines| lines.at(instruction.ip()));
        line.is_some_and(|line| u64::from(line) == number)
    })
}

fn short(bytes: &[u8]) -> ShortHash {
    let mut hash = Sha256::new();
    hash.update(bytes);
    first_bytes(hash)
}

fn first_bytes(hash: Sha256) -> ShortHash {
    let hash = hash.finalize();
    hash.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
