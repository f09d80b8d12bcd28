//! The memory of a run: a cell for the bytes that were touched together, found by address.
//!
//! A page that was touched as a whole has one cell for all its words, until one of them is touched by itself. So
//! clearing a gigabyte takes as many steps as it has pages. The division of bytes into cells depends on what was
//! touched in a run and not on the order, so equal orders give equal hashes.

use super::cells::Cell;
use rustc_hash::FxHashMap;

/// Bytes of a page.
pub(super) const PAGE: u64 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;
/// Words of a page.
const WORDS: usize = 1 << (PAGE_BITS - 3);
/// Number of pages that are found without a look into the table.
const RECENT: usize = 64;

/// Number of a page among those that were touched.
pub(super) type PageId = u32;

/// All pages and cells.
pub(super) struct DigestMemory {
    /// Cells of the words that have none of their own, by page; 0 when there is none.
    wholes: Vec<u32>,
    /// Starts of the pages' words, counted in pages, by page; 0 when no word has a cell of its own.
    places: Vec<u32>,
    /// The first cell of each word, 0 when there is none.
    heads: Vec<u32>,
    numbers: FxHashMap<u64, PageId>,
    recent: [(u64, PageId); RECENT],
    /// Cells by number; number 0 belongs to no bytes.
    cells: Vec<Cell>,
    free: Vec<u32>,
}

impl Default for DigestMemory {
    fn default() -> DigestMemory {
        DigestMemory {
            wholes: Vec::new(),
            places: Vec::new(),
            heads: vec![0; WORDS],
            numbers: FxHashMap::default(),
            recent: [(u64::MAX, 0); RECENT],
            cells: vec![Cell::new(0, 0, 0)],
            free: Vec::new(),
        }
    }
}

impl DigestMemory {
    /// The page of an address.
    pub fn page(&mut self, address: u64) -> PageId {
        let number = address >> PAGE_BITS;
        let slot = number as usize % RECENT;
        if let Some((_, id)) = self.recent.get(slot).filter(|(known, _)| *known == number) {
            return *id;
        }
        let next = self.wholes.len() as PageId;
        let id = *self.numbers.entry(number).or_insert(next);
        if id == next {
            self.wholes.push(0);
            self.places.push(0);
        }
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = (number, id);
        }
        id
    }

    /// The first cell of a word; 0 when it has none of its own.
    pub fn head(&self, page: PageId, word: u64) -> u32 {
        // A page without words shares those at place 0, which have no cells.
        let place = self.places.get(page as usize).copied().unwrap_or(0);
        let head = self.heads.get(place as usize * WORDS + index(word));
        head.copied().unwrap_or(0)
    }

    /// Makes a cell the first one of its word.
    pub fn set_head(&mut self, page: PageId, word: u64, cell: u32) {
        let Some(place) = self.places.get_mut(page as usize) else {
            return;
        };
        if *place == 0 {
            *place = (self.heads.len() / WORDS) as u32;
            self.heads.resize(self.heads.len() + WORDS, 0);
        }
        let head = self.heads.get_mut(*place as usize * WORDS + index(word));
        if let Some(head) = head {
            *head = cell;
        }
    }

    /// The cell of the words of a page that have none of their own; 0 when there is none.
    pub fn whole(&self, page: PageId) -> u32 {
        self.wholes.get(page as usize).copied().unwrap_or(0)
    }

    /// Sets the cell of the words of a page that have none of their own.
    pub fn set_whole(&mut self, page: PageId, cell: u32) {
        if let Some(whole) = self.wholes.get_mut(page as usize) {
            *whole = cell;
        }
    }

    /// A cell.
    pub fn cell(&self, number: u32) -> Option<&Cell> {
        self.cells.get(number as usize)
    }

    /// A cell to change.
    pub fn cell_mut(&mut self, number: u32) -> Option<&mut Cell> {
        self.cells.get_mut(number as usize)
    }

    /// Adds a cell.
    pub fn add(&mut self, cell: Cell) -> u32 {
        if let Some(number) = self.free.pop() {
            if let Some(place) = self.cells.get_mut(number as usize) {
                *place = cell;
            }
            return number;
        }
        self.cells.push(cell);
        self.cells.len() as u32 - 1
    }

    /// Removes a cell.
    pub fn remove(&mut self, number: u32) -> Option<Cell> {
        let cell = self
            .cells
            .get_mut(number as usize)
            .filter(|_| number != 0)?;
        self.free.push(number);
        Some(std::mem::replace(cell, Cell::new(0, 0, 0)))
    }

    /// The pages in a range that were touched, by their first addresses.
    pub fn pages_in(&self, start: u64, end: u64) -> Vec<(u64, PageId)> {
        let (first, last) = (start >> PAGE_BITS, end.saturating_sub(1) >> PAGE_BITS);
        let at = |number: u64, id: PageId| (number << PAGE_BITS, id);
        if last.saturating_sub(first) < self.numbers.len() as u64 {
            let known = |number| Some(at(number, *self.numbers.get(&number)?));
            return (first..=last).filter_map(known).collect();
        }
        let within = self
            .numbers
            .iter()
            .filter(|(number, _)| (first..=last).contains(*number));
        within.map(|(number, id)| at(*number, *id)).collect()
    }

    /// The words of a page, from its first address on, that have cells and lie in a range.
    pub fn words_in(&self, (base, page): (u64, PageId), start: u64, end: u64) -> Vec<(u64, u32)> {
        let place = self.places.get(page as usize).copied().unwrap_or(0) as usize;
        let heads = self.heads.get(place * WORDS..(place + 1) * WORDS);
        let at = (0u64..).zip(heads.unwrap_or_default().iter().copied());
        let at = at.map(|(number, head)| (base | number << 3, head));
        at.filter(|(word, head)| *head != 0 && (word | 7) >= start && *word < end)
            .collect()
    }

    /// Contribution of all cells to the run's hash.
    pub fn hash(&self) -> u64 {
        let cells = self.cells.iter().map(Cell::hash);
        cells.fold(0, u64::wrapping_add)
    }
}

/// Number of a word in its page.
fn index(word: u64) -> usize {
    (word >> 3) as usize % WORDS
}
