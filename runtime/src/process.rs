//! Ends and copies of the process: `_exit`, `fork`, `exec`.

use crate::{
    entry::entry,
    failure,
    mutex::ready,
    real::real,
    state::{Mode, SHARED, header},
    threads,
};
use core::{
    ffi::{c_char, c_int},
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed},
};
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

/// Around an `exec`: when it works, the log ends here.
fn replace_image(pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    if SHARED.mode.get() == Mode::Off || !failure::is_our_process() {
        return call();
    }
    ready(pc);
    let said = failure::conclude(End::Exec);
    let result = call();
    if said {
        let (exec, running) = (End::Exec as u32, End::Running as u32);
        let taken_back = header()
            .end
            .compare_exchange(exec, running, AcqRel, Acquire);
        debug_assert!(taken_back.is_ok());
    }
    result
}

type Strings = *const *const c_char;

unsafe extern "C-unwind" fn on_execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    pc: u64,
) -> c_int {
    let library = real!("execve", fn(*const c_char, Strings, Strings) -> c_int);
    // SAFETY: the program's own call.
    replace_image(pc, || unsafe { library(path, arguments, environment) })
}

unsafe extern "C-unwind" fn on_execv(path: *const c_char, arguments: Strings, pc: u64) -> c_int {
    let library = real!("execv", fn(*const c_char, Strings) -> c_int);
    // SAFETY: the program's own call.
    replace_image(pc, || unsafe { library(path, arguments) })
}

unsafe extern "C-unwind" fn on_execvp(file: *const c_char, arguments: Strings, pc: u64) -> c_int {
    let library = real!("execvp", fn(*const c_char, Strings) -> c_int);
    // SAFETY: the program's own call.
    replace_image(pc, || unsafe { library(file, arguments) })
}

entry! {
    _exit, "rsi" => exit_now;
    _Exit, "rsi" => exit_now;
    fork, "rdi" => on_fork;
    execve, "rcx" => on_execve;
    execv, "rdx" => on_execv;
    execvp, "rdx" => on_execvp;
}
