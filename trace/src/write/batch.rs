//! Record batches of a run file, packed column by column.

use super::{lz4::Lz4, rows::BatchRows};
use crate::{
    run::{OLD_KNOWN, VALUE_KNOWN},
    schema::Column,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, ToByteSlice};

/// Alignment of buffers within a message, as Arrow recommends it.
pub(super) const ALIGNMENT: usize = 64;

/// A column of a batch as it lies in the file.
pub(super) struct PackedColumn {
    /// Number of rows without a value.
    pub nulls: usize,
    /// Bytes of the bits that say which rows have a value, and of the values, without padding.
    pub lengths: [usize; 2],
    /// Both, each padded.
    pub bytes: Vec<u8>,
}

/// A batch whose columns are packed.
pub(super) struct PackedBatch {
    /// Number of rows.
    pub rows: usize,
    /// The columns in the order of [`Column::ALL`]. One that would say nothing is not there.
    pub columns: [Option<PackedColumn>; Column::ALL.len()],
}

impl PackedBatch {
    /// Returns whether a column is there.
    pub fn has(&self, column: Column) -> bool {
        self.columns
            .get(column as usize)
            .is_some_and(Option::is_some)
    }
}

/// Packs the batches of one file.
pub(super) struct BatchPacker {
    lz4: Lz4,
    is_compressed: bool,
}

impl BatchPacker {
    /// Packs with or without compression.
    pub fn new(is_compressed: bool) -> BatchPacker {
        BatchPacker {
            lz4: Lz4::default(),
            is_compressed,
        }
    }

    /// Packs the rows that begin with the run's row of this number.
    pub fn pack(&mut self, rows: &BatchRows<'_>, first_row: usize) -> PackedBatch {
        let columns = Column::ALL.map(|column| self.column(rows, first_row, column));
        PackedBatch {
            rows: rows.len(),
            columns,
        }
    }

    /// Packs a column, unless each of its rows holds what a reader assumes when it is missing.
    fn column(
        &mut self,
        rows: &BatchRows<'_>,
        first_row: usize,
        column: Column,
    ) -> Option<PackedColumn> {
        let is_numbered = || {
            (first_row as u64..)
                .zip(rows.seq)
                .all(|(row, seq)| row == *seq)
        };
        Some(match column {
            Column::Seq if self.is_compressed && is_numbered() => return None,
            Column::Point if rows.largest(column) == 0 => return None,
            Column::Seq => self.numbers(rows.seq),
            Column::Thread => self.numbers(rows.thread),
            Column::Kind => self.numbers(rows.kind),
            Column::Site => self.numbers(rows.site),
            Column::Location => self.numbers(rows.location),
            Column::Size => self.numbers(rows.size),
            Column::Flags => self.numbers(rows.flags),
            Column::Value => self.nullable(rows.value, rows.known, VALUE_KNOWN),
            Column::Old => self.nullable(rows.old, rows.known, OLD_KNOWN),
            Column::Pointee => self.numbers(rows.pointee),
            Column::Stack => self.numbers(rows.stack),
            Column::Point => self.numbers(rows.point),
        })
    }

    /// The column that a reader assumes where a batch has none.
    pub fn assumed(&mut self, column: Column, first_row: usize, rows: usize) -> PackedColumn {
        match column {
            Column::Seq => {
                let numbers: Vec<u64> = (first_row as u64..).take(rows).collect();
                self.numbers(&numbers)
            }
            _ => self.numbers(&vec![0u32; rows]),
        }
    }

    fn numbers<T: ArrowNativeType>(&mut self, values: &[T]) -> PackedColumn
    where
        [T]: ToByteSlice,
    {
        self.packed(&[], 0, values)
    }

    fn nullable(&mut self, values: &[u64], known: &[u8], bit: u8) -> PackedColumn {
        let is_known = |row: usize| known.get(row).is_some_and(|known| known & bit != 0);
        let validity = BooleanBuffer::collect_bool(values.len(), is_known);
        match values.len() - validity.count_set_bits() {
            0 => self.numbers(values),
            nulls => self.packed(validity.values(), nulls, values),
        }
    }

    fn packed<T: ArrowNativeType>(
        &mut self,
        validity: &[u8],
        nulls: usize,
        values: &[T],
    ) -> PackedColumn
    where
        [T]: ToByteSlice,
    {
        let mut bytes = Vec::new();
        let lengths =
            [validity, values.to_byte_slice()].map(|buffer| self.append(buffer, &mut bytes));
        bytes.shrink_to_fit();
        PackedColumn {
            nulls,
            lengths,
            bytes,
        }
    }

    /// Appends a buffer with its padding; returns its length without it.
    fn append(&mut self, buffer: &[u8], to: &mut Vec<u8>) -> usize {
        let start = to.len();
        match self.is_compressed {
            true => self.lz4.append(buffer, to),
            false => to.extend_from_slice(buffer),
        }
        let length = to.len() - start;
        to.resize(to.len().next_multiple_of(ALIGNMENT), 0);
        length
    }
}
