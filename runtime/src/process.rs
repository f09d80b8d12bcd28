//! Ends of the process: `_exit`, `quick_exit`, `exec`.

use crate::{
    entry::{entry, passing},
    failure,
    mutex::ready,
    state::{Mode, SHARED},
    sys,
};
use core::{
    ffi::c_int,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};
use unsnarl_trace::raw::End;

pub unsafe extern "C-unwind" fn exit_now(status: c_int, _pc: u64) -> ! {
    failure::finish(status);
    sys::exit(status)
}

unsafe extern "C" {
    fn at_quick_exit(handler: unsafe extern "C" fn()) -> c_int;
}

/// What `quick_exit` was called with: its handlers are not told.
static QUICK_STATUS: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn finish_quickly() {
    failure::finish(QUICK_STATUS.load(Relaxed));
}

/// The last of the handlers of `quick_exit`, because it is registered first.
pub fn watch_quick_exit() {
    // SAFETY: a handler with the right signature.
    unsafe { at_quick_exit(finish_quickly) };
}

unsafe extern "C" fn note_quick_exit(_pc: u64, status: usize) {
    QUICK_STATUS.store(status as c_int, Relaxed);
}

passing! { note_quick_exit;
    quick_exit, find_quick_exit;
}

/// Before an `exec`: when it works, the log ends here; when not, the program goes on and a later end
/// is the true one.
unsafe extern "C" fn note_exec(pc: u64) {
    if SHARED.mode.get() != Mode::Off && failure::is_our_process() {
        ready(pc);
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
