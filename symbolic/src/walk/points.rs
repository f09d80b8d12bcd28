//! Positions in the program model of the instructions of a run's events.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use unsnarl_trace::{
    IndexVec, PointId, RunMeta,
    program::{Definition, FunctionId, Program, UnitId},
};

/// An instruction: unit, function, index into the function's instructions.
pub(super) type Spot = (UnitId, FunctionId, u32);

/// The instructions of a run's points.
#[derive(Clone, Debug, Default)]
pub(super) struct PointInstructions {
    spots: IndexVec<PointId, Option<Spot>>,
    /// Functions that occur in the run, by mangled name: of several definitions the linker kept these.
    kept: FxHashMap<String, (UnitId, FunctionId)>,
    /// Source names of the same functions.
    named: FxHashSet<String>,
}

/// Removes blanks from a C++ name, since tools set them differently.
fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect()
}

impl PointInstructions {
    /// Looks all points up.
    pub fn new(meta: &RunMeta, program: &Program) -> PointInstructions {
        let spot = |point| {
            let (unit, number) = meta.point(point)?;
            let unit = program.by_hash(unit)?;
            let (function, at, _) = program.at(unit, number)?;
            Some((unit, function, at))
        };
        let spots: IndexVec<PointId, Option<Spot>> = meta.points.ids().map(spot).collect();
        let mut kept = FxHashMap::default();
        let mut named = FxHashSet::default();
        for &(unit, id, _) in spots.iter().flatten() {
            let function = program.function(unit, id);
            named.extend(function.map(|function| without_blanks(&function.display)));
            if let Some(function) = function.filter(|it| !it.is_local) {
                kept.insert(function.name.clone(), (unit, id));
            }
        }
        PointInstructions { spots, kept, named }
    }

    /// The function that a mangled name means in a unit, if the program has it.
    pub fn function(
        &self,
        program: &Program,
        unit: UnitId,
        name: &str,
    ) -> Option<(UnitId, FunctionId)> {
        match program.definition(unit, name) {
            Some(Definition::Function(unit, id)) => {
                let is_local = program.function(unit, id).is_some_and(|it| it.is_local);
                let kept = self.kept.get(name).filter(|_| !is_local);
                Some(kept.copied().unwrap_or((unit, id)))
            }
            _ => None,
        }
    }

    /// `true` if a point lies in a function of this name.
    pub fn has_function_named(&self, name: &str) -> bool {
        self.named.contains(&without_blanks(name))
    }

    /// The functions that the points are in, each once, in ascending order.
    pub fn functions(&self) -> BTreeSet<(UnitId, FunctionId)> {
        let spots = self.spots.iter().flatten();
        spots.map(|&(unit, function, _)| (unit, function)).collect()
    }

    /// The instruction of a point.
    pub fn get(&self, point: PointId) -> Option<Spot> {
        match point {
            PointId(0) => None,
            point => self.spots[point],
        }
    }

    /// `true` if no point is known.
    pub fn are_unknown(&self) -> bool {
        self.spots.iter().all(Option::is_none)
    }
}
