//! C11 threads. glibc implements them on the same objects as POSIX threads, so they are the same
//! steps with other status codes.

use crate::{
    condition,
    entry::entry,
    mutex, objects, once,
    real::real,
    state::{controlled, recording},
    threads, time,
};
use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};
use libc::pthread_t;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

type C11Start = unsafe extern "C-unwind" fn(usize) -> c_int;

fn status(posix: c_int) -> c_int {
    match posix {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// A start routine that returns `int` leaves it in the low half of the register that the POSIX
/// functions take as a pointer, and `thrd_join` looks only at that half: no adapter is needed.
unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    start: usize,
    argument: usize,
    pc: u64,
) -> c_int {
    if recording().is_none() {
        let library = real!("thrd_create", fn(*mut pthread_t, C11Start, usize) -> c_int);
        // SAFETY: the program's own call.
        return unsafe {
            library(
                handle,
                core::mem::transmute::<usize, C11Start>(start),
                argument,
            )
        };
    }
    // SAFETY: the program's own call.
    status(unsafe { threads::create_as(handle, core::ptr::null(), start, argument, start, pc) })
}

unsafe extern "C-unwind" fn join(handle: pthread_t, result: *mut c_int, pc: u64) -> c_int {
    let mut returned: *mut c_void = null_mut();
    // SAFETY: the program's own call.
    let posix = unsafe { threads::join(handle, &mut returned, pc) };
    if posix == 0 && !result.is_null() {
        // SAFETY: the program's own argument.
        unsafe { *result = returned as usize as c_int };
    }
    status(posix)
}

unsafe extern "C-unwind" fn detach(handle: pthread_t, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { threads::detach(handle, pc) })
}

unsafe extern "C-unwind" fn init(mutex: usize, of: c_int, _pc: u64) -> c_int {
    if recording().is_some() && controlled() {
        objects::at(mutex).reset();
    }
    let library = real!("mtx_init", fn(usize, c_int) -> c_int);
    // SAFETY: the program's own call; it writes the kind of the POSIX mutex inside.
    unsafe { library(mutex, of) }
}

unsafe extern "C-unwind" fn lock(mutex: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { mutex::lock(mutex, pc) })
}

unsafe extern "C-unwind" fn timed_lock(
    mutex: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { mutex::timed_lock(mutex, until, pc) })
}

unsafe extern "C-unwind" fn try_lock(mutex: usize, pc: u64) -> c_int {
    // The standard allows it to fail although the mutex is free.
    if mutex::fails_for_no_reason(mutex, pc) {
        return BUSY;
    }
    // SAFETY: the program's own call.
    status(unsafe { mutex::try_lock(mutex, pc) })
}

unsafe extern "C-unwind" fn unlock(mutex: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { mutex::unlock(mutex, pc) })
}

unsafe extern "C-unwind" fn destroy(mutex: usize, pc: u64) {
    // SAFETY: the program's own call.
    unsafe { mutex::destroy(mutex, pc) };
}

unsafe extern "C-unwind" fn wait(condition: usize, mutex: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { condition::wait(condition, mutex, pc) })
}

unsafe extern "C-unwind" fn timed_wait(
    condition: usize,
    mutex: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { condition::timed_wait(condition, mutex, until, pc) })
}

unsafe extern "C-unwind" fn signal(condition: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { condition::signal(condition, pc) })
}

unsafe extern "C-unwind" fn broadcast(condition: usize, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    status(unsafe { condition::broadcast(condition, pc) })
}

unsafe extern "C-unwind" fn destroy_condition(condition: usize, pc: u64) {
    // SAFETY: the program's own call.
    unsafe { condition::destroy(condition, pc) };
}

unsafe extern "C-unwind" fn on_call_once(control: usize, routine: once::Routine, pc: u64) {
    // SAFETY: the program's own call.
    unsafe { once::once(control, routine, pc) };
}

unsafe extern "C-unwind" fn sleep(
    span: *const libc::timespec,
    rest: *mut libc::timespec,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { time::on_nanosleep(span, rest, pc) }
}

unsafe extern "C-unwind" fn yield_thread(pc: u64) {
    // SAFETY: no arguments.
    unsafe { time::yield_now(pc) };
}

entry! {
    thrd_create, "rcx" => create;
    thrd_join, "rdx" => join;
    thrd_detach, "rsi" => detach;
    thrd_sleep, "rdx" => sleep;
    thrd_yield, "rdi" => yield_thread;
    mtx_init, "rdx" => init;
    mtx_lock, "rsi" => lock;
    mtx_timedlock, "rdx" => timed_lock;
    mtx_trylock, "rsi" => try_lock;
    mtx_unlock, "rsi" => unlock;
    mtx_destroy, "rsi" => destroy;
    cnd_wait, "rdx" => wait;
    cnd_timedwait, "rcx" => timed_wait;
    cnd_signal, "rsi" => signal;
    cnd_broadcast, "rsi" => broadcast;
    cnd_destroy, "rsi" => destroy_condition;
    call_once, "rdx" => on_call_once;
}
