//! Seeking to another position of a file. The position of the end, and the bytes at a position, are input: the C
//! library reads there by itself when a stream's buffer does not reach so far.

use crate::{
    descriptors::{self, Source},
    entry::entry,
    input::{self, Answer, Parts, exchange_alike, part},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled, unrecorded},
    streams::{self, Stream, before, locked, ready_for},
    sys,
};
use core::{
    ffi::{c_int, c_long, c_void},
    mem::size_of,
};
use libc::{SEEK_CUR, SEEK_SET, off_t};
use unsnarl_trace::raw::{Call, Input};

unsafe extern "C-unwind" fn on_lseek(fd: c_int, by: off_t, from: c_int, pc: u64) -> off_t {
    let library = real!("lseek", fn(c_int, off_t, c_int) -> off_t);
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, by, from) };
    match ready(pc).filter(|_| controlled() && from != SEEK_SET) {
        Some(this) if descriptors::source(fd) == Source::File => {
            scheduler::decide(this, Next::NOTHING);
            number(this, pc, true, call)
        }
        _ => call(),
    }
}

fn number(this: &Thread, pc: u64, is_told: bool, call: impl FnOnce() -> i64) -> i64 {
    let alike = |entry: &'static Input, answer: Answer| !is_told || entry.result == answer.result;
    let make = || Answer::of(unrecorded(this, call));
    exchange_alike(this, Call::Other, Parts::NONE, pc, alike, make).result
}

unsafe extern "C-unwind" fn on_ftell(stream: *mut Stream, pc: u64) -> c_long {
    let library = real!("ftell", fn(*mut Stream) -> c_long);
    // SAFETY: the program's own call.
    let call = || unsafe { library(stream) };
    let Some(this) = ready_for(stream, pc) else {
        return call();
    };
    before(this, stream as usize, Next::NOTHING);
    number(this, pc, false, call)
}

unsafe extern "C-unwind" fn on_fgetpos(stream: *mut Stream, to: *mut u8, pc: u64) -> c_int {
    let library = real!("fgetpos", fn(*mut Stream, *mut u8) -> c_int);
    let Some(this) = ready_for(stream, pc) else {
        // SAFETY: the program's own call.
        return unsafe { library(stream, to) };
    };
    before(this, stream as usize, Next::NOTHING);
    let room = part(to, size_of::<libc::fpos_t>());
    let make = || {
        // SAFETY: the program's own call.
        let status = unrecorded(this, || unsafe { library(stream, to) });
        let bytes = if status == 0 { room.iov_len } else { 0 };
        Answer {
            bytes,
            ..Answer::of(i64::from(status))
        }
    };
    exchange_alike(
        this,
        Call::Other,
        Parts::new(&room, 1),
        pc,
        |_, _| true,
        make,
    )
    .result as c_int
}

/// Current position of a descriptor.
fn position(fd: c_int) -> isize {
    // SAFETY: asks only.
    unsafe {
        sys::call(
            libc::SYS_lseek,
            [fd as usize, 0, SEEK_CUR as usize, 0, 0, 0],
        )
    }
}

/// Seeks to another position of a stream. The log gets its position in the buffer, and the buffer if the library has
/// filled it anew.
fn seek(stream: *mut Stream, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(this) = ready_for(stream, pc) else {
        return call();
    };
    locked(this, stream, Next::NOTHING, || {
        let fd = streams::descriptor(stream);
        if fd < 0 || descriptors::source(fd) != Source::File {
            return unrecorded(this, call);
        }
        let given = input::next(this);
        if let Some(entry) = given.filter(|entry| entry.length == 0) {
            // SAFETY: the program's own stream.
            if unsafe { (*stream).go_within_buffer(entry.result) } {
                return note(this, stream, false);
            }
        }
        let before = position(fd);
        let status = unrecorded(this, call);
        let is_new = position(fd) != before;
        match given {
            Some(entry) => give_back(this, stream, entry, is_new, pc),
            None if status != 0 => return status,
            None => {}
        }
        note(this, stream, is_new || given.is_some())
    })
}

/// Position of the stream in its buffer, and the new bytes in that.
fn answer_of(stream: *mut Stream, is_new: bool) -> (Answer, libc::iovec) {
    // SAFETY: the program's own stream.
    let (at, buffer, filled) = unsafe { (*stream).place() };
    let room = part(buffer, if is_new { filled } else { 0 });
    let answer = Answer {
        bytes: room.iov_len,
        ..input::whole(at as i64)
    };
    (answer, room)
}

fn give_back(this: &Thread, stream: *mut Stream, entry: &'static Input, is_new: bool, pc: u64) {
    let (answer, room) = answer_of(stream, is_new);
    if input::differs(this, entry, answer, Parts::new(&room, 1), pc) {
        // SAFETY: the program's own stream.
        unsafe { (*stream).replace(input::bytes_of(entry), entry.result) };
    }
}

fn note(this: &Thread, stream: *mut Stream, is_new: bool) -> c_int {
    let (answer, room) = answer_of(stream, is_new);
    input::note(this, Call::Read, answer, Parts::new(&room, 1));
    0
}

unsafe extern "C-unwind" fn on_fseek(
    stream: *mut Stream,
    by: c_long,
    from: c_int,
    pc: u64,
) -> c_int {
    let library = real!("fseek", fn(*mut Stream, c_long, c_int) -> c_int);
    // SAFETY: the program's own call.
    seek(stream, pc, || unsafe { library(stream, by, from) })
}

unsafe extern "C-unwind" fn on_fsetpos(stream: *mut Stream, to: *const c_void, pc: u64) -> c_int {
    let library = real!("fsetpos", fn(*mut Stream, *const c_void) -> c_int);
    // SAFETY: the program's own call.
    seek(stream, pc, || unsafe { library(stream, to) })
}

unsafe extern "C-unwind" fn on_rewind(stream: *mut Stream, pc: u64) {
    let library = real!("rewind", fn(*mut Stream) -> ());
    let call = || {
        // SAFETY: the program's own call.
        unsafe { library(stream) };
        0
    };
    seek(stream, pc, call);
}

entry! {
    lseek, "rcx" => on_lseek;
    lseek64, "rcx" => on_lseek;
    fseek, "rcx" => on_fseek;
    fseeko, "rcx" => on_fseek;
    fseeko64, "rcx" => on_fseek;
    fsetpos, "rdx" => on_fsetpos;
    fsetpos64, "rdx" => on_fsetpos;
    rewind, "rsi" => on_rewind;
    ftell, "rsi" => on_ftell;
    ftello, "rsi" => on_ftell;
    ftello64, "rsi" => on_ftell;
    fgetpos, "rdx" => on_fgetpos;
    fgetpos64, "rdx" => on_fgetpos;
}
