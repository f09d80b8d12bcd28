//! Calls of `unsnarl_check`: parts of the program whose schedules are explored. A run can have choices there only; elsewhere
//! a thread goes on until it waits, yields or ends, as if everything were one atomic region.

use crate::state::{SHARED, controlled, header, recording};
use core::sync::atomic::Ordering::Relaxed;
use unsnarl_trace::raw::{RawStrategy, chance};

/// Prepares a run with these chances ([`chance`]).
pub fn set_up(chances: u32) {
    SHARED.keeps_order.set(chances & chance::WITHIN_CHECKS != 0);
}

/// The strategy that chooses now.
pub fn strategy() -> RawStrategy {
    match SHARED.keeps_order.get() {
        true => RawStrategy::Sequential,
        false => SHARED.strategy.get(),
    }
}

/// Begins a call of `unsnarl_check`.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_check_begin() {
    if recording().filter(|_| controlled()).is_some() {
        header().checks.fetch_add(1, Relaxed);
        count(SHARED.checks.get() + 1);
    }
}

/// Ends a call of `unsnarl_check`.
#[unsafe(no_mangle)]
extern "C-unwind" fn unsnarl_runtime_check_end() {
    if recording().filter(|_| controlled()).is_some() {
        count(SHARED.checks.get().saturating_sub(1));
    }
}

fn count(open: u32) {
    SHARED.checks.set(open);
    let is_limited = SHARED.chances.get() & chance::WITHIN_CHECKS != 0;
    SHARED.keeps_order.set(is_limited && open == 0);
}
