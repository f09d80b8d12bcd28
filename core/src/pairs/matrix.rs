//! Bit matrix of the pairs that may still be coupled; a block of rows is kept at a time.

use super::meetings::{MetPair, SEVERAL};
use std::ops::Range;
use unsnarl_trace::EventId;

/// A candidate pair in a group of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MatrixItem {
    /// Number of the pair.
    pub number: u32,
    /// Location in that run, or [`SEVERAL`].
    pub location: u32,
    /// Inner loops that contain its ends.
    pub within: (u32, u32),
    /// Head of its first occurrence in the group.
    pub head: EventId,
    /// Tail of its first occurrence in the group.
    pub tail: EventId,
}

impl MatrixItem {
    /// Makes an item of a pair by its own number.
    pub fn of(met: &MetPair) -> MatrixItem {
        MatrixItem {
            number: met.pair,
            location: met.location,
            within: met.within,
            head: met.head,
            tail: met.tail,
        }
    }

    /// Returns whether two pairs are about different variables: not both on one and the same location.
    fn is_apart(&self, other: &MatrixItem) -> bool {
        self.location != other.location || self.location == SEVERAL
    }
}

/// The bit matrix. In its inputs, a half of a group contains each pair once.
pub(super) struct Matrix {
    block: Range<usize>,
    width: usize,
    bits: Vec<u64>,
    /// Rows that may have a bit; a superset.
    live: Vec<bool>,
    /// Columns that may have a bit; a superset.
    columns: Vec<u64>,
    /// Scratch row, empty between operations.
    mask: Vec<u64>,
    /// `true` if the last marks added bits.
    changed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CountChange {
    Mark,
    Strike,
}

impl Matrix {
    /// Makes an empty matrix for the rows of `block` of a square with `size` rows.
    pub fn new(block: Range<usize>, size: usize) -> Matrix {
        let width = size.div_ceil(64);
        Matrix {
            width,
            bits: vec![0; block.len() * width],
            live: vec![false; block.len()],
            columns: vec![u64::MAX; width],
            mask: vec![0; width],
            changed: false,
            block,
        }
    }

    /// Returns whether no row has a bit.
    pub fn is_empty(&self) -> bool {
        !self.live.contains(&true)
    }

    /// Recomputes the rows and columns that have a bit.
    pub fn refresh(&mut self) {
        self.columns.fill(0);
        for (row, live) in self.live.iter_mut().enumerate().filter(|(_, live)| **live) {
            let bits = self.bits.get(row * self.width..(row + 1) * self.width);
            *live = false;
            for (column, bits) in self.columns.iter_mut().zip(bits.unwrap_or(&[])) {
                *column |= bits;
                *live |= *bits != 0;
            }
        }
    }

    /// Returns whether the pair with this number may be coupled with another one.
    pub fn has_any(&self, number: u32) -> bool {
        let number = number as usize;
        let column = self.columns.get(number / 64);
        let row = number.checked_sub(self.block.start);
        let row = row.and_then(|row| self.live.get(row));
        row.copied().unwrap_or(false)
            || column.is_some_and(|column| column >> (number % 64) & 1 == 1)
    }

    /// Marks that those of one half may be coupled with those of the other, if they are about different
    /// variables. Returns whether that is new for some of them.
    pub fn mark(&mut self, a: &[MatrixItem], b: &[MatrixItem]) -> bool {
        self.changed = false;
        self.change(a, b, CountChange::Mark);
        self.change(b, a, CountChange::Mark);
        self.changed
    }

    /// Clears the bits that [`Matrix::mark`] would set.
    pub fn strike(&mut self, a: &[MatrixItem], b: &[MatrixItem]) {
        self.change(a, b, CountChange::Strike);
        self.change(b, a, CountChange::Strike);
    }

    /// Calls back for each two pairs that may be coupled, one of each half; the first has the lower number.
    pub fn each(
        &self,
        a: &[MatrixItem],
        b: &[MatrixItem],
        mut found: impl FnMut(&MatrixItem, &MatrixItem),
    ) {
        for (rows, columns) in [(a, b), (b, a)] {
            for item in rows.iter().filter(|item| self.is_live(item)) {
                let others = columns.iter().filter(|other| other.number > item.number);
                let others = others.filter(|other| item.is_apart(other) && self.has(item, other));
                others.for_each(|other| found(item, other));
            }
        }
    }

    fn row(&self, item: &MatrixItem) -> Option<usize> {
        let number = item.number as usize;
        self.block
            .contains(&number)
            .then(|| number - self.block.start)
    }

    fn is_live(&self, item: &MatrixItem) -> bool {
        let row = self.row(item).and_then(|row| self.live.get(row));
        row.copied().unwrap_or(false)
    }

    fn has(&self, a: &MatrixItem, b: &MatrixItem) -> bool {
        let (word, bit) = place(b);
        let word = self
            .row(a)
            .and_then(|row| self.bits.get(row * self.width + word));
        word.is_some_and(|word| word & bit != 0)
    }

    fn change(&mut self, rows: &[MatrixItem], columns: &[MatrixItem], change: CountChange) {
        if columns.len() * 2 < self.width {
            self.one_by_one(rows, columns, change);
        } else {
            self.row_by_row(rows, columns, change);
        }
    }

    fn one_by_one(&mut self, rows: &[MatrixItem], columns: &[MatrixItem], change: CountChange) {
        for item in rows {
            let Some(row) = self.row(item) else { continue };
            let start = row * self.width;
            let Some(live) = self.live.get_mut(row) else {
                continue;
            };
            if change == CountChange::Strike && !*live {
                continue;
            }
            let Some(bits) = self.bits.get_mut(start..start + self.width) else {
                continue;
            };
            for column in columns.iter().filter(|column| item.is_apart(column)) {
                let (word, bit) = place(column);
                let Some(word) = bits.get_mut(word) else {
                    continue;
                };
                match change {
                    CountChange::Mark if column.number != item.number => {
                        self.changed |= *word & bit == 0;
                        *word |= bit;
                        *live = true;
                    }
                    CountChange::Mark => {}
                    CountChange::Strike => *word &= !bit,
                }
            }
        }
    }

    /// Makes a mask of the columns; for the rows of each location, one without the columns on the same
    /// location.
    fn row_by_row(&mut self, rows: &[MatrixItem], columns: &[MatrixItem], change: CountChange) {
        let (mut rows, mut columns) = (rows.to_vec(), columns.to_vec());
        rows.sort_unstable_by_key(|item| item.location);
        columns.sort_unstable_by_key(|item| item.location);
        columns.iter().for_each(|column| self.put(column, true));
        for rows in rows.chunk_by(|a, b| a.location == b.location) {
            let Some(location) = rows.first().map(|item| item.location) else {
                continue;
            };
            let from = columns.partition_point(|column| column.location < location);
            let upto = columns.partition_point(|column| column.location <= location);
            let same = columns.get(from..upto).unwrap_or(&[]);
            let same = if location == SEVERAL { &[] } else { same };
            same.iter().for_each(|column| self.put(column, false));
            rows.iter().for_each(|item| self.whole_row(item, change));
            same.iter().for_each(|column| self.put(column, true));
        }
        columns.iter().for_each(|column| self.put(column, false));
    }

    fn put(&mut self, column: &MatrixItem, on: bool) {
        let (word, bit) = place(column);
        if let Some(word) = self.mask.get_mut(word) {
            *word = if on { *word | bit } else { *word & !bit };
        }
    }

    fn whole_row(&mut self, item: &MatrixItem, change: CountChange) {
        let Some(row) = self.row(item) else { return };
        let start = row * self.width;
        let (Some(bits), Some(live)) = (
            self.bits.get_mut(start..start + self.width),
            self.live.get_mut(row),
        ) else {
            return;
        };
        match change {
            CountChange::Mark => {
                let (own, bit) = place(item);
                for (at, (bits, mask)) in bits.iter_mut().zip(&self.mask).enumerate() {
                    let mask = if at == own { mask & !bit } else { *mask };
                    self.changed |= mask & !*bits != 0;
                    *bits |= mask;
                    *live |= *bits != 0;
                }
            }
            CountChange::Strike if *live => {
                let mut left = 0;
                for (bits, mask) in bits.iter_mut().zip(&self.mask) {
                    *bits &= !mask;
                    left |= *bits;
                }
                *live = left != 0;
            }
            CountChange::Strike => {}
        }
    }
}

/// Word index of a row, and its bit there.
fn place(item: &MatrixItem) -> (usize, u64) {
    (item.number as usize / 64, 1 << (item.number % 64))
}

/// Calls back for each two parts of a group's halves that occur together: their ends are not in different
/// iterations of an inner loop.
pub(super) fn together(
    forward: &[MatrixItem],
    backward: &[MatrixItem],
    mut found: impl FnMut(&[MatrixItem], &[MatrixItem]),
) {
    let same = |a: &MatrixItem, b: &MatrixItem| a.within == b.within;
    for forward in forward.chunk_by(same) {
        for backward in backward.chunk_by(same) {
            if let ([a, ..], [b, ..]) = (forward, backward)
                && apart(a.within.0, b.within.0)
                && apart(a.within.1, b.within.1)
            {
                found(forward, backward);
            }
        }
    }
}

/// Returns whether these are different loops, or none.
fn apart(a: u32, b: u32) -> bool {
    a == 0 || b == 0 || a != b
}
