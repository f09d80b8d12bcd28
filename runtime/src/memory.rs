//! Functions of the C library that work on memory (`mem*`), and clang's `__tsan_mem*`: the bytes that
//! they touch are accesses of the program. The functions on strings stand in `strings`.
//!
//! They are written with string instructions: a loop here could be compiled into a call of itself.

use crate::{
    access,
    entry::{entry, entry_or_library},
    log, modules,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled, recording_memory},
};
use core::{
    arch::asm,
    ffi::c_int,
    sync::atomic::{
        Ordering::{Relaxed, SeqCst},
        compiler_fence,
    },
};

/// Copies forwards.
///
/// # Safety
/// As `memcpy`.
#[inline(always)]
pub unsafe fn copy_up(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
}

/// Copies between ranges that may overlap.
///
/// # Safety
/// As `memmove`.
#[inline(always)]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    let overlaps_ahead = (to as usize).wrapping_sub(from as usize) < bytes;
    if !overlaps_ahead || bytes == 0 {
        // SAFETY: the caller's.
        return unsafe { copy_up(to, from, bytes) };
    }
    // SAFETY: the caller's; the direction flag is cleared again as the ABI wants it.
    unsafe {
        asm!("std", "rep movsb", "cld",
            inout("rcx") bytes => _,
            inout("rdi") to.add(bytes - 1) => _,
            inout("rsi") from.add(bytes - 1) => _,
            options(nostack));
    }
}

/// Fills with a byte.
///
/// # Safety
/// As `memset`.
#[inline(always)]
pub unsafe fn fill(to: *mut u8, byte: c_int, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags));
    }
}

/// Bytes before the NUL.
///
/// # Safety
/// As `strlen`.
#[inline(always)]
pub unsafe fn length(text: *const u8) -> usize {
    let rest: usize;
    // SAFETY: the caller's: the scan stops at the NUL.
    unsafe {
        asm!("repne scasb", inout("rcx") usize::MAX => rest, inout("rdi") text => _, in("al") 0u8,
            options(nostack, readonly));
    }
    usize::MAX - rest - 1
}

/// Bytes before the NUL, at most `most`.
///
/// # Safety
/// As `strnlen`.
#[inline(always)]
pub unsafe fn length_up_to(text: *const u8, most: usize) -> usize {
    let mut bytes = 0;
    // SAFETY: the caller's; volatile so that this stays a loop.
    while bytes < most && unsafe { text.add(bytes).read_volatile() } != 0 {
        bytes += 1;
    }
    bytes
}

/// The calling thread, ready for an operation on memory. No other thread may run while the C++ library
/// is inside one of its functions: it may hold locks of its own.
pub fn ready(changes: bool, pc: u64) -> Option<&'static Thread> {
    let this = recording_memory()?;
    if modules::is_system(pc) {
        return None;
    }
    log::resolve_announced(this);
    if controlled() && !modules::is_cpp_library(pc) {
        scheduler::before_access(
            this,
            Next::range(changes, pc, core::ptr::null(), 0),
            changes,
        );
    }
    Some(this)
}

/// Logs that `bytes` are read.
///
/// # Safety
/// The program is about to read them.
pub unsafe fn reads(this: Option<&Thread>, from: *const u8, bytes: usize, pc: u64) {
    if let (Some(this), 1..) = (this, bytes) {
        // SAFETY: the caller's.
        unsafe { access::log_read(this, from, bytes, pc) };
    }
}

/// Logs that `bytes` are written; the values are filled in once they have been.
pub fn writes(this: Option<&Thread>, to: *const u8, bytes: usize, pc: u64) {
    if let (Some(this), 1..) = (this, bytes) {
        access::log_write(this, to, bytes, pc);
    }
}

unsafe extern "C" fn on_memcpy(to: *mut u8, from: *const u8, bytes: usize, pc: u64) -> *mut u8 {
    if recording_memory().is_some_and(|this| this.copying.is_done_by(to, bytes)) {
        // SAFETY: the program's own call.
        unsafe { copy(to, from, bytes) };
        return to;
    }
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        reads(this, from, bytes, pc);
        writes(this, to, bytes, pc);
        copy(to, from, bytes);
    }
    to
}

unsafe extern "C" fn on_memset(to: *mut u8, byte: c_int, bytes: usize, pc: u64) -> *mut u8 {
    writes(ready(true, pc), to, bytes, pc);
    // SAFETY: the program's own call.
    unsafe { fill(to, byte, bytes) };
    to
}

unsafe extern "C" fn on_memcmp(a: *const u8, b: *const u8, bytes: usize, pc: u64) -> c_int {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let same = (0..bytes)
            .take_while(|&i| a.add(i).read_volatile() == b.add(i).read_volatile())
            .count();
        let read = (same + 1).min(bytes);
        reads(this, a, read, pc);
        reads(this, b, read, pc);
        if same == bytes {
            0
        } else {
            c_int::from(a.add(same).read_volatile()) - c_int::from(b.add(same).read_volatile())
        }
    }
}

/// Runs a function of the library that looks at the program's memory; a fault in it is the program's.
pub fn on_behalf<T>(this: Option<&Thread>, pc: u64, call: impl FnOnce() -> T) -> T {
    let Some(this) = this else { return call() };
    this.access_pc.store(pc, Relaxed);
    compiler_fence(SeqCst);
    let result = call();
    compiler_fence(SeqCst);
    this.access_pc.store(0, Relaxed);
    result
}

/// Logs the reads of a search from `from` on: up to what was found, or `all` bytes.
///
/// # Safety
/// The library has just read them.
pub unsafe fn searched(
    this: Option<&Thread>,
    from: *const u8,
    found: *const u8,
    all: usize,
    pc: u64,
) {
    let bytes = match found.is_null() {
        true => all,
        false => found as usize - from as usize + 1,
    };
    // SAFETY: the caller's.
    unsafe { reads(this, from, bytes, pc) };
}

/// Ends the program as the library does when a checked function would write past its destination.
pub fn check_room(wanted: usize, room: usize) {
    if wanted > room {
        let fail = real!("__chk_fail", fn() -> c_int);
        // SAFETY: ends the program.
        unsafe { fail() };
    }
}

unsafe extern "C-unwind" fn on_memcpy_checked(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    room: usize,
    pc: u64,
) -> *mut u8 {
    check_room(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_memcpy(to, from, bytes, pc) }
}

unsafe extern "C-unwind" fn on_memset_checked(
    to: *mut u8,
    byte: c_int,
    bytes: usize,
    room: usize,
    pc: u64,
) -> *mut u8 {
    check_room(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_memset(to, byte, bytes, pc) }
}

unsafe extern "C-unwind" fn on_mempcpy_checked(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    room: usize,
    pc: u64,
) -> *mut u8 {
    check_room(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_mempcpy(to, from, bytes, pc) }
}

unsafe extern "C" fn on_mempcpy(to: *mut u8, from: *const u8, bytes: usize, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { on_memcpy(to, from, bytes, pc).add(bytes) }
}

unsafe extern "C" fn on_bcopy(from: *const u8, to: *mut u8, bytes: usize, pc: u64) {
    // SAFETY: the program's own call.
    unsafe { on_memcpy(to, from, bytes, pc) };
}

unsafe extern "C" fn on_bzero(to: *mut u8, bytes: usize, pc: u64) {
    // SAFETY: the program's own call.
    unsafe { on_memset(to, 0, bytes, pc) };
}

unsafe extern "C" fn on_memchr(from: *const u8, byte: c_int, bytes: usize, pc: u64) -> *const u8 {
    let this = ready(false, pc);
    let find = real!("memchr", fn(*const u8, c_int, usize) -> *const u8);
    // SAFETY: the program's own call.
    unsafe {
        let found = on_behalf(this, pc, || find(from, byte, bytes));
        searched(this, from, found, bytes, pc);
        found
    }
}

unsafe extern "C" fn on_rawmemchr(from: *const u8, byte: c_int, pc: u64) -> *const u8 {
    let this = ready(false, pc);
    let find = real!("rawmemchr", fn(*const u8, c_int) -> *const u8);
    // SAFETY: the program's own call.
    unsafe {
        let found = on_behalf(this, pc, || find(from, byte));
        searched(this, from, found, 0, pc);
        found
    }
}

unsafe extern "C" fn on_memrchr(from: *const u8, byte: c_int, bytes: usize, pc: u64) -> *const u8 {
    let this = ready(false, pc);
    let find = real!("memrchr", fn(*const u8, c_int, usize) -> *const u8);
    // SAFETY: the program's own call.
    unsafe {
        let found = on_behalf(this, pc, || find(from, byte, bytes));
        let first = if found.is_null() { from } else { found };
        reads(this, first, from as usize + bytes - first as usize, pc);
        found
    }
}

unsafe extern "C" fn on_memmem(
    from: *const u8,
    bytes: usize,
    part: *const u8,
    part_bytes: usize,
    pc: u64,
) -> *const u8 {
    let this = ready(false, pc);
    let find = real!(
        "memmem",
        fn(*const u8, usize, *const u8, usize) -> *const u8
    );
    // SAFETY: the program's own call.
    unsafe {
        let found = on_behalf(this, pc, || find(from, bytes, part, part_bytes));
        reads(this, part, part_bytes, pc);
        let end = found.wrapping_add(part_bytes.max(1) - 1);
        let end = if found.is_null() { found } else { end };
        searched(this, from, end, bytes, pc);
        found
    }
}

unsafe extern "C" fn on_memccpy(
    to: *mut u8,
    from: *const u8,
    byte: c_int,
    bytes: usize,
    pc: u64,
) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let before = on_behalf(this, pc, || {
            (0..bytes)
                .take_while(|&i| from.add(i).read_volatile() != byte as u8)
                .count()
        });
        let copied = (before + 1).min(bytes);
        reads(this, from, copied, pc);
        writes(this, to, copied, pc);
        copy_up(to, from, copied);
        if before < bytes {
            to.add(copied)
        } else {
            core::ptr::null_mut()
        }
    }
}

entry_or_library! { leave_to_library;
    memcpy, MEMCPY, "rcx" => on_memcpy;
    memmove, MEMMOVE, "rcx" => on_memcpy;
    memset, MEMSET, "rcx" => on_memset;
    memcmp, MEMCMP, "rcx" => on_memcmp;
    bcmp, BCMP, "rcx" => on_memcmp;
}

entry! {
    mempcpy, "rcx" => on_mempcpy;
    __mempcpy, "rcx" => on_mempcpy;
    memccpy, "r8" => on_memccpy;
    memchr, "rcx" => on_memchr;
    memrchr, "rcx" => on_memrchr;
    rawmemchr, "rdx" => on_rawmemchr;
    memmem, "r8" => on_memmem;
    bcopy, "rcx" => on_bcopy;
    bzero, "rdx" => on_bzero;
    explicit_bzero, "rdx" => on_bzero;
    __memcpy_chk, "r8" => on_memcpy_checked;
    __memmove_chk, "r8" => on_memcpy_checked;
    __mempcpy_chk, "r8" => on_mempcpy_checked;
    __memset_chk, "r8" => on_memset_checked;
    __tsan_memcpy, "rcx" => on_memcpy;
    __tsan_memmove, "rcx" => on_memcpy;
    __tsan_memset, "rcx" => on_memset;
}
