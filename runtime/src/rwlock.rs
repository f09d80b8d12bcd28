//! Reader-writer locks.

use crate::{
    entry::entry,
    failure, log,
    mutex::{self, TRIED, WAITED, ready_at, through_library},
    next::Next,
    objects,
    real::real,
    scheduler,
    state::{Thread, Wait, controlled},
    time,
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

/// Takes the lock shared, waiting at most until `deadline` when that is not 0.
pub fn acquire_shared(this: &Thread, lock: usize, deadline: u64, pc: u64, of: LockType) -> bool {
    let next = Next::of(RecordKind::SharedLock, pc, lock);
    scheduler::decide(this, next);
    if objects::at(lock).owner.get() != 0 {
        log::sync(this, RecordKind::LockWait, pc, lock, 0);
    }
    while objects::at(lock).owner.get() != 0 {
        if !scheduler::block(this, next, Wait::SharedLock(lock), deadline) {
            log::sync(this, RecordKind::TryFailed, pc, lock, 0);
            return false;
        }
    }
    take_shared(this, lock, pc, of, WAITED);
    true
}

fn take_shared(this: &Thread, lock: usize, pc: u64, of: LockType, way: u8) {
    let object = objects::at(lock);
    object.readers.set(object.readers.get() + 1);
    let (kind, of) = (RecordKind::SharedLock, of as u32);
    log::push(this, kind, way, of, pc, lock as u64, 0);
}

/// Makes one attempt to take the lock shared.
pub fn attempt_shared(this: &Thread, lock: usize, pc: u64, of: LockType) -> bool {
    scheduler::count_idle(this, Next::of(RecordKind::SharedLock, pc, lock));
    let is_free = objects::at(lock).owner.get() == 0;
    if is_free {
        take_shared(this, lock, pc, of, TRIED);
    } else {
        log::sync(this, RecordKind::TryFailed, pc, lock, 0);
    }
    is_free
}

const SHARED: (RecordKind, LockType, u8) = (RecordKind::SharedLock, LockType::ReadWrite, WAITED);
const EXCLUSIVE: (RecordKind, LockType, u8) = (RecordKind::Lock, LockType::ReadWrite, WAITED);
const TRIED_SHARED: (RecordKind, LockType, u8) = (SHARED.0, SHARED.1, TRIED);
const TRIED_EXCLUSIVE: (RecordKind, LockType, u8) = (EXCLUSIVE.0, EXCLUSIVE.1, TRIED);

fn status(taken: bool, otherwise: c_int) -> c_int {
    if taken { 0 } else { otherwise }
}

/// Takes the lock shared before a time, unless the thread holds it for writing: the library refuses that at once.
fn shared_until(this: &Thread, lock: usize, deadline: u64, pc: u64) -> c_int {
    if objects::at(lock).owner.get() == mutex::me(this) {
        attempt_shared(this, lock, pc, LockType::ReadWrite);
        return libc::EDEADLK;
    }
    let taken = acquire_shared(this, lock, deadline, pc, LockType::ReadWrite);
    status(taken, libc::ETIMEDOUT)
}

/// As [`shared_until`], for the whole lock.
fn exclusive_until(this: &Thread, lock: usize, deadline: u64, pc: u64) -> c_int {
    if objects::at(lock).owner.get() == mutex::me(this) {
        mutex::attempt(this, lock, pc, LockType::ReadWrite);
        return libc::EDEADLK;
    }
    let taken = mutex::acquire(this, lock, deadline, pc, LockType::ReadWrite);
    status(taken, libc::ETIMEDOUT)
}

unsafe extern "C-unwind" fn read_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_rdlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => shared_until(this, lock, 0, pc),
        // SAFETY: the program's own call.
        this => through_library(this, lock, SHARED, pc, || unsafe { library(lock) }),
    }
}

/// Takes the lock shared before a time; `library` is the call where nothing is controlled.
///
/// # Safety
/// The program's own arguments.
unsafe fn read_lock_until(
    lock: usize,
    until: *const libc::timespec,
    pc: u64,
    library: impl FnOnce() -> c_int,
) -> c_int {
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            // SAFETY: the caller's.
            let deadline = unsafe { time::deadline(until) };
            shared_until(this, lock, deadline, pc)
        }
        this => through_library(this, lock, SHARED, pc, library),
    }
}

unsafe extern "C-unwind" fn timed_read_lock(
    lock: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_rwlock_timedrdlock",
        fn(usize, *const libc::timespec) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { read_lock_until(lock, until, pc, || library(lock, until)) }
}

unsafe extern "C-unwind" fn clock_read_lock(
    lock: usize,
    clock: c_int,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_rwlock_clockrdlock",
        fn(usize, c_int, *const libc::timespec) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { read_lock_until(lock, until, pc, || library(lock, clock, until)) }
}

unsafe extern "C-unwind" fn try_read_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_tryrdlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => status(
            attempt_shared(this, lock, pc, LockType::ReadWrite),
            libc::EBUSY,
        ),
        // SAFETY: the program's own call.
        this => through_library(this, lock, TRIED_SHARED, pc, || unsafe { library(lock) }),
    }
}

unsafe extern "C-unwind" fn write_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_wrlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => exclusive_until(this, lock, 0, pc),
        // SAFETY: the program's own call.
        this => through_library(this, lock, EXCLUSIVE, pc, || unsafe { library(lock) }),
    }
}

/// As [`read_lock_until`], for the whole lock.
///
/// # Safety
/// The program's own arguments.
unsafe fn write_lock_until(
    lock: usize,
    until: *const libc::timespec,
    pc: u64,
    library: impl FnOnce() -> c_int,
) -> c_int {
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            // SAFETY: the caller's.
            let deadline = unsafe { time::deadline(until) };
            exclusive_until(this, lock, deadline, pc)
        }
        this => through_library(this, lock, EXCLUSIVE, pc, library),
    }
}

unsafe extern "C-unwind" fn timed_write_lock(
    lock: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_rwlock_timedwrlock",
        fn(usize, *const libc::timespec) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { write_lock_until(lock, until, pc, || library(lock, until)) }
}

unsafe extern "C-unwind" fn clock_write_lock(
    lock: usize,
    clock: c_int,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_rwlock_clockwrlock",
        fn(usize, c_int, *const libc::timespec) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { write_lock_until(lock, until, pc, || library(lock, clock, until)) }
}

unsafe extern "C-unwind" fn try_write_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_trywrlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => status(
            mutex::attempt(this, lock, pc, LockType::ReadWrite),
            libc::EBUSY,
        ),
        // SAFETY: the program's own call.
        this => through_library(this, lock, TRIED_EXCLUSIVE, pc, || unsafe { library(lock) }),
    }
}

/// Releases what the thread holds: the write lock if it owns it, else one shared hold.
fn release(this: &Thread, lock: usize, pc: u64) {
    let object = objects::at(lock);
    if object.owner.get() != 0 {
        mutex::release(this, lock, pc);
        return;
    }
    object.readers.set(object.readers.get().saturating_sub(1));
    log::sync(this, RecordKind::SharedUnlock, pc, lock, 0);
}

/// Unlocks; a thread that does not hold the lock fails.
pub fn give_back(this: &Thread, lock: usize, pc: u64) {
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, lock));
    let object = objects::at(lock);
    let owner = object.owner.get();
    if owner != mutex::me(this) && object.readers.get() == 0 {
        failure::unlock_not_held(this, pc, lock, owner == 0);
    }
    release(this, lock, pc);
}

unsafe extern "C-unwind" fn unlock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_unlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            give_back(this, lock, pc);
            return 0;
        }
        // Which of the two it was is for the reader to tell from the lock before it.
        Some(this) => log::sync(this, RecordKind::Unlock, pc, lock, 0),
        None => {}
    }
    // SAFETY: the program's own call.
    unsafe { library(lock) }
}

unsafe extern "C-unwind" fn init(lock: usize, attributes: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_init", fn(usize, usize) -> c_int);
    if ready_at(lock, pc).is_some() && controlled() {
        objects::at(lock).reset();
    }
    // SAFETY: the program's own call.
    unsafe { library(lock, attributes) }
}

unsafe extern "C-unwind" fn destroy(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_rwlock_destroy", fn(usize) -> c_int);
    if ready_at(lock, pc).is_some() && controlled() {
        objects::at(lock).reset();
    }
    // SAFETY: the program's own call.
    unsafe { library(lock) }
}

entry! {
    pthread_rwlock_rdlock, "rsi" => read_lock;
    pthread_rwlock_timedrdlock, "rdx" => timed_read_lock;
    pthread_rwlock_clockrdlock, "rcx" => clock_read_lock;
    pthread_rwlock_tryrdlock, "rsi" => try_read_lock;
    pthread_rwlock_wrlock, "rsi" => write_lock;
    pthread_rwlock_timedwrlock, "rdx" => timed_write_lock;
    pthread_rwlock_clockwrlock, "rcx" => clock_write_lock;
    pthread_rwlock_trywrlock, "rsi" => try_write_lock;
    pthread_rwlock_unlock, "rsi" => unlock;
    pthread_rwlock_init, "rdx" => init;
    pthread_rwlock_destroy, "rsi" => destroy;
}
