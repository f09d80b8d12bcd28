//! Critical sections and OpenMP's locks: virtual locks like the program's mutexes.

use super::{address, caller, entry::served};
use crate::{mutex, next::Next, objects, scheduler};
use core::{cell::Cell, ffi::c_int};
use unsnarl_trace::raw::{LockType, RecordKind};

struct Global(Cell<u8>);

// SAFETY: only its address is used.
unsafe impl Sync for Global {}

/// The critical section without a name, and the lock of atomic updates that the processor cannot do. People read these
/// names, which no program can have.
#[unsafe(export_name = "omp.critical")]
static CRITICAL: Global = Global(Cell::new(0));
#[unsafe(export_name = "omp.atomic")]
static ATOMIC: Global = Global(Cell::new(0));

fn acquire(lock: usize) {
    let (this, _, pc) = caller();
    mutex::acquire(this, lock, 0, pc, LockType::Mutex);
}

fn release(lock: usize) {
    let (this, _, pc) = caller();
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, lock));
    mutex::release(this, lock, pc);
}

unsafe extern "C-unwind" fn critical_start() {
    acquire(address(&CRITICAL.0));
}

unsafe extern "C-unwind" fn critical_end() {
    release(address(&CRITICAL.0));
}

unsafe extern "C-unwind" fn atomic_start() {
    acquire(address(&ATOMIC.0));
}

unsafe extern "C-unwind" fn atomic_end() {
    release(address(&ATOMIC.0));
}

unsafe extern "C-unwind" fn set_lock(lock: usize) {
    acquire(lock);
}

unsafe extern "C-unwind" fn unset_lock(lock: usize) {
    release(lock);
}

unsafe extern "C-unwind" fn init_lock(lock: usize) {
    objects::at(lock).reset();
}

unsafe extern "C-unwind" fn test_lock(lock: usize) -> c_int {
    let (this, _, pc) = caller();
    c_int::from(mutex::attempt(this, lock, pc, LockType::Mutex))
}

/// One level deeper, if the calling thread holds it.
fn deepen(lock: usize) -> Option<u32> {
    let (this, ..) = caller();
    let object = objects::at(lock);
    if object.owner.get() != u32::from(this.number.get()) + 1 {
        return None;
    }
    object.depth.set(object.depth.get() + 1);
    Some(object.depth.get())
}

unsafe extern "C-unwind" fn set_nest_lock(lock: usize) {
    if deepen(lock).is_none() {
        acquire(lock);
    }
}

unsafe extern "C-unwind" fn unset_nest_lock(lock: usize) {
    let object = objects::at(lock);
    match object.depth.get() {
        0 | 1 => release(lock),
        depth => object.depth.set(depth - 1),
    }
}

unsafe extern "C-unwind" fn test_nest_lock(lock: usize) -> c_int {
    if let Some(depth) = deepen(lock) {
        return depth as c_int;
    }
    // SAFETY: as the caller's.
    unsafe { test_lock(lock) }
}

served! {
    GOMP_critical_start, find_critical_start => critical_start;
    GOMP_critical_end, find_critical_end => critical_end;
    GOMP_critical_name_start, find_critical_name_start => set_lock;
    GOMP_critical_name_end, find_critical_name_end => unset_lock;
    GOMP_atomic_start, find_atomic_start => atomic_start;
    GOMP_atomic_end, find_atomic_end => atomic_end;
    omp_init_lock, find_init_lock => init_lock;
    omp_init_lock_with_hint, find_init_lock_with_hint => init_lock;
    omp_destroy_lock, find_destroy_lock => init_lock;
    omp_set_lock, find_set_lock => set_lock;
    omp_unset_lock, find_unset_lock => unset_lock;
    omp_test_lock, find_test_lock => test_lock;
    omp_init_nest_lock, find_init_nest_lock => init_lock;
    omp_init_nest_lock_with_hint, find_init_nest_lock_with_hint => init_lock;
    omp_destroy_nest_lock, find_destroy_nest_lock => init_lock;
    omp_set_nest_lock, find_set_nest_lock => set_nest_lock;
    omp_unset_nest_lock, find_unset_nest_lock => unset_nest_lock;
    omp_test_nest_lock, find_test_nest_lock => test_nest_lock;
}
