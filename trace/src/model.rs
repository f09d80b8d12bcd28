//! The event model: ids, kinds and one row of the event columns.
//!
//! Rows stand in the total order of the run: the row number is the event's id.

use crate::{index::Id, raw::WaitsFor};
use serde::{Deserialize, Serialize};

pub use crate::kinds::EventKind;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl $name {
            /// The id as an index into its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            const NAME: &'static str = stringify!($name);

            #[inline]
            fn number(self) -> usize {
                self.0 as usize
            }

            #[inline]
            fn of_number(number: usize) -> Option<$name> {
                <$int>::try_from(number).ok().map($name)
            }
        }
    };
}

id! {
    /// A row of the event columns.
    EventId(u32)
}
id! {
    /// A thread of one run: index into [`RunMeta::threads`](crate::RunMeta::threads), in the order of creation.
    ThreadId(u16)
}
id! {
    /// A static program point: index into [`RunMeta::sites`](crate::RunMeta::sites). 0 is "not known".
    SiteId(u32)
}
id! {
    /// A memory location or synchronization object: index into [`Run::locations`](crate::Run::locations). 0 is
    /// "none".
    LocationId(u32)
}
id! {
    /// A call stack: index into [`RunMeta::frames`](crate::RunMeta::frames). 0 is the thread's first function.
    StackId(u32)
}
id! {
    /// An instruction of the program model: index into [`RunMeta::points`](crate::RunMeta::points). 0 is "not known".
    PointId(u32)
}

id! {
    /// A unit of the program model: index into [`RunMeta::units`](crate::RunMeta::units).
    UnitNameId(u32)
}

impl PointId {
    /// Returns whether the point is "not known".
    pub fn is_unknown(&self) -> bool {
        *self == PointId(0)
    }
}

/// Memory order of an atomic access or fence, as written in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of C11")]
pub enum MemoryOrder {
    Relaxed = 0,
    Consume = 1,
    Acquire = 2,
    Release = 3,
    AcqRel = 4,
    SeqCst = 5,
}

impl MemoryOrder {
    /// The order with this number.
    pub fn from_u16(n: u16) -> Option<MemoryOrder> {
        use MemoryOrder::*;
        [Relaxed, Consume, Acquire, Release, AcqRel, SeqCst]
            .get(usize::from(n))
            .copied()
    }
}

/// Bits of the `flags` column.
pub mod flags {
    /// Volatile access.
    pub const VOLATILE: u16 = 1;
    /// Part of a range access (`memcpy`, structure copy): rows of one range share their `seq`.
    pub const RANGE: u16 = 2;
    /// Memory on the stack of the accessing thread.
    pub const OWN_STACK: u16 = 4;
    /// The write may not have been executed: the run ended in it.
    pub const UNFINISHED: u16 = 8;
    /// The compiler moved the access away from its line: the instruction stands elsewhere in the function.
    pub const MOVED: u16 = 16;
    /// The lock was taken by an attempt that would not have waited.
    pub const TRIED: u16 = 32;
    /// The last of several equal writes, of which the first has an event as well, and those between them have none.
    pub const LAST_WRITE: u16 = 64;
    /// Bits 8 to 10: memory order plus one of an atomic access or fence; 0 when it is neither.
    pub const ORDER_SHIFT: u16 = 8;
}

/// A value that was read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Plain bits, zero-extended from the size of the access (the low eight bytes of larger ones).
    Bits(u64),
    /// The address of a location: pointers have no number that means the same in another run.
    Address(LocationId),
}

impl Value {
    /// The bits; `None` of an address.
    pub fn bits(self) -> Option<u64> {
        match self {
            Value::Bits(bits) => Some(bits),
            Value::Address(_) => None,
        }
    }
}

/// One row of the event columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Recorder's sequence number; pieces of one access share it, a gap means lost events.
    pub seq: u64,
    /// The thread that executed the event.
    pub thread: ThreadId,
    /// Kind of the event.
    pub kind: EventKind,
    /// Site of the event.
    pub site: SiteId,
    /// The accessed location or synchronization object.
    pub location: LocationId,
    /// Size of the access in bytes.
    pub size: u32,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Value read or written; see the kind.
    pub value: Option<Value>,
    /// Value that a read-modify-write found.
    pub old: Option<u64>,
    /// Call stack of the event.
    pub stack: StackId,
    /// The instruction in the program model.
    pub point: PointId,
}

impl Event {
    /// Returns whether the value of such an event is a thread: the one that was created, was joined or is waited for.
    pub fn names_thread(&self) -> bool {
        match self.kind {
            EventKind::Fork | EventKind::Join => true,
            EventKind::Blocked => self.size == WaitsFor::Join as u32,
            _ => false,
        }
    }

    /// The thread that was created, was joined or is waited for; `None` if it is not known or the event names none.
    pub fn other_thread(&self) -> Option<ThreadId> {
        match self.value {
            Some(Value::Bits(id)) if self.names_thread() => u16::try_from(id).ok().map(ThreadId),
            _ => None,
        }
    }

    /// Returns whether it is an atomic update that changes the value, as far as the whole value is known and no address.
    pub fn is_changing_update(&self) -> bool {
        self.bits_of_update().is_some_and(|(old, new)| old != new)
    }

    /// Returns whether it is an atomic update that leaves the value as it was, as far as that is known.
    pub fn is_update_in_vain(&self) -> bool {
        self.bits_of_update().is_some_and(|(old, new)| old == new)
    }

    /// The value that an atomic update found, and the one that it left.
    pub fn bits_of_update(&self) -> Option<(u64, u64)> {
        match self.value {
            Some(Value::Bits(new)) if self.kind == EventKind::Rmw && self.size <= 8 => {
                Some((self.old?, new))
            }
            _ => None,
        }
    }

    /// The memory order, for atomic accesses and fences.
    pub fn order(&self) -> Option<MemoryOrder> {
        MemoryOrder::from_u16((self.flags >> flags::ORDER_SHIFT & 7).checked_sub(1)?)
    }
}
