//! Annotations of `unsnarl.h`: regions that are atomic, values to choose, assumptions.
//!
//! The header calls these functions where the program is linked with the runtime. They do nothing without a controlled
//! recording.

use crate::{
    choices, departure, failure, log,
    state::{SHARED, Thread, controlled, recording, unrecorded},
};
use core::ffi::{c_int, c_uint};
use unsnarl_trace::raw::End;

/// The calling thread, if its schedule is decided here.
fn scheduled() -> Option<&'static Thread> {
    recording().filter(|_| controlled())
}

/// Begins a region in which no other thread runs unless this one waits, yields or spins. Regions nest.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_atomic_begin() {
    if let Some(this) = scheduled() {
        this.atomic.set(this.atomic.get() + 1);
    }
}

/// Ends the innermost region of the calling thread.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_atomic_end() {
    let Some(this) = scheduled() else {
        return;
    };
    match this.atomic.get().checked_sub(1) {
        Some(outer) => this.atomic.set(outer),
        None => failure::unsupported(c"unsnarl_atomic_end() without unsnarl_atomic_begin()"),
    }
}

/// A number below `count`: a choice of the schedule, which a search tries in all ways and a replay repeats.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_choose(count: c_uint) -> c_uint {
    match scheduled() {
        Some(this) if count > 1 => unrecorded(this, || choices::value_below(count)),
        _ => 0,
    }
}

/// Ends the run as one that does not count, unless the assumption holds. The other threads go on first, as at the end of
/// the process: a search learns from their steps which other orders there are, and what fails in them could have failed
/// before.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_assume(holds: c_int) {
    if let Some(this) = scheduled().filter(|_| holds == 0) {
        log::resolve(this);
        SHARED.does_not_count.set(true);
        departure::arrive(this);
        failure::end_now(End::Assumption);
    }
}
