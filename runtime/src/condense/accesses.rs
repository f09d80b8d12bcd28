//! The accesses that stay in the older part of a log.

use super::words::{AWAITED, MANY, NONE, SHARED, Word, WordTable};
use unsnarl_trace::raw::{Record, RecordKind, flag};

/// Mark of a record that stays.
pub const KEEP: u8 = 1;
/// Mark of a write that stands for earlier ones.
const STANDS_FOR: u8 = 2;
/// Mark of an entered function in which something stays.
pub const HOLDS: u8 = 4;

/// Size above which a range is looked for among all words, instead of its words one by one.
const LONG_RANGE: u64 = 1 << 16;

/// One pass over the older part.
pub struct AccessPass<'a> {
    pub records: &'a [Record],
    pub words: WordTable<'a>,
    /// Hashes of the accesses that have a record.
    pub seen: &'a mut [u64],
    /// For a write without a place in the log, another one of the same word.
    pub links: &'a mut [u32],
    pub marks: &'a mut [u8],
}

impl AccessPass<'_> {
    /// Marks what stays of the first `cut` records.
    pub fn run(&mut self, cut: usize) {
        for at in 0..cut {
            self.record(at);
        }
        self.end(cut);
    }

    fn record(&mut self, at: usize) -> Option<()> {
        use RecordKind as K;
        let record = *self.records.get(at)?;
        let kind = K::from_u8(record.kind)?;
        match kind {
            K::Enter | K::Leave | K::Extra => return None,
            K::Read | K::Write if is_within_a_word(&record) => {
                let slot = self.words.slot(record.addr & !7, record.thread);
                return match slot {
                    Some(slot) => self.access(at, &record, slot),
                    None => self.keep(at),
                };
            }
            K::Read | K::AtomicRead => self.touch(&record, record.size.into(), false),
            K::Write | K::AtomicWrite | K::Rmw => self.touch(&record, record.size.into(), true),
            K::ReadRange => self.touch(&record, record.value, false),
            K::WriteRange => self.touch(&record, record.value, true),
            _ => {}
        }
        self.keep(at)
    }

    fn keep(&mut self, at: usize) -> Option<()> {
        *self.marks.get_mut(at)? |= KEEP;
        Some(())
    }

    /// An access within a word. It stays if it is the first of its kind since the word came to the thread from another
    /// one; what was written before an access that stays does, too.
    fn access(&mut self, at: usize, record: &Record, slot: usize) -> Option<()> {
        let mut word = *self.words.slots.get(slot)?;
        let writes = record.kind == RecordKind::Write as u8;
        self.settle(&mut word, record.thread, writes);
        if word.is(SHARED) && self.is_first(record, word.turn) {
            self.flush(&mut word);
            self.keep(at)?;
        } else if writes {
            self.put_off(&mut word, at, record)?;
            word.last_read = NONE;
        } else {
            word.last_read = at as u32 + 1;
        }
        *self.words.slots.get_mut(slot)? = word;
        Some(())
    }

    /// Notes an access: hands the word over, if it means that. When another thread comes, what was read last stays.
    fn settle(&mut self, word: &mut Word, thread: u16, writes: bool) {
        let comes = match word.is(MANY) {
            true => writes,
            false => word.thread != thread,
        };
        if let Some(at) = word.last_read.checked_sub(1).filter(|_| comes) {
            self.keep(at as usize);
        }
        word.note(thread, writes);
    }

    /// Returns whether no equal access has a record since the word changed hands.
    fn is_first(&mut self, record: &Record, turn: u32) -> bool {
        let parts = [
            record.pc,
            record.addr,
            u64::from(record.size) << 32 | u64::from(record.thread) << 8 | u64::from(record.kind),
            turn.into(),
        ];
        let hash = parts.into_iter().fold(0u64, |hash, part| {
            (hash.rotate_left(23) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        self.is_new(hash | 1)
    }

    /// Returns whether a hash is not among those that were seen, and adds it: open addressing, with room for all of them.
    fn is_new(&mut self, hash: u64) -> bool {
        let mask = self.seen.len().wrapping_sub(1);
        for step in 0..self.seen.len() {
            let slot = ((hash >> 20) as usize).wrapping_add(step) & mask;
            match self.seen.get_mut(slot) {
                Some(known) if *known == hash => return false,
                Some(known) if *known == 0 => {
                    *known = hash;
                    return true;
                }
                _ => {}
            }
        }
        true
    }

    /// All writes that were put off stay.
    fn flush(&mut self, word: &mut Word) {
        let mut at = core::mem::replace(&mut word.pending, NONE);
        while let Some(index) = at.checked_sub(1).map(|index| index as usize) {
            self.keep(index);
            at = self.links.get(index).copied().unwrap_or(NONE);
        }
    }

    /// Puts a write off, in place of one to the same bytes. Others stay beside it: of those that overlap, each byte has its
    /// value from the last one.
    fn put_off(&mut self, word: &mut Word, at: usize, record: &Record) -> Option<()> {
        let (mut next, mut before) = (word.pending, None);
        while let Some(index) = next.checked_sub(1).map(|index| index as usize) {
            let other = self.records.get(index)?;
            next = *self.links.get(index)?;
            if (other.addr, other.size) != (record.addr, record.size) {
                before = Some(index);
                continue;
            }
            match before {
                None => word.pending = next,
                Some(before) => *self.links.get_mut::<usize>(before)? = next,
            }
            *self.marks.get_mut(at)? |= STANDS_FOR;
        }
        *self.links.get_mut(at)? = word.pending;
        word.pending = at as u32 + 1;
        Some(())
    }

    /// An access that stays, to all these bytes.
    fn touch(&mut self, record: &Record, bytes: u64, writes: bool) {
        let (start, end) = (record.addr & !7, record.addr.saturating_add(bytes));
        if bytes <= LONG_RANGE {
            for address in (start..end).step_by(8) {
                if let Some(slot) = self.words.find(address) {
                    self.touch_word(slot, record.thread, writes);
                }
            }
            return;
        }
        for slot in 0..self.words.slots.len() {
            let address = self.words.slots.get(slot).and_then(Word::address);
            if address.is_some_and(|address| (start..end).contains(&address)) {
                self.touch_word(slot, record.thread, writes);
            }
        }
    }

    fn touch_word(&mut self, slot: usize, thread: u16, writes: bool) -> Option<()> {
        let mut word = *self.words.slots.get(slot)?;
        self.settle(&mut word, thread, writes);
        self.flush(&mut word);
        *self.words.slots.get_mut(slot)? = word;
        Some(())
    }

    /// The last writes stay: those to words that threads share or that the newer part tells of, and all others if less
    /// than half of the older part stays with them.
    fn end(&mut self, cut: usize) {
        for record in self.records.get(cut..).unwrap_or_default() {
            if let Some(slot) = self.words.find(record.addr & !7)
                && let Some(word) = self.words.slots.get_mut(slot)
            {
                word.state |= AWAITED;
            }
        }
        let is_open = |word: &&Word| word.pending != NONE;
        let open = self.words.slots.iter().filter(is_open).count();
        let kept = self.marks.iter().filter(|mark| **mark & KEEP != 0).count();
        let all_stay = open + kept <= cut / 2;
        for slot in 0..self.words.slots.len() {
            let Some(mut word) = self.words.slots.get(slot).copied() else {
                break;
            };
            if word.pending != NONE && (all_stay || word.state & (SHARED | AWAITED) != 0) {
                self.flush(&mut word);
            }
        }
    }
}

/// Returns whether a plain access has been executed and lies within one word.
fn is_within_a_word(record: &Record) -> bool {
    let start = (record.addr & 7) as u32;
    record.flags & flag::PENDING == 0 && record.size >= 1 && start.saturating_add(record.size) <= 8
}

/// A record as it stays.
pub fn kept(record: Record, mark: u8) -> Record {
    let stands_for = record.kind == RecordKind::Write as u8 && mark & STANDS_FOR != 0;
    let flags = record.flags | if stands_for { flag::LAST_WRITE } else { 0 };
    Record { flags, ..record }
}
