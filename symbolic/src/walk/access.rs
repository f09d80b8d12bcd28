//! Memory accesses: an access of shared memory becomes a step, private memory keeps its expressions.

use super::{
    machine::PathMachine, memory::ReadPart, plan::PlannedAccess, thread::AccessChunk,
    value::Scalar, wide::is_wide,
};
use crate::trace::{Action, CellId, SharedCell, SymbolOrigin};
use unsnarl_trace::{Event, EventId, LocationId, SiteId, ThreadId, Value};

/// Thread, event, site and location of a memory access.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    pub thread: ThreadId,
    pub event: Option<EventId>,
    pub site: SiteId,
    /// The location that the run names.
    pub location: LocationId,
}

/// A part of an access that lies wholly in one cell or wholly in private memory.
struct AccessStretch {
    offset: u64,
    size: u8,
    cell: Option<usize>,
}

/// Lookup of the recorded value of some bytes of an access, by their offset, their size and the value that
/// the model expects.
pub(super) type RecordedValues<'r, M> = &'r dyn Fn(&mut M, u64, u8, Option<u128>) -> Option<u128>;

/// Longest private part of an access, in bytes.
const LONGEST: u64 = 8;

impl PathMachine<'_> {
    fn stretches(&self, address: u64, size: u64) -> Vec<AccessStretch> {
        let end = address.saturating_add(size);
        let first = self
            .shared
            .partition_point(|piece| piece.address + u64::from(piece.size) <= address);
        let mut stretches = Vec::new();
        let mut at = address;
        let private = |from: u64, to: u64, stretches: &mut Vec<AccessStretch>| {
            let mut from = from;
            // A number of up to 16 bytes stays whole.
            let most = if to - from <= 16 && size <= 16 {
                16
            } else {
                LONGEST
            };
            while from < to {
                let next = (from + most).min(to);
                stretches.push(AccessStretch {
                    offset: from - address,
                    size: (next - from) as u8,
                    cell: None,
                });
                from = next;
            }
        };
        for (row, piece) in self.shared.iter().enumerate().skip(first) {
            if piece.address >= end {
                break;
            }
            // A piece that the access cuts was not seen by the first walk; it stays private for this access.
            let piece_end = piece.address + u64::from(piece.size);
            if piece.address < at || piece_end > end {
                continue;
            }
            private(at, piece.address, &mut stretches);
            stretches.push(AccessStretch {
                offset: piece.address - address,
                size: piece.size,
                cell: Some(row),
            });
            at = piece_end;
        }
        private(at, end, &mut stretches);
        stretches
    }

    pub(super) fn note(&mut self, address: u64, size: u64, by: By, writes: bool) {
        if by.location != LocationId(0) {
            self.places.insert(by.location, address);
            self.names.entry((address, size)).or_insert(by.location);
        }
        if writes {
            self.agrees(address);
        }
        if self.is_first {
            self.uses.note(PlannedAccess {
                address,
                size,
                thread: by.thread,
                writes,
            });
        }
    }

    /// The cell of a shared piece, made on first use with its value at that time.
    pub(super) fn cell(&mut self, row: usize) -> Option<CellId> {
        if let Some(cell) = *self.cells.get(row)? {
            return Some(cell);
        }
        let piece = *self.shared.get(row)?;
        let (address, size) = (piece.address, piece.size);
        let initial = self
            .memory
            .read(&mut self.exprs, address, size)
            .and_then(|value| value.bits);
        let location = self.names.get(&(address, size.into())).copied();
        let cell = CellId(self.made_cells.len() as u32);
        let names = self.value_names(address, size);
        if let Some(words) = &mut self.words {
            words
                .value_names
                .cells
                .extend(names.map(|names| (cell, names)));
        }
        self.made_cells.push(SharedCell {
            name: self.location_name(address, location),
            location: location.unwrap_or_default(),
            address,
            size,
            initial,
        });
        *self.cells.get_mut(row)? = Some(cell);
        Some(cell)
    }

    /// Reads memory. `recorded` looks up the recorded value of the bytes at an offset and of a size.
    pub fn read(
        &mut self,
        (address, size): (u64, u64),
        by: By,
        recorded: RecordedValues<'_, Self>,
    ) -> Vec<AccessChunk> {
        self.note(address, size, by, false);
        if is_wide(size) {
            return self.read_wide((address, size), by, recorded);
        }
        let mut chunks = Vec::new();
        for stretch in self.stretches(address, size) {
            let (offset, size) = (stretch.offset, stretch.size);
            let held = self.memory.read(&mut self.exprs, address + offset, size);
            let seen = recorded(self, offset, size, held.and_then(|held| held.bits));
            let value = match stretch.cell.and_then(|row| self.cell(row)) {
                Some(cell) => self.read_shared(cell, address + offset, size, by, seen),
                None => self.read_private(address + offset, size, by, seen),
            };
            chunks.push(AccessChunk {
                offset,
                size,
                value,
            });
        }
        chunks
    }

    pub(super) fn read_shared(
        &mut self,
        cell: CellId,
        address: u64,
        size: u8,
        by: By,
        seen: Option<u128>,
    ) -> Scalar {
        let width = size.saturating_mul(8);
        let held = self
            .memory
            .read(&mut self.exprs, address, size)
            .and_then(|held| held.bits);
        self.write_unseen(cell, by, seen);
        let recorded = seen.or(held);
        let step = self
            .thread(by.thread)
            .map(|thread| thread.next_step())
            .unwrap_or_default();
        if self.memory.is_freed(address) {
            self.reads_freed.insert(step);
        }
        let name = self.source_name(by.thread, address, by.location);
        let mut value = self.unknown(name, width, recorded, SymbolOrigin::Read(step));
        let symbol = crate::expr::SymbolId(self.symbols.len().saturating_sub(1) as u32);
        if self.paths.is_some() {
            // The content of memory in this order is only a guess.
            value.bits = held;
            self.symbols
                .get_mut(symbol.index())
                .into_iter()
                .for_each(|symbol| symbol.recorded = None);
        }
        self.step(by.thread, by.event, by.site, Action::Read { cell, symbol });
        if seen.is_some() && seen != held {
            let known = Scalar::number(&mut self.exprs, seen.unwrap_or(0), width);
            self.memory.write(&mut self.exprs, address, size, known);
        }
        value
    }

    fn read_private(&mut self, address: u64, size: u8, by: By, seen: Option<u128>) -> Scalar {
        let held = self.memory.read(&mut self.exprs, address, size);
        let held = held.map(|held| self.as_known(held));
        let Some(seen) = seen else {
            return held.unwrap_or_else(|| self.read_parts(address, size, by));
        };
        let believed = held.or_else(|| self.memory.believed(&mut self.exprs, address, size));
        if let Some(value) = believed {
            let value = self.as_known(value);
            if value.bits.is_none() {
                self.learn(by.thread, value, seen);
            }
            let value = self.as_known(value);
            if value.bits == Some(seen) {
                self.agrees(address);
                self.memory.write(&mut self.exprs, address, size, value);
                return value;
            }
            if value.bits.is_some() {
                self.changed_unseen((address, size), by, seen);
            }
        }
        let fresh = self.unrecorded(address, size, by, Some(seen));
        self.memory.write(&mut self.exprs, address, size, fresh);
        fresh
    }

    fn read_parts(&mut self, address: u64, size: u8, by: By) -> Scalar {
        let mut whole: Option<Scalar> = None;
        for part in self.memory.parts(&mut self.exprs, address, size) {
            let part = match part {
                ReadPart::Known(value) => value,
                ReadPart::Doubtful(value) => {
                    let size = (self.exprs.width(value.expr) / 8).max(1);
                    self.unrecorded(address, size, by, None)
                }
                ReadPart::Unknown(size) => self.unrecorded(address, size, by, None),
            };
            whole = Some(match whole {
                Some(low) => part.above(&mut self.exprs, low),
                None => part,
            });
        }
        let value = whole.unwrap_or_else(|| Scalar::number(&mut self.exprs, 0, 8));
        self.memory.write(&mut self.exprs, address, size, value);
        value
    }

    pub(super) fn unrecorded(
        &mut self,
        address: u64,
        size: u8,
        by: By,
        seen: Option<u128>,
    ) -> Scalar {
        let name = self.source_name(by.thread, address, by.location);
        self.outside(by.thread, name, size.saturating_mul(8), seen)
    }

    /// Writes memory: chunks of whole bytes.
    pub fn write(&mut self, (address, size): (u64, u64), by: By, chunks: &[AccessChunk]) {
        self.note(address, size, by, true);
        for chunk in chunks {
            let at = address.saturating_add(chunk.offset);
            for stretch in self.stretches(at, chunk.size.into()) {
                let value = match (stretch.offset, stretch.size == chunk.size) {
                    (0, true) => chunk.value,
                    (offset, _) => chunk
                        .value
                        .bytes(&mut self.exprs, offset as u8, stretch.size),
                };
                let cell = stretch.cell.and_then(|row| self.cell(row));
                let at = at + stretch.offset;
                let value = match cell {
                    Some(_) => value,
                    None => self.says_assignment(by, (at, stretch.size), value),
                };
                if let Some(cell) = cell {
                    let action = Action::Write {
                        cell,
                        value: value.expr,
                    };
                    self.step(by.thread, by.event, by.site, action);
                    self.says(by.thread, value.said);
                    self.holds_now(by.thread, cell, value);
                }
                if !self.memory.write(&mut self.exprs, at, stretch.size, value) {
                    self.gap("a write to memory that nothing is known of was passed over".into());
                }
            }
        }
    }

    /// The recorded value of an access's bytes: the number of the event, or the address that the event names.
    /// `held` is the value that the model expects; it is believed where the run has only a name that was
    /// never resolved.
    pub fn row_bits(&mut self, row: &Event, offset: u64, size: u8) -> Option<u128> {
        self.row_bits_beside(row, offset, size, None)
    }

    /// As [`Machine::row_bits`], given the value that the model expects.
    pub fn row_bits_beside(
        &mut self,
        row: &Event,
        offset: u64,
        size: u8,
        held: Option<u128>,
    ) -> Option<u128> {
        let bits = match row.value? {
            Value::Bits(bits) => bits,
            Value::Address(location) => match held.filter(|_| offset == 0 && size == 8) {
                Some(held) => self.meant(location, held as u64),
                None => self.resolve(location)?,
            },
        };
        let end = offset.checked_add(size.into())?;
        if end > u64::from(row.size) || end > 8 {
            return None;
        }
        let bits = u128::from(bits) >> (offset * 8);
        Some(bits & crate::fold::mask(size.saturating_mul(8)))
    }

    /// The address that a location's name stands for, given the model's address: names of stack variables
    /// mean another place in each call, and those in libraries and constants are not in the model.
    fn meant(&mut self, location: LocationId, held: u64) -> u64 {
        if let Some(place) = self.contradicts(location, held) {
            return place;
        }
        self.places.insert(location, held);
        held
    }

    /// The address of a location, if it certainly differs from this one. A pointer's target may carry the
    /// name of a larger object that begins at the same address, so only addresses in other objects differ for
    /// certain.
    pub fn contradicts(&mut self, location: LocationId, at: u64) -> Option<u64> {
        let place = self.certain(location).filter(|place| *place != at)?;
        let base = |at| self.memory.object(at).map(|object| object.base);
        (base(place) != base(at)).then_some(place)
    }

    /// The address of a location whose name means one address in the whole run: a heap block or a global
    /// variable.
    fn certain(&mut self, location: LocationId) -> Option<u64> {
        let name = self.run.location(location);
        if self.run.location_parts(location).is_on_heap() {
            let known = self.places.get(&location).copied();
            return known.or_else(|| Some(self.memory.named(name)?.base));
        }
        let place = match self.places.get(&location) {
            Some(&place) => Some(place),
            None => {
                let place = self.known_name(name);
                place.inspect(|place| {
                    self.places.insert(location, *place);
                })
            }
        };
        let base = |place| self.memory.object(place).map(|object| object.base);
        place.filter(|&place| base(place).is_some_and(|base| self.variables.contains(&base)))
    }
}
