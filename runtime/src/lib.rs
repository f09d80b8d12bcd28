//! The part of unsnarl that runs inside the user's program: callbacks of the compiler's instrumentation, interposed
//! library calls, the raw log and the scheduler.
//!
//! The recorder links it as a static library and hands it a raw log
//! ([`unsnarl_trace::raw`]) by file descriptor; without one the program runs as usual. In *controlled*
//! mode exactly one thread runs: the one that has the turn. It gives the turn away only in
//! [`scheduler::decide`], which every recorded event passes before it happens; so log, virtual locks
//! and clock need no locking of their own. In *free* mode threads run as they like and each record
//! reserves its place in the log by one atomic addition.
//!
//! It never panics, never allocates from the heap that it records, never takes a lock that it records,
//! and touches no memory of the program that the program would not touch itself at that point.
//!
//! Only x86-64 Linux with glibc: entry functions fetch their return address from the stack.
#![no_std]
#![cfg_attr(
    not(feature = "interpose"),
    doc = "\n\n(Built without `interpose`: empty.)"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the exported functions have the contracts of the C functions they stand for"
)]

#[cfg(feature = "interpose")]
mod access;
#[cfg(feature = "interpose")]
mod affinity;
#[cfg(feature = "interpose")]
mod annotations;
#[cfg(any(feature = "interpose", test))]
mod append;
#[cfg(feature = "interpose")]
mod atomics;
#[cfg(feature = "interpose")]
mod barrier;
#[cfg(feature = "interpose")]
mod blocking;
#[cfg(feature = "interpose")]
mod branches;
#[cfg(feature = "interpose")]
mod c11;
#[cfg(feature = "interpose")]
mod calls;
#[cfg(feature = "interpose")]
mod checks;
#[cfg(feature = "interpose")]
mod children;
#[cfg(feature = "interpose")]
mod choices;
#[cfg(feature = "interpose")]
mod chosen;
// Without unsafe code there is nothing for Miri.
#[cfg(any(feature = "interpose", all(test, not(miri))))]
mod condense;
#[cfg(feature = "interpose")]
mod condition;
#[cfg(feature = "interpose")]
mod containers;
#[cfg(feature = "interpose")]
mod conversions;
#[cfg(any(feature = "interpose", test))]
#[cfg_attr(
    not(feature = "interpose"),
    allow(dead_code, reason = "its tests need only a part")
)]
mod copies;
#[cfg(feature = "interpose")]
mod cpp_library;
#[cfg(feature = "interpose")]
mod departure;
#[cfg(feature = "interpose")]
mod descriptors;
#[cfg(feature = "interpose")]
mod entry;
#[cfg(feature = "interpose")]
mod environment;
#[cfg(feature = "interpose")]
mod failure;
#[cfg(feature = "interpose")]
mod files;
#[cfg(feature = "interpose")]
mod follow;
#[cfg(feature = "interpose")]
mod format;
#[cfg(feature = "interpose")]
mod frames;
#[cfg(feature = "interpose")]
mod freed;
#[cfg(feature = "interpose")]
mod futex;
#[cfg(feature = "interpose")]
mod glib;
#[cfg(feature = "interpose")]
mod heap;
#[cfg(feature = "interpose")]
mod hints;
#[cfg(feature = "interpose")]
mod identity;
#[cfg(feature = "interpose")]
mod input;
#[cfg(feature = "interpose")]
mod live;
#[cfg(feature = "interpose")]
mod livelock;
#[cfg(feature = "interpose")]
mod log;
#[cfg(feature = "interpose")]
mod lookup;
#[cfg(feature = "interpose")]
mod mapping;
#[cfg(feature = "interpose")]
mod memory;
#[cfg(feature = "interpose")]
mod modules;
#[cfg(feature = "interpose")]
mod mutex;
#[cfg(feature = "interpose")]
mod next;
#[cfg(feature = "interpose")]
mod objects;
#[cfg(feature = "interpose")]
mod odd_atomics;
#[cfg(feature = "interpose")]
mod once;
#[cfg(feature = "interpose")]
mod openmp;
#[cfg(feature = "interpose")]
mod outside;
#[cfg(feature = "interpose")]
mod path;
#[cfg(any(feature = "interpose", test))]
#[cfg_attr(
    not(feature = "interpose"),
    allow(dead_code, reason = "its tests need only a part")
)]
mod pct;
#[cfg(feature = "interpose")]
mod plan;
#[cfg(feature = "interpose")]
mod polling;
#[cfg(feature = "interpose")]
mod ports;
#[cfg(feature = "interpose")]
mod print;
#[cfg(feature = "interpose")]
mod process;
#[cfg(any(feature = "interpose", test))]
#[cfg_attr(
    not(feature = "interpose"),
    allow(dead_code, reason = "only its tests use it")
)]
mod quarantine;
#[cfg(feature = "interpose")]
mod quiet;
#[cfg(feature = "interpose")]
mod random;
#[cfg(feature = "interpose")]
mod real;
#[cfg(feature = "interpose")]
mod repeats;
#[cfg(feature = "interpose")]
mod results;
#[cfg(feature = "interpose")]
mod robust;
#[cfg(feature = "interpose")]
mod room;
#[cfg(feature = "interpose")]
mod rwlock;
#[cfg(feature = "interpose")]
mod scan;
#[cfg(feature = "interpose")]
mod scheduler;
#[cfg(feature = "interpose")]
mod seeking;
#[cfg(feature = "interpose")]
mod semaphore;
#[cfg(feature = "interpose")]
mod server;
#[cfg(feature = "interpose")]
mod signals;
#[cfg(feature = "interpose")]
mod sockets;
#[cfg(feature = "interpose")]
mod sort;
#[cfg(feature = "interpose")]
mod start;
#[cfg(feature = "interpose")]
mod state;
#[cfg(feature = "interpose")]
mod status;
#[cfg(feature = "interpose")]
mod streams;
#[cfg(feature = "interpose")]
mod stretch;
#[cfg(feature = "interpose")]
mod strings;
#[cfg(feature = "interpose")]
mod surroundings;
#[cfg(feature = "interpose")]
mod sys;
#[cfg(feature = "interpose")]
mod threads;
#[cfg(feature = "interpose")]
mod time;
#[cfg(feature = "interpose")]
mod timers;
#[cfg(any(feature = "interpose", test))]
mod tree;
#[cfg(feature = "interpose")]
mod undefined;
#[cfg(feature = "interpose")]
mod unmodelled;
#[cfg(feature = "interpose")]
mod usage;
#[cfg(feature = "interpose")]
mod watch;
#[cfg(feature = "interpose")]
mod wide;
#[cfg(feature = "interpose")]
mod wide_atomics;

#[cfg(all(feature = "interpose", not(test)))]
#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Nothing here panics; if the compiler kept a path all the same, end as a crash does.
    // SAFETY: ends the process.
    unsafe { libc::_exit(98) }
}

/// The unwinder's personality function for frames of this crate, when the program's exception, `pthread_exit` or
/// cancellation passes them: always "go on". No frame here has anything to clean up.
#[cfg(all(feature = "interpose", not(test)))]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    const URC_CONTINUE_UNWIND: core::ffi::c_int = 8;
    URC_CONTINUE_UNWIND
}
