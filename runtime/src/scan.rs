//! `fscanf` and its relatives: the library reads through a stream of our own, which takes its bytes from
//! the program's one at a time, so that what comes in is recorded and nobody waits with the turn.

use crate::{
    entry::{entry, variadic},
    format::{Arguments, scanned},
    next::Next,
    real::real,
    state::{Thread, unrecorded},
    streams::{self, Stream},
};
use core::{
    ffi::{c_char, c_int, c_void},
    ptr::{null, null_mut},
};

type Scanner = unsafe extern "C-unwind" fn(*mut Stream, *const u8, *mut Arguments) -> c_int;

fn scanner() -> Scanner {
    real!(
        "vfscanf",
        fn(*mut Stream, *const u8, *mut Arguments) -> c_int
    )
}

/// The C library's `cookie_io_functions_t`.
#[repr(C)]
struct Functions {
    read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: usize,
    seek: usize,
    close: usize,
}

unsafe extern "C" {
    fn fopencookie(place: *mut c_void, mode: *const c_char, functions: Functions) -> *mut Stream;
}

/// The origin of the bytes of our own stream.
struct StreamSource<'a> {
    this: &'a Thread,
    stream: *mut Stream,
    pc: u64,
}

/// Delivers one byte, or none at the end.
unsafe extern "C" fn give(source: *mut c_void, to: *mut c_char, room: usize) -> isize {
    // SAFETY: set up below.
    let source = unsafe { &*source.cast::<StreamSource<'_>>() };
    if room == 0 {
        return 0;
    }
    match u8::try_from(streams::next_byte(source.this, source.stream, source.pc)) {
        Ok(byte) => {
            // SAFETY: the library has room for it.
            unsafe { to.write(byte.cast_signed()) };
            1
        }
        Err(_) => 0,
    }
}

/// Scans with the stream's virtual lock held.
///
/// # Safety
/// Format and arguments are the program's.
unsafe fn scan(source: &StreamSource<'_>, format: *const u8, arguments: *mut Arguments) -> c_int {
    let functions = Functions {
        read: give,
        write: 0,
        seek: 0,
        close: 0,
    };
    let place = core::ptr::from_ref(source).cast_mut().cast::<c_void>();
    let give_back = real!("ungetc", fn(c_int, *mut Stream) -> c_int);
    let close = real!("fclose", fn(*mut Stream) -> c_int);
    // SAFETY: a stream of our own, closed again; format and arguments are the program's.
    unsafe {
        let own = fopencookie(place, c"r".as_ptr(), functions);
        if own.is_null() {
            return streams::END;
        }
        libc::setvbuf(own.cast(), null_mut(), libc::_IONBF, 0);
        let assigned = scanner()(own, format, arguments);
        // What was looked at and does not belong to it.
        if let Some(byte) = (*own).next_buffered() {
            give_back(c_int::from(byte), source.stream);
        }
        close(own);
        assigned
    }
}

unsafe extern "C-unwind" fn on_vfscanf(
    stream: *mut Stream,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let Some(this) = streams::ready_for(stream, pc) else {
        // SAFETY: the program's own call.
        return unsafe { scanner()(stream, format, arguments) };
    };
    let source = StreamSource { this, stream, pc };
    // SAFETY: the program's own call.
    unsafe {
        let targets = *arguments;
        let next = Next::range(true, pc, null(), 0);
        let assigned = streams::locked(this, stream, next, || {
            unrecorded(this, || scan(&source, format, arguments))
        });
        scanned(Some(this), format, targets, assigned, pc);
        assigned
    }
}

unsafe extern "C-unwind" fn on_vscanf(
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_vfscanf(streams::standard_input(), format, arguments, pc) }
}

variadic! {
    fscanf, 2, "rdx", "rcx" => on_vfscanf;
    __isoc99_fscanf, 2, "rdx", "rcx" => on_vfscanf;
    __isoc23_fscanf, 2, "rdx", "rcx" => on_vfscanf;
    scanf, 1, "rsi", "rdx" => on_vscanf;
    __isoc99_scanf, 1, "rsi", "rdx" => on_vscanf;
    __isoc23_scanf, 1, "rsi", "rdx" => on_vscanf;
}

entry! {
    vfscanf, "rcx" => on_vfscanf;
    __isoc99_vfscanf, "rcx" => on_vfscanf;
    __isoc23_vfscanf, "rcx" => on_vfscanf;
    vscanf, "rdx" => on_vscanf;
    __isoc99_vscanf, "rdx" => on_vscanf;
    __isoc23_vscanf, "rdx" => on_vscanf;
}
