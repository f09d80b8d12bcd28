//! The program model of machine code: what the compiler wrapper keeps of clang's text, for files of which it kept
//! nothing, as those of gcc.
//!
//! A function is decoded into blocks ([`decode`]); the stack pointer is known at each instruction ([`stack`]), so the
//! frame falls into the variables that the debug info places there ([`frame`]). Registers become values ([`body`]),
//! flags the comparisons that branches ask for ([`flags`]), calls take what the prototypes say ([`abi`]). Addresses of
//! data are those of the file's objects ([`data`]). Nothing is guessed: an instruction that is not understood is an
//! unknown one, which ends what can be followed, and a function that cannot be lifted as a whole is only declared.
//!
//! Only functions with the instrumentation's callbacks are lifted: the model is followed by their events.

mod abi;
mod abis;
mod arithmetic;
mod body;
mod calls;
mod data;
mod debug;
mod debug_types;
mod decode;
mod file;
mod flags;
mod frame;
mod function;
mod layout;
mod lines;
mod stack;
#[cfg(test)]
mod tests;
mod thread_data;
mod translate;
mod unit;
mod vectors;

pub(super) use file::LoadedFile;

use super::{
    dwarf::{DwarfReader, Units},
    image::Image,
};
use abi::{Abi, Passed};
use abis::Abis;
use body::{LiftedBody, Node};
use data::DataRows;
use debug::{DebugFacts, DefinedFunction};
use debug_types::DwarfTypeRows;
use decode::MachineCode;
use flags::Flags;
use frame::FrameObjects;
use function::Lifting;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Register};
use layout::Layout;
use rustc_hash::FxHashSet;
use stack::{StackState, stack_states};
use std::sync::Arc;
use unit::{UnitTables, row};
use unsnarl_trace::program::{
    Constant, Function, FunctionId, Global, Op, Operand, PointNumber, TypeId, Unit, Variable,
    encode, hash,
};

/// Bound on the size of the table of constructors in bytes.
const MOST_CONSTRUCTORS: u64 = 1 << 16;
/// Bound on the size of all code that is lifted in bytes.
const MOST_CODE: u64 = 1 << 26;

/// The model of a file.
pub(super) struct LiftedModel {
    /// The unit's bytes.
    pub bytes: Arc<[u8]>,
    /// The unit's name.
    pub name: Arc<str>,
    /// Start addresses of machine instructions with the points of what they do, by address; 0 where the model has
    /// nothing.
    pub points: Vec<(u64, u32)>,
}

/// Lifts a file; `None` if it has no functions with callbacks.
pub(super) fn lift(
    dwarf: Arc<gimli::Dwarf<DwarfReader>>,
    file: &LoadedFile,
    image: &Image,
) -> Option<LiftedModel> {
    let (unit, points) = lift_unit(dwarf, file, image)?;
    let bytes = encode(&unit).ok()?;
    let name = hash(&bytes)?.to_string();
    Some(LiftedModel {
        bytes: bytes.into(),
        name: name.into(),
        points,
    })
}

/// The unit, and the points by address.
fn lift_unit(
    dwarf: Arc<gimli::Dwarf<DwarfReader>>,
    file: &LoadedFile,
    image: &Image,
) -> Option<(Unit, Vec<(u64, u32)>)> {
    let units = Units::read(dwarf);
    let mut tables = UnitTables::default();
    let mut types = DwarfTypeRows::begin(&mut tables.unit);
    let facts = DebugFacts::read(&units, &mut types, &mut tables.unit);
    tables.begin(facts.source.clone());
    let mut abis = Abis::new(&facts, &types, &tables.unit);
    let functions = defined(&facts, file);
    for (_, function, name) in &functions {
        let abi = Abi::of(&function.prototype, &types, &tables.unit);
        abis.define(name, abi);
        tables.function(name);
    }
    let mut lifter = FileLifter {
        file,
        image,
        abis: &abis,
        tables,
        data: DataRows::default(),
        addresses: Vec::new(),
        ends: Vec::new(),
        left: MOST_CODE,
    };
    let mut is_any = false;
    for (entry, function, name) in &functions {
        is_any |= lifter.function(*entry, function, name);
    }
    if !is_any {
        return None;
    }
    lifter.constructors();
    let mut data = std::mem::take(&mut lifter.data);
    data.finish(&mut lifter.tables, (file, image), &facts);
    Some(lifter.finish())
}

/// The functions with machine code by address, with the linker's names.
fn defined<'f>(
    facts: &'f DebugFacts,
    file: &LoadedFile,
) -> Vec<(u64, &'f DefinedFunction, String)> {
    let mut seen = FxHashSet::default();
    let mut functions: Vec<(u64, &DefinedFunction, String)> = facts
        .functions
        .iter()
        .filter_map(|function| {
            let (entry, _) = *function.ranges.first()?;
            let symbol = file.functions.get(&entry)?;
            Some((entry, function, symbol.name.clone()))
        })
        .collect();
    functions.sort_by_key(|(entry, _, _)| *entry);
    functions.retain(|(entry, _, _)| seen.insert(*entry));
    functions
}

struct FileLifter<'a> {
    file: &'a LoadedFile,
    image: &'a Image,
    abis: &'a Abis,
    tables: UnitTables,
    data: DataRows,
    /// Addresses of each lifted function's machine instructions.
    addresses: Vec<(FunctionId, Vec<u64>)>,
    /// Ends of the code of lifted functions.
    ends: Vec<u64>,
    /// Bytes of code that may still be lifted.
    left: u64,
}

impl FileLifter<'_> {
    /// Lifts a function; returns whether it has callbacks.
    fn function(&mut self, entry: u64, function: &DefinedFunction, name: &str) -> bool {
        let display = self.image.function(entry).map(|(_, it)| it.name.clone());
        let id = self.tables.function(name);
        if let Some(known) = self.tables.unit.functions.get_mut(id.index()) {
            known.display = display.unwrap_or_else(|| known.display.clone());
            known.is_local = self
                .file
                .functions
                .get(&entry)
                .is_some_and(|it| it.is_local);
        }
        let (abis, file) = (self.abis, self.file);
        let is_final = |call: &Instruction| {
            let name = calls::callee(file, call);
            name.is_some_and(|name| abis.of(name).is_ok_and(|abi| abi.is_final))
        };
        let ranges = function.ranges.as_slice();
        let size = ranges
            .iter()
            .fold(0u64, |size, (from, to)| size.saturating_add(to - from));
        let Some(left) = self.left.checked_sub(size) else {
            self.refuse(id, "the file has too much code");
            return false;
        };
        self.left = left;
        match decode::decode(file, (entry, ranges), &is_final) {
            Ok(code) if !self.has_callbacks(&code) => return false,
            Ok(code) => {
                if let Err(why) = self.lift(id, &code, function, name) {
                    self.refuse(id, &why);
                }
            }
            Err(why) => self.refuse(id, &why),
        }
        true
    }

    fn refuse(&mut self, id: FunctionId, why: &str) {
        let name = self.tables.unit.function(id).map(|it| it.display.clone());
        let name = name.unwrap_or_default();
        self.tables.problem(format!("function `{name}`: {why}"));
    }

    fn has_callbacks(&self, code: &MachineCode) -> bool {
        let mut all = code.blocks.iter().flat_map(|block| &block.instructions);
        all.any(|one| {
            let is_call = matches!(
                one.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall
            );
            let name = calls::callee(self.file, one).filter(|_| is_call);
            name.is_some_and(|name| {
                name.starts_with("__tsan_") || name.starts_with("__sanitizer_cov_")
            })
        })
    }

    fn lift(
        &mut self,
        id: FunctionId,
        code: &MachineCode,
        function: &DefinedFunction,
        name: &str,
    ) -> Result<(), String> {
        let abi = self.abis.of(name)?;
        if function.prototype.is_variadic {
            return Err("it accepts any number of arguments".into());
        }
        if !self.file.is_position_independent {
            return Err("numbers in its code may be addresses".into());
        }
        let states = stack_states(code)?;
        let size = |ty| self.tables.unit.debug_type(ty).map_or(0, |it| it.size);
        let sizes: Vec<u64> = function.variables.iter().map(|it| size(it.ty)).collect();
        let variables = (function.variables.as_slice(), sizes.as_slice());
        let frame = FrameObjects::new(code, &states, variables, function.is_optimized)?;
        let (layout, variables) = self.body(code, (&states, &frame), &abi, function)?;
        self.define(id, layout, &abi, function, variables);
        Ok(())
    }

    /// The operations of a function, and its variables.
    fn body(
        &mut self,
        code: &MachineCode,
        (states, frame): (&[StackState], &FrameObjects),
        abi: &Abi,
        function: &DefinedFunction,
    ) -> Result<(Layout, Vec<Variable>), String> {
        let parameters = abi.parameters.len();
        let mut lifting = Lifting {
            body: LiftedBody::new(&mut self.tables, code, parameters),
            file: self.file,
            image: self.image,
            abis: self.abis,
            data: &mut self.data,
            frame,
            objects: Vec::new(),
            guard: None,
            stack: StackState::ENTRY,
            ends: code.blocks.iter().map(|block| block.end.clone()).collect(),
            arguments: 0,
            abi,
            flags: Flags::Unknown,
            extended: None,
            factory: InstructionInfoFactory::new(),
        };
        let found = lifting.allocate(frame, function);
        if code
            .blocks
            .iter()
            .flat_map(|it| &it.instructions)
            .any(has_guard)
        {
            lifting.guard = Some(lifting.object(8));
        }
        lifting.take_parameters();
        for at in code.order() {
            if let (Some(block), Some(state)) = (code.blocks.get(at), states.get(at)) {
                lifting.stack = *state;
                lifting.block(at, block)?;
            }
        }
        let phis = lifting.body.finish();
        let mut blocks = std::mem::take(&mut lifting.body.blocks);
        let tables = &*lifting.body.tables;
        let is_access = |op: &Op, what: &str| {
            callback_name(tables, op).is_some_and(|name| name.starts_with(what))
        };
        for block in &mut blocks {
            layout::order_copies(&mut block.code, &is_access);
        }
        let blocks: Vec<Vec<Node>> = blocks
            .into_iter()
            .zip(phis)
            .map(|(block, phis)| {
                let code = phis.into_iter().chain(block.code);
                code.chain(block.end).collect()
            })
            .collect();
        let kept: Vec<_> = found.iter().map(|variable| variable.value).collect();
        let layout = Layout::new(blocks, parameters, &kept);
        let renamed = |variable: Variable| {
            let value = layout.renamed(variable.value)?;
            Some(Variable { value, ..variable })
        };
        let variables = found.into_iter().filter_map(renamed).collect();
        Ok((layout, variables))
    }

    fn define(
        &mut self,
        id: FunctionId,
        mut layout: Layout,
        abi: &Abi,
        function: &DefinedFunction,
        variables: Vec<Variable>,
    ) {
        let places = lines::Places::new(self.image, &function.ranges, &mut self.tables);
        for (instruction, address) in layout.instructions.iter_mut().zip(&layout.addresses) {
            instruction.place = places.at(*address);
        }
        let place = self
            .tables
            .place(&function.file, &function.name, debug::line(function.line));
        let parameters: Vec<TypeId> = abi
            .parameters
            .iter()
            .map(|passed| match passed {
                Passed::Float(_, bits) => self.tables.float(*bits),
                Passed::Integer(_, bits) => self.tables.integer(*bits),
                Passed::Stack(_) => self.tables.integer(64),
            })
            .collect();
        let result = self.tables.returned(&abi.returned);
        if let Some(known) = self.tables.unit.functions.get_mut(id.index()) {
            *known = Function {
                by_value: vec![0; parameters.len()],
                parameters,
                result,
                values: layout.values,
                blocks: layout.blocks,
                instructions: layout.instructions,
                place,
                variables,
                ..std::mem::take(known)
            };
        }
        self.addresses.push((id, layout.addresses));
        self.ends.extend(function.ranges.iter().map(|(_, to)| *to));
    }

    /// The functions that run before `main`, as the model lists them.
    fn constructors(&mut self) {
        let (from, to) = self.file.constructors;
        let to = to.min(from.saturating_add(MOST_CONSTRUCTORS));
        let pair = {
            let (number, pointer) = (self.tables.integer(32), self.tables.pointer());
            self.tables.structure(vec![(number, 0), (pointer, 8)], 16)
        };
        let mut rows = Vec::new();
        for at in (from..to).step_by(8) {
            let Some(file::Relocated::Address(address)) = self.file.relocated(at) else {
                continue;
            };
            let symbol = self.file.functions.get(address).map(|it| it.name.clone());
            let Some(name) = symbol else { continue };
            let id = self.tables.function(&name);
            let is_lifted = self
                .tables
                .unit
                .function(id)
                .is_some_and(|it| !it.blocks.is_empty());
            if is_lifted && let Operand::Constant(order) = self.tables.number(65535, 32) {
                let function = self.tables.constant(Constant::Function(id));
                let elements = vec![order, function];
                rows.push(
                    self.tables
                        .constant(Constant::Aggregate { ty: pair, elements }),
                );
            }
        }
        if rows.is_empty() {
            return;
        }
        let fields = (0..rows.len() as u64).map(|at| (pair, 16 * at)).collect();
        let size = 16 * rows.len() as u64;
        let ty = self.tables.structure(fields, size);
        let elements = rows;
        let initial = self.tables.constant(Constant::Aggregate { ty, elements });
        self.tables.unit.globals.push(Global {
            name: "llvm.global_ctors".to_owned(),
            ty,
            size,
            initial: Some(initial),
            is_constant: true,
            ..Global::default()
        });
    }

    /// Numbers all instructions.
    fn finish(mut self) -> (Unit, Vec<(u64, u32)>) {
        let mut next = 1;
        for function in &mut self.tables.unit.functions {
            function.first_point = PointNumber(next);
            next = next.saturating_add(row(function.instructions.len()));
        }
        let mut points: Vec<(u64, u32)> = self.ends.iter().map(|end| (*end, 0)).collect();
        for (id, addresses) in &self.addresses {
            let Some(function) = self.tables.unit.function(*id) else {
                continue;
            };
            let first = function.first_point.0;
            let numbered = function.instructions.iter().zip(addresses).zip(first..);
            let mut own: Vec<(u64, bool, u32)> = numbered
                .filter(|((_, address), _)| **address != 0)
                .map(|((instruction, address), number)| {
                    let is_call = matches!(instruction.op, Op::Call { .. });
                    (*address, is_call, number)
                })
                .collect();
            // Of what one instruction does the call has the events.
            own.sort_by_key(|(address, is_call, number)| (*address, !is_call, *number));
            own.dedup_by_key(|(address, _, _)| *address);
            points.extend(
                own.into_iter()
                    .map(|(address, _, number)| (address, number)),
            );
        }
        points.sort_unstable();
        (self.tables.unit, points)
    }
}

/// The kind of access that a call of a callback announces: its name without what all have.
fn callback_name<'t>(tables: &'t UnitTables, op: &Op) -> Option<&'t str> {
    let Op::Call {
        callee: Operand::Constant(callee),
        ..
    } = op
    else {
        return None;
    };
    let Constant::Function(id) = tables.unit.constant(*callee)? else {
        return None;
    };
    let name = tables.unit.function(*id)?.name.strip_prefix("__tsan_")?;
    let name = name.trim_start_matches("unaligned_");
    Some(name.trim_start_matches("volatile_"))
}

/// Returns whether an instruction uses the stack's canary.
fn has_guard(one: &Instruction) -> bool {
    one.segment_prefix() == Register::FS && one.memory_displacement64() == function::GUARD
}

impl Lifting<'_> {
    /// Memory of the frame.
    fn object(&mut self, size: u64) -> Operand {
        let (ty, pointer) = (self.body.tables.bytes(size), self.body.tables.pointer());
        let count = self.body.number(1, 64);
        self.body.emit(Op::Alloca { ty, size, count }, pointer)
    }

    /// The objects of the frame, and those that are variables.
    fn allocate(&mut self, frame: &FrameObjects, function: &DefinedFunction) -> Vec<Variable> {
        let mut variables = Vec::new();
        for (from, to, variable) in frame.allocated() {
            let object = self.object(u64::try_from(to - from).unwrap_or(0));
            self.objects.push(object);
            let variable = variable.and_then(|row| function.variables.get(row));
            if let (Some(variable), Operand::Value(value)) = (variable, object) {
                variables.push(Variable {
                    name: variable.name.clone(),
                    ty: variable.ty,
                    value,
                    is_address: true,
                    line: variable.line,
                    is_parameter: variable.is_parameter,
                    fragment: None,
                });
            }
        }
        variables
    }
}
