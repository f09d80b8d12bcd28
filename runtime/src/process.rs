//! Ends of the process: `_exit`, `exec`.

use crate::{
    entry::{entry, passing},
    failure,
    mutex::ready,
    state::{Mode, SHARED},
    sys,
};
use core::ffi::c_int;
use unsnarl_trace::raw::End;

pub unsafe extern "C-unwind" fn exit_now(status: c_int, _pc: u64) -> ! {
    failure::finish(status);
    sys::exit(status)
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
