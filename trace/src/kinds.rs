//! The vocabulary of events: one row for each kind of record, kind of event, object and wait.
//!
//! A row holds all that other crates need to know of a kind: the number and the name in files, the verb, the class
//! of its object, and its [`EventRole`]. Whoever works on orders asks for the role, so a primitive whose events have
//! roles that exist needs rows here and no code there; a role of its own makes the compiler ask for its meaning
//! wherever orders are made, checked or compared.

mod functions;
#[macro_use]
mod tables;
mod role;
#[cfg(all(test, feature = "file"))]
mod tests;

pub use functions::LibraryFunction;
pub use role::{EventRole, ObjectUse};

record_kinds! {
    /// Plain read.
    Read = 1 => Read;
    /// Plain write.
    Write = 2 => Write;
    /// Atomic load, or a compare-and-exchange that failed.
    AtomicRead = 3 => AtomicRead;
    /// Atomic store.
    AtomicWrite = 4 => AtomicWrite;
    /// Atomic read-modify-write: `value` is what it wrote; an [`RecordKind::Extra`] with what it read follows.
    Rmw = 5 => Rmw;
    /// Fence; `value` is its memory order.
    Fence = 6 => Fence;
    /// Read of `value` bytes from `addr`, too many to be logged word by word.
    ReadRange = 7 => Read;
    /// Write of `value` bytes at `addr`.
    WriteRange = 8 => Write;
    /// Belongs to the record before it in the same thread: the high half of the value of an access of
    /// 16 bytes (of a read-modify-write three: what it read, low; what it wrote, high; what it read, high).
    Extra = 9;

    /// Exclusive lock taken; `size` is a [`LockType`](crate::raw::LockType), as it is of a shared lock and, for the lock that
    /// goes with it, of a step on a condition variable.
    Lock = 10 => Lock;
    /// Exclusive lock released.
    Unlock = 11 => Unlock;
    /// Shared lock taken.
    SharedLock = 12 => SharedLock;
    /// Shared lock released.
    SharedUnlock = 13 => SharedUnlock;
    /// An attempt that did not get the lock.
    TryFailed = 14 => TryLockFailed;
    /// The thread is about to wait for a lock that somebody holds.
    LockWait = 15 => LockWait;

    /// Thread creation; `value` is the number of the new thread.
    Fork = 20 => Fork;
    /// First step of a thread.
    Begin = 21 => Begin;
    /// Last step of a thread.
    End = 22 => End;
    /// Join returned; `value` is the number of the joined thread.
    Join = 23 => Join;
    /// Detached; `value` is the number of the detached thread.
    Detach = 24;
    /// The program ends itself, by `exit` and its like.
    Exit = 25;

    /// Begins to wait on a condition variable (the release of its mutex follows as its own record).
    Wait = 30 => Wait;
    /// Returns from the wait (the mutex was taken just before): `value` 0 signalled, 1 timed out, 2 spurious.
    Wake = 31 => Wake;
    /// Signal; `value` is the number of threads woken.
    Signal = 32 => Signal;
    /// Broadcast; `value` is the number of threads woken.
    Broadcast = 33 => Broadcast;
    /// Arrives at a barrier.
    BarrierArrive = 34 => BarrierArrive;
    /// Leaves a barrier.
    BarrierLeave = 35 => BarrierLeave;
    /// Took a unit of a semaphore.
    SemWait = 36 => SemWait;
    /// Gave a unit to a semaphore.
    SemPost = 37 => SemPost;
    /// Begins a once-only initialization.
    OnceBegin = 38 => OnceBegin;
    /// Ends it.
    OnceEnd = 39 => OnceEnd;
    /// Found it done.
    OncePass = 40 => OncePass;

    /// Block of `value` bytes at `addr`, which is 0 where there was no memory.
    Alloc = 50 => Alloc;
    /// Block at `addr` given back.
    Free = 51 => Free;

    /// Function entered: `pc` in the callee, `addr` the stack pointer at the callback's call, `value` the
    /// frame pointer register; an [`RecordKind::Extra`] whose `value` is the return address into the caller follows.
    Enter = 60;
    /// Function left.
    Leave = 61;
    /// Block of code entered, when asked for: `pc` identifies it.
    Branch = 62 => Branch;
    /// `sched_yield`, sleep, or a spin that was noticed.
    Yield = 63 => Yield;

    /// The failure: `value` an [`End`](crate::raw::End).
    Failure = 80 => Failure;
    /// The last place of an unfinished thread when the run ended; `size` a [`WaitsFor`], `addr` its object.
    Blocked = 81 => Blocked;
}

event_kinds! {
    /// Plain read.
    Read = 1, "read", "reads", Memory, EventRole::Access;
    /// Plain write.
    Write = 2, "write", "writes", Memory, EventRole::Access;
    /// Atomic load, also a compare-and-exchange that failed.
    AtomicRead = 3, "atomic-read", "atomically reads", Memory, EventRole::Access;
    /// Atomic store.
    AtomicWrite = 4, "atomic-write", "atomically writes", Memory, EventRole::Access;
    /// Atomic read-modify-write: `old` is what it read, `value` what it wrote.
    Rmw = 5, "rmw", "atomically updates", Memory, EventRole::Access;
    /// Memory fence.
    Fence = 6, "fence", "passes a fence", Nothing, EventRole::Fence;
    /// Exclusive lock taken.
    Lock = 7, "lock", "locks", Lock, EventRole::Acquire { shared: false };
    /// Exclusive lock released.
    Unlock = 8, "unlock", "unlocks", Lock, EventRole::Release { shared: false };
    /// Shared lock taken.
    SharedLock = 9, "shared-lock", "locks for reading", Lock, EventRole::Acquire { shared: true };
    /// Shared lock released.
    SharedUnlock = 10, "shared-unlock", "gives up reading", Lock, EventRole::Release { shared: true };
    /// An attempt that did not get the lock.
    TryLockFailed = 11, "trylock-failed", "does not get", Lock, EventRole::Attempt;
    /// About to wait for a lock that another thread holds; the `Lock` follows when it is taken.
    LockWait = 12, "lock-wait", "has to wait for", Lock, EventRole::Contend;
    /// Thread creation: `value` is the number of the new thread.
    Fork = 13, "fork", "creates", Thread, EventRole::Fork;
    /// First step of a thread.
    Begin = 14, "begin", "begins", Nothing, EventRole::Begin;
    /// Last step of a thread.
    End = 15, "end", "ends", Nothing, EventRole::End;
    /// Join returned: `value` is the number of the thread that was joined.
    Join = 16, "join", "has joined", Thread, EventRole::Join;
    /// Begins to wait on a condition variable; the `Unlock` of the mutex follows as its own event.
    Wait = 17, "wait", "waits for", Condition, EventRole::Sleep;
    /// Returned from the wait (the `Lock` of the mutex stands before it): `value` is 0 signalled, 1 timed out, 2
    /// spurious.
    Wake = 18, "wake", "returns from waiting for", Condition, EventRole::Resume;
    /// Signal: `value` is the number of threads that it woke.
    Signal = 19, "signal", "signals", Condition, EventRole::Notify { all: false };
    /// Broadcast: `value` is the number of threads that it woke.
    Broadcast = 20, "broadcast", "signals all waiters of", Condition, EventRole::Notify { all: true };
    /// Arrives at a barrier.
    BarrierArrive = 21, "barrier-arrive", "arrives at", Barrier, EventRole::Arrive;
    /// Leaves a barrier.
    BarrierLeave = 22, "barrier-leave", "leaves", Barrier, EventRole::Leave;
    /// Took a unit of a semaphore.
    SemWait = 23, "sem-wait", "takes a unit of", Semaphore, EventRole::TakeUnit;
    /// Gave a unit to a semaphore.
    SemPost = 24, "sem-post", "gives a unit to", Semaphore, EventRole::PostUnit;
    /// Begins a once-only initialization.
    OnceBegin = 25, "once-begin", "begins to initialize", Once, EventRole::Enter;
    /// Ends a once-only initialization.
    OnceEnd = 26, "once-end", "has initialized", Once, EventRole::Open;
    /// Found a once-only initialization done.
    OncePass = 27, "once-pass", "finds initialized", Once, EventRole::Pass;
    /// Heap block allocated: `location` is the block (none where there was no memory), `value` its size.
    Alloc = 28, "alloc", "allocates", Memory, EventRole::Allocate;
    /// Heap block freed.
    Free = 29, "free", "frees", Memory, EventRole::Free;
    /// Branch: `site` is where it was decided (or the block itself, where that is not known), `value`
    /// the block that was entered, a row of the metadata's table of blocks.
    Branch = 30, "branch", "takes a branch", Nothing, EventRole::Local;
    /// Gave way: `sched_yield`, sleep, a spin that the recorder noticed.
    Yield = 31, "yield", "gives way", Nothing, EventRole::GiveWay;
    /// An unfinished thread's place at the end of the run: `location` is what it waited for (none for
    /// a join, where `value` is the number of the thread), `size` a [`WaitsFor`] number.
    Blocked = 32, "blocked", "waits for ever for", Nothing, EventRole::Local;
    /// The failure of the run.
    Failure = 33, "failure", "fails", Nothing, EventRole::Local;
}

object_classes! {
    /// No object.
    Nothing: 1 [] [];
    /// Memory of the program's own types.
    Memory: 1 ["atomic_flag"] ["atomic", "__atomic_base", "atomic_flag"];
    /// A thread.
    Thread: 1 ["thrd_t", "pthread_attr_t"] ["thread"];
    /// A mutex, a spin lock or a lock of readers and writers; the size is that of a mutex.
    Lock: 40
        ["pthread_mutex_t", "pthread_rwlock_t", "pthread_spinlock_t", "pthread_mutexattr_t", "mtx_t", "GMutex",
            "GRecMutex", "GRWLock"]
        ["mutex", "recursive_mutex", "timed_mutex", "recursive_timed_mutex", "shared_mutex", "shared_timed_mutex"];
    /// A condition variable.
    Condition: 48
        ["pthread_cond_t", "pthread_condattr_t", "cnd_t", "GCond"]
        ["condition_variable", "condition_variable_any"];
    /// A barrier.
    Barrier: 32 ["pthread_barrier_t"] ["barrier", "latch"];
    /// A semaphore.
    Semaphore: 32 ["sem_t"] ["counting_semaphore"];
    /// The flag of a once-only initialization.
    Once: 4 ["pthread_once_t", "once_flag"] ["once_flag"];
}

waits! {
    /// Nothing: the thread could go on.
    Nothing = 0, "nothing", "something", Nothing;
    /// A mutex, a spinlock or a write lock held by another thread.
    Lock = 1, "lock", "a lock", Lock;
    /// A read lock.
    SharedLock = 2, "shared-lock", "a lock", Lock;
    /// A signal on a condition variable.
    Condition = 3, "condition", "a signal", Condition;
    /// The end of another thread; `wait_object` is its number.
    Join = 4, "join", "the end of a thread", Thread;
    /// A semaphore.
    Semaphore = 5, "semaphore", "a semaphore", Semaphore;
    /// The others at a barrier.
    Barrier = 6, "barrier", "the others at a barrier", Barrier;
    /// The end of a once-only initialization.
    Once = 7, "once", "the end of an initialization", Once;
    /// A point in time.
    Time = 8, "time", "a time", Nothing;
    /// Input or output on a file descriptor.
    Io = 9, "io", "input or output", Nothing;
    /// The end of a child process.
    Process = 10, "process", "the end of a child process", Nothing;
    /// A signal.
    Signal = 11, "signal", "a signal of the system", Nothing;
    /// A wake-up of `futex`, called by the program itself.
    Futex = 12, "futex", "a wake-up", Memory;
    /// A connection to a socket that listens.
    Connection = 13, "connection", "a connection", Nothing;
}
