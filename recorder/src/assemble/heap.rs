//! Blocks of the heap by address, live and freed.

use super::places::MemoryRegionId;
use std::collections::BTreeMap;

/// A block; it stays known after `free` until its memory is given out again, so that a use after
/// free has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeapBlock {
    pub start: u64,
    pub end: u64,
    pub region: MemoryRegionId,
    /// `true` if it is a mapping that still exists.
    pub is_mapped: bool,
}

/// All known blocks.
#[derive(Default)]
pub(super) struct Heap {
    blocks: BTreeMap<u64, HeapBlock>,
    /// The block that was looked up last: accesses come in groups.
    last: Option<HeapBlock>,
}

impl Heap {
    /// A new block replaces those whose memory it takes.
    pub fn insert(&mut self, start: u64, size: u64, region: MemoryRegionId, is_mapped: bool) {
        let end = start.saturating_add(size.max(1));
        while let Some(old) = self.last_below(end).filter(|old| old.end > start) {
            self.blocks.remove(&old.start);
        }
        self.last = None;
        let block = HeapBlock {
            start,
            end,
            region,
            is_mapped,
        };
        self.blocks.insert(start, block);
    }

    /// Memory goes; whether a whole mapping, which also stays known, goes with it.
    pub fn unmap(&mut self, start: u64, size: u64) -> bool {
        let end = start.saturating_add(size);
        let Some(block) = self.blocks.get_mut(&start) else {
            return false;
        };
        let is_whole = block.is_mapped && block.end <= end;
        block.is_mapped &= !is_whole;
        self.last = None;
        is_whole
    }

    /// The block that holds an address.
    pub fn find(&mut self, address: u64) -> Option<HeapBlock> {
        if let Some(block) = self.last.filter(|b| b.start <= address && address < b.end) {
            return Some(block);
        }
        let block = self
            .last_below(address.checked_add(1)?)
            .filter(|b| address < b.end)?;
        self.last = Some(block);
        Some(block)
    }

    /// The block that ends at an address: where an end pointer points.
    pub fn ending_at(&self, address: u64) -> Option<HeapBlock> {
        self.last_below(address)
            .filter(|block| block.end == address)
    }

    /// The last block that starts below an address.
    fn last_below(&self, address: u64) -> Option<HeapBlock> {
        self.blocks
            .range(..address)
            .next_back()
            .map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The newest block that holds an address, unless a newer one took part of its memory.
        #[test]
        fn finds_as_a_naive_list_does(
            blocks in proptest::collection::vec((0u64..60, 0u64..20), 0..20),
            address in 0u64..100,
        ) {
            let mut heap = Heap::default();
            let mut naive: Vec<HeapBlock> = Vec::new();
            for (i, (start, size)) in blocks.iter().enumerate() {
                let region = MemoryRegionId(i as u32);
                heap.insert(*start, *size, region, false);
                let end = start + (*size).max(1);
                naive.retain(|old| old.end <= *start || end <= old.start);
                naive.push(HeapBlock { start: *start, end, region, is_mapped: false });
                let expected = naive.iter().find(|b| b.start <= address && address < b.end);
                prop_assert_eq!(heap.find(address), expected.copied());
            }
        }
    }
}
