//! Accesses of many bytes at once: ranges stay ranges, and their cost depends on the parts of them that were
//! accessed separately.

use super::{
    access::{By, RecordedValues},
    machine::PathMachine,
    thread::AccessChunk,
    value::Scalar,
};
use crate::trace::{Action, CellId};
use unsnarl_trace::{Event, EventId, ThreadId};

/// Bound on the bytes of an access that are followed one by one.
const MOST: u64 = 1 << 12;

/// Returns whether an access of so many bytes is a range.
pub(super) fn is_wide(size: u64) -> bool {
    size > MOST
}

/// A shared cell within a range.
struct SharedCellPart {
    cell: CellId,
    offset: u64,
    size: u8,
}

impl PathMachine<'_> {
    /// The shared cells that lie in a range.
    fn cells_within(&mut self, address: u64, size: u64) -> Vec<SharedCellPart> {
        let end = address.saturating_add(size);
        let first = self.shared.partition_point(|piece| piece.address < address);
        let pieces = self.shared.get(first..).unwrap_or_default();
        let own = (first..).zip(pieces);
        let own = own.take_while(|(_, piece)| piece.address + u64::from(piece.size) <= end);
        let own: Vec<(usize, u64, u8)> = own
            .map(|(row, piece)| (row, piece.address - address, piece.size))
            .collect();
        let mut cells = Vec::new();
        for (row, offset, size) in own {
            let cell = self.cell(row);
            cells.extend(cell.map(|cell| SharedCellPart { cell, offset, size }));
        }
        cells
    }

    /// Reads a range: chunks of its shared cells and of separately written parts, by offset.
    pub(super) fn read_wide(
        &mut self,
        (address, size): (u64, u64),
        by: By,
        recorded: RecordedValues<'_, Self>,
    ) -> Vec<AccessChunk> {
        let mut chunks = Vec::new();
        for within in self.cells_within(address, size) {
            let at = address + within.offset;
            let held = self.memory.read(&mut self.exprs, at, within.size);
            let held = held.and_then(|held| held.bits);
            let seen = recorded(self, within.offset, within.size, held);
            let value = self.read_shared(within.cell, at, within.size, by, seen);
            chunks.push(AccessChunk {
                offset: within.offset,
                size: within.size,
                value,
            });
        }
        let shared = chunks.len();
        for (offset, size) in self.memory.written_in(address, size) {
            let end = offset + u64::from(size);
            let cells = chunks.get(..shared).unwrap_or_default();
            let behind = cells.partition_point(|cell| cell.offset + u64::from(cell.size) <= offset);
            let is_shared = cells.get(behind).is_some_and(|cell| cell.offset < end);
            let value = self.memory.read(&mut self.exprs, address + offset, size);
            chunks.extend(value.filter(|_| !is_shared).map(|value| AccessChunk {
                offset,
                size,
                value,
            }));
        }
        chunks.sort_by_key(|chunk| chunk.offset);
        chunks
    }

    /// Writes a range: `change` updates memory, the shared cells in the range become steps.
    fn write_wide(
        &mut self,
        id: ThreadId,
        (address, size): (u64, u64),
        rows: &[(EventId, Event)],
        change: impl FnOnce(&mut Self) -> bool,
    ) {
        let by = self.by(id, rows.first().map(|(event, _)| *event));
        self.note(address, size, by, true);
        let cells = self.cells_within(address, size);
        if !change(self) {
            self.gap("a write to memory that nothing is known of was passed over".into());
        }
        for SharedCellPart { cell, offset, size } in cells {
            let at = address + offset;
            let by = self.by(id, row_at(rows, offset));
            let held = self.memory.read(&mut self.exprs, at, size);
            let value = held.unwrap_or_else(|| self.unrecorded(at, size, by, None));
            self.memory.write(&mut self.exprs, at, size, value);
            let action = Action::Write {
                cell,
                value: value.expr,
            };
            self.step(id, by.event, by.site, action);
            self.says(id, value.said);
            self.holds_now(id, cell, value);
        }
    }

    /// Fills a range with one byte.
    pub(super) fn fill_wide(
        &mut self,
        id: ThreadId,
        place: (u64, u64),
        byte: Scalar,
        rows: &[(EventId, Event)],
    ) {
        let byte = self.exprs.constant(byte.expr).map(|byte| byte as u8);
        self.write_wide(id, place, rows, |this| {
            this.memory.fill_range(&mut this.exprs, place, byte)
        });
    }

    /// Copies a range. `chunks` holds the content of its shared cells.
    pub(super) fn copy_wide(
        &mut self,
        id: ThreadId,
        (to, from, size): (u64, u64, u64),
        chunks: &[AccessChunk],
        rows: &[(EventId, Event)],
    ) {
        self.write_wide(id, (to, size), rows, |this| {
            let is_there = this.memory.copy_range(&mut this.exprs, (to, from, size));
            for chunk in chunks.iter().filter(|_| is_there) {
                let at = to + chunk.offset;
                this.memory
                    .write(&mut this.exprs, at, chunk.size, chunk.value);
            }
            is_there
        });
    }

    /// Writes a range with unknown values, by an unknown writer.
    pub(super) fn wide_write_from_outside(
        &mut self,
        id: ThreadId,
        place: (u64, u64),
        row: (EventId, Event),
    ) {
        self.write_wide(id, place, &[row], |this| {
            this.memory.fill_range(&mut this.exprs, place, None)
        });
    }
}

/// The row that the byte at an offset of an access belongs to.
fn row_at(rows: &[(EventId, Event)], offset: u64) -> Option<EventId> {
    let mut end = 0;
    let mut rows = rows.iter();
    let row = rows.find(|(_, row)| {
        end += u64::from(row.size);
        offset < end
    });
    row.map(|(event, _)| *event)
}
