//! Robust mutexes: when a thread ends with one, the next thread that takes it is told so. It makes the mutex
//! consistent again, or no thread gets the mutex any more once it is given back.

use crate::{
    entry::entry,
    log,
    mutex::{self, ready_at},
    objects::{self, Object},
    real::real,
    state::{Thread, controlled},
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

/// Bit of glibc's mutex type.
const ROBUST: c_int = 16;

/// The state in which owners have left a robust mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RobustState {
    /// No owner has ended with it.
    Consistent = 0,
    /// Its last owner has ended with it.
    OwnerDied = 1,
    /// The owner knows that the one before has ended with it.
    Inconsistent = 2,
    /// The mutex was released while it was inconsistent.
    NotRecoverable = 3,
}

/// Returns whether the mutex is a robust one.
///
/// # Safety
/// `mutex` points to a `pthread_mutex_t`.
pub unsafe fn is_robust(mutex: usize) -> bool {
    // SAFETY: the caller's.
    unsafe { mutex::whole_kind(mutex) & ROBUST != 0 }
}

/// Takes the mutex; returns the result of `pthread_mutex_lock`.
pub fn lock(this: &Thread, mutex: usize, deadline: u64, pc: u64) -> c_int {
    match mutex::wait_until_free(this, mutex, deadline, pc) {
        true => take(this, mutex, pc, mutex::WAITED),
        false => libc::ETIMEDOUT,
    }
}

/// Takes the mutex if it is free; returns the result of `pthread_mutex_trylock`.
pub fn try_lock(this: &Thread, mutex: usize, pc: u64) -> c_int {
    match mutex::is_free_to_try(this, mutex, pc) {
        true => take(this, mutex, pc, mutex::TRIED),
        false => libc::EBUSY,
    }
}

/// Takes the mutex, which is free, unless it is not recoverable, and logs the way there.
pub fn take(this: &Thread, mutex: usize, pc: u64, way: u8) -> c_int {
    let object = objects::at(mutex);
    if object.state.get() == RobustState::NotRecoverable {
        log::sync(this, RecordKind::TryFailed, pc, mutex, 0);
        return libc::ENOTRECOVERABLE;
    }
    mutex::take(this, mutex, pc, LockType::Mutex, way);
    object.next_held.set(this.robust.replace(mutex));
    if object.state.get() != RobustState::OwnerDied {
        return 0;
    }
    object.state.set(RobustState::Inconsistent);
    libc::EOWNERDEAD
}

/// Releases the mutex.
pub fn give_back(this: &Thread, mutex: usize) {
    let object = objects::at(mutex);
    if object.state.get() == RobustState::Inconsistent {
        object.state.set(RobustState::NotRecoverable);
    }
    let mut link = &this.robust;
    while link.get() != 0 {
        if link.get() == mutex {
            return link.set(object.next_held.get());
        }
        link = &objects::at(link.get()).next_held;
    }
}

/// Abandons the mutexes of a thread that ends: they go to the threads that take them next.
pub fn abandon_all(this: &Thread) {
    while this.robust.get() != 0 {
        let mutex = this.robust.get();
        let object: &Object = objects::at(mutex);
        this.robust.set(object.next_held.get());
        object.state.set(RobustState::OwnerDied);
        mutex::release(this, mutex, 0);
    }
}

unsafe extern "C-unwind" fn consistent(mutex: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_consistent", fn(usize) -> c_int);
    if ready_at(mutex, pc).is_none() || !controlled() {
        // SAFETY: the program's own call.
        return unsafe { library(mutex) };
    }
    let object = objects::at(mutex);
    // SAFETY: the program's own mutex.
    if !unsafe { is_robust(mutex) } || object.state.get() != RobustState::Inconsistent {
        return libc::EINVAL;
    }
    object.state.set(RobustState::Consistent);
    0
}

entry! {
    pthread_mutex_consistent, "rsi" => consistent;
    pthread_mutex_consistent_np, "rsi" => consistent;
}
