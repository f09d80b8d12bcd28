//! Which pairs may be coupled with which: a square of bits, of which a block of rows is kept.

use super::meetings::{Met, SEVERAL};
use std::ops::Range;
use unsnarl_trace::EventId;

/// A pair that is looked for, in a group of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Item {
    /// Its number.
    pub number: u32,
    /// Location in that run, or [`SEVERAL`].
    pub location: u32,
    /// Loops further inside that its ends are in.
    pub within: (u32, u32),
    /// Its first occurrence in the group.
    pub head: EventId,
    /// Its first occurrence in the group.
    pub tail: EventId,
}

impl Item {
    /// A pair by its own number.
    pub fn of(met: &Met) -> Item {
        Item {
            number: met.pair,
            location: met.location,
            within: met.within,
            head: met.head,
            tail: met.tail,
        }
    }

    /// Two pairs on one and the same location are about one variable.
    fn is_apart(&self, other: &Item) -> bool {
        self.location != other.location || self.location == SEVERAL
    }
}

/// The bits. In what it is given, a half of a group has each pair once.
pub(super) struct Matrix {
    block: Range<usize>,
    width: usize,
    bits: Vec<u64>,
    /// Rows that have a bit, as far as is known: never too few.
    live: Vec<bool>,
    /// Columns that have a bit, as far as is known: never too few.
    columns: Vec<u64>,
    /// A row to work with, empty between operations.
    mask: Vec<u64>,
    /// The last marks were not all there before.
    changed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Mark,
    Strike,
}

impl Matrix {
    /// No bits, for the rows of `block` of a square with `size` rows.
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

    /// No row has a bit.
    pub fn is_empty(&self) -> bool {
        !self.live.contains(&true)
    }

    /// Looks which rows and columns still have a bit.
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

    /// May the pair with this number be coupled with another one?
    pub fn has_any(&self, number: u32) -> bool {
        let number = number as usize;
        let column = self.columns.get(number / 64);
        let row = number.checked_sub(self.block.start);
        let row = row.and_then(|row| self.live.get(row));
        row.copied().unwrap_or(false)
            || column.is_some_and(|column| column >> (number % 64) & 1 == 1)
    }

    /// Those of one half may be coupled with those of the other, if they are about different variables. True
    /// when that is new for some of them.
    pub fn mark(&mut self, a: &[Item], b: &[Item]) -> bool {
        self.changed = false;
        self.change(a, b, Change::Mark);
        self.change(b, a, Change::Mark);
        self.changed
    }

    /// The opposite of [`Matrix::mark`].
    pub fn strike(&mut self, a: &[Item], b: &[Item]) {
        self.change(a, b, Change::Strike);
        self.change(b, a, Change::Strike);
    }

    /// Calls back for each two that may be coupled, one of each half; the first has the lower number.
    pub fn each(&self, a: &[Item], b: &[Item], mut found: impl FnMut(&Item, &Item)) {
        for (rows, columns) in [(a, b), (b, a)] {
            for item in rows.iter().filter(|item| self.is_live(item)) {
                let others = columns.iter().filter(|other| other.number > item.number);
                let others = others.filter(|other| item.is_apart(other) && self.has(item, other));
                others.for_each(|other| found(item, other));
            }
        }
    }

    fn row(&self, item: &Item) -> Option<usize> {
        let number = item.number as usize;
        self.block
            .contains(&number)
            .then(|| number - self.block.start)
    }

    fn is_live(&self, item: &Item) -> bool {
        let row = self.row(item).and_then(|row| self.live.get(row));
        row.copied().unwrap_or(false)
    }

    fn has(&self, a: &Item, b: &Item) -> bool {
        let (word, bit) = place(b);
        let word = self
            .row(a)
            .and_then(|row| self.bits.get(row * self.width + word));
        word.is_some_and(|word| word & bit != 0)
    }

    fn change(&mut self, rows: &[Item], columns: &[Item], change: Change) {
        if columns.len() * 2 < self.width {
            self.one_by_one(rows, columns, change);
        } else {
            self.row_by_row(rows, columns, change);
        }
    }

    fn one_by_one(&mut self, rows: &[Item], columns: &[Item], change: Change) {
        for item in rows {
            let Some(row) = self.row(item) else { continue };
            let start = row * self.width;
            let Some(live) = self.live.get_mut(row) else {
                continue;
            };
            if change == Change::Strike && !*live {
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
                    Change::Mark if column.number != item.number => {
                        self.changed |= *word & bit == 0;
                        *word |= bit;
                        *live = true;
                    }
                    Change::Mark => {}
                    Change::Strike => *word &= !bit,
                }
            }
        }
    }

    /// Makes a mask of the columns; for the rows of each location without the columns on the same one.
    fn row_by_row(&mut self, rows: &[Item], columns: &[Item], change: Change) {
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

    fn put(&mut self, column: &Item, on: bool) {
        let (word, bit) = place(column);
        if let Some(word) = self.mask.get_mut(word) {
            *word = if on { *word | bit } else { *word & !bit };
        }
    }

    fn whole_row(&mut self, item: &Item, change: Change) {
        let Some(row) = self.row(item) else { return };
        let start = row * self.width;
        let (Some(bits), Some(live)) = (
            self.bits.get_mut(start..start + self.width),
            self.live.get_mut(row),
        ) else {
            return;
        };
        match change {
            Change::Mark => {
                let (own, bit) = place(item);
                for (at, (bits, mask)) in bits.iter_mut().zip(&self.mask).enumerate() {
                    let mask = if at == own { mask & !bit } else { *mask };
                    self.changed |= mask & !*bits != 0;
                    *bits |= mask;
                    *live |= *bits != 0;
                }
            }
            Change::Strike if *live => {
                let mut left = 0;
                for (bits, mask) in bits.iter_mut().zip(&self.mask) {
                    *bits &= !mask;
                    left |= *bits;
                }
                *live = left != 0;
            }
            Change::Strike => {}
        }
    }
}

/// Word of a row, and its bit there.
fn place(item: &Item) -> (usize, u64) {
    (item.number as usize / 64, 1 << (item.number % 64))
}

/// Calls back for each two parts of a group's halves that are together: their ends are not in different
/// iterations of a loop further inside.
pub(super) fn together(
    forward: &[Item],
    backward: &[Item],
    mut found: impl FnMut(&[Item], &[Item]),
) {
    let same = |a: &Item, b: &Item| a.within == b.within;
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

/// Are these different loops, or none?
fn apart(a: u32, b: u32) -> bool {
    a == 0 || b == 0 || a != b
}
