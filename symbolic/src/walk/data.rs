//! Constants, global variables and functions, as values and in memory.

use super::{
    machine::PathMachine,
    memory::{Fresh, stored},
    value::{Scalar, Val},
};
use crate::expr::{Binary, Unary};
use unsnarl_trace::program::{
    BinaryOp, CastOp, Constant, ConstantId, Definition, FunctionId, Global, GlobalId, TypeId,
    TypeKind, UnitId,
};

/// Bound on the nesting of constants.
const DEEPEST: u32 = 200;
/// Largest alignment that addresses keep.
const PAGE: u64 = 1 << 12;
/// Bound on the distance of two variables whose addresses are known.
const MOST_SPREAD: u64 = 1 << 36;
/// Bound on the elements of a zero aggregate that are spelled out as a value.
const MOST_ELEMENTS: u64 = 1 << 12;

impl PathMachine<'_> {
    /// Bits of a number of this type; `None` for aggregates.
    pub fn width(&self, unit: UnitId, ty: TypeId) -> Option<u8> {
        match &self.program.unit(unit)?.ty(ty)?.kind {
            TypeKind::Integer(bits) | TypeKind::Float(bits) => u8::try_from(*bits)
                .ok()
                .filter(|&bits| bits <= 128 && bits > 0),
            TypeKind::Pointer => Some(64),
            _ => None,
        }
    }

    /// The types of an aggregate's elements with their offsets.
    pub fn elements(&self, unit: UnitId, ty: TypeId) -> Vec<(TypeId, u64)> {
        let Some(model) = self.program.unit(unit) else {
            return Vec::new();
        };
        match model.ty(ty).map(|ty| &ty.kind) {
            Some(TypeKind::Struct { fields }) => fields
                .iter()
                .map(|field| (field.ty, field.offset))
                .collect(),
            Some(TypeKind::Array { element, count } | TypeKind::Vector { element, count }) => {
                let size = model.ty(*element).map_or(0, |ty| ty.size);
                let count = (*count).min(MOST_ELEMENTS);
                (0..count)
                    .map(|row| (*element, row.saturating_mul(size)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Zero of a type.
    pub fn zero(&mut self, unit: UnitId, ty: TypeId) -> Val {
        match self.width(unit, ty) {
            Some(width) => Scalar::number(&mut self.exprs, 0, width).into(),
            None => {
                let elements = self.elements(unit, ty);
                Val::list(
                    elements
                        .into_iter()
                        .map(|(ty, _)| self.zero(unit, ty))
                        .collect(),
                )
            }
        }
    }

    /// A constant's value.
    pub fn constant(&mut self, unit: UnitId, id: ConstantId) -> Option<Val> {
        self.constant_within(unit, id, DEEPEST)
    }

    fn constant_within(&mut self, unit: UnitId, id: ConstantId, depth: u32) -> Option<Val> {
        let depth = depth.checked_sub(1)?;
        let program = self.program;
        let number = |this: &mut Self, ty, bits| {
            let width = this.width(unit, ty)?;
            Some(Scalar::number(&mut this.exprs, bits, width).into())
        };
        match program.constant(unit, id)? {
            Constant::Integer { ty, bits } | Constant::Float { ty, bits } => {
                number(self, *ty, *bits)
            }
            Constant::Zero(ty) | Constant::Undefined(ty) => Some(self.zero(unit, *ty)),
            Constant::Global(global) => {
                let base = self.global(unit, *global)?;
                Some(Scalar::address(&mut self.exprs, base).into())
            }
            Constant::Function(function) => {
                let address = self.function_address(unit, *function)?;
                Some(Scalar::address(&mut self.exprs, address).into())
            }
            Constant::Offset { base, bytes } => {
                let base = self.constant_within(unit, *base, depth)?.scalar()?;
                let bytes = Scalar::address(&mut self.exprs, *bytes as u64);
                Some(base.binary(&mut self.exprs, Binary::Add, bytes).into())
            }
            Constant::Aggregate { elements, .. } => {
                let items: Option<Vec<Val>> = elements
                    .iter()
                    .map(|&item| self.constant_within(unit, item, depth))
                    .collect();
                Some(Val::list(items?))
            }
            Constant::Bytes { bytes, .. } => {
                let items = bytes
                    .iter()
                    .map(|&byte| Scalar::number(&mut self.exprs, byte.into(), 8).into());
                Some(Val::list(items.collect()))
            }
            Constant::Cast { op, ty, of } => {
                let of = self.constant_within(unit, *of, depth)?.scalar()?;
                let width = self.width(unit, *ty)?;
                Some(
                    match op {
                        CastOp::SExt => of.unary(&mut self.exprs, Unary::SExt, width),
                        _ => of.resized(&mut self.exprs, width),
                    }
                    .into(),
                )
            }
            Constant::Binary { op, a, b, .. } => {
                let a = self.constant_within(unit, *a, depth)?.scalar()?;
                let b = self.constant_within(unit, *b, depth)?.scalar()?;
                let op = integer_op(*op)?;
                Some(a.binary(&mut self.exprs, op, b).into())
            }
            Constant::Block { .. } | Constant::Unknown(_) => None,
        }
    }

    /// Allocates the variables whose addresses their unit knows, at their distances from each other: what is the end
    /// of one is the beginning of the next.
    pub fn lay_out_globals(&mut self) {
        let program = self.program;
        for (unit, model) in program.units() {
            let rows = model.globals.iter().zip(0u32..);
            let is_own = |name: &str, row| {
                let own = Some(Definition::Global(unit, GlobalId(row)));
                program.definition(unit, name) == own
            };
            let mut fixed: Vec<(&Global, u32)> = rows
                .filter(|(global, row)| global.address != 0 && is_own(&global.name, *row))
                .collect();
            fixed.sort_by_key(|(global, _)| global.address);
            let first = fixed.first().map_or(0, |(global, _)| global.address);
            // Each keeps its alignment.
            let origin = self.memory.next_base() + first % PAGE;
            let mut end = first;
            fixed.retain(|(global, _)| {
                let to = global.address.saturating_add(global.size);
                let is_apart = global.address >= end && to - first < MOST_SPREAD;
                end = if is_apart { to } else { end };
                is_apart
            });
            for (global, row) in &fixed {
                let base = origin + (global.address - first);
                let name = shown_name(global).to_owned();
                self.memory
                    .allocate_at(base, name, global.size, Fresh::Zero);
                self.fixed.insert((unit, GlobalId(*row)), base);
            }
            for (_, row) in fixed {
                self.global(unit, GlobalId(row));
            }
        }
    }

    /// The address of a global variable, which is allocated on first use.
    pub fn global(&mut self, unit: UnitId, id: GlobalId) -> Option<u64> {
        if let Some(&base) = self.globals.get(&(unit, id)) {
            return Some(base);
        }
        let program = self.program;
        let global = program.global(unit, id)?;
        let base = match program.definition(unit, &global.name) {
            Some(Definition::Global(home, row))
                if (home, row) != (unit, id) && !global.is_local =>
            {
                self.global(home, row)?
            }
            Some(Definition::Address(home, of)) if global.initial.is_none() => {
                self.constant(home, of)?.scalar()?.bits? as u64
            }
            _ => self.new_global(unit, id, global),
        };
        self.globals.insert((unit, id), base);
        Some(base)
    }

    fn new_global(&mut self, unit: UnitId, id: GlobalId, global: &Global) -> u64 {
        let is_external = global.initial.is_none();
        if is_external && let Some(&base) = self.global_names.get(&global.name) {
            return base;
        }
        let fresh = if is_external {
            Fresh::Unknown
        } else {
            Fresh::Zero
        };
        let base = match self.fixed.get(&(unit, id)) {
            Some(&base) => base,
            None => {
                let name = shown_name(global).to_owned();
                self.memory.allocate(name, global.size, fresh)
            }
        };
        self.globals.insert((unit, id), base);
        self.debug_types.insert(base, (unit, global.debug_type));
        if !is_external && !global.is_thread_local {
            self.variables.insert(base);
        }
        if global.is_constant {
            self.constants.insert(base);
        }
        self.global_names.insert(global.name.clone(), base);
        if let Some(initial) = global.initial {
            self.initialize(unit, global.ty, initial, base);
        }
        base
    }

    fn initialize(&mut self, unit: UnitId, ty: TypeId, initial: ConstantId, base: u64) {
        match self.program.constant(unit, initial) {
            Some(Constant::Zero(_) | Constant::Undefined(_)) | None => {}
            Some(Constant::Aggregate { ty, elements }) => {
                let rows = self.elements(unit, *ty);
                for ((ty, offset), &item) in rows.into_iter().zip(elements) {
                    self.initialize(unit, ty, item, base.saturating_add(offset));
                }
            }
            Some(_) => match self.constant(unit, initial) {
                Some(value) => self.put(unit, ty, &value, base),
                None => {
                    let size = self.size(unit, ty);
                    self.memory.forget(&mut self.exprs, base, size);
                }
            },
        }
    }

    /// Bytes from one element of this type to the next.
    pub fn size(&self, unit: UnitId, ty: TypeId) -> u64 {
        let ty = self.program.unit(unit).and_then(|unit| unit.ty(ty));
        ty.map_or(0, |ty| ty.size)
    }

    /// Bytes that a number of this type takes in memory.
    pub fn stored_size(&self, unit: UnitId, ty: TypeId) -> Option<u8> {
        Some(self.width(unit, ty)?.div_ceil(8))
    }

    /// Writes a value to memory that no thread has seen yet.
    pub fn put(&mut self, unit: UnitId, ty: TypeId, value: &Val, address: u64) {
        for (offset, size, part) in self.flat(unit, ty, value) {
            self.memory
                .write(&mut self.exprs, address.saturating_add(offset), size, part);
        }
    }

    /// The numbers that a value of a type consists of, with offset and size in memory.
    pub fn flat(&mut self, unit: UnitId, ty: TypeId, value: &Val) -> Vec<(u64, u8, Scalar)> {
        if let (Some(size), Val::Scalar(scalar)) = (self.stored_size(unit, ty), value) {
            return vec![(0, size, stored(&mut self.exprs, *scalar, size))];
        }
        let Val::List(items) = value else {
            return Vec::new();
        };
        let mut flat = Vec::new();
        for ((ty, offset), item) in self.elements(unit, ty).into_iter().zip(items.iter()) {
            let inner = self.flat(unit, ty, item);
            flat.extend(
                inner
                    .into_iter()
                    .map(|(at, size, part)| (offset + at, size, part)),
            );
        }
        flat
    }

    /// The address of a function.
    pub fn function_address(&mut self, unit: UnitId, id: FunctionId) -> Option<u64> {
        if let Some(&address) = self.functions.get(&(unit, id)) {
            return Some(address);
        }
        let program = self.program;
        let function = program.function(unit, id)?;
        let address = match self.points.function(program, unit, &function.name) {
            Some(home) if home != (unit, id) => self.function_address(home.0, home.1)?,
            Some(home) => {
                let address = self
                    .memory
                    .allocate(function.display.clone(), 16, Fresh::Unknown);
                self.code_at.insert(address, home);
                address
            }
            None => match program.definition(unit, &function.name) {
                Some(Definition::Address(home, of)) => {
                    self.constant(home, of)?.scalar()?.bits? as u64
                }
                _ => self.library_function(&function.name),
            },
        };
        self.functions.insert((unit, id), address);
        Some(address)
    }

    /// The address of a function that the program does not define.
    pub fn library_function(&mut self, name: &str) -> u64 {
        if let Some(&address) = self.function_names.get(name) {
            return address;
        }
        let address = self.memory.allocate(name.to_owned(), 16, Fresh::Unknown);
        self.function_names.insert(name.to_owned(), address);
        self.library_at.insert(address, name.to_owned());
        address
    }
}

/// The name of a global variable for people.
fn shown_name(global: &Global) -> &str {
    match global.display.as_str() {
        "" => &global.name,
        display => display,
    }
}

/// The operation on integers, if it is one.
pub(super) fn integer_op(op: BinaryOp) -> Option<Binary> {
    Some(match op {
        BinaryOp::Add => Binary::Add,
        BinaryOp::Sub => Binary::Sub,
        BinaryOp::Mul => Binary::Mul,
        BinaryOp::UDiv => Binary::UDiv,
        BinaryOp::SDiv => Binary::SDiv,
        BinaryOp::URem => Binary::URem,
        BinaryOp::SRem => Binary::SRem,
        BinaryOp::Shl => Binary::Shl,
        BinaryOp::LShr => Binary::LShr,
        BinaryOp::AShr => Binary::AShr,
        BinaryOp::And => Binary::And,
        BinaryOp::Or => Binary::Or,
        BinaryOp::Xor => Binary::Xor,
        _ => return None,
    })
}
