//! Loads and stores of instructions, as announced by the callbacks before them.

use super::{
    access::By,
    machine::PathMachine,
    thread::{AccessChunk, Announced},
    value::{Scalar, Val},
};
use unsnarl_trace::{
    Event, EventId, EventKind, LocationId, ThreadId,
    program::{Operand, TypeId, UnitId},
};

impl PathMachine<'_> {
    /// Reads a value of a type: from the access that a callback has announced, else from memory.
    pub fn load(
        &mut self,
        id: ThreadId,
        (unit, ty): (UnitId, TypeId),
        address: Operand,
    ) -> Result<Val, String> {
        let address = self.scalar(id, address)?;
        self.load_at(id, (unit, ty), address)
    }

    fn load_at(
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

    /// The thread's current access, from its event or its position.
    pub fn by(&self, id: ThreadId, event: Option<EventId>) -> By {
        let row = event.and_then(|event| self.run.events.get(event));
        By {
            thread: id,
            event,
            site: row.map_or_else(|| self.here(id), |row| row.site),
            location: row.map_or(LocationId(0), |row| row.location),
        }
    }

    /// The address of an operand; where it is unknown, that of the last callback.
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

    /// The number that the last matching callback has read.
    pub fn announced_value(&mut self, id: ThreadId, at: u64, size: u64) -> Option<Scalar> {
        let chunks = self.announced_read(id, at, size)?;
        self.join(&chunks, 0, u8::try_from(size).ok()?)
    }

    /// The bytes that the last matching callback has read.
    fn announced_read(&mut self, id: ThreadId, at: u64, size: u64) -> Option<Vec<AccessChunk>> {
        let announced = &self.thread(id)?.announced;
        let found = announced.iter().rev().find(|one| {
            !one.is_write
                && one.address <= at
                && at.saturating_add(size) <= one.address.saturating_add(one.size)
        })?;
        let (shift, chunks) = (at - found.address, found.chunks.clone());
        let chunks = chunks.into_iter().filter_map(|chunk| {
            let cut = shift.saturating_sub(chunk.offset);
            let size = u64::from(chunk.size)
                .checked_sub(cut)
                .filter(|&it| it > 0)?;
            let value = match cut {
                0 => chunk.value,
                cut => chunk.value.bytes(&mut self.exprs, cut as u8, size as u8),
            };
            Some(AccessChunk {
                offset: (chunk.offset + cut) - shift,
                size: size as u8,
                value,
            })
        });
        let chunks = chunks.collect();
        Some(self.with_padding(id, at, size, chunks))
    }

    /// The content of bytes between members.
    fn padding(&mut self, id: ThreadId, at: u64, (from, to): (u64, u64)) -> Vec<AccessChunk> {
        let mut chunks = Vec::new();
        for offset in from..to {
            let at = at.saturating_add(offset - from);
            let held = self.memory.read(&mut self.exprs, at, 1);
            let value = held.unwrap_or_else(|| self.outside(id, "padding".into(), 8, None));
            // A number beside unknown bytes is known all the same.
            self.has_partial |= value.bits.is_none();
            chunks.push(AccessChunk {
                offset,
                size: 1,
                value,
            });
        }
        chunks
    }

    /// The bytes read together with those between members, which are read along but have no event.
    fn with_padding(
        &mut self,
        id: ThreadId,
        at: u64,
        size: u64,
        chunks: Vec<AccessChunk>,
    ) -> Vec<AccessChunk> {
        let (mut whole, mut end) = (Vec::with_capacity(chunks.len()), 0);
        let ends = AccessChunk {
            offset: size,
            size: 0,
            value: Scalar::number(&mut self.exprs, 0, 8),
        };
        for chunk in chunks.into_iter().chain([ends]) {
            let until = chunk.offset.min(size);
            if until > end {
                whole.extend(self.padding(id, at.saturating_add(end), (end, until)));
            }
            end = end.max(chunk.offset.saturating_add(chunk.size.into()));
            if chunk.size > 0 {
                whole.push(chunk);
            }
        }
        whole
    }

    /// Assembles a value of a type from the bytes read, starting at `from`.
    fn assemble(
        &mut self,
        unit: UnitId,
        ty: TypeId,
        chunks: &[AccessChunk],
        from: u64,
    ) -> Option<Val> {
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
    pub fn join(&mut self, chunks: &[AccessChunk], from: u64, size: u8) -> Option<Scalar> {
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
            let chunk = AccessChunk {
                offset: 0,
                size,
                value: part,
            };
            self.store_chunk(id, at.saturating_add(offset), chunk);
        }
        Ok(())
    }

    /// Writes bytes, as announced by the preceding callback or directly.
    pub fn store_chunk(&mut self, id: ThreadId, at: u64, chunk: AccessChunk) {
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

    /// Writes chunks, row by row of the events that record the access; `first` is the address of the first
    /// row.
    pub fn write_rows(
        &mut self,
        id: ThreadId,
        (at, size): (u64, u64),
        chunks: &[AccessChunk],
        ((first, whole), rows): ((u64, u64), &[EventId]),
    ) {
        let mut row_at = first;
        let sizes = rows
            .iter()
            .filter_map(|row| Some(self.run.events.get(*row)?.size));
        let is_whole = sizes.map(u64::from).sum::<u64>() >= whole;
        let end = at.saturating_add(size);
        for &event in rows {
            let row = self.run.events.event(event);
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
                let chunk = AccessChunk {
                    offset: 0,
                    size: step,
                    value,
                };
                self.write((place, step.into()), by, &[chunk]);
                place += u64::from(step);
            }
        }
    }

    /// The value written, or the recorded one where they differ.
    fn checked(
        &mut self,
        id: ThreadId,
        value: Scalar,
        event: EventId,
        offset: u64,
        size: u8,
    ) -> Scalar {
        let row = self.run.events.event(event);
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
}

/// The address of a row of an access that begins at `first`. Padding between members has no row; the rows then do not cover
/// the whole access, and a number lies at a multiple of its size, wherever in its object the access begins.
pub(super) fn place_of_row(first: u64, at: u64, row: &Event, is_whole: bool) -> u64 {
    let is_number = matches!(row.size, 2 | 4 | 8) && !is_whole && at != first;
    match is_number {
        true => at.next_multiple_of(row.size.into()),
        false => at,
    }
}

#[cfg(test)]
mod tests {
    use super::place_of_row;
    use unsnarl_trace::{EventId, script};

    /// A range that begins in the middle of an element, behind which the next one begins at a multiple of 8.
    #[test]
    fn padding_before_a_number_depends_on_its_address() {
        let run = script::parse("main W jobs[1].fmt =1 size=8 @3 main").unwrap();
        let row = run.events.event(EventId(0));
        assert_eq!(place_of_row(0x100c, 0x1014, &row, false), 0x1018);
        assert_eq!(place_of_row(0x100c, 0x100c, &row, false), 0x100c);
        assert_eq!(place_of_row(0x100c, 0x1014, &row, true), 0x1014);
    }
}
