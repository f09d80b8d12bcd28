//! Constants and global variables.

use super::{
    code::{BinaryOp, BlockId, CastOp, FunctionId, id},
    debug::{DebugTypeId, PlaceId},
    types::TypeId,
};
use serde::{Deserialize, Serialize};

id! {
    /// A row of [`Unit::constants`](super::Unit::constants).
    ConstantId
}
id! {
    /// A row of [`Unit::globals`](super::Unit::globals).
    GlobalId
}

/// A constant. Constants that it is made of stand before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Constant {
    /// An integer, zero-extended from its type's width; wider ones than 128 bits are [`Constant::Unknown`].
    Integer {
        /// Its type.
        ty: TypeId,
        /// Its bits.
        bits: u128,
    },
    /// A floating-point number by its representation.
    Float {
        /// Its type.
        ty: TypeId,
        /// Its bits.
        bits: u128,
    },
    /// Zero of any type; also the null pointer.
    Zero(TypeId),
    /// `undef` and `poison`.
    Undefined(TypeId),
    /// The address of a global variable.
    Global(GlobalId),
    /// The address of a function.
    Function(FunctionId),
    /// The address of a label, for jumps to computed places.
    Block {
        /// The function of the label.
        function: FunctionId,
        /// The block behind the label.
        block: BlockId,
    },
    /// Bytes behind another address; constant address arithmetic is folded into it.
    Offset {
        /// The address.
        base: ConstantId,
        /// Bytes, also negative.
        bytes: i64,
    },
    /// Array, vector or structure.
    Aggregate {
        /// Its type.
        ty: TypeId,
        /// Its elements.
        elements: Vec<ConstantId>,
    },
    /// An array of bytes.
    Bytes {
        /// Its type.
        ty: TypeId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Conversion of another constant, such as an address to an integer.
    Cast {
        /// The conversion.
        op: CastOp,
        /// Type of the result.
        ty: TypeId,
        /// The converted constant.
        of: ConstantId,
    },
    /// Arithmetic on constants that the compiler leaves to the linker.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// Type of the result.
        ty: TypeId,
        /// The first operand.
        a: ConstantId,
        /// The second operand.
        b: ConstantId,
    },
    /// A constant of this type that was not understood.
    Unknown(TypeId),
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Global {
    /// The linker's name.
    pub name: String,
    /// The source's name, `function::name` for statics of functions; empty when the debug info has none.
    pub display: String,
    /// Its type.
    pub ty: TypeId,
    /// Its size in bytes.
    pub size: u64,
    /// Its address in the unit's file, where the unit is one; 0 where the linker decides. Addresses behind the end of
    /// one variable are then those of the next.
    pub address: u64,
    /// Its first value; `None` when it is only declared here.
    pub initial: Option<ConstantId>,
    /// `true` if it is never written.
    pub is_constant: bool,
    /// Each thread has its own.
    pub is_thread_local: bool,
    /// Other units do not see it: the same name elsewhere is another variable.
    pub is_local: bool,
    /// Its type as the source has it.
    pub debug_type: DebugTypeId,
    /// Place of the declaration.
    pub place: PlaceId,
}

/// Another name for something.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Alias {
    /// The linker's name.
    pub name: String,
    /// The address that it stands for.
    pub of: ConstantId,
}
