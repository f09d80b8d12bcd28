//! Blocks of the heap by address, with names that do not depend on the address.

use super::hash::mix;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A block of the heap or a mapping; it stays known after `free` until its memory is given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownBlock {
    pub start: u64,
    pub end: u64,
    /// Name that is the same in every run: derived from the code, the thread and the ordinal of the allocation.
    pub name: u64,
    is_mapped: bool,
    /// The step that freed it, 0 while it lives.
    pub freed: u64,
}

/// All known blocks.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<u64, KnownBlock>,
    /// The block that was looked up last.
    last: Option<KnownBlock>,
    ordinals: FxHashMap<u64, u64>,
}

impl Blocks {
    /// The name of the next object with this origin, such as an allocation by one thread at one place.
    pub fn next_name(&mut self, origin: u64) -> u64 {
        let count = self.ordinals.entry(origin).or_insert(0);
        *count += 1;
        mix(origin, *count)
    }

    /// Adds a new block, which takes the memory of those that lie there.
    pub fn insert(&mut self, start: u64, size: u64, name: u64, is_mapped: bool) -> KnownBlock {
        let end = start.saturating_add(size.max(1));
        while let Some(old) = self.below(end).filter(|old| old.end > start) {
            self.blocks.remove(&old.start);
        }
        self.last = None;
        let block = KnownBlock {
            start,
            end,
            name,
            is_mapped,
            freed: 0,
        };
        self.blocks.insert(start, block);
        block
    }

    /// Returns whether a mapping is a part of an existing one: programs reserve much and take it piece by piece.
    pub fn is_part(&mut self, start: u64, size: u64) -> bool {
        let block = self.find(start);
        block.is_some_and(|block| {
            block.is_mapped
                && start.saturating_add(size) <= block.end
                && size < block.end - block.start
        })
    }

    /// The block that ends when memory is given back; one that is unmapped only in part stays.
    pub fn freed(&mut self, start: u64, unmapped: Option<u64>, by: u64) -> Option<KnownBlock> {
        self.last = None;
        let block = self.blocks.get_mut(&start)?;
        let goes =
            unmapped.is_none_or(|size| block.is_mapped && block.end <= start.saturating_add(size));
        if !goes {
            return None;
        }
        block.is_mapped = false;
        block.freed = by;
        Some(*block)
    }

    /// The block that holds an address.
    pub fn find(&mut self, address: u64) -> Option<KnownBlock> {
        let holds = |block: &KnownBlock| block.start <= address && address < block.end;
        if let Some(block) = self.last.filter(holds) {
            return Some(block);
        }
        let block = self.below(address.checked_add(1)?).filter(holds)?;
        self.last = Some(block);
        Some(block)
    }

    /// The last block that starts below an address.
    fn below(&self, address: u64) -> Option<KnownBlock> {
        let mut below = self.blocks.range(..address);
        below.next_back().map(|(_, block)| *block)
    }
}
