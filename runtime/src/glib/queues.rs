//! `GAsyncQueue`. The library's functions for callers that hold the queue's lock do the work; the lock is a virtual one at
//! the address of the queue, and the condition of those that wait for an item is one behind it, as in the library's struct.

use super::{Boolean, glib, locks, ready_at};
use crate::{
    condition::{self, WaitPair},
    entry::entry,
    mutex::{self},
    objects,
    state::{SHARED, Thread, controlled},
};
use core::ffi::c_int;
use unsnarl_trace::raw::{LockType, RecordKind};

const OF: LockType = LockType::GlibMutex;
/// Offset of the condition in a queue.
const CONDITION: usize = 8;

/// Makes a call with the queue's lock, or the library's own where nothing is controlled.
fn with_lock<T>(
    queue: usize,
    pc: u64,
    within: impl FnOnce(&Thread) -> T,
    library: impl FnOnce() -> T,
) -> T {
    match ready_at(queue, pc) {
        Some(this) if controlled() => {
            mutex::acquire(this, queue, 0, pc, OF);
            let result = within(this);
            locks::give_back(this, queue, pc);
            result
        }
        _ => library(),
    }
}

/// Makes a call of a thread that has the queue's lock already.
fn without_lock<T>(
    queue: usize,
    pc: u64,
    within: impl FnOnce(&Thread) -> T,
    library: impl FnOnce() -> T,
) -> T {
    match ready_at(queue, pc) {
        Some(this) if controlled() => within(this),
        _ => library(),
    }
}

/// Wakes one of those that wait for an item. As in the library, nobody is told when nobody waits.
fn announce(this: &Thread, queue: usize, pc: u64) {
    let condition = queue + CONDITION;
    if objects::at(condition).value.get() > 0 {
        condition::notify(this, RecordKind::Signal, (condition, OF), pc);
    }
}

/// Takes an item, waiting for one at most until `deadline` when that is not 0; 0 when there is none.
///
/// # Safety
/// `queue` is a `GAsyncQueue` whose lock the thread has.
unsafe fn take(this: &Thread, queue: usize, deadline: u64, pc: u64) -> usize {
    let try_pop = glib!("g_async_queue_try_pop_unlocked", fn(usize) -> usize);
    let pair = WaitPair {
        condition: queue + CONDITION,
        lock: queue,
        of: OF,
    };
    let waiting = &objects::at(pair.condition).value;
    loop {
        // SAFETY: the caller's.
        let item = unsafe { try_pop()(queue) };
        if item != 0 || (deadline != 0 && SHARED.clock.get() >= deadline) {
            return item;
        }
        waiting.set(waiting.get() + 1);
        // SAFETY: the lock is of this type.
        let ending = unsafe { condition::wait_until(this, pair, deadline, pc) };
        waiting.set(waiting.get() - 1);
        if ending != 0 {
            // SAFETY: the caller's.
            return unsafe { try_pop()(queue) };
        }
    }
}

/// The point in virtual time after a span of microseconds.
fn after(microseconds: u64) -> u64 {
    let span = microseconds.saturating_mul(1_000);
    SHARED.clock.get().saturating_add(span).max(1)
}

/// The point in virtual time that a `GTimeVal` names; 0 without one.
///
/// # Safety
/// `until` is null or points to seconds and microseconds.
unsafe fn point(until: *const [i64; 2]) -> u64 {
    // SAFETY: the caller's.
    let Some([seconds, rest]) = (unsafe { until.as_ref() }) else {
        return 0;
    };
    let microseconds = seconds.saturating_mul(1_000_000).saturating_add(*rest);
    u64::try_from(microseconds)
        .unwrap_or(0)
        .saturating_mul(1_000)
        .max(1)
}

/// Threads that wait count as items that are missing.
fn missing(queue: usize) -> c_int {
    objects::at(queue + CONDITION).value.get() as c_int
}

/// Defines functions that work on a queue: `locked "name", unlocked "name" (arguments) -> result`, and what is done once the
/// library's function for callers with the lock has returned.
macro_rules! works {
    ($($locked:ident $name:literal, $unlocked:ident $inner:literal ($($argument:ident: $t:ty),*) -> $r:ty,
        |$this:ident, $queue:ident, $pc:ident, $result:ident| $then:expr;)*) => {$(
        unsafe extern "C-unwind" fn $locked($queue: usize, $($argument: $t,)* $pc: u64) -> $r {
            let library = glib!($name, fn(usize, $($t),*) -> $r);
            let inner = glib!($inner, fn(usize, $($t),*) -> $r);
            // SAFETY: the program's own call.
            let within = |$this: &Thread| unsafe {
                let $result = inner()($queue, $($argument),*);
                $then
            };
            // SAFETY: as above.
            with_lock($queue, $pc, within, || unsafe { library()($queue, $($argument),*) })
        }

        unsafe extern "C-unwind" fn $unlocked($queue: usize, $($argument: $t,)* $pc: u64) -> $r {
            let inner = glib!($inner, fn(usize, $($t),*) -> $r);
            // SAFETY: the program's own call.
            let within = |$this: &Thread| unsafe {
                let $result = inner()($queue, $($argument),*);
                $then
            };
            // SAFETY: as above.
            without_lock($queue, $pc, within, || unsafe { inner()($queue, $($argument),*) })
        }
    )*};
}

works! {
    push "g_async_queue_push", push_unlocked "g_async_queue_push_unlocked" (item: usize) -> (),
        |this, queue, pc, result| { announce(this, queue, pc); result };
    push_front "g_async_queue_push_front", push_front_unlocked "g_async_queue_push_front_unlocked" (item: usize) -> (),
        |this, queue, pc, result| { announce(this, queue, pc); result };
    push_sorted "g_async_queue_push_sorted", push_sorted_unlocked "g_async_queue_push_sorted_unlocked"
        (item: usize, compare: usize, user: usize) -> (),
        |this, queue, pc, result| { announce(this, queue, pc); result };
    sort "g_async_queue_sort", sort_unlocked "g_async_queue_sort_unlocked" (compare: usize, user: usize) -> (),
        |_this, queue, pc, result| result;
    remove "g_async_queue_remove", remove_unlocked "g_async_queue_remove_unlocked" (item: usize) -> Boolean,
        |_this, queue, pc, result| result;
    length "g_async_queue_length", length_unlocked "g_async_queue_length_unlocked" () -> c_int,
        |_this, queue, pc, result| result - missing(queue);
    try_pop "g_async_queue_try_pop", try_pop_unlocked "g_async_queue_try_pop_unlocked" () -> usize,
        |_this, queue, pc, result| result;
}

/// Defines functions that wait for an item: `locked "name", unlocked "name" (arguments)`, and the end of the wait.
macro_rules! waits {
    ($($locked:ident $name:literal, $unlocked:ident $inner:literal ($($argument:ident: $t:ty)?), $deadline:expr;)*) => {$(
        unsafe extern "C-unwind" fn $locked(queue: usize, $($argument: $t,)? pc: u64) -> usize {
            let library = glib!($name, fn(usize, $($t)?) -> usize);
            // SAFETY: the program's own call.
            let within = |this: &Thread| unsafe { take(this, queue, $deadline, pc) };
            // SAFETY: as above.
            with_lock(queue, pc, within, || unsafe { library()(queue, $($argument)?) })
        }

        unsafe extern "C-unwind" fn $unlocked(queue: usize, $($argument: $t,)? pc: u64) -> usize {
            let library = glib!($inner, fn(usize, $($t)?) -> usize);
            // SAFETY: the program's own call.
            let within = |this: &Thread| unsafe { take(this, queue, $deadline, pc) };
            // SAFETY: as above.
            without_lock(queue, pc, within, || unsafe { library()(queue, $($argument)?) })
        }
    )*};
}

waits! {
    pop "g_async_queue_pop", pop_unlocked "g_async_queue_pop_unlocked" (), 0;
    timeout_pop "g_async_queue_timeout_pop", timeout_pop_unlocked "g_async_queue_timeout_pop_unlocked" (span: u64),
        after(span);
    timed_pop "g_async_queue_timed_pop", timed_pop_unlocked "g_async_queue_timed_pop_unlocked"
        (until: *const [i64; 2]), point(until);
}

unsafe extern "C-unwind" fn lock(queue: usize, pc: u64) {
    let library = glib!("g_async_queue_lock", fn(usize) -> ());
    let within = |this: &Thread| {
        mutex::acquire(this, queue, 0, pc, OF);
    };
    // SAFETY: the program's own call.
    without_lock(queue, pc, within, || unsafe { library()(queue) });
}

unsafe extern "C-unwind" fn unlock(queue: usize, pc: u64) {
    let library = glib!("g_async_queue_unlock", fn(usize) -> ());
    let within = |this: &Thread| locks::give_back(this, queue, pc);
    // SAFETY: the program's own call.
    without_lock(queue, pc, within, || unsafe { library()(queue) });
}

unsafe extern "C-unwind" fn unref_and_unlock(queue: usize, pc: u64) {
    let library = glib!("g_async_queue_unref_and_unlock", fn(usize) -> ());
    let unref = glib!("g_async_queue_unref", fn(usize) -> ());
    let within = |this: &Thread| {
        locks::give_back(this, queue, pc);
        // SAFETY: the program's own call.
        unsafe { unref()(queue) };
    };
    // SAFETY: as above.
    without_lock(queue, pc, within, || unsafe { library()(queue) });
}

entry! {
    g_async_queue_lock, "rsi" => lock;
    g_async_queue_unlock, "rsi" => unlock;
    g_async_queue_unref_and_unlock, "rsi" => unref_and_unlock;
    g_async_queue_push, "rdx" => push;
    g_async_queue_push_unlocked, "rdx" => push_unlocked;
    g_async_queue_push_front, "rdx" => push_front;
    g_async_queue_push_front_unlocked, "rdx" => push_front_unlocked;
    g_async_queue_push_sorted, "r8" => push_sorted;
    g_async_queue_push_sorted_unlocked, "r8" => push_sorted_unlocked;
    g_async_queue_sort, "rcx" => sort;
    g_async_queue_sort_unlocked, "rcx" => sort_unlocked;
    g_async_queue_remove, "rdx" => remove;
    g_async_queue_remove_unlocked, "rdx" => remove_unlocked;
    g_async_queue_length, "rsi" => length;
    g_async_queue_length_unlocked, "rsi" => length_unlocked;
    g_async_queue_try_pop, "rsi" => try_pop;
    g_async_queue_try_pop_unlocked, "rsi" => try_pop_unlocked;
    g_async_queue_pop, "rsi" => pop;
    g_async_queue_pop_unlocked, "rsi" => pop_unlocked;
    g_async_queue_timeout_pop, "rdx" => timeout_pop;
    g_async_queue_timeout_pop_unlocked, "rdx" => timeout_pop_unlocked;
    g_async_queue_timed_pop, "rdx" => timed_pop;
    g_async_queue_timed_pop_unlocked, "rdx" => timed_pop_unlocked;
}
