//! The unit that a text is condensed into, with indices that find its rows again.

use super::{
    layout::Alignments,
    symbols::Symbols,
    trouble::{ModelProblems, Parse, Trouble},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::program::{Constant, ConstantId, Type, TypeId, Unit};

/// Bound for the nesting of types and constants: a text may come from anywhere, and the stack is limited.
const DEEPEST: u32 = 128;

/// A named type.
#[derive(Clone, Copy, Debug)]
pub(super) enum NamedType<'t> {
    /// The type's text, not read yet.
    Text(&'t str),
    /// The type is being read.
    Busy,
    /// Read.
    Done(TypeId),
}

/// Everything that is known while a text is read.
pub(super) struct Tables<'t> {
    /// The result.
    pub unit: Unit,
    /// Sizes and alignments.
    pub layout: Alignments,
    /// Named types.
    pub named: FxHashMap<&'t str, NamedType<'t>>,
    /// Globals, functions and aliases.
    pub symbols: Symbols<'t>,
    /// Parts of the text that are not understood.
    pub problems: ModelProblems,
    /// `true` if the text has `i32*`: clang was older than 15.
    pub has_typed_pointers: bool,
    types: FxHashMap<Type, TypeId>,
    constants: FxHashMap<Constant, ConstantId>,
    depth: u32,
}

impl<'t> Tables<'t> {
    pub fn new(layout: Alignments) -> Tables<'t> {
        Tables {
            unit: Unit::default(),
            layout,
            named: FxHashMap::default(),
            symbols: Symbols::default(),
            problems: ModelProblems::default(),
            has_typed_pointers: false,
            types: FxHashMap::default(),
            constants: FxHashMap::default(),
            depth: 0,
        }
    }

    /// Reads an entity that may contain others of its kind, with a bound on the nesting.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEEPEST {
            return Err(Trouble::new("it is nested too deep"));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// The row of this type.
    pub fn intern_type(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.types.get(&ty) {
            return id;
        }
        let id = TypeId(row(self.unit.types.len()));
        self.types.insert(ty.clone(), id);
        self.unit.types.push(ty);
        id
    }

    /// The row of this constant.
    pub fn intern(&mut self, constant: Constant) -> ConstantId {
        if let Some(&id) = self.constants.get(&constant) {
            return id;
        }
        let id = ConstantId(row(self.unit.constants.len()));
        self.constants.insert(constant.clone(), id);
        self.unit.constants.push(constant);
        id
    }
}

/// The number of the next row. Texts are files in memory: they have less than 2^32 of anything that takes a byte, as
/// the instructions' numbers presuppose too.
pub(super) fn row(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
