//! `printf` and its relatives on streams: the strings that they read are accesses of the program.

use crate::{
    entry::{entry, variadic},
    format::{Arguments, counted, printed, touches_memory},
    next::Next,
    objects,
    real::real,
    state::{Thread, controlled, unrecorded},
    streams::{self, Stream},
};
use core::{ffi::c_int, ptr::null};

/// The calling thread, when the call reads or writes what the run has to know, or has to wait.
///
/// # Safety
/// `format` is the program's.
unsafe fn ready(stream: *mut Stream, format: *const u8, pc: u64) -> Option<&'static Thread> {
    let this = crate::mutex::ready(pc)?;
    let is_taken = || !objects::at(stream as usize).is_free_for_writing();
    // SAFETY: the caller's.
    if controlled() && (unsafe { touches_memory(format) } || is_taken()) {
        streams::before(this, stream as usize, Next::range(false, pc, null(), 0));
    }
    Some(this)
}

unsafe extern "C-unwind" fn on_vfprintf(
    stream: *mut Stream,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let library = real!(
        "vfprintf",
        fn(*mut Stream, *const u8, *mut Arguments) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe {
        let Some(this) = ready(stream, format, pc) else {
            return library(stream, format, arguments);
        };
        let given = *arguments;
        printed(Some(this), format, given, pc);
        let bytes = unrecorded(this, || library(stream, format, arguments));
        counted(Some(this), format, given, pc);
        bytes
    }
}

unsafe extern "C-unwind" fn on_vprintf(
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_vfprintf(streams::standard_output(), format, arguments, pc) }
}

unsafe extern "C-unwind" fn on_vdprintf(
    descriptor: c_int,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let library = real!("vdprintf", fn(c_int, *const u8, *mut Arguments) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        let Some(this) = ready(core::ptr::null_mut(), format, pc) else {
            return library(descriptor, format, arguments);
        };
        let given = *arguments;
        printed(Some(this), format, given, pc);
        let bytes = unrecorded(this, || library(descriptor, format, arguments));
        counted(Some(this), format, given, pc);
        bytes
    }
}

variadic! {
    printf, 1, "rsi", "rdx" => on_vprintf;
    fprintf, 2, "rdx", "rcx" => on_vfprintf;
    dprintf, 2, "rdx", "rcx" => on_vdprintf;
}

entry! {
    vprintf, "rdx" => on_vprintf;
    vfprintf, "rcx" => on_vfprintf;
    vdprintf, "rcx" => on_vdprintf;
}
