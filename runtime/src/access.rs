//! Callbacks of plain accesses: `__tsan_read*`, `__tsan_write*` and their variants.

use crate::{
    copies::{self, Copied},
    entry::entry,
    log,
    next::Next,
    repeats, scheduler,
    state::{Thread, controlled, recording_memory},
};
use core::sync::atomic::{
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};
use unsnarl_trace::raw::{RecordKind, flag};

/// Length up to which ranges are logged word by word with their values.
const WORDS_UP_TO: usize = 256;
/// Largest number of words of such a range, with a shorter one at either end.
const MOST_WORDS: usize = WORDS_UP_TO / 8 + 2;

/// Size of an access with a second record for the high half of its value.
const WIDE: u32 = 16;

/// Reads the program's memory on its behalf: a fault is charged to the access at `pc`.
///
/// # Safety
/// The program is about to read the same bytes.
#[inline(always)]
pub unsafe fn sample_for(this: &Thread, addr: *const u8, size: u32, pc: u64) -> u64 {
    this.access_pc.store(pc, Relaxed);
    compiler_fence(SeqCst);
    // SAFETY: the caller's.
    let value = unsafe { log::sample(addr, size) };
    compiler_fence(SeqCst);
    this.access_pc.store(0, Relaxed);
    value
}

/// Logs a read that the program does next.
///
/// # Safety
/// The program reads these bytes next.
#[inline(always)]
pub unsafe fn read(addr: *const u8, pc: u64, size: u32, flags: u8) {
    let Some(this) = recording_memory() else {
        return;
    };
    let copied = this.copying.take();
    log::resolve_announced(this);
    let mut is_repeated = false;
    if controlled() {
        let next = Next::access(RecordKind::Read, pc, addr, size);
        scheduler::before_access(this, next, copied.is_some());
        is_repeated = repeats::is_on() && repeats::read(addr, pc, size, flags);
    }
    if !is_repeated {
        // SAFETY: the program reads it next.
        unsafe { log_one(this, addr, pc, size, flags) };
    }
    if let Some(copied) = copied {
        log_copied(this, copied);
    }
}

/// Logs the read of one value.
///
/// # Safety
/// The program reads these bytes next.
#[inline(always)]
unsafe fn log_one(this: &Thread, addr: *const u8, pc: u64, size: u32, flags: u8) {
    let flags = flags | flag::VALUE;
    // SAFETY: the caller's.
    let value = unsafe { sample_for(this, addr, size, pc) };
    log::push(this, RecordKind::Read, flags, size, pc, addr as u64, value);
    if size == WIDE {
        // SAFETY: as above.
        let high = unsafe { sample_for(this, addr.wrapping_add(8), 8, pc) };
        log::push(this, RecordKind::Extra, flag::VALUE, 8, pc, 0, high);
    }
}

/// Logs a write that the program does next, or keeps it back.
///
/// # Safety
/// The program writes these bytes next.
#[inline(always)]
pub unsafe fn write(addr: *const u8, pc: u64, size: u32, flags: u8) {
    let Some(this) = recording_memory() else {
        return;
    };
    log::resolve_announced(this);
    if controlled() {
        if copies::follows_callback(pc) {
            let copied = Copied {
                addr,
                bytes: size as usize,
                pc,
                flags,
                is_range: false,
            };
            return this.copying.keep_back(copied);
        }
        let next = Next::access(RecordKind::Write, pc, addr, size);
        if is_near_stack(addr) {
            scheduler::before_own_write(this, next);
        } else {
            scheduler::before_access(this, next, true);
        }
    }
    announce(this, addr, pc, size, flags);
}

/// Logs a write that was kept back, at the time when the program does it.
#[cold]
fn log_copied(this: &Thread, copied: Copied) {
    if copied.is_range {
        log_write(this, copied.addr, copied.bytes, copied.pc);
        this.copying.logged(copied);
    } else {
        announce(
            this,
            copied.addr,
            copied.pc,
            copied.bytes as u32,
            copied.flags,
        );
    }
}

/// Logs a write that was kept back and that no read followed: the program has done it since.
#[cold]
pub fn log_kept_back(this: &Thread) {
    if let Some(copied) = this.copying.take() {
        log_copied(this, copied);
    }
}

/// Returns whether `addr` lies in the calling functions' frames, as far as they are near.
#[inline(always)]
fn is_near_stack(addr: *const u8) -> bool {
    const NEAR: usize = 64 << 10;
    let here = 0u8;
    (addr as usize).wrapping_sub(&raw const here as usize) < NEAR
}

/// Logs a write that the program does next; its value is filled in later.
#[inline(always)]
fn announce(this: &Thread, addr: *const u8, pc: u64, size: u32, flags: u8) {
    if controlled() && repeats::is_on() && repeats::write(this, addr, pc, size, flags) {
        return;
    }
    let flags = flags | flag::PENDING;
    let record = log::push(this, RecordKind::Write, flags, size, pc, addr as u64, 0);
    this.pending.set(record);
    this.pending_count.set(1);
    if size == WIDE && controlled() {
        let high = addr.wrapping_add(8) as u64;
        log::push(this, RecordKind::Extra, flag::PENDING, 8, pc, high, 0);
        this.pending_count.set(2);
    }
}

#[inline(always)]
unsafe fn read_write(addr: *const u8, pc: u64, size: u32) {
    // SAFETY: the program reads, then writes it.
    unsafe {
        read(addr, pc, size, 0);
        write(addr, pc, size, 0);
    }
}

/// Monomorphic targets of the entry functions: one per size, so that sampling is one instruction.
unsafe extern "C" fn on_read<const SIZE: u32, const FLAGS: u8>(addr: *const u8, pc: u64) {
    // SAFETY: the instrumentation's contract: the program reads SIZE bytes at `addr` next.
    unsafe { read(addr, pc, SIZE, FLAGS) }
}

unsafe extern "C" fn on_write<const SIZE: u32, const FLAGS: u8>(addr: *const u8, pc: u64) {
    // SAFETY: the instrumentation's contract: the program writes SIZE bytes at `addr` next.
    unsafe { write(addr, pc, SIZE, FLAGS) }
}

unsafe extern "C" fn on_read_write<const SIZE: u32>(addr: *const u8, pc: u64) {
    // SAFETY: the instrumentation's contract: the program reads and writes SIZE bytes at `addr` next.
    unsafe { read_write(addr, pc, SIZE) }
}

unsafe extern "C" fn read_range(addr: *const u8, bytes: usize, pc: u64) {
    let Some(this) = recording_memory() else {
        return;
    };
    let copied = this.copying.take();
    log::resolve_announced(this);
    if controlled() && bytes != 0 {
        let next = Next::range(copied.is_some(), pc, addr, bytes);
        scheduler::before_access(this, next, copied.is_some());
    }
    if bytes != 0 {
        // SAFETY: the program reads these bytes next.
        unsafe { log_read(this, addr, bytes, pc) };
    }
    if let Some(copied) = copied {
        log_copied(this, copied);
    }
}

unsafe extern "C" fn write_range(addr: *const u8, bytes: usize, pc: u64) {
    let Some(this) = recording_memory() else {
        return;
    };
    log::resolve_announced(this);
    if bytes == 0 {
        return;
    }
    if controlled() {
        if copies::follows_callback(pc) {
            let copied = Copied {
                addr,
                bytes,
                pc,
                flags: 0,
                is_range: true,
            };
            return this.copying.keep_back(copied);
        }
        scheduler::before_access(this, Next::range(true, pc, addr, bytes), true);
    }
    log_write(this, addr, bytes, pc);
}

/// Logs the read of a range, with its values when it is short.
///
/// # Safety
/// The program is about to read these bytes.
pub unsafe fn log_read(this: &Thread, addr: *const u8, bytes: usize, pc: u64) {
    repeats::settle(addr as usize, bytes);
    if bytes > WORDS_UP_TO {
        log::push(
            this,
            RecordKind::ReadRange,
            0,
            0,
            pc,
            addr as u64,
            bytes as u64,
        );
        return;
    }
    for_words(addr, bytes, |word, size| {
        // SAFETY: the caller's.
        let value = unsafe { sample_for(this, word, size, pc) };
        let flags = flag::VALUE | flag::RANGE_WORD;
        log::push(this, RecordKind::Read, flags, size, pc, word as u64, value);
    });
}

/// Logs the write of a range that comes next; the values of a short one are filled in later.
pub fn log_write(this: &Thread, addr: *const u8, bytes: usize, pc: u64) {
    repeats::settle(addr as usize, bytes);
    // In free mode the records of one range need not be neighbours, so they cannot be filled in.
    if bytes > WORDS_UP_TO || !controlled() {
        log::push(
            this,
            RecordKind::WriteRange,
            0,
            0,
            pc,
            addr as u64,
            bytes as u64,
        );
        return;
    }
    let mut count = 0;
    for_words(addr, bytes, |word, size| {
        let flags = flag::PENDING | flag::RANGE_WORD;
        let record = log::push(this, RecordKind::Write, flags, size, pc, word as u64, 0);
        if count == 0 {
            this.pending.set(record);
        }
        count += 1;
    });
    this.pending_count.set(count);
}

/// Logs a range that has just been written, by the kernel or the library.
pub fn log_written(this: &Thread, addr: *const u8, bytes: usize, pc: u64) {
    log_write(this, addr, bytes, pc);
    log::resolve(this);
}

/// Cuts a range at multiples of eight.
pub fn for_words(addr: *const u8, bytes: usize, mut each: impl FnMut(*const u8, u32)) {
    let (mut at, end) = (addr as usize, addr as usize + bytes);
    for _ in 0..MOST_WORDS {
        if at >= end {
            break;
        }
        let next = ((at | 7) + 1).min(end);
        each(at as *const u8, (next - at) as u32);
        at = next;
    }
}

unsafe extern "C" fn vptr_update(addr: *const *const u8, value: *const u8, pc: u64) {
    let Some(this) = recording_memory() else {
        return;
    };
    log::resolve(this);
    if controlled() {
        let next = Next::access(RecordKind::Write, pc, addr.cast(), 8);
        scheduler::before_access(this, next, true);
        repeats::settle(addr as usize, 8);
    }
    log::push(
        this,
        RecordKind::Write,
        flag::VALUE,
        8,
        pc,
        addr as u64,
        value as u64,
    );
}

const VOLATILE: u8 = flag::VOLATILE;

entry! {
    __tsan_read1, "rsi" => on_read::<1, 0>;
    __tsan_read2, "rsi" => on_read::<2, 0>;
    __tsan_read4, "rsi" => on_read::<4, 0>;
    __tsan_read8, "rsi" => on_read::<8, 0>;
    __tsan_read16, "rsi" => on_read::<16, 0>;
    __tsan_write1, "rsi" => on_write::<1, 0>;
    __tsan_write2, "rsi" => on_write::<2, 0>;
    __tsan_write4, "rsi" => on_write::<4, 0>;
    __tsan_write8, "rsi" => on_write::<8, 0>;
    __tsan_write16, "rsi" => on_write::<16, 0>;
    __tsan_unaligned_read2, "rsi" => on_read::<2, 0>;
    __tsan_unaligned_read4, "rsi" => on_read::<4, 0>;
    __tsan_unaligned_read8, "rsi" => on_read::<8, 0>;
    __tsan_unaligned_read16, "rsi" => on_read::<16, 0>;
    __tsan_unaligned_write2, "rsi" => on_write::<2, 0>;
    __tsan_unaligned_write4, "rsi" => on_write::<4, 0>;
    __tsan_unaligned_write8, "rsi" => on_write::<8, 0>;
    __tsan_unaligned_write16, "rsi" => on_write::<16, 0>;
    __tsan_volatile_read1, "rsi" => on_read::<1, VOLATILE>;
    __tsan_volatile_read2, "rsi" => on_read::<2, VOLATILE>;
    __tsan_volatile_read4, "rsi" => on_read::<4, VOLATILE>;
    __tsan_volatile_read8, "rsi" => on_read::<8, VOLATILE>;
    __tsan_volatile_read16, "rsi" => on_read::<16, VOLATILE>;
    __tsan_volatile_write1, "rsi" => on_write::<1, VOLATILE>;
    __tsan_volatile_write2, "rsi" => on_write::<2, VOLATILE>;
    __tsan_volatile_write4, "rsi" => on_write::<4, VOLATILE>;
    __tsan_volatile_write8, "rsi" => on_write::<8, VOLATILE>;
    __tsan_volatile_write16, "rsi" => on_write::<16, VOLATILE>;
    __tsan_unaligned_volatile_read2, "rsi" => on_read::<2, VOLATILE>;
    __tsan_unaligned_volatile_read4, "rsi" => on_read::<4, VOLATILE>;
    __tsan_unaligned_volatile_read8, "rsi" => on_read::<8, VOLATILE>;
    __tsan_unaligned_volatile_read16, "rsi" => on_read::<16, VOLATILE>;
    __tsan_unaligned_volatile_write2, "rsi" => on_write::<2, VOLATILE>;
    __tsan_unaligned_volatile_write4, "rsi" => on_write::<4, VOLATILE>;
    __tsan_unaligned_volatile_write8, "rsi" => on_write::<8, VOLATILE>;
    __tsan_unaligned_volatile_write16, "rsi" => on_write::<16, VOLATILE>;
    __tsan_read_write1, "rsi" => on_read_write::<1>;
    __tsan_read_write2, "rsi" => on_read_write::<2>;
    __tsan_read_write4, "rsi" => on_read_write::<4>;
    __tsan_read_write8, "rsi" => on_read_write::<8>;
    __tsan_read_write16, "rsi" => on_read_write::<16>;
    __tsan_unaligned_read_write2, "rsi" => on_read_write::<2>;
    __tsan_unaligned_read_write4, "rsi" => on_read_write::<4>;
    __tsan_unaligned_read_write8, "rsi" => on_read_write::<8>;
    __tsan_unaligned_read_write16, "rsi" => on_read_write::<16>;
    __tsan_read_range, "rdx" => read_range;
    __tsan_write_range, "rdx" => write_range;
    __tsan_vptr_read, "rsi" => on_read::<8, 0>;
    __tsan_vptr_update, "rdx" => vptr_update;
}
