//! Barriers.

use crate::{
    entry::entry,
    log,
    mutex::ready_at,
    next::Next,
    objects,
    real::real,
    scheduler,
    state::{Thread, Wait, controlled, grant, unrecorded},
};
use core::ffi::c_int;
use unsnarl_trace::raw::{RecordKind, WaitsFor};

/// Value that one of the threads at a barrier gets (`PTHREAD_BARRIER_SERIAL_THREAD`).
const SERIAL_THREAD: c_int = -1;

unsafe extern "C-unwind" fn init(barrier: usize, attributes: usize, count: u32, pc: u64) -> c_int {
    let library = real!("pthread_barrier_init", fn(usize, usize, u32) -> c_int);
    if ready_at(barrier, pc).is_some() && controlled() {
        objects::at(barrier).reset();
        objects::at(barrier).value.set(i64::from(count));
    }
    // SAFETY: the program's own call.
    unsafe { library(barrier, attributes, count) }
}

unsafe extern "C-unwind" fn wait(barrier: usize, pc: u64) -> c_int {
    let library = real!("pthread_barrier_wait", fn(usize) -> c_int);
    match ready_at(barrier, pc) {
        Some(this) if controlled() => arrive(this, barrier, pc),
        Some(this) => {
            log::sync(this, RecordKind::BarrierArrive, pc, barrier, 0);
            // SAFETY: the program's own call.
            let result = unrecorded(this, || unsafe { library(barrier) });
            log::sync(this, RecordKind::BarrierLeave, pc, barrier, 0);
            result
        }
        // SAFETY: the program's own call.
        None => unsafe { library(barrier) },
    }
}

fn arrive(this: &Thread, barrier: usize, pc: u64) -> c_int {
    scheduler::decide(this, Next::of(RecordKind::BarrierArrive, pc, barrier));
    log::sync(this, RecordKind::BarrierArrive, pc, barrier, 0);
    let object = objects::at(barrier);
    object.arrived.set(object.arrived.get() + 1);
    let leave = Next::of(RecordKind::BarrierLeave, pc, barrier);
    let wish = Wait::Granted {
        object: barrier,
        waits_for: WaitsFor::Barrier,
    };
    let last = object.arrived.get() >= object.value.get();
    if last {
        object.arrived.set(0);
        grant(wish);
        scheduler::decide(this, leave);
    } else {
        scheduler::block(this, leave, wish, 0);
    }
    log::sync(this, RecordKind::BarrierLeave, pc, barrier, 0);
    if last { SERIAL_THREAD } else { 0 }
}

unsafe extern "C-unwind" fn destroy(barrier: usize, pc: u64) -> c_int {
    let library = real!("pthread_barrier_destroy", fn(usize) -> c_int);
    if ready_at(barrier, pc).is_some() && controlled() {
        objects::at(barrier).reset();
    }
    // SAFETY: the program's own call.
    unsafe { library(barrier) }
}

entry! {
    pthread_barrier_init, "rcx" => init;
    pthread_barrier_wait, "rsi" => wait;
    pthread_barrier_destroy, "rsi" => destroy;
}
