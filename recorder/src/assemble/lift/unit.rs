//! Tables of a unit that is being lifted: each type, constant, function and place has one row.

use super::{
    super::globals::GlobalObject,
    abi::{Returned, Word},
};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use unsnarl_trace::program::{
    Constant, ConstantId, DebugPlace, Function, FunctionId, GlobalId, Operand, PlaceId, Type,
    TypeId, TypeKind, Unit,
};

/// Number of the next row of a table.
pub(super) fn row(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A unit with the rows that are known.
#[derive(Default)]
pub(super) struct UnitTables {
    pub unit: Unit,
    types: FxHashMap<Type, TypeId>,
    constants: FxHashMap<Constant, ConstantId>,
    functions: FxHashMap<String, FunctionId>,
    files: FxHashMap<String, u32>,
    subprograms: FxHashMap<String, u32>,
    places: FxHashMap<DebugPlace, PlaceId>,
    /// Rows of globals by the index of their objects.
    pub globals: FxHashMap<usize, GlobalId>,
}

/// The row of a key, which is pushed if it is new.
fn interned<T: Clone + Eq + Hash>(
    known: &mut FxHashMap<T, u32>,
    rows: &mut Vec<T>,
    key: &T,
) -> u32 {
    if let Some(&row) = known.get(key) {
        return row;
    }
    let new = row(rows.len());
    rows.push(key.clone());
    known.insert(key.clone(), new);
    new
}

impl UnitTables {
    /// Names the unit, and makes the rows for "not known".
    pub fn begin(&mut self, (source, directory): (String, String)) {
        self.unit.source = source;
        self.unit.directory = directory;
        self.unit.subprograms.push(String::new());
        self.unit.files.push(String::new());
        self.unit.places.push(DebugPlace::NOWHERE);
        self.files.insert(String::new(), 0);
        self.subprograms.insert(String::new(), 0);
        self.places.insert(DebugPlace::NOWHERE, PlaceId(0));
    }

    /// The type of a result.
    pub fn returned(&mut self, returned: &Returned) -> TypeId {
        match returned {
            Returned::Nothing | Returned::One(Word::Memory) => self.void(),
            Returned::One(Word::Integer(bits)) => self.integer(*bits),
            Returned::One(Word::Float(bits)) => self.float(*bits),
            Returned::Two(..) => self.pair(),
        }
    }

    fn ty(&mut self, kind: TypeKind, size: u64) -> TypeId {
        let align = u32::try_from(size.clamp(1, 16)).unwrap_or(16);
        let ty = Type { kind, size, align };
        if let Some(&known) = self.types.get(&ty) {
            return known;
        }
        let id = TypeId(row(self.unit.types.len()));
        self.unit.types.push(ty.clone());
        self.types.insert(ty, id);
        id
    }

    /// The type of nothing.
    pub fn void(&mut self) -> TypeId {
        self.ty(TypeKind::Void, 0)
    }

    /// An integer of this many bits.
    pub fn integer(&mut self, bits: u32) -> TypeId {
        self.ty(TypeKind::Integer(bits), u64::from(bits.div_ceil(8)))
    }

    /// A floating-point number of this many bits.
    pub fn float(&mut self, bits: u32) -> TypeId {
        self.ty(TypeKind::Float(bits), u64::from(bits / 8))
    }

    /// The type of addresses.
    pub fn pointer(&mut self) -> TypeId {
        self.ty(TypeKind::Pointer, 8)
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: u64) -> TypeId {
        let element = self.integer(8);
        self.ty(TypeKind::Array { element, count }, count)
    }

    /// Two words one behind the other, as functions return them in two registers.
    pub fn pair(&mut self) -> TypeId {
        let ty = self.integer(64);
        let fields = [0, 8].map(|offset| unsnarl_trace::program::FieldRow { ty, offset });
        let fields = fields.to_vec();
        self.ty(TypeKind::Struct { fields }, 16)
    }

    /// A structure of these fields.
    pub fn structure(&mut self, fields: Vec<(TypeId, u64)>, size: u64) -> TypeId {
        let field = |(ty, offset)| unsnarl_trace::program::FieldRow { ty, offset };
        let fields = fields.into_iter().map(field).collect();
        self.ty(TypeKind::Struct { fields }, size)
    }

    /// The row of a constant.
    pub fn constant(&mut self, constant: Constant) -> ConstantId {
        if let Some(&known) = self.constants.get(&constant) {
            return known;
        }
        let id = ConstantId(row(self.unit.constants.len()));
        self.unit.constants.push(constant.clone());
        self.constants.insert(constant, id);
        id
    }

    /// An integer constant of a width.
    pub fn number(&mut self, bits: u128, width: u32) -> Operand {
        let ty = self.integer(width);
        let bits = bits & mask(width);
        Operand::Constant(self.constant(Constant::Integer { ty, bits }))
    }

    /// The bits of an operand that is an integer constant.
    pub fn known(&self, operand: Operand) -> Option<u128> {
        let Operand::Constant(id) = operand else {
            return None;
        };
        match self.unit.constant(id)? {
            Constant::Integer { bits, .. } => Some(*bits),
            _ => None,
        }
    }

    /// A constant address, so many bytes behind another.
    pub fn behind(&mut self, base: ConstantId, bytes: i64) -> ConstantId {
        match bytes {
            0 => base,
            bytes => self.constant(Constant::Offset { base, bytes }),
        }
    }

    /// The row of a function, which is only declared until it is lifted.
    pub fn function(&mut self, name: &str) -> FunctionId {
        if let Some(&known) = self.functions.get(name) {
            return known;
        }
        let id = FunctionId(row(self.unit.functions.len()));
        let result = self.void();
        self.unit.functions.push(Function {
            name: name.to_owned(),
            display: super::super::names::function(name),
            result,
            ..Function::default()
        });
        self.functions.insert(name.to_owned(), id);
        id
    }

    /// The address of a function.
    pub fn function_address(&mut self, name: &str) -> ConstantId {
        let id = self.function(name);
        self.constant(Constant::Function(id))
    }

    /// The row of a place.
    pub fn place(&mut self, file: &str, function: &str, place: DebugPlace) -> PlaceId {
        let file = interned(&mut self.files, &mut self.unit.files, &file.to_owned());
        let function = interned(
            &mut self.subprograms,
            &mut self.unit.subprograms,
            &function.to_owned(),
        );
        let place = DebugPlace {
            file,
            function,
            ..place
        };
        if let Some(&known) = self.places.get(&place) {
            return known;
        }
        let id = PlaceId(row(self.unit.places.len()));
        self.unit.places.push(place.clone());
        self.places.insert(place, id);
        id
    }

    /// The row of a data object, which is only declared until its content is read.
    pub fn global(&mut self, index: usize, object: &GlobalObject) -> GlobalId {
        if let Some(&known) = self.globals.get(&index) {
            return known;
        }
        let size = object.end.saturating_sub(object.start);
        let name = match object.start - object.base.min(object.start) {
            0 => object.name.clone(),
            offset => format!("{}+{offset}", object.name),
        };
        let id = GlobalId(row(self.unit.globals.len()));
        let ty = self.bytes(size);
        self.unit.globals.push(unsnarl_trace::program::Global {
            display: name.clone(),
            name,
            ty,
            size,
            address: object.start,
            ..Default::default()
        });
        self.globals.insert(index, id);
        id
    }

    /// Notes what could not be lifted.
    pub fn problem(&mut self, text: String) {
        if !self.unit.problems.contains(&text) {
            self.unit.problems.push(text);
        }
    }
}

/// The lowest bits of a number.
pub(super) fn mask(width: u32) -> u128 {
    match width {
        0..128 => (1u128 << width) - 1,
        _ => u128::MAX,
    }
}
