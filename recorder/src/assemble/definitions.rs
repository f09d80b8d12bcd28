//! Definitions of classes that a unit only declares: gcc describes a class with virtual functions in the one unit that has the
//! first of them, and only names it in the others.

use super::dwarf::{DwarfEntry, EntryId};
use gimli::AttributeValue;
use rustc_hash::FxHashMap;

/// The classes of all units, by their qualified names.
#[derive(Default)]
pub(super) struct ClassDefinitions {
    /// The definition with its size in bytes; none where there are two that differ.
    complete: FxHashMap<String, Option<(EntryId, u64)>>,
    /// Classes that are only declared.
    declared: Vec<(EntryId, String)>,
}

impl ClassDefinitions {
    /// Takes an entry that stands for a class, with its qualified name.
    pub fn see(&mut self, id: EntryId, entry: &DwarfEntry, path: &str) {
        let is_declared = entry.attr_value(gimli::DW_AT_declaration);
        if is_declared == Some(AttributeValue::Flag(true)) {
            self.declared.push((id, path.to_owned()));
            return;
        }
        let size = entry.attr(gimli::DW_AT_byte_size);
        let Some(size) = size.and_then(|size| size.udata_value()) else {
            return;
        };
        let known = self
            .complete
            .entry(path.to_owned())
            .or_insert(Some((id, size)));
        if known.is_some_and(|(_, other)| other != size) {
            *known = None;
        }
    }

    /// The definition of each class that is only declared, as far as there is one.
    pub fn found(self) -> FxHashMap<EntryId, EntryId> {
        let complete = self.complete;
        let found = self.declared.into_iter().filter_map(|(id, path)| {
            let (definition, _) = (*complete.get(&path)?)?;
            Some((id, definition))
        });
        found.collect()
    }
}
