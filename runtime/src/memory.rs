//! Memory and string functions of the C library, and clang's `__tsan_mem*`: the bytes that they touch
//! are accesses of the program.
//!
//! They are written with string instructions: a loop here could be compiled into a call of itself.

use crate::{
    access,
    entry::{entry, entry_or_library},
    log, modules,
    next::Next,
    scheduler,
    state::{Thread, controlled, recording_memory},
};
use core::{
    arch::asm,
    ffi::{c_char, c_int},
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
unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
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
unsafe fn length(text: *const u8) -> usize {
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
unsafe fn length_up_to(text: *const u8, most: usize) -> usize {
    let mut bytes = 0;
    // SAFETY: the caller's; volatile so that this stays a loop.
    while bytes < most && unsafe { text.add(bytes).read_volatile() } != 0 {
        bytes += 1;
    }
    bytes
}

/// The calling thread, ready for an operation on memory. No other thread may run while the C++ library
/// is inside one of its functions: it may hold locks of its own.
fn ready(changes: bool, pc: u64) -> Option<&'static Thread> {
    let this = recording_memory()?;
    if modules::is_system(pc) {
        return None;
    }
    log::resolve(this);
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
unsafe fn reads(this: Option<&Thread>, from: *const u8, bytes: usize, pc: u64) {
    if let (Some(this), 1..) = (this, bytes) {
        // SAFETY: the caller's.
        unsafe { access::log_read(this, from, bytes, pc) };
    }
}

/// Logs that `bytes` are written; the values are filled in once they have been.
fn writes(this: Option<&Thread>, to: *const u8, bytes: usize, pc: u64) {
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
            c_int::from(*a.add(same)) - c_int::from(*b.add(same))
        }
    }
}

unsafe extern "C" fn on_strlen(text: *const u8, pc: u64) -> usize {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = length(text);
        reads(this, text, bytes + 1, pc);
        bytes
    }
}

unsafe extern "C" fn on_strcpy(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = length(from) + 1;
        reads(this, from, bytes, pc);
        writes(this, to, bytes, pc);
        copy_up(to, from, bytes);
    }
    to
}

unsafe extern "C" fn on_strncpy(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = length_up_to(from, most);
        reads(this, from, (bytes + 1).min(most), pc);
        writes(this, to, most, pc);
        copy_up(to, from, bytes);
        fill(to.add(bytes), 0, most - bytes);
    }
    to
}

unsafe extern "C" fn on_strcat(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let (at, bytes) = (length(to), length(from) + 1);
        reads(this, to, at + 1, pc);
        reads(this, from, bytes, pc);
        writes(this, to.add(at), bytes, pc);
        copy_up(to.add(at), from, bytes);
    }
    to
}

/// Compares up to the first difference or NUL, at most `most` bytes.
///
/// # Safety
/// As `strncmp`.
unsafe fn compare(a: *const u8, b: *const u8, most: usize, pc: u64) -> c_int {
    let this = ready(false, pc);
    let mut at = 0;
    // SAFETY: the caller's.
    unsafe {
        while at < most {
            let (x, y) = (a.add(at).read_volatile(), b.add(at).read_volatile());
            at += 1;
            if x != y || x == 0 {
                reads(this, a, at, pc);
                reads(this, b, at, pc);
                return c_int::from(x) - c_int::from(y);
            }
        }
        reads(this, a, at, pc);
        reads(this, b, at, pc);
    }
    0
}

unsafe extern "C" fn on_strcmp(a: *const u8, b: *const u8, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, usize::MAX, pc) }
}

unsafe extern "C" fn on_strncmp(a: *const u8, b: *const u8, most: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, most, pc) }
}

unsafe extern "C-unwind" fn on_strdup(text: *const u8, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = length(text) + 1;
        reads(this, text, bytes, pc);
        let new = crate::heap::allocate(bytes, pc).cast::<u8>();
        if !new.is_null() {
            writes(this, new, bytes, pc);
            copy_up(new, text, bytes);
        }
        new
    }
}

/// Where `byte` first stands, the NUL included.
unsafe extern "C" fn on_strchr(text: *const c_char, byte: c_int, pc: u64) -> *const c_char {
    let this = ready(false, pc);
    let text = text.cast::<u8>();
    let mut at = 0;
    // SAFETY: the program's own call.
    unsafe {
        let found = loop {
            let here = text.add(at).read_volatile();
            if here == byte as u8 {
                break text.add(at);
            }
            if here == 0 {
                break core::ptr::null();
            }
            at += 1;
        };
        reads(this, text, at + 1, pc);
        found.cast()
    }
}

entry_or_library! { leave_to_library;
    memcpy, MEMCPY, "rcx" => on_memcpy;
    memmove, MEMMOVE, "rcx" => on_memcpy;
    memset, MEMSET, "rcx" => on_memset;
    memcmp, MEMCMP, "rcx" => on_memcmp;
    bcmp, BCMP, "rcx" => on_memcmp;
    strlen, STRLEN, "rsi" => on_strlen;
    strcpy, STRCPY, "rdx" => on_strcpy;
    strncpy, STRNCPY, "rcx" => on_strncpy;
    strcat, STRCAT, "rdx" => on_strcat;
    strcmp, STRCMP, "rdx" => on_strcmp;
    strncmp, STRNCMP, "rcx" => on_strncmp;
    strdup, STRDUP, "rsi" => on_strdup;
    strchr, STRCHR, "rdx" => on_strchr;
}

entry! {
    __tsan_memcpy, "rcx" => on_memcpy;
    __tsan_memmove, "rcx" => on_memcpy;
    __tsan_memset, "rcx" => on_memset;
}
