//! Types of the debug info as rows of a unit. A type that is asked for gets its row at once and is read later, so that
//! types may contain pointers to each other.

use super::{
    super::{
        dwarf::{DwarfEntry, Units},
        dwarf_types::element_count,
    },
    unit::row,
};
use gimli::UnitOffset;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::program::{
    DebugKind, DebugType, DebugTypeId, Enumerator, StructureMember, Unit, debug::give_sizes,
};

/// A type's entry: unit and offset.
type TypeEntry = (usize, usize);

/// Rows for types.
#[derive(Default)]
pub(super) struct DwarfTypeRows {
    rows: FxHashMap<TypeEntry, DebugTypeId>,
    unread: Vec<(TypeEntry, DebugTypeId)>,
    /// Classes that are passed by the address of a copy.
    pub by_reference: FxHashSet<DebugTypeId>,
}

impl DwarfTypeRows {
    /// Puts the row for "not known" into the unit.
    pub fn begin(out: &mut Unit) -> DwarfTypeRows {
        out.debug_types.push(DebugType::default());
        DwarfTypeRows::default()
    }

    /// The row of the type that an entry has.
    pub fn of(
        &mut self,
        units: &Units,
        unit: usize,
        entry: &DwarfEntry,
        out: &mut Unit,
    ) -> DebugTypeId {
        let target = entry
            .attr_value(gimli::DW_AT_type)
            .and_then(|value| units.target(unit, value));
        let Some((unit, offset)) = target else {
            return DebugTypeId(0);
        };
        let id = (unit, offset.0);
        if let Some(&known) = self.rows.get(&id) {
            return known;
        }
        let new = DebugTypeId(row(out.debug_types.len()));
        out.debug_types.push(DebugType::default());
        self.rows.insert(id, new);
        self.unread.push((id, new));
        new
    }

    /// Reads all types that were asked for, and those that they need.
    pub fn finish(&mut self, units: &Units, out: &mut Unit) {
        while let Some(((unit, offset), at)) = self.unread.pop() {
            let entry = units
                .get(unit)
                .and_then(|unit| unit.entry(UnitOffset(offset)).ok());
            let Some(entry) = entry else { continue };
            let read = DebugType {
                name: units.name(unit, &entry),
                size: number(&entry, gimli::DW_AT_byte_size).unwrap_or(0),
                kind: self.kind(units, unit, &entry, out),
            };
            if is_by_reference(&entry) {
                self.by_reference.insert(at);
            }
            if let Some(ty) = out.debug_types.get_mut(at.index()) {
                *ty = read;
            }
        }
        give_sizes(&mut out.debug_types);
    }

    fn kind(
        &mut self,
        units: &Units,
        unit: usize,
        entry: &DwarfEntry,
        out: &mut Unit,
    ) -> DebugKind {
        match entry.tag() {
            gimli::DW_TAG_base_type => basic(entry),
            gimli::DW_TAG_subroutine_type => DebugKind::Function,
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                DebugKind::Pointer(self.of(units, unit, entry, out))
            }
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_template_alias
            | gimli::DW_TAG_immutable_type => DebugKind::Alias(self.of(units, unit, entry, out)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                DebugKind::Struct(self.members(units, unit, entry, out))
            }
            gimli::DW_TAG_array_type => {
                let element = self.of(units, unit, entry, out);
                DebugKind::Array(element, dimensions(units, unit, entry))
            }
            gimli::DW_TAG_enumeration_type => DebugKind::Enum(enumerators(units, unit, entry)),
            _ => DebugKind::Other,
        }
    }

    fn members(
        &mut self,
        units: &Units,
        unit: usize,
        entry: &DwarfEntry,
        out: &mut Unit,
    ) -> Vec<StructureMember> {
        let mut members = Vec::new();
        for child in units.children(unit, entry) {
            let has = |name| child.attr(name).is_some();
            let is_member = child.tag() == gimli::DW_TAG_member
                && !has(gimli::DW_AT_external)
                && !has(gimli::DW_AT_declaration);
            let is_base = child.tag() == gimli::DW_TAG_inheritance && !has(gimli::DW_AT_virtuality);
            if !is_member && !is_base {
                continue;
            }
            let ty = self.of(units, unit, &child, out);
            let name = units.name(unit, &child);
            members.push(StructureMember {
                // The hidden member of classes has the class's name in its own: `_vptr.Shape`.
                name: if name.starts_with("_vptr") {
                    "_vptr".to_owned()
                } else {
                    name
                },
                offset_bits: offset_bits(&child),
                size_bits: number(&child, gimli::DW_AT_bit_size).unwrap_or(0),
                ty,
            });
        }
        members
    }
}

fn number(entry: &DwarfEntry, name: gimli::DwAt) -> Option<u64> {
    entry.attr(name)?.udata_value()
}

fn offset_bits(member: &DwarfEntry) -> u64 {
    let bytes = number(member, gimli::DW_AT_data_member_location).unwrap_or(0);
    let bits = number(member, gimli::DW_AT_data_bit_offset).unwrap_or(0);
    bytes.saturating_mul(8).saturating_add(bits)
}

/// Returns whether calls pass the address of a copy, because copying the class needs a function.
fn is_by_reference(entry: &DwarfEntry) -> bool {
    match entry.attr_value(gimli::DW_AT_calling_convention) {
        Some(gimli::AttributeValue::CallingConvention(it)) => it == gimli::DW_CC_pass_by_reference,
        _ => false,
    }
}

fn basic(entry: &DwarfEntry) -> DebugKind {
    let Some(gimli::AttributeValue::Encoding(encoding)) = entry.attr_value(gimli::DW_AT_encoding)
    else {
        return DebugKind::Other;
    };
    match encoding {
        gimli::DW_ATE_boolean => DebugKind::Boolean,
        gimli::DW_ATE_signed => DebugKind::Signed,
        gimli::DW_ATE_unsigned => DebugKind::Unsigned,
        gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF => {
            DebugKind::Character
        }
        gimli::DW_ATE_float => DebugKind::Float,
        _ => DebugKind::Other,
    }
}

fn dimensions(units: &Units, unit: usize, entry: &DwarfEntry) -> Vec<u64> {
    let children = units.children(unit, entry);
    let ranges = children
        .iter()
        .filter(|child| child.tag() == gimli::DW_TAG_subrange_type);
    ranges.map(element_count).collect()
}

fn enumerators(units: &Units, unit: usize, entry: &DwarfEntry) -> Vec<Enumerator> {
    let children = units.children(unit, entry);
    let values = children
        .iter()
        .filter(|child| child.tag() == gimli::DW_TAG_enumerator);
    values
        .filter_map(|child| {
            let value = child.attr(gimli::DW_AT_const_value)?;
            let unsigned = value.udata_value().map(i128::from);
            Some(Enumerator {
                name: units.name(unit, child),
                value: unsigned.or_else(|| value.sdata_value().map(i128::from))?,
            })
        })
        .collect()
}
