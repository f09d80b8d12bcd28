//! Points: the instruction of the program model at an address, by the discriminators that [`crate::wrapper::model`]
//! put into the line table, or as [`super::lift`] has lifted it.

use super::{dwarf::DwarfReader, lift::LiftedModel, walk::LogWalk};
use crate::wrapper::model::FLAG;
use gimli::Reader as _;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use unsnarl_trace::{IndexVec, PointId, PointRow, UnitNameId, program::PointNumber};

/// An instruction: the name of its unit, its number in it.
pub(super) type InstructionId = (Arc<str>, PointNumber);

/// Start addresses of the instructions in a file's modelled units.
#[derive(Default)]
pub(super) struct Points {
    units: Vec<Arc<str>>,
    /// Sorted by address.
    rows: Vec<PointStart>,
}

struct PointStart {
    address: u64,
    /// Row of `units`; `None` behind the end of a unit's code.
    unit: Option<usize>,
    number: u32,
}

impl Points {
    /// Those of a lifted model.
    pub fn lifted(model: &LiftedModel) -> Points {
        let row = |&(address, number): &(u64, u32)| PointStart {
            address,
            unit: (number != 0).then_some(0),
            number,
        };
        Points {
            units: vec![model.name.clone()],
            rows: model.points.iter().map(row).collect(),
        }
    }

    /// Reads the line tables of the units that have a model. Linear in these, and n log n.
    pub fn read(dwarf: &gimli::Dwarf<DwarfReader>) -> Points {
        let mut points = Points::default();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            if let Some(name) = model_of(dwarf, &unit) {
                // What is broken has no points.
                let _ = points.unit(&unit, &name);
            }
        }
        // Where one unit's code ends, another's may begin.
        points
            .rows
            .sort_by_key(|row| (row.address, row.unit.is_some()));
        points
    }

    fn unit(&mut self, unit: &gimli::Unit<DwarfReader>, name: &str) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else {
            return Ok(());
        };
        let index = self.units.len();
        self.units.push(name.into());
        let mut rows = program.rows();
        let mut sequence = Vec::new();
        while let Some((_, row)) = rows.next_row()? {
            let is_end = row.end_sequence();
            sequence.push(PointStart {
                address: row.address(),
                unit: (!is_end).then_some(index),
                number: u32::try_from(row.discriminator()).unwrap_or(0),
            });
            if is_end {
                let is_there = sequence.first().is_some_and(|first| is_code(first.address));
                self.rows.extend(sequence.drain(..).filter(|_| is_there));
            }
        }
        Ok(())
    }

    /// The first instruction that begins in a range of the file's own addresses.
    pub fn first_in(&self, from: u64, to: u64) -> Option<InstructionId> {
        let after = self.rows.partition_point(|row| row.address < from);
        let rows = self.rows.get(after..)?.iter();
        let mut inside = rows.take_while(|row| row.address < to);
        self.at(inside
            .find(|row| row.number != 0 && row.unit.is_some())?
            .address)
    }

    /// The instruction whose machine code holds an address of the file's own.
    pub fn at(&self, address: u64) -> Option<InstructionId> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(after.checked_sub(1)?)?;
        let unit = self.units.get(row.unit?)?;
        (row.number != 0).then(|| (unit.clone(), PointNumber(row.number)))
    }
}

/// Returns whether the address is that of code: linkers give code that they left out the address 0 or an impossible
/// one.
fn is_code(address: u64) -> bool {
    address != 0 && address < u64::MAX / 2
}

/// The name of a unit's model. It stands behind the producer, where compilers for other systems than Apple's put a
/// unit's flags.
fn model_of(dwarf: &gimli::Dwarf<DwarfReader>, unit: &gimli::Unit<DwarfReader>) -> Option<String> {
    let root = unit.entry(unit.header.root_offset()).ok()?;
    let texts = [gimli::DW_AT_producer, gimli::DW_AT_APPLE_flags];
    texts.into_iter().find_map(|name| {
        let text = dwarf.attr_string(unit, root.attr_value(name)?).ok()?;
        let text = text.to_string_lossy().ok()?;
        let (_, name) = text.split_once(FLAG)?;
        name.split_whitespace().next().map(str::to_owned)
    })
}

/// The point tables of one run: equal instructions are one point. Row 0 is "not known".
#[derive(Default)]
pub(super) struct PointTable {
    pub units: IndexVec<UnitNameId, String>,
    pub rows: IndexVec<PointId, PointRow>,
    known_units: FxHashMap<Arc<str>, UnitNameId>,
    ids: FxHashMap<PointRow, PointId>,
    /// Known points by return address.
    found: FxHashMap<u64, PointId>,
}

impl PointTable {
    fn id(&mut self, (unit, number): InstructionId) -> PointId {
        let known = self.known_units.entry(unit);
        let unit = *known.or_insert_with_key(|name| self.units.push(name.to_string()));
        let row = PointRow(unit, number);
        if self.rows.is_empty() {
            self.rows.push(PointRow::default());
        }
        let rows = &mut self.rows;
        *self.ids.entry(row).or_insert_with(|| rows.push(row))
    }
}

impl LogWalk<'_> {
    /// The first instruction of the function that begins at `start`; code that sets up its frame does not count.
    pub fn first_point(&mut self, start: u64) -> PointId {
        let Some(at) = self.memory.modules.locate(start) else {
            return PointId(0);
        };
        let size = at
            .image
            .code_symbol(at.address)
            .map_or(0, |(symbol, _)| symbol.size);
        self.first_point_until(start, at.address.saturating_add(size))
    }

    /// The first instruction that begins between `start` and an address of its file, `end`. Code that only moves values into
    /// their places has none of its own: its place in the line table is that of the code before it in memory, which may be
    /// of another way through the program.
    pub fn first_point_until(&mut self, start: u64, end: u64) -> PointId {
        let at = self.memory.modules.locate(start);
        let found = at.and_then(|at| at.image.points().first_in(at.address, end));
        found.map_or(PointId(0), |instruction| self.points.id(instruction))
    }

    /// The instruction of the call before `pc`; 0 without a model.
    pub fn point(&mut self, pc: u64) -> PointId {
        if let Some(known) = self.points.found.get(&pc) {
            return *known;
        }
        let at = self.memory.modules.locate(pc.wrapping_sub(1));
        let found = at.and_then(|at| at.image.points().at(at.address));
        let id = found.map_or(PointId(0), |instruction| self.points.id(instruction));
        self.points.found.insert(pc, id);
        id
    }
}
