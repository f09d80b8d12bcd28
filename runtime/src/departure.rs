//! The end of the process as a step of the thread that brings it about: the remaining steps of the other threads may
//! come before it, or never.
//!
//! A thread that has come to the end has nothing left to do but to end the process, so letting the others
//! go first is no preemption. Where the strategy draws, one run in two lets them go on for a drawn number
//! of decisions; in the others the thread takes part as before, and may end the process at once. Without drawing
//! the others go first, until nobody can go on or [`LONGEST`] decisions have passed.
//!
//! A failed assertion or `abort` is such an end, too: the others may fail in another way before. They go first for a
//! short while only, and not at all where nothing is drawn: a failing run is to show what led to its failure.

use crate::{
    checks, choices, livelock,
    next::Next,
    pct::Yields,
    scheduler,
    state::{SHARED, Thread, Wait, controlled, header, live_threads, thread},
};
use core::sync::atomic::Ordering::Relaxed;
use unsnarl_trace::raw::{RawStrategy, unlogged};

/// Bound for the decisions of the others where nothing is drawn.
const LONGEST: u64 = 1 << 13;
/// Binary logarithm of the bound where it is drawn.
const LONGEST_DRAWN: u64 = 14;
/// Binary logarithm of the bound before a failure.
const LONGEST_BEFORE_FAILURE: u64 = 7;

/// Handles a thread that has come to the end of the process. Returns when the process is to end.
pub fn arrive(this: &Thread) {
    if !has_company() {
        return;
    }
    stand_back(this, span());
    note_cut_off(this);
    leave(this);
}

/// Handles a thread that is about to fail, which ends the process. Returns when it fails.
pub fn fail(this: &Thread) {
    if !has_company() {
        return;
    }
    SHARED.failing.set(SHARED.failing.get() + 1);
    stand_back(this, span_before_failure());
    leave(this);
    SHARED.failing.set(SHARED.failing.get() - 1);
}

fn stand_back(this: &Thread, span: u64) {
    this.departs.set(true);
    this.stands_back_until
        .set(SHARED.ticks.get().saturating_add(span));
    SHARED.departing.set(SHARED.departing.get() + 1);
    scheduler::rest(this, Next::NOTHING);
}

fn leave(this: &Thread) {
    SHARED.departing.set(SHARED.departing.get() - 1);
    this.departs.set(false);
}

/// Returns whether other threads live that could go on beside one that ends the process.
pub fn has_company() -> bool {
    controlled() && SHARED.live_count.get() > 1
}

/// Returns whether a thread has come to the end of the process, and others go on.
pub fn is_under_way() -> bool {
    controlled() && SHARED.departing.get() != 0
}

/// Returns whether a thread has come to the end of the process by itself, and others go on.
pub fn is_exit_under_way() -> bool {
    controlled() && SHARED.departing.get() > SHARED.failing.get()
}

/// Number of decisions for which the others go first.
fn span() -> u64 {
    match checks::strategy() {
        RawStrategy::Sequential => LONGEST,
        _ => drawn(LONGEST_DRAWN),
    }
}

/// The same before a failure: the further steps of the others are of interest, but the failure is the goal of the
/// search.
fn span_before_failure() -> u64 {
    match checks::strategy() {
        RawStrategy::Sequential => 0,
        _ => drawn(LONGEST_BEFORE_FAILURE),
    }
}

/// Draws zero in one run of two, else a number less than two to the power `longest`.
fn drawn(longest: u64) -> u64 {
    let drawn = choices::random();
    match drawn & 1 {
        0 => 0,
        _ => 1 << ((drawn >> 1) % longest),
    }
}

/// Returns whether the thread is about to end the process and lets the others go first.
#[inline(always)]
pub fn stands_back(other: &Thread) -> bool {
    other.departs.get() && SHARED.ticks.get() <= other.stands_back_until.get()
}

/// The way in which the thread yields at a decision: one that does not stand back at the end takes part unchanged.
pub fn yields(this: &Thread, yields: Yields) -> Yields {
    match this.departs.get() && !stands_back(this) {
        true => Yields::No,
        false => yields,
    }
}

/// A thread that has let the others go first for long enough. Where nothing is drawn at each decision, it would not
/// get another turn otherwise.
pub fn overdue() -> Option<u16> {
    if SHARED.departing.get() == 0 {
        return None;
    }
    let is_overdue = |number: &u16| {
        let other = thread(*number);
        other.departs.get() && !stands_back(other)
    };
    live_threads().iter().copied().find(is_overdue)
}

/// Notes that the process ends although others could go on, unless they had their chance.
fn note_cut_off(this: &Thread) {
    let goes_on = |other: &Thread| {
        let waits = other.wait.get() != Wait::Nothing;
        let by_itself = other.deadline.get() != 0 || livelock::waits_for_outside(other.wait.get());
        waits && by_itself || !stands_back(this) && scheduler::enabled(other)
    };
    let mut others = live_threads().iter().map(|&number| thread(number));
    if others.any(|other| other.number.get() != this.number.get() && goes_on(other)) {
        header().unlogged.fetch_or(unlogged::CUT_OFF, Relaxed);
    }
}
