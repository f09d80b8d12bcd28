//! The program as a server: the loader has brought it into memory once, and each run is a copy of it.
//!
//! The copies are made before anything of the program or its libraries has run, constructors included: a copy finds
//! the state that a newly started program finds. It is a child of the recorder, not of the server (`CLONE_PARENT`),
//! and its log has the number that the environment names, so that everything that follows is the same as without a
//! server.
//!
//! The C library is not ready yet: only system calls are made here.

use crate::{chosen, modules, surroundings, sys};
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_long},
    mem::{offset_of, zeroed},
    ops::Range,
};
use unsnarl_trace::raw::{
    FD_VARIABLE,
    serve::{DESCRIPTORS, MOST_FILTER, NOT_FIRST, READY, UNKNOWN_LIBRARY},
};

/// Symbol whose presence shows the recorder that the program can serve.
#[unsafe(no_mangle)]
static unsnarl_serves_2: u8 = 1;

/// Descriptor of the server's socket: that of standard input.
const SOCKET: usize = 0;

type Initializer = extern "C" fn(c_int, *const *const c_char, *mut *mut c_char);

/// Initializer that the loader calls first: before the constructors of all libraries.
#[used]
#[unsafe(link_section = ".preinit_array")]
static BEGIN: Initializer = begin;

unsafe extern "C" {
    /// First of the initializers, as the linker has placed them.
    #[link_name = "__preinit_array_start"]
    static FIRST: usize;
}

extern "C" fn begin(_: c_int, _: *const *const c_char, environment: *mut *mut c_char) {
    // SAFETY: the loader passes the environment: C strings, and a null pointer behind them.
    let Some(log) = (unsafe { number_of_log(environment) }) else {
        return;
    };
    // SAFETY: as the loader has passed it.
    unsafe { chosen::recover(log, environment) };
    if is_open(log) || !is_socket(SOCKET) {
        // SAFETY: as the loader has passed it.
        return unsafe { surroundings::settle(log, environment) };
    }
    // Nobody would end a server whose recorder is gone while it waits for a copy.
    // SAFETY: plain numbers.
    unsafe {
        let arguments = [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize];
        call(libc::SYS_prctl, &arguments);
    }
    // SAFETY: there is one, this one. (Where it is cannot be compared: the compiler takes two names for
    // two places.)
    let first = unsafe { (&raw const FIRST).read_volatile() };
    match place_of_thread_number() {
        _ if first != begin as *const () as usize => refuse(NOT_FIRST),
        None => refuse(UNKNOWN_LIBRARY),
        Some(place) => serve(place, log),
    }
    // SAFETY: as the loader has passed it.
    unsafe { surroundings::settle(log, environment) };
}

fn refuse(why: i32) -> ! {
    answer(why);
    sys::exit(0)
}

/// Returns in each copy; the server itself ends when the recorder closes the socket.
fn serve(place: usize, log: usize) {
    let robust = robust_list();
    answer(READY);
    while let Some(wish) = receive() {
        let descriptors = match wish {
            Wish::Copy(descriptors) => descriptors,
            Wish::Filter(bytes) => {
                be_filtered(bytes);
                continue;
            }
        };
        match copy(place) {
            0 => return become_run(descriptors, log, robust),
            failed @ ..0 => answer(failed as i32),
            _ => {}
        }
        descriptors.into_iter().for_each(close);
    }
    sys::exit(0)
}

/// Request of the recorder.
enum Wish {
    /// A copy with these descriptors.
    Copy([usize; DESCRIPTORS]),
    /// A filter of so many bytes for all copies from now on.
    Filter(usize),
}

/// Buffer for messages of the recorder. It is not on the stack, where the program could find what is left of them.
#[repr(C, align(8))]
struct Room(UnsafeCell<[u8; MOST_FILTER]>);

// SAFETY: used before there is a second thread.
unsafe impl Sync for Room {}

static ROOM: Room = Room(UnsafeCell::new([0; MOST_FILTER]));

/// System calls of this process and its copies pass the filter from now on; those that it asks about wait for the
/// recorder's answer.
fn be_filtered(bytes: usize) {
    let program = libc::sock_fprog {
        len: (bytes / size_of::<libc::sock_filter>()) as u16,
        filter: ROOM.0.get().cast(),
    };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let (mode, place) = (
        libc::SECCOMP_SET_MODE_FILTER as usize,
        &raw const program as usize,
    );
    // SAFETY: plain numbers, and a program that is there for the time of the call.
    let listener = unsafe {
        call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1]);
        call(libc::SYS_seccomp, &[mode, flags as usize, place])
    };
    if listener < 0 {
        return answer(listener as i32);
    }
    hand_over(listener as c_int);
    close(listener as usize);
}

/// Answers with a descriptor.
fn hand_over(descriptor: c_int) {
    let mut word = READY;
    let mut part = libc::iovec {
        iov_base: (&raw mut word).cast(),
        iov_len: size_of::<i32>(),
    };
    let mut passed = Passed {
        header: libc::cmsghdr {
            cmsg_len: offset_of!(Passed<1>, descriptors) + size_of::<c_int>(),
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_RIGHTS,
        },
        descriptors: [descriptor],
    };
    // SAFETY: zero is a valid value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut passed).cast();
    message.msg_controllen = size_of::<Passed<1>>() as _;
    let flags = libc::MSG_NOSIGNAL as usize;
    // SAFETY: a whole message.
    unsafe {
        call(
            libc::SYS_sendmsg,
            &[SOCKET, &raw const message as usize, flags],
        )
    };
}

/// Makes a copy of the process. It is the recorder's child, as the server is.
fn copy(place: usize) -> isize {
    let flags = libc::CLONE_PARENT | libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID;
    // SAFETY: a copy with memory of its own goes on where this process is; its number is written where
    // the C library has the number of the calling thread.
    unsafe {
        call(
            libc::SYS_clone,
            &[(flags | libc::SIGCHLD) as usize, 0, 0, place],
        )
    }
}

/// Puts the descriptors of the copy in the place that they have in a newly started program.
fn become_run(descriptors: [usize; DESCRIPTORS], number_of_log: usize, robust: [usize; 2]) {
    // SAFETY: plain numbers; the list is the C library's own, as it was given to the kernel for the server.
    unsafe {
        call(libc::SYS_setpgid, &[0, 0]);
        call(libc::SYS_set_robust_list, &robust);
    }
    // Said before the socket is closed: who hears the end of the socket instead knows that no copy is left.
    answer(sys::process_id());
    let [input, output, errors, log] = descriptors;
    // The log comes last: its number is that of another one until then, or nobody's.
    for (from, to) in [(input, 0), (output, 1), (errors, 2), (log, number_of_log)] {
        if from != to {
            // SAFETY: plain numbers.
            unsafe { call(libc::SYS_dup3, &[from, to, 0]) };
            close(from);
        }
    }
}

/// The number in the environment variable.
///
/// # Safety
/// An environment: C strings, and a null pointer behind them.
unsafe fn number_of_log(environment: *const *mut c_char) -> Option<usize> {
    // SAFETY: the caller's; the value is a C string.
    unsafe { number(variable(environment, FD_VARIABLE)?) }
}

/// The value of an environment variable, a C string.
///
/// # Safety
/// An environment: C strings, and a null pointer behind them.
pub unsafe fn variable(mut environment: *const *mut c_char, name: &CStr) -> Option<*const u8> {
    // SAFETY: the caller's.
    unsafe {
        while !(*environment).is_null() {
            if let Some(value) = value_of((*environment).cast(), name) {
                return Some(value);
            }
            environment = environment.add(1);
        }
    }
    None
}

/// The text behind the variable's name, if this is the variable.
///
/// # Safety
/// A C string.
unsafe fn value_of(entry: *const u8, name: &CStr) -> Option<*const u8> {
    let name = name.to_bytes();
    for (i, byte) in name.iter().chain(b"=").enumerate() {
        // SAFETY: all before it were equal, so that it is no further than the string's end.
        if unsafe { *entry.add(i) } != *byte {
            return None;
        }
    }
    Some(entry.wrapping_add(name.len() + 1))
}

/// Bound for the digits: more than the recorder writes, which pads the block of arguments and environment with them.
const MOST_DIGITS: usize = 1 << 17;

/// Parses a decimal number, with as many zeros before it as the recorder puts there (`launch/command.rs`).
///
/// # Safety
/// A C string.
unsafe fn number(text: *const u8) -> Option<usize> {
    let mut number = 0;
    for i in 0..MOST_DIGITS {
        // SAFETY: the end was not met yet.
        match unsafe { *text.add(i) } {
            0 => return (i > 0).then_some(number),
            digit @ b'0'..=b'9' => {
                number = 10usize
                    .wrapping_mul(number)
                    .wrapping_add(usize::from(digit - b'0'))
            }
            _ => return None,
        }
    }
    None
}

fn is_open(number: usize) -> bool {
    // SAFETY: only asks.
    unsafe { call(libc::SYS_fcntl, &[number, libc::F_GETFD as usize]) >= 0 }
}

fn is_socket(number: usize) -> bool {
    let (mut kind, mut length): (c_int, u32) = (0, 4);
    let (kind, length) = (&raw mut kind as usize, &raw mut length as usize);
    let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_TYPE as usize);
    // SAFETY: places for the answer and its length.
    unsafe { call(libc::SYS_getsockopt, &[number, level, option, kind, length]) == 0 }
}

/// Address at which the C library keeps the number of the calling thread: in its thread descriptor, which the thread
/// pointer points to.
fn place_of_thread_number() -> Option<usize> {
    // SAFETY: no arguments.
    let number = unsafe { call(libc::SYS_gettid, &[]) } as u32;
    registered_place(number).or_else(|| searched_place(number))
}

/// The place that the C library has registered with the kernel, which writes zero to it at the thread's end. Not every
/// kernel tells it, and not every library registers the place of the number.
fn registered_place(number: u32) -> Option<usize> {
    let mut place = 0usize;
    let at = &raw mut place as usize;
    // SAFETY: a place for the answer.
    let told = unsafe { call(libc::SYS_prctl, &[libc::PR_GET_TID_ADDRESS as usize, at]) };
    let is_known = told == 0 && descriptor().contains(&place);
    // SAFETY: within the descriptor.
    (is_known && unsafe { *(place as *const u32) } == number).then_some(place)
}

/// The place that holds the number. `None` when more than one does: half of an address may be the same number.
fn searched_place(number: u32) -> Option<usize> {
    let words = descriptor().step_by(size_of::<u32>());
    // SAFETY: within the descriptor.
    let mut places = words.filter(|place| unsafe { *(*place as *const u32) } == number);
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// The part of the calling thread's descriptor that is looked at; the whole is longer.
fn descriptor() -> Range<usize> {
    const BYTES: usize = 1024;
    let begin = modules::thread_pointer() as usize;
    begin..begin + BYTES
}

/// The list of mutexes to be released at the thread's end, and its length, as the C library has registered them with
/// the kernel; a copy has to do that again.
fn robust_list() -> [usize; 2] {
    let (mut list, mut length) = (0usize, 0usize);
    let (at, length_at) = (&raw mut list as usize, &raw mut length as usize);
    // SAFETY: places for both.
    unsafe { call(libc::SYS_get_robust_list, &[0, at, length_at]) };
    [list, length]
}

fn answer(word: i32) {
    let flags = libc::MSG_NOSIGNAL as usize;
    let place = &raw const word as usize;
    // SAFETY: sends the word. Nobody is there to be told when it cannot be sent.
    unsafe { call(libc::SYS_sendto, &[SOCKET, place, size_of::<i32>(), flags]) };
}

/// A control message with descriptors.
#[repr(C)]
struct Passed<const COUNT: usize> {
    header: libc::cmsghdr,
    descriptors: [c_int; COUNT],
}

/// The recorder's next message; `None` when there is none any more.
fn receive() -> Option<Wish> {
    // SAFETY: zero is a valid value of both.
    let (mut passed, mut message): (Passed<DESCRIPTORS>, libc::msghdr) =
        unsafe { (zeroed(), zeroed()) };
    let mut part = libc::iovec {
        iov_base: ROOM.0.get().cast(),
        iov_len: MOST_FILTER,
    };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut passed).cast();
    let got = loop {
        message.msg_controllen = size_of::<Passed<DESCRIPTORS>>() as _;
        // SAFETY: a message with places for all that is expected.
        let got = unsafe { call(libc::SYS_recvmsg, &[SOCKET, &raw mut message as usize, 0]) };
        if got != -libc::EINTR as isize {
            break got;
        }
    };
    if got <= 0 {
        return None;
    }
    if message.msg_controllen == 0 {
        return Some(Wish::Filter(got as usize));
    }
    let whole = offset_of!(Passed<DESCRIPTORS>, descriptors) + size_of::<[c_int; DESCRIPTORS]>();
    let came = passed.header.cmsg_len == whole && passed.header.cmsg_type == libc::SCM_RIGHTS;
    came.then(|| Wish::Copy(passed.descriptors.map(|number| number as usize)))
}

fn close(number: usize) {
    // SAFETY: a descriptor that came by a message.
    unsafe { call(libc::SYS_close, &[number]) };
}

/// Makes a system call with up to six arguments.
///
/// # Safety
/// As [`sys::call`].
unsafe fn call(number: c_long, given: &[usize]) -> isize {
    let mut arguments = [0; 6];
    for (place, argument) in arguments.iter_mut().zip(given) {
        *place = *argument;
    }
    // SAFETY: the caller's.
    unsafe { sys::call(number, arguments) }
}
