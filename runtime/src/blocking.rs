//! System calls that wait for input or output. A thread that would wait in the kernel would keep the
//! turn: here it gives the turn away and is enabled again once its descriptor is ready, which the
//! scheduler asks the kernel at each decision. So the order is decided as everywhere else, and only
//! input from outside the process can make a run differ.

use crate::{
    access,
    descriptors::{self, Source},
    entry::entry,
    input::{self, Answer, Parts, exchange, part},
    live,
    mutex::ready,
    next::Next,
    outside, random,
    real::real,
    scheduler::{self, Waited},
    state::{SHARED, Thread, Wait, controlled, unrecorded},
    sys, threads, timers,
};
use core::ffi::{c_int, c_short, c_void};
use libc::{POLLIN, POLLOUT, iovec, off_t, pollfd};
use unsnarl_trace::raw::Call;

/// Bound for the descriptors that are waited for in one system call.
const MOST: usize = 64;
/// Number of bytes that a pipe takes without waiting when it is ready.
const PIPE_PART: usize = 4096;

const NONE: pollfd = pollfd {
    fd: -1,
    events: 0,
    revents: 0,
};

/// An array for `poll`.
pub struct Pollfds {
    places: [pollfd; MOST],
    used: usize,
}

impl Pollfds {
    /// An empty array.
    pub fn new() -> Pollfds {
        Pollfds {
            places: [NONE; MOST],
            used: 0,
        }
    }

    /// Adds a descriptor; returns `false` if there is no room.
    pub fn add(&mut self, fd: c_int, events: c_short) -> bool {
        let Some(place) = self.places.get_mut(self.used) else {
            return false;
        };
        *place = pollfd {
            fd,
            events,
            revents: 0,
        };
        self.used += 1;
        true
    }

    /// Returns whether there are no descriptors.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The descriptors.
    pub fn get(&self) -> &[pollfd] {
        self.places.get(..self.used).unwrap_or(&[])
    }

    /// Asks the kernel, and waits for at most this time. An interruption by a signal counts as an answer.
    pub fn poll(&mut self, milliseconds: c_int) -> c_int {
        sys::poll(
            self.places.get_mut(..self.used).unwrap_or(&mut []),
            milliseconds,
        )
    }
}

/// Returns whether a call on this descriptor would not wait. Errors count as ready: the call then reports them.
pub fn is_ready(descriptor: c_int, events: c_short) -> bool {
    let wanted = pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    sys::poll(&mut [wanted], 0) != 0
}

fn waits_in_kernel(descriptor: c_int) -> bool {
    let arguments = [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: asks for the flags of a descriptor, valid or not.
    let flags = unsafe { sys::call(libc::SYS_fcntl, arguments) };
    flags >= 0 && flags as c_int & libc::O_NONBLOCK == 0
}

/// The end of the wait before a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// The call will not wait.
    Go,
    /// The call would wait, but a replay has its answer.
    Given,
    /// The socket's own time limit is over.
    TimedOut,
    /// A handler of a signal has run.
    Interrupted,
}

impl Before {
    /// The answer of the call, or the error if it is not made.
    pub fn then(self, call: impl FnOnce() -> Answer) -> Answer {
        match self {
            Before::Go => call(),
            Before::Given | Before::TimedOut => Answer::error(libc::EAGAIN),
            Before::Interrupted => Answer::error(libc::EINTR),
        }
    }
}

/// Waits before a call on `descriptor`: lets others run, and returns once the call would not wait. This is one
/// decision, however long it takes: input from outside comes at another time in a replay.
pub fn until_ready(this: &Thread, descriptor: c_int, events: c_short, next: Next) -> Before {
    let receives = events == POLLIN;
    let source = descriptors::source(descriptor);
    if matches!(source, Source::File | Source::Random) || !waits_in_kernel(descriptor) {
        scheduler::decide(this, next);
        threads::act_on_cancel(this);
        return Before::Go;
    }
    let wish = match receives {
        true => Wait::Input(descriptor),
        false => Wait::Output(descriptor),
    };
    let limit = descriptors::patience_of_socket(descriptor, receives).unwrap_or(0);
    let deadline = match limit {
        0 => 0,
        limit => SHARED.clock.get().saturating_add(limit),
    };
    this.forced.set(false);
    let restarts = deadline == 0;
    let ended = scheduler::block_or_signal(this, next, wish, deadline, restarts);
    threads::act_on_cancel(this);
    if ended == Waited::Interrupted {
        return Before::Interrupted;
    }
    if this.forced.replace(false) {
        return Before::Given;
    }
    if ended == Waited::Granted {
        Before::Go
    } else {
        Before::TimedOut
    }
}

/// Logs that the parts were written, as far as `bytes` reach.
pub fn log_filled(this: &Thread, parts: Parts, bytes: usize, pc: u64) {
    for (to, count) in parts.up_to(bytes) {
        access::log_written(this, to, count, pc);
    }
}

/// Logs that the parts are read, as far as `bytes` reach.
pub fn log_sent(this: &Thread, parts: Parts, bytes: usize, pc: u64) {
    for (from, count) in parts.up_to(bytes) {
        // SAFETY: the program hands these bytes to the kernel, which reads them next.
        unsafe { access::log_read(this, from, count, pc) };
    }
}

/// A call that fills the parts from a descriptor.
pub fn receive(fd: c_int, parts: Parts, pc: u64, call: impl FnOnce() -> isize) -> isize {
    let Some(this) = ready(pc) else {
        return call();
    };
    let first = parts.up_to(usize::MAX).next();
    let (place, room) = first.unwrap_or((core::ptr::null_mut(), 0));
    let read = match controlled() {
        true => {
            let before = until_ready(this, fd, POLLIN, Next::range(true, pc, place, room));
            let call = || Answer::of_count(fill(this, fd, parts, call));
            let make = || before.then(|| read_as_seen(this, fd, call));
            exchange(
                this,
                Call::Read,
                parts,
                pc,
                || outside::is_foreign(fd),
                make,
            )
            .result as isize
        }
        false => unrecorded(this, call),
    };
    log_filled(this, parts, usize::try_from(read).unwrap_or(0), pc);
    read
}

/// Makes a call that reads from a descriptor, where a run is repeated whose input is said anew: when and as far as it was
/// read then.
pub fn read_as_seen(this: &Thread, fd: c_int, call: impl FnOnce() -> Answer) -> Answer {
    let Some(seen) = live::Seen::of_current(this, Call::Read, fd) else {
        return call();
    };
    seen.keep_time();
    if let Some(error) = seen.error() {
        return error;
    }
    seen.await_bytes(fd);
    let answer = call();
    live::end_limit();
    answer
}

/// Makes the call, unless the descriptor is one of random numbers.
fn fill(this: &Thread, fd: c_int, parts: Parts, call: impl FnOnce() -> isize) -> isize {
    if descriptors::source(fd) != Source::Random {
        return unrecorded(this, call);
    }
    let each = parts.up_to(isize::MAX as usize);
    each.map(|(to, bytes)| {
        random::fill(to, bytes);
        bytes as isize
    })
    .sum()
}

/// Makes a call that sends the parts to a descriptor. `call` gets the bytes to send, in pieces that the descriptor
/// takes without waiting, and sends all of a piece or returns the number of bytes.
pub fn transmit(
    fd: c_int,
    parts: Parts,
    bytes: usize,
    pc: u64,
    call: impl Fn() -> isize,
    piece: impl Fn(*mut u8, usize) -> isize,
) -> isize {
    let Some(this) = ready(pc) else {
        return call();
    };
    log_sent(this, parts, bytes, pc);
    if !controlled() {
        return unrecorded(this, &call);
    }
    let (place, _) = parts
        .up_to(bytes)
        .next()
        .unwrap_or((core::ptr::null_mut(), 0));
    let next = Next::range(false, pc, place, bytes);
    let whole = bytes as isize;
    if !waits_in_kernel(fd) || !takes_pieces(fd, bytes) {
        let before = until_ready(this, fd, POLLOUT, next);
        return output(this, fd, whole, pc, || {
            before.then(|| Answer::of_count(unrecorded(this, &call)).without_bytes())
        });
    }
    send_in_pieces(this, fd, parts, bytes, next, piece)
}

/// Records the result of an output, which comes from outside only if the output was partial. A replay takes all as
/// done that was done when the run was recorded, though the receiver may be gone.
pub fn output(
    this: &Thread,
    fd: c_int,
    whole: isize,
    pc: u64,
    make: impl FnOnce() -> Answer,
) -> isize {
    let given = input::next(this);
    let answer = make();
    let result = answer.result as isize;
    let all = input::whole(whole as i64);
    let answer = match given {
        Some(entry) => input::give_back(this, entry, answer, Parts::NONE, pc),
        None if result == whole || !outside::is_foreign(fd) => answer,
        None if input::is_complete() => {
            input::note_difference(this, None, answer, Parts::NONE, pc);
            all
        }
        None => answer,
    };
    if answer.result as isize != whole && (given.is_some() || outside::is_foreign(fd)) {
        input::note(this, Call::Write, answer, Parts::NONE);
    }
    answer.with_errno().result as isize
}

/// Returns whether a call with this many bytes could wait in the middle.
fn takes_pieces(fd: c_int, bytes: usize) -> bool {
    bytes > PIPE_PART
        && descriptors::source(fd) == Source::Inside
        && (descriptors::is_pipe(fd) || descriptors::is_stream(fd))
}

fn send_in_pieces(
    this: &Thread,
    fd: c_int,
    parts: Parts,
    bytes: usize,
    next: Next,
    piece: impl Fn(*mut u8, usize) -> isize,
) -> isize {
    let mut sent = 0;
    for (from, count) in parts.up_to(bytes) {
        let mut at = 0;
        while at < count {
            let wanted = (count - at).min(PIPE_PART);
            let before = until_ready(this, fd, POLLOUT, next);
            // SAFETY: within the part.
            let place = unsafe { from.add(at) };
            let done = output(this, fd, wanted as isize, next.pc, || {
                before.then(|| {
                    Answer::of_count(unrecorded(this, || piece(place, wanted))).without_bytes()
                })
            });
            if done <= 0 {
                return if sent > 0 { sent } else { done };
            }
            at += done as usize;
            sent += done;
        }
    }
    sent
}

pub unsafe extern "C-unwind" fn on_read(fd: c_int, to: *mut u8, bytes: usize, pc: u64) -> isize {
    let library = real!("read", fn(c_int, *mut u8, usize) -> isize);
    let room = part(to, bytes);
    // SAFETY: the program's own call.
    receive(fd, Parts::new(&room, 1), pc, || unsafe {
        let read = library(fd, to, live::most(bytes));
        timers::correct(fd, to, read);
        read
    })
}

unsafe extern "C-unwind" fn on_pread(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    at: off_t,
    pc: u64,
) -> isize {
    let library = real!("pread", fn(c_int, *mut u8, usize, off_t) -> isize);
    let room = part(to, bytes);
    // SAFETY: the program's own call.
    receive(fd, Parts::new(&room, 1), pc, || unsafe {
        library(fd, to, bytes, at)
    })
}

unsafe extern "C-unwind" fn on_readv(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    pc: u64,
) -> isize {
    let library = real!("readv", fn(c_int, *const iovec, c_int) -> isize);
    let all = Parts::new(parts, count.max(0) as usize);
    // SAFETY: the program's own call.
    receive(fd, all, pc, || unsafe { library(fd, parts, count) })
}

unsafe extern "C-unwind" fn on_preadv(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    at: off_t,
    pc: u64,
) -> isize {
    let library = real!("preadv", fn(c_int, *const iovec, c_int, off_t) -> isize);
    let all = Parts::new(parts, count.max(0) as usize);
    // SAFETY: the program's own call.
    receive(fd, all, pc, || unsafe { library(fd, parts, count, at) })
}

/// Ends the program if a buffer is too small, as the library would.
pub fn check(bytes: usize, room: usize) {
    if bytes > room {
        let fail = real!("__chk_fail", fn() -> c_int);
        // SAFETY: does not return.
        unsafe { fail() };
    }
}

unsafe extern "C-unwind" fn on_read_chk(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    room: usize,
    pc: u64,
) -> isize {
    check(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_read(fd, to, bytes, pc) }
}

unsafe extern "C-unwind" fn on_pread_chk(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    at: off_t,
    room: usize,
    pc: u64,
) -> isize {
    check(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_pread(fd, to, bytes, at, pc) }
}

fn write_piece(fd: c_int, from: *mut u8, bytes: usize) -> isize {
    // Whoever was there when the run was recorded may be gone: no signal for that.
    if input::replays() && descriptors::is_socket(fd) {
        let library = real!("send", fn(c_int, *const u8, usize, c_int) -> isize);
        // SAFETY: a part of what the program writes.
        return unsafe { library(fd, from, bytes, libc::MSG_NOSIGNAL) };
    }
    let library = real!("write", fn(c_int, *const u8, usize) -> isize);
    // SAFETY: a part of what the program writes.
    unsafe { library(fd, from, bytes) }
}

pub unsafe extern "C-unwind" fn on_write(fd: c_int, from: *mut u8, bytes: usize, pc: u64) -> isize {
    let room = part(from, bytes);
    let piece = |from, bytes| write_piece(fd, from, bytes);
    let call = || write_piece(fd, from, bytes);
    transmit(fd, Parts::new(&room, 1), bytes, pc, call, piece)
}

unsafe extern "C-unwind" fn on_pwrite(
    fd: c_int,
    from: *mut u8,
    bytes: usize,
    at: off_t,
    pc: u64,
) -> isize {
    let library = real!("pwrite", fn(c_int, *const u8, usize, off_t) -> isize);
    let room = part(from, bytes);
    // SAFETY: the program's own call. Pipes and sockets refuse it, so there are no pieces.
    let call = || unsafe { library(fd, from, bytes, at) };
    transmit(fd, Parts::new(&room, 1), bytes, pc, call, |_, _| call())
}

/// Bytes of all parts.
fn total(parts: Parts) -> usize {
    parts
        .up_to(isize::MAX as usize)
        .map(|(_, bytes)| bytes)
        .sum()
}

unsafe extern "C-unwind" fn on_writev(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    pc: u64,
) -> isize {
    let library = real!("writev", fn(c_int, *const iovec, c_int) -> isize);
    let all = Parts::new(parts, count.max(0) as usize);
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, parts, count) };
    let piece = |from, bytes| write_piece(fd, from, bytes);
    transmit(fd, all, total(all), pc, call, piece)
}

unsafe extern "C-unwind" fn on_pwritev(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    at: off_t,
    pc: u64,
) -> isize {
    let library = real!("pwritev", fn(c_int, *const iovec, c_int, off_t) -> isize);
    let all = Parts::new(parts, count.max(0) as usize);
    // SAFETY: the program's own call. Pipes and sockets refuse it, so there are no pieces.
    let call = || unsafe { library(fd, parts, count, at) };
    transmit(fd, all, total(all), pc, call, |_, _| call())
}

unsafe extern "C-unwind" fn on_pipe(ends: *mut c_int, pc: u64) -> c_int {
    let library = real!("pipe", fn(*mut c_int) -> c_int);
    // SAFETY: the program's own call.
    note_pair(ends, pc, || unsafe { library(ends) })
}

unsafe extern "C-unwind" fn on_pipe2(ends: *mut c_int, flags: c_int, pc: u64) -> c_int {
    let library = real!("pipe2", fn(*mut c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    note_pair(ends, pc, || unsafe { library(ends, flags) })
}

unsafe extern "C-unwind" fn on_socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
    pc: u64,
) -> c_int {
    let library = real!("socketpair", fn(c_int, c_int, c_int, *mut c_int) -> c_int);
    // SAFETY: the program's own call.
    note_pair(ends, pc, || unsafe {
        library(domain, kind, protocol, ends)
    })
}

/// Makes a call that creates two connected descriptors.
fn note_pair(ends: *mut c_int, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(this) = ready(pc) else { return call() };
    let status = unrecorded(this, call);
    if status == 0 {
        for i in 0..2 {
            // SAFETY: the call has filled both places.
            descriptors::note_own(unsafe { *ends.add(i) });
        }
        access::log_written(this, ends.cast(), 8, pc);
    }
    status
}

unsafe extern "C-unwind" fn on_eventfd_read(fd: c_int, value: *mut u64, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    let read = unsafe { on_read(fd, value.cast(), 8, pc) };
    if read == 8 { 0 } else { -1 }
}

unsafe extern "C-unwind" fn on_eventfd_write(fd: c_int, value: u64, pc: u64) -> c_int {
    let mut value = value;
    // SAFETY: a valid place.
    let written = unsafe { on_write(fd, (&raw mut value).cast(), 8, pc) };
    if written == 8 { 0 } else { -1 }
}

unsafe extern "C-unwind" fn on_sendfile(
    to: c_int,
    from: c_int,
    at: *mut c_void,
    bytes: usize,
    pc: u64,
) -> isize {
    let library = real!("sendfile", fn(c_int, c_int, *mut c_void, usize) -> isize);
    // SAFETY: the program's own call.
    let call = || unsafe { library(to, from, at, bytes) };
    let Some(this) = ready(pc) else { return call() };
    if !controlled() {
        return unrecorded(this, call);
    }
    let before = until_ready(this, to, POLLOUT, Next::NOTHING);
    output(this, to, bytes as isize, pc, || {
        before.then(|| {
            Answer::of_count(outside::without_turn(this, Next::NOTHING, call)).without_bytes()
        })
    })
}

entry! {
    read, "rcx" => on_read;
    __read_chk, "r8" => on_read_chk;
    pread, "r8" => on_pread;
    pread64, "r8" => on_pread;
    __pread_chk, "r9" => on_pread_chk;
    __pread64_chk, "r9" => on_pread_chk;
    readv, "rcx" => on_readv;
    preadv, "r8" => on_preadv;
    preadv64, "r8" => on_preadv;
    write, "rcx" => on_write;
    pwrite, "r8" => on_pwrite;
    pwrite64, "r8" => on_pwrite;
    writev, "rcx" => on_writev;
    pwritev, "r8" => on_pwritev;
    pwritev64, "r8" => on_pwritev;
    pipe, "rsi" => on_pipe;
    pipe2, "rdx" => on_pipe2;
    socketpair, "r8" => on_socketpair;
    eventfd_read, "rdx" => on_eventfd_read;
    eventfd_write, "rdx" => on_eventfd_write;
    sendfile, "r8" => on_sendfile;
    sendfile64, "r8" => on_sendfile;
}
