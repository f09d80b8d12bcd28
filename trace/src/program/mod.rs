//! The program model: what the compiler wrapper keeps of a translation unit, so that engines can follow a
//! recorded thread through its code without a compiler's library.
//!
//! It is clang's intermediate code after instrumentation, condensed: types with their layout ([`types`]), functions,
//! blocks and instructions ([`code`]), constants and globals ([`data`]), places and what the debug info says of
//! variables ([`debug`]); [`flow`] says which branches decide what runs. An instruction is named by its *point*: its
//! number in the unit from 1, which the line table of the object carries as discriminator.
//!
//! Everything refers to everything by index. A reader must trust no index: [`Unit`]'s accessors give `None`
//! for what is not there.

pub mod code;
pub mod data;
pub mod debug;
mod encode;
pub mod flow;
mod print;
mod store;
pub mod types;
mod whole;

pub use code::{
    BinaryOp, Block, BlockId, CastOp, CompareOp, Function, FunctionId, Instruction, Op, Operand,
    PointNumber, Scaled, SwitchCase, ValueId,
};
pub use data::{Alias, Constant, ConstantId, Global, GlobalId};
pub use debug::{
    DebugKind, DebugPlace, DebugType, DebugTypeId, Enumerator, PlaceId, StructureMember, Variable,
};
pub use encode::{DecodeError, Hash, decode, decode_all, encode, hash};
pub use store::{LoadError, folder, keep, load};
pub use types::{FieldRow, Type, TypeId, TypeKind};
pub use whole::{Definition, Program, UnitId};

use serde::{Deserialize, Serialize};

/// The model of one translation unit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Unit {
    /// The source file as it was given to the compiler.
    pub source: String,
    /// The folder that it was compiled in.
    pub directory: String,
    /// Types; all sizes are in bytes.
    pub types: Vec<Type>,
    /// Constants, each once.
    pub constants: Vec<Constant>,
    /// Global variables, also those that are only declared.
    pub globals: Vec<Global>,
    /// Functions, also those that are only declared (without blocks).
    pub functions: Vec<Function>,
    /// Other names for globals and functions of this unit.
    pub aliases: Vec<Alias>,
    /// Functions that places name, demangled and without parameters; row 0 is "not known" and empty.
    pub subprograms: Vec<String>,
    /// Files that places name; row 0 is "not known" and empty.
    pub files: Vec<String>,
    /// Places in the source; row 0 is "not known".
    pub places: Vec<DebugPlace>,
    /// Types as the source has them; row 0 is "not known".
    pub debug_types: Vec<DebugType>,
    /// Descriptions of what could not be condensed; those instructions are [`Op::Unknown`].
    pub problems: Vec<String>,
}

impl Unit {
    /// The type.
    pub fn ty(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.index())
    }

    /// The constant.
    pub fn constant(&self, id: ConstantId) -> Option<&Constant> {
        self.constants.get(id.index())
    }

    /// The global variable.
    pub fn global(&self, id: GlobalId) -> Option<&Global> {
        self.globals.get(id.index())
    }

    /// The function.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.index())
    }

    /// The place; the unknown one for an id that is not in the table.
    pub fn place(&self, id: PlaceId) -> &DebugPlace {
        const NOWHERE: &DebugPlace = &DebugPlace::NOWHERE;
        self.places.get(id.index()).unwrap_or(NOWHERE)
    }

    /// The function whose text the place is in; empty when not known.
    pub fn function_name(&self, place: &DebugPlace) -> &str {
        let name = self.subprograms.get(place.function as usize);
        name.map_or("", String::as_str)
    }

    /// The file that the place is in; empty when not known.
    pub fn file(&self, place: &DebugPlace) -> &str {
        let file = self.files.get(place.file as usize);
        file.map_or("", String::as_str)
    }

    /// The type as the source has it.
    pub fn debug_type(&self, id: DebugTypeId) -> Option<&DebugType> {
        self.debug_types.get(id.index()).filter(|_| id.0 != 0)
    }

    /// The function that holds the instruction with this point, and the instruction. Logarithmic: functions
    /// stand in the order of their points.
    pub fn at(&self, point: PointNumber) -> Option<(FunctionId, &Instruction)> {
        let defined = self
            .functions
            .partition_point(|function| function.first_point <= point);
        // Functions without blocks share the first point of the one behind them.
        let (id, function) = self
            .functions
            .get(..defined)?
            .iter()
            .enumerate()
            .rev()
            .find(|(_, function)| !function.instructions.is_empty())?;
        let at = usize::try_from(point.0.checked_sub(function.first_point.0)?).ok()?;
        Some((
            FunctionId(u32::try_from(id).ok()?),
            function.instructions.get(at)?,
        ))
    }
}
