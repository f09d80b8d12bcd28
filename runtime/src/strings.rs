//! Functions of the C library on strings: the bytes that they touch are accesses of the program.
//!
//! Functions that write are done here, so that reads and writes can be logged as they happen; functions that only
//! look are left to the library, and the bytes that they have read follow from their result.

use crate::{
    entry::{entry, entry_or_library},
    heap,
    memory::{
        check_room, copy_up, fill, length, length_up_to, on_behalf, reads, ready, searched, writes,
    },
    real::real,
    state::Thread,
};
use core::{
    cell::Cell,
    ffi::c_int,
    ptr::{null, null_mut},
};

/// Logs the read of a string with its NUL.
///
/// # Safety
/// `text` is a string.
unsafe fn reads_all(this: Option<&Thread>, text: *const u8, pc: u64) {
    // SAFETY: the caller's.
    unsafe { reads(this, text, length(text) + 1, pc) };
}

unsafe extern "C" fn on_strlen(text: *const u8, pc: u64) -> usize {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = on_behalf(this, pc, || length(text));
        reads(this, text, bytes + 1, pc);
        bytes
    }
}

unsafe extern "C" fn on_strnlen(text: *const u8, most: usize, pc: u64) -> usize {
    let this = ready(false, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = on_behalf(this, pc, || length_up_to(text, most));
        reads(this, text, (bytes + 1).min(most), pc);
        bytes
    }
}

/// Copies a string with its NUL; returns the address of the NUL.
///
/// # Safety
/// As `strcpy`.
unsafe fn copy_text(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the caller's.
    unsafe {
        let bytes = on_behalf(this, pc, || length(from));
        reads(this, from, bytes + 1, pc);
        writes(this, to, bytes + 1, pc);
        copy_up(to, from, bytes + 1);
        to.add(bytes)
    }
}

unsafe extern "C" fn on_strcpy(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_text(to, from, pc) };
    to
}

unsafe extern "C" fn on_stpcpy(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_text(to, from, pc) }
}

/// Copies a string and fills up with NUL; returns the address of the first NUL.
///
/// # Safety
/// As `strncpy`.
unsafe fn copy_filled(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the caller's.
    unsafe {
        let bytes = on_behalf(this, pc, || length_up_to(from, most));
        reads(this, from, (bytes + 1).min(most), pc);
        writes(this, to, most, pc);
        copy_up(to, from, bytes);
        fill(to.add(bytes), 0, most - bytes);
        to.add(bytes)
    }
}

unsafe extern "C" fn on_strncpy(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_filled(to, from, most, pc) };
    to
}

unsafe extern "C" fn on_stpncpy(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_filled(to, from, most, pc) }
}

/// Appends at most `most` bytes of a string, and a NUL.
///
/// # Safety
/// As `strncat`.
unsafe fn append(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the caller's.
    unsafe {
        let (at, bytes) = on_behalf(this, pc, || (length(to), length_up_to(from, most)));
        reads(this, to, at + 1, pc);
        reads(this, from, bytes.saturating_add(1).min(most), pc);
        writes(this, to.add(at), bytes + 1, pc);
        copy_up(to.add(at), from, bytes);
        fill(to.add(at + bytes), 0, 1);
    }
    to
}

unsafe extern "C" fn on_strcat(to: *mut u8, from: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { append(to, from, usize::MAX, pc) }
}

unsafe extern "C" fn on_strncat(to: *mut u8, from: *const u8, most: usize, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { append(to, from, most, pc) }
}

unsafe extern "C" fn on_strlcpy(to: *mut u8, from: *const u8, room: usize, pc: u64) -> usize {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = on_behalf(this, pc, || length(from));
        reads(this, from, bytes + 1, pc);
        put_cut(this, to, from, bytes, room, pc);
        bytes
    }
}

unsafe extern "C" fn on_strlcat(to: *mut u8, from: *const u8, room: usize, pc: u64) -> usize {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let (at, bytes) = on_behalf(this, pc, || (length_up_to(to, room), length(from)));
        reads(this, to, (at + 1).min(room), pc);
        reads(this, from, bytes + 1, pc);
        put_cut(this, to.add(at), from, bytes, room - at, pc);
        at + bytes
    }
}

/// Writes as much of a string as there is room for, and a NUL.
///
/// # Safety
/// `from` has `bytes` bytes, `to` room for `room`.
unsafe fn put_cut(
    this: Option<&Thread>,
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    room: usize,
    pc: u64,
) {
    let Some(most) = room.checked_sub(1) else {
        return;
    };
    let kept = bytes.min(most);
    writes(this, to, kept + 1, pc);
    // SAFETY: the caller's.
    unsafe {
        copy_up(to, from, kept);
        fill(to.add(kept), 0, 1);
    }
}

/// Compares up to the first difference or NUL, at most `most` bytes, as `fold` sees them.
///
/// # Safety
/// As `strncmp`.
unsafe fn compare(
    a: *const u8,
    b: *const u8,
    most: usize,
    fold: impl Fn(u8) -> u8,
    pc: u64,
) -> c_int {
    let this = ready(false, pc);
    // SAFETY: the caller's.
    unsafe {
        let at = |text: *const u8, i: usize| fold(text.add(i).read_volatile());
        let differ = |&i: &usize| at(a, i) != at(b, i) || at(a, i) == 0;
        let end = on_behalf(this, pc, || (0..most).find(differ));
        let bytes = end.map_or(most, |end| end + 1);
        reads(this, a, bytes, pc);
        reads(this, b, bytes, pc);
        end.map_or(0, |end| c_int::from(at(a, end)) - c_int::from(at(b, end)))
    }
}

unsafe extern "C" fn on_strcmp(a: *const u8, b: *const u8, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, usize::MAX, |byte| byte, pc) }
}

unsafe extern "C" fn on_strncmp(a: *const u8, b: *const u8, most: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, most, |byte| byte, pc) }
}

/// A letter in lower case, as the program's locale has it.
fn lower(byte: u8) -> u8 {
    // SAFETY: any byte may be asked about.
    (unsafe { libc::tolower(c_int::from(byte)) }) as u8
}

unsafe extern "C" fn on_strcasecmp(a: *const u8, b: *const u8, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, usize::MAX, lower, pc) }
}

unsafe extern "C" fn on_strncasecmp(a: *const u8, b: *const u8, most: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { compare(a, b, most, lower, pc) }
}

unsafe extern "C" fn on_strcoll(a: *const u8, b: *const u8, pc: u64) -> c_int {
    let this = ready(false, pc);
    let compare = real!("strcoll", fn(*const u8, *const u8) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        let answer = on_behalf(this, pc, || compare(a, b));
        reads_all(this, a, pc);
        reads_all(this, b, pc);
        answer
    }
}

unsafe extern "C-unwind" fn on_strdup(text: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { on_strndup(text, usize::MAX, pc) }
}

unsafe extern "C-unwind" fn on_strndup(text: *const u8, most: usize, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let bytes = on_behalf(this, pc, || length_up_to(text, most));
        reads(this, text, (bytes.saturating_add(1)).min(most), pc);
        let new = heap::allocate(bytes + 1, pc).cast::<u8>();
        if !new.is_null() {
            writes(this, new, bytes + 1, pc);
            copy_up(new, text, bytes);
            fill(new.add(bytes), 0, 1);
        }
        new
    }
}

/// Defines searches for a byte in a string: the reads go up to what was found, or to the NUL.
macro_rules! byte_searches {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(text: *const u8, byte: c_int, pc: u64) -> *const u8 {
            let this = ready(false, pc);
            let find = real!($name, fn(*const u8, c_int) -> *const u8);
            // SAFETY: the program's own call.
            unsafe {
                let found = on_behalf(this, pc, || find(text, byte));
                let all = if found.is_null() { length(text) + 1 } else { 0 };
                searched(this, text, found, all, pc);
                found
            }
        }
    )*};
}

byte_searches! {
    on_strchr, "strchr";
    on_strchrnul, "strchrnul";
}

unsafe extern "C" fn on_strrchr(text: *const u8, byte: c_int, pc: u64) -> *const u8 {
    let this = ready(false, pc);
    let find = real!("strrchr", fn(*const u8, c_int) -> *const u8);
    // SAFETY: the program's own call.
    unsafe {
        let found = on_behalf(this, pc, || find(text, byte));
        reads_all(this, text, pc);
        found
    }
}

/// Defines searches for a string in a string.
macro_rules! text_searches {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(text: *const u8, part: *const u8, pc: u64) -> *const u8 {
            let this = ready(false, pc);
            let find = real!($name, fn(*const u8, *const u8) -> *const u8);
            // SAFETY: the program's own call.
            unsafe {
                let found = on_behalf(this, pc, || find(text, part));
                let (bytes, all) = (length(part), length(text) + 1);
                reads(this, part, bytes + 1, pc);
                let end = if found.is_null() { null() } else { found.add(bytes.max(1) - 1) };
                searched(this, text, end, all, pc);
                found
            }
        }
    )*};
}

text_searches! {
    on_strstr, "strstr";
    on_strcasestr, "strcasestr";
}

unsafe extern "C" fn on_strspn(text: *const u8, set: *const u8, pc: u64) -> usize {
    let span = real!("strspn", fn(*const u8, *const u8) -> usize);
    // SAFETY: the program's own call.
    unsafe { spanned(text, set, pc, |text, set| span(text, set)) }
}

unsafe extern "C" fn on_strcspn(text: *const u8, set: *const u8, pc: u64) -> usize {
    let span = real!("strcspn", fn(*const u8, *const u8) -> usize);
    // SAFETY: the program's own call.
    unsafe { spanned(text, set, pc, |text, set| span(text, set)) }
}

/// # Safety
/// As `strspn`.
unsafe fn spanned(
    text: *const u8,
    set: *const u8,
    pc: u64,
    span: impl Fn(*const u8, *const u8) -> usize,
) -> usize {
    let this = ready(false, pc);
    let bytes = on_behalf(this, pc, || span(text, set));
    // SAFETY: the caller's; the byte behind the span has been read too.
    unsafe {
        reads_all(this, set, pc);
        reads(this, text, bytes + 1, pc);
    }
    bytes
}

unsafe extern "C" fn on_strpbrk(text: *const u8, set: *const u8, pc: u64) -> *const u8 {
    // SAFETY: the program's own call.
    unsafe {
        let at = text.add(on_strcspn(text, set, pc));
        if at.read_volatile() == 0 { null() } else { at }
    }
}

/// The next piece of a text between bytes of `set`; writes its NUL and the address of the rest.
///
/// # Safety
/// As `strtok_r`.
unsafe fn token(
    text: *mut u8,
    set: *const u8,
    place: *mut *mut u8,
    skips: bool,
    pc: u64,
) -> *mut u8 {
    let this = ready(true, pc);
    let span = real!("strspn", fn(*const u8, *const u8) -> usize);
    let other = real!("strcspn", fn(*const u8, *const u8) -> usize);
    // SAFETY: the caller's.
    unsafe {
        let mut start = text;
        if start.is_null() {
            reads(this, place.cast(), 8, pc);
            start = *place;
        }
        if start.is_null() {
            return null_mut();
        }
        let skipped = if skips {
            on_behalf(this, pc, || span(start, set))
        } else {
            0
        };
        let found = start.add(skipped);
        let bytes = on_behalf(this, pc, || other(found, set));
        reads_all(this, set, pc);
        reads(this, start, skipped + bytes + 1, pc);
        let end = found.add(bytes);
        let is_last = end.read_volatile() == 0;
        if !is_last {
            writes(this, end, 1, pc);
            fill(end, 0, 1);
            crate::state::recording().inspect(|this| crate::log::resolve(this));
        }
        let rest = match (is_last, skips) {
            (true, true) => end,
            (true, false) => null_mut(),
            _ => end.add(1),
        };
        writes(this, place.cast::<u8>(), 8, pc);
        place.write_volatile(rest);
        if skips && bytes == 0 {
            null_mut()
        } else {
            found
        }
    }
}

unsafe extern "C" fn on_strtok_r(
    text: *mut u8,
    set: *const u8,
    place: *mut *mut u8,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { token(text, set, place, true, pc) }
}

/// The rest of the text for `strtok`: shared by all threads, so that a race on it is a race on this.
#[repr(transparent)]
struct TokenRest(Cell<*mut u8>);

// SAFETY: accessed as the library accesses its own: a race on it is the program's.
unsafe impl Sync for TokenRest {}

#[unsafe(export_name = "strtok.next")]
static STRTOK_NEXT: TokenRest = TokenRest(Cell::new(null_mut()));

unsafe extern "C" fn on_strtok(text: *mut u8, set: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { token(text, set, STRTOK_NEXT.0.as_ptr(), true, pc) }
}

unsafe extern "C" fn on_strsep(place: *mut *mut u8, set: *const u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { token(null_mut(), set, place, false, pc) }
}

unsafe extern "C" fn on_strerror_r(number: c_int, to: *mut u8, room: usize, pc: u64) -> *const u8 {
    let this = ready(true, pc);
    let describe = real!("strerror_r", fn(c_int, *mut u8, usize) -> *const u8);
    // SAFETY: the program's own call.
    unsafe {
        let text = describe(number, to, room);
        if text == to {
            written_text(this, to, pc);
        }
        text
    }
}

unsafe extern "C" fn on_posix_strerror_r(
    number: c_int,
    to: *mut u8,
    room: usize,
    pc: u64,
) -> c_int {
    let this = ready(true, pc);
    let describe = real!("__xpg_strerror_r", fn(c_int, *mut u8, usize) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        let answer = describe(number, to, room);
        if room > 0 {
            written_text(this, to, pc);
        }
        answer
    }
}

/// Logs a string that the library has just written.
///
/// # Safety
/// `to` is a string.
pub unsafe fn written_text(this: Option<&Thread>, to: *const u8, pc: u64) {
    if let Some(this) = this {
        // SAFETY: the caller's.
        let bytes = unsafe { length(to) } + 1;
        crate::access::log_written(this, to, bytes, pc);
    }
}

unsafe extern "C-unwind" fn on_strcpy_checked(
    to: *mut u8,
    from: *const u8,
    room: usize,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe {
        check_room(length(from) + 1, room);
        on_strcpy(to, from, pc)
    }
}

unsafe extern "C-unwind" fn on_stpcpy_checked(
    to: *mut u8,
    from: *const u8,
    room: usize,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe {
        check_room(length(from) + 1, room);
        on_stpcpy(to, from, pc)
    }
}

unsafe extern "C-unwind" fn on_strncpy_checked(
    to: *mut u8,
    from: *const u8,
    most: usize,
    room: usize,
    pc: u64,
) -> *mut u8 {
    check_room(most, room);
    // SAFETY: the program's own call.
    unsafe { on_strncpy(to, from, most, pc) }
}

unsafe extern "C-unwind" fn on_strcat_checked(
    to: *mut u8,
    from: *const u8,
    room: usize,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe {
        check_room(length(to) + length(from) + 1, room);
        on_strcat(to, from, pc)
    }
}

unsafe extern "C-unwind" fn on_strncat_checked(
    to: *mut u8,
    from: *const u8,
    most: usize,
    room: usize,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe {
        check_room(length(to) + length_up_to(from, most) + 1, room);
        on_strncat(to, from, most, pc)
    }
}

entry_or_library! { leave_to_library;
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
    strnlen, "rdx" => on_strnlen;
    stpcpy, "rdx" => on_stpcpy;
    __stpcpy, "rdx" => on_stpcpy;
    stpncpy, "rcx" => on_stpncpy;
    strncat, "rcx" => on_strncat;
    strlcpy, "rcx" => on_strlcpy;
    strlcat, "rcx" => on_strlcat;
    strcasecmp, "rdx" => on_strcasecmp;
    strncasecmp, "rcx" => on_strncasecmp;
    strcoll, "rdx" => on_strcoll;
    __strdup, "rsi" => on_strdup;
    strndup, "rdx" => on_strndup;
    __strndup, "rdx" => on_strndup;
    index, "rdx" => on_strchr;
    strchrnul, "rdx" => on_strchrnul;
    strrchr, "rdx" => on_strrchr;
    rindex, "rdx" => on_strrchr;
    strstr, "rdx" => on_strstr;
    strcasestr, "rdx" => on_strcasestr;
    strspn, "rdx" => on_strspn;
    strcspn, "rdx" => on_strcspn;
    strpbrk, "rdx" => on_strpbrk;
    strtok, "rdx" => on_strtok;
    strtok_r, "rcx" => on_strtok_r;
    __strtok_r, "rcx" => on_strtok_r;
    strsep, "rdx" => on_strsep;
    strerror_r, "rcx" => on_strerror_r;
    __xpg_strerror_r, "rcx" => on_posix_strerror_r;
    __strcpy_chk, "rcx" => on_strcpy_checked;
    __stpcpy_chk, "rcx" => on_stpcpy_checked;
    __strncpy_chk, "r8" => on_strncpy_checked;
    __strcat_chk, "rcx" => on_strcat_checked;
    __strncat_chk, "r8" => on_strncat_checked;
}
