//! Functions of the C library on wide characters (`wcs*`, `wmem*`), as `strings` and `memory` have those
//! on bytes.

use crate::{
    entry::{entry, variadic},
    format::Arguments,
    heap,
    memory::{copy, copy_up, on_behalf, reads, ready, writes},
    real::real,
    state::Thread,
};
use core::ffi::c_int;

type Wide = u32;

const BYTES: usize = size_of::<Wide>();

/// Characters before the NUL, at most `most`.
///
/// # Safety
/// As `wcsnlen`.
unsafe fn length_up_to(text: *const Wide, most: usize) -> usize {
    let mut count = 0;
    // SAFETY: the caller's; volatile so that this stays a loop.
    while count < most && unsafe { text.add(count).read_volatile() } != 0 {
        count += 1;
    }
    count
}

/// Logs the read of so many characters.
///
/// # Safety
/// They may be read.
unsafe fn looks_at(this: Option<&Thread>, text: *const Wide, count: usize, pc: u64) {
    // SAFETY: the caller's.
    unsafe { reads(this, text.cast(), count.saturating_mul(BYTES), pc) };
}

/// The length of a text, after it was read with its NUL.
///
/// # Safety
/// As `wcsnlen`.
unsafe fn measured(this: Option<&Thread>, text: *const Wide, most: usize, pc: u64) -> usize {
    // SAFETY: the caller's.
    unsafe {
        let count = on_behalf(this, pc, || length_up_to(text, most));
        looks_at(this, text, count.saturating_add(1).min(most), pc);
        count
    }
}

/// Writes `count` characters, then NUL up to `all`.
///
/// # Safety
/// `from` has `count`, `to` room for `all`.
unsafe fn put(
    this: Option<&Thread>,
    to: *mut Wide,
    from: *const Wide,
    (count, all): (usize, usize),
    pc: u64,
) {
    writes(this, to.cast(), all * BYTES, pc);
    // SAFETY: the caller's.
    unsafe {
        copy_up(to.cast(), from.cast(), count * BYTES);
        for i in count..all {
            to.add(i).write_volatile(0);
        }
    }
}

unsafe extern "C" fn on_wcslen(text: *const Wide, pc: u64) -> usize {
    // SAFETY: the program's own call.
    unsafe { measured(ready(false, pc), text, usize::MAX, pc) }
}

unsafe extern "C" fn on_wcsnlen(text: *const Wide, most: usize, pc: u64) -> usize {
    // SAFETY: the program's own call.
    unsafe { measured(ready(false, pc), text, most, pc) }
}

unsafe extern "C" fn on_wcscpy(to: *mut Wide, from: *const Wide, pc: u64) -> *mut Wide {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let count = measured(this, from, usize::MAX, pc);
        put(this, to, from, (count, count + 1), pc);
    }
    to
}

unsafe extern "C" fn on_wcsncpy(
    to: *mut Wide,
    from: *const Wide,
    most: usize,
    pc: u64,
) -> *mut Wide {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let count = measured(this, from, most, pc);
        put(this, to, from, (count, most), pc);
    }
    to
}

unsafe extern "C" fn on_wcsncat(
    to: *mut Wide,
    from: *const Wide,
    most: usize,
    pc: u64,
) -> *mut Wide {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let at = measured(this, to, usize::MAX, pc);
        let count = measured(this, from, most, pc);
        put(this, to.add(at), from, (count, count + 1), pc);
    }
    to
}

unsafe extern "C" fn on_wcscat(to: *mut Wide, from: *const Wide, pc: u64) -> *mut Wide {
    // SAFETY: the program's own call.
    unsafe { on_wcsncat(to, from, usize::MAX, pc) }
}

unsafe extern "C-unwind" fn on_wcsdup(text: *const Wide, pc: u64) -> *mut Wide {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let count = measured(this, text, usize::MAX, pc);
        let new = heap::allocate((count + 1) * BYTES, pc).cast::<Wide>();
        if !new.is_null() {
            put(this, new, text, (count, count + 1), pc);
        }
        new
    }
}

/// Compares up to the first difference, or to the NUL where that `ends` it.
///
/// # Safety
/// As `wcsncmp`.
unsafe fn compare(a: *const Wide, b: *const Wide, most: usize, ends: bool, pc: u64) -> c_int {
    let this = ready(false, pc);
    // SAFETY: the caller's.
    unsafe {
        let at = |text: *const Wide, i: usize| text.add(i).read_volatile().cast_signed();
        let differ = |&i: &usize| at(a, i) != at(b, i) || ends && at(a, i) == 0;
        let end = on_behalf(this, pc, || (0..most).find(differ));
        let count = end.map_or(most, |end| end + 1);
        looks_at(this, a, count, pc);
        looks_at(this, b, count, pc);
        end.map_or(0, |end| at(a, end).cmp(&at(b, end)) as c_int)
    }
}

unsafe extern "C" fn on_wcscmp(a: *const Wide, b: *const Wide, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, usize::MAX, true, pc) }
}

unsafe extern "C" fn on_wcsncmp(a: *const Wide, b: *const Wide, most: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, most, true, pc) }
}

unsafe extern "C" fn on_wmemcmp(a: *const Wide, b: *const Wide, count: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, count, false, pc) }
}

unsafe extern "C" fn on_wcschr(text: *const Wide, one: Wide, pc: u64) -> *const Wide {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let at = |i: usize| text.add(i).read_volatile();
        let stop = on_behalf(this, pc, || {
            (0..).find(|&i| at(i) == one || at(i) == 0).unwrap_or(0)
        });
        looks_at(this, text, stop + 1, pc);
        match at(stop) == one {
            true => text.add(stop),
            false => core::ptr::null(),
        }
    }
}

unsafe extern "C" fn on_wcsrchr(text: *const Wide, one: Wide, pc: u64) -> *const Wide {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let count = measured(this, text, usize::MAX, pc);
        let last = (0..=count)
            .rev()
            .find(|&i| text.add(i).read_volatile() == one);
        last.map_or(core::ptr::null(), |i| text.add(i))
    }
}

unsafe extern "C" fn on_wmemcpy(
    to: *mut Wide,
    from: *const Wide,
    count: usize,
    pc: u64,
) -> *mut Wide {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        looks_at(this, from, count, pc);
        writes(this, to.cast(), count * BYTES, pc);
        copy(to.cast(), from.cast(), count * BYTES);
    }
    to
}

unsafe extern "C" fn on_wmemset(to: *mut Wide, one: Wide, count: usize, pc: u64) -> *mut Wide {
    writes(ready(true, pc), to.cast(), count * BYTES, pc);
    for i in 0..count {
        // SAFETY: the program's own call.
        unsafe { to.add(i).write_volatile(one) };
    }
    to
}

unsafe extern "C" fn on_mbstowcs(to: *mut Wide, from: *const u8, most: usize, pc: u64) -> usize {
    let this = ready(true, pc);
    let convert = real!("mbstowcs", fn(*mut Wide, *const u8, usize) -> usize);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = on_behalf(this, pc, || crate::memory::length(from)) + 1;
        reads(this, from, bytes, pc);
        let count = convert(to, from, most);
        if let Some(this) = this.filter(|_| !to.is_null() && count != usize::MAX) {
            let all = (count + 1).min(most) * BYTES;
            crate::access::log_written(this, to.cast(), all, pc);
        }
        count
    }
}

unsafe extern "C" fn on_wcstombs(to: *mut u8, from: *const Wide, most: usize, pc: u64) -> usize {
    let this = ready(true, pc);
    let convert = real!("wcstombs", fn(*mut u8, *const Wide, usize) -> usize);
    // SAFETY: the program's own call.
    unsafe {
        measured(this, from, usize::MAX, pc);
        let bytes = convert(to, from, most);
        if let Some(this) = this.filter(|_| !to.is_null() && bytes != usize::MAX) {
            crate::access::log_written(this, to, (bytes + 1).min(most), pc);
        }
        bytes
    }
}

unsafe extern "C-unwind" fn on_vswprintf(
    to: *mut Wide,
    room: usize,
    format: *const Wide,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let this = ready(true, pc);
    let put = real!(
        "vswprintf",
        fn(*mut Wide, usize, *const Wide, *mut Arguments) -> c_int
    );
    // SAFETY: the program's own call.
    let count = on_behalf(this, pc, || unsafe { put(to, room, format, arguments) });
    if let (Some(this), Ok(count)) = (this, usize::try_from(count)) {
        crate::access::log_written(this, to.cast(), (count + 1) * BYTES, pc);
    }
    count
}

variadic! {
    swprintf, 3, "rcx", "r8" => on_vswprintf;
}

entry! {
    wcslen, "rsi" => on_wcslen;
    wcsnlen, "rdx" => on_wcsnlen;
    wcscpy, "rdx" => on_wcscpy;
    wcsncpy, "rcx" => on_wcsncpy;
    wcscat, "rdx" => on_wcscat;
    wcsncat, "rcx" => on_wcsncat;
    wcsdup, "rsi" => on_wcsdup;
    wcscmp, "rdx" => on_wcscmp;
    wcsncmp, "rcx" => on_wcsncmp;
    wcschr, "rdx" => on_wcschr;
    wcsrchr, "rdx" => on_wcsrchr;
    wmemcpy, "rcx" => on_wmemcpy;
    wmemmove, "rcx" => on_wmemcpy;
    wmemset, "rcx" => on_wmemset;
    wmemcmp, "rcx" => on_wmemcmp;
    mbstowcs, "rcx" => on_mbstowcs;
    wcstombs, "rcx" => on_wcstombs;
    vswprintf, "r8" => on_vswprintf;
}
