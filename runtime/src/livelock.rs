//! Detects that the threads go round in circles: nothing changes any more, and each thread that can go on comes back
//! to the very state that it was in.
//!
//! While nobody writes (other than to a stack of its own), takes or gives back anything, looks at the
//! clock or asks the world outside, what a thread does depends on its registers and its stack only. A
//! thread that yields, or is noticed to spin, twice with the same of both will do the same for ever. When
//! that is so for every thread that can go on, and nobody waits for a time or for the world outside, the
//! run will not end. A thread that counts, be it in a register, never comes back to the same state: it is
//! not taken for one that spins.

use crate::{
    children, follow, log, scheduler, signals,
    state::{SHARED, Thread, Wait, live_threads, thread},
    timers,
};
use core::{arch::asm, cell::Cell};
use unsnarl_trace::raw::{End, RecordKind};

/// Decisions without a change after which states are compared.
const CALM: u32 = 20_000;
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

/// Notes that something has changed, or may have.
#[inline(always)]
pub fn stir() {
    SHARED.calm.set(0);
}

/// Returns whether a record of this kind means that something has changed for other threads.
#[inline(always)]
pub const fn changes(kind: RecordKind) -> bool {
    use RecordKind::*;
    !matches!(
        kind,
        Read | AtomicRead
            | Write
            | Fence
            | ReadRange
            | Extra
            | TryFailed
            | Enter
            | Leave
            | Branch
            | Yield
    )
}

/// Notes that the thread yields, or has only looked for long.
#[inline(always)]
pub fn look(this: &Thread) {
    if SHARED.calm.get() > CALM {
        compare(this);
    }
}

/// Compares the thread's state. The state is taken first of all: the computations here must not be part of it.
#[cold]
#[inline(never)]
fn compare(this: &Thread) {
    let Some(state) = state(this) else {
        return;
    };
    let since = SHARED.ticks.get() - u64::from(SHARED.calm.get());
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
                && (goes_round(other) || !scheduler::enabled(other))
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

/// A hash of the thread's registers and its stack; `None` when that is too large.
#[inline(never)]
fn state(this: &Thread) -> Option<u64> {
    let mut registers = [0u64; 6];
    let low: usize;
    // SAFETY: reads the registers that a call leaves as they are.
    unsafe {
        asm!(
            "mov [{to}], rbx",
            "mov [{to} + 8], rbp",
            "mov [{to} + 16], r12",
            "mov [{to} + 24], r13",
            "mov [{to} + 32], r14",
            "mov [{to} + 40], r15",
            "mov {low}, rsp",
            to = in(reg) registers.as_mut_ptr(),
            low = lateout(reg) low,
            options(nostack, preserves_flags),
        );
    }
    // SAFETY: every thread has a row in the log.
    let high = unsafe { (*this.row.get()).stack_high } as usize;
    let bytes = high.checked_sub(low)?;
    if bytes > MOST_BYTES {
        return None;
    }
    let mut hash = 0u64;
    for register in registers {
        hash = mixed(hash, register);
    }
    // Up to the caller's frame the stack is this function's own.
    let from = &raw const registers as usize + size_of_val(&registers);
    let mut at = from.next_multiple_of(8);
    while at + 8 <= high {
        // SAFETY: between the stack pointer and the end of the thread's stack.
        hash = mixed(hash, unsafe { (at as *const u64).read_volatile() });
        at += 8;
    }
    Some(hash)
}

fn mixed(hash: u64, word: u64) -> u64 {
    let mut mixed = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(23)
}
