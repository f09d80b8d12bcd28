//! The blocks of code that each thread goes through, in controlled mode.
//!
//! The callback is compiled into every program and returns at once unless the run
//! asks for branches. A block is one record, without a decision: entering it touches nothing shared, so
//! a schedule runs the same with branches and without.

use crate::{log, state::recording};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use unsnarl_trace::raw::RecordKind;

/// Nonzero when blocks are recorded.
static IS_ON: AtomicU8 = AtomicU8::new(0);

/// Says whether blocks are recorded from now on.
pub fn set_up(is_on: bool) {
    IS_ON.store(is_on.into(), Relaxed);
}

/// `pc` is in the block that was entered.
unsafe extern "C" fn entered(pc: u64) {
    let Some(this) = recording() else { return };
    log::resolve_announced(this);
    log::push(this, RecordKind::Branch, 0, 0, pc, 0, 0);
}

/// The compiler's callback at the beginning of a block.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    core::arch::naked_asm!(
        "cmp byte ptr [rip + {is_on}], 0",
        "jne 2f",
        "ret",
        "2:",
        "mov rdi, qword ptr [rsp]",
        "jmp {entered}",
        is_on = sym IS_ON,
        entered = sym entered,
    )
}
