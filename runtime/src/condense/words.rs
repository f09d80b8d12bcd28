//! The words of memory that a log tells of, and who has used each of them since it last changed hands.

/// No record.
pub const NONE: u32 = 0;

/// The word has been used by more than one thread.
pub const SHARED: u8 = 1;
/// It was written since it last changed hands.
pub const WRITTEN: u8 = 2;
/// More than one thread has read it since.
pub const MANY: u8 = 4;
/// The newer part of the log tells of it as well.
pub const AWAITED: u8 = 8;

/// A word of eight bytes. Records are named by their number plus one.
#[derive(Clone, Copy, Default)]
pub struct Word {
    /// Its address plus one; 0 for a free slot.
    address: u64,
    /// The newest of the writes that have no place in the log yet; each is linked to one before it.
    pub pending: u32,
    /// The last read, if no write came later.
    pub last_read: u32,
    /// Number of times that it has changed hands.
    pub turn: u32,
    /// The thread that got it last.
    pub thread: u16,
    /// [`SHARED`], [`WRITTEN`], [`MANY`], [`AWAITED`].
    pub state: u8,
}

impl Word {
    /// Its address; `None` for a free slot.
    pub fn address(&self) -> Option<u64> {
        self.address.checked_sub(1)
    }

    /// Returns whether all of these hold.
    pub fn is(&self, state: u8) -> bool {
        self.state & state == state
    }

    /// Notes an access. The word changes hands if one of the accesses since it last did conflicts with it.
    pub fn note(&mut self, thread: u16, writes: bool) {
        let is_others = self.thread != thread;
        let conflicts = match writes {
            true => is_others || self.is(MANY),
            false => is_others && self.is(WRITTEN),
        };
        if conflicts {
            self.thread = thread;
            self.turn = self.turn.wrapping_add(1);
            self.last_read = NONE;
            self.state = self.state & AWAITED | SHARED;
        } else if is_others {
            self.state |= SHARED | MANY;
        }
        if writes {
            self.state |= WRITTEN;
        }
    }
}

/// A table of words: open addressing, with room for all of them.
pub struct WordTable<'a> {
    /// The slots; their number is a power of two.
    pub slots: &'a mut [Word],
}

/// Words that lie beside each other in the table as they do in memory.
const NEIGHBOURS: u64 = 8;

impl WordTable<'_> {
    /// The slot of the word at an address that is a multiple of eight; that of a new one when it is not there yet.
    /// `None` when there is no room.
    pub fn slot(&mut self, address: u64, thread: u16) -> Option<usize> {
        let (slot, is_new) = self.search(address)?;
        if is_new {
            let word = self.slots.get_mut(slot)?;
            *word = Word {
                address: address + 1,
                thread,
                ..Word::default()
            };
        }
        Some(slot)
    }

    /// The slot of a word that is there.
    pub fn find(&self, address: u64) -> Option<usize> {
        let (slot, is_new) = self.search(address)?;
        (!is_new).then_some(slot)
    }

    /// A word's slot, or the free one where it belongs, with `true`.
    fn search(&self, address: u64) -> Option<(usize, bool)> {
        let mask = self.slots.len().checked_sub(1)?;
        let number = address / 8;
        let group = (number / NEIGHBOURS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
        let start = (group * NEIGHBOURS + number % NEIGHBOURS) as usize;
        for step in 0..self.slots.len() {
            let slot = start.wrapping_add(step) & mask;
            match self.slots.get(slot)?.address {
                0 => return Some((slot, true)),
                there if there == address + 1 => return Some((slot, false)),
                _ => {}
            }
        }
        None
    }
}
