//! Layouts of types: offsets and names of their leaves (scalars, locks, atomics).

use rustc_hash::FxHashMap;
use std::sync::Arc;
use unsnarl_trace::{Encoding, kinds::ObjectClass};

/// Index into [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeId(pub u32);

/// A field of a structure, a base class (without a name) or the chosen arm of a union.
#[derive(Clone, Debug)]
pub(super) struct TypeField {
    pub name: String,
    pub offset: u64,
    pub kind: TypeId,
}

/// A type's layout.
#[derive(Clone, Debug)]
pub(super) enum TypeLayout {
    /// A type that is not divided: numbers, pointers, pthread and atomic objects.
    Leaf { size: u64, holds: LeafKind },
    /// Fields sorted by offset, without overlap.
    Record { size: u64, fields: Vec<TypeField> },
    /// `count` elements.
    Array {
        count: u64,
        stride: u64,
        element: TypeId,
    },
}

/// The meaning of a leaf's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafKind {
    /// An address.
    Pointer,
    /// Bit-fields that share bytes.
    Bits,
    /// A number, which may hold an address all the same (`uintptr_t`).
    Number,
    /// Anything.
    Unknown,
}

/// A leaf within an object: offsets from the object's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub start: u64,
    pub end: u64,
    pub holds: LeafKind,
    /// Its type.
    pub kind: TypeId,
}

/// The part of a type at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypePart {
    Leaf(Leaf),
    /// Nothing up to this offset: padding, or past the end.
    Gap {
        end: u64,
    },
}

/// Bound for the nesting of structures; deeper nesting is taken for a loop in broken debug info.
const MAX_DEPTH: usize = 64;

/// The layouts of one image.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    list: Vec<TypeLayout>,
    has_bit_fields: bool,
    encodings: FxHashMap<TypeId, Arc<Encoding>>,
}

impl Types {
    pub fn add(&mut self, kind: TypeLayout) -> TypeId {
        let id = TypeId(self.list.len() as u32);
        self.has_bit_fields |= matches!(
            kind,
            TypeLayout::Leaf {
                holds: LeafKind::Bits,
                ..
            }
        );
        self.list.push(kind);
        id
    }

    /// Notes the encoding of a leaf.
    pub fn encode(&mut self, leaf: TypeId, encoding: Arc<Encoding>) {
        self.encodings.insert(leaf, encoding);
    }

    /// The encoding of a leaf, if it was noted.
    pub fn encoding(&self, leaf: TypeId) -> Option<&Arc<Encoding>> {
        self.encodings.get(&leaf)
    }

    /// Returns whether any type has bit-fields.
    pub fn has_bit_fields(&self) -> bool {
        self.has_bit_fields
    }

    pub fn get(&self, id: TypeId) -> Option<&TypeLayout> {
        self.list.get(id.0 as usize)
    }

    pub fn size(&self, id: TypeId) -> u64 {
        let mut factor = 1u64;
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            match self.get(id) {
                Some(TypeLayout::Leaf { size, .. } | TypeLayout::Record { size, .. }) => {
                    return size.saturating_mul(factor);
                }
                Some(TypeLayout::Array {
                    count,
                    stride,
                    element,
                }) => {
                    if *stride != 0 {
                        return stride.saturating_mul(*count).saturating_mul(factor);
                    }
                    factor = factor.saturating_mul(*count);
                    id = *element;
                }
                None => return 0,
            }
        }
        0
    }

    /// Number of leaves, capped: a measure of how finely a type divides its bytes.
    pub fn leaves(&self, id: TypeId) -> u64 {
        self.leaves_within(id, MAX_DEPTH)
    }

    fn leaves_within(&self, id: TypeId, depth: usize) -> u64 {
        let Some(depth) = depth.checked_sub(1) else {
            return 0;
        };
        match self.get(id) {
            Some(TypeLayout::Leaf { .. }) => 1,
            Some(TypeLayout::Record { fields, .. }) => fields.iter().fold(0, |sum, field| {
                sum.saturating_add(self.leaves_within(field.kind, depth))
            }),
            Some(TypeLayout::Array { count, element, .. }) => {
                count.saturating_mul(self.leaves_within(*element, depth))
            }
            None => 0,
        }
    }

    /// The part at `offset` from the start of an object of this type.
    pub fn at(&self, id: TypeId, offset: u64) -> TypePart {
        let mut base = 0u64;
        let mut end = self.size(id);
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            let inner = offset.saturating_sub(base);
            match self.get(id) {
                Some(TypeLayout::Leaf { size, holds }) => {
                    let leaf_end = base.saturating_add(*size);
                    if offset >= leaf_end {
                        return TypePart::Gap { end };
                    }
                    return TypePart::Leaf(Leaf {
                        start: base,
                        end: leaf_end,
                        holds: *holds,
                        kind: id,
                    });
                }
                Some(TypeLayout::Record { fields, .. }) => {
                    let next = fields.partition_point(|field| field.offset <= inner);
                    if let Some(following) = fields.get(next) {
                        end = end.min(base.saturating_add(following.offset));
                    }
                    let Some(field) = next.checked_sub(1).and_then(|i| fields.get(i)) else {
                        return TypePart::Gap { end };
                    };
                    let size = self.size(field.kind);
                    if inner >= field.offset.saturating_add(size) {
                        return TypePart::Gap { end };
                    }
                    base = base.saturating_add(field.offset);
                    end = end.min(base.saturating_add(size));
                    id = field.kind;
                }
                Some(TypeLayout::Array {
                    count,
                    stride,
                    element,
                }) => {
                    let Some(index) = inner.checked_div(*stride).filter(|index| index < count)
                    else {
                        return TypePart::Gap { end };
                    };
                    base = base.saturating_add(index.saturating_mul(*stride));
                    end = end.min(base.saturating_add(*stride));
                    id = *element;
                }
                None => return TypePart::Gap { end },
            }
        }
        TypePart::Gap { end }
    }

    /// Field path of the leaf at `offset`, to be appended to the object's name.
    pub fn leaf_path(&self, id: TypeId, offset: u64) -> String {
        self.path(id, offset, false)
    }

    /// Field path of the outermost part that starts exactly at `offset`, which a pointer to it stands for.
    pub fn part_path(&self, id: TypeId, offset: u64) -> String {
        self.path(id, offset, true)
    }

    fn path(&self, id: TypeId, offset: u64, outermost: bool) -> String {
        let mut path = String::new();
        let mut rest = offset;
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            if outermost && rest == 0 {
                return path;
            }
            match self.get(id) {
                Some(TypeLayout::Record { fields, .. }) => {
                    let next = fields.partition_point(|field| field.offset <= rest);
                    let Some(field) = next.checked_sub(1).and_then(|i| fields.get(i)) else {
                        break;
                    };
                    if rest - field.offset >= self.size(field.kind) {
                        break;
                    }
                    if !field.name.is_empty() {
                        path.push('.');
                        path.push_str(&field.name);
                    }
                    rest -= field.offset;
                    id = field.kind;
                }
                Some(TypeLayout::Array {
                    count,
                    stride,
                    element,
                }) => {
                    let Some(index) = rest.checked_div(*stride).filter(|index| index < count)
                    else {
                        break;
                    };
                    path.push_str(&format!("[{index}]"));
                    rest -= index * stride;
                    id = *element;
                }
                Some(TypeLayout::Leaf { size, .. }) if rest < *size && !outermost => return path,
                Some(TypeLayout::Leaf { .. }) | None => break,
            }
        }
        match rest {
            0 => path,
            _ => path + &format!("+{rest}"),
        }
    }
}

/// Returns whether a type is a synchronization object or atomic, which is one location whatever is inside.
pub(super) fn is_opaque(name: &str, in_std: bool) -> bool {
    let stem = name.split('<').next().unwrap_or(name);
    // A pointer and, changed apart from it, a count that serves as a lock.
    let is_two = ["atomic<std::shared_ptr<", "atomic<std::weak_ptr<"]
        .iter()
        .any(|two| name.starts_with(two));
    ObjectClass::is_c_type(name) || in_std && ObjectClass::is_std_type(stem) && !is_two
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(types: &mut Types, size: u64) -> TypeId {
        types.add(TypeLayout::Leaf {
            size,
            holds: LeafKind::Number,
        })
    }

    fn field(name: &str, offset: u64, kind: TypeId) -> TypeField {
        TypeField {
            name: name.into(),
            offset,
            kind,
        }
    }

    /// `struct { char tag; /* padding */ int total; struct { long a; } inner[3]; } acct[2]`.
    fn sample() -> (Types, TypeId) {
        let mut types = Types::default();
        let char = leaf(&mut types, 1);
        let int = leaf(&mut types, 4);
        let long = leaf(&mut types, 8);
        let inner = types.add(TypeLayout::Record {
            size: 8,
            fields: vec![field("a", 0, long)],
        });
        let array = types.add(TypeLayout::Array {
            count: 3,
            stride: 8,
            element: inner,
        });
        let fields = vec![
            field("tag", 0, char),
            field("total", 4, int),
            field("inner", 8, array),
        ];
        let acct = types.add(TypeLayout::Record { size: 32, fields });
        let accts = types.add(TypeLayout::Array {
            count: 2,
            stride: 32,
            element: acct,
        });
        (types, accts)
    }

    #[test]
    fn names_leaves_and_parts() {
        let (types, accts) = sample();
        assert_eq!(types.leaf_path(accts, 36), "[1].total");
        assert_eq!(types.leaf_path(accts, 38), "[1].total");
        assert_eq!(types.leaf_path(accts, 16), "[0].inner[1].a");
        assert_eq!(types.part_path(accts, 0), "");
        assert_eq!(types.part_path(accts, 32), "[1]");
        assert_eq!(types.part_path(accts, 40), "[1].inner");
        assert_eq!(types.part_path(accts, 38), "[1].total+2");
        assert_eq!(types.leaf_path(accts, 2), "[0]+2");
    }

    #[test]
    fn padding_is_a_gap_up_to_the_next_field() {
        let (types, accts) = sample();
        let total = Leaf {
            start: 36,
            end: 40,
            holds: LeafKind::Number,
            kind: TypeId(1),
        };
        assert_eq!(types.at(accts, 37), TypePart::Leaf(total));
        assert_eq!(types.at(accts, 1), TypePart::Gap { end: 4 });
        assert_eq!(types.at(accts, 64), TypePart::Gap { end: 64 });
        assert_eq!(types.leaves(accts), 10);
    }

    #[test]
    fn broken_types_end() {
        let mut types = Types::default();
        let endless = TypeId(0);
        types.add(TypeLayout::Record {
            size: 8,
            fields: vec![field("x", 0, endless)],
        });
        assert_eq!(types.at(endless, 3), TypePart::Gap { end: 8 });
        assert_eq!(types.leaves(endless), 0);
        types.path(endless, 3, false);
    }
}
