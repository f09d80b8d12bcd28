//! Makes room in a log that is full, where accesses may be left out.

use crate::{
    condense::{CondenseMemory, Condensed, Sizes, Word, condense},
    state::{Mode, SHARED, Thread, header, unrecorded},
    sys,
};
use core::{
    slice::from_raw_parts_mut,
    sync::atomic::Ordering::{Relaxed, Release},
};
use unsnarl_trace::raw::MAX_THREADS;

/// Makes room; returns whether there is any.
#[cold]
pub fn make(this: &Thread) -> bool {
    let header = header();
    // Whoever watches counts the records, and so do those who want to know of choices.
    let counts =
        SHARED.is_watched.get() || !SHARED.details.get().is_null() || header.record_branches != 0;
    let may_leave_out = header.repeats_after != u64::MAX && !counts;
    if SHARED.mode.get() != Mode::Controlled || !may_leave_out {
        return false;
    }
    header.condensing.store(1, Release);
    let records = header.records.load(Relaxed) as usize;
    let condensed = unrecorded(this, || condense_log(records));
    if let Some(condensed) = condensed {
        note(this, condensed);
    }
    header.condensing.store(0, Release);
    condensed.is_some()
}

/// Notes what became of the log.
fn note(this: &Thread, condensed: Condensed) {
    let header = header();
    header.records.store(condensed.records as u64, Relaxed);
    header.condensed.store(condensed.older as u64, Relaxed);
    let left_out = header.left_out.load(Relaxed);
    header
        .left_out
        .store(left_out + condensed.accesses, Relaxed);
    // Records of announced writes are among the last ones, none of which has gone.
    let pending = this.pending.get();
    if !pending.is_null() {
        this.pending.set(pending.wrapping_sub(condensed.shift));
    }
}

fn condense_log(records: usize) -> Option<Condensed> {
    let sizes = Sizes::of(records)?;
    let mut memory = Memory::new(sizes)?;
    // SAFETY: mapped for at least so many, all of which are written; only the thread with the turn is here.
    let log = unsafe { from_raw_parts_mut(SHARED.records.get(), records) };
    condense(log, sizes, memory.parts())
}

/// Memory of the runtime's own for one time.
struct Memory {
    start: usize,
    bytes: usize,
    used: usize,
    sizes: Sizes,
}

impl Memory {
    fn new(sizes: Sizes) -> Option<Memory> {
        let words = sizes.words * (size_of::<Word>() + size_of::<u64>());
        let records = sizes.older * (size_of::<u32>() + size_of::<u8>());
        let bytes = words + records + MAX_THREADS * size_of::<u32>();
        let start = sys::memory(bytes)? as usize;
        Some(Memory {
            start,
            bytes,
            used: 0,
            sizes,
        })
    }

    fn parts(&mut self) -> CondenseMemory<'_> {
        let Sizes { older, words } = self.sizes;
        // From the largest alignment to the smallest.
        // SAFETY: the parts do not overlap, end with the memory, and zero is valid for all of them.
        unsafe {
            CondenseMemory {
                words: from_raw_parts_mut(self.part(words), words),
                seen: from_raw_parts_mut(self.part(words), words),
                threads: from_raw_parts_mut(self.part(MAX_THREADS), MAX_THREADS),
                links: from_raw_parts_mut(self.part(older), older),
                marks: from_raw_parts_mut(self.part(older), older),
            }
        }
    }

    /// The place of the next part.
    fn part<T>(&mut self, count: usize) -> *mut T {
        let at = self.start + self.used;
        self.used += count * size_of::<T>();
        at as *mut T
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nobody refers to it any more.
        unsafe { sys::call(libc::SYS_munmap, [self.start, self.bytes, 0, 0, 0, 0]) };
    }
}
