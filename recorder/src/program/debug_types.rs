//! Types as the source has them.

use super::{
    metadata::{Metadata, MetadataNode, NodeId, reference},
    tables::row,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::program::{
    DebugKind, DebugType, DebugTypeId, Enumerator, StructureMember, Unit, debug::give_sizes,
};

/// Rows for types. A type that is asked for gets its row at once and is read later, so that types may contain
/// pointers to each other.
#[derive(Default)]
pub(super) struct DebugTypes {
    rows: FxHashMap<NodeId, DebugTypeId>,
    /// Rows that have to be read.
    unread: Vec<(NodeId, DebugTypeId)>,
    pointers: FxHashMap<DebugTypeId, DebugTypeId>,
}

impl DebugTypes {
    /// Puts the row for "not known" into the unit.
    pub fn begin(unit: &mut Unit) -> DebugTypes {
        unit.debug_types.push(DebugType::default());
        DebugTypes::default()
    }

    /// The row of a node's type.
    pub fn of(&mut self, unit: &mut Unit, node: MetadataNode, key: &str) -> DebugTypeId {
        node.reference(key)
            .map_or(DebugTypeId(0), |id| self.row(unit, id))
    }

    fn row(&mut self, unit: &mut Unit, id: NodeId) -> DebugTypeId {
        if let Some(&known) = self.rows.get(&id) {
            return known;
        }
        let new = DebugTypeId(row(unit.debug_types.len()));
        unit.debug_types.push(DebugType::default());
        self.rows.insert(id, new);
        self.unread.push((id, new));
        new
    }

    /// The type of addresses of this type, for variables that the compiler keeps elsewhere.
    pub fn pointer_to(&mut self, unit: &mut Unit, to: DebugTypeId) -> DebugTypeId {
        *self.pointers.entry(to).or_insert_with(|| {
            let new = DebugTypeId(row(unit.debug_types.len()));
            unit.debug_types.push(DebugType {
                name: String::new(),
                size: 8,
                kind: DebugKind::Pointer(to),
            });
            new
        })
    }

    /// Reads all types that were asked for, and those that they need.
    pub fn finish(&mut self, unit: &mut Unit, metadata: &Metadata) {
        while let Some((id, at)) = self.unread.pop() {
            let Some(node) = metadata.node(id) else {
                continue;
            };
            let read = DebugType {
                name: node.text("name"),
                size: node.number("size").unwrap_or(0).div_ceil(8),
                kind: self.kind(unit, metadata, node),
            };
            if let Some(ty) = unit.debug_types.get_mut(at.index()) {
                *ty = read;
            }
        }
        give_sizes(&mut unit.debug_types);
    }

    fn kind(&mut self, unit: &mut Unit, metadata: &Metadata, node: MetadataNode) -> DebugKind {
        match (node.kind, node.field("tag").unwrap_or("")) {
            ("DIBasicType", _) => basic(node.field("encoding").unwrap_or("")),
            ("DISubroutineType", _) => DebugKind::Function,
            (
                _,
                "DW_TAG_pointer_type" | "DW_TAG_reference_type" | "DW_TAG_rvalue_reference_type",
            ) => DebugKind::Pointer(self.of(unit, node, "baseType")),
            (
                _,
                "DW_TAG_typedef"
                | "DW_TAG_const_type"
                | "DW_TAG_volatile_type"
                | "DW_TAG_restrict_type"
                | "DW_TAG_atomic_type"
                | "DW_TAG_template_alias"
                | "DW_TAG_immutable_type",
            ) => DebugKind::Alias(self.of(unit, node, "baseType")),
            (_, "DW_TAG_structure_type" | "DW_TAG_class_type" | "DW_TAG_union_type") => {
                DebugKind::Struct(self.members(unit, metadata, node))
            }
            (_, "DW_TAG_array_type") => {
                let element = self.of(unit, node, "baseType");
                DebugKind::Array(element, dimensions(metadata, node))
            }
            (_, "DW_TAG_enumeration_type") => DebugKind::Enum(enumerators(metadata, node)),
            _ => DebugKind::Other,
        }
    }

    fn members(
        &mut self,
        unit: &mut Unit,
        metadata: &Metadata,
        node: MetadataNode,
    ) -> Vec<StructureMember> {
        let parts = listed(metadata, node);
        let members = parts.filter_map(|part| {
            let tag = part.field("tag").unwrap_or("");
            let is_member = tag == "DW_TAG_member" && !part.has_flag("flags", "DIFlagStaticMember");
            // Where a virtual base class lies, only the object says.
            let is_base = tag == "DW_TAG_inheritance" && !part.has_flag("flags", "DIFlagVirtual");
            if !is_member && !is_base {
                return None;
            }
            let ty = self.of(unit, part, "baseType");
            Some(StructureMember {
                name: plain_member(part.text("name")),
                offset_bits: part.number("offset").unwrap_or(0),
                size_bits: part.number("size").unwrap_or(0),
                ty,
            })
        });
        members.collect()
    }
}

/// The hidden member of classes has the class's name in its own: `_vptr$Shape`.
fn plain_member(name: String) -> String {
    match name.starts_with("_vptr") {
        true => "_vptr".to_owned(),
        false => name,
    }
}

fn basic(encoding: &str) -> DebugKind {
    match encoding {
        "DW_ATE_boolean" => DebugKind::Boolean,
        "DW_ATE_signed" => DebugKind::Signed,
        "DW_ATE_unsigned" => DebugKind::Unsigned,
        "DW_ATE_signed_char" | "DW_ATE_unsigned_char" | "DW_ATE_UTF" => DebugKind::Character,
        "DW_ATE_float" => DebugKind::Float,
        _ => DebugKind::Other,
    }
}

/// The nodes under `elements`.
fn listed<'m>(
    metadata: &'m Metadata,
    node: MetadataNode,
) -> impl Iterator<Item = MetadataNode<'m>> {
    let list = node.reference("elements").and_then(|id| metadata.node(id));
    let parts = list.into_iter().flat_map(MetadataNode::elements);
    parts.filter_map(|part| metadata.node(reference(part)?))
}

fn dimensions(metadata: &Metadata, node: MetadataNode) -> Vec<u64> {
    let ranges = listed(metadata, node).filter(|part| part.kind == "DISubrange");
    ranges
        .map(|range| range.number("count").unwrap_or(0))
        .collect()
}

fn enumerators(metadata: &Metadata, node: MetadataNode) -> Vec<Enumerator> {
    let parts = listed(metadata, node).filter(|part| part.kind == "DIEnumerator");
    let read = |part: MetadataNode| {
        Some(Enumerator {
            name: part.text("name"),
            value: part.field("value")?.parse().ok()?,
        })
    };
    parts.filter_map(read).collect()
}
