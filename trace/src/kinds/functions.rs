//! The functions of the libraries of C that synchronize, with the events of their calls.

use super::EventKind::{self, *};

/// A function whose calls are events of one object: its first argument.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFunction {
    /// Name of the function.
    pub name: &'static str,
    /// Kinds of events one of which is the last of a call; empty for functions that only prepare an object.
    pub ends: &'static [EventKind],
    /// `true` if a call returns only when the object allows it, or a time is over.
    pub waits: bool,
}

const fn waits(name: &'static str, ends: &'static [EventKind]) -> LibraryFunction {
    let waits = true;
    LibraryFunction { name, ends, waits }
}

const fn returns(name: &'static str, ends: &'static [EventKind]) -> LibraryFunction {
    let waits = false;
    LibraryFunction { name, ends, waits }
}

const fn prepares(name: &'static str) -> LibraryFunction {
    returns(name, &[])
}

impl LibraryFunction {
    /// All functions, those of one object class together.
    pub const ALL: &[LibraryFunction] = &[
        waits("pthread_mutex_lock", &[Lock]),
        waits("mtx_lock", &[Lock]),
        waits("pthread_spin_lock", &[Lock]),
        waits("pthread_rwlock_wrlock", &[Lock]),
        waits("pthread_rwlock_rdlock", &[SharedLock]),
        waits("pthread_mutex_timedlock", &[Lock, TryLockFailed]),
        waits("pthread_mutex_clocklock", &[Lock, TryLockFailed]),
        waits("mtx_timedlock", &[Lock, TryLockFailed]),
        waits("pthread_rwlock_timedwrlock", &[Lock, TryLockFailed]),
        waits("pthread_rwlock_timedrdlock", &[SharedLock, TryLockFailed]),
        waits("pthread_rwlock_clockwrlock", &[Lock, TryLockFailed]),
        waits("pthread_rwlock_clockrdlock", &[SharedLock, TryLockFailed]),
        returns("pthread_mutex_trylock", &[Lock, TryLockFailed]),
        returns("mtx_trylock", &[Lock, TryLockFailed]),
        returns("pthread_spin_trylock", &[Lock, TryLockFailed]),
        returns("pthread_rwlock_trywrlock", &[Lock, TryLockFailed]),
        returns("pthread_rwlock_tryrdlock", &[SharedLock, TryLockFailed]),
        returns("pthread_mutex_unlock", &[Unlock]),
        returns("mtx_unlock", &[Unlock]),
        returns("pthread_spin_unlock", &[Unlock]),
        returns("pthread_rwlock_unlock", &[Unlock, SharedUnlock]),
        waits("g_mutex_lock", &[Lock]),
        waits("g_rec_mutex_lock", &[Lock]),
        waits("g_rw_lock_writer_lock", &[Lock]),
        waits("g_rw_lock_reader_lock", &[SharedLock]),
        returns("g_mutex_trylock", &[Lock, TryLockFailed]),
        returns("g_rec_mutex_trylock", &[Lock, TryLockFailed]),
        returns("g_rw_lock_writer_trylock", &[Lock, TryLockFailed]),
        returns("g_rw_lock_reader_trylock", &[SharedLock, TryLockFailed]),
        returns("g_mutex_unlock", &[Unlock]),
        returns("g_rec_mutex_unlock", &[Unlock]),
        returns("g_rw_lock_writer_unlock", &[Unlock]),
        returns("g_rw_lock_reader_unlock", &[SharedUnlock]),
        prepares("pthread_mutex_init"),
        prepares("pthread_mutex_destroy"),
        prepares("pthread_mutexattr_init"),
        prepares("pthread_mutexattr_settype"),
        prepares("pthread_mutexattr_destroy"),
        prepares("pthread_rwlock_init"),
        prepares("pthread_rwlock_destroy"),
        prepares("pthread_spin_init"),
        prepares("pthread_spin_destroy"),
        prepares("mtx_init"),
        prepares("mtx_destroy"),
        prepares("g_mutex_init"),
        prepares("g_mutex_clear"),
        prepares("g_rec_mutex_init"),
        prepares("g_rec_mutex_clear"),
        prepares("g_rw_lock_init"),
        prepares("g_rw_lock_clear"),
        waits("pthread_cond_wait", &[Wake]),
        waits("pthread_cond_timedwait", &[Wake]),
        waits("pthread_cond_clockwait", &[Wake]),
        waits("cnd_wait", &[Wake]),
        waits("cnd_timedwait", &[Wake]),
        waits("g_cond_wait", &[Wake]),
        waits("g_cond_wait_until", &[Wake]),
        returns("pthread_cond_signal", &[Signal]),
        returns("pthread_cond_broadcast", &[Broadcast]),
        returns("cnd_signal", &[Signal]),
        returns("cnd_broadcast", &[Broadcast]),
        returns("g_cond_signal", &[Signal]),
        returns("g_cond_broadcast", &[Broadcast]),
        prepares("pthread_cond_init"),
        prepares("pthread_cond_destroy"),
        prepares("pthread_condattr_init"),
        prepares("pthread_condattr_setclock"),
        prepares("pthread_condattr_destroy"),
        prepares("cnd_init"),
        prepares("cnd_destroy"),
        prepares("g_cond_init"),
        prepares("g_cond_clear"),
        waits("sem_wait", &[SemWait]),
        waits("sem_timedwait", &[SemWait, TryLockFailed]),
        waits("sem_clockwait", &[SemWait, TryLockFailed]),
        returns("sem_trywait", &[SemWait, TryLockFailed]),
        returns("sem_post", &[SemPost]),
        prepares("sem_init"),
        prepares("sem_destroy"),
        waits("pthread_barrier_wait", &[BarrierLeave]),
        prepares("pthread_barrier_init"),
        prepares("pthread_barrier_destroy"),
        waits("__cxa_guard_acquire", &[OnceBegin, OncePass]),
        returns("__cxa_guard_release", &[OnceEnd]),
        waits("g_once_init_enter", &[OnceBegin, OncePass]),
        waits("g_once_init_enter_pointer", &[OnceBegin, OncePass]),
        returns("g_once_init_leave", &[OnceEnd]),
        returns("g_once_init_leave_pointer", &[OnceEnd]),
    ];

    /// The function with this name.
    pub fn named(name: &str) -> Option<&'static LibraryFunction> {
        Self::ALL.iter().find(|function| function.name == name)
    }

    /// Returns whether the object of the calls is one of such an event: of its class, or the one that the event shares.
    pub fn is_about(&self, kind: EventKind) -> bool {
        let class = |end: &EventKind| end.class() == kind.class();
        self.ends.iter().any(class)
    }

    /// Returns whether a call returns only after an action of another thread on the object.
    pub fn waits_for_another(&self) -> bool {
        let depends = |end: &EventKind| end.role().depends_on_another();
        self.waits && self.ends.iter().any(depends)
    }
}
