//! `GRecMutex` and `GRWLock`: two words, the first of which points to a lock of POSIX threads that the library makes when it
//! is first taken. In controlled mode it never is.

use super::{Boolean, glib, locks, ready_at, status};
use crate::{
    entry::entry,
    log,
    mutex::{self, TRIED, WAITED, through_library},
    objects, rwlock,
    state::{Thread, controlled},
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

const OF: LockType = LockType::GlibPair;

/// Locks once more what the thread holds already; returns whether it does.
fn relock(this: &Thread, lock: usize) -> bool {
    let object = objects::at(lock);
    let is_own = object.owner.get() == mutex::me(this);
    if is_own {
        object.depth.set(object.depth.get() + 1);
    }
    is_own
}

fn acquire_again(this: &Thread, lock: usize, pc: u64) -> bool {
    relock(this, lock) || mutex::acquire(this, lock, 0, pc, OF)
}

fn attempt_again(this: &Thread, lock: usize, pc: u64) -> bool {
    relock(this, lock) || mutex::attempt(this, lock, pc, OF)
}

fn acquire(this: &Thread, lock: usize, pc: u64) -> bool {
    mutex::acquire(this, lock, 0, pc, OF)
}

fn acquire_shared(this: &Thread, lock: usize, pc: u64) -> bool {
    rwlock::acquire_shared(this, lock, 0, pc, OF)
}

fn attempt(this: &Thread, lock: usize, pc: u64) -> bool {
    mutex::attempt(this, lock, pc, OF)
}

fn attempt_shared(this: &Thread, lock: usize, pc: u64) -> bool {
    rwlock::attempt_shared(this, lock, pc, OF)
}

/// Defines functions that take a lock: by `$taken` in controlled mode, else by the library's own function.
macro_rules! takes {
    ($($function:ident, $name:literal, $kind:expr, $taken:path;)*) => {$(
        unsafe extern "C-unwind" fn $function(lock: usize, pc: u64) {
            let library = glib!($name, fn(usize) -> ());
            match ready_at(lock, pc) {
                Some(this) if controlled() => drop($taken(this, lock, pc)),
                this => {
                    through_library(this, lock, ($kind, OF, WAITED), pc, || {
                        // SAFETY: the program's own call.
                        unsafe { library()(lock) };
                        0
                    });
                }
            }
        }
    )*};
}

/// The same for attempts.
macro_rules! tries {
    ($($function:ident, $name:literal, $kind:expr, $taken:path;)*) => {$(
        unsafe extern "C-unwind" fn $function(lock: usize, pc: u64) -> Boolean {
            let library = glib!($name, fn(usize) -> Boolean);
            match ready_at(lock, pc) {
                Some(this) if controlled() => c_int::from($taken(this, lock, pc)),
                this => {
                    let call = || {
                        // SAFETY: the program's own call.
                        status(unsafe { library()(lock) })
                    };
                    c_int::from(through_library(this, lock, ($kind, OF, TRIED), pc, call) == 0)
                }
            }
        }
    )*};
}

/// The same for releases, which are logged as `$kind` where nothing is controlled.
macro_rules! releases {
    ($($function:ident, $name:literal, $kind:expr, $released:path;)*) => {$(
        unsafe extern "C-unwind" fn $function(lock: usize, pc: u64) {
            let library = glib!($name, fn(usize) -> ());
            match ready_at(lock, pc) {
                Some(this) if controlled() => return $released(this, lock, pc),
                Some(this) => log::sync(this, $kind, pc, lock, 0),
                None => {}
            }
            // SAFETY: the program's own call.
            unsafe { library()(lock) }
        }
    )*};
}

takes! {
    lock, "g_rec_mutex_lock", RecordKind::Lock, acquire_again;
    write_lock, "g_rw_lock_writer_lock", RecordKind::Lock, acquire;
    read_lock, "g_rw_lock_reader_lock", RecordKind::SharedLock, acquire_shared;
}

tries! {
    try_lock, "g_rec_mutex_trylock", RecordKind::Lock, attempt_again;
    try_write_lock, "g_rw_lock_writer_trylock", RecordKind::Lock, attempt;
    try_read_lock, "g_rw_lock_reader_trylock", RecordKind::SharedLock, attempt_shared;
}

releases! {
    unlock, "g_rec_mutex_unlock", RecordKind::Unlock, locks::give_back;
    write_unlock, "g_rw_lock_writer_unlock", RecordKind::Unlock, rwlock::give_back;
    read_unlock, "g_rw_lock_reader_unlock", RecordKind::SharedUnlock, rwlock::give_back;
}

/// Begins or ends the life of a lock; `true` when the library has to do its part.
unsafe fn renew(lock: usize, pc: u64) -> bool {
    if ready_at(lock, pc).is_none() || !controlled() {
        return true;
    }
    objects::at(lock).reset();
    false
}

/// Makes a lock without the library's part, which it makes when it is first needed.
unsafe fn init(lock: usize, pc: u64, library: impl FnOnce()) {
    // SAFETY: the program's own lock.
    unsafe {
        match renew(lock, pc) {
            true => library(),
            false => (lock as *mut usize).write_volatile(0),
        }
    }
}

/// Ends a lock; the library's part is there if it was taken before anything was recorded.
unsafe fn clear(lock: usize, pc: u64, library: impl FnOnce()) {
    // SAFETY: the program's own lock.
    unsafe {
        if renew(lock, pc) || (lock as *const usize).read_volatile() != 0 {
            library();
        }
    }
}

unsafe extern "C-unwind" fn init_recursive(lock: usize, pc: u64) {
    let library = glib!("g_rec_mutex_init", fn(usize) -> ());
    // SAFETY: the program's own call.
    unsafe { init(lock, pc, || library()(lock)) }
}

unsafe extern "C-unwind" fn init_read_write(lock: usize, pc: u64) {
    let library = glib!("g_rw_lock_init", fn(usize) -> ());
    // SAFETY: the program's own call.
    unsafe { init(lock, pc, || library()(lock)) }
}

unsafe extern "C-unwind" fn clear_recursive(lock: usize, pc: u64) {
    let library = glib!("g_rec_mutex_clear", fn(usize) -> ());
    // SAFETY: the program's own call.
    unsafe { clear(lock, pc, || library()(lock)) }
}

unsafe extern "C-unwind" fn clear_read_write(lock: usize, pc: u64) {
    let library = glib!("g_rw_lock_clear", fn(usize) -> ());
    // SAFETY: the program's own call.
    unsafe { clear(lock, pc, || library()(lock)) }
}

entry! {
    g_rec_mutex_init, "rsi" => init_recursive;
    g_rec_mutex_lock, "rsi" => lock;
    g_rec_mutex_trylock, "rsi" => try_lock;
    g_rec_mutex_unlock, "rsi" => unlock;
    g_rec_mutex_clear, "rsi" => clear_recursive;
    g_rw_lock_init, "rsi" => init_read_write;
    g_rw_lock_writer_lock, "rsi" => write_lock;
    g_rw_lock_writer_trylock, "rsi" => try_write_lock;
    g_rw_lock_writer_unlock, "rsi" => write_unlock;
    g_rw_lock_reader_lock, "rsi" => read_lock;
    g_rw_lock_reader_trylock, "rsi" => try_read_lock;
    g_rw_lock_reader_unlock, "rsi" => read_unlock;
    g_rw_lock_clear, "rsi" => clear_read_write;
}
