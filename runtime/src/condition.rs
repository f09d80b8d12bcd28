//! Condition variables.

use crate::{
    choices::{self, Ending},
    entry::entry,
    log,
    mutex::{self, ready_at},
    next::Next,
    objects,
    real::real,
    robust, scheduler,
    state::{Thread, Wait, controlled, live_threads, thread, unrecorded},
    threads, time,
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

/// The reason for the end of a wait: the value of a [`RecordKind::Wake`].
const SIGNALLED: u64 = 0;
const TIMED_OUT: u64 = 1;
const SPURIOUS: u64 = 2;

/// A condition variable and the lock that a wait on it gives back.
#[derive(Clone, Copy)]
pub struct WaitPair {
    pub condition: usize,
    pub lock: usize,
    /// The type of the lock, which tells the type of the condition.
    pub of: LockType,
}

impl WaitPair {
    fn posix(condition: usize, lock: usize) -> WaitPair {
        let of = LockType::Mutex;
        WaitPair {
            condition,
            lock,
            of,
        }
    }

    /// Logs a step on the condition.
    fn log(&self, this: &Thread, kind: RecordKind, pc: u64, value: u64) {
        log_step(this, kind, (self.condition, self.of), pc, value);
    }
}

fn log_step(
    this: &Thread,
    kind: RecordKind,
    (condition, of): (usize, LockType),
    pc: u64,
    value: u64,
) {
    log::push(this, kind, 0, of as u32, pc, condition as u64, value);
}

/// Waits in controlled mode; returns what `pthread_cond_timedwait` does.
///
/// # Safety
/// The lock is of its type.
pub unsafe fn wait_until(this: &Thread, pair: WaitPair, deadline: u64, pc: u64) -> c_int {
    let WaitPair {
        condition,
        lock,
        of,
    } = pair;
    scheduler::decide(this, Next::of(RecordKind::Wait, pc, condition));
    threads::act_on_cancel(this);
    pair.log(this, RecordKind::Wait, pc, 0);
    let depth = objects::at(lock).depth.get();
    // SAFETY: the caller's.
    let is_robust = of == LockType::Mutex && unsafe { robust::is_robust(lock) };
    if is_robust {
        robust::give_back(this, lock);
    }
    mutex::release(this, lock, pc);
    let next = Next::of(RecordKind::Lock, pc, lock);
    let ending = choices::condition_ending(deadline != 0);
    let in_time = match ending {
        Ending::Granted => {
            let mutex = lock;
            scheduler::block(this, next, Wait::Condition { condition, mutex }, deadline)
        }
        Ending::Spurious => scheduler::block(this, next, Wait::Lock(lock), 0),
        Ending::Early => {
            scheduler::run_out(this, next, Wait::Lock(lock), deadline);
            false
        }
    };
    let taken = if is_robust {
        robust::take(this, lock, pc, mutex::WAITED)
    } else {
        mutex::take(this, lock, pc, of, mutex::WAITED);
        0
    };
    objects::at(lock).depth.set(depth.max(1));
    let how = match (ending, in_time) {
        (Ending::Spurious, _) => SPURIOUS,
        (_, true) => SIGNALLED,
        (_, false) => TIMED_OUT,
    };
    pair.log(this, RecordKind::Wake, pc, how);
    threads::act_on_cancel(this);
    match (taken, in_time) {
        (0, true) => 0,
        (0, false) => libc::ETIMEDOUT,
        (error, _) => error,
    }
}

/// Wakes one waiter or all; returns the number of threads woken.
pub fn wake(condition: usize, all: bool) -> u64 {
    let waits = |number: u16| matches!(thread(number).wait.get(), Wait::Condition { condition: on, .. } if on == condition);
    let waiters = || {
        live_threads()
            .iter()
            .copied()
            .filter(|&number| waits(number))
    };
    live_threads()
        .iter()
        .for_each(|&number| scheduler::settle(thread(number)));
    let count = waiters().count();
    if count == 0 {
        return 0;
    }
    if all {
        waiters().for_each(to_mutex);
        return count as u64;
    }
    let number_of = |i: usize| waiters().nth(i).unwrap_or(0);
    to_mutex(number_of(choices::pick_waiter(count, number_of)));
    1
}

/// Moves a woken waiter on to wait for its mutex, which has no time limit.
fn to_mutex(number: u16) {
    let woken = thread(number);
    if let Wait::Condition { mutex, .. } = woken.wait.get() {
        woken.wait.set(Wait::Lock(mutex));
        woken.deadline.set(0);
    }
}

/// Logs the release and the return around a wait that the library itself does.
pub fn free_wait(
    this: Option<&Thread>,
    pair: WaitPair,
    pc: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(this) = this else { return call() };
    pair.log(this, RecordKind::Wait, pc, 0);
    log::sync(this, RecordKind::Unlock, pc, pair.lock, 0);
    let result = unrecorded(this, call);
    let (lock, of) = (pair.lock as u64, pair.of as u32);
    log::push(this, RecordKind::Lock, 0, of, pc, lock, 0);
    let how = if result == 0 { SIGNALLED } else { TIMED_OUT };
    pair.log(this, RecordKind::Wake, pc, how);
    result
}

pub unsafe extern "C-unwind" fn wait(condition: usize, lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_cond_wait" @ c"GLIBC_2.3.2", fn(usize, usize) -> c_int);
    match ready_at(condition, pc) {
        // SAFETY: the program's own mutex.
        Some(this) if controlled() => unsafe {
            wait_until(this, WaitPair::posix(condition, lock), 0, pc)
        },
        // SAFETY: the program's own call.
        this => free_wait(this, WaitPair::posix(condition, lock), pc, || unsafe {
            library(condition, lock)
        }),
    }
}

pub unsafe extern "C-unwind" fn timed_wait(
    condition: usize,
    lock: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_cond_timedwait" @ c"GLIBC_2.3.2",
        fn(usize, usize, *const libc::timespec) -> c_int
    );
    match ready_at(condition, pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own arguments.
            unsafe {
                wait_until(
                    this,
                    WaitPair::posix(condition, lock),
                    time::deadline(until),
                    pc,
                )
            }
        }
        this => free_wait(this, WaitPair::posix(condition, lock), pc, || {
            // SAFETY: the program's own call.
            unsafe { library(condition, lock, until) }
        }),
    }
}

unsafe extern "C-unwind" fn clock_wait(
    condition: usize,
    lock: usize,
    clock: c_int,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_cond_clockwait",
        fn(usize, usize, c_int, *const libc::timespec) -> c_int
    );
    match ready_at(condition, pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own arguments. All virtual clocks show the same time.
            unsafe {
                wait_until(
                    this,
                    WaitPair::posix(condition, lock),
                    time::deadline(until),
                    pc,
                )
            }
        }
        this => free_wait(this, WaitPair::posix(condition, lock), pc, || {
            // SAFETY: the program's own call.
            unsafe { library(condition, lock, clock, until) }
        }),
    }
}

/// Signals or broadcasts, as `kind` says, in controlled mode. The condition is one for locks of this type.
pub fn notify(this: &Thread, kind: RecordKind, (condition, of): (usize, LockType), pc: u64) {
    scheduler::decide(this, Next::of(kind, pc, condition));
    let woken = wake(condition, kind == RecordKind::Broadcast);
    log_step(this, kind, (condition, of), pc, woken);
}

pub unsafe extern "C-unwind" fn signal(condition: usize, pc: u64) -> c_int {
    let library = real!("pthread_cond_signal" @ c"GLIBC_2.3.2", fn(usize) -> c_int);
    let this = ready_at(condition, pc);
    match this {
        Some(this) if controlled() => {
            notify(this, RecordKind::Signal, (condition, LockType::Mutex), pc);
            return 0;
        }
        Some(this) => log::sync(this, RecordKind::Signal, pc, condition, 1),
        None => {}
    }
    // SAFETY: the program's own call.
    unsafe { library(condition) }
}

pub unsafe extern "C-unwind" fn broadcast(condition: usize, pc: u64) -> c_int {
    let library = real!("pthread_cond_broadcast" @ c"GLIBC_2.3.2", fn(usize) -> c_int);
    let this = ready_at(condition, pc);
    match this {
        Some(this) if controlled() => {
            notify(
                this,
                RecordKind::Broadcast,
                (condition, LockType::Mutex),
                pc,
            );
            return 0;
        }
        Some(this) => log::sync(this, RecordKind::Broadcast, pc, condition, 1),
        None => {}
    }
    // SAFETY: the program's own call.
    unsafe { library(condition) }
}

/// Initializes a condition variable in the new form. The old one (GLIBC_2.2.5) differs from the form that all other
/// calls here expect, whichever the program was linked with.
unsafe extern "C-unwind" fn init(condition: usize, attributes: usize, pc: u64) -> c_int {
    let library = real!("pthread_cond_init" @ c"GLIBC_2.3.2", fn(usize, usize) -> c_int);
    ready_at(condition, pc);
    // SAFETY: the program's own call.
    unsafe { library(condition, attributes) }
}

pub unsafe extern "C-unwind" fn destroy(condition: usize, pc: u64) -> c_int {
    let library = real!("pthread_cond_destroy" @ c"GLIBC_2.3.2", fn(usize) -> c_int);
    if ready_at(condition, pc).is_some() && controlled() {
        // The library's own object was never used, and it would wait for waiters that it never had.
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { library(condition) }
}

entry! {
    pthread_cond_init, "rdx" => init;
    pthread_cond_wait, "rdx" => wait;
    pthread_cond_timedwait, "rcx" => timed_wait;
    pthread_cond_clockwait, "r8" => clock_wait;
    pthread_cond_signal, "rsi" => signal;
    pthread_cond_broadcast, "rsi" => broadcast;
    pthread_cond_destroy, "rsi" => destroy;
}
