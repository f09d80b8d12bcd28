//! Ends and copies of the process: `_exit`, `fork`, `exec`.

use crate::{
    entry::{entry, passing},
    failure,
    mutex::ready,
    real::real,
    state::{Mode, SHARED, header},
    threads,
};
use core::{ffi::c_int, sync::atomic::Ordering::Relaxed};
use unsnarl_trace::raw::End;

unsafe extern "C-unwind" fn exit_now(status: c_int, _pc: u64) -> ! {
    failure::finish(status);
    // SAFETY: ends the process, as the program asked.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    loop {
        core::hint::spin_loop();
    }
}

unsafe extern "C-unwind" fn on_fork(pc: u64) -> c_int {
    let library = real!("fork", fn() -> c_int);
    let recorded = ready(pc).is_some();
    // SAFETY: the program's own call.
    let child = unsafe { library() };
    if SHARED.mode.get() == Mode::Off {
        return child;
    }
    match child {
        0 => threads::leave_recording(),
        _ if child > 0 && recorded => {
            header().forks.fetch_add(1, Relaxed);
        }
        _ => {}
    }
    child
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
    fork, "rdi" => on_fork;
}
