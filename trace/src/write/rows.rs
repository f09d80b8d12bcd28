//! Rows of record batches before they are packed.

use crate::{
    model::Event,
    run::{Events, StoredValue},
    schema::{BATCH_ROWS, Column},
};
use std::ops::Range;

/// The rows of a batch, column by column.
pub(super) struct BatchRows<'a> {
    pub seq: &'a [u64],
    pub thread: &'a [u16],
    pub kind: &'a [u8],
    pub site: &'a [u32],
    pub location: &'a [u32],
    pub size: &'a [u32],
    pub flags: &'a [u16],
    pub value: &'a [u64],
    pub old: &'a [u64],
    pub pointee: &'a [u32],
    pub stack: &'a [u32],
    pub point: &'a [u32],
    pub known: &'a [u8],
}

macro_rules! rows_of {
    ($columns:expr, $rows:expr) => {
        BatchRows {
            seq: part(&$columns.seq[..], $rows),
            thread: part(&$columns.thread[..], $rows),
            kind: part(&$columns.kind[..], $rows),
            site: part(&$columns.site[..], $rows),
            location: part(&$columns.location[..], $rows),
            size: part(&$columns.size[..], $rows),
            flags: part(&$columns.flags[..], $rows),
            value: part(&$columns.value[..], $rows),
            old: part(&$columns.old[..], $rows),
            pointee: part(&$columns.pointee[..], $rows),
            stack: part(&$columns.stack[..], $rows),
            point: part(&$columns.point[..], $rows),
            known: part(&$columns.known[..], $rows),
        }
    };
}

fn part<T>(column: &[T], rows: Range<usize>) -> &[T] {
    column.get(rows).unwrap_or_default()
}

impl<'a> BatchRows<'a> {
    /// These rows of a run.
    pub fn of(events: &'a Events, rows: Range<usize>) -> BatchRows<'a> {
        rows_of!(events, rows.clone())
    }

    /// All rows of a batch that is filled.
    pub fn all(batch: &'a BatchColumns) -> BatchRows<'a> {
        rows_of!(batch, 0..batch.len)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// The largest id in a column that names rows of a table, and 0 for other columns.
    pub fn largest(&self, column: Column) -> u32 {
        fn most<T: Copy + Ord + Into<u32>>(ids: &[T]) -> u32 {
            ids.iter().copied().max().map_or(0, Into::into)
        }
        match column {
            Column::Thread => most(self.thread),
            Column::Kind => most(self.kind),
            Column::Site => most(self.site),
            Column::Location => most(self.location),
            Column::Pointee => most(self.pointee),
            Column::Stack => most(self.stack),
            Column::Point => most(self.point),
            Column::Seq | Column::Size | Column::Flags | Column::Value | Column::Old => 0,
        }
    }
}

/// The columns of a batch that is filled: room for all of its rows, of which the first ones are used.
pub(super) struct BatchColumns {
    len: usize,
    seq: Box<[u64; BATCH_ROWS]>,
    thread: Box<[u16; BATCH_ROWS]>,
    kind: Box<[u8; BATCH_ROWS]>,
    site: Box<[u32; BATCH_ROWS]>,
    location: Box<[u32; BATCH_ROWS]>,
    size: Box<[u32; BATCH_ROWS]>,
    flags: Box<[u16; BATCH_ROWS]>,
    value: Box<[u64; BATCH_ROWS]>,
    old: Box<[u64; BATCH_ROWS]>,
    pointee: Box<[u32; BATCH_ROWS]>,
    stack: Box<[u32; BATCH_ROWS]>,
    point: Box<[u32; BATCH_ROWS]>,
    known: Box<[u8; BATCH_ROWS]>,
}

impl Default for BatchColumns {
    fn default() -> BatchColumns {
        BatchColumns {
            len: 0,
            seq: zeros(),
            thread: zeros(),
            kind: zeros(),
            site: zeros(),
            location: zeros(),
            size: zeros(),
            flags: zeros(),
            value: zeros(),
            old: zeros(),
            pointee: zeros(),
            stack: zeros(),
            point: zeros(),
            known: zeros(),
        }
    }
}

fn zeros<T: Copy + Default>() -> Box<[T; BATCH_ROWS]> {
    Box::new([T::default(); BATCH_ROWS])
}

impl BatchColumns {
    /// Returns whether there is no room for another row.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= BATCH_ROWS
    }

    /// Makes room for all rows again.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a row, if there is room.
    #[inline(always)]
    pub fn push(&mut self, event: &Event) {
        let row = self.len;
        if row >= BATCH_ROWS {
            return;
        }
        let stored = StoredValue::of(event);
        set(&mut self.seq, row, event.seq);
        set(&mut self.thread, row, event.thread.0);
        set(&mut self.kind, row, event.kind as u8);
        set(&mut self.site, row, event.site.0);
        set(&mut self.location, row, event.location.0);
        set(&mut self.size, row, event.size);
        set(&mut self.flags, row, event.flags);
        set(&mut self.value, row, stored.bits);
        set(&mut self.old, row, stored.old);
        set(&mut self.pointee, row, stored.pointee);
        set(&mut self.stack, row, event.stack.0);
        set(&mut self.point, row, event.point.0);
        set(&mut self.known, row, stored.known);
        self.len = row + 1;
    }
}

/// Sets a cell. The compiler drops the check where it has seen that the row is there.
#[inline(always)]
fn set<T>(column: &mut [T; BATCH_ROWS], row: usize, value: T) {
    if let Some(cell) = column.get_mut(row) {
        *cell = value;
    }
}
