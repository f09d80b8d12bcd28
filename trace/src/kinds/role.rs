//! Roles of events, and what follows from a role alone.

use super::{EventKind, ObjectClass, RecordKind};

/// The meaning of an event for other threads, whatever primitive it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventRole {
    /// Accesses memory.
    Access,
    /// Orders the thread's own atomic accesses.
    Fence,
    /// Acquires a lock.
    Acquire {
        /// `true` for reading only.
        shared: bool,
    },
    /// Releases a lock.
    Release {
        /// `true` for a lock held for reading.
        shared: bool,
    },
    /// Fails to acquire a lock without waiting.
    Attempt,
    /// Begins to wait for a lock, whose acquisition is an event of its own.
    Contend,
    /// Creates a thread.
    Fork,
    /// Begins a thread.
    Begin,
    /// Ends a thread.
    End,
    /// Continues after the end of a thread.
    Join,
    /// Begins to wait for a notification; the release of the mutex is an event of its own.
    Sleep,
    /// Returns from that wait; the acquisition of the mutex comes before as an event of its own.
    Resume,
    /// Ends waits for a notification; lost if there are none.
    Notify {
        /// `true` if it ends all of them, not one.
        all: bool,
    },
    /// Arrives at a meeting of several threads, which each leaves when all have arrived.
    Arrive,
    /// Leaves a meeting.
    Leave,
    /// Takes a unit of a count, which is there.
    TakeUnit,
    /// Adds a unit to a count.
    PostUnit,
    /// Begins what opens a gate.
    Enter,
    /// Opens a gate.
    Open,
    /// Passes a gate that is open.
    Pass,
    /// Allocates a block of memory.
    Allocate,
    /// Frees a block of memory.
    Free,
    /// Lets other threads run.
    GiveWay,
    /// Matters to no other thread.
    Local,
}

/// The effect of an operation on its object, which decides whether two operations may change places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectUse {
    /// Leaves the object as it is for all that only look.
    Looks,
    /// Changes it.
    Changes,
}

impl EventRole {
    /// Effect on a synchronization object; `None` for events that are about none.
    pub const fn object_use(self) -> Option<ObjectUse> {
        use EventRole::*;
        match self {
            Acquire { shared: true } | Release { shared: true } | Attempt | Pass => {
                Some(ObjectUse::Looks)
            }
            Acquire { shared: false } | Release { shared: false } | Sleep | Resume => {
                Some(ObjectUse::Changes)
            }
            Notify { .. } | Arrive | Leave | TakeUnit | PostUnit | Enter | Open => {
                Some(ObjectUse::Changes)
            }
            Access | Fence | Contend | Fork | Begin | End | Join => None,
            Allocate | Free | GiveWay | Local => None,
        }
    }

    /// Returns whether the event is a use of a lock.
    pub const fn is_locking(self) -> bool {
        matches!(
            self,
            EventRole::Acquire { .. }
                | EventRole::Release { .. }
                | EventRole::Attempt
                | EventRole::Contend
        )
    }

    /// Returns whether the thread asks for a lock, which it gets now or later.
    pub const fn requests_lock(self) -> bool {
        matches!(self, EventRole::Acquire { .. } | EventRole::Contend)
    }

    /// Returns whether the event acquires a lock.
    pub const fn acquires_lock(self) -> bool {
        matches!(self, EventRole::Acquire { .. })
    }

    /// Returns whether the event releases a lock.
    pub const fn releases_lock(self) -> bool {
        matches!(self, EventRole::Release { .. })
    }

    /// Returns whether the order of the event and of other threads' events can matter.
    pub const fn is_order_relevant(self) -> bool {
        use EventRole::*;
        !matches!(self, Allocate | Begin | End | Contend | GiveWay | Local)
    }

    /// Returns whether a thread publishes with the event what it has done, for others that get it.
    pub const fn publishes(self) -> bool {
        use EventRole::*;
        matches!(
            self,
            Release { .. } | Fork | End | Notify { .. } | Arrive | PostUnit | Open
        )
    }

    /// Returns whether a thread gets with the event what others have published at the object.
    pub const fn obtains(self) -> bool {
        use EventRole::*;
        matches!(
            self,
            Acquire { .. } | Begin | Join | Resume | Leave | TakeUnit | Pass
        )
    }

    /// Returns whether the thread goes on only after another thread's action: all that it obtains but locks.
    pub const fn depends_on_another(self) -> bool {
        self.obtains() && !self.acquires_lock()
    }

    /// Returns whether other threads are meant to act before or after the event: no region of code across it is meant
    /// to be atomic. Units and gates do not tell, since they also serve as locks.
    pub const fn bounds_regions(self) -> bool {
        use EventRole::*;
        matches!(
            self,
            Fork | Join | Begin | End | Sleep | Resume | Notify { .. } | Arrive | Leave
        )
    }

    /// Returns whether the event announces a wait that ends with a later event of the thread.
    pub const fn begins_wait(self) -> bool {
        matches!(
            self,
            EventRole::Sleep | EventRole::Contend | EventRole::Arrive
        )
    }

    /// Returns whether a thread may wait for another thread's action between its event before and its event after this
    /// one.
    pub const fn waits_for_another(self) -> bool {
        matches!(
            self,
            EventRole::Sleep | EventRole::Arrive | EventRole::TakeUnit | EventRole::Join
        )
    }

    /// Returns whether the operation touches the memory of its object where the program calls it.
    pub const fn touches_object(self) -> bool {
        self.is_locking() || self.object_use().is_some() && self.begins_call()
    }

    /// Returns whether the event is the first of the call that makes it, or the only one.
    pub const fn begins_call(self) -> bool {
        use EventRole::*;
        matches!(
            self,
            Sleep
                | Notify { .. }
                | Fork
                | Join
                | Allocate
                | Free
                | Enter
                | Pass
                | Arrive
                | TakeUnit
                | PostUnit
                | GiveWay
        )
    }
}

impl RecordKind {
    /// Returns whether the operation touches the memory of its object where the program calls it.
    pub const fn touches_object(self) -> bool {
        match self.event() {
            Some(kind) => kind.role().touches_object(),
            None => false,
        }
    }
}

impl EventKind {
    /// The kind with this number.
    pub fn from_u8(n: u8) -> Option<EventKind> {
        Self::ALL.get(usize::from(n).checked_sub(1)?).copied()
    }

    /// The kind with this name, as it stands in the `kind` column.
    pub fn from_name(name: &str) -> Option<EventKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Events that an attempt to get a lock or a unit may be, by schedule: it fails, or it succeeds.
    pub const ATTEMPTS: [EventKind; 4] = [
        Self::TryLockFailed,
        Self::Lock,
        Self::SharedLock,
        Self::SemWait,
    ];

    /// The records that become events of this kind.
    pub fn records(self) -> impl Iterator<Item = RecordKind> {
        let all = RecordKind::ALL.iter().copied();
        all.filter(move |record| record.event() == Some(self))
    }

    /// Returns whether the event reads memory: plain and atomic reads, read-modify-writes.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::AtomicRead | Self::Rmw)
    }

    /// Returns whether the event writes memory: plain and atomic writes, read-modify-writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite | Self::Rmw)
    }

    /// Returns whether the event reads or writes memory.
    pub const fn is_access(self) -> bool {
        self.reads() || self.writes()
    }

    /// Returns whether the event is an access that cannot be torn and never races.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicWrite | Self::Rmw)
    }
}

impl ObjectClass {
    /// Returns whether such objects order threads.
    pub const fn is_synchronization(self) -> bool {
        !matches!(
            self,
            ObjectClass::Nothing | ObjectClass::Memory | ObjectClass::Thread
        )
    }
}
