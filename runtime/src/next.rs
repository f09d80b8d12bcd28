//! The next step of a thread, announced at a decision: known before it happens, so that others can go first, and so
//! that steps which have nothing to do with each other need not be tried in both orders.

use unsnarl_trace::raw::RecordKind;

/// The step that a thread takes once it has the turn. It may leave more records than this one: a
/// `memcpy` is a [`RecordKind::WriteRange`] that reads as well, a wait on a condition variable ends with
/// the [`RecordKind::Lock`] of its mutex, `realloc` is a [`RecordKind::Free`] that also allocates, reads and writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Kind of the record, if the step succeeds.
    pub kind: RecordKind,
    /// Bytes accessed; 0 when not known, or no access.
    pub size: u32,
    /// Program counter as the record will have it; 0 when the step leaves no record.
    pub pc: u64,
    /// Address of the memory or object; 0 when not known, or none.
    pub addr: u64,
}

impl Next {
    /// A step that leaves no record and touches nothing that threads share.
    pub const NOTHING: Next = Next {
        kind: RecordKind::Yield,
        size: 0,
        pc: 0,
        addr: 0,
    };

    /// An operation on an object.
    #[inline(always)]
    pub fn of(kind: RecordKind, pc: u64, object: usize) -> Next {
        Next {
            kind,
            size: 0,
            pc,
            addr: object as u64,
        }
    }

    /// A look at an object, or its end, that leaves no record.
    #[inline(always)]
    pub fn unrecorded(kind: RecordKind, object: usize) -> Next {
        Next::of(kind, 0, object)
    }

    /// An access to memory.
    #[inline(always)]
    pub fn access(kind: RecordKind, pc: u64, addr: *const u8, size: u32) -> Next {
        Next {
            kind,
            size,
            pc,
            addr: addr as u64,
        }
    }

    /// An access to a range of this many bytes.
    #[inline(always)]
    pub fn range(changes: bool, pc: u64, addr: *const u8, bytes: usize) -> Next {
        let kind = match changes {
            true => RecordKind::WriteRange,
            false => RecordKind::ReadRange,
        };
        Next::access(kind, pc, addr, u32::try_from(bytes).unwrap_or(0))
    }
}
