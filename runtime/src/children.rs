//! Child processes: copies by `fork`, programs started by others, and waiting for their end.

use crate::{
    access, descriptors,
    entry::{entry, entry_on_stack},
    identity,
    input::{Answer, Parts, exchange, part},
    mutex::ready,
    next::Next,
    outside,
    real::real,
    scheduler,
    state::{Mode, SHARED, Thread, Wait, controlled, header, unrecorded},
    sys, threads,
};
use core::{
    ffi::{c_char, c_int, c_void},
    sync::atomic::Ordering::Relaxed,
};
use unsnarl_trace::raw::{Call, RecordKind};

/// Returns whether a child was made.
pub fn has_any() -> bool {
    SHARED.children.get() != 0
}

/// Counts a new child: it may hold the other end of this process's descriptors.
fn count_child(this: Option<&Thread>) {
    SHARED.children.set(SHARED.children.get() + 1);
    header().forks.fetch_add(1, Relaxed);
    // What the compiler makes of it is a call of the `memset` that is recorded.
    this.into_iter()
        .for_each(|this| unrecorded(this, descriptors::forget_own));
}

unsafe extern "C-unwind" fn on_fork(pc: u64) -> c_int {
    fork(pc, real!("fork", fn() -> c_int))
}

/// Handles `_Fork`: like `fork`, but without the handlers of `pthread_atfork`.
unsafe extern "C-unwind" fn on_bare_fork(pc: u64) -> c_int {
    fork(pc, real!("_Fork", fn() -> c_int))
}

/// Forks with the program's handlers: those before the copy, and those after it in this process, are part of the run.
fn fork(pc: u64, library: unsafe extern "C-unwind" fn() -> c_int) -> c_int {
    let this = ready(pc);
    if let Some(this) = this.filter(|_| controlled()) {
        scheduler::decide(this, Next::NOTHING);
    }
    // SAFETY: the program's own call.
    let child = unsafe { library() };
    if child == 0 {
        leave_recording();
    }
    if SHARED.mode.get() == Mode::Off || child <= 0 {
        return child;
    }
    count_child(this);
    this.map_or(child, |this| {
        identity::exchange(this, || Answer::of(i64::from(child)))
    })
}

/// Handler in a forked child, before the program's own handlers there: it goes on unrecorded.
extern "C" fn leave_recording() {
    if SHARED.mode.get() != Mode::Off {
        threads::leave_recording();
    }
}

/// Registers the handler for children. Handlers in a child run in the order of registration: this one comes before
/// the program's.
pub fn watch_forks() {
    // SAFETY: a handler with the right signature.
    unsafe { libc::pthread_atfork(None, None, Some(leave_recording)) };
}

/// Notes that the process ends while a child of its own goes on, which may be the purpose of the process.
pub fn note_left_behind() {
    const ANY: u32 = libc::P_ALL;
    if header().forks.load(Relaxed) == 0 || header().detached.load(Relaxed) != 0 {
        return;
    }
    // SAFETY: asks without taking the news; there is room for them.
    let left = unsafe {
        let mut info: libc::siginfo_t = core::mem::zeroed();
        let place = &raw mut info as usize;
        let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
        let arguments = [ANY as usize, 0, place, options, 0, 0];
        sys::call(libc::SYS_waitid, arguments) == 0 && info.si_pid() == 0
    };
    if left {
        header().detached.store(2, Relaxed);
    }
}

/// Returns whether a wait for this child would return at once.
pub fn has_news(kind: u32, id: i32) -> bool {
    // SAFETY: asks without taking the news.
    unsafe {
        let mut info: libc::siginfo_t = core::mem::zeroed();
        let place = &raw mut info as usize;
        let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
        let arguments = [kind as usize, id as usize, place, options, 0, 0];
        sys::call(libc::SYS_waitid, arguments) != 0 || info.si_pid() != 0
    }
}

/// Waits until one of the children that `id` selects, as in `waitpid`, has news.
fn until_news(this: &Thread, id: c_int, options: c_int, pc: u64) {
    let next = Next::of(RecordKind::Yield, pc, 0);
    if options & libc::WNOHANG != 0 {
        return scheduler::count_idle(this, Next::NOTHING);
    }
    // SAFETY: no arguments.
    let group = || unsafe { libc::getpgrp() };
    let (kind, id) = match id {
        -1 => (libc::P_ALL, 0),
        0 => (libc::P_PGID, group()),
        1.. => (libc::P_PID, id),
        _ => (libc::P_PGID, -id),
    };
    wait_for(this, next, kind, id);
}

fn wait_for(this: &Thread, next: Next, kind: u32, id: i32) {
    this.forced.set(false);
    scheduler::block(this, next, Wait::Child { kind, id }, 0);
    this.forced.set(false);
    threads::act_on_cancel(this);
}

unsafe extern "C-unwind" fn on_waitpid(
    id: c_int,
    status: *mut c_int,
    options: c_int,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_wait4(id, status, options, core::ptr::null_mut(), pc) }
}

unsafe extern "C-unwind" fn on_wait(status: *mut c_int, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_wait4(-1, status, 0, core::ptr::null_mut(), pc) }
}

unsafe extern "C-unwind" fn on_wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_wait4(-1, status, options, usage, pc) }
}

unsafe extern "C-unwind" fn on_wait4(
    id: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
    pc: u64,
) -> c_int {
    let library = real!(
        "wait4",
        fn(c_int, *mut c_int, c_int, *mut libc::rusage) -> c_int
    );
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        // SAFETY: the program's own call.
        return unsafe { library(id, status, options, usage) };
    };
    let id = identity::real(id);
    until_news(this, id, options, pc);
    let mut news: c_int = 0;
    let room = part((&raw mut news).cast(), 4);
    let place = &raw mut news;
    let make = || {
        // SAFETY: the program's own call; there is news, so that it does not wait.
        let child = unrecorded(this, || unsafe {
            library(id, place, options | libc::WNOHANG, usage)
        });
        Answer {
            bytes: 4,
            ..Answer::of(i64::from(child))
        }
    };
    let child = identity::exchange_known(this, Parts::new(&room, 1), pc, make);
    if !status.is_null() && child > 0 {
        // SAFETY: the program's own place.
        unsafe { *status = news };
        access::log_written(this, status.cast(), 4, pc);
    }
    child
}

unsafe extern "C-unwind" fn on_waitid(
    kind: u32,
    id: u32,
    info: *mut libc::siginfo_t,
    options: c_int,
    pc: u64,
) -> c_int {
    let library = real!("waitid", fn(u32, u32, *mut libc::siginfo_t, c_int) -> c_int);
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        // SAFETY: the program's own call.
        return unsafe { library(kind, id, info, options) };
    };
    let id = identity::real(id as c_int) as u32;
    match options & libc::WNOHANG {
        0 => wait_for(this, Next::of(RecordKind::Yield, pc, 0), kind, id as i32),
        _ => scheduler::count_idle(this, Next::NOTHING),
    }
    let bytes = if info.is_null() {
        0
    } else {
        size_of::<libc::siginfo_t>()
    };
    let room = part(info.cast(), bytes);
    let make = || {
        // SAFETY: the program's own call; there is news, so that it does not wait.
        let status = unrecorded(this, || unsafe {
            library(kind, id, info, options | libc::WNOHANG)
        });
        Answer {
            bytes,
            ..Answer::of(i64::from(status))
        }
    };
    exchange(this, Call::Wait, Parts::new(&room, 1), pc, || true, make).result as c_int
}

/// Makes a call that starts another program and waits for it, or does so later.
fn starts_program<T: Copy>(pc: u64, call: impl FnOnce() -> T) -> T {
    let Some(this) = ready(pc) else { return call() };
    count_child(Some(this));
    unrecorded(this, call)
}

unsafe extern "C-unwind" fn on_system(command: *const c_char, pc: u64) -> c_int {
    let library = real!("system", fn(*const c_char) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(command) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    count_child(Some(this));
    let next = Next::of(RecordKind::Yield, pc, 0);
    let make = || Answer::of(i64::from(outside::without_turn(this, next, call)));
    exchange(this, Call::Wait, Parts::NONE, pc, || true, make).result as c_int
}

unsafe extern "C-unwind" fn on_popen(
    command: *const c_char,
    mode: *const c_char,
    pc: u64,
) -> *mut c_void {
    let library = real!("popen", fn(*const c_char, *const c_char) -> *mut c_void);
    // SAFETY: the program's own call.
    starts_program(pc, || unsafe { library(command, mode) })
}

unsafe extern "C-unwind" fn on_pclose(stream: *mut c_void, pc: u64) -> c_int {
    let library = real!("pclose", fn(*mut c_void) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(stream) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    let next = Next::of(RecordKind::Yield, pc, 0);
    let make = || Answer::of(i64::from(outside::without_turn(this, next, call)));
    exchange(this, Call::Wait, Parts::NONE, pc, || true, make).result as c_int
}

type ProcessWords = *const *mut c_char;

unsafe extern "C-unwind" fn on_spawn(
    child: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: ProcessWords,
    environment: ProcessWords,
    pc: u64,
) -> c_int {
    let library = real!(
        "posix_spawn",
        fn(
            *mut c_int,
            *const c_char,
            *const c_void,
            *const c_void,
            ProcessWords,
            ProcessWords,
        ) -> c_int
    );
    // SAFETY: the program's own call.
    spawn(child, pc, || unsafe {
        library(child, path, actions, attributes, arguments, environment)
    })
}

unsafe extern "C-unwind" fn on_spawnp(
    child: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: ProcessWords,
    environment: ProcessWords,
    pc: u64,
) -> c_int {
    let library = real!(
        "posix_spawnp",
        fn(
            *mut c_int,
            *const c_char,
            *const c_void,
            *const c_void,
            ProcessWords,
            ProcessWords,
        ) -> c_int
    );
    // SAFETY: the program's own call.
    spawn(child, pc, || unsafe {
        library(child, file, actions, attributes, arguments, environment)
    })
}

/// Starts a program; its number, which comes from outside, is at `child`.
fn spawn(child: *mut c_int, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let status = starts_program(pc, call);
    if let Some(this) = ready(pc).filter(|_| status == 0 && !child.is_null()) {
        // SAFETY: the call has filled it.
        unsafe {
            let number = i64::from(*child);
            *child = identity::exchange(this, || Answer::of(number));
        }
        access::log_written(this, child.cast(), 4, pc);
    }
    status
}

/// `vfork`: the child has a stack frame of its own only as a full copy.
unsafe extern "C-unwind" fn on_vfork(pc: u64) -> c_int {
    // A child by `fork` may do all that one by `vfork` may.
    fork(pc, real!("fork", fn() -> c_int))
}

unsafe extern "C-unwind" fn on_daemon(keeps_folder: c_int, keeps_output: c_int, pc: u64) -> c_int {
    let library = real!("daemon", fn(c_int, c_int) -> c_int);
    let this = ready(pc);
    if this.is_none() || SHARED.mode.get() == Mode::Off {
        // SAFETY: the program's own call.
        return unsafe { library(keeps_folder, keeps_output) };
    }
    // The rest of the program would be a child's: it goes on here, as the process that is recorded.
    header().detached.store(1, Relaxed);
    // SAFETY: what `daemon` does apart from its `fork`.
    unsafe {
        libc::setsid();
        if keeps_folder == 0 {
            return libc::chdir(c"/".as_ptr());
        }
    }
    0
}

entry! {
    fork, "rdi" => on_fork;
    _Fork, "rdi" => on_bare_fork;
    vfork, "rdi" => on_vfork;
    daemon, "rdx" => on_daemon;
    waitpid, "rcx" => on_waitpid;
    wait, "rsi" => on_wait;
    wait3, "rcx" => on_wait3;
    wait4, "r8" => on_wait4;
    waitid, "r8" => on_waitid;
    system, "rsi" => on_system;
    popen, "rdx" => on_popen;
    pclose, "rsi" => on_pclose;
}

entry_on_stack! {
    posix_spawn => on_spawn;
    posix_spawnp => on_spawnp;
}
