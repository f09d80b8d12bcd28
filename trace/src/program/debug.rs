//! Places in the source, and variables and types as the source has them.

use super::code::{ValueId, id};
use serde::{Deserialize, Serialize};

id! {
    /// A row of [`Unit::places`](super::Unit::places); 0 is "not known".
    PlaceId
}
id! {
    /// A row of [`Unit::debug_types`](super::Unit::debug_types); 0 is "not known".
    DebugTypeId
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct DebugPlace {
    /// Row of [`Unit::files`](super::Unit::files).
    pub file: u32,
    /// Line from 1, 0 when not known.
    pub line: u32,
    /// Column in bytes from 1, 0 when not known.
    pub column: u32,
    /// The function whose text it is in, another one than the instruction's where that was inlined: row of
    /// [`Unit::subprograms`](super::Unit::subprograms).
    pub function: u32,
    /// Place of the call of that function, if it was inlined; 0 otherwise.
    pub inlined_at: PlaceId,
}

impl DebugPlace {
    /// The place of which nothing is known.
    pub const NOWHERE: DebugPlace = DebugPlace {
        file: 0,
        line: 0,
        column: 0,
        function: 0,
        inlined_at: PlaceId(0),
    };
}

/// A variable or parameter of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DebugTypeId,
    /// The value that holds its address (`is_address`) or itself.
    pub value: ValueId,
    /// `value` is its address.
    pub is_address: bool,
    /// The line that declares it.
    pub line: u32,
    /// `true` if it is a parameter.
    pub is_parameter: bool,
    /// Offset and count of the variable's bits that the value holds; `None` for all of them. Optimized code keeps the
    /// members of a structure apart.
    pub fragment: Option<(u64, u64)>,
}

/// A type as the source has it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DebugType {
    /// Its name; empty for those without one.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Kind of the type.
    pub kind: DebugKind,
}

/// The kind of a type of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum DebugKind {
    /// Another kind of type.
    #[default]
    Other,
    /// A truth value.
    Boolean,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A character.
    Character,
    /// A floating-point number.
    Float,
    /// A pointer or reference to this type.
    Pointer(DebugTypeId),
    /// Another name, or the same type with a qualifier.
    Alias(DebugTypeId),
    /// A structure, class or union with its members; base classes are members without a name.
    Struct(Vec<StructureMember>),
    /// An array: element type and the counts of its dimensions, 0 for one that is not known.
    Array(DebugTypeId, Vec<u64>),
    /// An enumeration.
    Enum(Vec<Enumerator>),
    /// A function.
    Function,
}

/// A member of a structure.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StructureMember {
    /// Its name; empty for a base class or an anonymous structure.
    pub name: String,
    /// Bits from the structure's beginning.
    pub offset_bits: u64,
    /// Its size in bits: less than its type's for a bit-field.
    pub size_bits: u64,
    /// Its type.
    pub ty: DebugTypeId,
}

/// A name for a value of an enumeration.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i128,
}

/// Bound for a chain of other names.
const LONGEST: usize = 64;

/// Gives other names and base classes the size of their types, and arrays that of their elements together, where they have
/// none. Linear in the types, apart from chains of names.
pub fn give_sizes(types: &mut [DebugType]) {
    for at in 0..types.len() {
        let size = size_of(types, at, LONGEST);
        if let Some(ty) = types.get_mut(at).filter(|ty| ty.size == 0) {
            ty.size = size;
        }
    }
    let sizes: Vec<u64> = types.iter().map(|ty| ty.size.saturating_mul(8)).collect();
    for ty in types {
        if let DebugKind::Struct(members) = &mut ty.kind {
            for member in members.iter_mut().filter(|member| member.size_bits == 0) {
                member.size_bits = sizes.get(member.ty.index()).copied().unwrap_or(0);
            }
        }
    }
}

fn size_of(types: &[DebugType], at: usize, depth: usize) -> u64 {
    let (Some(ty), Some(depth)) = (types.get(at), depth.checked_sub(1)) else {
        return 0;
    };
    match &ty.kind {
        _ if ty.size != 0 => ty.size,
        DebugKind::Alias(to) if to.0 != 0 => size_of(types, to.index(), depth),
        DebugKind::Pointer(_) => 8,
        DebugKind::Array(element, counts) => {
            let one = size_of(types, element.index(), depth);
            counts
                .iter()
                .fold(one, |size, count| size.saturating_mul(*count))
        }
        _ => 0,
    }
}
