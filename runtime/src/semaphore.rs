//! Semaphores.

use crate::{
    entry::entry,
    log,
    mutex::ready_at,
    next::Next,
    objects::{self, Object},
    real::real,
    scheduler::{self, Waited},
    state::{Thread, Wait, controlled, unrecorded},
    threads, time,
};
use core::ffi::c_int;
use unsnarl_trace::raw::RecordKind;

/// The semaphore's state; one that the runtime has not seen starts with the library's count.
fn state(semaphore: usize) -> &'static Object {
    let object = objects::at(semaphore);
    if !object.known.get() {
        let mut units: c_int = 0;
        let count = real!("sem_getvalue", fn(usize, *mut c_int) -> c_int);
        // SAFETY: the program's own semaphore.
        unsafe { count(semaphore, &mut units) };
        object.value.set(i64::from(units));
        object.known.set(true);
    }
    object
}

fn set_errno(error: c_int) -> c_int {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn take(this: &Thread, semaphore: usize, pc: u64) -> c_int {
    let object = state(semaphore);
    object.value.set(object.value.get() - 1);
    log::sync(this, RecordKind::SemWait, pc, semaphore, 0);
    0
}

fn wait_until(this: &Thread, semaphore: usize, deadline: u64, pc: u64) -> c_int {
    let next = Next::of(RecordKind::SemWait, pc, semaphore);
    scheduler::decide(this, next);
    threads::act_on_cancel(this);
    while state(semaphore).value.get() <= 0 {
        let wish = Wait::Semaphore(semaphore);
        let ended = scheduler::block_or_signal(this, next, wish, deadline, true);
        threads::act_on_cancel(this);
        let error = match ended {
            Waited::Granted => continue,
            Waited::TimedOut => libc::ETIMEDOUT,
            Waited::Interrupted => libc::EINTR,
        };
        log::sync(this, RecordKind::TryFailed, pc, semaphore, 0);
        return set_errno(error);
    }
    take(this, semaphore, pc)
}

fn free_wait(
    this: Option<&Thread>,
    semaphore: usize,
    pc: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(this) = this else { return call() };
    let result = unrecorded(this, call);
    let kind = if result == 0 {
        RecordKind::SemWait
    } else {
        RecordKind::TryFailed
    };
    log::sync(this, kind, pc, semaphore, 0);
    result
}

unsafe extern "C-unwind" fn init(semaphore: usize, shared: c_int, units: u32, pc: u64) -> c_int {
    let library = real!("sem_init", fn(usize, c_int, u32) -> c_int);
    if ready_at(semaphore, pc).is_some() && controlled() {
        let object = objects::at(semaphore);
        object.reset();
        object.value.set(i64::from(units));
        object.known.set(true);
    }
    // SAFETY: the program's own call.
    unsafe { library(semaphore, shared, units) }
}

unsafe extern "C-unwind" fn wait(semaphore: usize, pc: u64) -> c_int {
    let library = real!("sem_wait", fn(usize) -> c_int);
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => wait_until(this, semaphore, 0, pc),
        // SAFETY: the program's own call.
        this => free_wait(this, semaphore, pc, || unsafe { library(semaphore) }),
    }
}

unsafe extern "C-unwind" fn timed_wait(
    semaphore: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!("sem_timedwait", fn(usize, *const libc::timespec) -> c_int);
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own argument.
            wait_until(this, semaphore, unsafe { time::deadline(until) }, pc)
        }
        // SAFETY: the program's own call.
        this => free_wait(this, semaphore, pc, || unsafe { library(semaphore, until) }),
    }
}

unsafe extern "C-unwind" fn clock_wait(
    semaphore: usize,
    clock: c_int,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "sem_clockwait",
        fn(usize, c_int, *const libc::timespec) -> c_int
    );
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own argument.
            wait_until(this, semaphore, unsafe { time::deadline(until) }, pc)
        }
        // SAFETY: the program's own call.
        this => free_wait(this, semaphore, pc, || unsafe {
            library(semaphore, clock, until)
        }),
    }
}

unsafe extern "C-unwind" fn try_wait(semaphore: usize, pc: u64) -> c_int {
    let library = real!("sem_trywait", fn(usize) -> c_int);
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => {
            scheduler::count_idle(this, Next::of(RecordKind::SemWait, pc, semaphore));
            if state(semaphore).value.get() > 0 {
                return take(this, semaphore, pc);
            }
            log::sync(this, RecordKind::TryFailed, pc, semaphore, 0);
            set_errno(libc::EAGAIN)
        }
        // SAFETY: the program's own call.
        this => free_wait(this, semaphore, pc, || unsafe { library(semaphore) }),
    }
}

unsafe extern "C-unwind" fn post(semaphore: usize, pc: u64) -> c_int {
    let library = real!("sem_post", fn(usize) -> c_int);
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => {
            scheduler::decide(this, Next::of(RecordKind::SemPost, pc, semaphore));
            let object = state(semaphore);
            object.value.set(object.value.get() + 1);
            log::sync(this, RecordKind::SemPost, pc, semaphore, 0);
            return 0;
        }
        Some(this) => log::sync(this, RecordKind::SemPost, pc, semaphore, 0),
        None => {}
    }
    // SAFETY: the program's own call.
    unsafe { library(semaphore) }
}

unsafe extern "C-unwind" fn value(semaphore: usize, units: *mut c_int, pc: u64) -> c_int {
    let library = real!("sem_getvalue", fn(usize, *mut c_int) -> c_int);
    match ready_at(semaphore, pc) {
        Some(this) if controlled() => {
            scheduler::decide(this, Next::unrecorded(RecordKind::SemWait, semaphore));
            // SAFETY: the program's own argument.
            unsafe { *units = state(semaphore).value.get() as c_int };
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(semaphore, units) },
    }
}

entry! {
    sem_init, "rcx" => init;
    sem_wait, "rsi" => wait;
    sem_timedwait, "rdx" => timed_wait;
    sem_clockwait, "rcx" => clock_wait;
    sem_trywait, "rsi" => try_wait;
    sem_post, "rsi" => post;
    sem_getvalue, "rdx" => value;
}
