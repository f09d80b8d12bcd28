//! Types of the intermediate code, with their layout worked out.

use super::code::id;
use serde::{Deserialize, Serialize};

id! {
    /// A row of [`Unit::types`](super::Unit::types).
    TypeId
}

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Type {
    /// Kind of the type.
    pub kind: TypeKind,
    /// Bytes from one element of an array to the next; 0 where that makes no sense.
    pub size: u64,
    /// Alignment in bytes, at least 1.
    pub align: u32,
}

/// The kind of a type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TypeKind {
    /// The type `void`.
    Void,
    /// An integer of this many bits.
    Integer(u32),
    /// A floating-point number of this many bits (16, 32, 64, 80, 128).
    Float(u32),
    /// An address.
    Pointer,
    /// Elements one behind the other.
    Array {
        /// Their type.
        element: TypeId,
        /// Their number.
        count: u64,
    },
    /// A vector of the processor.
    Vector {
        /// The type of its elements.
        element: TypeId,
        /// Their number.
        count: u64,
    },
    /// A structure.
    Struct {
        /// Its fields in order.
        fields: Vec<FieldRow>,
    },
    /// Labels, tokens, metadata, functions, structures that are only declared.
    Opaque,
}

/// A field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FieldRow {
    /// Its type.
    pub ty: TypeId,
    /// Bytes from the beginning of the structure.
    pub offset: u64,
}
