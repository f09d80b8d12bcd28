//! History of a run's memory, step by step: the order of accesses, and the meetings of threads.

use super::{
    cells::{Cell, CellAccess, Crowds, ELSEWHERE, Touch},
    forks::Forks,
    hash::mix,
    memory::{DigestMemory, PAGE, PageId},
    names::{MemoryName, MemoryNames, NameRequest},
    sets::PlaceSets,
};
use rustc_hash::FxHashMap;

/// Two places whose accesses followed each other on the same data, in two threads, and could have come in the other
/// order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PlaceMeeting {
    /// Place of the earlier access.
    pub earlier: u32,
    /// Place of the later one.
    pub later: u32,
    /// The earlier one's thread was created first.
    pub is_elder_first: bool,
}

/// Count of a meeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Met {
    /// Number of times.
    pub times: u64,
    /// Number of the later event of the first meeting.
    pub first: u64,
}

/// One step, as memory sees it.
#[derive(Clone, Copy)]
pub(super) struct MemoryStep {
    pub asker: NameRequest,
    /// Hash of the thread's path up to this step.
    pub id: u64,
    pub by: CellAccess,
    /// Effect in the order of conflicting steps.
    pub touch: Touch,
    /// The place of an access to data, in whoever's code; `None` for other steps, which meet nobody.
    pub access: Option<u32>,
}

/// The cells of some bytes, looked up once for each step.
#[derive(Clone, Copy)]
pub(super) struct StepCells {
    page: PageId,
    /// The first cell of the word, 0 when there is none.
    head: u32,
    /// Name of the bytes.
    pub name: u64,
}

/// The history of all memory.
pub(super) struct History {
    memory: DigestMemory,
    pub names: MemoryNames,
    pub sets: PlaceSets,
    pub forks: Forks,
    crowds: Crowds,
    /// Objects that threads wait for, by name.
    objects: FxHashMap<u64, Cell>,
    pub meetings: FxHashMap<PlaceMeeting, Met>,
    /// Hash of the memory that was reused.
    gone: u64,
}

impl History {
    pub fn new(names: MemoryNames) -> History {
        History {
            memory: DigestMemory::default(),
            names,
            sets: PlaceSets::default(),
            forks: Forks::default(),
            crowds: Crowds::default(),
            objects: FxHashMap::default(),
            meetings: FxHashMap::default(),
            gone: 0,
        }
    }

    /// The cells and the name of the bytes at an address.
    #[inline]
    pub fn spot(&mut self, address: u64, asker: NameRequest) -> StepCells {
        let word = address & !7;
        let page = self.memory.page(word);
        let head = self.memory.head(page, word);
        let known = self.memory.cell(head).filter(|_| head != 0);
        let name = match known.map(|cell| cell.name) {
            Some(known) => known,
            None => self.names.name(word, asker).hash,
        };
        StepCells {
            page,
            head,
            name: name ^ (address & 7),
        }
    }

    /// Notes that a step touches some bytes, whose cells are at a spot.
    #[inline]
    pub fn touch(&mut self, address: u64, bytes: u64, spot: StepCells, step: &MemoryStep) {
        let into = address & 7;
        let mask = bits(into, into + bytes.max(1));
        let is_whole = self
            .memory
            .cell(spot.head)
            .is_some_and(|cell| cell.mask == mask);
        if into + bytes <= 8 && is_whole {
            self.touch_cell(spot.head, step);
        } else if into + bytes <= 8 {
            self.touch_word((spot.page, address - into), spot.head, mask, step);
        } else {
            self.touch_range(address, address.saturating_add(bytes), step);
        }
    }

    fn touch_range(&mut self, address: u64, end: u64, step: &MemoryStep) {
        let mut at = address;
        while at < end {
            let word = at & !7;
            if at.is_multiple_of(PAGE) && end - at >= PAGE {
                self.touch_page(at, step);
                at += PAGE;
            } else {
                let upto = end.min(word.saturating_add(8));
                self.touch_bytes(word, bits(at - word, upto - word), step);
                at = upto.max(at + 1);
            }
        }
    }

    fn touch_bytes(&mut self, word: u64, mask: u8, step: &MemoryStep) {
        let page = self.memory.page(word);
        let head = self.memory.head(page, word);
        self.touch_word((page, word), head, mask, step);
    }

    fn touch_word(&mut self, (page, word): (PageId, u64), head: u32, mask: u8, step: &MemoryStep) {
        let mut left = mask;
        let mut number = head;
        if number == 0 && self.memory.whole(page) != 0 {
            number = self.part_of_page(page, word, step.asker);
        }
        while number != 0 {
            let Some((own, next)) = self.memory.cell(number).map(|cell| (cell.mask, cell.next))
            else {
                return;
            };
            let common = own & left;
            if common == own {
                self.touch_cell(number, step);
            } else if common != 0 {
                let part = self.split(number, common);
                self.touch_cell(part, step);
            }
            left &= !common;
            if left == 0 {
                return;
            }
            number = next;
        }
        let cell = self.new_cell(page, word, left, step);
        self.touch_cell(cell, step);
    }

    /// A cell for bytes of a word that no step has touched.
    fn new_cell(&mut self, page: PageId, word: u64, mask: u8, step: &MemoryStep) -> u32 {
        let MemoryName { hash, freed } = self.names.name(word, step.asker);
        let next = self.memory.head(page, word);
        let mut cell = Cell::new(hash, mask, freed);
        cell.next = next;
        let number = self.memory.add(cell);
        self.memory.set_head(page, word, number);
        number
    }

    /// A cell of its own for some bytes of a cell.
    fn split(&mut self, number: u32, mask: u8) -> u32 {
        let Some(cell) = self.memory.cell(number).copied() else {
            return 0;
        };
        let part = self.crowds.split(&cell, mask);
        let part = self.memory.add(part);
        if let Some(cell) = self.memory.cell_mut(number) {
            cell.mask &= !mask;
            cell.next = part;
        }
        part
    }

    /// A cell of its own for a word of a page that was touched as a whole.
    fn part_of_page(&mut self, page: PageId, word: u64, asker: NameRequest) -> u32 {
        let Some(whole) = self.memory.cell(self.memory.whole(page)).copied() else {
            return 0;
        };
        let mut part = self.crowds.split(&whole, u8::MAX);
        part.name = self.names.name(word, asker).hash;
        let number = self.memory.add(part);
        self.memory.set_head(page, word, number);
        number
    }

    fn touch_page(&mut self, base: u64, step: &MemoryStep) {
        let page = self.memory.page(base);
        for (word, _) in self.memory.words_in((base, page), base, base | (PAGE - 1)) {
            self.touch_bytes(word, u8::MAX, step);
        }
        let mut whole = self.memory.whole(page);
        if whole == 0 {
            let MemoryName { hash, freed } = self.names.name(base, step.asker);
            whole = self.memory.add(Cell::new(mix(hash, PAGE), u8::MAX, freed));
            self.memory.set_whole(page, whole);
        }
        self.touch_cell(whole, step);
    }

    #[inline]
    fn touch_cell(&mut self, number: u32, step: &MemoryStep) {
        let cell = self.memory.cell_mut(number);
        if cell.is_some_and(|cell| !cell.repeats(step.by, step.touch)) {
            self.change_cell(number, step);
        }
    }

    fn change_cell(&mut self, number: u32, step: &MemoryStep) {
        let Some(cell) = self.memory.cell_mut(number) else {
            return;
        };
        let (by, forks, meetings) = (step.by, &self.forks, &mut self.meetings);
        let mut has_met = false;
        let is_access = step.access.is_some();
        self.crowds.touch(cell, (by, step.id), step.touch, |other| {
            if is_access && !forks.is_behind(by.thread, other.thread, other.at) {
                has_met = true;
                note(meetings, other, by);
            }
        });
        if let Some(place) = step.access {
            cell.set = match has_met {
                true => self.sets.meet(cell.set, place),
                false => self.sets.with(cell.set, place),
            };
        }
    }

    /// Notes that an operation meets those of other threads on the same object: a signal, for example, those that are
    /// asleep.
    pub fn meet(&mut self, object: u64, touch: Touch, by: CellAccess) {
        let (forks, meetings) = (&self.forks, &mut self.meetings);
        let new = || Cell::new(object, u8::MAX, 0);
        let cell = self.objects.entry(object).or_insert_with(new);
        self.crowds.touch(cell, (by, 0), touch, |other| {
            if !forks.is_behind(by.thread, other.thread, other.at) {
                note(meetings, other, by);
            }
        });
    }

    /// Frees a block: that is a change of all of it that was touched.
    pub fn free(&mut self, (start, end): (u64, u64), step: &MemoryStep) {
        let mut last: FxHashMap<u16, CellAccess> = FxHashMap::default();
        for number in self.cells_in(start, end) {
            let Some(cell) = self.memory.cell_mut(number) else {
                continue;
            };
            for access in self.crowds.open(cell) {
                let known = last.entry(access.thread).or_insert(access);
                *known = if access.at > known.at { access } else { *known };
            }
            self.crowds.end(cell, step.by, step.id);
        }
        let by = step.by;
        for other in last.into_values().filter(|other| other.thread != by.thread) {
            if !self.forks.is_behind(by.thread, other.thread, other.at) {
                note(&mut self.meetings, other, by);
            }
        }
    }

    /// Notes that memory is reused: later steps are on another object.
    pub fn forget(&mut self, start: u64, end: u64, asker: NameRequest) {
        for (base, page) in self.memory.pages_in(start, end) {
            let is_all = start <= base && base.saturating_add(PAGE) <= end;
            if !is_all && self.memory.whole(page) != 0 {
                let words = (0..PAGE).step_by(8).map(|offset| base | offset);
                let bare = words.filter(|word| self.memory.head(page, *word) == 0);
                let bare: Vec<u64> = bare.collect();
                bare.into_iter().for_each(|word| {
                    self.part_of_page(page, word, asker);
                });
            }
            let whole = self.memory.whole(page);
            self.memory.set_whole(page, 0);
            self.take(whole);
            for (word, head) in self.memory.words_in((base, page), start, end) {
                self.memory.set_head(page, word, 0);
                self.word(head).into_iter().for_each(|cell| self.take(cell));
            }
        }
    }

    /// Removes a cell from the memory and adds it to the hash.
    fn take(&mut self, number: u32) {
        if let Some(cell) = self.memory.remove(number) {
            self.gone = self.gone.wrapping_add(cell.hash());
        }
    }

    /// The cells of a word, by the first one.
    fn word(&self, head: u32) -> Vec<u32> {
        let next = |number: &u32| self.memory.cell(*number).map_or(0, |cell| cell.next);
        let cells = std::iter::successors(Some(head), |number| Some(next(number)));
        cells.take_while(|number| *number != 0).collect()
    }

    /// All cells of a range.
    fn cells_in(&self, start: u64, end: u64) -> Vec<u32> {
        let mut cells = Vec::new();
        for (base, page) in self.memory.pages_in(start, end) {
            cells.extend(Some(self.memory.whole(page)).filter(|whole| *whole != 0));
            let words = self.memory.words_in((base, page), start, end);
            cells.extend(words.iter().flat_map(|(_, head)| self.word(*head)));
        }
        cells
    }

    /// Hash of all steps on memory.
    pub fn hash(&self) -> u64 {
        self.memory.hash().wrapping_add(self.gone)
    }
}

/// Counts a meeting.
fn note(meetings: &mut FxHashMap<PlaceMeeting, Met>, earlier: CellAccess, later: CellAccess) {
    let meeting = PlaceMeeting {
        earlier: earlier.place & !ELSEWHERE,
        later: later.place & !ELSEWHERE,
        is_elder_first: earlier.thread < later.thread,
    };
    let first = u64::from(later.at) - 1;
    let met = meetings.entry(meeting).or_insert(Met { times: 0, first });
    met.times += 1;
}

/// The bits of a word's bytes.
fn bits(from: u64, to: u64) -> u8 {
    let below = |byte: u64| (1u16 << byte.min(8)) - 1;
    (below(to) & !below(from)) as u8
}
