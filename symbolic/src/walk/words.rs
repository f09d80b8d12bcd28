//! Records the threads' paths in the source's words, beside the steps: assignments to private variables,
//! branches, and control dependences.

use super::{
    access::By,
    machine::PathMachine,
    thread::{Activity, TakenBranch},
    value::Scalar,
};
use crate::{
    expr::{Comparison, ExprId},
    path::{Local, LocalId, PathAction, PathNode, PrivateVariable, SourcePlace},
    trace::{NamedValues, StepId, ValueNames},
};
use rustc_hash::FxHashMap;
use std::{path::Path, rc::Rc};
use unsnarl_trace::{
    LocationId, Run, SiteId, ThreadId,
    meta::is_system,
    program::{
        DebugKind, DebugTypeId, Function, FunctionId, Op, Operand, PlaceId, Unit, UnitId, ValueId,
        flow::ControlFlow,
    },
};

/// Bound on the assignments that are kept; later ones are folded into their uses, and a gap says so.
const MOST: usize = 1 << 20;

/// Path data of all threads.
#[derive(Clone, Debug, Default)]
pub(super) struct PathWords {
    pub locals: Vec<Local>,
    pub variables: Vec<PrivateVariable>,
    pub places: Vec<SourcePlace>,
    pub value_names: ValueNames,
    known_variables: FxHashMap<(u64, u8, ThreadId), u32>,
    known_places: FxHashMap<PlaceKey, u32>,
    flows: FxHashMap<(UnitId, FunctionId), Rc<ControlFlow>>,
    /// The run's names of files by their last part; `None` for parts that several have.
    files: FxHashMap<String, Option<String>>,
}

/// Origin of a source place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum PlaceKey {
    Model(UnitId, PlaceId),
    Site(SiteId),
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl PathWords {
    pub fn new(run: &Run) -> PathWords {
        let mut files: FxHashMap<String, Option<String>> = FxHashMap::default();
        for site in &run.meta.sites {
            let known = files.entry(last_part(&site.file).to_owned());
            let known = known.or_insert_with(|| Some(site.file.clone()));
            if known.as_ref().is_some_and(|known| *known != site.file) {
                *known = None;
            }
        }
        PathWords {
            places: vec![SourcePlace::default()],
            files,
            ..PathWords::default()
        }
    }

    fn place(&mut self, key: PlaceKey, make: impl FnOnce(&PathWords) -> SourcePlace) -> u32 {
        if let Some(&known) = self.known_places.get(&key) {
            return known;
        }
        let made = make(self);
        let row = self.places.iter().position(|place| *place == made);
        let row = row.unwrap_or_else(|| {
            self.places.push(made);
            self.places.len().saturating_sub(1)
        });
        let row = u32::try_from(row).unwrap_or(0);
        self.known_places.insert(key, row);
        row
    }

    fn variable(&mut self, made: PrivateVariable) -> u32 {
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        let key = (made.address, made.size, made.thread);
        let row = *self.known_variables.entry(key).or_insert(next);
        if row == next {
            self.variables.push(made);
        }
        row
    }
}

impl PathMachine<'_> {
    /// The branch that the thread's position is control dependent on.
    pub fn guard(&mut self, id: ThreadId) -> Option<u32> {
        self.words.as_ref()?;
        let frame = self.frame(id)?;
        let (unit, function, block) = (frame.unit, frame.function, frame.block);
        let flow = self.flow(unit, function)?;
        let frame = self.frame(id)?;
        let taken = flow
            .deciders(block)
            .iter()
            .filter_map(|decider| frame.branches.get(decider).copied());
        taken.max().or(frame.guard)
    }

    fn flow(&mut self, unit: UnitId, function: FunctionId) -> Option<Rc<ControlFlow>> {
        let code = self.program.function(unit, function)?;
        let flows = &mut self.words.as_mut()?.flows;
        let flow = flows.entry((unit, function));
        Some(Rc::clone(flow.or_insert_with(|| {
            Rc::new(ControlFlow::of_what_returns(code))
        })))
    }

    /// The thread's position in the program's own sources, as a row of places: of library code the line that calls
    /// it. Instructions that set up a function's parameters have no place of their own and get that of the function.
    fn said_place(&mut self, id: ThreadId, site: SiteId) -> u32 {
        let stack = self.thread(id).map_or(&[][..], |thread| &thread.stack);
        let at = match stack.last() {
            Some(Activity::Code(_)) => self.own_place(stack),
            _ => None,
        };
        let (run, program) = (self.run, self.program);
        let Some(words) = &mut self.words else {
            return 0;
        };
        let of_site = |_: &PathWords| {
            let row = run.meta.site(site);
            SourcePlace {
                file: row.file.clone(),
                line: row.line,
                column: row.column,
                function: row.function.clone(),
            }
        };
        let found = at.and_then(|(unit, at)| Some((unit, at, program.unit(unit)?)));
        match found {
            Some((unit, at, model)) => words.place(PlaceKey::Model(unit, at), |words| {
                of_model(words, model, at)
            }),
            None => words.place(PlaceKey::Site(site), of_site),
        }
    }

    /// The innermost place in the program's own sources of a stack, or else its innermost place.
    fn own_place(&self, stack: &[Activity]) -> Option<(UnitId, PlaceId)> {
        let mut innermost = None;
        for activity in stack.iter().rev() {
            let Activity::Code(frame) = activity else {
                continue;
            };
            let model = self.program.unit(frame.unit)?;
            let function = model.function(frame.function)?;
            let at = function.instructions.get(frame.at as usize)?.place;
            let mut at = match model.place(at).line {
                0 => function.place,
                _ => at,
            };
            while model.place(at).line > 0 {
                innermost.get_or_insert((frame.unit, at));
                let place = model.place(at);
                if !is_system(model.file(place)) {
                    return Some((frame.unit, at));
                }
                at = place.inlined_at;
            }
        }
        innermost
    }

    fn push(&mut self, id: ThreadId, site: SiteId, what: PathAction) -> Option<u32> {
        self.words.as_ref()?;
        let place = self.said_place(id, site);
        let guard = self.guard(id);
        let path = &mut self.thread_mut(id)?.path;
        path.push(PathNode { what, place, guard });
        u32::try_from(path.len() - 1).ok()
    }

    /// Appends a step to the thread's path.
    pub fn says_step(&mut self, id: ThreadId, index: u32) {
        let site = self.thread(id).and_then(|thread| thread.steps.last());
        let site = site.map_or(SiteId(0), |step| step.site);
        self.push(id, site, PathAction::Step { index, said: None });
    }

    /// Sets the value or condition of the last step, over variables.
    pub fn says(&mut self, id: ThreadId, what: ExprId) {
        let last = self
            .thread_mut(id)
            .and_then(|thread| thread.path.last_mut());
        if let Some(PathNode {
            what: PathAction::Step { said, .. },
            ..
        }) = last
        {
            *said = Some(what);
        }
    }

    /// Removes the last step from the path.
    pub fn unsays(&mut self, step: StepId) {
        let path = self.thread_mut(step.thread).map(|thread| &mut thread.path);
        if let Some(path) = path {
            let is_it = |node: &PathNode| matches!(node.what, PathAction::Step { index, .. } if index == step.index);
            path.retain(|node| !is_it(node));
        }
    }

    /// Appends a branch to the thread's path.
    pub fn says_branch(&mut self, id: ThreadId, decision: &TakenBranch) {
        if self.words.is_none() {
            return;
        }
        let last = self.thread(id).map_or(0, |thread| thread.path.len());
        let row = match decision.step {
            Some(_) => u32::try_from(last.saturating_sub(1)).ok(),
            // A condition of the code itself decides nothing.
            None if self.exprs.constant(decision.said).is_some() => None,
            None => self.push(id, SiteId(0), PathAction::Branch(decision.said)),
        };
        let Some((row, frame)) = row.zip(self.frame_mut(id)) else {
            return;
        };
        // Several conditions of one switch: all of them decided.
        let before = frame.branches.insert(frame.block, row);
        let is_same_switch = before.is_some() && before == row.checked_sub(1);
        if let (Some(before), true) = (before, is_same_switch)
            && let Some(node) = self
                .thread_mut(id)
                .and_then(|thread| thread.path.get_mut(row as usize))
        {
            node.guard = Some(before);
        }
    }

    /// The condition over variables that a value is the recorded one; `holds` is the condition over values
    /// read.
    pub fn said_to_be(&mut self, value: Scalar, holds: ExprId) -> Option<ExprId> {
        if value.said == value.expr {
            return Some(holds);
        }
        let width = self.exprs.width(value.said);
        let number = self.exprs.number(value.bits?, width);
        Some(self.exprs.compare(Comparison::Eq, value.said, number))
    }

    /// Records a write to private memory: if it assigns a variable of the source, the value is named by a new
    /// unknown.
    pub fn says_assignment(&mut self, by: By, (address, size): (u64, u8), value: Scalar) -> Scalar {
        if self.words.is_none() {
            return value;
        }
        let Some(name) = self.variable_name(by, address, size) else {
            return value;
        };
        let width = self.exprs.width(value.said);
        let names = self.value_names(address, size);
        let Some(words) = &mut self.words else {
            return value;
        };
        if words.locals.len() >= MOST {
            self.gap(format!("variables are told apart for {MOST} assignments; what later ones hold is told by what it was made from"));
            return value;
        }
        let variable = words.variable(PrivateVariable {
            name,
            thread: by.thread,
            address,
            size,
        });
        words
            .value_names
            .variables
            .extend(names.map(|names| (variable, names)));
        let local = LocalId(u32::try_from(words.locals.len()).unwrap_or(u32::MAX));
        words.locals.push(Local {
            variable,
            width,
            recorded: value.bits,
        });
        let what = PathAction::Assign {
            local,
            value: value.said,
        };
        self.push(by.thread, by.site, what);
        let said = self.exprs.symbol(local.symbol(), width);
        Scalar { said, ..value }
    }

    /// `true` if an unnamed object of the thread's stack holds the result of its function.
    fn is_result(&self, id: ThreadId, object: &str) -> bool {
        let number = object.rsplit('.').next().and_then(|end| end.parse().ok());
        let place = self.code(id).and_then(|(_, function)| {
            let is_own = object.contains(&format!(":{}.", function.display));
            place_of_result(function).filter(|_| is_own)
        });
        number.is_some() && place == number.map(ValueId)
    }

    /// The names that the source has for values at an address.
    pub(super) fn value_names(&self, address: u64, size: u8) -> Option<NamedValues> {
        let object = self.memory.object(address)?;
        let &(unit, ty) = self.debug_types.get(&object.base)?;
        let model = self.program.unit(unit)?;
        let (_, ty, offset) = member_at(model, ty, address - object.base, size.into());
        let is_whole = offset == 0 && model.debug_type(ty)?.size == u64::from(size);
        names_of(model, ty).filter(|_| is_whole)
    }

    /// The source's name for a variable at an address; `None` for compiler-generated objects.
    fn variable_name(&self, by: By, address: u64, size: u8) -> Option<String> {
        if by.location != LocationId(0) {
            // Optimized code keeps values in places of a frame that no variable has: they are told by what they were made from.
            let is_slot = self.run.location_parts(by.location).is_slot();
            return (!is_slot).then(|| self.source_name(by.thread, address, by.location));
        }
        let object = self.memory.object(address)?;
        let Some(&(unit, ty)) = self.debug_types.get(&object.base) else {
            return self.is_result(by.thread, &object.name).then(|| {
                let function = self.code(by.thread).map(|(_, function)| &function.display);
                format!("result of {}", function.map_or("?", String::as_str))
            });
        };
        let name = self.source_name(by.thread, object.base, LocationId(0));
        let model = self.program.unit(unit)?;
        let path = member_path(model, ty, address - object.base, size.into());
        Some(format!("{name}{path}"))
    }
}

/// The value that holds the address of a function's result, where it has a slot: clang keeps one for
/// functions that return in several places.
fn place_of_result(function: &Function) -> Option<ValueId> {
    let made_by = |value: ValueId| {
        let made = function.instructions.iter();
        made.clone().find(|one| one.result == Some(value))
    };
    function.instructions.iter().find_map(|one| match &one.op {
        Op::Return(Some(Operand::Value(value))) => match &made_by(*value)?.op {
            Op::Load {
                address: Operand::Value(address),
                ..
            } => Some(*address),
            _ => None,
        },
        _ => None,
    })
}

fn of_model(words: &PathWords, model: &Unit, at: PlaceId) -> SourcePlace {
    let place = model.place(at);
    let file = model.file(place);
    let known = words.files.get(last_part(file)).cloned().flatten();
    SourcePlace {
        file: known.unwrap_or_else(|| file.to_owned()),
        line: place.line,
        column: place.column,
        function: model.function_name(place).to_owned(),
    }
}

/// `.field[2]` for bytes of a type; `+4` where no member has them.
fn member_path(unit: &Unit, ty: DebugTypeId, offset: u64, size: u64) -> String {
    let (path, _, offset) = member_at(unit, ty, offset, size);
    match offset {
        0 => path,
        _ => format!("{path}+{offset}"),
    }
}

/// The path to the innermost member that holds bytes of a type, with its type and the offset in it.
fn member_at(unit: &Unit, ty: DebugTypeId, offset: u64, size: u64) -> (String, DebugTypeId, u64) {
    let (mut ty, mut offset, mut path) = (ty, offset, String::new());
    while let Some(row) = unit.debug_type(ty) {
        match &row.kind {
            DebugKind::Alias(of) => ty = *of,
            DebugKind::Struct(members) => {
                let end = |at: u64, ty| at / 8 + unit.debug_type(ty).map_or(0, |row| row.size);
                let found = members.iter().find(|member| {
                    member.offset_bits / 8 <= offset
                        && offset + size <= end(member.offset_bits, member.ty)
                });
                let Some(member) = found else { break };
                if !member.name.is_empty() {
                    path = format!("{path}.{}", member.name);
                }
                (ty, offset) = (member.ty, offset - member.offset_bits / 8);
            }
            DebugKind::Array(element, counts) if counts.len() <= 1 => {
                let each = unit.debug_type(*element).map_or(0, |row| row.size);
                let Some(index) = offset.checked_div(each).filter(|_| size <= each) else {
                    break;
                };
                path = format!("{path}[{index}]");
                (ty, offset) = (*element, offset % each);
            }
            _ => break,
        }
    }
    (path, ty, offset)
}

fn is_c(unit: &Unit) -> bool {
    Path::new(&unit.source).extension() == Some("c".as_ref())
}

/// The names that the source has for values of a type.
fn names_of(unit: &Unit, ty: DebugTypeId) -> Option<NamedValues> {
    let row = unit.debug_type(ty)?;
    let bits = u32::try_from(row.size.checked_mul(8)?).ok()?;
    let mask = u128::MAX.checked_shr(128u32.checked_sub(bits)?)?;
    let named = |bits: u128, name: &str| (bits, name.to_owned());
    let names = match &row.kind {
        DebugKind::Enum(all) => {
            let all = all.iter();
            all.map(|one| named(one.value as u128 & mask, &one.name))
                .collect()
        }
        DebugKind::Boolean => vec![named(0, "false"), named(1, "true")],
        DebugKind::Pointer(_) if is_c(unit) => vec![named(0, "NULL")],
        DebugKind::Pointer(_) => vec![named(0, "nullptr")],
        _ => return None,
    };
    Some(names.into())
}
