//! `GCond`.

use super::{Boolean, glib, ready_at};
use crate::{
    condition::{self, WaitPair},
    entry::entry,
    log,
    state::controlled,
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

const OF: LockType = LockType::GlibMutex;

fn pair(condition: usize, lock: usize) -> WaitPair {
    WaitPair {
        condition,
        lock,
        of: OF,
    }
}

unsafe extern "C-unwind" fn wait(condition: usize, lock: usize, pc: u64) {
    let library = glib!("g_cond_wait", fn(usize, usize) -> ());
    let pair = pair(condition, lock);
    match ready_at(condition, pc) {
        // SAFETY: the program's own mutex.
        Some(this) if controlled() => drop(unsafe { condition::wait_until(this, pair, 0, pc) }),
        this => {
            condition::free_wait(this, pair, pc, || {
                // SAFETY: the program's own call.
                unsafe { library()(condition, lock) };
                0
            });
        }
    }
}

/// The point in virtual time that the library's number of microseconds means; 1 (long past) before its beginning.
fn deadline(microseconds: i64) -> u64 {
    u64::try_from(microseconds)
        .unwrap_or(0)
        .saturating_mul(1_000)
        .max(1)
}

unsafe extern "C-unwind" fn timed_wait(
    condition: usize,
    lock: usize,
    until: i64,
    pc: u64,
) -> Boolean {
    let library = glib!("g_cond_wait_until", fn(usize, usize, i64) -> Boolean);
    let pair = pair(condition, lock);
    let result = match ready_at(condition, pc) {
        // SAFETY: the program's own mutex.
        Some(this) if controlled() => unsafe {
            condition::wait_until(this, pair, deadline(until), pc)
        },
        this => condition::free_wait(this, pair, pc, || {
            // SAFETY: the program's own call.
            match unsafe { library()(condition, lock, until) } {
                0 => libc::ETIMEDOUT,
                _ => 0,
            }
        }),
    };
    c_int::from(result == 0)
}

/// Records a signal or broadcast; returns whether the library has to do it.
fn notify(condition: usize, kind: RecordKind, pc: u64) -> bool {
    match ready_at(condition, pc) {
        Some(this) if controlled() => {
            condition::notify(this, kind, (condition, OF), pc);
            return false;
        }
        Some(this) => log::push(this, kind, 0, OF as u32, pc, condition as u64, 1),
        None => return true,
    };
    true
}

unsafe extern "C-unwind" fn signal(condition: usize, pc: u64) {
    let library = glib!("g_cond_signal", fn(usize) -> ());
    if notify(condition, RecordKind::Signal, pc) {
        // SAFETY: the program's own call.
        unsafe { library()(condition) }
    }
}

unsafe extern "C-unwind" fn broadcast(condition: usize, pc: u64) {
    let library = glib!("g_cond_broadcast", fn(usize) -> ());
    if notify(condition, RecordKind::Broadcast, pc) {
        // SAFETY: the program's own call.
        unsafe { library()(condition) }
    }
}

entry! {
    g_cond_wait, "rdx" => wait;
    g_cond_wait_until, "rcx" => timed_wait;
    g_cond_signal, "rsi" => signal;
    g_cond_broadcast, "rsi" => broadcast;
}
