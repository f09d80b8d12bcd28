//! Appending to the raw log.

use crate::{
    access,
    append::{RawLog, append},
    failure, freed, livelock, path, repeats, room,
    state::{Mode, SHARED, Thread, header},
    sys, watch,
};
use core::sync::atomic::Ordering::{Relaxed, Release};
use unsnarl_trace::raw::{End, Record, RecordKind, flag};

/// Appends a record for `this`. It is complete, and survives a crash, when this returns.
#[inline(always)]
pub fn push(
    this: &Thread,
    kind: RecordKind,
    flags: u8,
    size: u32,
    pc: u64,
    addr: u64,
    value: u64,
) -> *mut Record {
    let record = Record {
        kind: kind as u8,
        flags,
        thread: this.number.get(),
        size,
        pc,
        addr,
        value,
    };
    if SHARED.mode.get() == Mode::Path {
        return path::push(this, record);
    }
    let header = header();
    // At the start, before the mode is set, there is one thread, as when one has the turn.
    let is_alone = SHARED.mode.get() != Mode::Free;
    if is_alone {
        livelock::record(kind, flags, addr);
    }
    if is_alone && ends_epoch(kind) {
        repeats::end_epoch();
    }
    let log = RawLog {
        count: &header.records,
        records: SHARED.records.get(),
        capacity: SHARED.records_cap.get(),
    };
    let index = match append(&log, is_alone, record) {
        Some(index) => index,
        None => append_to_full(this, &log, record),
    };
    if SHARED.is_watched.get() {
        watch::note(this, kind, pc, index);
    }
    freed::check(this, kind, size, pc, addr, value);
    // SAFETY: the place of the record that was appended.
    unsafe { log.records.add(index as usize) }
}

/// Appends a record to a log that is full.
#[cold]
fn append_to_full(this: &Thread, log: &RawLog<'_>, record: Record) -> u64 {
    let index = room::make(this).then(|| append(log, true, record));
    index
        .flatten()
        .unwrap_or_else(|| failure::end_now(End::LogFull))
}

/// Returns whether a record of this kind ends the epoch of `repeats`.
#[inline(always)]
const fn ends_epoch(kind: RecordKind) -> bool {
    use RecordKind::*;
    !matches!(
        kind,
        Read | Write | ReadRange | WriteRange | Enter | Leave | Extra | Branch
    )
}

/// Removes the records of a call of `this` that has left no others since it was entered; returns whether it did.
pub fn take_call_back(this: &Thread) -> bool {
    let header = header();
    let records = header.records.load(Relaxed);
    let is_of_call = |back: u64, kind: RecordKind| {
        let index = records.checked_sub(back)? as usize;
        // SAFETY: below the number of records.
        let record = unsafe { &*SHARED.records.get().add(index) };
        Some(record.kind == kind as u8 && record.thread == this.number.get())
    };
    let is_last = is_of_call(2, RecordKind::Enter) == Some(true)
        && is_of_call(1, RecordKind::Extra) == Some(true);
    if is_last {
        header.records.store(records - 2, Release);
    }
    is_last
}

/// Appends a record of a synchronization operation.
#[inline(always)]
pub fn sync(this: &Thread, kind: RecordKind, pc: u64, object: usize, value: u64) {
    push(this, kind, 0, 0, pc, object as u64, value);
}

/// Fills in the values of the writes that were announced and have been executed since, before a step that is no plain
/// access.
#[inline(always)]
pub fn resolve(this: &Thread) {
    resolve_announced(this);
    if SHARED.mode.get() == Mode::Controlled {
        repeats::end_epoch();
    }
}

/// The same before a plain access or the call of a function.
#[inline(always)]
pub fn resolve_announced(this: &Thread) {
    if !this.copying.is_idle() {
        access::log_kept_back(this);
    }
    repeats::resolve();
    let count = this.pending_count.get();
    if count == 0 {
        return;
    }
    this.pending_count.set(0);
    let first = this.pending.get();
    for i in 0..count as usize {
        // SAFETY: the records were pushed by this thread; the program has just written to `addr`.
        unsafe {
            let record = &mut *first.add(i);
            record.value = sample(record.addr as *const u8, record.size);
            record.flags = record.flags & !flag::PENDING | flag::VALUE;
        }
    }
}

/// Returns whether an announced write goes to the page of `address`.
pub fn pending_on_page(this: &Thread, address: u64) -> bool {
    pending_address(this).is_some_and(|target| target >> 12 == address >> 12)
}

/// Returns whether the memory of the announced writes can be read, by asking the kernel: a fault here would be one in
/// the handler of a fault.
pub fn pending_is_readable(this: &Thread) -> bool {
    let Some(target) = pending_address(this) else {
        return true;
    };
    let mut byte = 0u8;
    let to = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let from = libc::iovec {
        iov_base: target as *mut libc::c_void,
        iov_len: 1,
    };
    // SAFETY: reads one byte of this process, or fails.
    let read = unsafe {
        let (to, from) = (&raw const to as usize, &raw const from as usize);
        let arguments = [sys::process_id() as usize, to, 1, from, 1, 0];
        sys::call(libc::SYS_process_vm_readv, arguments)
    };
    read == 1
}

/// Address of the first announced write.
fn pending_address(this: &Thread) -> Option<u64> {
    // SAFETY: pending records were pushed by this thread.
    (this.pending_count.get() != 0).then(|| unsafe { (*this.pending.get()).addr })
}

/// Drops announced writes: they faulted, or their memory is gone.
pub fn forget_pending(this: &Thread) {
    repeats::forget_announced();
    this.pending_count.set(0);
}

/// The low eight bytes of the program's memory at `addr`.
///
/// # Safety
/// `size` bytes at `addr` must be readable, or the fault must be the program's own (`access_pc` is set).
#[inline(always)]
pub unsafe fn sample(addr: *const u8, size: u32) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        match size {
            1 => addr.read_volatile() as u64,
            2 => addr.cast::<u16>().read_unaligned() as u64,
            4 => addr.cast::<u32>().read_unaligned() as u64,
            8 | 16 => addr.cast::<u64>().read_unaligned(),
            3 | 5 | 6 | 7 => {
                let byte = |i: u32| (addr.add(i as usize).read_volatile() as u64) << (8 * i);
                (0..size).fold(0, |value, i| value | byte(i))
            }
            _ => 0,
        }
    }
}
