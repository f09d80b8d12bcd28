//! Programs at fixed addresses. The addresses of a program and its data decide what it computes as soon as an address
//! becomes a number: a hash of a thread's id, the C++ library's table of waiters.
//!
//! The personality flag that turns randomization off belongs to a thread and is inherited by the processes that it
//! starts.

use std::{ffi::c_ulong, io};

/// Argument that queries the personality without changing it.
const ASK: c_ulong = 0xffff_ffff;

/// Starts a program that the kernel loads at the same addresses each time, where it allows that.
pub fn fixed<T>(start: impl FnOnce() -> T) -> T {
    let Ok(before) = personality(ASK) else {
        return start();
    };
    if personality(before | FIXED).is_err() {
        return start();
    }
    let started = start();
    // What was allowed before is allowed again.
    let _ = personality(before);
    started
}

/// The reason for which programs get other addresses in each run, with the next step; `None` if they don't.
#[must_use]
pub fn obstacle() -> Option<String> {
    let before = personality(ASK);
    let tried = before.and_then(|before| {
        personality(before | FIXED)?;
        personality(before)
    });
    let error = tried.err()?;
    Some(format!(
        "the kernel refuses to start programs at fixed addresses (personality: {error}): a program that computes with addresses may not repeat a recorded run\n  next: allow it; for a container: docker run --security-opt seccomp=unconfined"
    ))
}

const FIXED: c_ulong = libc::ADDR_NO_RANDOMIZE as c_ulong;

fn personality(wanted: c_ulong) -> io::Result<c_ulong> {
    // SAFETY: a plain number; changes how the calling thread's later programs are laid out.
    match unsafe { libc::personality(wanted) } {
        -1 => Err(io::Error::last_os_error()),
        before => Ok(before.cast_unsigned().into()),
    }
}
