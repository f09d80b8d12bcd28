//! Freed blocks of the heap: an access to one ends the run.

use crate::{
    failure,
    quarantine::{Held, Quarantine},
    state::{Thread, header},
};
use unsnarl_trace::raw::{End, RecordKind};

static QUARANTINE: Quarantine = Quarantine::new();

/// The part of a freed block at `address`.
pub fn held(address: usize) -> Held {
    QUARANTINE.held(address)
}

/// Keeps a block that was just freed; `give_back` gets the blocks that are evicted for it.
pub fn keep(block: usize, bytes: usize, give_back: impl FnMut(usize)) {
    let is_watched = header().allow_use_after_free == 0;
    QUARANTINE.keep(block, bytes, is_watched, give_back);
}

/// Bytes that a record of this kind touches at its address.
#[inline(always)]
fn touched(kind: RecordKind, size: u32, value: u64) -> usize {
    use RecordKind as K;
    match kind {
        K::Read | K::Write | K::AtomicRead | K::AtomicWrite | K::Rmw => size as usize,
        K::ReadRange | K::WriteRange => value as usize,
        kind => usize::from(kind.touches_object()),
    }
}

/// Ends the run if the logged step is an access to a freed block.
#[inline(always)]
pub fn check(this: &Thread, kind: RecordKind, size: u32, pc: u64, addr: u64, value: u64) {
    let bytes = touched(kind, size, value);
    if bytes != 0 && QUARANTINE.may_hold(addr as usize, bytes) {
        check_range(this, pc, addr as usize, bytes);
    }
}

#[cold]
fn check_range(this: &Thread, pc: u64, address: usize, bytes: usize) {
    if let Some(freed) = QUARANTINE.first_held(address, bytes) {
        failure::misuse(this, End::UseAfterFree, pc, freed);
    }
}
