//! Sockets: connections and messages.

use crate::{
    access,
    blocking::{self, check, log_filled, log_sent, read_as_seen, receive, transmit, until_ready},
    descriptors,
    entry::{entry, entry_on_stack},
    input::{self, Answer, Parts, exchange, part},
    live, livelock,
    mutex::ready,
    next::Next,
    outside,
    ports::{NameBuffer, Real},
    real::real,
    scheduler,
    state::{Thread, Wait, controlled, unrecorded},
    sys, threads,
};
use core::ffi::{c_int, c_void};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_WAITALL, POLLIN, msghdr, sockaddr};
use unsnarl_trace::raw::{Call, RecordKind};

/// Flags for a message: whoever was there when the run was recorded may be gone, no signal for that.
fn quiet(flags: c_int) -> c_int {
    match controlled() && input::replays() {
        true => flags | MSG_NOSIGNAL,
        false => flags,
    }
}

unsafe extern "C-unwind" fn on_recv(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    flags: c_int,
    pc: u64,
) -> isize {
    // SAFETY: the program's own call.
    unsafe {
        receive_from(
            fd,
            to,
            bytes,
            flags,
            core::ptr::null_mut(),
            core::ptr::null_mut(),
            pc,
        )
    }
}

unsafe extern "C-unwind" fn on_recv_chk(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    room: usize,
    flags: c_int,
    pc: u64,
) -> isize {
    check(bytes, room);
    // SAFETY: the program's own call.
    unsafe { on_recv(fd, to, bytes, flags, pc) }
}

unsafe extern "C-unwind" fn on_recvfrom(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut u32,
    pc: u64,
) -> isize {
    // SAFETY: the program's own call.
    unsafe { receive_from(fd, to, bytes, flags, from, length, pc) }
}

/// # Safety
/// As `recvfrom`.
unsafe fn receive_from(
    fd: c_int,
    to: *mut u8,
    bytes: usize,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut u32,
    pc: u64,
) -> isize {
    let library = real!(
        "recvfrom",
        fn(c_int, *mut u8, usize, c_int, *mut sockaddr, *mut u32) -> isize
    );
    // SAFETY: the program's own call.
    let call =
        |to, bytes, flags| unsafe { library(fd, to, live::most(bytes), flags, from, length) };
    let waits_for_all = flags & MSG_WAITALL != 0 && descriptors::is_stream(fd);
    if !waits_for_all || !controlled() {
        let room = part(to, bytes);
        // SAFETY: the program's own arguments.
        let place = unsafe { NameBuffer::new(from, length) };
        let read = one_message(fd, Parts::new(&room, 1), flags, pc, || {
            call(to, bytes, flags)
        });
        name_sender(read, place, pc);
        return read;
    }
    let mut done = 0;
    while done < bytes {
        // SAFETY: within the program's buffer.
        let place = unsafe { to.add(done) };
        let room = part(place, bytes - done);
        let read = receive(fd, Parts::new(&room, 1), pc, || {
            call(place, bytes - done, flags & !MSG_WAITALL | MSG_DONTWAIT)
        });
        match read {
            1.. => done += read as usize,
            _ if done == 0 => return read,
            _ => break,
        }
    }
    done as isize
}

/// A message: with `MSG_DONTWAIT` the call is made at once.
fn one_message(
    fd: c_int,
    parts: Parts,
    flags: c_int,
    pc: u64,
    call: impl FnOnce() -> isize,
) -> isize {
    if flags & MSG_DONTWAIT == 0 {
        return receive(fd, parts, pc, call);
    }
    let Some(this) = ready(pc) else { return call() };
    if controlled() {
        let (place, room) = parts
            .up_to(usize::MAX)
            .next()
            .unwrap_or((core::ptr::null_mut(), 0));
        scheduler::decide(this, Next::range(true, pc, place, room));
    }
    let make = || read_as_seen(this, fd, || Answer::of_count(unrecorded(this, call)));
    let foreign = || outside::is_foreign(fd);
    let read = exchange(this, Call::Read, parts, pc, foreign, make).result as isize;
    log_filled(this, parts, usize::try_from(read).unwrap_or(0), pc);
    read
}

/// Gives back whose message it was, where there was one.
fn name_sender(read: isize, place: NameBuffer, pc: u64) {
    if let Some(this) = ready(pc).filter(|_| read >= 0) {
        place.give_back(this, pc);
    }
}

/// The parts of a message.
///
/// # Safety
/// `message` is valid.
unsafe fn parts_of(message: *const msghdr) -> Parts {
    // SAFETY: the caller's.
    let message = unsafe { &*message };
    Parts::new(message.msg_iov, message.msg_iovlen)
}

/// A copy of the message, and whom it is for.
///
/// # Safety
/// `message` is valid.
unsafe fn named(message: *const msghdr) -> (msghdr, Real) {
    // SAFETY: the caller's.
    unsafe {
        let copy = message.read();
        (copy, Real::of(copy.msg_name.cast(), copy.msg_namelen))
    }
}

unsafe extern "C-unwind" fn on_recvmsg(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("recvmsg", fn(c_int, *mut msghdr, c_int) -> isize);
    // SAFETY: the program's own call.
    unsafe {
        let place = NameBuffer::new((*message).msg_name.cast(), &raw mut (*message).msg_namelen);
        let read = one_message(fd, parts_of(message), flags, pc, || {
            library(fd, message, flags)
        });
        name_sender(read, place, pc);
        read
    }
}

unsafe extern "C-unwind" fn on_recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: u32,
    flags: c_int,
    _limit: *mut libc::timespec,
    pc: u64,
) -> c_int {
    let mut done = 0;
    while done < count {
        // SAFETY: the program's own array of `count`.
        let one = unsafe { &mut *messages.add(done as usize) };
        let waits = done == 0 && flags & MSG_DONTWAIT == 0;
        let flags = if waits { flags } else { flags | MSG_DONTWAIT };
        // SAFETY: the program's own message.
        let read = unsafe { on_recvmsg(fd, &mut one.msg_hdr, flags & !libc::MSG_WAITFORONE, pc) };
        if read < 0 {
            break;
        }
        one.msg_len = read as u32;
        done += 1;
    }
    if done > 0 { done as c_int } else { -1 }
}

unsafe extern "C-unwind" fn on_send(
    fd: c_int,
    from: *mut u8,
    bytes: usize,
    flags: c_int,
    pc: u64,
) -> isize {
    // SAFETY: the program's own call.
    unsafe { send_to(fd, from, bytes, flags, core::ptr::null(), 0, pc) }
}

unsafe extern "C-unwind" fn on_sendto(
    fd: c_int,
    from: *mut u8,
    bytes: usize,
    flags: c_int,
    to: *const sockaddr,
    length: u32,
    pc: u64,
) -> isize {
    // SAFETY: the program's own call.
    unsafe { send_to(fd, from, bytes, flags, to, length, pc) }
}

/// # Safety
/// As `sendto`.
unsafe fn send_to(
    fd: c_int,
    from: *mut u8,
    bytes: usize,
    flags: c_int,
    to: *const sockaddr,
    length: u32,
    pc: u64,
) -> isize {
    let library = real!(
        "sendto",
        fn(c_int, *const u8, usize, c_int, *const sockaddr, u32) -> isize
    );
    // SAFETY: the program's own argument.
    let real = unsafe { Real::of(to, length) };
    let to = real.name();
    // SAFETY: the program's own call, or a piece of it.
    let call = |from: *mut u8, bytes| unsafe { library(fd, from, bytes, quiet(flags), to, length) };
    let room = part(from, bytes);
    let parts = Parts::new(&room, 1);
    if flags & MSG_DONTWAIT != 0 {
        return send_now(fd, parts, bytes, pc, || call(from, bytes));
    }
    transmit(fd, parts, bytes, pc, || call(from, bytes), call)
}

/// Sends with `MSG_DONTWAIT`: the call is made at once.
fn send_now(fd: c_int, parts: Parts, bytes: usize, pc: u64, call: impl FnOnce() -> isize) -> isize {
    let Some(this) = ready(pc) else { return call() };
    log_sent(this, parts, bytes, pc);
    if !controlled() {
        return unrecorded(this, call);
    }
    let (place, _) = parts
        .up_to(bytes)
        .next()
        .unwrap_or((core::ptr::null_mut(), 0));
    scheduler::decide(this, Next::range(false, pc, place, bytes));
    blocking::output(this, fd, bytes as isize, pc, || {
        Answer::of_count(unrecorded(this, call)).without_bytes()
    })
}

unsafe extern "C-unwind" fn on_sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
    pc: u64,
) -> isize {
    let library = real!("sendmsg", fn(c_int, *const msghdr, c_int) -> isize);
    // SAFETY: the program's own message.
    let parts = unsafe { parts_of(message) };
    let bytes = parts
        .up_to(isize::MAX as usize)
        .map(|(_, bytes)| bytes)
        .sum();
    // SAFETY: the program's own message.
    let (mut copy, real) = unsafe { named(message) };
    copy.msg_name = real.name().cast_mut().cast();
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, &copy, quiet(flags)) };
    if flags & MSG_DONTWAIT != 0 {
        return send_now(fd, parts, bytes, pc, call);
    }
    let piece = |from: *mut u8, bytes| {
        let library = real!("send", fn(c_int, *const u8, usize, c_int) -> isize);
        // SAFETY: a piece of a message on a stream.
        unsafe { library(fd, from, bytes, quiet(flags)) }
    };
    transmit(fd, parts, bytes, pc, call, piece)
}

unsafe extern "C-unwind" fn on_sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: u32,
    flags: c_int,
    pc: u64,
) -> c_int {
    let mut done = 0;
    while done < count {
        // SAFETY: the program's own array of `count`.
        let one = unsafe { &mut *messages.add(done as usize) };
        // SAFETY: the program's own message.
        let sent = unsafe { on_sendmsg(fd, &one.msg_hdr, flags, pc) };
        if sent < 0 {
            break;
        }
        one.msg_len = sent as u32;
        done += 1;
    }
    if done > 0 { done as c_int } else { -1 }
}

/// # Safety
/// As `accept4`.
unsafe fn accept_one(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut u32,
    flags: c_int,
    pc: u64,
) -> c_int {
    let library = real!(
        "accept4",
        fn(c_int, *mut sockaddr, *mut u32, c_int) -> c_int
    );
    // SAFETY: the program's own arguments.
    let place = unsafe { NameBuffer::new(address, length) };
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, address, length, flags) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    let before = until_ready(this, fd, POLLIN, Next::of(RecordKind::Yield, pc, 0));
    let accepted = core::cell::Cell::new(-1);
    let make = || {
        let call = || Answer::of(i64::from(unrecorded(this, call)));
        let answer = before.then(|| accept_as_seen(this, fd, call));
        accepted.set(answer.result as c_int);
        answer
    };
    let foreign = || {
        outside::is_foreign(if accepted.get() < 0 {
            fd
        } else {
            accepted.get()
        })
    };
    let result = exchange(this, Call::Accept, Parts::NONE, pc, foreign, make).result as c_int;
    if result >= 0 {
        place.give_back(this, pc);
    }
    stand_in(result, accepted.get(), flags)
}

/// Accepts a connection, where a run is repeated whose input is said anew: when it was accepted then.
fn accept_as_seen(this: &Thread, fd: c_int, call: impl FnOnce() -> Answer) -> Answer {
    let Some(seen) = live::Seen::of_current(this, Call::Accept, fd) else {
        return call();
    };
    seen.keep_time();
    if let Some(error) = seen.error() {
        return error;
    }
    seen.await_connection(fd);
    call()
}

/// The descriptor that a replayed call returns: where the call has made none, another one takes its
/// place, for everything that is read from it is given back too.
pub fn stand_in(wanted: c_int, made: c_int, flags: c_int) -> c_int {
    if wanted < 0 || made >= 0 {
        return if wanted < 0 { wanted } else { made };
    }
    let kind = libc::SOCK_STREAM | flags & (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
    let arguments = [libc::AF_UNIX as usize, kind as usize, 0, 0, 0, 0];
    // SAFETY: makes a socket that is connected to nothing.
    let made = unsafe { sys::call(libc::SYS_socket, arguments) };
    sys::with_errno(made) as c_int
}

unsafe extern "C-unwind" fn on_accept(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut u32,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { accept_one(fd, address, length, 0, pc) }
}

unsafe extern "C-unwind" fn on_accept4(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut u32,
    flags: c_int,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { accept_one(fd, address, length, flags, pc) }
}

unsafe extern "C-unwind" fn on_connect(
    fd: c_int,
    address: *const sockaddr,
    length: u32,
    pc: u64,
) -> c_int {
    let library = real!("connect", fn(c_int, *const sockaddr, u32) -> c_int);
    // SAFETY: the program's own argument.
    let real = unsafe { Real::of(address, length) };
    let address = real.name();
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, address, length) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    scheduler::decide(this, Next::NOTHING);
    threads::act_on_cancel(this);
    // SAFETY: the program's own argument.
    let ours = unsafe { descriptors::is_own_sender(address.cast(), length as usize) };
    let make = || Answer::of(i64::from(connect_in_time(this, fd, pc, call)));
    exchange(this, Call::Connect, Parts::NONE, pc, || !ours, make).result as c_int
}

/// Connects without waiting in the kernel: the thread waits for the outcome as for any output.
fn connect_in_time(this: &Thread, fd: c_int, pc: u64, call: impl Fn() -> c_int) -> c_int {
    let flags = status_flags(fd, libc::F_GETFL, 0);
    if flags < 0 || flags & libc::O_NONBLOCK != 0 {
        return unrecorded(this, call);
    }
    status_flags(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
    let mut result = unrecorded(this, &call);
    // A local socket whose listener has no room refuses at once.
    while result < 0 && input::errno() == libc::EAGAIN {
        livelock::stir();
        scheduler::give_way(this, Next::NOTHING);
        result = unrecorded(this, &call);
    }
    let error = input::errno();
    status_flags(fd, libc::F_SETFL, flags);
    if result < 0 && error == libc::EINPROGRESS {
        let next = Next::of(RecordKind::Yield, pc, 0);
        scheduler::block(this, next, Wait::Output(fd), 0);
        threads::act_on_cancel(this);
        return match descriptors::pending_error(fd) {
            0 => 0,
            error => input::fail(error),
        };
    }
    if result < 0 {
        input::fail(error)
    } else {
        result
    }
}

fn status_flags(fd: c_int, command: c_int, flags: c_int) -> c_int {
    let arguments = [fd as usize, command as usize, flags as usize, 0, 0, 0];
    // SAFETY: asks for or sets the flags of a descriptor.
    unsafe { sys::call(libc::SYS_fcntl, arguments) as c_int }
}

unsafe extern "C-unwind" fn on_getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut u32,
    pc: u64,
) -> c_int {
    let library = real!(
        "getsockopt",
        fn(c_int, c_int, c_int, *mut c_void, *mut u32) -> c_int
    );
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd, level, name, value, length) };
    let Some(this) = ready(pc) else { return call() };
    let asks_for_error = level == libc::SOL_SOCKET && name == libc::SO_ERROR && !value.is_null();
    if !controlled() || !asks_for_error {
        return unrecorded(this, call);
    }
    scheduler::decide(this, Next::NOTHING);
    let room = part(value.cast(), 4);
    let parts = Parts::new(&room, 1);
    let foreign = || outside::is_foreign(fd);
    let make = || Answer {
        bytes: 4,
        ..Answer::of(i64::from(unrecorded(this, call)))
    };
    let status = exchange(this, Call::Other, parts, pc, foreign, make).result as c_int;
    access::log_written(this, value.cast(), 4, pc);
    status
}

entry! {
    recv, "r8" => on_recv;
    __recv_chk, "r9" => on_recv_chk;
    recvmsg, "rcx" => on_recvmsg;
    recvmmsg, "r9" => on_recvmmsg;
    send, "r8" => on_send;
    sendmsg, "rcx" => on_sendmsg;
    sendmmsg, "r8" => on_sendmmsg;
    accept, "rcx" => on_accept;
    accept4, "r8" => on_accept4;
    connect, "rcx" => on_connect;
    getsockopt, "r9" => on_getsockopt;
}

entry_on_stack! {
    recvfrom => on_recvfrom;
    sendto => on_sendto;
}
