//! The callbacks that clang inserts before accesses; each leaves events.

use super::{
    access::By,
    calls::{Did, MadeCall},
    machine::{Due, PathMachine},
    thread::{AccessChunk, Announced},
    value::{Scalar, Val},
};
use crate::expr::{Binary, Comparison};
use unsnarl_trace::{Event, EventId, EventKind, LocationId, ThreadId, Value};

/// `true` if a row starts a new access, since it begins at the same location as the preceding rows.
pub(super) fn begins_again(
    mut before: impl DoubleEndedIterator<Item = LocationId>,
    next: LocationId,
) -> bool {
    // Neighbours may have one name.
    let last = before.next_back();
    next != LocationId(0) && last.is_some_and(|last| last != next) && before.next() == Some(next)
}

impl PathMachine<'_> {
    pub fn callback(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let name = made.name.strip_prefix("__tsan_").unwrap_or(made.name);
        if matches!(
            name,
            "func_entry"
                | "func_exit"
                | "init"
                | "ignore_thread_begin"
                | "ignore_thread_end"
                | "atomic_signal_fence"
        ) {
            return Ok(Did::Value(None));
        }
        if matches!(name, "memcpy" | "memmove" | "memset") {
            return self.memory_call(id, &MadeCall { name, ..*made });
        }
        if name == "atomic_thread_fence" {
            return self.one_event(id, &[EventKind::Fence], None);
        }
        if let Some(rest) = name.strip_prefix("atomic") {
            return self.atomic(id, made, rest);
        }
        let plain = name
            .trim_start_matches("unaligned_")
            .trim_start_matches("volatile_");
        let size = |text: &str| text.parse::<u64>().ok();
        if plain == "vptr_update" {
            return self.announce(id, made, 8, true);
        }
        if plain == "vptr_read" {
            return self.announce(id, made, 8, false);
        }
        if let Some(size) = plain.strip_prefix("read_write").and_then(size) {
            self.announce(id, made, size, false)?;
            return self.announce(id, made, size, true);
        }
        if let Some(size) = plain.strip_prefix("read").and_then(size) {
            return self.announce(id, made, size, false);
        }
        if let Some(size) = plain.strip_prefix("write").and_then(size) {
            return self.announce(id, made, size, true);
        }
        if plain == "read_range" || plain == "write_range" {
            let size = made
                .argument(1)
                .and_then(|size| size.bits)
                .ok_or("a range of unknown length")?;
            return self.announce(id, made, size as u64, plain == "write_range");
        }
        Err(format!("the callback {} is not known", made.name))
    }

    /// Notes an announced access that the next instructions will perform.
    fn announce(
        &mut self,
        id: ThreadId,
        made: &MadeCall,
        size: u64,
        is_write: bool,
    ) -> Result<Did, String> {
        let pointer = made.argument(0).ok_or("a callback without an address")?;
        let kind = if is_write {
            EventKind::Write
        } else {
            EventKind::Read
        };
        match self.due_access(id, kind, size, pointer.bits.map(|bits| bits as u64)) {
            Due::Later | Due::Over => return Ok(Did::Wait),
            Due::Now(_, row) if row.kind == EventKind::Failure => {
                self.use_event(id, row.site);
                self.bad_address(id, pointer);
                return Ok(self.gone(id));
            }
            Due::Now(_, row) if row.kind == kind => {}
            // What a write to a bit-field reads first has no callback of its own everywhere.
            Due::Now(_, row) if is_write && row.kind == EventKind::Read => {
                return match self.announce(id, made, size, false)? {
                    Did::Value(_) => self.announce(id, made, size, true),
                    other => Ok(other),
                };
            }
            Due::Now(_, row) => {
                return Err(format!(
                    "the run has a {} where the model has a {}",
                    row.kind.name(),
                    kind.name()
                ));
            }
            Due::Elsewhere => return self.not_recorded(id),
        }
        let at = self.accessed(id, pointer)?;
        if is_write {
            self.would_write(id)?;
        }
        let rows = self.take_rows(id, kind, size);
        let is_copy = is_write && self.follows_read(id);
        if let Some(thread) = self.thread_mut(id).filter(|_| !is_copy) {
            thread.announced.clear();
        }
        self.meets_freed(id, at);
        let chunks = match is_write {
            true => Vec::new(),
            false => self.read_rows(id, (at, size), &rows),
        };
        if let Some(thread) = self.thread_mut(id) {
            thread.announced.push(Announced {
                address: at,
                size,
                is_write,
                chunks,
                rows: rows.iter().map(|(event, _)| *event).collect(),
                done: Vec::new(),
            });
        }
        if is_write {
            // The run's name for it, before anything is written.
            let mut offset = 0;
            for (_, row) in &rows {
                self.places.insert(row.location, at.saturating_add(offset));
                offset += u64::from(row.size);
            }
        }
        match self.ends_with_access(id) {
            true => Ok(self.gone(id)),
            false => Ok(Did::Value(None)),
        }
    }

    /// Returns whether the thread comes directly from the callback of a read: what it announced is then copied.
    fn follows_read(&self, id: ThreadId) -> bool {
        use unsnarl_trace::program::Op;
        let before = self.frame(id).and_then(|frame| {
            let at = frame.at.checked_sub(1)?;
            let (_, code) = self.code(id)?;
            match &code.instructions.get(at as usize)?.op {
                Op::Call { callee, .. } => self.callee_name(frame.unit, *callee),
                _ => None,
            }
        });
        before.is_some_and(|name| name.starts_with("__tsan_") && name.contains("read"))
    }

    /// The address of the access that is the thread's next event; if the model does not know it, the address
    /// that the run's name stands for.
    pub fn accessed(&mut self, id: ThreadId, pointer: Scalar) -> Result<u64, String> {
        let pointer = self.as_known(pointer);
        let location = self.peek(id).map(|(_, row)| row.location);
        let place = location.unwrap_or_default();
        if pointer.bits.is_none() {
            let at = self.resolve(place).ok_or("an address is not known")?;
            self.learn(id, pointer, at.into());
            return Ok(at);
        }
        let is_chosen = self.thread(id).is_some_and(|it| !it.choices.is_empty());
        let at = pointer.bits.filter(|_| is_chosen);
        if at.is_some_and(|at| self.contradicts(place, at as u64).is_some()) {
            return Err("it would access something else than it did".into());
        }
        self.address(id, pointer)
            .ok_or_else(|| "an address is not known".into())
    }

    /// Checks that the store behind a callback would write the recorded value, as far as it is known. Needed
    /// only when the thread may have arrived here by a wrong choice.
    fn would_write(&mut self, id: ThreadId) -> Result<(), String> {
        use unsnarl_trace::program::Op;
        let next = self.frame(id).filter(|_| {
            let thread = self.thread(id);
            thread.is_some_and(|it| !it.choices.is_empty())
        });
        let at = next.map(|frame| frame.at as usize + 1);
        let next = self.code(id).zip(at);
        let next = next.and_then(|((_, code), at)| code.instructions.get(at));
        let (Some(Op::Store { value, .. }), Some((_, row))) =
            (next.map(|next| &next.op), self.peek(id))
        else {
            return Ok(());
        };
        let Some(bits) = self.operand(id, *value)?.scalar().and_then(|it| it.bits) else {
            return Ok(());
        };
        match self.row_bits_beside(&row, 0, row.size as u8, Some(bits)) {
            Some(seen) if seen != bits => Err("it would write something else than it did".into()),
            _ => Ok(()),
        }
    }

    /// As [`Machine::due`], for an access: the first instructions of a function have no source position, so
    /// their events have no point; and where an optimizer has merged two instructions, the events carry the
    /// other one's point.
    fn due_access(&self, id: ThreadId, kind: EventKind, size: u64, at: Option<u64>) -> Due {
        match self.peek(id) {
            Some((event, row)) if self.is_alike(id, row, (kind, size, at)) => {
                match event <= self.now {
                    true => Due::Now(event, row),
                    false => Due::Later,
                }
            }
            _ => self.due(id),
        }
    }

    /// `true` if an event may belong to this access although its point is another instruction's.
    fn is_alike(
        &self,
        id: ThreadId,
        row: Event,
        (kind, size, at): (EventKind, u64, Option<u64>),
    ) -> bool {
        let function = |(unit, function, _)| (unit, function);
        let here = self.spot(id).map(function);
        let there = self.points.get(row.point).map(function);
        let known = self.places.get(&row.location).copied();
        (row.kind, u64::from(row.size)) == (kind, size)
            && (there.is_none() || there == here)
            && known.is_none_or(|known| Some(known) == at || self.is_on_stack(row.location))
    }

    /// `true` if the location is on a stack; such places have the same name in each call.
    fn is_on_stack(&self, location: unsnarl_trace::LocationId) -> bool {
        self.run.location_parts(location).is_on_stack()
    }

    /// Takes the rows of one access: adjacent events of one kind at one point, up to this many bytes.
    pub fn take_rows(&mut self, id: ThreadId, kind: EventKind, size: u64) -> Vec<(EventId, Event)> {
        let mut rows: Vec<(EventId, Event)> = Vec::new();
        let mut bytes = 0;
        while bytes < size {
            let Some((event, row)) = self.peek(id) else {
                break;
            };
            let first = rows.first().map(|(_, first)| first.point);
            let again = begins_again(rows.iter().map(|(_, row)| row.location), row.location);
            // Where padding has no row, the rest is too short for the first row of the next access.
            let is_beyond = !rows.is_empty() && bytes + u64::from(row.size) > size;
            let is_other = row.kind != kind || first.is_some_and(|first| first != row.point);
            if is_other || again || is_beyond {
                break;
            }
            self.use_event(id, row.site);
            bytes += u64::from(row.size);
            rows.push((event, row));
        }
        rows
    }

    /// Reads the bytes that these rows record, one after the other from this address, for an access of so
    /// many bytes.
    pub fn read_rows(
        &mut self,
        id: ThreadId,
        (at, whole): (u64, u64),
        rows: &[(EventId, Event)],
    ) -> Vec<AccessChunk> {
        let sizes = rows.iter().map(|(_, row)| u64::from(row.size));
        let is_whole = sizes.sum::<u64>() >= whole;
        let mut chunks = Vec::new();
        let mut offset = 0;
        for (event, row) in rows {
            let by: By = self.by(id, Some(*event));
            let from = at.saturating_add(offset);
            offset = super::loads::place_of_row(at, from, row, is_whole) - at;
            let place = (at.saturating_add(offset), u64::from(row.size));
            let row = *row;
            let read = self.read(place, by, &move |this, from, size, held| {
                this.row_bits_beside(&row, from, size, held)
            });
            chunks.extend(read.into_iter().map(|chunk| AccessChunk {
                offset: chunk.offset + offset,
                ..chunk
            }));
            offset += u64::from(row.size);
        }
        chunks
    }

    /// Handles a callback whose event was not recorded.
    fn not_recorded(&mut self, id: ThreadId) -> Result<Did, String> {
        let Some((_, row)) = self.peek(id) else {
            return Ok(Did::Wait);
        };
        let there = self.points.get(row.point);
        let place = self.run.meta.site(row.site).line;
        Err(format!(
            "its next event is a {} at line {place}{}, not this access",
            row.kind.name(),
            if there.is_none() {
                " in code without a model"
            } else {
                ""
            }
        ))
    }

    /// Uses the only event of a call, of one of these kinds.
    pub fn one_event(
        &mut self,
        id: ThreadId,
        kinds: &[EventKind],
        result: Option<Val>,
    ) -> Result<Did, String> {
        loop {
            match self.due(id) {
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere => return Ok(Did::Strange),
                Due::Now(_, row) => {
                    self.raw(id);
                    if kinds.contains(&row.kind) {
                        return Ok(Did::Value(result));
                    }
                }
            }
        }
    }

    fn atomic(&mut self, id: ThreadId, made: &MadeCall, rest: &str) -> Result<Did, String> {
        let (bits, operation) = rest.split_once('_').ok_or("an unknown atomic operation")?;
        let width: u8 = bits.parse().map_err(|_| "an unknown atomic operation")?;
        if matches!(
            operation,
            "compare_exchange_strong" | "compare_exchange_weak"
        ) {
            return self.exchange_if(id, made, width);
        }
        let pointer = made.argument(0).ok_or("a callback without an address")?;
        let (event, row) = match self.due(id) {
            Due::Later | Due::Over => return Ok(Did::Wait),
            Due::Elsewhere => return self.not_recorded(id),
            Due::Now(_, row) if row.kind == EventKind::Failure => {
                self.use_event(id, row.site);
                self.bad_address(id, pointer);
                return Ok(self.gone(id));
            }
            Due::Now(event, row) => (event, row),
        };
        let at = self.accessed(id, pointer)?;
        self.use_event(id, row.site);
        self.meets_freed(id, at);
        let by = self.by(id, Some(event));
        let place = (at, u64::from(width / 8));
        let old = match row.kind {
            EventKind::AtomicRead | EventKind::Read | EventKind::Rmw => {
                Some(self.read_atomic(place, by, row)?)
            }
            _ => None,
        };
        let operand = made.argument(1);
        let new = match (operation, row.kind) {
            ("load", _) => None,
            (_, EventKind::AtomicRead) => None,
            ("store" | "exchange", _) => operand,
            ("compare_exchange_val", _) => made.argument(2),
            _ => match (old, operand) {
                (Some(old), Some(operand)) => Some(self.fetched(operation, old, operand)?),
                _ => None,
            },
        };
        if let (Some(new), true) = (new, row.kind.writes()) {
            let new = new.resized(&mut self.exprs, width);
            let new = self.as_recorded(id, new, row, width);
            let chunk = AccessChunk {
                offset: 0,
                size: width / 8,
                value: new,
            };
            self.write(place, by, &[chunk]);
        }
        if let (true, Some(old), Some(expected)) =
            (operation.starts_with("compare_exchange"), old, operand)
        {
            let expected = expected.resized(&mut self.exprs, width);
            let equal = old.compare(&mut self.exprs, Comparison::Eq, expected);
            if equal.bits == Some(u128::from(row.kind == EventKind::Rmw)) {
                self.assume(id, equal);
            }
        }
        match self.ends_with_access(id) {
            true => Ok(self.gone(id)),
            false => Ok(Did::Value(old.map(Val::from))),
        }
    }

    /// Models a compare-exchange that reads the expected value from memory, and writes there what it finds instead.
    fn exchange_if(&mut self, id: ThreadId, made: &MadeCall, width: u8) -> Result<Did, String> {
        let bytes = u64::from(width / 8);
        let pointer = made.argument(1).ok_or("a callback without an address")?;
        let guess = MadeCall {
            arguments: made.arguments.get(1..).unwrap_or(&[]),
            ..*made
        };
        if self.stage(id) == 0 {
            match self.announce(id, &guess, bytes, false)? {
                Did::Value(_) => self.set_stage(id, 1),
                other => return Ok(other),
            }
        }
        let at = self.address(id, pointer).ok_or("an address is not known")?;
        if self.stage(id) == 1 {
            let expected = self
                .announced_value(id, at, bytes)
                .ok_or("an expected value that was not read")?;
            let arguments = [
                made.arguments.first().cloned(),
                Some(expected.into()),
                made.arguments.get(2).cloned(),
            ];
            let arguments: Option<Vec<Val>> = arguments.into_iter().collect();
            let exchange = MadeCall {
                arguments: &arguments.ok_or("a callback without arguments")?,
                ..*made
            };
            let old = match self.atomic(id, &exchange, &format!("{width}_compare_exchange_val"))? {
                Did::Value(old) => old.and_then(|old| old.scalar()),
                other => return Ok(other),
            };
            let old = old.ok_or("an exchange without a value")?;
            let succeeds = self.last_kind(id) == Some(EventKind::Rmw);
            let equal = old.compare(&mut self.exprs, Comparison::Eq, expected);
            let result = match equal.bits == Some(u128::from(succeeds)) {
                true => equal,
                // A weak one may fail for no reason.
                false => Scalar::number(&mut self.exprs, u128::from(succeeds), 1),
            };
            if succeeds {
                return Ok(Did::Value(Some(self.as_result(made, result))));
            }
            if let Some(frame) = self.frame_mut(id) {
                (frame.stage, frame.pending) = (2, Some((old, result)));
            }
        }
        match self.announce(id, &guess, bytes, true)? {
            Did::Value(_) => {}
            other => return Ok(other),
        }
        let pending = self.frame_mut(id).and_then(|frame| frame.pending.take());
        let (old, result) = pending.ok_or("an exchange without a value")?;
        let chunk = AccessChunk {
            offset: 0,
            size: width / 8,
            value: old,
        };
        self.store_chunk(id, at, chunk);
        Ok(Did::Value(Some(self.as_result(made, result))))
    }

    fn stage(&self, id: ThreadId) -> u32 {
        self.frame(id).map_or(0, |frame| frame.stage)
    }

    fn set_stage(&mut self, id: ThreadId, stage: u32) {
        if let Some(frame) = self.frame_mut(id) {
            frame.stage = stage;
        }
    }

    /// The kind of the thread's last event.
    fn last_kind(&self, id: ThreadId) -> Option<EventKind> {
        let last = self.thread(id)?.last_event();
        Some(self.run.events.get(last)?.kind)
    }

    /// A truth value as wide as the call's result.
    fn as_result(&mut self, made: &MadeCall, result: Scalar) -> Val {
        let width = made.width.unwrap_or(8);
        result.resized(&mut self.exprs, width).into()
    }

    fn read_atomic(&mut self, place: (u64, u64), by: By, row: Event) -> Result<Scalar, String> {
        let chunks = self.read(place, by, &move |this, from, size, held| match row.kind {
            EventKind::Rmw => {
                let old = Event {
                    value: row.old.map(Value::Bits),
                    ..row
                };
                this.row_bits(&old, from, size)
            }
            _ => this.row_bits_beside(&row, from, size, held),
        });
        self.join(&chunks, 0, place.1 as u8)
            .ok_or_else(|| "an atomic access in parts".into())
    }

    fn as_recorded(&mut self, id: ThreadId, new: Scalar, row: Event, width: u8) -> Scalar {
        let seen = self.row_bits_beside(&row, 0, width / 8, new.bits);
        match seen {
            Some(seen) if new.bits != Some(seen) => {
                let name = self.run.location(row.location).to_owned();
                if new.bits.is_some() {
                    self.gap(format!("what was written to `{name}` is not what the model says: the run's value is taken"));
                }
                self.outside(id, name, width, Some(seen))
            }
            _ => new,
        }
    }

    fn fetched(&mut self, operation: &str, old: Scalar, operand: Scalar) -> Result<Scalar, String> {
        let width = self.exprs.width(old.expr);
        let operand = operand.resized(&mut self.exprs, width);
        let exprs = &mut self.exprs;
        let op = match operation {
            "fetch_add" => Binary::Add,
            "fetch_sub" => Binary::Sub,
            "fetch_and" => Binary::And,
            "fetch_or" => Binary::Or,
            "fetch_xor" => Binary::Xor,
            "fetch_nand" => {
                let both = old.binary(exprs, Binary::And, operand);
                return Ok(both.unary(exprs, crate::expr::Unary::Not, width));
            }
            _ => return Err(format!("the atomic operation {operation} is not known")),
        };
        Ok(old.binary(exprs, op, operand))
    }
}
