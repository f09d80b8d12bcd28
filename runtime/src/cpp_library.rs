//! Functions of the C++ library that change the program's own objects.

use crate::{access, entry::entry, log, real::real, state::recording_memory};
use core::mem::size_of;

/// `std::thread`: the library's handle, 0 when there is no thread.
type Handle = libc::pthread_t;

/// Makes a call of a member function of `std::thread` that clears the handle, unless it throws.
///
/// # Safety
/// It is the program's own call.
unsafe fn forgets(thread: *mut Handle, pc: u64, call: unsafe extern "C-unwind" fn(*mut Handle)) {
    let this = recording_memory();
    if let Some(this) = this {
        log::resolve(this);
        // SAFETY: the library reads it next.
        unsafe { access::log_read(this, thread.cast(), size_of::<Handle>(), pc) };
    }
    // SAFETY: the caller's.
    unsafe { call(thread) };
    if let Some(this) = this {
        access::log_written(this, thread.cast(), size_of::<Handle>(), pc);
    }
}

unsafe extern "C-unwind" fn on_join(thread: *mut Handle, pc: u64) {
    let library = real!("_ZNSt6thread4joinEv", fn(*mut Handle) -> ());
    // SAFETY: the program's own call.
    unsafe { forgets(thread, pc, library) };
}

unsafe extern "C-unwind" fn on_detach(thread: *mut Handle, pc: u64) {
    let library = real!("_ZNSt6thread6detachEv", fn(*mut Handle) -> ());
    // SAFETY: the program's own call.
    unsafe { forgets(thread, pc, library) };
}

entry! {
    _ZNSt6thread4joinEv, "rsi" => on_join;
    _ZNSt6thread6detachEv, "rsi" => on_detach;
}
