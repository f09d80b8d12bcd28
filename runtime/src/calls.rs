//! Callbacks of function entry and exit. They are logged without a decision: they touch nothing shared.

use crate::{
    frames, log, repeats,
    state::{SHARED, recording_memory},
};
use unsnarl_trace::raw::RecordKind;

/// `caller` is the return address of the function, `pc` where it called back, `stack` and `frame` its
/// stack and frame pointers at that moment.
unsafe extern "C" fn enter(caller: u64, pc: u64, stack: u64, frame: u64) {
    let Some(this) = recording_memory() else {
        return;
    };
    log::resolve_announced(this);
    frames::enter(this, caller, stack);
    if SHARED.record_calls.get() {
        log::push(this, RecordKind::Enter, 0, 0, pc, stack, frame);
        log::push(this, RecordKind::Extra, 0, 0, pc, 0, caller);
    }
}

unsafe extern "C" fn leave(pc: u64) {
    let Some(this) = recording_memory() else {
        return;
    };
    log::resolve_announced(this);
    frames::leave(this);
    let leaves_nothing = repeats::is_on() && log::take_call_back(this);
    if SHARED.record_calls.get() && !leaves_nothing {
        log::push(this, RecordKind::Leave, 0, 0, pc, 0, 0);
    }
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_entry() {
    core::arch::naked_asm!(
        "mov rsi, qword ptr [rsp]",
        "lea rdx, [rsp + 8]",
        "mov rcx, rbp",
        "jmp {target}",
        target = sym enter,
    )
}

crate::entry::entry! {
    __tsan_func_exit, "rdi" => leave;
}

/// Regions that TSan would ignore are recorded like the rest.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_begin() {}

/// See [`__tsan_ignore_thread_begin`].
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_end() {}
