//! Addresses of a file's data and functions as constants, and the data's first content.

use super::{
    super::image::Image,
    debug::{DebugFacts, line},
    file::{LoadedFile, Relocated},
    unit::{UnitTables, row},
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::program::{Constant, ConstantId, Global, GlobalId, TypeId};

/// Bound on the words of one object's first content.
const MOST_WORDS: u64 = 1 << 16;
/// Bound on the bytes that are read behind an address in data without names.
const LONGEST_TEXT: usize = 1 << 12;
/// Bytes that are read at least there: a number or a vector.
const SHORTEST: u64 = 16;

/// Rows for data, filled by what refers to it.
#[derive(Default)]
pub(super) struct DataRows {
    /// Objects whose content has to be read.
    open: Vec<usize>,
    known: FxHashMap<usize, GlobalId>,
    outside: FxHashMap<String, GlobalId>,
    /// The addresses that code refers to in data without names.
    referred: FxHashMap<usize, BTreeSet<u64>>,
}

impl DataRows {
    /// An address of the file's own; `None` if nothing lies there.
    pub fn address(
        &mut self,
        tables: &mut UnitTables,
        (file, image): (&LoadedFile, &Image),
        address: u64,
    ) -> Option<ConstantId> {
        if let Some(symbol) = file.functions.get(&address) {
            return Some(tables.function_address(&symbol.name));
        }
        let (index, object) = image.object(address)?;
        let id = tables.global(index, object);
        if self.known.insert(index, id).is_none() {
            self.open.push(index);
        }
        if object.kind.is_none() && object.name.starts_with('.') {
            self.referred.entry(index).or_default().insert(address);
        }
        let base = tables.constant(Constant::Global(id));
        Some(tables.behind(base, i64::try_from(address - object.start).ok()?))
    }

    /// The content that the loader gives a word, as a constant.
    pub fn written(
        &mut self,
        tables: &mut UnitTables,
        of: (&LoadedFile, &Image),
        written: &Relocated,
    ) -> Option<ConstantId> {
        match written {
            Relocated::Address(address) => self.address(tables, of, *address),
            Relocated::Outside {
                name,
                is_function: true,
            } => Some(tables.function_address(name)),
            Relocated::Outside { name, .. } => {
                let id = self.outside(tables, name);
                Some(tables.constant(Constant::Global(id)))
            }
            Relocated::Unknown => None,
        }
    }

    /// The row of a variable that another file defines.
    fn outside(&mut self, tables: &mut UnitTables, name: &str) -> GlobalId {
        if let Some(&known) = self.outside.get(name) {
            return known;
        }
        let id = GlobalId(row(tables.unit.globals.len()));
        let ty = tables.bytes(8);
        tables.unit.globals.push(Global {
            name: name.to_owned(),
            ty,
            size: 8,
            ..Global::default()
        });
        self.outside.insert(name.to_owned(), id);
        id
    }

    /// Reads the content of everything that is referred to, and what that refers to in turn.
    pub fn finish(
        &mut self,
        tables: &mut UnitTables,
        of: (&LoadedFile, &Image),
        facts: &DebugFacts,
    ) {
        while let Some(index) = self.open.pop() {
            let Some(object) = of.1.objects.get(index) else {
                continue;
            };
            let content = self.content(tables, of, index);
            let (ty, initial) = match content {
                Some((ty, initial)) => (Some(ty), Some(initial)),
                None => (None, None),
            };
            let variable = facts.globals.get(&object.start);
            let place = variable.map(|it| tables.place(&it.file, "", line(it.line)));
            let id = self.known.get(&index).copied().unwrap_or_default();
            if let Some(global) = tables.unit.globals.get_mut(id.index()) {
                global.initial = initial;
                global.ty = ty.unwrap_or(global.ty);
                global.is_constant = !of.0.is_writable(object.start);
                global.debug_type = variable.map_or_else(Default::default, |it| it.ty);
                global.place = place.unwrap_or_default();
            }
        }
    }

    /// The first content of an object with its type; `None` if it is not known.
    fn content(
        &mut self,
        tables: &mut UnitTables,
        (file, image): (&LoadedFile, &Image),
        index: usize,
    ) -> Option<(TypeId, ConstantId)> {
        let object = image.objects.get(index)?;
        let (start, size) = (object.start, object.end - object.start);
        if file.copied.binary_search(&start).is_ok() {
            return None;
        }
        let mut fields = Vec::new();
        let ranges = match self.referred.get(&index) {
            Some(referred) => {
                let ty = tables.bytes(size);
                fields.push((ty, 0, tables.constant(Constant::Unknown(ty))));
                text_ranges(file, referred, object.end)
            }
            // What the file has no bytes for is zero.
            None => {
                let there = u64::try_from(file.bytes(start).len()).unwrap_or(u64::MAX);
                vec![(start, start.saturating_add(there).min(object.end))]
            }
        };
        let words = ranges.iter().fold(0u64, |words, (from, to)| {
            words.saturating_add((to - from) / 8)
        });
        if words > MOST_WORDS {
            tables.problem(format!("the content of `{}` is too long", object.name));
            return None;
        }
        for (from, to) in ranges {
            let mut at = from;
            while at < to {
                let size = if at.is_multiple_of(8) && to - at >= 8 {
                    8
                } else {
                    1
                };
                // All that is not told is zero, except between texts.
                let is_told = fields
                    .first()
                    .is_some_and(|(_, _, first)| is_unknown(tables, *first));
                let word = self.word(tables, (file, image), (at, size));
                if let Some((ty, value)) =
                    word.filter(|(_, value)| is_told || !is_zero(tables, *value))
                {
                    fields.push((ty, at - start, value));
                }
                at += size;
            }
        }
        let elements = fields.iter().map(|(_, _, value)| *value).collect();
        let rows = fields
            .iter()
            .map(|(ty, offset, _)| (*ty, *offset))
            .collect();
        let ty = tables.structure(rows, size);
        Some((ty, tables.constant(Constant::Aggregate { ty, elements })))
    }

    /// A word of the content; `None` where the file has none, which is then zero.
    fn word(
        &mut self,
        tables: &mut UnitTables,
        (file, image): (&LoadedFile, &Image),
        (at, size): (u64, u64),
    ) -> Option<(TypeId, ConstantId)> {
        if size == 8
            && let Some(written) = file.relocated(at)
        {
            let ty = tables.pointer();
            let value = self.written(tables, (file, image), &written.clone());
            let unknown = Constant::Unknown(ty);
            return Some((ty, value.unwrap_or_else(|| tables.constant(unknown))));
        }
        let bytes = file.exactly(at, size)?;
        let bits = bytes
            .iter()
            .rev()
            .fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
        let ty = tables.integer(8 * u32::try_from(size).ok()?);
        Some((ty, tables.constant(Constant::Integer { ty, bits })))
    }
}

fn is_unknown(tables: &UnitTables, id: ConstantId) -> bool {
    matches!(tables.unit.constant(id), Some(Constant::Unknown(_)))
}

fn is_zero(tables: &UnitTables, id: ConstantId) -> bool {
    matches!(
        tables.unit.constant(id),
        Some(Constant::Integer { bits: 0, .. })
    )
}

/// The bytes that are read behind addresses in data without names: up to the end of a text, at least a number.
fn text_ranges(file: &LoadedFile, referred: &BTreeSet<u64>, end: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &from in referred {
        let bytes = file.bytes(from);
        let bytes = bytes.get(..LONGEST_TEXT).unwrap_or(bytes);
        let text = bytes.iter().position(|byte| *byte == 0);
        let length = text.map_or(0, |at| at as u64 + 1).max(SHORTEST);
        let to = from.saturating_add(length).min(end);
        match ranges.last_mut().filter(|last| last.1 >= from) {
            Some(last) => last.1 = last.1.max(to),
            None => ranges.push((from, to)),
        }
    }
    ranges
}
