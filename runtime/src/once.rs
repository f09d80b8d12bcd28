//! Once-only initialization: `pthread_once`, and the guards of C++ function statics.

use crate::{
    entry::entry,
    log,
    mutex::ready_at,
    next::Next,
    objects,
    real::real,
    scheduler,
    state::{Thread, Wait, controlled},
};
use core::ffi::c_int;
use unsnarl_trace::raw::RecordKind;

pub type Routine = unsafe extern "C-unwind" fn();

/// Waits until nobody is in the initialization; true when this thread has to do it.
pub fn begin(this: &Thread, once: usize, done: impl Fn() -> bool, pc: u64) -> bool {
    let next = Next::of(RecordKind::OnceBegin, pc, once);
    scheduler::decide(this, next);
    while objects::at(once).owner.get() != 0 {
        scheduler::block(this, next, Wait::Once(once), 0);
    }
    if done() {
        log::sync(this, RecordKind::OncePass, pc, once, 0);
        return false;
    }
    objects::at(once)
        .owner
        .set(u32::from(this.number.get()) + 1);
    log::sync(this, RecordKind::OnceBegin, pc, once, 0);
    true
}

/// Ends the initialization that the thread is in.
pub fn end(this: &Thread, once: usize, pc: u64) {
    log::resolve(this);
    objects::at(once).owner.set(0);
    log::sync(this, RecordKind::OnceEnd, pc, once, 0);
}

pub unsafe extern "C-unwind" fn once(control: usize, routine: Routine, pc: u64) -> c_int {
    let library = real!("pthread_once", fn(usize, Routine) -> c_int);
    match ready_at(control, pc) {
        Some(this) if controlled() => {
            if begin(this, control, || objects::at(control).value.get() == 1, pc) {
                // SAFETY: the program's own routine.
                unsafe { routine() };
                objects::at(control).value.set(1);
                end(this, control, pc);
            }
            0
        }
        this => {
            // SAFETY: the program's own call.
            let result = unsafe { library(control, routine) };
            if let Some(this) = this {
                log::sync(this, RecordKind::OncePass, pc, control, 0);
            }
            result
        }
    }
}

/// First byte of a guard: nonzero when the static is initialized (Itanium C++ ABI).
///
/// # Safety
/// `guard` points to a guard variable.
unsafe fn is_initialized(guard: usize) -> bool {
    // SAFETY: the caller's.
    unsafe { (guard as *const u8).read_volatile() != 0 }
}

unsafe extern "C-unwind" fn guard_acquire(guard: usize, pc: u64) -> c_int {
    let library = real!("__cxa_guard_acquire", fn(usize) -> c_int);
    match ready_at(guard, pc) {
        Some(this) if controlled() => {
            // SAFETY: the compiler's own guard.
            c_int::from(begin(this, guard, || unsafe { is_initialized(guard) }, pc))
        }
        // SAFETY: the compiler's own call.
        _ => unsafe { library(guard) },
    }
}

unsafe extern "C-unwind" fn guard_release(guard: usize, pc: u64) {
    let library = real!("__cxa_guard_release", fn(usize) -> ());
    match ready_at(guard, pc) {
        Some(this) if controlled() && objects::at(guard).owner.get() != 0 => {
            // SAFETY: the compiler's own guard; this thread is the one that initialized it.
            unsafe { (guard as *mut u8).write_volatile(1) };
            end(this, guard, pc);
        }
        // SAFETY: the compiler's own call.
        _ => unsafe { library(guard) },
    }
}

unsafe extern "C-unwind" fn guard_abort(guard: usize, pc: u64) {
    let library = real!("__cxa_guard_abort", fn(usize) -> ());
    match ready_at(guard, pc) {
        Some(this) if controlled() && objects::at(guard).owner.get() != 0 => end(this, guard, pc),
        // SAFETY: the compiler's own call.
        _ => unsafe { library(guard) },
    }
}

entry! {
    pthread_once, "rdx" => once;
    __cxa_guard_acquire, "rsi" => guard_acquire;
    __cxa_guard_release, "rsi" => guard_release;
    __cxa_guard_abort, "rsi" => guard_abort;
}
