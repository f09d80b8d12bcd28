//! Places that are passed over: accesses at which no other thread gets the turn, because no run so far has seen them
//! meet another thread's. The recorder mixes runs that pass them over with runs that do not.

use crate::{
    modules,
    next::Next,
    state::{SHARED, header},
};
use unsnarl_trace::raw::{self, RecordKind, quiet_slot};

/// Reads the position of the table.
pub fn set_up(header: &raw::Header) {
    let base = SHARED.header.get() as usize;
    SHARED
        .quiet
        .set((base + header.quiet_at as usize) as *const u32);
    SHARED.quiet_len.set(header.quiet_len);
}

/// Returns whether the thread stays at its next step without a choice.
#[inline(always)]
pub fn is_quiet(next: Next) -> bool {
    SHARED.quiet_len.get() != 0 && is_listed(next)
}

fn is_listed(next: Next) -> bool {
    if !matches!(next.kind, RecordKind::Read | RecordKind::Write) {
        return false;
    }
    let Some(place) = modules::place_in_program(next.pc) else {
        return false;
    };
    let len = header().quiet_len;
    let mut slot = quiet_slot(place, len);
    // The table has empty places; the bound is there for a program that spoils it.
    for _ in 0..len {
        // SAFETY: below the length that the recorder wrote.
        match unsafe { *SHARED.quiet.get().add(slot as usize) } {
            0 => return false,
            found if found == place => return true,
            _ => slot = (slot + 1) % len,
        }
    }
    false
}
