//! Room in a log that is full: of its older part, what threads get from each other stays.
//!
//! Nothing of the newer part is touched. Of the older part go accesses to memory that tell nothing of another thread,
//! and the calls of functions in which nothing is left:
//!
//! - A word that one thread alone has used keeps the last write to each of its bytes.
//! - A word *changes hands* at an access by another thread that conflicts with one since it last changed hands. From
//!   then on the first access of each thread, place and kind stays, until it changes hands again; the last writes and
//!   the last read of whoever had it stay as well.
//! - What was written before an access that stays does, too, so that what is read is what the log says was written.
//!
//! Everything else stays: operations that synchronize, atomic accesses, ranges, blocks taken and given back. The
//! schedule does not depend on it, and a repetition with a log of the same size makes the same records.

mod accesses;
mod calls;
#[cfg(test)]
mod tests;
mod words;

use accesses::{AccessPass, KEEP, kept};
use calls::CallPass;
use unsnarl_trace::raw::{Record, RecordKind};
pub use words::Word;
use words::WordTable;

/// Part of a log's records that are not touched: one in so many.
const NEWER: usize = 4;
/// Part of a log that has to become free: one in so many.
const WORTH: usize = 8;
/// Number of records below which a log is not condensed.
const SMALLEST: usize = 1024;

/// Memory for the work, all zero.
pub struct CondenseMemory<'a> {
    /// As many as [`Sizes::words`].
    pub words: &'a mut [Word],
    /// As many as [`Sizes::words`].
    pub seen: &'a mut [u64],
    /// As many as [`Sizes::older`].
    pub links: &'a mut [u32],
    /// As many as [`Sizes::older`].
    pub marks: &'a mut [u8],
    /// As many as threads can be.
    pub threads: &'a mut [u32],
}

/// Numbers of the parts of a log.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Records of the older part.
    pub older: usize,
    /// Slots for words, a power of two: more than there can be words.
    pub words: usize,
}

impl Sizes {
    /// Those for a log of so many records; `None` when it is too short.
    pub fn of(records: usize) -> Option<Sizes> {
        let older = records - records / NEWER;
        (records >= SMALLEST).then(|| Sizes {
            older,
            words: (older + older / 3).next_power_of_two(),
        })
    }
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condensed {
    /// Records that are left.
    pub records: usize,
    /// Those among them that belong to the older part.
    pub older: usize,
    /// Number of places by which the newer part has moved.
    pub shift: usize,
    /// Accesses that have no record any more.
    pub accesses: u64,
}

/// Condenses a log in place; `None`, with the log as it was, when too little would become free. Linear in the log.
pub fn condense(
    records: &mut [Record],
    sizes: Sizes,
    scratch: CondenseMemory<'_>,
) -> Option<Condensed> {
    let CondenseMemory {
        words,
        seen,
        links,
        marks,
        threads,
    } = scratch;
    let older = first_of_newer(records, sizes.older);
    let (words, marks) = (WordTable { slots: words }, marks.get_mut(..older)?);
    let mut accesses = AccessPass {
        records,
        words,
        seen,
        links,
        marks,
    };
    accesses.run(older);
    let mut calls = CallPass {
        records,
        links,
        marks,
        innermost: threads,
    };
    calls.run(older);
    keep_extras(records, marks, threads);
    let staying = marks.iter().filter(|mark| **mark & KEEP != 0).count();
    let is_worth_it = (older - staying) * WORTH >= records.len();
    is_worth_it.then(|| move_together(records, older, marks))
}

/// The last place up to this one at which no record belongs to one before it.
fn first_of_newer(records: &[Record], older: usize) -> usize {
    let before = records.get(..=older).unwrap_or_default();
    let is_whole = |record: &Record| record.kind != RecordKind::Extra as u8;
    before.iter().rposition(is_whole).unwrap_or(0)
}

/// Marks the records that belong to one before them in the same thread: they stay if it does.
fn keep_extras(records: &[Record], marks: &mut [u8], threads: &mut [u32]) {
    threads.fill(0);
    for (record, mark) in records.iter().zip(marks) {
        let Some(stays) = threads.get_mut(usize::from(record.thread)) else {
            *mark |= KEEP;
            continue;
        };
        if record.kind != RecordKind::Extra as u8 {
            *stays = u32::from(*mark & KEEP);
        } else if *stays != 0 {
            *mark |= KEEP;
        }
    }
}

fn move_together(records: &mut [Record], older: usize, marks: &[u8]) -> Condensed {
    let (mut to, mut accesses) = (0, 0);
    for (at, mark) in marks.iter().enumerate() {
        let Some(record) = records.get(at).copied() else {
            break;
        };
        if mark & KEEP == 0 {
            let is_access =
                record.kind == RecordKind::Read as u8 || record.kind == RecordKind::Write as u8;
            accesses += u64::from(is_access);
        } else if let Some(place) = records.get_mut(to) {
            *place = kept(record, *mark);
            to += 1;
        }
    }
    let newer = records.len() - older;
    records.copy_within(older.., to);
    Condensed {
        records: to + newer,
        older: to,
        shift: older - to,
        accesses,
    }
}
