//! Freed blocks of the heap that have not gone back to the C library yet, and the table of their bytes.
//!
//! A table of pages holds a bit for each granule of a freed block, so a byte is looked up exactly: the library
//! aligns blocks to granules, and the last granule of one ends in the header of the next. A filter by page makes
//! the look at other memory one load.

use core::cell::Cell;

/// Size above which blocks are given back at once.
pub const KEPT_UP_TO: usize = 1 << 20;
/// Bound for the number of freed blocks that are kept.
const KEPT: usize = 4096;
/// Bound for their bytes.
const KEPT_BYTES: usize = 64 << 20;

const GRANULE: usize = 16;
const PAGE: usize = 4096;
const WORDS: usize = PAGE / GRANULE / 64;
/// Size of the table. All kept blocks take fewer pages: those of their bytes, and a begun one at either end of each.
const PAGES: usize = 1 << 15;
const _: () = assert!(KEPT_BYTES / PAGE + 2 * KEPT < PAGES);
const FILTER: usize = 4096;

/// A page with freed blocks; page 0 stands for none.
struct Page {
    number: Cell<usize>,
    freed: [Cell<u64>; WORDS],
    /// The first granules of blocks.
    starts: [Cell<u64>; WORDS],
}

/// The freed blocks that are kept, and the table of their pages.
pub struct Quarantine {
    /// Blocks and their sizes, oldest first from `next` on.
    ring: [Cell<(usize, usize)>; KEPT],
    next: Cell<usize>,
    oldest: Cell<usize>,
    bytes: Cell<usize>,
    /// Hash table of the pages by their numbers, with linear probing.
    pages: [Page; PAGES],
    /// Pages of the table with the same low bits; all zero when accesses to freed blocks are allowed.
    filter: [Cell<u16>; FILTER],
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Quarantine {}

/// The content of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// No freed block.
    Nothing,
    /// The beginning of a freed block.
    Block,
    /// A place inside of a freed block.
    Inside,
}

/// The slot of a page. Neighbours stay together: spread over the table, each page of the heap would take one of the
/// table's own in every run.
fn home(number: usize) -> usize {
    const TOGETHER: usize = 16;
    let hash = (number / TOGETHER).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let group = hash >> (usize::BITS - (PAGES / TOGETHER).trailing_zeros());
    group * TOGETHER + number % TOGETHER
}

/// The parts of a block page by page: the page's number, and the first granule and the one behind the last.
fn parts(block: usize, bytes: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = block.saturating_add(bytes);
    let pages = block / PAGE..end.div_ceil(PAGE);
    pages.map(move |page| {
        let from = block.saturating_sub(page * PAGE) / GRANULE;
        let to = (end - page * PAGE).min(PAGE).div_ceil(GRANULE);
        (page, from, to)
    })
}

/// The bits of granules in a word of a page.
fn bits(word: usize, from: usize, to: usize) -> u64 {
    let within = |at: usize| at.clamp(word * 64, word * 64 + 64) - word * 64;
    let below = |count: usize| {
        if count == 64 {
            u64::MAX
        } else {
            (1 << count) - 1
        }
    };
    below(within(to)) & !below(within(from))
}

impl Quarantine {
    /// One without blocks.
    pub const fn new() -> Quarantine {
        Quarantine {
            ring: [const { Cell::new((0, 0)) }; KEPT],
            next: Cell::new(0),
            oldest: Cell::new(0),
            bytes: Cell::new(0),
            pages: [const {
                Page {
                    number: Cell::new(0),
                    freed: [const { Cell::new(0) }; WORDS],
                    starts: [const { Cell::new(0) }; WORDS],
                }
            }; PAGES],
            filter: [const { Cell::new(0) }; FILTER],
        }
    }

    /// Keeps a block that was just freed; `give_back` gets the blocks that are evicted for it. Accesses are looked up
    /// in blocks that are watched; either all of them are or none.
    pub fn keep(
        &self,
        block: usize,
        bytes: usize,
        is_watched: bool,
        mut give_back: impl FnMut(usize),
    ) {
        while self.bytes.get() + bytes > KEPT_BYTES && self.bytes.get() != 0 {
            self.evict(is_watched, &mut give_back);
        }
        let place = self.ring.get(self.next.get());
        if place.is_some_and(|place| place.get().0 != 0) {
            self.evict(is_watched, &mut give_back);
        }
        let Some(place) = place else { return };
        place.set((block, bytes));
        self.next.set((self.next.get() + 1) % KEPT);
        self.bytes.set(self.bytes.get() + bytes);
        for (number, from, to) in parts(block, bytes) {
            self.mark(number, is_watched, |page| {
                for (word, freed) in page.freed.iter().enumerate() {
                    freed.set(freed.get() | bits(word, from, to));
                }
                if number == block / PAGE {
                    for (word, starts) in page.starts.iter().enumerate() {
                        starts.set(starts.get() | bits(word, from, from + 1));
                    }
                }
            });
        }
    }

    /// Evicts the oldest block.
    fn evict(&self, is_watched: bool, give_back: &mut impl FnMut(usize)) {
        let oldest = self.oldest.get();
        self.oldest.set((oldest + 1) % KEPT);
        let Some((block, bytes)) = self.ring.get(oldest).map(|place| place.replace((0, 0))) else {
            return;
        };
        self.bytes.set(self.bytes.get() - bytes);
        for (number, from, to) in parts(block, bytes) {
            self.unmark(number, from, to, is_watched);
        }
        give_back(block);
    }

    /// Changes the row of a page, which is made if need be.
    fn mark(&self, number: usize, is_watched: bool, change: impl FnOnce(&Page)) {
        let Some((_, page)) = self.probe(number) else {
            return;
        };
        if page.number.replace(number) == 0 && is_watched {
            self.count(number, 1);
        }
        change(page);
    }

    fn unmark(&self, number: usize, from: usize, to: usize, is_watched: bool) {
        let Some((at, page)) = self
            .probe(number)
            .filter(|(_, page)| page.number.get() != 0)
        else {
            return;
        };
        let mut left = 0;
        for (word, (freed, starts)) in page.freed.iter().zip(&page.starts).enumerate() {
            let gone = bits(word, from, to);
            freed.set(freed.get() & !gone);
            starts.set(starts.get() & !gone);
            left |= freed.get();
        }
        if left == 0 {
            if is_watched {
                self.count(number, u16::MAX);
            }
            self.remove(at);
        }
    }

    /// Adds `change` to the count of pages with the same low bits; `u16::MAX` subtracts one.
    fn count(&self, number: usize, change: u16) {
        if let Some(count) = self.filter.get(number % FILTER) {
            count.set(count.get().wrapping_add(change));
        }
    }

    /// The row of a page, or the empty one that it would get. The table is never full.
    fn probe(&self, number: usize) -> Option<(usize, &Page)> {
        let places = (0..PAGES).map(|next| (home(number) + next) % PAGES);
        let mut rows = places.filter_map(|at| Some((at, self.pages.get(at)?)));
        rows.find(|(_, page)| [0, number].contains(&page.number.get()))
    }

    /// Empties a row; rows behind it move up, so that searches find them.
    fn remove(&self, at: usize) {
        let mut hole = at;
        for next in (1..PAGES).map(|next| (at + next) % PAGES) {
            let (Some(row), Some(empty)) = (self.pages.get(next), self.pages.get(hole)) else {
                return;
            };
            let number = row.number.get();
            if number == 0 {
                break;
            }
            let distance = |from: usize| next.wrapping_sub(from) % PAGES;
            if distance(home(number)) >= distance(hole) {
                empty.take_over(row);
                hole = next;
            }
        }
        if let Some(empty) = self.pages.get(hole) {
            empty.clear();
        }
    }

    /// The part of a freed block at `address`.
    pub fn held(&self, address: usize) -> Held {
        let Some((_, page)) = self.probe(address / PAGE) else {
            return Held::Nothing;
        };
        let granule = address % PAGE / GRANULE;
        let is_set = |words: &[Cell<u64>; WORDS]| {
            let word = words.get(granule / 64).map_or(0, Cell::get);
            word >> (granule % 64) & 1 != 0
        };
        match (is_set(&page.freed), is_set(&page.starts)) {
            (false, _) => Held::Nothing,
            (true, true) if address.is_multiple_of(GRANULE) => Held::Block,
            (true, _) => Held::Inside,
        }
    }

    /// Returns `false` only if no byte belongs to a watched block.
    #[inline(always)]
    pub fn may_hold(&self, address: usize, bytes: usize) -> bool {
        let (first, last) = (address / PAGE, address.wrapping_add(bytes - 1) / PAGE);
        let count = self.filter.get(first % FILTER);
        count.is_some_and(|count| count.get() != 0) || first != last
    }

    /// The first byte of a range that belongs to a watched block.
    pub fn first_held(&self, address: usize, bytes: usize) -> Option<usize> {
        parts(address, bytes).find_map(|(number, from, to)| {
            let count = self.filter.get(number % FILTER)?;
            let (_, page) = self.probe(number).filter(|_| count.get() != 0)?;
            let words = page.freed.iter().enumerate();
            let mut hits = words.map(|(word, freed)| (word, freed.get() & bits(word, from, to)));
            let (word, hit) = hits.find(|(_, hit)| *hit != 0)?;
            let granule = word * 64 + hit.trailing_zeros() as usize;
            Some((number * PAGE + granule * GRANULE).max(address))
        })
    }
}

impl Page {
    fn take_over(&self, other: &Page) {
        self.number.set(other.number.get());
        for (to, from) in self.freed.iter().zip(&other.freed) {
            to.set(from.get());
        }
        for (to, from) in self.starts.iter().zip(&other.starts) {
            to.set(from.get());
        }
    }

    fn clear(&self) {
        self.number.set(0);
        let words = self.freed.iter().chain(&self.starts);
        words.for_each(|word| word.set(0));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{
        boxed::Box,
        collections::{BTreeMap, VecDeque},
        vec::Vec,
    };

    fn empty() -> Box<Quarantine> {
        // SAFETY: all zero bytes are an empty quarantine, as in the static one.
        unsafe { Box::<Quarantine>::new_zeroed().assume_init() }
    }

    /// A linear congruential generator: the same numbers in every run.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for the thousands of blocks")]
    fn knows_the_bytes_of_the_blocks_that_it_keeps() {
        let quarantine = empty();
        let mut draw = numbers(7);
        // Places for blocks, far enough apart; each free while nothing is kept there.
        let (mut kept, mut order) = (BTreeMap::new(), VecDeque::new());
        for round in 0..20_000 {
            let block = 0x7000_0000_0000 + draw(6000) * 0x4_0000 + draw(4) * 4096 * 3 + 16;
            if kept
                .range(block.saturating_sub(1 << 18)..block + (1 << 18))
                .next()
                .is_some()
            {
                continue;
            }
            let bytes = [8, 24, 40, 4088, 70_000][draw(5)];
            let mut gone = Vec::new();
            quarantine.keep(block, bytes, true, |block| gone.push(block));
            kept.insert(block, bytes);
            order.push_back(block);
            for block in gone {
                assert_eq!(order.pop_front(), Some(block));
                kept.remove(&block);
                assert_eq!(quarantine.held(block), Held::Nothing);
            }
            assert!(kept.len() <= KEPT && kept.values().sum::<usize>() <= KEPT_BYTES);
            if round % 500 == 0 {
                for (&block, &bytes) in &kept {
                    assert_eq!(quarantine.held(block), Held::Block);
                    assert_eq!(quarantine.held(block + bytes - 1), Held::Inside);
                    assert_eq!(quarantine.held(block - 1), Held::Nothing);
                    assert_eq!(quarantine.first_held(block - 64, 65), Some(block));
                    assert_eq!(quarantine.first_held(block - 64, 64), None);
                    assert!(quarantine.may_hold(block + bytes / 2, 1));
                }
            }
        }
        assert!(order.len() > 1000, "{}", order.len());
    }

    #[test]
    fn a_range_ends_where_the_next_block_begins() {
        let quarantine = empty();
        // Two blocks of the library of 24 bytes each: the header of the second is the end of the first's granule.
        quarantine.keep(0x10_0010, 24, true, |_| {});
        assert_eq!(quarantine.held(0x10_0010 + 23), Held::Inside);
        assert_eq!(quarantine.first_held(0x10_0030, 24), None);
        assert_eq!(quarantine.held(0x10_0018), Held::Inside);
        assert_eq!(quarantine.first_held(0x10_0000, 0x1000), Some(0x10_0010));
    }

    #[test]
    fn allowed_accesses_are_not_looked_up() {
        let quarantine = empty();
        quarantine.keep(0x10_0010, 24, false, |_| {});
        assert!(!quarantine.may_hold(0x10_0010, 8));
        assert_eq!(quarantine.first_held(0x10_0ff0, 0x100), None);
        assert_eq!(quarantine.held(0x10_0010), Held::Block);
    }
}
