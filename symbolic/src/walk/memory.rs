//! Memory of the followed program: objects at synthetic addresses, with the values of their bytes.

use super::{ranges::Ranges, value::Scalar};
use crate::{
    expr::{Exprs, Unary},
    trace::MemoryObject,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Base of the first object.
const FIRST_BASE: u64 = 1 << 40;
/// Minimum distance between two objects; bases are multiples of it.
const GAP: u64 = 1 << 17;
/// Bound on the size of a piece, in bytes.
const LONGEST: u64 = 16;
/// Bound on the zero bytes that become pieces when they are doubted.
const MOST_FILLED: u64 = 1 << 16;

/// Initial content of an object's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fresh {
    /// Zeros.
    Zero,
    /// Unknown values.
    Unknown,
}

impl Fresh {
    /// The value of each byte, if it is known.
    fn byte(self) -> Option<u8> {
        match self {
            Fresh::Zero => Some(0),
            Fresh::Unknown => None,
        }
    }
}

/// Bytes that were written together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    size: u8,
    value: Scalar,
    /// `true` if unknown code may have changed the bytes.
    is_doubtful: bool,
}

/// Undo record of a change of a block: the former content of its bytes `from..to`.
#[derive(Clone, Debug)]
pub(super) struct MemoryChange {
    row: usize,
    fresh: Fresh,
    is_freed: bool,
    from: u64,
    to: u64,
    pieces: Vec<(u64, Piece)>,
    ranges: Ranges,
}

#[derive(Clone, Debug)]
struct MemoryBlock {
    fresh: Fresh,
    is_freed: bool,
    /// By offset; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
    /// Content below the pieces, where whole ranges were written.
    ranges: Ranges,
}

/// A part of the bytes that were read.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadPart {
    /// A known value.
    Known(Scalar),
    /// The value before unknown code may have changed it.
    Doubtful(Scalar),
    /// Bytes of unknown value.
    Unknown(u8),
}

#[derive(Clone, Debug, Default)]
pub(super) struct ThreadMemoryWalk {
    objects: Vec<MemoryObject>,
    blocks: Vec<MemoryBlock>,
    by_name: FxHashMap<String, usize>,
    end: u64,
    /// The journal of changes, while they may have to be undone.
    pub journal: Option<Vec<MemoryChange>>,
}

impl ThreadMemoryWalk {
    /// A new object's base.
    pub fn allocate(&mut self, name: String, size: u64, fresh: Fresh) -> u64 {
        let base = self.next_base();
        self.allocate_at(base, name, size, fresh);
        base
    }

    /// The base of the next object.
    pub fn next_base(&self) -> u64 {
        self.end.max(FIRST_BASE)
    }

    /// A new object with this base, behind all others.
    pub fn allocate_at(&mut self, base: u64, name: String, size: u64, fresh: Fresh) {
        self.end = (base.saturating_add(size) / GAP + 2).saturating_mul(GAP);
        self.by_name.insert(name.clone(), self.objects.len());
        self.objects.push(MemoryObject { name, base, size });
        self.blocks.push(MemoryBlock {
            fresh,
            is_freed: false,
            pieces: BTreeMap::new(),
            ranges: Ranges::default(),
        });
    }

    fn row(&self, address: u64) -> Option<usize> {
        let behind = self
            .objects
            .partition_point(|object| object.base <= address);
        let row = behind.checked_sub(1)?;
        let object = self.objects.get(row)?;
        (address - object.base <= object.size.max(1)).then_some(row)
    }

    /// The object that an address lies in.
    pub fn object(&self, address: u64) -> Option<&MemoryObject> {
        self.objects.get(self.row(address)?)
    }

    /// All objects, by base.
    pub fn objects(&self) -> &[MemoryObject] {
        &self.objects
    }

    /// The object of this name that was made last.
    pub fn named(&self, name: &str) -> Option<&MemoryObject> {
        self.objects.get(*self.by_name.get(name)?)
    }

    /// Frees the object that begins at the address.
    pub fn free(&mut self, address: u64) {
        self.note_change(address, 0);
        if let Some(block) = self.row(address).and_then(|row| self.blocks.get_mut(row)) {
            block.is_freed = true;
        }
    }

    pub fn is_freed(&self, address: u64) -> bool {
        let block = self.row(address).and_then(|row| self.blocks.get(row));
        block.is_some_and(|block| block.is_freed)
    }

    fn block_mut(&mut self, address: u64) -> Option<(u64, &mut MemoryBlock)> {
        let row = self.row(address)?;
        let base = self.objects.get(row)?.base;
        Some((address - base, self.blocks.get_mut(row)?))
    }

    /// Removes pieces from the bytes `offset..offset + size`; parts beyond them stay.
    fn clear(block: &mut MemoryBlock, exprs: &mut Exprs, offset: u64, size: u64) {
        let end = offset.saturating_add(size);
        let touched: Vec<(u64, Piece)> = block
            .pieces
            .range(offset.saturating_sub(LONGEST)..end)
            .filter(|(at, piece)| **at + u64::from(piece.size) > offset)
            .map(|(at, piece)| (*at, *piece))
            .collect();
        for (at, piece) in touched {
            block.pieces.remove(&at);
            let piece_end = at + u64::from(piece.size);
            if at < offset {
                let size = (offset - at) as u8;
                let value = piece.value.bytes(exprs, 0, size);
                block.pieces.insert(
                    at,
                    Piece {
                        size,
                        value,
                        ..piece
                    },
                );
            }
            if piece_end > end {
                let size = (piece_end - end) as u8;
                let value = piece.value.bytes(exprs, (end - at) as u8, size);
                block.pieces.insert(
                    end,
                    Piece {
                        size,
                        value,
                        ..piece
                    },
                );
            }
        }
    }

    /// Writes a number of `size` bytes (1 to 16), as wide as that. False where there is no object.
    pub fn write(&mut self, exprs: &mut Exprs, address: u64, size: u8, value: Scalar) -> bool {
        self.note_change(address, size.into());
        let Some((offset, block)) = self.block_mut(address) else {
            return false;
        };
        ThreadMemoryWalk::clear(block, exprs, offset, size.into());
        block.pieces.insert(
            offset,
            Piece {
                size,
                value,
                is_doubtful: false,
            },
        );
        true
    }

    /// Fills a range with one byte, or with unknown values. False where there is no object.
    pub fn fill_range(
        &mut self,
        exprs: &mut Exprs,
        (address, size): (u64, u64),
        byte: Option<u8>,
    ) -> bool {
        self.note_change(address, size);
        let Some((offset, block)) = self.block_mut(address) else {
            return false;
        };
        ThreadMemoryWalk::clear(block, exprs, offset, size);
        block.ranges.set(offset, offset.saturating_add(size), byte);
        true
    }

    /// Copies a range, preserving the pieces that it was written in. False where there is no object.
    pub fn copy_range(&mut self, exprs: &mut Exprs, (to, from, size): (u64, u64, u64)) -> bool {
        let ranges = self.ranges_in(from, size);
        let pieces = self.pieces_in(exprs, from, size);
        if !self.fill_range(exprs, (to, size), None) {
            return false;
        }
        let Some((offset, block)) = self.block_mut(to) else {
            return false;
        };
        for (start, end, byte) in ranges {
            let (start, end) = (offset.saturating_add(start), offset.saturating_add(end));
            block.ranges.set(start, end, byte);
        }
        let moved = pieces
            .into_iter()
            .filter_map(|(at, piece)| Some((offset.checked_add(at)?, piece)));
        block.pieces.extend(moved);
        true
    }

    /// The separately written pieces of a range: offset and size of each.
    pub fn written_in(&self, address: u64, size: u64) -> Vec<(u64, u8)> {
        let Some(row) = self.row(address) else {
            return Vec::new();
        };
        let (Some(object), Some(block)) = (self.objects.get(row), self.blocks.get(row)) else {
            return Vec::new();
        };
        let offset = address - object.base;
        let own = block.pieces.range(offset..offset.saturating_add(size));
        let inside = own.filter(|(at, piece)| *at - offset + u64::from(piece.size) <= size);
        inside
            .map(|(at, piece)| (at - offset, piece.size))
            .collect()
    }

    /// The pieces of a range, cut at its bounds, by their offsets in it.
    fn pieces_in(&self, exprs: &mut Exprs, address: u64, size: u64) -> Vec<(u64, Piece)> {
        let Some(row) = self.row(address) else {
            return Vec::new();
        };
        let (Some(object), Some(block)) = (self.objects.get(row), self.blocks.get(row)) else {
            return Vec::new();
        };
        let (from, to) = (address - object.base, address - object.base + size);
        let near = block.pieces.range(from.saturating_sub(LONGEST)..to);
        let touching = near.filter(|(at, piece)| **at + u64::from(piece.size) > from);
        touching
            .map(|(at, piece)| {
                let (start, end) = ((*at).max(from), (at + u64::from(piece.size)).min(to));
                let size = (end - start) as u8;
                let value = match size == piece.size {
                    true => piece.value,
                    false => piece.value.bytes(exprs, (start - at) as u8, size),
                };
                let piece = Piece {
                    size,
                    value,
                    ..*piece
                };
                (start - from, piece)
            })
            .collect()
    }

    /// The content of a range below its pieces.
    fn ranges_in(&self, address: u64, size: u64) -> Vec<(u64, u64, Option<u8>)> {
        let Some(row) = self.row(address) else {
            return vec![(0, size, None)];
        };
        let (Some(object), Some(block)) = (self.objects.get(row), self.blocks.get(row)) else {
            return vec![(0, size, None)];
        };
        let from = address - object.base;
        let below = block.fresh.byte();
        let own = block.ranges.within(from, from.saturating_add(size), below);
        own.into_iter()
            .map(|(start, end, byte)| (start - from, end - from, byte))
            .collect()
    }

    /// The content of the bytes in parts, from low to high.
    pub fn parts(&self, exprs: &mut Exprs, address: u64, size: u8) -> Vec<ReadPart> {
        let Some(row) = self.row(address) else {
            return vec![ReadPart::Unknown(size)];
        };
        let (Some(object), Some(block)) = (self.objects.get(row), self.blocks.get(row)) else {
            return vec![ReadPart::Unknown(size)];
        };
        let offset = address - object.base;
        let end = offset + u64::from(size);
        let mut parts = Vec::new();
        let mut at = offset;
        let near = block.pieces.range(offset.saturating_sub(LONGEST)..end);
        for (&start, piece) in near {
            let piece_end = start + u64::from(piece.size);
            if piece_end <= at {
                continue;
            }
            if start > at {
                parts.push(fresh(block, exprs, at, (start - at) as u8));
                at = start;
            }
            let stop = piece_end.min(end);
            let value = match (at == start, stop == piece_end) {
                (true, true) => piece.value,
                _ => piece
                    .value
                    .bytes(exprs, (at - start) as u8, (stop - at) as u8),
            };
            parts.push(match piece.is_doubtful {
                true => ReadPart::Doubtful(value),
                false => ReadPart::Known(value),
            });
            at = stop;
        }
        if at < end {
            parts.push(fresh(block, exprs, at, (end - at) as u8));
        }
        parts
    }

    /// The number that `size` bytes hold, if all of them are known to hold something.
    pub fn read(&self, exprs: &mut Exprs, address: u64, size: u8) -> Option<Scalar> {
        let is_known = |part: &ReadPart| matches!(part, ReadPart::Known(_));
        let parts = self.parts(exprs, address, size);
        parts.iter().all(is_known).then_some(())?;
        joined(exprs, parts)
    }

    /// As [`Memory::read`], including values that have become doubtful.
    pub fn believed(&self, exprs: &mut Exprs, address: u64, size: u8) -> Option<Scalar> {
        let parts = self.parts(exprs, address, size);
        joined(exprs, parts)
    }

    /// Journals the content of these bytes before a change.
    fn note_change(&mut self, address: u64, size: u64) {
        let Some(row) = self.row(address).filter(|_| self.journal.is_some()) else {
            return;
        };
        let (Some(object), Some(block)) = (self.objects.get(row), self.blocks.get(row)) else {
            return;
        };
        let (mut from, mut to) = (address - object.base, address - object.base + size);
        let near = block.pieces.range(from.saturating_sub(LONGEST)..to);
        let pieces: Vec<(u64, Piece)> = near
            .filter(|(at, piece)| **at + u64::from(piece.size) > from)
            .map(|(at, piece)| (*at, *piece))
            .collect();
        for (at, piece) in &pieces {
            from = from.min(*at);
            to = to.max(at + u64::from(piece.size));
        }
        let (fresh, is_freed) = (block.fresh, block.is_freed);
        let ranges = block.ranges.clone();
        if let Some(journal) = &mut self.journal {
            journal.push(MemoryChange {
                row,
                fresh,
                is_freed,
                from,
                to,
                pieces,
                ranges,
            });
        }
    }

    /// Undoes changes, the last one first.
    pub fn take_back(&mut self, changes: impl DoubleEndedIterator<Item = MemoryChange>) {
        for change in changes.rev() {
            let Some(block) = self.blocks.get_mut(change.row) else {
                continue;
            };
            let new = block.pieces.range(change.from..change.to);
            let new: Vec<u64> = new.map(|(at, _)| *at).collect();
            for at in new {
                block.pieces.remove(&at);
            }
            block.pieces.extend(change.pieces);
            (block.fresh, block.is_freed) = (change.fresh, change.is_freed);
            block.ranges = change.ranges;
        }
    }

    /// Marks these bytes as possibly changed by unknown code.
    pub fn doubt(&mut self, exprs: &mut Exprs, address: u64, size: u64) {
        self.note_change(address, size);
        let Some((offset, block)) = self.block_mut(address) else {
            return;
        };
        let end = offset.saturating_add(size);
        match block.fresh {
            _ if !block.ranges.is_empty() => block.ranges.set(offset, end, None),
            Fresh::Zero if size <= MOST_FILLED => fill(block, exprs, offset, end),
            _ => block.fresh = Fresh::Unknown,
        }
        for (at, piece) in block.pieces.range_mut(offset.saturating_sub(LONGEST)..end) {
            piece.is_doubtful |= at + u64::from(piece.size) > offset;
        }
    }

    /// Makes these bytes unknown.
    pub fn forget(&mut self, exprs: &mut Exprs, address: u64, size: u64) {
        self.note_change(address, size);
        if let Some((offset, block)) = self.block_mut(address) {
            ThreadMemoryWalk::clear(block, exprs, offset, size);
            if size > 0 && block.pieces.is_empty() {
                block.fresh = Fresh::Unknown;
            }
            if !block.ranges.is_empty() {
                block.ranges.set(offset, offset.saturating_add(size), None);
            }
        }
    }

    /// The text at an address, up to its end; `None` where a byte is not known.
    pub fn text(&self, exprs: &mut Exprs, address: u64, most: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for offset in 0..most {
            let byte = self.read(exprs, address.checked_add(offset)?, 1)?.bits? as u8;
            if byte == 0 {
                return Some(text);
            }
            text.push(byte);
        }
        Some(text)
    }
}

/// Parts as one number, if something is known of each.
fn joined(exprs: &mut Exprs, parts: Vec<ReadPart>) -> Option<Scalar> {
    let mut whole: Option<Scalar> = None;
    for part in parts {
        let (ReadPart::Known(part) | ReadPart::Doubtful(part)) = part else {
            return None;
        };
        whole = Some(match whole {
            Some(low) => part.above(exprs, low),
            None => part,
        });
    }
    whole
}

/// Makes pieces of the zeros between the pieces of `from..to`.
fn fill(block: &mut MemoryBlock, exprs: &mut Exprs, from: u64, to: u64) {
    let taken: Vec<(u64, u64)> = block
        .pieces
        .range(from.saturating_sub(LONGEST)..to)
        .map(|(at, piece)| (*at, at + u64::from(piece.size)))
        .chain([(to, to)])
        .collect();
    let mut at = from;
    for (start, end) in taken {
        while at < start {
            let size = (start - at).min(8 - at % 8) as u8;
            let value = Scalar::number(exprs, 0, size.saturating_mul(8));
            let piece = Piece {
                size,
                value,
                is_doubtful: false,
            };
            block.pieces.insert(at, piece);
            at += u64::from(size);
        }
        at = at.max(end);
    }
}

fn fresh(block: &MemoryBlock, exprs: &mut Exprs, at: u64, size: u8) -> ReadPart {
    let below = block.fresh.byte();
    let own = block.ranges.within(at, at + u64::from(size), below);
    let first = own.first().and_then(|(_, _, byte)| *byte);
    let is_one = own.iter().all(|(_, _, byte)| *byte == first);
    match first.filter(|_| is_one) {
        Some(byte) => {
            let bits = u128::from_ne_bytes([byte; 16]);
            let width = size.saturating_mul(8);
            let bits = bits & crate::fold::mask(width);
            ReadPart::Known(Scalar::number(exprs, bits, width))
        }
        None => ReadPart::Unknown(size),
    }
}

/// Widens a value to whole bytes, as it is kept in memory.
pub(super) fn stored(exprs: &mut Exprs, value: Scalar, size: u8) -> Scalar {
    let width = size.saturating_mul(8);
    if exprs.width(value.expr) < width {
        return value.unary(exprs, Unary::ZExt, width);
    }
    value.resized(exprs, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(exprs: &mut Exprs, bits: u128, size: u8) -> Scalar {
        Scalar::number(exprs, bits, size * 8)
    }

    #[test]
    fn parts_of_what_was_written_come_back() {
        let (mut exprs, mut memory) = (Exprs::default(), ThreadMemoryWalk::default());
        let base = memory.allocate("a".into(), 32, Fresh::Zero);
        let value = number(&mut exprs, 0x8877_6655_4433_2211, 8);
        assert!(memory.write(&mut exprs, base + 4, 8, value));
        let read = |memory: &ThreadMemoryWalk, exprs: &mut Exprs, at, size| {
            memory.read(exprs, at, size).unwrap().bits.unwrap()
        };
        assert_eq!(read(&memory, &mut exprs, base + 6, 2), 0x4433);
        assert_eq!(read(&memory, &mut exprs, base, 8), 0x4433_2211_0000_0000);
        let byte = number(&mut exprs, 0xff, 1);
        memory.write(&mut exprs, base + 5, 1, byte);
        assert_eq!(
            read(&memory, &mut exprs, base + 4, 8),
            0x8877_6655_4433_ff11
        );
        assert_eq!(read(&memory, &mut exprs, base + 6, 4), 0x6655_4433);
    }

    #[test]
    fn nobody_knows_what_a_fresh_frame_holds() {
        let (mut exprs, mut memory) = (Exprs::default(), ThreadMemoryWalk::default());
        let base = memory.allocate("a".into(), 8, Fresh::Unknown);
        assert!(memory.read(&mut exprs, base, 4).is_none());
        let value = number(&mut exprs, 7, 4);
        memory.write(&mut exprs, base, 4, value);
        assert_eq!(memory.read(&mut exprs, base, 4), Some(value));
        assert!(memory.read(&mut exprs, base, 8).is_none());
        assert!(!memory.write(&mut exprs, 8, 4, value), "nothing is there");
    }

    #[test]
    fn ranges_cost_no_pieces() {
        const LARGE: u64 = 1 << 26;
        let (mut exprs, mut memory) = (Exprs::default(), ThreadMemoryWalk::default());
        let from = memory.allocate("a".into(), LARGE, Fresh::Unknown);
        let to = memory.allocate("b".into(), LARGE, Fresh::Zero);
        assert!(memory.fill_range(&mut exprs, (from, LARGE), Some(0xab)));
        let value = number(&mut exprs, 0x1122, 2);
        memory.write(&mut exprs, from + 1000, 2, value);
        memory.journal = Some(Vec::new());
        assert!(memory.copy_range(&mut exprs, (to, from + 1, LARGE - 1)));
        let read = |memory: &ThreadMemoryWalk, exprs: &mut Exprs, at, size| {
            memory
                .read(exprs, at, size)
                .map(|value| value.bits.unwrap())
        };
        assert_eq!(read(&memory, &mut exprs, to + 998, 4), Some(0xab11_22ab));
        assert_eq!(read(&memory, &mut exprs, to + LARGE - 2, 2), None);
        assert_eq!(memory.written_in(to, LARGE), [(999, 2)]);
        let changes = memory.journal.take().unwrap();
        memory.take_back(changes.into_iter());
        assert_eq!(read(&memory, &mut exprs, to + 998, 4), Some(0));
        memory.doubt(&mut exprs, from, LARGE);
        assert_eq!(read(&memory, &mut exprs, from, 1), None);
    }
}
