//! Detects that the threads go round in circles: nothing changes any more, and each thread that can go on comes back
//! to the very state that it was in.
//!
//! While nobody writes (other than to a stack of its own), takes or gives back anything, looks at the
//! clock or asks the world outside, what a thread does depends on its registers and its stack only. A
//! thread that yields, or is noticed to spin, twice with the same of both will do the same for ever. When
//! that is so for every thread that can go on, and nobody waits for a time or for the world outside, the
//! run will not end. A thread that counts, be it in a register, never comes back to the same state: it is
//! not taken for one that spins.
//!
//! Locks that are waited for may be taken and given back meanwhile: a thread learns nothing from a lock that it
//! gets sooner or later. Only an attempt tells who holds it, so attempts and locks that change hands do not go
//! together; and a thread that waits for a lock that is given back must be seen to go round itself.

use crate::{
    children, follow, log,
    next::Next,
    scheduler, signals,
    state::{SHARED, Thread, Wait, live_threads, thread},
    timers,
};
use core::{arch::naked_asm, cell::Cell};
use unsnarl_trace::raw::{End, RecordKind, flag};

/// Decisions without a change after which states are compared. It only saves comparisons: what a run without an end is does
/// not hang on it.
const CALM: u32 = 2_000;
/// Number of times that a thread has to come back to the same state.
const ROUNDS: u32 = 4;
/// Size above which stacks are not compared.
const MOST_BYTES: usize = 256 << 10;

/// States of a thread since the last change.
pub struct Circle {
    /// The decision of that change.
    since: Cell<u64>,
    /// A state that it was in.
    anchor: Cell<u64>,
    /// Later states that were compared with it.
    looks: Cell<u32>,
    /// Number of states that were the same.
    rounds: Cell<u32>,
}

/// Locks that were taken, given back or tried since the last change.
pub struct LocksSince {
    /// The decision of that change.
    since: Cell<u64>,
    /// The locks that were taken or given back, as a filter: a bit may stand for several of them.
    passed: Cell<u64>,
    /// Those that were given back, likewise.
    given_back: Cell<u64>,
    /// `true` if a thread has tried in vain to take a lock.
    tried: Cell<bool>,
}

impl LocksSince {
    /// Before anything has happened.
    pub const fn nothing() -> LocksSince {
        LocksSince {
            since: Cell::new(0),
            passed: Cell::new(0),
            given_back: Cell::new(0),
            tried: Cell::new(false),
        }
    }

    /// Those since the last change, which may have come after what is kept here.
    fn now(&self) -> &LocksSince {
        let since = last_change();
        if self.since.replace(since) != since {
            self.passed.set(0);
            self.given_back.set(0);
            self.tried.set(false);
        }
        self
    }
}

/// The decision of the last change.
fn last_change() -> u64 {
    SHARED.ticks.get() - u64::from(SHARED.calm.get())
}

/// Notes that something has changed, or may have.
#[inline(always)]
pub fn stir() {
    SHARED.calm.set(0);
}

/// Writes records of a step that turned out to change nothing.
#[inline(always)]
pub fn calmly(write: impl FnOnce()) {
    let calm = SHARED.calm.get();
    write();
    SHARED.calm.set(calm);
}

/// Notes a decision before this step.
#[inline(always)]
pub fn decide(next: Next) {
    match next.kind {
        RecordKind::Lock | RecordKind::SharedLock | RecordKind::Unlock => {}
        _ => stir(),
    }
}

/// Notes that a thread begins to wait, at most until the virtual time `deadline` when that is not 0.
pub fn wait(wish: Wait, deadline: u64) {
    if deadline != 0 || lock_of(wish).is_none() {
        stir();
    }
}

/// Notes that a record of this kind is written about this object.
#[inline(always)]
pub fn record(kind: RecordKind, flags: u8, object: u64) {
    use RecordKind::*;
    match kind {
        Lock | SharedLock | Unlock if flags & flag::TRIED == 0 => {
            pass_lock(object as usize, kind == Unlock);
        }
        TryFailed => try_lock(),
        LockWait => {}
        _ if changes(kind) => stir(),
        _ => {}
    }
}

/// Notes that a lock is taken by a thread that waited for it as long as needed, or is given back.
fn pass_lock(lock: usize, is_given_back: bool) {
    let locks = SHARED.locks.now();
    if locks.tried.get() {
        return stir();
    }
    locks.passed.set(locks.passed.get() | bit_of(lock));
    if is_given_back {
        locks.given_back.set(locks.given_back.get() | bit_of(lock));
    }
}

/// Notes that an attempt to take a lock has failed.
fn try_lock() {
    let locks = SHARED.locks.now();
    match locks.passed.get() {
        0 => locks.tried.set(true),
        _ => stir(),
    }
}

/// The bit of a lock in [`LocksSince::passed`].
fn bit_of(lock: usize) -> u64 {
    1 << (mixed(0, lock as u64) >> 58)
}

/// The lock that this wait is for.
pub fn lock_of(wish: Wait) -> Option<usize> {
    match wish {
        Wait::Lock(lock) | Wait::SharedLock(lock) => Some(lock),
        _ => None,
    }
}

/// Returns whether the thread waits, and none of those that go round ends that.
fn waits_in_vain(other: &Thread) -> bool {
    let given_back = SHARED.locks.now().given_back.get();
    let is_given_back = |lock| given_back & bit_of(lock) != 0;
    !scheduler::enabled(other) && !lock_of(other.wait.get()).is_some_and(is_given_back)
}

/// Returns whether a record of this kind means that something has changed for other threads.
const fn changes(kind: RecordKind) -> bool {
    use RecordKind::*;
    !matches!(
        kind,
        Read | AtomicRead | Write | Fence | ReadRange | Extra | Enter | Leave | Branch | Yield
    )
}

/// Notes that the thread yields, or has only looked for long.
#[inline(always)]
pub fn look(this: &Thread) {
    if SHARED.calm.get() > CALM {
        // SAFETY: `this` is the calling thread, whose stack is read.
        unsafe { compare(this) };
    }
}

/// Compares the thread's state. What a call leaves as it is, is put on the stack first: the computations from here on
/// are not part of the state.
#[cold]
#[unsafe(naked)]
unsafe extern "C" fn compare(this: &Thread) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rsi, rsp",
        "sub rsp, 8",
        "call {compare}",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        compare = sym compare_from,
    )
}

extern "C" fn compare_from(this: &Thread, stack: usize) {
    let Some(state) = state(this, stack) else {
        return;
    };
    let since = last_change();
    let circle = &this.circle;
    if circle.since.replace(since) != since {
        circle.anchor.set(state);
        circle.looks.set(0);
        circle.rounds.set(0);
        return;
    }
    if circle.anchor.get() == state {
        circle.rounds.set(circle.rounds.get() + 1);
        if circle.rounds.get() >= ROUNDS && nobody_else_helps(since) {
            if follow::release() {
                return;
            }
            log::resolve(this);
            crate::failure::end_now(End::Livelock);
        }
        return;
    }
    // The circle may be longer than what was looked at, or have a beginning (Brent's way to find one).
    let looks = circle.looks.get() + 1;
    circle.looks.set(looks);
    if looks.is_power_of_two() {
        circle.anchor.set(state);
        circle.rounds.set(0);
    }
}

/// Returns whether every other thread goes round as well, or waits for what only such threads could give.
fn nobody_else_helps(since: u64) -> bool {
    let goes_round =
        |other: &Thread| other.circle.since.get() == since && other.circle.rounds.get() >= ROUNDS;
    !children::has_any()
        && !signals::are_handled()
        && timers::next() == u64::MAX
        && live_threads().iter().all(|&number| {
            let other = thread(number);
            other.deadline.get() == 0
                && !waits_for_outside(other.wait.get())
                && (goes_round(other) || waits_in_vain(other))
        })
}

/// Returns whether somebody outside of the program's threads may end this wait.
pub fn waits_for_outside(wait: Wait) -> bool {
    matches!(
        wait,
        Wait::Input(_)
            | Wait::Output(_)
            | Wait::Poll { .. }
            | Wait::Outside
            | Wait::Child { .. }
            | Wait::FileLock(_)
    )
}

/// A hash of the thread's stack from this address on, where its registers lie; `None` when that is too large.
fn state(this: &Thread, from: usize) -> Option<u64> {
    // SAFETY: every thread has a row in the log.
    let high = unsafe { (*this.row.get()).stack_high } as usize;
    if high.checked_sub(from)? > MOST_BYTES {
        return None;
    }
    let mut hash = 0;
    for at in (from..high).step_by(8) {
        // SAFETY: between the stack pointer and the end of the thread's stack.
        hash = mixed(hash, unsafe { (at as *const u64).read_volatile() });
    }
    Some(hash)
}

fn mixed(hash: u64, word: u64) -> u64 {
    let mut mixed = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(23)
}
