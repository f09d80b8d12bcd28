//! History of the bytes of one word: bytes with the same history share a cell.

use super::hash::mix;

/// The effect of a step on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// Commutes with others of its kind.
    Looks,
    /// Commutes with nothing.
    Changes,
}

/// One access, as later ones find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CellAccess {
    /// Number of the event, from 1.
    pub at: u32,
    /// Number of the place in the user's code, with [`ELSEWHERE`] when the step itself stands in other code.
    pub place: u32,
    pub thread: u16,
}

/// Bit of a place number: the step stands in code that was called from there.
pub(super) const ELSEWHERE: u32 = 1 << 31;

/// The absence of an access.
const NONE: CellAccess = CellAccess {
    at: 0,
    place: u32::MAX,
    thread: u16::MAX,
};

/// Bytes of one word that were always touched together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Name of the word.
    pub name: u64,
    /// Hash of its changes in order, each with the looks before it.
    changes: u64,
    /// Hash of the looks since, in no order.
    looks: u64,
    change: CellAccess,
    /// The last look of one thread since the last change; those of the others stand in the crowd.
    look: CellAccess,
    /// Number of the crowd, 0 when there is none.
    crowd: u32,
    /// The set of places from which it was touched.
    pub set: u32,
    /// The cell of other bytes of the same word, 0 when there is none.
    pub next: u32,
    /// The bytes, one bit each.
    pub mask: u8,
}

impl Cell {
    /// A cell for bytes that nobody has touched; `freed` is the step that freed them, or 0.
    pub fn new(name: u64, mask: u8, freed: u64) -> Cell {
        Cell {
            name,
            changes: freed,
            looks: 0,
            change: NONE,
            look: NONE,
            crowd: 0,
            set: super::sets::EMPTY,
            next: 0,
            mask,
        }
    }

    /// Contribution of the cell to the run's hash.
    pub fn hash(&self) -> u64 {
        match (self.changes, self.looks) {
            (0, 0) => 0,
            (changes, looks) => {
                let name = self.name ^ u64::from(self.mask).rotate_right(8);
                mix(mix(name, changes), looks)
            }
        }
    }

    /// Adds a look to its history.
    fn add_look(&mut self, id: u64) {
        // The sum of numbers that are as good as drawn: in no order.
        self.looks = self.looks.wrapping_add(mix(id, 1));
    }

    /// Adds a change to its history.
    fn add_change(&mut self, id: u64) {
        self.changes = mix(self.changes ^ self.looks.rotate_left(17), id);
        self.looks = 0;
    }

    /// Returns whether a step repeats what its thread has just done, from the same place: only the time is new.
    #[inline]
    pub fn repeats(&mut self, by: CellAccess, touch: Touch) -> bool {
        let last = match touch {
            Touch::Looks => &mut self.look,
            Touch::Changes if self.look.at == 0 => &mut self.change,
            Touch::Changes => return false,
        };
        let is_same = last.thread == by.thread && last.place == by.place;
        if is_same {
            last.at = by.at;
        }
        is_same && by.place & ELSEWHERE == 0
    }

    /// Returns whether nobody has touched it.
    fn is_fresh(&self) -> bool {
        self.look.at == 0 && self.change.at == 0
    }
}

/// The looks of several threads since the last change, for the cells that have them.
pub(super) struct Crowds {
    /// Lists by number; the first one belongs to no cell and is empty.
    lists: Vec<Vec<CellAccess>>,
}

impl Default for Crowds {
    fn default() -> Crowds {
        Crowds {
            lists: vec![Vec::new()],
        }
    }
}

impl Crowds {
    /// Adds a step to the history of a cell; `found` gets the accesses that it could have come before.
    ///
    /// Several steps of one thread on a cell without another thread's in between count once, by the first one: the
    /// others are known from the thread's own way. The same goes for the looks of one thread between two changes.
    #[inline]
    pub fn touch(
        &mut self,
        cell: &mut Cell,
        (by, id): (CellAccess, u64),
        touch: Touch,
        found: impl FnMut(CellAccess),
    ) {
        let is_own = |other: CellAccess| other.thread == by.thread || other.at == 0;
        if cell.crowd != 0 || !is_own(cell.change) || !is_own(cell.look) {
            return self.touch_shared(cell, (by, id), touch, found);
        }
        if cell.is_fresh() {
            match touch {
                Touch::Looks => cell.add_look(id),
                Touch::Changes => cell.add_change(id),
            }
        }
        match touch {
            Touch::Looks => cell.look = by,
            Touch::Changes => (cell.look, cell.change) = (NONE, by),
        }
    }

    fn touch_shared(
        &mut self,
        cell: &mut Cell,
        (by, id): (CellAccess, u64),
        touch: Touch,
        mut found: impl FnMut(CellAccess),
    ) {
        let mut meet = |other: CellAccess| {
            if other.at != 0 && other.thread != by.thread {
                found(other);
            }
        };
        meet(cell.change);
        match touch {
            Touch::Looks => self.look(cell, (by, id)),
            Touch::Changes => {
                meet(cell.look);
                let crowd = self.lists.get_mut(cell.crowd as usize);
                let crowd = crowd.into_iter().flat_map(|crowd| crowd.drain(..));
                let others = crowd.map(meet).count();
                let is_shared = others > 0 || cell.look.at != 0 && cell.look.thread != by.thread;
                if is_shared || cell.change.thread != by.thread {
                    cell.add_change(id);
                }
                cell.look = NONE;
                cell.change = by;
            }
        }
    }

    fn look(&mut self, cell: &mut Cell, (by, id): (CellAccess, u64)) {
        let is_changer = cell.change.at != 0 && cell.change.thread == by.thread;
        if cell.look.at == 0 || cell.look.thread == by.thread {
            if cell.look.at == 0 && !is_changer {
                cell.add_look(id);
            }
            cell.look = by;
            return;
        }
        let Some(crowd) = self.own(cell) else {
            return;
        };
        // The last one to look is the one that looks again.
        let last = std::mem::replace(&mut cell.look, by);
        match crowd.iter_mut().find(|look| look.thread == by.thread) {
            Some(look) => *look = last,
            None => {
                crowd.push(last);
                if !is_changer {
                    cell.add_look(id);
                }
            }
        }
    }

    /// Adds the end of a block to the history of a cell: later steps touch freed memory, whoever does them.
    pub fn end(&mut self, cell: &mut Cell, by: CellAccess, id: u64) {
        cell.add_change(id);
        if let Some(crowd) = self.lists.get_mut(cell.crowd as usize) {
            crowd.clear();
        }
        (cell.look, cell.change) = (NONE, by);
    }

    /// The cell's own list.
    fn own(&mut self, cell: &mut Cell) -> Option<&mut Vec<CellAccess>> {
        if cell.crowd == 0 {
            cell.crowd = self.lists.len() as u32;
            self.lists.push(Vec::new());
        }
        self.lists.get_mut(cell.crowd as usize)
    }

    /// Splits off a part of a cell, which has a history of its own from now on.
    pub fn split(&mut self, cell: &Cell, mask: u8) -> Cell {
        let mut part = Cell { mask, ..*cell };
        let crowd = self.lists.get(cell.crowd as usize).cloned();
        if let Some(crowd) = crowd.filter(|_| cell.crowd != 0) {
            part.crowd = self.lists.len() as u32;
            self.lists.push(crowd);
        }
        part
    }

    /// The accesses that a step after all of them could have come before: the last change and the looks since.
    pub fn open(&self, cell: &Cell) -> impl Iterator<Item = CellAccess> + '_ {
        let crowd = self.lists.get(cell.crowd as usize);
        let own = [cell.change, cell.look]
            .into_iter()
            .filter(|access| access.at != 0);
        own.chain(crowd.into_iter().flatten().copied())
    }
}
