//! Translation of records into events.

use unsnarl_trace::{
    EventKind,
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
    if is_atomic {
        bits |= (u16::from(record.flags >> flag::ORDER_SHIFT) + 1) << flags::ORDER_SHIFT;
    }
    bits
}

/// Size in bytes of a synchronization object, for those in untyped memory.
pub(super) fn object_size(record: &Record, kind: RecordKind) -> u64 {
    use RecordKind as K;
    match kind {
        K::Lock | K::Unlock | K::SharedLock | K::SharedUnlock | K::TryFailed | K::LockWait => {
            match record.size {
                size if size == LockType::Spin as u32 => 4,
                size if size == LockType::ReadWrite as u32 => 56,
                _ => 40,
            }
        }
        K::Wait | K::Wake | K::Signal | K::Broadcast => 48,
        K::OnceBegin | K::OnceEnd | K::OncePass => 4,
        K::Blocked => 1,
        _ => 32,
    }
}

pub(super) fn event_kind(kind: RecordKind) -> EventKind {
    use RecordKind as K;
    match kind {
        K::Read | K::ReadRange => EventKind::Read,
        // Enter, Leave, Extra and Detach never get here.
        K::Write | K::WriteRange | K::Enter | K::Leave | K::Extra | K::Detach => EventKind::Write,
        K::AtomicRead => EventKind::AtomicRead,
        K::AtomicWrite => EventKind::AtomicWrite,
        K::Rmw => EventKind::Rmw,
        K::Fence => EventKind::Fence,
        K::Lock => EventKind::Lock,
        K::Unlock => EventKind::Unlock,
        K::SharedLock => EventKind::SharedLock,
        K::SharedUnlock => EventKind::SharedUnlock,
        K::TryFailed => EventKind::TryLockFailed,
        K::LockWait => EventKind::LockWait,
        K::Fork => EventKind::Fork,
        K::Begin => EventKind::Begin,
        K::End => EventKind::End,
        K::Join => EventKind::Join,
        K::Wait => EventKind::Wait,
        K::Wake => EventKind::Wake,
        K::Signal => EventKind::Signal,
        K::Broadcast => EventKind::Broadcast,
        K::BarrierArrive => EventKind::BarrierArrive,
        K::BarrierLeave => EventKind::BarrierLeave,
        K::SemWait => EventKind::SemWait,
        K::SemPost => EventKind::SemPost,
        K::OnceBegin => EventKind::OnceBegin,
        K::OnceEnd => EventKind::OnceEnd,
        K::OncePass => EventKind::OncePass,
        K::Alloc => EventKind::Alloc,
        K::Free => EventKind::Free,
        K::Branch => EventKind::Branch,
        K::Yield => EventKind::Yield,
        K::Blocked => EventKind::Blocked,
        K::Failure => EventKind::Failure,
    }
}
