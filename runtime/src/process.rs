//! Ends of the process: `exit`, `_exit`, `quick_exit`, `exec`.

use crate::{
    departure,
    entry::{entry, passing},
    failure,
    mutex::ready,
    real::real,
    state::{Mode, SHARED},
    sys,
};
use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};
use unsnarl_trace::raw::End;

pub unsafe extern "C-unwind" fn exit_now(status: c_int, pc: u64) -> ! {
    failure::note_exit(pc, status);
    failure::finish(status);
    sys::exit(status)
}

/// Handler before `exit`. While another thread is about to end the process there, no handler is left that would note
/// the end, and newer C libraries let this thread wait for the other one with the turn.
unsafe extern "C" fn note_exit(pc: u64, status: usize) {
    failure::note_exit(pc, status as c_int);
    if !departure::is_exit_under_way() {
        return;
    }
    failure::finish(status as c_int);
    let flush = real!("fflush", fn(*mut c_void) -> c_int);
    // SAFETY: null stands for all streams.
    unsafe { flush(null_mut()) };
    sys::exit(status as c_int)
}

passing! { note_exit;
    exit, find_exit;
}

unsafe extern "C" {
    fn at_quick_exit(handler: unsafe extern "C" fn()) -> c_int;
}

/// Argument of `quick_exit`: its handlers do not get it.
static QUICK_STATUS: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn finish_quickly() {
    failure::finish(QUICK_STATUS.load(Relaxed));
}

/// Registers the handler of `quick_exit` that runs last, because it is registered first.
pub fn watch_quick_exit() {
    // SAFETY: a handler with the right signature.
    unsafe { at_quick_exit(finish_quickly) };
}

unsafe extern "C" fn note_quick_exit(pc: u64, status: usize) {
    failure::note_exit(pc, status as c_int);
    QUICK_STATUS.store(status as c_int, Relaxed);
}

passing! { note_quick_exit;
    quick_exit, find_quick_exit;
}

/// Handler before an `exec`: if it succeeds, the log ends here; if not, the program goes on and a later end is the
/// true one.
unsafe extern "C" fn note_exec(pc: u64) {
    if SHARED.mode.get() != Mode::Off && failure::is_our_process() {
        if let Some(this) = ready(pc) {
            departure::arrive(this);
        }
        failure::conclude(End::Exec);
    }
}

passing! { note_exec;
    execve, find_execve;
    execv, find_execv;
    execvp, find_execvp;
    execvpe, find_execvpe;
    fexecve, find_fexecve;
    execl, find_execl;
    execlp, find_execlp;
    execle, find_execle;
}

entry! {
    _exit, "rsi" => exit_now;
    _Exit, "rsi" => exit_now;
}
