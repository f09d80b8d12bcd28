//! Instructions that are no calls.

use super::{
    access::By,
    data::integer_op,
    floats,
    machine::{Flow, Machine},
    memory::Fresh,
    thread::{Activity, Announced, Chunk, Todo},
    value::{Scalar, Val},
};
use crate::symbolic::expr::{Binary, Compare, Unary};
use unsnarl_trace::{
    Event, EventId, EventKind, LocationId, ThreadId,
    program::{
        BinaryOp, BlockId, CastOp, CompareOp, Instruction, Op, Operand, Scaled, TypeId, UnitId,
        ValueId,
    },
};

/// Instructions that a thread may take from one of its events to the next.
const MOST_IDLE: u64 = 4_000_000;
/// So often the budget is asked.
const POLL: u64 = 1 << 12;

impl Machine<'_> {
    /// Follows the thread until it needs an event whose turn has not come.
    pub fn go_on(&mut self, id: ThreadId) {
        self.attend(id);
        while let Flow::On = self.advance(id) {}
        self.leave_alone(id);
    }

    fn advance(&mut self, id: ThreadId) -> Flow {
        let Some(thread) = self.thread_mut(id) else {
            return Flow::Stop;
        };
        thread.idle += 1;
        let idle = thread.idle;
        if idle > MOST_IDLE || self.is_astray(id) {
            return self.is_wrong(id, "it goes on without meeting its next event");
        }
        if idle.is_multiple_of(POLL) && self.budget.stop().is_some() {
            return Flow::Stop;
        }
        match self.thread(id).and_then(|thread| thread.stack.last()) {
            Some(Activity::Code(_)) => self.execute(id),
            Some(Activity::Native(_)) => self.native(id),
            None => Flow::Stop,
        }
    }

    fn execute(&mut self, id: ThreadId) -> Flow {
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
    pub fn set(&mut self, id: ThreadId, result: Option<ValueId>, value: Val) {
        let slot = result.and_then(|result| self.frame_mut(id)?.values.get_mut(result.index()));
        if let Some(slot) = slot {
            *slot = Some(value);
        }
    }

    /// To the next instruction of the block.
    pub fn next(&mut self, id: ThreadId) {
        if let Some(frame) = self.frame_mut(id) {
            frame.at += 1;
            frame.stage = 0;
        }
        self.passes(id, self.spot(id));
    }

    fn operate(&mut self, id: ThreadId, instruction: &Instruction) -> Result<Flow, String> {
        let unit = self.frame(id).map(|frame| frame.unit).unwrap_or_default();
        let value = match &instruction.op {
            Op::Alloca { size, count, .. } => self.alloca(id, instruction, *size, *count)?,
            Op::Load { address, .. } => self.load(id, (unit, instruction.ty), *address)?,
            Op::Store { value, address, .. } => {
                let (value, address) = (self.operand(id, *value)?, self.scalar(id, *address)?);
                self.store(id, (unit, instruction.ty), &value, address)?;
                self.next(id);
                return Ok(Flow::On);
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
        Ok(Flow::On)
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

    /// Reads a value of a type from memory: what a callback has announced, or what is there.
    pub fn load(
        &mut self,
        id: ThreadId,
        (unit, ty): (UnitId, TypeId),
        address: Operand,
    ) -> Result<Val, String> {
        let address = self.scalar(id, address)?;
        self.load_at(id, (unit, ty), address)
    }

    pub fn load_at(
        &mut self,
        id: ThreadId,
        (unit, ty): (UnitId, TypeId),
        address: Scalar,
    ) -> Result<Val, String> {
        let size = match self.stored_size(unit, ty) {
            Some(size) => size.into(),
            None => self.size(unit, ty),
        };
        let at = self.announced_address(id, address, false)?;
        let chunks = self.announced_read(id, at, size).unwrap_or_else(|| {
            let by = self.by_access(id, at, size, EventKind::Read);
            self.read((at, size), by, &|_, _, _, _| None)
        });
        self.assemble(unit, ty, &chunks, 0)
            .ok_or_else(|| "what was read has no type".into())
    }

    /// Who accesses memory now.
    pub fn by(&self, id: ThreadId, event: Option<EventId>) -> By {
        let row = event.and_then(|event| self.run.events.get(event));
        By {
            thread: id,
            event,
            site: row.map_or_else(|| self.here(id), |row| row.site),
            location: row.map_or(LocationId(0), |row| row.location),
        }
    }

    /// An address; where it is not known, the last callback's.
    fn announced_address(
        &mut self,
        id: ThreadId,
        address: Scalar,
        is_write: bool,
    ) -> Result<u64, String> {
        let known = self.address(id, address);
        let announced = || {
            let last = self.thread(id)?.announced.last()?;
            (last.is_write == is_write).then_some(last.address)
        };
        let known = known.or_else(announced);
        known.ok_or_else(|| "an address is not known".into())
    }

    /// What the last callback said about these bytes.
    fn announced_read(&mut self, id: ThreadId, at: u64, size: u64) -> Option<Vec<Chunk>> {
        let announced = &self.thread(id)?.announced;
        let found = announced.iter().rev().find(|one| {
            !one.is_write
                && one.address <= at
                && at.saturating_add(size) <= one.address.saturating_add(one.size)
        })?;
        let shift = at - found.address;
        let chunks = found.chunks.iter().filter_map(|chunk| {
            let offset = chunk.offset.checked_sub(shift)?;
            Some(Chunk { offset, ..*chunk })
        });
        Some(chunks.collect())
    }

    /// The value of a type from the bytes that were read, `from` on.
    fn assemble(&mut self, unit: UnitId, ty: TypeId, chunks: &[Chunk], from: u64) -> Option<Val> {
        let Some(size) = self.stored_size(unit, ty) else {
            let elements = self.elements(unit, ty);
            let items: Option<Vec<Val>> = elements
                .into_iter()
                .map(|(ty, offset)| self.assemble(unit, ty, chunks, from + offset))
                .collect();
            return Some(Val::list(items?));
        };
        let whole = self.join(chunks, from, size)?;
        let width = self.width(unit, ty)?;
        Some(whole.resized(&mut self.exprs, width).into())
    }

    /// Bytes `from..from + size` as one number.
    pub fn join(&mut self, chunks: &[Chunk], from: u64, size: u8) -> Option<Scalar> {
        let end = from + u64::from(size);
        let mut whole: Option<Scalar> = None;
        let mut at = from;
        for chunk in chunks {
            let stop = (chunk.offset + u64::from(chunk.size)).min(end);
            if chunk.offset > at || stop <= at {
                continue;
            }
            let part = match (
                chunk.offset == at,
                stop == chunk.offset + u64::from(chunk.size),
            ) {
                (true, true) => chunk.value,
                _ => chunk.value.bytes(
                    &mut self.exprs,
                    (at - chunk.offset) as u8,
                    (stop - at) as u8,
                ),
            };
            whole = Some(match whole {
                Some(low) => part.above(&mut self.exprs, low),
                None => part,
            });
            at = stop;
        }
        whole.filter(|_| at == end)
    }

    /// Writes a value of a type to memory.
    pub fn store(
        &mut self,
        id: ThreadId,
        (unit, ty): (UnitId, TypeId),
        value: &Val,
        address: Scalar,
    ) -> Result<(), String> {
        let at = self.announced_address(id, address, true)?;
        for (offset, size, part) in self.flat(unit, ty, value) {
            let chunk = Chunk {
                offset: 0,
                size,
                value: part,
            };
            self.store_chunk(id, at.saturating_add(offset), chunk);
        }
        Ok(())
    }

    /// Writes bytes, as the callback before it has announced, or by itself.
    fn store_chunk(&mut self, id: ThreadId, at: u64, chunk: Chunk) {
        let end = at.saturating_add(chunk.size.into());
        let announced = self.thread(id).and_then(|thread| {
            let mut all = thread.announced.iter().rev();
            all.find(|one| {
                let is_within = one.address <= at && end <= one.address.saturating_add(one.size);
                // A second store to the same place is one that the compiler announces no more.
                one.is_write && is_within && !one.done.contains(&(at, chunk.size))
            })
            .cloned()
        });
        let announced = announced.inspect(|one| {
            let thread = self.thread_mut(id);
            let all = thread.into_iter().flat_map(|thread| &mut thread.announced);
            for same in all.filter(|same| same.is_write && same.address == one.address) {
                same.done.push((at, chunk.size));
            }
        });
        let Some(Announced {
            address,
            rows,
            size,
            ..
        }) = announced
        else {
            let by = self.by_access(id, at, chunk.size.into(), EventKind::Write);
            return self.write((at, chunk.size.into()), by, &[chunk]);
        };
        self.write_rows(
            id,
            (at, chunk.size.into()),
            &[chunk],
            ((address, size), &rows),
        );
    }

    /// Writes chunks, row by row of the events that tell of it; `first` is where the first row begins.
    pub fn write_rows(
        &mut self,
        id: ThreadId,
        (at, size): (u64, u64),
        chunks: &[Chunk],
        ((first, whole), rows): ((u64, u64), &[EventId]),
    ) {
        let mut row_at = first;
        let sizes = rows
            .iter()
            .filter_map(|row| Some(self.run.events.get(*row)?.size));
        let is_whole = sizes.map(u64::from).sum::<u64>() >= whole;
        let end = at.saturating_add(size);
        for &event in rows {
            let Some(row) = self.run.events.get(event) else {
                continue;
            };
            row_at = place_of_row(first, row_at, &row, is_whole);
            let row_end = row_at.saturating_add(row.size.into());
            let (from, to) = (row_at.max(at), row_end.min(end));
            let row_begin = std::mem::replace(&mut row_at, row_end);
            if from >= to {
                continue;
            }
            let by = self.by(id, Some(event));
            let mut place = from;
            while place < to {
                let step = (to - place).min(8) as u8;
                // A number of a row's own size stays whole.
                let step = if to - place <= 16 && chunks.len() == 1 {
                    (to - place) as u8
                } else {
                    step
                };
                let Some(value) = self.join(chunks, place - at, step) else {
                    self.gap("a write was longer than what is known of its value".into());
                    return;
                };
                let value = self.checked(id, value, event, place - row_begin, step);
                let chunk = Chunk {
                    offset: 0,
                    size: step,
                    value,
                };
                self.write((place, step.into()), by, &[chunk]);
                place += u64::from(step);
            }
        }
    }

    /// The value that is written, or what the run says where that is another.
    fn checked(
        &mut self,
        id: ThreadId,
        value: Scalar,
        event: EventId,
        offset: u64,
        size: u8,
    ) -> Scalar {
        let Some(row) = self.run.events.get(event) else {
            return value;
        };
        let Some(seen) = self.row_bits_beside(&row, offset, size, value.bits) else {
            return value;
        };
        let value = self.as_known(value);
        if value.bits == Some(seen) {
            return value;
        }
        if value.bits.is_none() {
            self.learn(id, value, seen);
            let value = self.as_known(value);
            if value.bits == Some(seen) {
                return value;
            }
        }
        let name = self.run.location(row.location).to_owned();
        if let Some(bits) = value.bits {
            self.gap(format!("what was written to `{name}` is not what the model says ({seen} instead of {bits}): the run's value is taken"));
        }
        self.outside(id, name, size.saturating_mul(8), Some(seen))
    }

    fn address_of(
        &mut self,
        id: ThreadId,
        base: Operand,
        bytes: i64,
        scaled: &[Scaled],
    ) -> Result<Val, String> {
        let mut address = self.scalar(id, base)?;
        for part in scaled {
            let index = self.scalar(id, part.index)?;
            let wide = match self.exprs.width(index.expr) {
                64 => index,
                width if width < 64 => index.unary(&mut self.exprs, Unary::SExt, 64),
                _ => index.resized(&mut self.exprs, 64),
            };
            let step = Scalar::address(&mut self.exprs, part.bytes as u64);
            let by = wide.binary(&mut self.exprs, Binary::Mul, step);
            address = address.binary(&mut self.exprs, Binary::Add, by);
        }
        let bytes = Scalar::address(&mut self.exprs, bytes as u64);
        Ok(address.binary(&mut self.exprs, Binary::Add, bytes).into())
    }

    fn binary(&mut self, id: ThreadId, op: BinaryOp, a: &Val, b: &Val) -> Result<Val, String> {
        if let (Val::List(a), Val::List(b)) = (a, b) {
            let pairs = a.iter().zip(b.iter());
            let items: Result<Vec<Val>, String> =
                pairs.map(|(a, b)| self.binary(id, op, a, b)).collect();
            return Ok(Val::list(items?));
        }
        let (a, b) = a.scalar().zip(b.scalar()).ok_or("an empty structure")?;
        if let Some(op) = integer_op(op) {
            if matches!(
                op,
                Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem
            ) {
                self.divides_by(id, b);
            }
            return Ok(a.binary(&mut self.exprs, op, b).into());
        }
        let width = self.exprs.width(a.expr);
        let known = self.floats(id, [a, b])?;
        let bits = known.and_then(|[a, b]| floats::binary(op, a, b, width));
        Ok(self.float(id, bits, width))
    }

    fn divides_by(&mut self, id: ThreadId, divisor: Scalar) {
        let width = self.exprs.width(divisor.expr);
        let zero = Scalar::number(&mut self.exprs, 0, width);
        let is_zero = divisor.compare(&mut self.exprs, Compare::Eq, zero);
        let is_not = is_zero.not(&mut self.exprs);
        if is_not.bits == Some(1) {
            self.assume(id, is_not);
        }
    }

    /// The bits of floating-point numbers, fixed from here on; `None` where one is not known.
    fn floats<const N: usize>(
        &mut self,
        id: ThreadId,
        of: [Scalar; N],
    ) -> Result<Option<[u128; N]>, String> {
        let mut bits = [0; N];
        for (slot, value) in bits.iter_mut().zip(of) {
            match self.fixed(id, value, || "a floating-point number".into()) {
                Some(known) => *slot = known,
                None => return Ok(None),
            }
        }
        Ok(Some(bits))
    }

    fn float(&mut self, id: ThreadId, bits: Option<u128>, width: u8) -> Val {
        match bits {
            Some(bits) => Scalar::number(&mut self.exprs, bits, width).into(),
            None => self
                .outside(id, "a floating-point number".into(), width, None)
                .into(),
        }
    }

    fn cast(
        &mut self,
        id: ThreadId,
        op: CastOp,
        of: &Val,
        (unit, ty): (UnitId, TypeId),
    ) -> Result<Val, String> {
        if let (Val::List(items), None) = (of, self.width(unit, ty)) {
            if op == CastOp::BitCast {
                return Err("a vector as another one".into());
            }
            let elements = self.elements(unit, ty);
            let parts = items.iter().zip(elements);
            let items: Result<Vec<Val>, String> = parts
                .map(|(item, (ty, _))| self.cast(id, op, item, (unit, ty)))
                .collect();
            return Ok(Val::list(items?));
        }
        let width = self.width(unit, ty).ok_or("a conversion to a structure")?;
        if let Val::List(items) = of {
            return self.packed(items, width);
        }
        let of = of.scalar().ok_or("an empty structure")?;
        let from = self.exprs.width(of.expr);
        let converted = match op {
            CastOp::Trunc
            | CastOp::ZExt
            | CastOp::PtrToInt
            | CastOp::IntToPtr
            | CastOp::BitCast
            | CastOp::AddrSpaceCast => {
                return Ok(of.resized(&mut self.exprs, width).into());
            }
            CastOp::SExt => return Ok(of.unary(&mut self.exprs, Unary::SExt, width).into()),
            CastOp::FPTrunc | CastOp::FPExt => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| floats::bits(floats::number(of, from)?, width))
            }
            CastOp::FPToUI => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| Some(floats::number(of, from)? as u128))
            }
            CastOp::FPToSI => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| Some(floats::number(of, from)? as i128 as u128))
            }
            CastOp::UIToFP => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| floats::bits(of as f64, width))
            }
            CastOp::SIToFP => {
                let known = self.floats(id, [of])?;
                known.and_then(|[of]| {
                    floats::bits(crate::symbolic::fold::signed(of, from) as f64, width)
                })
            }
        };
        Ok(self.float(id, converted, width))
    }

    /// A vector's bits as one number.
    fn packed(&mut self, items: &[Val], width: u8) -> Result<Val, String> {
        let mut whole: Option<Scalar> = None;
        for item in items {
            let item = item.scalar().ok_or("an empty structure")?;
            whole = Some(match whole {
                Some(low) => item.above(&mut self.exprs, low),
                None => item,
            });
        }
        let whole = whole.ok_or("an empty vector")?;
        Ok(whole.resized(&mut self.exprs, width).into())
    }

    fn compare(&mut self, id: ThreadId, op: CompareOp, a: &Val, b: &Val) -> Result<Val, String> {
        if let (Val::List(a), Val::List(b)) = (a, b) {
            let pairs = a.iter().zip(b.iter());
            let items: Result<Vec<Val>, String> =
                pairs.map(|(a, b)| self.compare(id, op, a, b)).collect();
            return Ok(Val::list(items?));
        }
        let (a, b) = a.scalar().zip(b.scalar()).ok_or("an empty structure")?;
        let exprs = &mut self.exprs;
        Ok(match op {
            CompareOp::Eq => a.compare(exprs, Compare::Eq, b),
            CompareOp::Ne => a.compare(exprs, Compare::Eq, b).not(exprs),
            CompareOp::Ult => a.compare(exprs, Compare::Ult, b),
            CompareOp::Ule => a.compare(exprs, Compare::Ule, b),
            CompareOp::Ugt => b.compare(exprs, Compare::Ult, a),
            CompareOp::Uge => b.compare(exprs, Compare::Ule, a),
            CompareOp::Slt => a.compare(exprs, Compare::Slt, b),
            CompareOp::Sle => a.compare(exprs, Compare::Sle, b),
            CompareOp::Sgt => b.compare(exprs, Compare::Slt, a),
            CompareOp::Sge => b.compare(exprs, Compare::Sle, a),
            _ => {
                let width = exprs.width(a.expr);
                let known = self.floats(id, [a, b])?;
                let holds = known.and_then(|[a, b]| floats::compare(op, a, b, width));
                return Ok(self.float(id, holds.map(u128::from), 1));
            }
        }
        .into())
    }

    pub fn select(
        &mut self,
        id: ThreadId,
        condition: Scalar,
        yes: Val,
        no: Val,
    ) -> Result<Val, String> {
        match (&yes, &no) {
            (Val::Scalar(yes), Val::Scalar(no)) => {
                Ok(condition.choose(&mut self.exprs, *yes, *no).into())
            }
            _ => match self.fixed(id, condition, || "which structure is taken".into()) {
                Some(1) => Ok(yes),
                Some(_) => Ok(no),
                None => Err("which structure is taken is not known".into()),
            },
        }
    }

    pub fn jump(&mut self, id: ThreadId, to: BlockId) -> Result<Flow, String> {
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
        Ok(Flow::On)
    }

    /// Leaves a function; its caller goes on behind the call.
    pub fn leave(&mut self, id: ThreadId, value: Option<Val>) -> Flow {
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

    /// Gives a call's result to whoever called.
    pub fn returned(&mut self, id: ThreadId, value: Option<Val>) -> Flow {
        let Some(instruction) = self.instruction(id) else {
            return Flow::On;
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
                Flow::On
            }
        }
    }

    /// The next thing that a library does.
    fn native(&mut self, id: ThreadId) -> Flow {
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
            return Flow::On;
        };
        let flow = self.library_step(id, &next);
        // What it calls stands on top of the list by now, and may be a list, too.
        if !matches!(flow, Flow::Wait)
            && !matches!(next, Todo::Return(_))
            && let Some(thread) = self.thread_mut(id)
            && let Some(Activity::Native(todo)) = thread.stack.get_mut(depth)
        {
            todo.pop_front();
        }
        flow
    }
}

/// Where a row of an access lies that comes behind others of it. What lies between members has no row: then they are
/// not the whole access.
pub(super) fn place_of_row(first: u64, at: u64, row: &Event, is_whole: bool) -> u64 {
    let is_number = matches!(row.size, 2 | 4 | 8) && !is_whole;
    let align = if is_number { u64::from(row.size) } else { 1 };
    first + (at - first).next_multiple_of(align)
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
