//! Instructions that are no calls, and the steps of a thread through them.

use super::{
    machine::{InstructionResult, PathMachine},
    memory::Fresh,
    thread::{Activity, Todo},
    value::{Scalar, Val},
};
use crate::expr::Binary;
use unsnarl_trace::{
    ThreadId,
    program::{BlockId, Instruction, Op, Operand, ValueId},
};

/// Bound on the instructions of a thread from one of its events to the next.
const MOST_IDLE: u64 = 4_000_000;
/// Number of instructions between two polls of the budget.
const POLL: u64 = 1 << 12;

impl PathMachine<'_> {
    /// Follows the thread until it needs an event whose turn has not come.
    pub fn go_on(&mut self, id: ThreadId) {
        self.attend(id);
        while let InstructionResult::On = self.advance(id) {}
        self.leave_alone(id);
    }

    fn advance(&mut self, id: ThreadId) -> InstructionResult {
        let Some(thread) = self.thread_mut(id) else {
            return InstructionResult::Stop;
        };
        thread.idle += 1;
        let idle = thread.idle;
        if idle > MOST_IDLE || self.is_astray(id) {
            return self.is_wrong(id, "it goes on without meeting its next event");
        }
        if idle.is_multiple_of(POLL) && self.budget.stop().is_some() {
            return InstructionResult::Stop;
        }
        match self.thread(id).and_then(|thread| thread.stack.last()) {
            Some(Activity::Code(_)) => self.execute(id),
            Some(Activity::Native(_)) => self.native(id),
            None => InstructionResult::Stop,
        }
    }

    pub fn execute(&mut self, id: ThreadId) -> InstructionResult {
        let Some(instruction) = self.instruction(id) else {
            return self.is_wrong(id, "the model ends here");
        };
        match self.operate(id, instruction) {
            Ok(flow) => flow,
            Err(why) => self.is_wrong(id, &why),
        }
    }

    /// The value of an operand.
    pub fn operand(&mut self, id: ThreadId, operand: Operand) -> Result<Val, String> {
        match operand {
            Operand::Value(value) => {
                let known = self
                    .frame(id)
                    .and_then(|frame| frame.values.get(value.index())?.clone());
                let known = known.ok_or("a value is not known")?;
                Ok(self.all_known(known))
            }
            Operand::Constant(constant) => {
                let unit = self.frame(id).map(|frame| frame.unit).unwrap_or_default();
                self.constant(unit, constant)
                    .ok_or_else(|| "a constant is not understood".into())
            }
        }
    }

    pub fn scalar(&mut self, id: ThreadId, operand: Operand) -> Result<Scalar, String> {
        let value = self.operand(id, operand)?;
        value.scalar().ok_or_else(|| "an empty structure".into())
    }

    /// Sets the result of the instruction that the thread stands at.
    fn set(&mut self, id: ThreadId, result: Option<ValueId>, value: Val) {
        let slot = result.and_then(|result| self.frame_mut(id)?.values.get_mut(result.index()));
        if let Some(slot) = slot {
            *slot = Some(value);
        }
    }

    /// Advances to the next instruction of the block.
    pub fn next(&mut self, id: ThreadId) {
        if let Some(frame) = self.frame_mut(id) {
            frame.at += 1;
            frame.stage = 0;
        }
        self.passes(id, self.spot(id));
    }

    fn operate(
        &mut self,
        id: ThreadId,
        instruction: &Instruction,
    ) -> Result<InstructionResult, String> {
        let unit = self.frame(id).map(|frame| frame.unit).unwrap_or_default();
        let value = match &instruction.op {
            Op::Alloca { size, count, .. } => self.alloca(id, instruction, *size, *count)?,
            Op::Load { address, .. } => self.load(id, (unit, instruction.ty), *address)?,
            Op::Store { value, address, .. } => {
                let (value, address) = (self.operand(id, *value)?, self.scalar(id, *address)?);
                self.store(id, (unit, instruction.ty), &value, address)?;
                self.next(id);
                return Ok(InstructionResult::On);
            }
            Op::Address {
                base,
                bytes,
                scaled,
            } => self.address_of(id, *base, *bytes, scaled)?,
            Op::Binary { op, a, b } => {
                let (a, b) = (self.operand(id, *a)?, self.operand(id, *b)?);
                self.binary(id, *op, &a, &b)?
            }
            Op::Negate(of) => {
                let of = self.scalar(id, *of)?;
                let width = self.exprs.width(of.expr);
                let sign = Scalar::number(&mut self.exprs, 1 << (width.saturating_sub(1)), width);
                of.binary(&mut self.exprs, Binary::Xor, sign).into()
            }
            Op::Cast { op, of, .. } => {
                let of = self.operand(id, *of)?;
                self.cast(id, *op, &of, (unit, instruction.ty))?
            }
            Op::Compare { op, a, b, .. } => {
                let (a, b) = (self.operand(id, *a)?, self.operand(id, *b)?);
                self.compare(id, *op, &a, &b)?
            }
            Op::Select { condition, yes, no } => {
                let condition = self.scalar(id, *condition)?;
                let (yes, no) = (self.operand(id, *yes)?, self.operand(id, *no)?);
                self.select(id, condition, yes, no)?
            }
            Op::Phi(_) => return Err("a phi in the middle of a block".into()),
            Op::Freeze(of) => self.operand(id, *of)?,
            Op::Extract { of, path } => {
                let of = self.operand(id, *of)?;
                extract(&of, path).ok_or("a part that is not there")?
            }
            Op::Insert { into, value, path } => {
                let (into, value) = (self.operand(id, *into)?, self.operand(id, *value)?);
                insert(into, value, path).ok_or("a part that is not there")?
            }
            Op::ExtractElement { of, index } => {
                let (of, index) = (self.operand(id, *of)?, self.scalar(id, *index)?);
                let index = self
                    .fixed(id, index, || "index of a vector".into())
                    .ok_or("an index is not known")?;
                extract(&of, &[index as u32]).ok_or("an element that is not there")?
            }
            Op::InsertElement { into, value, index } => {
                let (into, value) = (self.operand(id, *into)?, self.operand(id, *value)?);
                let index = self.scalar(id, *index)?;
                let index = self
                    .fixed(id, index, || "index of a vector".into())
                    .ok_or("an index is not known")?;
                insert(into, value, &[index as u32]).ok_or("an element that is not there")?
            }
            Op::Shuffle { a, b, mask } => {
                let (a, b) = (self.operand(id, *a)?, self.operand(id, *b)?);
                shuffle(&a, &b, mask).ok_or("elements that are not there")?
            }
            Op::Fence => Val::list(Vec::new()),
            Op::LandingPad { catches, .. } => self.landing_pad(id, catches)?,
            Op::Call { .. } => return self.call(id, instruction),
            Op::Jump(to) => return self.jump(id, *to),
            Op::Branch { .. } | Op::Switch { .. } | Op::IndirectJump { .. } => {
                return self.branch(id, instruction);
            }
            Op::Return(value) => {
                let value = value.map(|value| self.operand(id, value)).transpose()?;
                return Ok(self.leave(id, value));
            }
            Op::Resume(_) => return self.resume(id),
            Op::Unreachable => return Err("it came where nothing can come".into()),
            Op::Assembly { text, .. } if text.trim().is_empty() => self.zero(unit, instruction.ty),
            Op::Assembly { .. } => {
                return Err("the assembler's text is not understood".into());
            }
            Op::CompareExchange { .. } | Op::AtomicUpdate { .. } => {
                return Err("an atomic operation without a callback".into());
            }
            Op::VariableArgument { .. } => {
                return Err("a variable argument is read by an instruction of its own".into());
            }
            Op::Unknown(text) => return Err(format!("an instruction is not understood: {text}")),
        };
        self.set(id, instruction.result, value);
        self.next(id);
        Ok(InstructionResult::On)
    }

    fn alloca(
        &mut self,
        id: ThreadId,
        instruction: &Instruction,
        size: u64,
        count: Operand,
    ) -> Result<Val, String> {
        let count = self.scalar(id, count)?;
        let count = self
            .fixed(id, count, || "length of an array".into())
            .ok_or("the length of an array is not known")?;
        let size = size.saturating_mul(count as u64);
        let thread = &self.run.meta.thread(id).name;
        let mut name = format!("{thread}:?");
        let mut ty = None;
        if let Some((_, function)) = self.code(id) {
            let variable = function
                .variables
                .iter()
                .find(|variable| variable.is_address && Some(variable.value) == instruction.result);
            let number = instruction.result.map_or(0, |result| result.0);
            name = match variable {
                Some(variable) => format!("{thread}:{}.{}", function.display, variable.name),
                None => format!("{thread}:{}.{number}", function.display),
            };
            ty = variable.map(|variable| variable.ty);
        }
        let base = self.memory.allocate(name, size, Fresh::Unknown);
        if let Some((ty, frame)) = ty.zip(self.frame(id)) {
            self.debug_types.insert(base, (frame.unit, ty));
        }
        Ok(Scalar::address(&mut self.exprs, base).into())
    }

    pub fn jump(&mut self, id: ThreadId, to: BlockId) -> Result<InstructionResult, String> {
        let (_, function) = self.code(id).ok_or("no function")?;
        let block = function
            .blocks
            .get(to.index())
            .ok_or("a block that is not there")?;
        let came_from = self.frame(id).map(|frame| frame.block).unwrap_or_default();
        let mut chosen = Vec::new();
        let mut at = block.from;
        while let Some(instruction) = function
            .instructions
            .get(at as usize)
            .filter(|_| at < block.to)
        {
            let Op::Phi(ways) = &instruction.op else {
                break;
            };
            let way = ways.iter().find(|(from, _)| *from == came_from);
            let (_, operand) = way.ok_or("a way that the model does not know")?;
            chosen.push((instruction.result, self.operand(id, *operand)?));
            at += 1;
        }
        for (result, value) in chosen {
            self.set(id, result, value);
        }
        if let Some(frame) = self.frame_mut(id) {
            (frame.came_from, frame.block, frame.at, frame.stage) = (came_from, to, at, 0);
        }
        if let Some((unit, function, _)) = self.spot(id) {
            (block.from..=at).for_each(|at| self.passes(id, Some((unit, function, at))));
        }
        Ok(InstructionResult::On)
    }

    /// Returns from a function; the caller goes on after the call.
    fn leave(&mut self, id: ThreadId, value: Option<Val>) -> InstructionResult {
        if id == ThreadId(0)
            && self
                .code(id)
                .is_some_and(|(_, function)| function.name == "main")
            && let Some(status) = value.as_ref().and_then(Val::scalar)
        {
            self.exits_with(id, status);
        }
        if let Some(thread) = self.thread_mut(id) {
            thread.stack.pop();
            if let Some(Activity::Native(_)) = thread.stack.last() {
                thread.result = value.as_ref().and_then(Val::scalar);
            }
        }
        self.returned(id, value)
    }

    /// Passes a call's result to the caller.
    pub fn returned(&mut self, id: ThreadId, value: Option<Val>) -> InstructionResult {
        let Some(instruction) = self.instruction(id) else {
            return InstructionResult::On;
        };
        if let Some(value) = value {
            self.set(id, instruction.result, value);
        }
        match &instruction.op {
            Op::Call {
                normal: Some(normal),
                ..
            } => match self.jump(id, *normal) {
                Ok(flow) => flow,
                Err(why) => self.is_wrong(id, &why),
            },
            _ => {
                self.next(id);
                InstructionResult::On
            }
        }
    }

    /// Executes the next pending step of a library function.
    fn native(&mut self, id: ThreadId) -> InstructionResult {
        let stack = self.thread(id).map_or(&[][..], |thread| &thread.stack);
        let depth = stack.len().saturating_sub(1);
        let next = match stack.last() {
            Some(Activity::Native(todo)) => todo.front().cloned(),
            _ => None,
        };
        let Some(next) = next else {
            if let Some(thread) = self.thread_mut(id) {
                thread.stack.pop();
            }
            return InstructionResult::On;
        };
        let flow = self.library_step(id, &next);
        // Its callee is on top of the stack by now, and may be a library function, too.
        if !matches!(flow, InstructionResult::Wait)
            && !matches!(next, Todo::Return(_))
            && let Some(thread) = self.thread_mut(id)
            && let Some(Activity::Native(todo)) = thread.stack.get_mut(depth)
        {
            todo.pop_front();
        }
        flow
    }
}

fn extract(of: &Val, path: &[u32]) -> Option<Val> {
    path.iter().try_fold(of.clone(), |of, &row| match of {
        Val::List(items) => items.get(row as usize).cloned(),
        Val::Scalar(_) => None,
    })
}

fn insert(into: Val, value: Val, path: &[u32]) -> Option<Val> {
    let Some((&row, rest)) = path.split_first() else {
        return Some(value);
    };
    let Val::List(items) = into else {
        return None;
    };
    let mut items = (*items).clone();
    let slot = items.get_mut(row as usize)?;
    *slot = insert(slot.clone(), value, rest)?;
    Some(Val::list(items))
}

fn shuffle(a: &Val, b: &Val, mask: &[Option<u32>]) -> Option<Val> {
    let (Val::List(a), Val::List(b)) = (a, b) else {
        return None;
    };
    let all: Vec<&Val> = a.iter().chain(b.iter()).collect();
    let items: Option<Vec<Val>> = mask
        .iter()
        .map(|row| all.get(row.unwrap_or(0) as usize).map(|&item| item.clone()))
        .collect();
    Some(Val::list(items?))
}
