//! Input from outside the process, recorded so that a replay can give it back.
//!
//! Each thread counts its calls that may bring something in. Those that did have an [`Input`] in the log with their
//! number. A replay makes the same call, compares, and if the answer differs (the file has changed, the peer is gone)
//! the program gets the recorded one, and the log says so.

use crate::{
    memory,
    state::{SHARED, Thread, controlled, header},
};
use core::{
    ffi::c_int,
    sync::atomic::Ordering::{Relaxed, Release},
};
use unsnarl_trace::raw::{Call, Difference, Input};

const ENTRY: usize = size_of::<Input>();

/// The calling thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno`; returns -1, the result of calls that fail.
pub fn fail(error: c_int) -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Memory that a call fills with input: parts that are filled one after the other.
#[derive(Clone, Copy)]
pub struct Parts {
    first: *const libc::iovec,
    count: usize,
}

impl Parts {
    /// Parts as in `readv`.
    pub fn new(first: *const libc::iovec, count: usize) -> Parts {
        Parts { first, count }
    }

    /// Parts without memory: the result is the whole answer.
    pub const NONE: Parts = Parts {
        first: core::ptr::null(),
        count: 0,
    };

    /// The parts that the first `bytes` bytes fill.
    pub fn up_to(self, bytes: usize) -> impl Iterator<Item = (*mut u8, usize)> {
        let mut left = bytes;
        (0..self.count).map_while(move |i| {
            if left == 0 {
                return None;
            }
            // SAFETY: the array has `count` parts, as the program said.
            let part = unsafe { &*self.first.add(i) };
            let here = part.iov_len.min(left);
            left -= here;
            Some((part.iov_base.cast::<u8>(), here))
        })
    }
}

/// One part as an array of one.
pub fn part(to: *mut u8, bytes: usize) -> libc::iovec {
    libc::iovec {
        iov_base: to.cast(),
        iov_len: bytes,
    }
}

/// Counts a call; returns its recorded answer, if this is a replay and there is one.
pub fn next(this: &Thread) -> Option<&'static Input> {
    this.inputs.set(this.inputs.get() + 1);
    recorded(this, this.inputs.get()).filter(|_| !is_live())
}

/// The recorded answer of the thread's next call, whether it is given back or not.
pub fn recorded_next(this: &Thread) -> Option<&'static Input> {
    recorded(this, this.inputs.get() + 1)
}

/// The recorded answer of the call that the thread makes, which is counted already.
pub fn recorded_now(this: &Thread) -> Option<&'static Input> {
    recorded(this, this.inputs.get())
}

/// Returns whether whoever was outside is there again: nothing is given back.
fn is_live() -> bool {
    header().is_live != 0
}

/// Returns whether the thread's next call has a recorded answer.
pub fn is_given(this: &Thread) -> bool {
    !is_live() && recorded_next(this).is_some()
}

fn recorded(this: &Thread, nth: u32) -> Option<&'static Input> {
    let header = header();
    let (base, length) = (
        SHARED.header.get() as usize + header.given_at as usize,
        header.given_len as usize,
    );
    let mut at = this.given.get();
    while at + ENTRY <= length {
        // SAFETY: within what the recorder wrote and mapped; entries are aligned to eight bytes.
        let entry = unsafe { &*((base + at) as *const Input) };
        if entry.thread == this.number.get() && entry.nth >= nth {
            this.given.set(at);
            return (entry.nth == nth).then_some(entry);
        }
        at += ENTRY + (entry.length as usize).next_multiple_of(8);
    }
    this.given.set(at);
    None
}

/// The bytes of a recorded input.
pub fn bytes_of(entry: &'static Input) -> &'static [u8] {
    let header = header();
    let end = SHARED.header.get() as usize + (header.given_at + header.given_len) as usize;
    let first = core::ptr::from_ref(entry) as usize + ENTRY;
    let length = (entry.length as usize).min(end.saturating_sub(first));
    // SAFETY: within what the recorder wrote.
    unsafe { core::slice::from_raw_parts(first as *const u8, length) }
}

/// Returns whether this is a replay of a run that had input.
pub fn replays() -> bool {
    controlled() && header().given_len != 0 && !is_live()
}

/// Returns whether this is a replay, and all of the run's input was recorded.
pub fn is_complete() -> bool {
    replays() && header().given_all != 0
}

/// The answer of a call that did everything it was asked for.
pub fn whole(result: i64) -> Answer {
    Answer {
        result,
        error: 0,
        bytes: 0,
    }
}

/// Records the answer of a call. Input for which there is no room is counted.
pub fn note(this: &Thread, call: Call, answer: Answer, parts: Parts) {
    let Answer {
        result,
        error,
        bytes,
    } = answer;
    let header = header();
    let used = header.input_used.load(Relaxed);
    let room = bytes.next_multiple_of(8) + ENTRY;
    if header.input_lost.load(Relaxed) > 0 || used + room as u64 > header.input_cap {
        header.input_lost.fetch_add(1, Relaxed);
        return;
    }
    let place = SHARED.header.get() as usize + (header.input_at + used) as usize;
    let mut length = 0;
    for (from, count) in parts.up_to(bytes) {
        // SAFETY: the room was checked; the call has just filled these bytes.
        unsafe { memory::copy_up((place + ENTRY + length) as *mut u8, from, count) };
        length += count;
    }
    // SAFETY: as above; places are aligned to eight bytes.
    unsafe {
        (place as *mut Input).write(Input {
            result,
            clock: SHARED.clock.get(),
            nth: this.inputs.get(),
            length: length as u32,
            error: error as u32,
            thread: this.number.get(),
            call: call as u16,
        });
    }
    header.input_used.store(used + room as u64, Release);
}

/// The answer of a call: its result, `errno` if that is -1, and the number of bytes that it brought.
#[derive(Clone, Copy)]
pub struct Answer {
    pub result: i64,
    pub error: c_int,
    pub bytes: usize,
}

impl Answer {
    /// The answer of a call that returns the number of bytes.
    pub fn of_count(result: isize) -> Answer {
        Answer {
            bytes: usize::try_from(result).unwrap_or(0),
            ..Answer::of(result as i64)
        }
    }

    /// The answer of a call that failed.
    pub fn error(error: c_int) -> Answer {
        Answer {
            result: -1,
            error,
            bytes: 0,
        }
    }

    /// The same answer, if its number is not one of bytes that came in.
    pub fn without_bytes(self) -> Answer {
        Answer { bytes: 0, ..self }
    }

    /// The same answer, with `errno` as the program sees it.
    pub fn with_errno(self) -> Answer {
        if self.result == -1 {
            fail(self.error);
        }
        self
    }

    /// The answer of a call that brings nothing but its result.
    pub fn of(result: i64) -> Answer {
        Answer {
            result,
            error: if result == -1 { errno() } else { 0 },
            bytes: 0,
        }
    }
}

/// The answer in place of one that differs, or the same one: fills the parts with the recorded bytes.
pub fn give_back(
    this: &Thread,
    entry: &'static Input,
    answer: Answer,
    parts: Parts,
    pc: u64,
) -> Answer {
    if differs(this, entry, answer, parts, pc) {
        return restore(entry, parts);
    }
    answer
}

/// The recorded answer: fills the parts with its bytes.
pub fn restore(entry: &'static Input, parts: Parts) -> Answer {
    let recorded = bytes_of(entry);
    let mut left = recorded;
    for (to, count) in parts.up_to(recorded.len()) {
        let (now, later) = left.split_at_checked(count).unwrap_or((left, &[]));
        // SAFETY: the parts are as long as the program said, at least what was recorded for this call.
        unsafe { memory::copy_up(to, now.as_ptr(), now.len()) };
        left = later;
    }
    Answer {
        result: entry.result,
        error: entry.error as c_int,
        bytes: recorded.len(),
    }
}

/// Compares an answer with the recorded one; a difference is noted. Virtual time goes on to the recorded time.
pub fn differs(
    this: &Thread,
    entry: &'static Input,
    answer: Answer,
    parts: Parts,
    pc: u64,
) -> bool {
    go_on_to_time_of(entry);
    if answer.result == entry.result && is_same(parts, answer.bytes, bytes_of(entry)) {
        return false;
    }
    note_difference(this, Some(entry), answer, parts, pc);
    true
}

/// Lets virtual time go on to that of a recorded answer.
pub fn go_on_to_time_of(entry: &'static Input) {
    SHARED.clock.set(SHARED.clock.get().max(entry.clock));
}

fn is_same(parts: Parts, bytes: usize, recorded: &[u8]) -> bool {
    let mut at = 0;
    bytes == recorded.len()
        && parts.up_to(bytes).all(|(from, count)| {
            let expected = recorded.get(at..at + count).unwrap_or(&[]);
            at += count;
            // SAFETY: the call has just filled these bytes.
            let equal = |(i, byte): (usize, &u8)| unsafe { from.add(i).read_volatile() } == *byte;
            expected.iter().enumerate().all(equal)
        })
}

/// Counts a difference; the first one is noted with the actual answer.
pub fn note_difference(
    this: &Thread,
    entry: Option<&'static Input>,
    answer: Answer,
    parts: Parts,
    pc: u64,
) {
    let header = header();
    if header.input_differs.fetch_add(1, Relaxed) != 0 {
        return;
    }
    let given = SHARED.header.get() as usize + header.given_at as usize;
    // SAFETY: the log is mapped; only the thread with the turn is here.
    let difference: &mut Difference = unsafe { &mut (*SHARED.header.get()).difference };
    difference.pc = pc;
    difference.recorded = entry.map_or(u64::MAX, |entry| {
        (core::ptr::from_ref(entry) as usize - given) as u64
    });
    difference.result = answer.result;
    difference.error = answer.error as u32;
    difference.thread = u32::from(this.number.get());
    difference.length = answer.bytes as u64;
    let mut places = difference.bytes.iter_mut();
    for (from, count) in parts.up_to(answer.bytes) {
        for (i, place) in (0..count).zip(&mut places) {
            // SAFETY: the call has just filled these bytes.
            *place = unsafe { from.add(i).read_volatile() };
        }
    }
}

/// Makes a call and records or compares its answer, if `foreign` says that the answer comes from outside.
pub fn exchange(
    this: &Thread,
    call: Call,
    parts: Parts,
    pc: u64,
    foreign: impl FnOnce() -> bool,
    make: impl FnOnce() -> Answer,
) -> Answer {
    if !controlled() {
        return make();
    }
    let given = next(this);
    let mut answer = make();
    match given {
        Some(entry) => answer = give_back(this, entry, answer, parts, pc),
        None if !foreign() => return answer.with_errno(),
        None => {}
    }
    note(this, call, answer, parts);
    answer.with_errno()
}

/// Makes a call whose answer differs each time, or after the world has changed: it is always recorded, and always
/// given back. A difference is reported only if the recorded answer and the current one are not `alike`.
pub fn exchange_alike(
    this: &Thread,
    call: Call,
    parts: Parts,
    pc: u64,
    alike: impl FnOnce(&'static Input, Answer) -> bool,
    make: impl FnOnce() -> Answer,
) -> Answer {
    if !controlled() {
        return make();
    }
    let given = next(this);
    let mut answer = make();
    if let Some(entry) = given {
        go_on_to_time_of(entry);
        if !alike(entry, answer) {
            note_difference(this, Some(entry), answer, parts, pc);
        }
        answer = restore(entry, parts);
    }
    note(this, call, answer, parts);
    answer.with_errno()
}
