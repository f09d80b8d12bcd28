//! Functions of the C library that leave their results in memory of the program: times, names, paths,
//! addresses. The library does the work; what it has read and written is logged.
//!
//! Values that differ from run to run by nature, such as ports and the times of files, are not logged here: a replay
//! would have to give them back.

use crate::{
    access,
    entry::entry,
    heap,
    memory::{length, on_behalf, reads, ready},
    real::real,
    state::Thread,
    strings::written_text,
};
use core::ffi::{c_char, c_int, c_void};
use libc::{regmatch_t, socklen_t, time_t, tm};

/// Logs what the library has just written, if that is anywhere.
fn written<T>(this: Option<&Thread>, to: *const T, bytes: usize, pc: u64) {
    if let Some(this) = this.filter(|_| !to.is_null() && bytes > 0) {
        access::log_written(this, to.cast(), bytes, pc);
    }
}

/// Logs the read of a text with its NUL.
///
/// # Safety
/// `text` is a text, or null.
unsafe fn reads_text(this: Option<&Thread>, text: *const u8, pc: u64) {
    if this.is_some() && !text.is_null() {
        // SAFETY: the caller's.
        unsafe {
            let bytes = on_behalf(this, pc, || length(text)) + 1;
            reads(this, text, bytes, pc);
        }
    }
}

/// A text that the library has written, or allocated for the program.
///
/// # Safety
/// `text` is a text, or null.
unsafe fn gave_text(this: Option<&Thread>, given: *mut u8, text: *mut u8, pc: u64) -> *mut u8 {
    // SAFETY: the caller's.
    unsafe {
        if given.is_null() && !text.is_null() {
            heap::adopt(text.cast(), length(text) + 1, pc);
        }
        if !text.is_null() {
            written_text(this, text, pc);
        }
    }
    text
}

/// Defines functions that make a broken-down time of a time: in the program's memory, or in the library's
/// own, which all threads share.
macro_rules! broken_down {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(time: *const time_t, to: *mut tm, pc: u64) -> *mut tm {
            let this = ready(true, pc);
            let library = real!($name, fn(*const time_t, *mut tm) -> *mut tm);
            // SAFETY: the program's own call.
            unsafe {
                reads(this, time.cast(), size_of::<time_t>(), pc);
                let made = on_behalf(this, pc, || library(time, to));
                written(this, made, size_of::<tm>(), pc);
                made
            }
        }
    )*};
}

broken_down! {
    on_localtime_r, "localtime_r";
    on_gmtime_r, "gmtime_r";
}

/// The same with the library's own memory.
macro_rules! broken_down_by_library {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(time: *const time_t, pc: u64) -> *mut tm {
            let this = ready(true, pc);
            let library = real!($name, fn(*const time_t) -> *mut tm);
            // SAFETY: the program's own call.
            unsafe {
                reads(this, time.cast(), size_of::<time_t>(), pc);
                let made = on_behalf(this, pc, || library(time));
                written(this, made, size_of::<tm>(), pc);
                made
            }
        }
    )*};
}

broken_down_by_library! {
    on_localtime, "localtime";
    on_gmtime, "gmtime";
}

/// Defines functions that make a time of a broken-down one, which they tidy up.
macro_rules! put_together {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(parts: *mut tm, pc: u64) -> time_t {
            let this = ready(true, pc);
            let library = real!($name, fn(*mut tm) -> time_t);
            // SAFETY: the program's own call.
            unsafe {
                reads(this, parts.cast(), size_of::<tm>(), pc);
                let time = on_behalf(this, pc, || library(parts));
                written(this, parts, size_of::<tm>(), pc);
                time
            }
        }
    )*};
}

put_together! {
    on_mktime, "mktime";
    on_timegm, "timegm";
}

unsafe extern "C" fn on_strftime(
    to: *mut u8,
    room: usize,
    format: *const u8,
    parts: *const tm,
    pc: u64,
) -> usize {
    let this = ready(true, pc);
    let library = real!(
        "strftime",
        fn(*mut u8, usize, *const u8, *const tm) -> usize
    );
    // SAFETY: the program's own call.
    unsafe {
        reads(this, parts.cast(), size_of::<tm>(), pc);
        let bytes = on_behalf(this, pc, || library(to, room, format, parts));
        written(this, to, if bytes > 0 { bytes + 1 } else { 0 }, pc);
        bytes
    }
}

/// Defines functions that write a time as a text of a line.
macro_rules! lines {
    ($($function:ident, $name:literal, $time:ty;)*) => {$(
        unsafe extern "C" fn $function(time: *const $time, to: *mut u8, pc: u64) -> *mut u8 {
            let this = ready(true, pc);
            let library = real!($name, fn(*const $time, *mut u8) -> *mut u8);
            // SAFETY: the program's own call.
            unsafe {
                reads(this, time.cast(), size_of::<$time>(), pc);
                let text = on_behalf(this, pc, || library(time, to));
                gave_text(this, text, text, pc)
            }
        }
    )*};
}

lines! {
    on_ctime_r, "ctime_r", time_t;
    on_asctime_r, "asctime_r", tm;
}

unsafe extern "C" fn on_getcwd(to: *mut u8, room: usize, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    let library = real!("getcwd", fn(*mut u8, usize) -> *mut u8);
    // SAFETY: the program's own call.
    unsafe { gave_text(this, to, library(to, room), pc) }
}

unsafe extern "C" fn on_realpath(path: *const u8, to: *mut u8, pc: u64) -> *mut u8 {
    let this = ready(true, pc);
    let library = real!("realpath", fn(*const u8, *mut u8) -> *mut u8);
    // SAFETY: the program's own call.
    unsafe {
        reads_text(this, path, pc);
        gave_text(this, to, library(path, to), pc)
    }
}

unsafe extern "C" fn on_readlink(path: *const u8, to: *mut u8, room: usize, pc: u64) -> isize {
    let this = ready(true, pc);
    let library = real!("readlink", fn(*const u8, *mut u8, usize) -> isize);
    // SAFETY: the program's own call.
    unsafe {
        reads_text(this, path, pc);
        let bytes = library(path, to, room);
        written(this, to, usize::try_from(bytes).unwrap_or(0), pc);
        bytes
    }
}

unsafe extern "C" fn on_gethostname(to: *mut u8, room: usize, pc: u64) -> c_int {
    let this = ready(true, pc);
    let library = real!("gethostname", fn(*mut u8, usize) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        let result = library(to, room);
        if result == 0 {
            written_text(this, to, pc);
        }
        result
    }
}

/// Bytes of an internet address of this family.
fn address_bytes(family: c_int) -> usize {
    match family {
        libc::AF_INET => 4,
        libc::AF_INET6 => 16,
        _ => 0,
    }
}

unsafe extern "C" fn on_inet_ntop(
    family: c_int,
    from: *const u8,
    to: *mut u8,
    room: socklen_t,
    pc: u64,
) -> *const u8 {
    let this = ready(true, pc);
    let library = real!(
        "inet_ntop",
        fn(c_int, *const u8, *mut u8, socklen_t) -> *const u8
    );
    // SAFETY: the program's own call.
    unsafe {
        reads(this, from, address_bytes(family), pc);
        let text = on_behalf(this, pc, || library(family, from, to, room));
        if !text.is_null() {
            written_text(this, to, pc);
        }
        text
    }
}

unsafe extern "C" fn on_inet_pton(family: c_int, text: *const u8, to: *mut u8, pc: u64) -> c_int {
    let this = ready(true, pc);
    let library = real!("inet_pton", fn(c_int, *const u8, *mut u8) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        reads_text(this, text, pc);
        let result = library(family, text, to);
        if result == 1 {
            written(this, to, address_bytes(family), pc);
        }
        result
    }
}

unsafe extern "C" fn on_regexec(
    pattern: *const c_void,
    text: *const u8,
    count: usize,
    matches: *mut regmatch_t,
    flags: c_int,
    pc: u64,
) -> c_int {
    let this = ready(true, pc);
    let library = real!(
        "regexec",
        fn(*const c_void, *const u8, usize, *mut regmatch_t, c_int) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe {
        reads_text(this, text, pc);
        let result = on_behalf(this, pc, || library(pattern, text, count, matches, flags));
        if result == 0 {
            written(this, matches, count * size_of::<regmatch_t>(), pc);
        }
        result
    }
}

unsafe extern "C" fn on_iconv(
    conversion: *mut c_void,
    from: *mut *const c_char,
    from_left: *mut usize,
    to: *mut *mut c_char,
    to_left: *mut usize,
    pc: u64,
) -> usize {
    let this = ready(true, pc);
    let library = real!(
        "iconv",
        fn(*mut c_void, *mut *const c_char, *mut usize, *mut *mut c_char, *mut usize) -> usize
    );
    // SAFETY: the program's own call.
    unsafe {
        if from.is_null() || to.is_null() || this.is_none() {
            return library(conversion, from, from_left, to, to_left);
        }
        for place in [
            from.cast::<u8>(),
            from_left.cast(),
            to.cast(),
            to_left.cast(),
        ] {
            reads(this, place, 8, pc);
        }
        let (source, target) = (*from, *to);
        let result = on_behalf(this, pc, || {
            library(conversion, from, from_left, to, to_left)
        });
        let (read, made) = (
            *from as usize - source as usize,
            *to as usize - target as usize,
        );
        reads(this, source.cast(), read, pc);
        written(this, target, made, pc);
        for place in [
            from.cast::<u8>(),
            from_left.cast(),
            to.cast(),
            to_left.cast(),
        ] {
            written(this, place, 8, pc);
        }
        result
    }
}

entry! {
    localtime, "rsi" => on_localtime;
    gmtime, "rsi" => on_gmtime;
    localtime_r, "rdx" => on_localtime_r;
    gmtime_r, "rdx" => on_gmtime_r;
    mktime, "rsi" => on_mktime;
    timelocal, "rsi" => on_mktime;
    timegm, "rsi" => on_timegm;
    strftime, "r8" => on_strftime;
    ctime_r, "rdx" => on_ctime_r;
    asctime_r, "rdx" => on_asctime_r;
    getcwd, "rdx" => on_getcwd;
    realpath, "rdx" => on_realpath;
    readlink, "rcx" => on_readlink;
    gethostname, "rdx" => on_gethostname;
    inet_ntop, "r8" => on_inet_ntop;
    inet_pton, "rcx" => on_inet_pton;
    regexec, "r9" => on_regexec;
    iconv, "r9" => on_iconv;
}
