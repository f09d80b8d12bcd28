//! The event model: ids, kinds and one row of the event columns.
//!
//! Rows stand in the total order of the run: the row number is the event's id.

use serde::{Deserialize, Serialize};

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

impl PointId {
    /// Returns whether the point is "not known".
    pub fn is_unknown(&self) -> bool {
        *self == PointId(0)
    }
}

/// The kind of an event. The numbers are part of the run file's format.
///
/// `location` is the accessed memory or the synchronization object unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// Plain read.
    Read = 1,
    /// Plain write.
    Write = 2,
    /// Atomic load, also a compare-and-exchange that failed.
    AtomicRead = 3,
    /// Atomic store.
    AtomicWrite = 4,
    /// Atomic read-modify-write: `old` is what it read, `value` what it wrote.
    Rmw = 5,
    /// Memory fence.
    Fence = 6,
    /// Exclusive lock taken.
    Lock = 7,
    /// Exclusive lock released.
    Unlock = 8,
    /// Shared lock taken.
    SharedLock = 9,
    /// Shared lock released.
    SharedUnlock = 10,
    /// An attempt that did not get the lock.
    TryLockFailed = 11,
    /// About to wait for a lock that another thread holds; the `Lock` follows when it is taken.
    LockWait = 12,
    /// Thread creation: `value` is the [`ThreadId`] of the new thread.
    Fork = 13,
    /// First step of a thread.
    Begin = 14,
    /// Last step of a thread.
    End = 15,
    /// Join returned: `value` is the [`ThreadId`] that was joined.
    Join = 16,
    /// Begins to wait on a condition variable; the `Unlock` of the mutex follows as its own event.
    Wait = 17,
    /// Returned from the wait (the `Lock` of the mutex stands before it): `value` is 0 signalled, 1 timed out, 2
    /// spurious.
    Wake = 18,
    /// Signal: `value` is the number of threads that it woke.
    Signal = 19,
    /// Broadcast: `value` is the number of threads that it woke.
    Broadcast = 20,
    /// Arrives at a barrier.
    BarrierArrive = 21,
    /// Leaves a barrier.
    BarrierLeave = 22,
    /// Took a unit of a semaphore.
    SemWait = 23,
    /// Gave a unit to a semaphore.
    SemPost = 24,
    /// Begins a once-only initialization.
    OnceBegin = 25,
    /// Ends a once-only initialization.
    OnceEnd = 26,
    /// Found a once-only initialization done.
    OncePass = 27,
    /// Heap block allocated: `location` is the block (none where there was no memory), `value` its size.
    Alloc = 28,
    /// Heap block freed.
    Free = 29,
    /// Branch: `site` is where it was decided (or the block itself, where that is not known), `value`
    /// the block that was entered, a row of [`RunMeta::blocks`](crate::RunMeta::blocks).
    Branch = 30,
    /// Gave way: `sched_yield`, sleep, a spin that the recorder noticed.
    Yield = 31,
    /// An unfinished thread's place at the end of the run: `location` is what it waited for (none for
    /// a join, where `value` is the [`ThreadId`]), `size` a [`WaitsFor`](crate::raw::WaitsFor) number.
    Blocked = 32,
    /// The failure of the run.
    Failure = 33,
}

impl EventKind {
    /// All kinds, in the order of their numbers, from 1.
    pub const ALL: [EventKind; 33] = {
        use EventKind::*;
        [
            Read,
            Write,
            AtomicRead,
            AtomicWrite,
            Rmw,
            Fence,
            Lock,
            Unlock,
            SharedLock,
            SharedUnlock,
            TryLockFailed,
            LockWait,
            Fork,
            Begin,
            End,
            Join,
            Wait,
            Wake,
            Signal,
            Broadcast,
            BarrierArrive,
            BarrierLeave,
            SemWait,
            SemPost,
            OnceBegin,
            OnceEnd,
            OncePass,
            Alloc,
            Free,
            Branch,
            Yield,
            Blocked,
            Failure,
        ]
    };

    /// The kind with this number.
    pub fn from_u8(n: u8) -> Option<EventKind> {
        Self::ALL.get(usize::from(n).checked_sub(1)?).copied()
    }

    /// The kind with this name, as it stands in the `kind` column.
    pub fn from_name(name: &str) -> Option<EventKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name in the `kind` column.
    pub fn name(self) -> &'static str {
        use EventKind::*;
        match self {
            Read => "read",
            Write => "write",
            AtomicRead => "atomic-read",
            AtomicWrite => "atomic-write",
            Rmw => "rmw",
            Fence => "fence",
            Lock => "lock",
            Unlock => "unlock",
            SharedLock => "shared-lock",
            SharedUnlock => "shared-unlock",
            TryLockFailed => "trylock-failed",
            LockWait => "lock-wait",
            Fork => "fork",
            Begin => "begin",
            End => "end",
            Join => "join",
            Wait => "wait",
            Wake => "wake",
            Signal => "signal",
            Broadcast => "broadcast",
            BarrierArrive => "barrier-arrive",
            BarrierLeave => "barrier-leave",
            SemWait => "sem-wait",
            SemPost => "sem-post",
            OnceBegin => "once-begin",
            OnceEnd => "once-end",
            OncePass => "once-pass",
            Alloc => "alloc",
            Free => "free",
            Branch => "branch",
            Yield => "yield",
            Blocked => "blocked",
            Failure => "failure",
        }
    }

    /// Returns whether the event reads memory: plain and atomic reads, read-modify-writes.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::AtomicRead | Self::Rmw)
    }

    /// Returns whether the event writes memory: plain and atomic writes, read-modify-writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite | Self::Rmw)
    }

    /// Returns whether the event reads or writes memory.
    pub fn is_access(self) -> bool {
        self.reads() || self.writes()
    }

    /// Returns whether the event is an access that cannot be torn and never races.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicWrite | Self::Rmw)
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
    /// The memory order, for atomic accesses and fences.
    pub fn order(&self) -> Option<MemoryOrder> {
        MemoryOrder::from_u16((self.flags >> flags::ORDER_SHIFT & 7).checked_sub(1)?)
    }
}
