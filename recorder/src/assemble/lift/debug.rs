//! Functions, variables and prototypes of a file's debug info, as far as lifting needs them.

use super::{
    super::dwarf::{DwarfEntry, Units},
    debug_types::DwarfTypeRows,
};
use gimli::Operation;
use rustc_hash::FxHashMap;
use unsnarl_trace::program::{DebugPlace, DebugTypeId, Unit};

/// Bound for a chain of origins.
const MAX_ORIGINS: usize = 4;
/// Distance from the frame pointer to the canonical frame address.
const SAVED: i64 = 16;

/// The type of a function as the source has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Prototype {
    pub parameters: Vec<DebugTypeId>,
    /// `None` for `void`.
    pub result: Option<DebugTypeId>,
    pub is_variadic: bool,
    /// `true` if it never returns.
    pub is_final: bool,
}

/// A variable or parameter with a place of its own in the frame.
#[derive(Clone, Debug)]
pub(super) struct SourceVariable {
    pub name: String,
    pub ty: DebugTypeId,
    /// Offset from the canonical frame address.
    pub offset: i64,
    pub line: u32,
    pub is_parameter: bool,
}

/// A function with machine code.
#[derive(Clone, Debug, Default)]
pub(super) struct DefinedFunction {
    /// The source's name, without its namespaces.
    pub name: String,
    pub ranges: Vec<(u64, u64)>,
    pub prototype: Prototype,
    pub variables: Vec<SourceVariable>,
    pub file: String,
    pub line: u32,
    pub is_optimized: bool,
}

/// A global variable's type and place.
#[derive(Clone, Debug)]
pub(super) struct GlobalVariable {
    pub ty: DebugTypeId,
    pub file: String,
    pub line: u32,
}

/// The parts of the debug info that lifting needs.
#[derive(Default)]
pub(super) struct DebugFacts {
    pub functions: Vec<DefinedFunction>,
    /// Prototypes by the linker's name.
    pub prototypes: FxHashMap<String, Prototype>,
    /// Global variables by address.
    pub globals: FxHashMap<u64, GlobalVariable>,
    /// Name and folder of the first unit.
    pub source: (String, String),
}

impl DebugFacts {
    /// Reads all units of C and C++; their types go into the unit's tables.
    pub fn read(units: &Units, types: &mut DwarfTypeRows, out: &mut Unit) -> DebugFacts {
        let mut facts = DebugFacts::default();
        for unit in 0..units.count() {
            if units.is_c_family(unit) {
                facts.unit(units, unit, types, out);
            }
        }
        types.finish(units, out);
        facts
    }

    fn unit(&mut self, units: &Units, unit: usize, types: &mut DwarfTypeRows, out: &mut Unit) {
        let Some(header) = units.get(unit) else {
            return;
        };
        let mut reading = Reading {
            facts: self,
            units,
            unit,
            types,
            out,
            scopes: Vec::new(),
        };
        let mut cursor = header.entries();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            reading.entry(entry);
        }
    }
}

/// The walk through one unit.
struct Reading<'a> {
    facts: &'a mut DebugFacts,
    units: &'a Units,
    unit: usize,
    types: &'a mut DwarfTypeRows,
    out: &'a mut Unit,
    /// Depth of the functions that enclose the entry; the row of each that has machine code.
    scopes: Vec<(isize, Option<usize>)>,
}

impl Reading<'_> {
    fn entry(&mut self, entry: &DwarfEntry) {
        let depth = entry.depth();
        while self.scopes.last().is_some_and(|(at, _)| *at >= depth) {
            self.scopes.pop();
        }
        match entry.tag() {
            gimli::DW_TAG_compile_unit if self.facts.source.0.is_empty() => {
                let text = |name| self.units.text(self.unit, entry.attr_value(name));
                let folder = text(gimli::DW_AT_comp_dir).unwrap_or_default();
                self.facts.source = (self.units.name(self.unit, entry), folder);
            }
            gimli::DW_TAG_subprogram => {
                let row = self.function(entry);
                self.scopes.push((depth, row));
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(entry),
            _ => {}
        }
    }

    /// The entry, and those that it refers to as its declaration or origin.
    fn chain(&self, entry: &DwarfEntry) -> Vec<(usize, DwarfEntry)> {
        let mut chain = vec![(self.unit, entry.clone())];
        for _ in 0..MAX_ORIGINS {
            let Some((unit, last)) = chain.last() else {
                break;
            };
            let next = last
                .attr_value(gimli::DW_AT_specification)
                .or_else(|| last.attr_value(gimli::DW_AT_abstract_origin))
                .and_then(|value| self.units.target(*unit, value));
            let next = next
                .and_then(|(unit, offset)| Some((unit, self.units.get(unit)?.entry(offset).ok()?)));
            match next {
                Some(next) => chain.push(next),
                None => break,
            }
        }
        chain
    }

    fn function(&mut self, entry: &DwarfEntry) -> Option<usize> {
        let chain = self.chain(entry);
        let prototype = self.prototype(&chain);
        let linked = chain.iter().find_map(|(unit, entry)| {
            self.units
                .text(*unit, entry.attr_value(gimli::DW_AT_linkage_name))
        });
        let name = self.named(&chain);
        let linked = linked.unwrap_or_else(|| name.clone());
        let header = self.units.get(self.unit)?;
        let ranges = self.units.ranges(header, entry);
        let (file, line) = self.declared(&chain);
        // Of the compiler's own functions only the name is there.
        if line != 0 {
            let known = self.facts.prototypes.entry(linked);
            let known = known.or_insert_with(|| prototype.clone());
            known.is_final |= prototype.is_final;
        }
        if ranges.is_empty() {
            return None;
        }
        let has = |name| entry.attr_value(name).is_some();
        self.facts.functions.push(DefinedFunction {
            name,
            ranges,
            prototype,
            variables: Vec::new(),
            file,
            line,
            // gcc notes the calls that stay calls only where it has optimized.
            is_optimized: has(gimli::DW_AT_call_all_calls) || has(gimli::DW_AT_GNU_all_call_sites),
        });
        self.facts.functions.len().checked_sub(1)
    }

    fn named(&self, chain: &[(usize, DwarfEntry)]) -> String {
        let names = chain
            .iter()
            .map(|(unit, entry)| self.units.name(*unit, entry));
        names
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }

    fn declared(&self, chain: &[(usize, DwarfEntry)]) -> (String, u32) {
        let with_line = chain
            .iter()
            .find(|(_, entry)| entry.attr(gimli::DW_AT_decl_line).is_some());
        with_line.map_or((String::new(), 0), |(unit, entry)| {
            self.units.declared_in(*unit, entry)
        })
    }

    /// The type of the entry or of what it refers to.
    fn type_of(&mut self, chain: &[(usize, DwarfEntry)]) -> Option<DebugTypeId> {
        let typed = chain
            .iter()
            .find(|(_, entry)| entry.attr(gimli::DW_AT_type).is_some());
        let (unit, entry) = typed?;
        Some(self.types.of(self.units, *unit, entry, self.out))
    }

    /// The prototype; the parameters are those of the first entry that has any.
    fn prototype(&mut self, chain: &[(usize, DwarfEntry)]) -> Prototype {
        let mut prototype = Prototype {
            result: self.type_of(chain),
            is_final: chain
                .iter()
                .any(|(_, entry)| entry.attr(gimli::DW_AT_noreturn).is_some()),
            ..Prototype::default()
        };
        for (unit, entry) in chain {
            let children = self.units.children(*unit, entry);
            for child in &children {
                match child.tag() {
                    gimli::DW_TAG_formal_parameter => {
                        let chain = Reading {
                            unit: *unit,
                            ..self.again()
                        }
                        .chain(child);
                        let ty = self.type_of(&chain).unwrap_or_default();
                        prototype.parameters.push(ty);
                    }
                    gimli::DW_TAG_unspecified_parameters => prototype.is_variadic = true,
                    _ => {}
                }
            }
            if !prototype.parameters.is_empty() {
                break;
            }
        }
        prototype
    }

    /// The same walk, for a look at another unit.
    fn again(&mut self) -> Reading<'_> {
        Reading {
            facts: self.facts,
            units: self.units,
            unit: self.unit,
            types: self.types,
            out: self.out,
            scopes: Vec::new(),
        }
    }

    fn variable(&mut self, entry: &DwarfEntry) {
        let Some(place) = self.place(entry) else {
            return;
        };
        let chain = self.chain(entry);
        let ty = self.type_of(&chain).unwrap_or_default();
        let (file, line) = self.declared(&chain);
        match place {
            VariablePlace::Fixed(address) => {
                let global = GlobalVariable { ty, file, line };
                self.facts.globals.entry(address).or_insert(global);
            }
            VariablePlace::Frame(offset) => {
                let name = self.named(&chain);
                let row = self.scopes.last().and_then(|(_, row)| *row);
                let function = row.and_then(|row| self.facts.functions.get_mut(row));
                if let Some(function) = function.filter(|_| !name.is_empty()) {
                    function.variables.push(SourceVariable {
                        name,
                        ty,
                        offset,
                        line,
                        is_parameter: entry.tag() == gimli::DW_TAG_formal_parameter,
                    });
                }
            }
        }
    }

    /// The place that a variable has as long as it lives.
    fn place(&self, entry: &DwarfEntry) -> Option<VariablePlace> {
        let value = entry.attr_value(gimli::DW_AT_location)?;
        let unit = self.units.get(self.unit)?;
        let expression = value.exprloc_value()?;
        let mut operations = expression.operations(unit.encoding());
        let place = match operations.next().ok()?? {
            Operation::Address { address } => VariablePlace::Fixed(address),
            Operation::FrameOffset { offset } => VariablePlace::Frame(offset),
            Operation::RegisterOffset {
                register: gimli::X86_64::RBP,
                offset,
                ..
            } => VariablePlace::Frame(offset.checked_sub(SAVED)?),
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(place)
    }
}

enum VariablePlace {
    Fixed(u64),
    /// Offset from the canonical frame address.
    Frame(i64),
}

/// A place of a line in a file, without columns.
pub(super) fn line(line: u32) -> DebugPlace {
    DebugPlace {
        line,
        ..DebugPlace::NOWHERE
    }
}
