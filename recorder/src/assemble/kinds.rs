//! Translation of records into events.

use unsnarl_trace::{
    EventKind,
    kinds::ObjectClass,
    model::flags,
    raw::{LockType, Record, RecordKind, flag},
};

/// The bit mask of `size` bytes.
pub(super) fn mask(size: u64) -> u64 {
    if size >= 8 {
        u64::MAX
    } else {
        (1 << (8 * size)) - 1
    }
}

pub(super) fn order_flags(record: &Record, is_atomic: bool) -> u16 {
    let mut bits = 0;
    if record.flags & flag::VOLATILE != 0 {
        bits |= flags::VOLATILE;
    }
    if record.flags & flag::RANGE_WORD != 0 {
        bits |= flags::RANGE;
    }
    if record.flags & flag::LAST_WRITE != 0 {
        bits |= flags::LAST_WRITE;
    }
    if is_atomic {
        bits |= (u16::from(record.flags >> flag::ORDER_SHIFT) + 1) << flags::ORDER_SHIFT;
    }
    bits
}

/// Size in bytes of a synchronization object, for those in untyped memory.
pub(super) fn object_size(record: &Record, kind: RecordKind) -> u64 {
    let class = kind.event().map_or(ObjectClass::Nothing, EventKind::class);
    let is = |of: LockType| record.size == of as u32;
    match class {
        // Others do not tell the lock's type; it has been taken, or somebody else has it.
        ObjectClass::Lock if !matches!(kind, RecordKind::Lock | RecordKind::SharedLock) => 4,
        ObjectClass::Lock if is(LockType::Spin) => 4,
        ObjectClass::Lock if is(LockType::ReadWrite) => 56,
        ObjectClass::Lock if is(LockType::GlibMutex) => 8,
        ObjectClass::Lock if is(LockType::GlibPair) => 16,
        ObjectClass::Condition if is(LockType::GlibMutex) => 16,
        class => class.bytes(),
    }
}
