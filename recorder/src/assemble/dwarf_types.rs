//! Layouts of types, from their DWARF entries.

use super::{
    alternatives::alternatives,
    dwarf::{DwarfEntry, DwarfReader, EntryId, Units},
    dwarf_encodings,
    types::{LeafKind, TypeField, TypeId, TypeLayout, Types, is_opaque},
};
use gimli::{AttributeValue, UnitOffset};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use unsnarl_trace::Encoding;

/// Bound for the nesting of types; deeper ones are not followed.
const MAX_DEPTH: usize = 64;

/// Builds layouts on demand and remembers them by entry.
pub(super) struct TypeBuilder<'a> {
    units: &'a Units,
    known: FxHashMap<EntryId, TypeId>,
    /// Types that stand in namespace `std`.
    in_std: &'a FxHashSet<EntryId>,
    /// The definitions of classes that are only declared.
    defined: &'a FxHashMap<EntryId, EntryId>,
    pub types: Types,
}

impl<'a> TypeBuilder<'a> {
    pub fn new(
        units: &'a Units,
        in_std: &'a FxHashSet<EntryId>,
        defined: &'a FxHashMap<EntryId, EntryId>,
    ) -> TypeBuilder<'a> {
        TypeBuilder {
            units,
            known: FxHashMap::default(),
            in_std,
            defined,
            types: Types::default(),
        }
    }

    /// The layout that this entry's `DW_AT_type` names.
    pub fn type_of(&mut self, unit: usize, entry: &DwarfEntry) -> Option<TypeId> {
        self.referred(unit, entry, MAX_DEPTH)
    }

    /// The layout of what a variable of this entry's type points to.
    pub fn pointee_of(&mut self, unit: usize, entry: &DwarfEntry) -> Option<TypeId> {
        let (mut at, mut described) = (unit, entry.clone());
        for _ in 0..MAX_DEPTH {
            let value = described.attr_value(gimli::DW_AT_type)?;
            let (unit, offset) = self.units.target(at, value)?;
            described = self.units.get(unit)?.entry(offset).ok()?;
            at = unit;
            match described.tag() {
                gimli::DW_TAG_pointer_type => return self.referred(at, &described, MAX_DEPTH),
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type => {}
                _ => return None,
            }
        }
        None
    }

    /// The layout of a type entry.
    pub fn named(&mut self, unit: usize, entry: &DwarfEntry) -> Option<TypeId> {
        self.build(unit, entry.offset(), MAX_DEPTH)
    }

    fn referred(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> Option<TypeId> {
        let value = entry.attr_value(gimli::DW_AT_type)?;
        let (unit, offset) = self.units.target(unit, value)?;
        self.build(unit, offset, depth.checked_sub(1)?)
    }

    fn build(&mut self, unit: usize, offset: UnitOffset, depth: usize) -> Option<TypeId> {
        if let Some(id) = self.known.get(&(unit, offset.0)) {
            return Some(*id);
        }
        if let Some((unit, offset)) = self.defined.get(&(unit, offset.0)) {
            return self.build(*unit, UnitOffset(*offset), depth.checked_sub(1)?);
        }
        let entry = self.units.get(unit)?.entry(offset).ok()?;
        let name = self.units.name(unit, &entry);
        let in_std = self.in_std.contains(&(unit, offset.0));
        let id = if is_opaque(&name, in_std) {
            self.opaque(unit, &entry, &name, depth)
        } else {
            self.by_tag(unit, &entry, depth)?
        };
        self.known.insert((unit, offset.0), id);
        Some(id)
    }

    fn by_tag(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> Option<TypeId> {
        Some(match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.referred(unit, entry, depth)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                self.structure(unit, entry, depth)
            }
            gimli::DW_TAG_union_type => self.union(unit, entry, depth),
            gimli::DW_TAG_array_type => self.array(unit, entry, depth)?,
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                self.encoded(unit, entry, 8, LeafKind::Pointer)
            }
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type => {
                self.encoded(unit, entry, 1, LeafKind::Number)
            }
            gimli::DW_TAG_ptr_to_member_type => {
                let size = byte_size(entry).unwrap_or(16);
                self.leaf(size, LeafKind::Unknown)
            }
            _ => {
                let size = byte_size(entry).unwrap_or(1);
                self.leaf(size, LeafKind::Unknown)
            }
        })
    }

    /// A synchronization object or an atomic one, which has the encoding of the type that it is made for.
    fn opaque(&mut self, unit: usize, entry: &DwarfEntry, name: &str, depth: usize) -> TypeId {
        let size = self.byte_size(unit, entry, depth);
        let leaf = self.leaf(size, LeafKind::Unknown);
        let encoding = match name {
            "atomic_flag" => Some(Arc::new(Encoding::Boolean)),
            _ => self.made_for(unit, entry, depth),
        };
        if let Some(encoding) = encoding {
            self.types.encode(leaf, encoding);
        }
        leaf
    }

    /// The encoding of the type that an atomic type is made for.
    fn made_for(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> Option<Arc<Encoding>> {
        let parameter = self.units.template_type(unit, entry)?;
        let made_for = self.referred(unit, &parameter, depth)?;
        self.types.encoding(made_for).cloned()
    }

    /// A leaf with the encoding of its type. `size` holds where the type names none.
    fn encoded(&mut self, unit: usize, entry: &DwarfEntry, size: u64, holds: LeafKind) -> TypeId {
        let leaf = self.leaf(byte_size(entry).unwrap_or(size), holds);
        if let Some(encoding) = dwarf_encodings::encoding(self.units, unit, entry) {
            self.types.encode(leaf, Arc::new(encoding));
        }
        leaf
    }

    fn leaf(&mut self, size: u64, holds: LeafKind) -> TypeId {
        self.types.add(TypeLayout::Leaf { size, holds })
    }

    /// Size of a type that is not looked into: its own, or that of the type behind a typedef.
    fn byte_size(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> u64 {
        if let Some(size) = byte_size(entry) {
            return size;
        }
        let inner = self.referred(unit, entry, depth);
        inner.map_or(1, |id| self.types.size(id))
    }

    fn children(&self, unit: usize, entry: &DwarfEntry) -> Vec<DwarfEntry> {
        self.units.children(unit, entry)
    }

    /// The library's storage for an object of the type that its template names, if this is such a type.
    fn room(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> Option<TypeId> {
        let name = self.units.name(unit, entry);
        let is_room = ["__aligned_buffer<", "__aligned_membuf<"]
            .iter()
            .any(|start| name.starts_with(start));
        let parameter = self.units.template_type(unit, entry).filter(|_| is_room)?;
        let kind = self.referred(unit, &parameter, depth)?;
        let fields = vec![TypeField {
            name: String::new(),
            offset: 0,
            kind,
        }];
        let size = byte_size(entry).unwrap_or(0);
        Some(self.types.add(TypeLayout::Record { size, fields }))
    }

    fn structure(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> TypeId {
        if let Some(room) = self.room(unit, entry, depth) {
            return room;
        }
        let mut fields = Vec::new();
        let mut bits: Option<BitFieldLayouts> = None;
        for child in self.children(unit, entry) {
            if let Some(field) = bit_field(&child, &self.units.name(unit, &child)) {
                match &mut bits {
                    Some(group) if field.start <= group.end => group.join(field),
                    _ => self.flush(&mut bits, Some(field), &mut fields),
                }
                continue;
            }
            fields.extend(self.member(unit, &child, depth));
        }
        self.flush(&mut bits, None, &mut fields);
        let name = self.units.name(unit, entry);
        self.name_alternatives(&name, &mut fields);
        unwrap_adapter(&name, &mut fields);
        fields.sort_by_key(|field| field.offset);
        self.types.add(TypeLayout::Record {
            size: byte_size(entry).unwrap_or(0),
            fields,
        })
    }

    /// Gives the member of a `std::variant` that says which alternative it holds the names of their types.
    fn name_alternatives(&mut self, name: &str, fields: &mut [TypeField]) {
        let Some(alternatives) = alternatives(name) else {
            return;
        };
        let own = |field: &&mut TypeField| field.name == "_M_index";
        if let Some(field) = fields.iter_mut().find(own) {
            let size = self.types.size(field.kind);
            field.kind = self.leaf(size, LeafKind::Number);
            self.types
                .encode(field.kind, Arc::new(Encoding::Enum(alternatives)));
        }
    }

    /// Adds pending bit-fields. Those that share bytes are one location: the machine reads and writes them together.
    fn flush(
        &mut self,
        group: &mut Option<BitFieldLayouts>,
        next: Option<BitFieldLayouts>,
        to: &mut Vec<TypeField>,
    ) {
        if let Some(done) = std::mem::replace(group, next) {
            let size = done.end.saturating_sub(done.start);
            let holds = match done.splits_bytes {
                true => LeafKind::Bits,
                false => LeafKind::Number,
            };
            let kind = self.leaf(size, holds);
            to.push(TypeField {
                name: done.names.join("|"),
                offset: done.start,
                kind,
            });
        }
    }

    /// A data member or base class; `None` for static members, functions and what takes no space.
    fn member(&mut self, unit: usize, child: &DwarfEntry, depth: usize) -> Option<TypeField> {
        let is_base = child.tag() == gimli::DW_TAG_inheritance;
        if !is_base && child.tag() != gimli::DW_TAG_member || is_static(child) {
            return None;
        }
        let offset = match child.attr(gimli::DW_AT_data_member_location) {
            None => 0,
            Some(attribute) => attribute.udata_value()?,
        };
        let kind = self.referred(unit, child, depth)?;
        let name = match self.units.name(unit, child) {
            name if name.is_empty() && !is_base => {
                self.name_of_arms(unit, child, kind).unwrap_or_default()
            }
            name => plain_member(name),
        };
        (self.types.leaves(kind) > 0).then_some(TypeField { name, offset, kind })
    }

    /// The layout of a union: that of the arm that divides it most finely, so that no two parts overlap.
    fn union(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> TypeId {
        let size = byte_size(entry).unwrap_or(0);
        let arms: Vec<TypeField> = self
            .children(unit, entry)
            .iter()
            .filter_map(|child| self.member(unit, child, depth))
            .collect();
        let finest = |arm: &&TypeField| self.types.leaves(arm.kind);
        // Of equals the first: `max_by_key` takes the last.
        match arms.iter().rev().max_by_key(finest) {
            Some(arm) if self.types.leaves(arm.kind) > 1 => {
                let arm = arm.clone();
                self.types.add(TypeLayout::Record {
                    size,
                    fields: vec![arm],
                })
            }
            _ => self.leaf(size, LeafKind::Unknown),
        }
    }

    /// A name for an unnamed member: for a union none of whose arms has parts the names of its arms, if these are
    /// few.
    fn name_of_arms(&self, unit: usize, member: &DwarfEntry, kind: TypeId) -> Option<String> {
        const MOST: usize = 3;
        let (unit, offset) = self
            .units
            .target(unit, member.attr_value(gimli::DW_AT_type)?)?;
        let union = self.units.get(unit)?.entry(offset).ok()?;
        let is_leaf = matches!(self.types.get(kind), Some(TypeLayout::Leaf { .. }));
        if union.tag() != gimli::DW_TAG_union_type || !is_leaf {
            return None;
        }
        let names: Vec<String> = self
            .children(unit, &union)
            .iter()
            .filter(|child| child.tag() == gimli::DW_TAG_member)
            .map(|child| self.units.name(unit, child))
            .collect();
        let are_few = (1..=MOST).contains(&names.len());
        (are_few && !names.contains(&String::new())).then(|| names.join("/"))
    }

    fn array(&mut self, unit: usize, entry: &DwarfEntry, depth: usize) -> Option<TypeId> {
        let element = self.referred(unit, entry, depth)?;
        let mut counts: Vec<u64> = self
            .children(unit, entry)
            .iter()
            .filter(|child| child.tag() == gimli::DW_TAG_subrange_type)
            .map(element_count)
            .collect();
        let mut kind = element;
        while let Some(count) = counts.pop() {
            let stride = self.types.size(kind);
            kind = self.types.add(TypeLayout::Array {
                count,
                stride,
                element: kind,
            });
        }
        Some(kind)
    }
}

/// Removes the layers that libraries put around the members that people know.
fn plain_member(name: String) -> String {
    match name.as_str() {
        "_M_impl" | "_M_elems" | "__elems_" | "_M_storage" => String::new(),
        // The count of a `duration`, and the duration of a `time_point`.
        "__r" | "__d" => String::new(),
        _ if name.starts_with("_vptr") => "_vptr".to_owned(),
        _ => name,
    }
}

/// Removes the layer that an adapter of the C++ library puts around its container: `jobs.c` of a `std::queue` is `jobs`.
fn unwrap_adapter(name: &str, fields: &mut [TypeField]) {
    let container = fields.iter_mut().find(|field| field.name == "c");
    if let Some(container) = container.filter(|_| is_adapter(name)) {
        container.name.clear();
    }
}

/// Returns whether a type with this name in the debug info is an adapter of the C++ library.
fn is_adapter(name: &str) -> bool {
    const ADAPTERS: [&str; 3] = ["queue<", "stack<", "priority_queue<"];
    const CONTAINERS: [&str; 3] = [", std::deque<", ", std::vector<", ", std::__cxx11::list<"];
    ADAPTERS.iter().any(|adapter| name.starts_with(adapter))
        && CONTAINERS.iter().any(|container| name.contains(container))
}

struct BitFieldLayouts {
    start: u64,
    end: u64,
    /// `true` if some begin or end within a byte.
    splits_bytes: bool,
    names: Vec<String>,
}

impl BitFieldLayouts {
    fn join(&mut self, other: BitFieldLayouts) {
        self.end = self.end.max(other.end);
        self.splits_bytes |= other.splits_bytes;
        self.names.extend(other.names);
    }
}

/// The bytes of a bit-field.
fn bit_field(entry: &DwarfEntry, name: &str) -> Option<BitFieldLayouts> {
    let bits = entry.attr(gimli::DW_AT_bit_size)?.udata_value()?;
    let first = match entry.attr(gimli::DW_AT_data_bit_offset) {
        Some(first) => first.udata_value()?,
        None => old_bit_offset(entry, bits)?,
    };
    let end = first.checked_add(bits)?.div_ceil(8);
    Some(BitFieldLayouts {
        start: first / 8,
        end,
        splits_bytes: first % 8 != 0 || bits % 8 != 0,
        names: vec![name.to_owned()],
    })
}

/// Bit offset in the form of DWARF 3, which counts from the most significant bit of the storage unit.
fn old_bit_offset(entry: &DwarfEntry, bits: u64) -> Option<u64> {
    let byte = entry
        .attr(gimli::DW_AT_data_member_location)?
        .udata_value()?;
    let storage = byte_size(entry).unwrap_or(4).checked_mul(8)?;
    let from_top = entry
        .attr(gimli::DW_AT_bit_offset)
        .and_then(|a| a.udata_value())
        .unwrap_or(0);
    let within = storage.checked_sub(from_top)?.checked_sub(bits)?;
    byte.checked_mul(8)?.checked_add(within)
}

fn byte_size(entry: &DwarfEntry) -> Option<u64> {
    entry.attr(gimli::DW_AT_byte_size)?.udata_value()
}

fn is_static(entry: &DwarfEntry) -> bool {
    let set = |name| matches!(entry.attr_value(name), Some(AttributeValue::Flag(true)));
    set(gimli::DW_AT_external) || set(gimli::DW_AT_declaration)
}

/// Elements of one dimension; 0 when the length is not in the debug info.
pub(super) fn element_count(range: &DwarfEntry) -> u64 {
    let number = |name| {
        range
            .attr(name)
            .and_then(gimli::Attribute::<DwarfReader>::udata_value)
    };
    match number(gimli::DW_AT_count) {
        Some(count) => count,
        None => number(gimli::DW_AT_upper_bound)
            .and_then(|last| last.checked_add(1))
            .unwrap_or(0),
    }
}
