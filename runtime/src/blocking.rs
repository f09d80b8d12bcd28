//! System calls that wait for input or output. A thread that would wait in the kernel would keep the
//! turn: here it gives the turn away and is enabled again once its descriptor is ready, which the
//! scheduler asks the kernel at each decision. So the order is decided as everywhere else, and only
//! input from outside the process can make a run differ.

use crate::{
    access,
    entry::entry,
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{SHARED, Thread, Wait, controlled, live_threads, thread, unrecorded},
    threads,
};
use core::ffi::{c_int, c_short, c_void};
use libc::{POLLIN, POLLOUT, pollfd};
use unsnarl_trace::raw::RecordKind;

/// Most descriptors of one call that are waited for by the scheduler; beyond, the call keeps the turn.
const MOST: usize = 64;
/// Longest real wait before virtual time goes on, in milliseconds.
const PATIENCE: u64 = 20;
const MILLISECOND: u64 = 1_000_000;

/// The kernel's answer without waiting.
fn poll_now(descriptors: &mut [pollfd], milliseconds: c_int) -> c_int {
    // SAFETY: a valid array of this length; the system call itself, so that nothing is interposed.
    unsafe {
        let place = descriptors.as_mut_ptr();
        libc::syscall(libc::SYS_poll, place, descriptors.len(), milliseconds) as c_int
    }
}

/// Whether a call on this descriptor would not wait. Errors count as ready: the call then says so.
pub fn is_ready(descriptor: c_int, events: c_short) -> bool {
    poll_now(
        &mut [pollfd {
            fd: descriptor,
            events,
            revents: 0,
        }],
        0,
    ) != 0
}

/// Whether `poll` on these would not wait.
pub fn any_ready(descriptors: usize, count: usize) -> bool {
    // SAFETY: the array of a thread that is inside `poll`, so it is still there.
    let wanted = unsafe { core::slice::from_raw_parts(descriptors as *const pollfd, count) };
    wanted
        .iter()
        .any(|one| one.fd >= 0 && is_ready(one.fd, one.events))
}

/// Nobody can go on: waits for the outside world, if some thread does. Returns whether one does.
/// `until` is the virtual time at which something else happens, 0 when nothing will.
pub fn wait_for_outside(until: u64) -> bool {
    let mut waited = [pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; MOST];
    let mut places = waited.iter_mut();
    let mut add = |fd: c_int, events: c_short| {
        if let Some(place) = places.next() {
            *place = pollfd {
                fd,
                events,
                revents: 0,
            };
        }
    };
    for &number in live_threads() {
        match thread(number).wait.get() {
            Wait::Input(fd) => add(fd, POLLIN),
            Wait::Output(fd) => add(fd, POLLOUT),
            Wait::Poll { descriptors, count } => {
                // SAFETY: the array of a thread that is inside `poll`.
                let wanted =
                    unsafe { core::slice::from_raw_parts(descriptors as *const pollfd, count) };
                wanted.iter().for_each(|one| add(one.fd, one.events));
            }
            _ => {}
        }
    }
    let used = MOST - places.len();
    let Some(waited) = waited.get_mut(..used).filter(|waited| !waited.is_empty()) else {
        return false;
    };
    let left = until.saturating_sub(SHARED.clock.get()) / MILLISECOND;
    let patience = if until == 0 {
        -1
    } else {
        left.min(PATIENCE) as c_int
    };
    let answered = poll_now(waited, patience);
    until == 0 || answered > 0
}

fn waits_in_kernel(descriptor: c_int) -> bool {
    // SAFETY: asks for the flags of a descriptor, valid or not.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK == 0
}

/// Before a call on `descriptor`: lets others run, and goes on once the call would not wait.
fn until_ready(this: &Thread, descriptor: c_int, events: c_short, next: Next) {
    scheduler::decide(this, next);
    threads::act_on_cancel(this);
    if !waits_in_kernel(descriptor) {
        return;
    }
    let wish = match events {
        POLLIN => Wait::Input(descriptor),
        _ => Wait::Output(descriptor),
    };
    while !is_ready(descriptor, events) {
        scheduler::block(this, next, wish, 0);
        threads::act_on_cancel(this);
    }
}

/// A call that fills `buffer` from a descriptor.
fn input(descriptor: c_int, buffer: *mut u8, pc: u64, call: impl FnOnce() -> isize) -> isize {
    let Some(this) = ready(pc) else { return call() };
    if controlled() {
        until_ready(this, descriptor, POLLIN, Next::range(true, pc, buffer, 0));
    }
    let read = unrecorded(this, call);
    if read > 0 && !buffer.is_null() {
        access::log_written(this, buffer, read as usize, pc);
    }
    read
}

/// A call that sends `buffer` to a descriptor.
fn output(
    descriptor: c_int,
    buffer: *const u8,
    bytes: usize,
    pc: u64,
    call: impl FnOnce() -> isize,
) -> isize {
    let Some(this) = ready(pc) else { return call() };
    if controlled() {
        let next = Next::range(false, pc, buffer, bytes);
        until_ready(this, descriptor, POLLOUT, next);
    }
    if bytes > 0 && !buffer.is_null() {
        // SAFETY: the program hands these bytes to the kernel, which reads them next.
        unsafe { access::log_read(this, buffer, bytes, pc) };
    }
    unrecorded(this, call)
}

unsafe extern "C-unwind" fn on_read(fd: c_int, to: *mut u8, bytes: usize, pc: u64) -> isize {
    let library = real!("read", fn(c_int, *mut u8, usize) -> isize);
    // SAFETY: the program's own call.
    input(fd, to, pc, || unsafe { library(fd, to, bytes) })
}

unsafe extern "C-unwind" fn on_write(fd: c_int, from: *const u8, bytes: usize, pc: u64) -> isize {
    let library = real!("write", fn(c_int, *const u8, usize) -> isize);
    // SAFETY: the program's own call.
    output(fd, from, bytes, pc, || unsafe { library(fd, from, bytes) })
}

unsafe extern "C-unwind" fn on_recv(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("recv", fn(c_int, *mut u8, usize, c_int) -> isize);
    // SAFETY: the program's own call.
    input(fd, to, pc, || unsafe { library(fd, to, bytes, flags) })
}

unsafe extern "C-unwind" fn on_send(
    fd: c_int,
    from: *const u8,
    bytes: usize,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("send", fn(c_int, *const u8, usize, c_int) -> isize);
    // SAFETY: the program's own call.
    output(fd, from, bytes, pc, || unsafe {
        library(fd, from, bytes, flags)
    })
}

unsafe extern "C-unwind" fn on_recvmsg(
    fd: c_int,
    message: *mut libc::msghdr,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("recvmsg", fn(c_int, *mut libc::msghdr, c_int) -> isize);
    // SAFETY: the program's own call.
    input(fd, core::ptr::null_mut(), pc, || unsafe {
        library(fd, message, flags)
    })
}

unsafe extern "C-unwind" fn on_sendmsg(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("sendmsg", fn(c_int, *const libc::msghdr, c_int) -> isize);
    // SAFETY: the program's own call.
    output(fd, core::ptr::null(), 0, pc, || unsafe {
        library(fd, message, flags)
    })
}

unsafe extern "C-unwind" fn on_accept(
    fd: c_int,
    address: *mut c_void,
    length: *mut u32,
    pc: u64,
) -> c_int {
    let library = real!("accept", fn(c_int, *mut c_void, *mut u32) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, address, length) } as isize;
    input(fd, core::ptr::null_mut(), pc, call) as c_int
}

unsafe extern "C-unwind" fn on_accept4(
    fd: c_int,
    address: *mut c_void,
    length: *mut u32,
    flags: c_int,
    pc: u64,
) -> c_int {
    let library = real!("accept4", fn(c_int, *mut c_void, *mut u32, c_int) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, address, length, flags) } as isize;
    input(fd, core::ptr::null_mut(), pc, call) as c_int
}

/// The virtual time `milliseconds` from now; 0, never, when negative.
fn time_after(milliseconds: i64) -> u64 {
    match u64::try_from(milliseconds) {
        Ok(span) => SHARED
            .clock
            .get()
            .saturating_add(span.saturating_mul(MILLISECOND)),
        Err(_) => 0,
    }
}

/// Asks without waiting until there is an answer or the time is over; in between others run.
fn ask_until(
    this: &Thread,
    wish: Wait,
    milliseconds: i64,
    pc: u64,
    ask: impl Fn() -> c_int,
) -> c_int {
    scheduler::count_idle(this, Next::NOTHING);
    let deadline = time_after(milliseconds);
    loop {
        let answer = unrecorded(this, &ask);
        if answer != 0 || milliseconds == 0 {
            return answer;
        }
        let in_time = scheduler::block(this, Next::of(RecordKind::Yield, pc, 0), wish, deadline);
        threads::act_on_cancel(this);
        if !in_time {
            return unrecorded(this, &ask);
        }
    }
}

unsafe extern "C-unwind" fn on_poll(
    descriptors: *mut pollfd,
    count: usize,
    milliseconds: c_int,
    pc: u64,
) -> c_int {
    let library = real!("poll", fn(*mut pollfd, usize, c_int) -> c_int);
    match ready(pc) {
        Some(this) if controlled() && count <= MOST => {
            let wish = Wait::Poll {
                descriptors: descriptors as usize,
                count,
            };
            // SAFETY: the program's own call, without the wait.
            ask_until(this, wish, i64::from(milliseconds), pc, || unsafe {
                library(descriptors, count, 0)
            })
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(descriptors, count, milliseconds) },
    }
}

unsafe extern "C-unwind" fn on_epoll_wait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    milliseconds: c_int,
    pc: u64,
) -> c_int {
    let library = real!("epoll_wait", fn(c_int, *mut c_void, c_int, c_int) -> c_int);
    match ready(pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own call, without the wait.
            ask_until(
                this,
                Wait::Input(epoll),
                i64::from(milliseconds),
                pc,
                || unsafe { library(epoll, events, most, 0) },
            )
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(epoll, events, most, milliseconds) },
    }
}

/// `select` waits as `poll` does: the descriptors of its sets, as an array.
///
/// # Safety
/// The sets are null or valid.
unsafe fn as_array(
    count: c_int,
    read: *const libc::fd_set,
    write: *const libc::fd_set,
    array: &mut [pollfd; MOST],
) -> Option<usize> {
    let mut used = 0;
    for fd in 0..count {
        // SAFETY: the caller's; `fd` is below the count that the program gave.
        let (input, output) = unsafe {
            (
                !read.is_null() && libc::FD_ISSET(fd, read),
                !write.is_null() && libc::FD_ISSET(fd, write),
            )
        };
        if input || output {
            let events = if input { POLLIN } else { 0 } | if output { POLLOUT } else { 0 };
            *array.get_mut(used)? = pollfd {
                fd,
                events,
                revents: 0,
            };
            used += 1;
        }
    }
    Some(used)
}

unsafe extern "C-unwind" fn on_select(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *mut libc::timeval,
    pc: u64,
) -> c_int {
    type Set = *mut libc::fd_set;
    let library = real!(
        "select",
        fn(c_int, Set, Set, Set, *mut libc::timeval) -> c_int
    );
    let mut array = [pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; MOST];
    // SAFETY: the program's own sets.
    let used = unsafe { as_array(count, read, write, &mut array) };
    // SAFETY: the program's own call.
    let (Some(this), true, Some(used)) = (ready(pc), controlled(), used) else {
        return unsafe { library(count, read, write, except, timeout) };
    };
    // SAFETY: the program's own argument.
    let milliseconds = unsafe { timeout.as_ref() }.map_or(-1, |timeout| {
        timeout
            .tv_sec
            .saturating_mul(1000)
            .saturating_add(timeout.tv_usec / 1000)
    });
    let wish = Wait::Poll {
        descriptors: array.as_ptr() as usize,
        count: used,
    };
    let is_any_ready = || c_int::from(any_ready(array.as_ptr() as usize, used));
    ask_until(this, wish, milliseconds, pc, is_any_ready);
    let mut now = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    // SAFETY: the program's own call, without the wait.
    unrecorded(this, || unsafe {
        library(count, read, write, except, &mut now)
    })
}

entry! {
    read, "rcx" => on_read;
    write, "rcx" => on_write;
    recv, "r8" => on_recv;
    send, "r8" => on_send;
    recvmsg, "rcx" => on_recvmsg;
    sendmsg, "rcx" => on_sendmsg;
    accept, "rcx" => on_accept;
    accept4, "r8" => on_accept4;
    poll, "rcx" => on_poll;
    epoll_wait, "r8" => on_epoll_wait;
    select, "r9" => on_select;
}
