//! Listeners to each record as it is written: a schedule that is followed by its events, and a debugger.

use crate::{
    follow,
    state::{Thread, header},
};
use core::{
    arch::naked_asm,
    sync::atomic::Ordering::{Relaxed, Release},
};
use unsnarl_trace::raw::RecordKind;

/// Notes that a record was written as number `index` of the log.
#[cold]
pub fn note(this: &Thread, kind: RecordKind, pc: u64, index: u64) {
    use RecordKind::{Detach, Enter, Exit, Extra, Leave};
    // What the run file has no row for.
    if matches!(kind, Extra | Enter | Leave | Detach | Exit) {
        return;
    }
    follow::happened(this, kind, pc, index);
    if header().is_debugged != 0 {
        tell_debugger(index);
    }
}

fn tell_debugger(index: u64) {
    let header = header();
    let number = header.events.load(Relaxed);
    header.last_event.store(index, Relaxed);
    header.events.store(number + 1, Release);
    if number >= header.stop_at.load(Relaxed) {
        // SAFETY: does nothing.
        unsafe { unsnarl_stop() };
    }
}

/// Function at which the debugger stops the program.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unsnarl_stop() {
    naked_asm!("nop", "ret")
}
