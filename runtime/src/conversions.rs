//! Functions of the C library that make numbers of strings: the bytes that they look at are read by the
//! program, the pointer to the rest is written.

use crate::{
    entry::entry,
    memory::{on_behalf, ready, searched, writes},
    real::real,
    state::Thread,
};
use core::{
    ffi::{c_int, c_long, c_ulong},
    ptr::null_mut,
};

/// Logs what a conversion to a number read, and its end pointer.
///
/// # Safety
/// `end` lies in the string `text`; `place` is where the program wants it, or null.
unsafe fn converted(
    this: Option<&Thread>,
    text: *const u8,
    end: *const u8,
    place: *mut *const u8,
    pc: u64,
) {
    // SAFETY: the caller's.
    unsafe {
        searched(this, text, end, 0, pc);
        if !place.is_null() {
            writes(this, place.cast::<u8>(), 8, pc);
            place.write_volatile(end);
        }
    }
}

/// Defines conversions with a base.
macro_rules! integers {
    ($($function:ident, $name:literal, $number:ty;)*) => {$(
        unsafe extern "C" fn $function(
            text: *const u8,
            place: *mut *const u8,
            base: c_int,
            pc: u64,
        ) -> $number {
            let this = ready(!place.is_null(), pc);
            let convert = real!($name, fn(*const u8, *mut *const u8, c_int) -> $number);
            let mut end = text;
            // SAFETY: the program's own call.
            unsafe {
                let number = on_behalf(this, pc, || convert(text, &raw mut end, base));
                converted(this, text, end, place, pc);
                number
            }
        }
    )*};
}

integers! {
    on_strtol, "strtol", c_long;
    on_strtoul, "strtoul", c_ulong;
}

/// Defines conversions to decimal fractions.
macro_rules! fractions {
    ($($function:ident, $name:literal, $number:ty;)*) => {$(
        unsafe extern "C" fn $function(text: *const u8, place: *mut *const u8, pc: u64) -> $number {
            let this = ready(!place.is_null(), pc);
            let convert = real!($name, fn(*const u8, *mut *const u8) -> $number);
            let mut end = text;
            // SAFETY: the program's own call.
            unsafe {
                let number = on_behalf(this, pc, || convert(text, &raw mut end));
                converted(this, text, end, place, pc);
                number
            }
        }
    )*};
}

fractions! {
    on_strtod, "strtod", f64;
    on_strtof, "strtof", f32;
}

unsafe extern "C" fn on_atoi(text: *const u8, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    (unsafe { on_strtol(text, null_mut(), 10, pc) }) as c_int
}

unsafe extern "C" fn on_atol(text: *const u8, pc: u64) -> c_long {
    // SAFETY: the program's own call.
    unsafe { on_strtol(text, null_mut(), 10, pc) }
}

unsafe extern "C" fn on_atof(text: *const u8, pc: u64) -> f64 {
    // SAFETY: the program's own call.
    unsafe { on_strtod(text, null_mut(), pc) }
}

entry! {
    strtol, "rcx" => on_strtol;
    strtoll, "rcx" => on_strtol;
    strtoul, "rcx" => on_strtoul;
    strtoull, "rcx" => on_strtoul;
    strtoimax, "rcx" => on_strtol;
    strtoumax, "rcx" => on_strtoul;
    __isoc23_strtol, "rcx" => on_strtol;
    __isoc23_strtoll, "rcx" => on_strtol;
    __isoc23_strtoul, "rcx" => on_strtoul;
    __isoc23_strtoull, "rcx" => on_strtoul;
    strtod, "rdx" => on_strtod;
    strtof, "rdx" => on_strtof;
    atoi, "rsi" => on_atoi;
    atol, "rsi" => on_atol;
    atoll, "rsi" => on_atol;
    atof, "rsi" => on_atof;
}
