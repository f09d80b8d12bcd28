//! Calls: into the program, of callbacks, of libraries.

use super::{
    machine::{Due, InstructionResult, PathMachine},
    thread::{BranchState, Todo},
    value::{Scalar, Val},
};
use crate::trace::Action;
use unsnarl_trace::{
    EventKind, ThreadId, Value,
    program::{Instruction, Op, Operand, TypeKind},
};

/// Name prefix of the callbacks that record the branches of a block.
pub(super) const COVERAGE: &str = "__sanitizer_cov_";

/// Size of a C++ library string in bytes.
const STRING: u64 = 32;

/// Result of a call.
pub(super) enum Did {
    /// The call has returned.
    Value(Option<Val>),
    /// The call waits for its next event.
    Wait,
    /// A function of the program was entered, or the thread stands elsewhere now.
    Entered,
    /// The thread has ended.
    Gone,
    /// The function is unknown.
    Strange,
}

/// A call that is being made.
pub(super) struct MadeCall<'c> {
    pub name: &'c str,
    pub arguments: &'c [Val],
    /// Width of the result; `None` for none and for structures.
    pub width: Option<u8>,
}

impl MadeCall<'_> {
    pub fn argument(&self, row: usize) -> Option<Scalar> {
        self.arguments.get(row)?.scalar()
    }
}

impl PathMachine<'_> {
    pub fn call(
        &mut self,
        id: ThreadId,
        instruction: &Instruction,
    ) -> Result<InstructionResult, String> {
        let Op::Call {
            callee,
            arguments,
            by_value,
            ..
        } = &instruction.op
        else {
            return Err("no call".into());
        };
        let unit = self.frame(id).map(|frame| frame.unit).unwrap_or_default();
        // Calls in progress continue, whatever their arguments are by now.
        let mut values = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            values.push(match self.is_opaque(unit, argument) {
                true => Val::list(Vec::new()),
                false => self.operand(id, argument)?,
            });
        }
        for (value, bytes) in values
            .iter_mut()
            .zip(by_value)
            .filter(|(_, bytes)| **bytes > 0)
        {
            *value = self.copied_for_call(id, value, *bytes)?;
        }
        if let Some(name) = self.callee_name(unit, *callee)
            && self.points.function(self.program, unit, name).is_none()
            && !self.is_alias(unit, name)
        {
            let name = name.to_owned();
            return self.call_library(id, &name, &values, instruction);
        }
        let pointer = self.scalar(id, *callee)?;
        let at = self
            .address(id, pointer)
            .ok_or("it is not known which function is called")?;
        if let Some(&home) = self.code_at.get(&at) {
            return match self.enter(id, home, values) {
                true => Ok(InstructionResult::On),
                false => Err("a function without blocks is called".into()),
            };
        }
        match self.library_at.get(&at).cloned() {
            Some(name) => self.call_library(id, &name, &values, instruction),
            None if at < 4096 => self.fault(id, pointer),
            None => self.call_library(id, "a function of a library", &values, instruction),
        }
    }

    fn is_alias(&self, unit: unsnarl_trace::program::UnitId, name: &str) -> bool {
        use unsnarl_trace::program::Definition;
        matches!(
            self.program.definition(unit, name),
            Some(Definition::Address(..))
        )
    }

    /// `true` for metadata and other operands without a value.
    fn is_opaque(&self, unit: unsnarl_trace::program::UnitId, operand: Operand) -> bool {
        use unsnarl_trace::program::Constant;
        let Operand::Constant(constant) = operand else {
            return false;
        };
        let model = self.program.unit(unit);
        let is = model.and_then(|model| match model.constant(constant)? {
            Constant::Undefined(ty) => Some(matches!(model.ty(*ty)?.kind, TypeKind::Opaque)),
            _ => None,
        });
        is.unwrap_or(false)
    }

    /// Copies a structure passed by value into memory of the call's own.
    fn copied_for_call(&mut self, id: ThreadId, from: &Val, bytes: u64) -> Result<Val, String> {
        let from = from.scalar().ok_or("a structure without an address")?;
        let at = self.address(id, from).ok_or("an address is not known")?;
        let to = self
            .memory
            .allocate("an argument".into(), bytes, super::memory::Fresh::Unknown);
        let by = self.by(id, None);
        let chunks = self.read((at, bytes), by, &|_, _, _, _| None);
        for chunk in chunks {
            self.memory.write(
                &mut self.exprs,
                to.saturating_add(chunk.offset),
                chunk.size,
                chunk.value,
            );
        }
        Ok(Scalar::address(&mut self.exprs, to).into())
    }

    fn call_library(
        &mut self,
        id: ThreadId,
        name: &str,
        arguments: &[Val],
        instruction: &Instruction,
    ) -> Result<InstructionResult, String> {
        let unit = self.frame(id).map(|frame| frame.unit).unwrap_or_default();
        let made = MadeCall {
            name,
            arguments,
            width: self.width(unit, instruction.ty),
        };
        if let Some((_, row)) = self.peek(id)
            && row.kind == EventKind::Failure
            && matches!(self.due(id), Due::Later)
        {
            return Ok(InstructionResult::Wait);
        }
        let did = self.library(id, &made)?;
        Ok(match did {
            Did::Value(value) => self.returned(id, value),
            Did::Wait => InstructionResult::Wait,
            Did::Entered => InstructionResult::On,
            Did::Gone => InstructionResult::Stop,
            Did::Strange => match self.outside_call(id, &made, unit, instruction)? {
                Did::Value(value) => self.returned(id, value),
                Did::Wait => InstructionResult::Wait,
                _ => InstructionResult::On,
            },
        })
    }

    /// Dispatches a call by name to the model of the library function.
    fn library(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        if made.name.starts_with("__tsan_") {
            return self.callback(id, made);
        }
        if made.name.starts_with(COVERAGE) {
            return Ok(Did::Value(None));
        }
        if made.name.starts_with("llvm.") {
            return self.intrinsic(id, made);
        }
        for known in [
            Self::synchronization,
            Self::heap_call,
            Self::memory_call,
            Self::ends,
            Self::exception_call,
            Self::small_call,
        ] {
            match known(self, id, made)? {
                Did::Strange => {}
                did => return Ok(did),
            }
        }
        Ok(Did::Strange)
    }

    /// Calls a function of which nothing is known: its recorded events are used, and its result comes from
    /// outside.
    fn outside_call(
        &mut self,
        id: ThreadId,
        made: &MadeCall,
        unit: unsnarl_trace::program::UnitId,
        instruction: &Instruction,
    ) -> Result<Did, String> {
        let mut tells = false;
        loop {
            match self.due_inside(id) {
                Due::Now(_, row) if row.kind == EventKind::Failure => {
                    self.use_event(id, row.site);
                    self.fails_here(id);
                    return Ok(self.gone(id));
                }
                Due::Now(_, row) => {
                    tells |= row.kind.writes();
                    self.raw(id);
                }
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere => break,
            }
        }
        if !tells {
            self.forget_arguments(id, made);
        }
        self.wrote_unseen(id, made);
        let result = format!("result of {}", made.name);
        Ok(Did::Value(match made.width {
            Some(width) => Some(self.outside(id, result, width, None).into()),
            None => Some(self.strange(id, unit, instruction.ty, &result)),
        }))
    }

    /// A value of a type of which nothing is known.
    pub fn strange(
        &mut self,
        id: ThreadId,
        unit: unsnarl_trace::program::UnitId,
        ty: unsnarl_trace::program::TypeId,
        name: &str,
    ) -> Val {
        match self.width(unit, ty) {
            Some(width) => self.outside(id, name.into(), width, None).into(),
            None => {
                let elements = self.elements(unit, ty);
                Val::list(
                    elements
                        .into_iter()
                        .map(|(ty, _)| self.strange(id, unit, ty, name))
                        .collect(),
                )
            }
        }
    }

    /// Forgets the private memory that the arguments point to, since the function may have written it.
    fn forget_arguments(&mut self, id: ThreadId, made: &MadeCall) {
        const HARMLESS: [&str; 22] = [
            "printf", "fprintf", "puts", "putchar", "fputs", "fputc", "putc", "fflush", "fwrite",
            "perror", "strcmp", "strncmp", "atoi", "atol", "strtol", "strtoul", "getenv", "write",
            "fclose", "fopen", "vprintf", "vfprintf",
        ];
        // Methods of the C++ library change their object, which the run records, and strings.
        let is_string = made.name.starts_with("_ZNSt7__cxx1112basic_string");
        let is_library = ["_ZNS", "_ZS", "_ZNKS"]
            .iter()
            .any(|begin| made.name.starts_with(begin));
        if HARMLESS.contains(&made.name) || (is_library && !is_string) {
            return;
        }
        for argument in made.arguments {
            let Some(at) = argument
                .scalar()
                .and_then(|argument| argument.bits)
                .map(|bits| bits as u64)
            else {
                continue;
            };
            let Some(object) = self.memory.object(at) else {
                continue;
            };
            let (base, size) = match is_string {
                true => (at, STRING),
                false => (object.base, object.size),
            };
            if self.code_at.contains_key(&base)
                || self.library_at.contains_key(&base)
                || self.is_constant(object.base)
            {
                continue;
            }
            let what = format!("what {} did to `{}`", made.name, object.name);
            let site = self.here(id);
            self.concretize(id, crate::trace::Concretized { site, what });
            self.memory.doubt(&mut self.exprs, base, size);
        }
    }

    fn is_constant(&self, base: u64) -> bool {
        self.constants.contains(&base)
    }

    /// Uses the thread's next event as recorded, without the model.
    pub fn raw(&mut self, id: ThreadId) {
        let Some((event, row)) = self.peek(id) else {
            return;
        };
        self.use_event(id, row.site);
        if row.kind.is_access() {
            return self.raw_access(id, event);
        }
        self.sync_step(id, event);
    }

    fn raw_access(&mut self, id: ThreadId, event: unsnarl_trace::EventId) {
        let row = self.run.events.event(event);
        let Some(at) = self.resolve(row.location) else {
            return self.gap("an access of memory that has no name was passed over".into());
        };
        let place = (at, u64::from(row.size));
        let by = self.by(id, Some(event));
        if row.kind.reads() {
            let old = row.old;
            self.read(
                place,
                by,
                &move |this, offset, size, held| match (row.kind, old) {
                    (EventKind::Rmw, Some(old)) => {
                        let row = unsnarl_trace::Event {
                            value: Some(Value::Bits(old)),
                            ..row
                        };
                        this.row_bits(&row, offset, size)
                    }
                    (EventKind::Rmw, None) => None,
                    _ => this.row_bits_beside(&row, offset, size, held),
                },
            );
        }
        if row.kind.writes() && super::wide::is_wide(place.1) {
            return self.wide_write_from_outside(id, place, (event, row));
        }
        if row.kind.writes() {
            let mut chunks = Vec::new();
            let mut offset = 0;
            while offset < u64::from(row.size) {
                let size = (u64::from(row.size) - offset).min(8) as u8;
                let bits = self.row_bits(&row, offset, size);
                let value = match bits {
                    Some(bits) => Scalar::number(&mut self.exprs, bits, size.saturating_mul(8)),
                    None => self.outside(
                        id,
                        self.run.location(row.location).to_owned(),
                        size.saturating_mul(8),
                        None,
                    ),
                };
                chunks.push(super::thread::AccessChunk {
                    offset,
                    size,
                    value,
                });
                offset += u64::from(size);
            }
            self.write(place, by, &chunks);
        }
    }

    /// Makes the step of an event that is no access.
    pub fn sync_step(&mut self, id: ThreadId, event: unsnarl_trace::EventId) {
        let row = self.run.events.event(event);
        let value = match row.value {
            Some(Value::Bits(bits)) => bits,
            _ => 0,
        };
        match row.kind {
            EventKind::Failure | EventKind::Branch => return,
            EventKind::Alloc if self.memory.named(self.run.location(row.location)).is_none() => {
                self.new_block(id, event);
            }
            EventKind::Lock | EventKind::SharedLock => {
                if let Some(thread) = self.thread_mut(id) {
                    thread
                        .held
                        .push((row.location, row.kind == EventKind::SharedLock));
                }
            }
            EventKind::Unlock | EventKind::SharedUnlock => {
                if let Some(thread) = self.thread_mut(id)
                    && let Some(at) = thread
                        .held
                        .iter()
                        .rposition(|(lock, _)| *lock == row.location)
                {
                    thread.held.remove(at);
                }
            }
            _ => {}
        }
        let action = Action::Sync {
            kind: row.kind,
            object: row.location,
            value,
        };
        let step = self.step(id, Some(event), row.site, action);
        if row.kind == EventKind::Free
            && let Some(at) = self.resolve(row.location)
        {
            self.freed.insert(at, step);
            let size = self.memory.object(at).map_or(0, |object| object.size);
            self.memory.forget(&mut self.exprs, at, size);
            self.memory.free(at);
        }
    }

    /// Makes a heap block, zeroed as the runtime does.
    pub fn new_block(&mut self, _id: ThreadId, event: unsnarl_trace::EventId) -> Option<u64> {
        let row = self.run.events.event(event);
        let name = self.run.location(row.location).to_owned();
        if name.is_empty() {
            return None;
        }
        let size = match row.value {
            Some(Value::Bits(bits)) => bits,
            _ => 0,
        };
        let base = self.memory.allocate(name, size, super::memory::Fresh::Zero);
        self.places.insert(row.location, base);
        Some(base)
    }

    /// Ends the thread.
    pub fn gone(&mut self, id: ThreadId) -> Did {
        if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Ended;
            thread.stack.clear();
        }
        Did::Gone
    }

    /// Handles an access or a call at an address without an object, which failed the run.
    pub fn fault(&mut self, id: ThreadId, pointer: Scalar) -> Result<InstructionResult, String> {
        match self.peek(id) {
            Some((event, row)) if row.kind == EventKind::Failure => {
                if event > self.now {
                    return Ok(InstructionResult::Wait);
                }
                self.use_event(id, row.site);
                self.bad_address(id, pointer);
                self.gone(id);
                Ok(InstructionResult::Stop)
            }
            _ => Err("an address where nothing is".into()),
        }
    }

    /// Executes the next pending step of a library function.
    pub fn library_step(&mut self, id: ThreadId, next: &Todo) -> InstructionResult {
        match next {
            Todo::Call(function, arguments) => self.call_back(id, *function, arguments.clone()),
            Todo::OnceEnd => self.await_kind(id, EventKind::OnceEnd),
            Todo::End => self.await_kind(id, EventKind::End),
            Todo::Exit => self.exit(id),
            Todo::Lost => {
                self.lost_again(id);
                InstructionResult::Stop
            }
            Todo::Return(value) => {
                if let Some(thread) = self.thread_mut(id) {
                    thread.stack.pop();
                }
                self.returned(id, value.clone())
            }
        }
    }

    fn call_back(
        &mut self,
        id: ThreadId,
        function: Scalar,
        arguments: Vec<Val>,
    ) -> InstructionResult {
        let at = self.address(id, function);
        let home = at.and_then(|at| self.code_at.get(&at).copied());
        match home {
            Some(home) if self.enter(id, home, arguments) => InstructionResult::On,
            // A function of a library, of which nothing is known; what it did was recorded.
            _ => InstructionResult::On,
        }
    }

    /// Passes over the library's events, up to this kind of event.
    fn await_kind(&mut self, id: ThreadId, kind: EventKind) -> InstructionResult {
        loop {
            let Some((event, row)) = self.peek(id) else {
                return InstructionResult::Wait;
            };
            if event > self.now {
                return InstructionResult::Wait;
            }
            if row.kind != kind && self.points.get(row.point).is_some() {
                return self.is_wrong(id, "it did more than the model says");
            }
            self.raw(id);
            if row.kind == kind {
                if kind == EventKind::End {
                    self.gone(id);
                    return InstructionResult::Stop;
                }
                return InstructionResult::On;
            }
        }
    }

    /// Runs the exit handlers, last registered first, after `main` has returned.
    fn exit(&mut self, id: ThreadId) -> InstructionResult {
        let next = self.thread_mut(id).and_then(|thread| thread.at_exit.pop());
        let Some((function, arguments)) = next else {
            let Some(thread) = self.thread_mut(id) else {
                return InstructionResult::Stop;
            };
            thread
                .stack
                .push(super::thread::Activity::Native([Todo::End].into()));
            return InstructionResult::On;
        };
        self.begin_native(id, [Todo::Call(function, arguments), Todo::Exit]);
        InstructionResult::On
    }
}
