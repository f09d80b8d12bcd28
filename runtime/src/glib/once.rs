//! `g_once_init_enter` and its relatives, and `g_once`. The library's headers look at the result before they call, and by
//! themselves: so what is stored here is logged as the program's own stores are.

use super::{Boolean, glib, ready_at};
use crate::{
    access, atomics,
    entry::entry,
    log, objects, once,
    state::{Thread, controlled},
};
use core::{ffi::c_int, mem::size_of, sync::atomic::AtomicU64};
use unsnarl_trace::raw::RecordKind;

/// Begins to initialize `location`, unless it is or another thread does; returns whether the caller has to.
fn enter(location: usize, pc: u64, library: impl FnOnce() -> Boolean) -> Boolean {
    match ready_at(location, pc) {
        Some(this) if controlled() => {
            // SAFETY: a word of the program's own.
            let is_set = || unsafe { (location as *const usize).read_volatile() != 0 };
            c_int::from(once::begin(this, location, is_set, pc))
        }
        _ => library(),
    }
}

/// Sets the result and lets the others pass. The library's own function reports a call that makes no sense.
fn leave(location: usize, result: usize, pc: u64, library: impl FnOnce()) {
    match ready_at(location, pc) {
        Some(this) if controlled() && result != 0 && objects::at(location).owner.get() != 0 => {
            // SAFETY: a word of the program's own.
            unsafe { atomics::publish(location as *const AtomicU64, result as u64, pc) };
            once::end(this, location, pc);
        }
        _ => library(),
    }
}

unsafe extern "C-unwind" fn init_enter(location: usize, pc: u64) -> Boolean {
    let library = glib!("g_once_init_enter", fn(usize) -> Boolean);
    // SAFETY: the program's own call.
    enter(location, pc, || unsafe { library()(location) })
}

unsafe extern "C-unwind" fn init_leave(location: usize, result: usize, pc: u64) {
    let library = glib!("g_once_init_leave", fn(usize, usize) -> ());
    // SAFETY: the program's own call.
    leave(location, result, pc, || unsafe {
        library()(location, result)
    })
}

unsafe extern "C-unwind" fn init_enter_pointer(location: usize, pc: u64) -> Boolean {
    let library = glib!("g_once_init_enter_pointer", fn(usize) -> Boolean);
    // SAFETY: the program's own call.
    enter(location, pc, || unsafe { library()(location) })
}

unsafe extern "C-unwind" fn init_leave_pointer(location: usize, result: usize, pc: u64) {
    let library = glib!("g_once_init_leave_pointer", fn(usize, usize) -> ());
    // SAFETY: the program's own call.
    leave(location, result, pc, || unsafe {
        library()(location, result)
    })
}

/// `GOnce`.
#[repr(C)]
struct Once {
    status: u32,
    result: usize,
}

/// The status of a `GOnce` whose function has returned.
const READY: u32 = 2;

type OnceFunction = unsafe extern "C-unwind" fn(usize) -> usize;

/// Calls the routine and keeps its result.
///
/// # Safety
/// The program's own arguments.
unsafe fn run(this: &Thread, once: *mut Once, (routine, argument): (OnceFunction, usize), pc: u64) {
    // SAFETY: the caller's.
    unsafe {
        let result = routine(argument);
        let place = &raw mut (*once).result;
        place.write_volatile(result);
        log::resolve(this);
        access::log_written(this, place.cast(), size_of::<usize>(), pc);
        atomics::publish_half((&raw const (*once).status).cast(), READY, pc);
    }
    once::end(this, once as usize, pc);
}

unsafe extern "C-unwind" fn on_once(
    once: *mut Once,
    routine: OnceFunction,
    argument: usize,
    pc: u64,
) -> usize {
    let this = ready_at(once as usize, pc);
    let Some(this) = this.filter(|_| controlled()) else {
        let library = glib!("g_once_impl", fn(*mut Once, OnceFunction, usize) -> usize);
        // SAFETY: the program's own call.
        let result = unsafe { library()(once, routine, argument) };
        if let Some(this) = this {
            log::sync(this, RecordKind::OncePass, pc, once as usize, 0);
        }
        return result;
    };
    // SAFETY: the program's own arguments.
    unsafe {
        let is_ready = || (&raw const (*once).status).read_volatile() == READY;
        if once::begin(this, once as usize, is_ready, pc) {
            run(this, once, (routine, argument), pc);
        }
        let result = &raw const (*once).result;
        access::log_read(this, result.cast(), size_of::<usize>(), pc);
        result.read_volatile()
    }
}

entry! {
    g_once_init_enter, "rsi" => init_enter;
    g_once_init_leave, "rdx" => init_leave;
    g_once_init_enter_pointer, "rsi" => init_enter_pointer;
    g_once_init_leave_pointer, "rdx" => init_leave_pointer;
    g_once_impl, "rcx" => on_once;
}
