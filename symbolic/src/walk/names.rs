//! Resolution of the run's location names to synthetic addresses and back.

use super::{machine::PathMachine, memory::Fresh};
use unsnarl_trace::{
    Location, LocationId, ThreadId,
    program::{DebugKind, DebugTypeId, UnitId},
};

/// Size given to an object of which only the name is known.
const SOMETHING: u64 = 1 << 12;

impl PathMachine<'_> {
    /// The run's name of a location, or object and offset.
    pub fn location_name(&self, address: u64, location: Option<LocationId>) -> String {
        let name = location.map_or("", |location| self.run.location(location));
        if !name.is_empty() {
            return name.to_owned();
        }
        match self.memory.object(address) {
            Some(object) if object.base == address => object.name.clone(),
            Some(object) => format!("{}+{}", object.name, address - object.base),
            None => format!("address {address:#x}"),
        }
    }

    /// The source's name of an address as far as it is known; variables of functions lose their thread and
    /// function.
    pub fn source_name(&self, _thread: ThreadId, address: u64, location: LocationId) -> String {
        let name = self.location_name(address, Some(location));
        Location::variable(&name).to_owned()
    }

    /// The address of a location: that of an earlier access, or the one that its name stands for.
    pub fn resolve(&mut self, location: LocationId) -> Option<u64> {
        if location == LocationId(0) {
            return None;
        }
        if let Some(&address) = self.places.get(&location) {
            return Some(address);
        }
        let name = self.run.location(location).to_owned();
        let address = self.resolve_name(&name)?;
        self.places.insert(location, address);
        Some(address)
    }

    fn resolve_name(&mut self, name: &str) -> Option<u64> {
        if name.is_empty() {
            return None;
        }
        let name = name
            .strip_prefix('{')
            .and_then(|rest| {
                let (inner, offset) = rest.rsplit_once('}')?;
                Some(format!("{inner}{offset}"))
            })
            .unwrap_or_else(|| name.to_owned());
        if let Some(address) = self.known_name(&name) {
            return Some(address);
        }
        self.make_global(&name);
        if let Some(address) = self.known_name(&name) {
            return Some(address);
        }
        if let Some(address) = self.function_named(&name) {
            return Some(address);
        }
        // A library object: one object per name, with room behind it.
        let (base, offset) = split_offset(&name);
        let base = match self.memory.named(base) {
            Some(object) => object.base,
            None => self
                .memory
                .allocate(base.to_owned(), SOMETHING, Fresh::Unknown),
        };
        base.checked_add_signed(offset)
    }

    /// Resolves a name by its longest prefix that is an object's name and the path after it.
    pub fn known_name(&self, name: &str) -> Option<u64> {
        let ends = name
            .char_indices()
            .filter(|(_, c)| matches!(c, '.' | '[' | '+' | '-'))
            .map(|(at, _)| at);
        let ends: Vec<usize> = ends.chain([name.len()]).collect();
        ends.into_iter().rev().find_map(|end| {
            let object = self.memory.named(name.get(..end)?)?;
            let offset = self.path_offset(object.base, name.get(end..)?)?;
            object.base.checked_add_signed(offset)
        })
    }

    /// Offset in bytes of a path such as `.total[3]+4` in a variable.
    fn path_offset(&self, base: u64, path: &str) -> Option<i64> {
        if let (0, offset) = (path.len(), 0) {
            return Some(offset);
        }
        if path.starts_with(['+', '-']) {
            return path.trim_start_matches('+').parse().ok();
        }
        let (unit, ty) = *self.debug_types.get(&base)?;
        self.walk_path(unit, ty, path)
    }

    fn walk_path(&self, unit: UnitId, mut ty: DebugTypeId, path: &str) -> Option<i64> {
        let model = self.program.unit(unit)?;
        let mut offset = 0i64;
        let mut rest = path;
        while !rest.is_empty() {
            let kind = loop {
                match &model.debug_type(ty)?.kind {
                    DebugKind::Alias(of) => ty = *of,
                    kind => break kind,
                }
            };
            if let Some(behind) = rest.strip_prefix('.') {
                let end = behind.find(['.', '[', '+', '-']).unwrap_or(behind.len());
                let (name, behind) = behind.split_at_checked(end)?;
                let (at, member) = find_member(model, kind, name, 8)?;
                offset += i64::try_from(at / 8).ok()?;
                (ty, rest) = (member, behind);
            } else if let Some(behind) = rest.strip_prefix('[') {
                let (index, behind) = behind.split_once(']')?;
                let index: i64 = index.parse().ok()?;
                let DebugKind::Array(element, counts) = kind else {
                    return None;
                };
                // Of several dimensions the first index steps over the rest; the others follow as a path.
                let size = i64::try_from(model.debug_type(*element)?.size).ok()?;
                let mut indices = vec![index];
                let mut left = behind;
                while indices.len() < counts.len() {
                    let (index, behind) = left.strip_prefix('[')?.split_once(']')?;
                    indices.push(index.parse().ok()?);
                    left = behind;
                }
                let flat = indices
                    .iter()
                    .zip(counts)
                    .fold(0i64, |sum, (&index, &count)| {
                        sum.saturating_mul(count as i64).saturating_add(index)
                    });
                offset = offset.checked_add(flat.checked_mul(size)?)?;
                (ty, rest) = (*element, left);
            } else {
                let bytes: i64 = rest.trim_start_matches('+').parse().ok()?;
                return offset.checked_add(bytes);
            }
        }
        Some(offset)
    }

    /// Allocates the global variable that a name begins with, if the program has it.
    fn make_global(&mut self, name: &str) {
        let program = self.program;
        for (unit, model) in program.units() {
            let found = model.globals.iter().position(|global| {
                let shown = if global.display.is_empty() {
                    &global.name
                } else {
                    &global.display
                };
                !shown.is_empty()
                    && name
                        .strip_prefix(shown.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '+']))
            });
            if let Some(row) = found {
                self.global(unit, unsnarl_trace::program::GlobalId(row as u32));
            }
        }
    }

    pub fn function_named(&mut self, name: &str) -> Option<u64> {
        let program = self.program;
        let (unit, row) = program.units().find_map(|(unit, model)| {
            let row = model
                .functions
                .iter()
                .position(|function| function.display == name && !function.blocks.is_empty())?;
            Some((unit, row))
        })?;
        self.function_address(unit, unsnarl_trace::program::FunctionId(row as u32))
    }
}

/// Splits `name+12` into name and offset.
fn split_offset(name: &str) -> (&str, i64) {
    let split = name
        .rfind(['+', '-'])
        .and_then(|at| name.split_at_checked(at));
    let split =
        split.and_then(|(base, offset)| Some((base, offset.trim_start_matches('+').parse().ok()?)));
    split.unwrap_or((name, 0))
}

/// The function of a variable on a stack: `worker` of `main.1:worker.buf[3]`.
pub(super) fn function_of_variable(name: &str) -> Option<&str> {
    match Location::of(name) {
        Location::Stack { function, .. } => Some(function).filter(|function| !function.is_empty()),
        _ => None,
    }
}

/// The member of this name, also in base classes and anonymous structures: its bit offset and type.
fn find_member(
    unit: &unsnarl_trace::program::Unit,
    kind: &DebugKind,
    name: &str,
    depth: u32,
) -> Option<(u64, DebugTypeId)> {
    let depth = depth.checked_sub(1)?;
    let DebugKind::Struct(members) = kind else {
        return None;
    };
    if let Some(member) = members.iter().find(|member| member.name == name) {
        return Some((member.offset_bits, member.ty));
    }
    let unnamed = members.iter().filter(|member| member.name.is_empty());
    for member in unnamed {
        let inner = unit.debug_type(member.ty).map(|ty| &ty.kind)?;
        if let Some((at, ty)) = find_member(unit, inner, name, depth) {
            return Some((member.offset_bits + at, ty));
        }
    }
    None
}
