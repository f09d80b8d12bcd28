//! The units of one program, and the resolution of names between them.

use super::{
    Constant, ConstantId, Function, FunctionId, Global, GlobalId, Hash, Instruction, PointNumber,
    Unit,
};
use rustc_hash::FxHashMap;

/// A unit of a program: index into [`Program::units`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct UnitId(pub u32);

/// The definition that a linker's name stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Definition {
    /// A function with blocks.
    Function(UnitId, FunctionId),
    /// A global variable with an initial value.
    Global(UnitId, GlobalId),
    /// The address that an alias stands for.
    Address(UnitId, ConstantId),
}

/// The models of all units that a program was linked from, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Program {
    units: Vec<(Hash, Unit)>,
    by_hash: FxHashMap<String, UnitId>,
    /// Names visible to other units, with the first definition of each, which is the one that linkers choose.
    visible: FxHashMap<String, Definition>,
    /// Names visible in their own unit only.
    local: FxHashMap<(UnitId, String), Definition>,
}

impl Program {
    /// The program of these units, in the linker's order. Linear.
    pub fn new(units: Vec<(Hash, Unit)>) -> Program {
        let mut program = Program::default();
        for (row, (hash, unit)) in units.iter().enumerate() {
            let id = UnitId(row as u32);
            program.by_hash.entry(hash.to_string()).or_insert(id);
            program.define_all(id, unit);
        }
        program.units = units;
        program
    }

    fn define_all(&mut self, id: UnitId, unit: &Unit) {
        for (row, function) in unit.functions.iter().enumerate() {
            if !function.blocks.is_empty() {
                let what = Definition::Function(id, FunctionId(row as u32));
                self.define(id, &function.name, function.is_local, what);
            }
        }
        for (row, global) in unit.globals.iter().enumerate() {
            if global.initial.is_some() {
                let what = Definition::Global(id, GlobalId(row as u32));
                self.define(id, &global.name, global.is_local, what);
            }
        }
        for alias in &unit.aliases {
            self.define(id, &alias.name, false, Definition::Address(id, alias.of));
        }
    }

    fn define(&mut self, unit: UnitId, name: &str, is_local: bool, what: Definition) {
        if is_local {
            self.local.insert((unit, name.into()), what);
        } else {
            self.visible.entry(name.into()).or_insert(what);
        }
    }

    /// The units in the linker's order.
    pub fn units(&self) -> impl Iterator<Item = (UnitId, &Unit)> {
        let units = self.units.iter().enumerate();
        units.map(|(row, (_, unit))| (UnitId(row as u32), unit))
    }

    /// Returns whether no unit is known.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The unit.
    pub fn unit(&self, id: UnitId) -> Option<&Unit> {
        self.units.get(id.0 as usize).map(|(_, unit)| unit)
    }

    /// The unit with this name: a [`Hash`] in hexadecimal.
    pub fn by_hash(&self, hash: &str) -> Option<UnitId> {
        self.by_hash.get(hash).copied()
    }

    /// The function.
    pub fn function(&self, unit: UnitId, id: FunctionId) -> Option<&Function> {
        self.unit(unit)?.function(id)
    }

    /// The global variable.
    pub fn global(&self, unit: UnitId, id: GlobalId) -> Option<&Global> {
        self.unit(unit)?.global(id)
    }

    /// The constant.
    pub fn constant(&self, unit: UnitId, id: ConstantId) -> Option<&Constant> {
        self.unit(unit)?.constant(id)
    }

    /// Resolves a linker's name in a unit; `None` if no unit defines it.
    pub fn definition(&self, unit: UnitId, name: &str) -> Option<Definition> {
        let local = self.local.get(&(unit, name.to_owned()));
        local.or_else(|| self.visible.get(name)).copied()
    }

    /// Finds an instruction: its function, its index there, and itself. Logarithmic.
    pub fn at(&self, unit: UnitId, point: PointNumber) -> Option<(FunctionId, u32, &Instruction)> {
        let model = self.unit(unit)?;
        let (id, instruction) = model.at(point)?;
        let first = model.function(id)?.first_point.0;
        Some((id, point.0.checked_sub(first)?, instruction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Block;

    fn function(name: &str, is_local: bool, is_defined: bool) -> Function {
        Function {
            name: name.into(),
            is_local,
            blocks: if is_defined {
                vec![Block::default()]
            } else {
                Vec::new()
            },
            ..Function::default()
        }
    }

    fn unit(functions: Vec<Function>) -> Unit {
        Unit {
            functions,
            ..Unit::default()
        }
    }

    #[test]
    fn a_name_means_the_units_own_then_the_first_that_is_seen() {
        let a = unit(vec![function("f", false, false), function("g", true, true)]);
        let b = unit(vec![function("f", false, true), function("g", false, true)]);
        let c = unit(vec![function("f", false, true)]);
        let units = [a, b, c].into_iter().enumerate();
        let program = Program::new(units.map(|(n, unit)| (Hash([n as u8; 32]), unit)).collect());
        let of = |unit, row| Some(Definition::Function(UnitId(unit), FunctionId(row)));
        assert_eq!(program.definition(UnitId(0), "f"), of(1, 0));
        assert_eq!(program.definition(UnitId(0), "g"), of(0, 1));
        assert_eq!(program.definition(UnitId(2), "g"), of(1, 1));
        assert_eq!(program.definition(UnitId(2), "h"), None);
        assert_eq!(program.by_hash(&"02".repeat(32)), Some(UnitId(2)));
    }
}
