//! Accesses without a record of their own: they repeat one that has a record.
//!
//! As long as a thread has the turn and only computes, nobody else can tell how often it does the same. Such an
//! *epoch* ends when another thread gets the turn, and at every step that is neither an access to memory nor a call of
//! a function. Within an epoch of a long run each access of up to eight bytes gets a record once, by its place and its
//! bytes. So that the log is still right about values, the last of several equal writes gets one as well
//! ([`flag::LAST_WRITE`]): before a read of the same word is recorded, before another write to it, and at the epoch's end.
//!
//! It changes no decision: a run has the same schedule with these records and without.

use crate::{
    log,
    state::{SHARED, Thread, header},
    sys,
};
use core::{cell::Cell, ptr::null};
use unsnarl_trace::raw::{RecordKind, flag};

/// Number of reads that are remembered.
const READS: usize = 1 << 16;
/// Number of words whose writes are remembered.
const WORDS: usize = 1 << 15;
/// Largest access that is left out.
const LARGEST: u32 = 8;
/// Number of words up to which those of a range are looked up one by one.
const FEW: usize = 64;

/// An address and a place in one epoch, with half of the epoch's number each in the bits that no address
/// uses. Zeroed memory is none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EpochAccess {
    addr: u64,
    pc: u64,
}

impl EpochAccess {
    #[inline(always)]
    fn of(addr: u64, pc: u64) -> EpochAccess {
        let epoch = REPEATS.epoch.get();
        EpochAccess {
            addr: addr | epoch << ADDRESS_BITS,
            pc: pc | epoch >> 16 << ADDRESS_BITS,
        }
    }

    #[inline(always)]
    fn addr(self) -> u64 {
        self.addr & LAST_ADDRESS
    }
}

const ADDRESS_BITS: u32 = 48;
const LAST_ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
/// Number of epochs that can be told apart.
const MOST_EPOCHS: u64 = u32::MAX as u64;

/// The writes of an epoch to a word, by the byte at which they begin.
struct WrittenWord {
    known: Cell<EpochAccess>,
    writes: [LastWrite; 8],
    /// The writes, a bit each, that were repeated since their record.
    awaiting: Cell<u8>,
    /// The bytes that these have written.
    covered: Cell<u8>,
    /// `true` if the word is in the list of those with such writes.
    is_listed: Cell<bool>,
}

/// The last write that begins at some byte.
struct LastWrite {
    /// Its place; 0 when there is none.
    pc: Cell<u64>,
    size: Cell<u32>,
    /// The value that the last repetition wrote, once it has.
    value: Cell<u64>,
}

/// EpochTables of the current epoch.
#[repr(C)]
struct EpochTables {
    reads: [Cell<EpochAccess>; READS],
    words: [WrittenWord; WORDS],
    /// Slots of words with writes that await a record, or did so.
    listed: [Cell<u16>; WORDS],
}

struct RepeatState {
    tables: Cell<*const EpochTables>,
    epoch: Cell<u64>,
    /// Number of listed words.
    listed: Cell<usize>,
    /// Address and entry of a repeated write that the program was about to do when it was last heard of.
    announced: Cell<(u64, *const LastWrite)>,
    /// The thread of the writes that await a record.
    owner: Cell<*const Thread>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for RepeatState {}

static REPEATS: RepeatState = RepeatState {
    tables: Cell::new(null()),
    epoch: Cell::new(1),
    listed: Cell::new(0),
    announced: Cell::new((0, null())),
    owner: Cell::new(null()),
};

/// Makes room for the tables, if accesses are to be left out.
pub fn set_up(after: u64) {
    if after == u64::MAX {
        return;
    }
    if let Some(memory) = sys::memory(size_of::<EpochTables>()) {
        REPEATS.tables.set(memory.cast_const().cast());
        SHARED.repeats_after.set(after);
    }
}

/// Returns whether repeated accesses are left out by now.
#[inline(always)]
pub fn is_on() -> bool {
    SHARED.ticks.get() > SHARED.repeats_after.get()
}

#[inline(always)]
fn tables() -> &'static EpochTables {
    // SAFETY: only when `is_on`, which needs `set_up` to have made them; zeroed memory is valid for them.
    unsafe { &*REPEATS.tables.get() }
}

/// Returns whether a read that is about to happen needs no record. If it does need one, the log is ready for it.
#[inline(always)]
pub fn read(addr: *const u8, pc: u64, size: u32, flags: u8) -> bool {
    let known = EpochAccess::of(addr as u64, pc);
    let slot = (addr as usize / size.max(1) as usize).wrapping_add(spread(pc)) % READS;
    let Some(place) = tables().reads.get(slot) else {
        return false;
    };
    if place.get() == known {
        count();
        return true;
    }
    if size <= LARGEST && flags == 0 {
        place.set(known);
    }
    settle(addr as usize, size as usize);
    false
}

/// Scatters the reads of different places over the table.
#[inline(always)]
fn spread(pc: u64) -> usize {
    (pc.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize
}

/// Returns whether a write that is about to happen needs no record for now. If it does need one, the log is ready for
/// it.
#[inline(always)]
pub fn write(this: &Thread, addr: *const u8, pc: u64, size: u32, flags: u8) -> bool {
    let (word, start) = (addr as u64 & !7, addr as u32 & 7);
    if flags != 0 || start + size > LARGEST {
        settle(addr as usize, size as usize);
        return false;
    }
    let slot = slot_of(word);
    let Some(entry) = tables().words.get(slot) else {
        return false;
    };
    let known = EpochAccess::of(word, 0);
    if entry.known.get() != known {
        entry.begin(known);
    }
    let Some(last) = entry.writes.get(start as usize) else {
        return false;
    };
    if last.pc.get() != pc {
        entry.record();
        last.pc.set(pc);
        last.size.set(size);
        return false;
    }
    entry.repeat(start, size);
    if !entry.is_listed.get() {
        list(this, slot, entry);
    }
    REPEATS.announced.set((addr as u64, last));
    count();
    true
}

/// The slot of a word.
#[inline(always)]
fn slot_of(word: u64) -> usize {
    (word / 8) as usize % WORDS
}

#[inline(always)]
fn count() {
    use core::sync::atomic::Ordering::Relaxed;
    let left_out = &header().left_out;
    left_out.store(left_out.load(Relaxed) + 1, Relaxed);
}

#[cold]
fn list(this: &Thread, slot: usize, entry: &WrittenWord) {
    let count = REPEATS.listed.get();
    if let Some(place) = tables().listed.get(count) {
        place.set(slot as u16);
        entry.is_listed.set(true);
        REPEATS.owner.set(this);
        REPEATS.listed.set(count + 1);
    }
}

impl WrittenWord {
    /// Begins with another word, or in another epoch.
    #[inline(always)]
    fn begin(&self, known: EpochAccess) {
        self.record();
        self.known.set(known);
        self.writes.iter().for_each(|write| write.pc.set(0));
    }

    /// Notes that the write that begins at a byte awaits a record. Of writes that overlap, the earlier one gets it
    /// first.
    #[inline(always)]
    fn repeat(&self, start: u32, size: u32) {
        let (bit, bytes) = (1u8 << start, (((1u32 << size) - 1) << start) as u8);
        if self.awaiting.get() & bit != 0 {
            return;
        }
        if self.covered.get() & bytes != 0 {
            self.record();
        }
        self.awaiting.set(self.awaiting.get() | bit);
        self.covered.set(self.covered.get() | bytes);
    }

    /// Gives the writes that await one their records.
    #[inline(always)]
    fn record(&self) {
        if self.awaiting.get() != 0 {
            self.push_all();
        }
    }

    #[cold]
    fn push_all(&self) {
        let awaiting = self.awaiting.replace(0);
        self.covered.set(0);
        let word = self.known.get().addr();
        // SAFETY: set before the first write was left out; threads live for ever.
        let Some(owner) = (unsafe { REPEATS.owner.get().as_ref() }) else {
            return;
        };
        for (start, last) in self.writes.iter().enumerate() {
            if awaiting >> start & 1 != 0 {
                let flags = flag::VALUE | flag::LAST_WRITE;
                let (pc, size, value) = (last.pc.get(), last.size.get(), last.value.get());
                let addr = word + start as u64;
                log::push(owner, RecordKind::Write, flags, size, pc, addr, value);
            }
        }
    }
}

/// Takes the value of a repeated write that has been executed since it was announced.
#[inline(always)]
pub fn resolve() {
    let (addr, announced) = REPEATS.announced.get();
    // SAFETY: null, or in the tables, which are never unmapped.
    if let Some(last) = unsafe { announced.as_ref() } {
        // SAFETY: the program has just written there.
        last.value
            .set(unsafe { log::sample(addr as *const u8, last.size.get()) });
        forget_announced();
    }
}

/// Forgets a repeated write that was announced.
#[inline(always)]
pub fn forget_announced() {
    REPEATS.announced.set((0, null()));
}

/// Gives the repeated writes to these bytes their records, before another access to them gets one.
#[inline(always)]
pub fn settle(addr: usize, bytes: usize) {
    let listed = REPEATS.listed.get();
    if listed != 0 {
        settle_some(addr, bytes, listed);
    }
}

fn settle_some(addr: usize, bytes: usize, listed: usize) {
    let (first, end) = (addr & !7, addr.saturating_add(bytes));
    let touches =
        |entry: &&WrittenWord| (first..end).contains(&(entry.known.get().addr() as usize));
    let words = &tables().words;
    if bytes / 8 <= FEW {
        let slots = (first..end).step_by(8).map(|word| slot_of(word as u64));
        let entries = slots.filter_map(|slot| words.get(slot));
        return entries.filter(touches).for_each(WrittenWord::record);
    }
    let slots = tables().listed.iter().take(listed);
    let entries = slots.filter_map(|slot| words.get(usize::from(slot.get())));
    entries.filter(touches).for_each(WrittenWord::record);
}

/// Ends the epoch: the last of the repeated writes get their records, and nothing counts as repeated any more.
#[inline(always)]
pub fn end_epoch() {
    if REPEATS.listed.get() != 0 {
        record_all();
    }
    let epoch = REPEATS.epoch.get() + 1;
    REPEATS.epoch.set(epoch);
    if epoch == MOST_EPOCHS {
        SHARED.repeats_after.set(u64::MAX);
    }
}

#[cold]
fn record_all() {
    resolve();
    let count = REPEATS.listed.replace(0);
    for slot in tables().listed.iter().take(count) {
        if let Some(entry) = tables().words.get(usize::from(slot.get())) {
            entry.is_listed.set(false);
            entry.record();
        }
    }
}
