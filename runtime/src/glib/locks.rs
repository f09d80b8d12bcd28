//! `GMutex`.

use super::{Boolean, glib, ready_at, status};
use crate::{
    entry::entry,
    failure, log,
    mutex::{self, TRIED, WAITED, through_library},
    next::Next,
    objects, scheduler,
    state::{Thread, controlled},
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

const OF: LockType = LockType::GlibMutex;
const TAKEN: (RecordKind, LockType, u8) = (RecordKind::Lock, OF, WAITED);
const TRIED_AND_TAKEN: (RecordKind, LockType, u8) = (RecordKind::Lock, OF, TRIED);

unsafe extern "C-unwind" fn lock(mutex: usize, pc: u64) {
    let library = glib!("g_mutex_lock", fn(usize) -> ());
    match ready_at(mutex, pc) {
        Some(this) if controlled() => drop(mutex::acquire(this, mutex, 0, pc, OF)),
        this => {
            through_library(this, mutex, TAKEN, pc, || {
                // SAFETY: the program's own call.
                unsafe { library()(mutex) };
                0
            });
        }
    }
}

unsafe extern "C-unwind" fn try_lock(mutex: usize, pc: u64) -> Boolean {
    let library = glib!("g_mutex_trylock", fn(usize) -> Boolean);
    match ready_at(mutex, pc) {
        Some(this) if controlled() => c_int::from(mutex::attempt(this, mutex, pc, OF)),
        this => {
            let call = || {
                // SAFETY: the program's own call.
                status(unsafe { library()(mutex) })
            };
            c_int::from(through_library(this, mutex, TRIED_AND_TAKEN, pc, call) == 0)
        }
    }
}

/// Releases a lock that the thread holds; another one's or a free one ends the run.
pub(super) fn give_back(this: &Thread, lock: usize, pc: u64) {
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, lock));
    let object = objects::at(lock);
    let owner = object.owner.get();
    if owner != mutex::me(this) {
        failure::unlock_not_held(this, pc, lock, owner == 0);
    }
    match object.depth.get() {
        depth @ 2.. => object.depth.set(depth - 1),
        _ => mutex::release(this, lock, pc),
    }
}

unsafe extern "C-unwind" fn unlock(mutex: usize, pc: u64) {
    let library = glib!("g_mutex_unlock", fn(usize) -> ());
    match ready_at(mutex, pc) {
        Some(this) if controlled() => return give_back(this, mutex, pc),
        Some(this) => log::sync(this, RecordKind::Unlock, pc, mutex, 0),
        None => {}
    }
    // SAFETY: the program's own call.
    unsafe { library()(mutex) }
}

unsafe extern "C-unwind" fn init(mutex: usize, pc: u64) {
    let library = glib!("g_mutex_init", fn(usize) -> ());
    if ready_at(mutex, pc).is_some() && controlled() {
        objects::at(mutex).reset();
    }
    // SAFETY: the program's own call; it clears the word.
    unsafe { library()(mutex) }
}

/// The library aborts when the mutex is locked, which only the virtual one is.
unsafe extern "C-unwind" fn clear(mutex: usize, pc: u64) {
    let library = glib!("g_mutex_clear", fn(usize) -> ());
    const LOCKED: u32 = 1;
    if let Some(this) = ready_at(mutex, pc).filter(|_| controlled()) {
        scheduler::decide(this, Next::unrecorded(RecordKind::Lock, mutex));
        if objects::at(mutex).owner.get() != 0 {
            // SAFETY: the program's own mutex.
            unsafe { (mutex as *mut u32).write_volatile(LOCKED) };
        }
        objects::at(mutex).reset();
    }
    // SAFETY: the program's own call.
    unsafe { library()(mutex) }
}

entry! {
    g_mutex_lock, "rsi" => lock;
    g_mutex_trylock, "rsi" => try_lock;
    g_mutex_unlock, "rsi" => unlock;
    g_mutex_init, "rsi" => init;
    g_mutex_clear, "rsi" => clear;
}
