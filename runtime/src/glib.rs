//! GLib's locks, conditions and once-only initializations. They are words that the library changes by itself, with the
//! kernel's queue behind them, so a recorder of library calls would see nothing but threads that find one taken. Here
//! they are the same steps as their siblings of POSIX threads, on objects of another size.
//!
//! A program without GLib has these entries and never calls them: nothing is looked up before the first call. GLib's own
//! code is bound to its own functions; its locks are not shared with the program, and where a thread has to wait in it, the
//! wait is a `futex` by `syscall`, which is virtual as well.

mod conditions;
mod locks;
mod once;
mod pairs;
mod queues;

use crate::{
    access, log,
    state::{Thread, recording},
};
use core::ffi::c_int;

/// GLib's `gboolean`.
type Boolean = c_int;

/// The calling thread, ready for a step on the object at this address. The C library calls none of these functions: where a
/// call seems to stand there, it is the last one of a function that the C library has called, such as a constructor.
fn ready_at(object: usize, pc: u64) -> Option<&'static Thread> {
    let this = recording()?;
    log::resolve(this);
    // SAFETY: the library would access the object next.
    unsafe { access::sample_for(this, object as *const u8, 1, pc) };
    Some(this)
}

/// The status of a call of the library that returns whether it has got the lock.
fn status(taken: Boolean) -> c_int {
    match taken {
        0 => libc::EBUSY,
        _ => 0,
    }
}

/// `glib!("g_name", fn(A) -> B)`: what looks up the library's function, to be called where it is needed.
macro_rules! glib {
    ($name:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        || $crate::real::real!($name in c"libglib-2.0.so.0", fn($($t),*) -> $r)
    };
}
use glib;
