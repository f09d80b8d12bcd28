//! Mutexes and spinlocks.

use crate::{
    access, choices,
    entry::entry,
    failure, log, modules,
    next::Next,
    objects::{self, Object},
    real::real,
    robust, scheduler,
    state::{Thread, Wait, controlled, recording, unrecorded},
    time,
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind, flag};

/// Offset of the kind in glibc's `pthread_mutex_t` on x86-64.
const KIND_OFFSET: usize = 16;
const RECURSIVE: c_int = 1;
const ERROR_CHECK: c_int = 2;

/// Type and protocol of a mutex, as glibc has them.
///
/// # Safety
/// `mutex` points to a `pthread_mutex_t`.
pub unsafe fn whole_kind(mutex: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { ((mutex + KIND_OFFSET) as *const c_int).read_volatile() }
}

/// The type of a mutex; spinlocks have none.
///
/// # Safety
/// `mutex` points to a `pthread_mutex_t`.
unsafe fn kind(mutex: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { whole_kind(mutex) & 3 }
}

/// The thread's value as the owner of an object.
pub fn me(this: &Thread) -> u32 {
    u32::from(this.number.get()) + 1
}

/// The way to a lock, as [`flag`] has it: one that waits.
pub const WAITED: u8 = 0;
/// An attempt.
pub const TRIED: u8 = flag::TRIED;

/// Makes `this` the owner and logs it, with the way there.
pub fn take(this: &Thread, lock: usize, pc: u64, of: LockType, way: u8) {
    let object = objects::at(lock);
    object.owner.set(me(this));
    object.depth.set(1);
    log::push(this, RecordKind::Lock, way, of as u32, pc, lock as u64, 0);
}

/// Logs that the thread has to wait, if it has to.
fn note_wait(this: &Thread, object: &Object, lock: usize, pc: u64) {
    if !object.is_free_for_writing() {
        log::sync(this, RecordKind::LockWait, pc, lock, 0);
    }
}

/// Waits for the lock and takes it; returns `false` when the time is over.
pub fn acquire(this: &Thread, lock: usize, deadline: u64, pc: u64, of: LockType) -> bool {
    let is_free = wait_until_free(this, lock, deadline, pc);
    if is_free {
        take(this, lock, pc, of, WAITED);
    }
    is_free
}

/// Waits for the lock; returns `false` when the time is over.
pub fn wait_until_free(this: &Thread, lock: usize, deadline: u64, pc: u64) -> bool {
    let next = Next::of(RecordKind::Lock, pc, lock);
    scheduler::decide(this, next);
    note_wait(this, objects::at(lock), lock, pc);
    while !objects::at(lock).is_free_for_writing() {
        if !scheduler::block(this, next, Wait::Lock(lock), deadline) {
            log::sync(this, RecordKind::TryFailed, pc, lock, 0);
            return false;
        }
    }
    true
}

/// Releases the lock and logs that.
pub fn release(this: &Thread, lock: usize, pc: u64) {
    let object = objects::at(lock);
    object.owner.set(0);
    object.depth.set(0);
    log::sync(this, RecordKind::Unlock, pc, lock, 0);
}

/// The result without waiting, if the type of mutex has one.
fn relock(this: &Thread, lock: usize, kind: c_int) -> Option<c_int> {
    let object = objects::at(lock);
    if object.owner.get() != me(this) {
        return None;
    }
    match kind {
        RECURSIVE => {
            object.depth.set(object.depth.get() + 1);
            Some(0)
        }
        ERROR_CHECK => Some(libc::EDEADLK),
        _ => None,
    }
}

unsafe fn lock_until(this: &Thread, mutex: usize, deadline: u64, pc: u64) -> c_int {
    // SAFETY: the program's own mutex.
    if let Some(answer) = relock(this, mutex, unsafe { kind(mutex) }) {
        return answer;
    }
    // SAFETY: as above.
    if unsafe { robust::is_robust(mutex) } {
        return robust::lock(this, mutex, deadline, pc);
    }
    match acquire(this, mutex, deadline, pc, LockType::Mutex) {
        true => 0,
        false => libc::ETIMEDOUT,
    }
}

/// The calling thread, ready for a synchronization step: announced writes are filled in. `None` when the call is not
/// to be recorded, such as a call that the C library or the unwinder makes for itself.
pub fn ready(pc: u64) -> Option<&'static Thread> {
    let this = recording()?;
    if modules::is_system(pc) {
        return None;
    }
    log::resolve(this);
    Some(this)
}

/// Like [`ready`], for a step on the object at this address: an object that cannot be accessed faults here, at the
/// program's call, as it would in the library.
pub fn ready_at(object: usize, pc: u64) -> Option<&'static Thread> {
    let this = ready(pc)?;
    // SAFETY: the library would access the object next.
    unsafe { access::sample_for(this, object as *const u8, 1, pc) };
    Some(this)
}

/// Calls the library's own function on a lock of this type and logs `kind` with the way there, or a failed attempt.
pub fn through_library(
    this: Option<&Thread>,
    lock: usize,
    (kind, of, way): (RecordKind, LockType, u8),
    pc: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(this) = this else { return call() };
    let result = unrecorded(this, call);
    let (kind, way) = match result {
        0 => (kind, way),
        _ => (RecordKind::TryFailed, 0),
    };
    log::push(this, kind, way, of as u32, pc, lock as u64, 0);
    result
}

const MUTEX: (RecordKind, LockType, u8) = (RecordKind::Lock, LockType::Mutex, WAITED);
const TRIED_MUTEX: (RecordKind, LockType, u8) = (RecordKind::Lock, LockType::Mutex, TRIED);
const SPIN: (RecordKind, LockType, u8) = (RecordKind::Lock, LockType::Spin, WAITED);
const TRIED_SPIN: (RecordKind, LockType, u8) = (RecordKind::Lock, LockType::Spin, TRIED);

pub unsafe extern "C-unwind" fn lock(mutex: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_lock", fn(usize) -> c_int);
    match ready_at(mutex, pc) {
        // SAFETY: the program's own call.
        Some(this) if controlled() => unsafe { lock_until(this, mutex, 0, pc) },
        // SAFETY: the program's own call.
        this => through_library(this, mutex, MUTEX, pc, || unsafe { library(mutex) }),
    }
}

pub unsafe extern "C-unwind" fn timed_lock(
    mutex: usize,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_mutex_timedlock",
        fn(usize, *const libc::timespec) -> c_int
    );
    match ready_at(mutex, pc) {
        // SAFETY: the program's own call.
        Some(this) if controlled() => unsafe { lock_until(this, mutex, time::deadline(until), pc) },
        // SAFETY: the program's own call.
        this => through_library(this, mutex, MUTEX, pc, || unsafe { library(mutex, until) }),
    }
}

unsafe extern "C-unwind" fn clock_lock(
    mutex: usize,
    clock: c_int,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_mutex_clocklock",
        fn(usize, c_int, *const libc::timespec) -> c_int
    );
    match ready_at(mutex, pc) {
        // SAFETY: the program's own call.
        Some(this) if controlled() => unsafe { lock_until(this, mutex, time::deadline(until), pc) },
        this => through_library(this, mutex, MUTEX, pc, || {
            // SAFETY: the program's own call.
            unsafe { library(mutex, clock, until) }
        }),
    }
}

/// Makes one attempt to take the lock.
pub fn attempt(this: &Thread, lock: usize, pc: u64, of: LockType) -> bool {
    let is_free = is_free_to_try(this, lock, pc);
    if is_free {
        take(this, lock, pc, of, TRIED);
    }
    is_free
}

/// Returns whether an attempt finds the lock free.
pub fn is_free_to_try(this: &Thread, lock: usize, pc: u64) -> bool {
    scheduler::count_idle(this, Next::of(RecordKind::Lock, pc, lock));
    if !objects::at(lock).is_free_for_writing() {
        log::sync(this, RecordKind::TryFailed, pc, lock, 0);
        return false;
    }
    this.idle.set(0);
    true
}

/// Returns whether an attempt on a free lock fails all the same, as the standard allows.
pub fn fails_for_no_reason(lock: usize, pc: u64) -> bool {
    let Some(this) = ready_at(lock, pc).filter(|_| controlled()) else {
        return false;
    };
    if !objects::at(lock).is_free_for_writing() || !choices::fails_for_no_reason() {
        return false;
    }
    scheduler::count_idle(this, Next::of(RecordKind::Lock, pc, lock));
    log::sync(this, RecordKind::TryFailed, pc, lock, 0);
    true
}

pub unsafe extern "C-unwind" fn try_lock(mutex: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_trylock", fn(usize) -> c_int);
    match ready_at(mutex, pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own mutex.
            if unsafe { kind(mutex) } == RECURSIVE
                && let Some(answer) = relock(this, mutex, RECURSIVE)
            {
                return answer;
            }
            // SAFETY: as above.
            if unsafe { robust::is_robust(mutex) } {
                return robust::try_lock(this, mutex, pc);
            }
            if attempt(this, mutex, pc, LockType::Mutex) {
                0
            } else {
                libc::EBUSY
            }
        }
        // SAFETY: the program's own call.
        this => through_library(this, mutex, TRIED_MUTEX, pc, || unsafe { library(mutex) }),
    }
}

pub unsafe extern "C-unwind" fn unlock(mutex: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_unlock", fn(usize) -> c_int);
    match ready_at(mutex, pc) {
        // SAFETY: the program's own mutex.
        Some(this) if controlled() => unsafe { unlock_as(this, mutex, pc) },
        this => {
            if let Some(this) = this {
                log::sync(this, RecordKind::Unlock, pc, mutex, 0);
            }
            // SAFETY: the program's own call.
            unsafe { library(mutex) }
        }
    }
}

/// # Safety
/// `mutex` points to a `pthread_mutex_t`.
unsafe fn unlock_as(this: &Thread, mutex: usize, pc: u64) -> c_int {
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, mutex));
    let object = objects::at(mutex);
    let owns = object.owner.get() == me(this);
    // SAFETY: the caller's.
    let (kind, is_robust) = unsafe { (kind(mutex), robust::is_robust(mutex)) };
    if !owns && (is_robust || matches!(kind, RECURSIVE | ERROR_CHECK)) {
        return libc::EPERM;
    }
    if !owns {
        failure::unlock_not_held(this, pc, mutex, object.owner.get() == 0);
    }
    if object.depth.get() > 1 {
        object.depth.set(object.depth.get() - 1);
        return 0;
    }
    if is_robust {
        robust::give_back(this, mutex);
    }
    release(this, mutex, pc);
    0
}

unsafe extern "C-unwind" fn init(mutex: usize, attributes: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_init", fn(usize, usize) -> c_int);
    if ready_at(mutex, pc).is_some() && controlled() {
        objects::at(mutex).reset();
    }
    // SAFETY: the program's own call; it writes the kind that `kind` reads.
    unsafe { library(mutex, attributes) }
}

pub unsafe extern "C-unwind" fn destroy(mutex: usize, pc: u64) -> c_int {
    let library = real!("pthread_mutex_destroy", fn(usize) -> c_int);
    match ready_at(mutex, pc) {
        Some(this) if controlled() => {
            scheduler::decide(this, Next::unrecorded(RecordKind::Lock, mutex));
            if objects::at(mutex).owner.get() != 0 {
                return libc::EBUSY;
            }
            objects::at(mutex).reset();
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(mutex) },
    }
}

unsafe extern "C-unwind" fn spin_init(lock: usize, shared: c_int, pc: u64) -> c_int {
    let library = real!("pthread_spin_init", fn(usize, c_int) -> c_int);
    if ready_at(lock, pc).is_some() && controlled() {
        objects::at(lock).reset();
    }
    // SAFETY: the program's own call.
    unsafe { library(lock, shared) }
}

unsafe extern "C-unwind" fn spin_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_spin_lock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            acquire(this, lock, 0, pc, LockType::Spin);
            0
        }
        // SAFETY: the program's own call.
        this => through_library(this, lock, SPIN, pc, || unsafe { library(lock) }),
    }
}

unsafe extern "C-unwind" fn spin_try_lock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_spin_trylock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            if attempt(this, lock, pc, LockType::Spin) {
                0
            } else {
                libc::EBUSY
            }
        }
        // SAFETY: the program's own call.
        this => through_library(this, lock, TRIED_SPIN, pc, || unsafe { library(lock) }),
    }
}

unsafe extern "C-unwind" fn spin_unlock(lock: usize, pc: u64) -> c_int {
    let library = real!("pthread_spin_unlock", fn(usize) -> c_int);
    match ready_at(lock, pc) {
        Some(this) if controlled() => {
            scheduler::decide(this, Next::of(RecordKind::Unlock, pc, lock));
            let owner = objects::at(lock).owner.get();
            if owner != me(this) {
                failure::unlock_not_held(this, pc, lock, owner == 0);
            }
            release(this, lock, pc);
            0
        }
        this => {
            if let Some(this) = this {
                log::sync(this, RecordKind::Unlock, pc, lock, 0);
            }
            // SAFETY: the program's own call.
            unsafe { library(lock) }
        }
    }
}

entry! {
    pthread_mutex_lock, "rsi" => lock;
    pthread_mutex_timedlock, "rdx" => timed_lock;
    pthread_mutex_clocklock, "rcx" => clock_lock;
    pthread_mutex_trylock, "rsi" => try_lock;
    pthread_mutex_unlock, "rsi" => unlock;
    pthread_mutex_init, "rdx" => init;
    pthread_mutex_destroy, "rsi" => destroy;
    pthread_spin_init, "rdx" => spin_init;
    pthread_spin_lock, "rsi" => spin_lock;
    pthread_spin_trylock, "rsi" => spin_try_lock;
    pthread_spin_unlock, "rsi" => spin_unlock;
}
