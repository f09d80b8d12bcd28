//! Choices: the schedule that is followed, the log of the choices made, and the choices other than "who runs".
//!
//! All kinds of choices share one sequence. The kinds that a run has ([`chance`]) are part of how it is started, so
//! following the sequence means the same each time.

use crate::{
    checks, follow,
    plan::next_planned,
    state::{SHARED, header, thread},
};
use core::{
    ptr::null_mut,
    sync::atomic::Ordering::{Relaxed, Release},
};
use unsnarl_trace::raw::{ChoiceKind, Detail, EqualChoices, RawStrategy, chance};

/// Returns whether there is a choice left in the schedule that is followed.
#[inline(always)]
pub fn follows() -> bool {
    SHARED.replay_at.get() < SHARED.replay_len.get()
}

/// The next choice of the schedule. Only when [`follows`].
#[inline(always)]
pub fn next_followed() -> u16 {
    SHARED.replay_at.set(SHARED.replay_at.get() + 1);
    let row = SHARED.replay.get();
    // SAFETY: `follows` has seen that there are more choices than were read; a row counts one at least.
    let EqualChoices { choice, count, .. } = unsafe { *row };
    let taken = SHARED.replay_taken.get() + 1;
    if taken < count {
        SHARED.replay_taken.set(taken);
    } else {
        SHARED.replay.set(row.wrapping_add(1));
        SHARED.replay_taken.set(0);
    }
    choice
}

/// Notes that the choice that was read last cannot be followed.
#[cold]
pub fn diverged() {
    let header = header();
    if header.diverged.fetch_add(1, Relaxed) == 0 {
        header
            .first_divergence
            .store(SHARED.replay_at.get(), Relaxed);
    }
}

/// Appends to the choices made. When there is no room any more only the count goes on, which the reader sees. `candidates` is
/// called when details are wanted.
#[inline(always)]
pub fn note(choice: u16, kind: ChoiceKind, yields: bool, candidates: impl FnOnce() -> Candidates) {
    let header = header();
    let at = header.decisions.load(Relaxed);
    add(choice);
    if !SHARED.details.get().is_null() && at < header.decisions_cap {
        note_detail(at, choice, kind, yields, &candidates());
    }
    header.decisions.store(at + 1, Release);
}

/// Adds a choice to those that were made.
#[inline(always)]
fn add(choice: u16) {
    let row = SHARED.decision_row.get();
    // SAFETY: null, or in the table, and nobody else's.
    match unsafe { row.as_mut() } {
        Some(row) if row.choice == choice && row.count < u32::MAX => row.count += 1,
        _ => add_row(choice),
    }
}

/// Begins a row with a choice, unless there is no room for it, or was none for one before.
#[inline(never)]
fn add_row(choice: u16) {
    let header = header();
    let rows = header.decision_rows.load(Relaxed);
    let is_whole = rows == 0 || !SHARED.decision_row.get().is_null();
    if rows >= header.decisions_cap || !is_whole {
        return SHARED.decision_row.set(null_mut());
    }
    let row = SHARED.decisions.get().wrapping_add(rows as usize);
    // SAFETY: within the capacity that the recorder mapped.
    unsafe { row.write(EqualChoices::new(choice, 1)) };
    SHARED.decision_row.set(row);
    header.decision_rows.store(rows + 1, Release);
}

#[cold]
fn note_detail(at: u64, choice: u16, kind: ChoiceKind, yields: bool, candidates: &Candidates) {
    let detail = Detail {
        record: header().records.load(Relaxed),
        candidates: candidates.bits,
        running: SHARED.current.get(),
        chosen: choice,
        kind: kind as u8,
        yields: u8::from(yields),
        more: u8::from(candidates.more),
        unused: 0,
        step: thread(SHARED.current.get()).passed.get(),
    };
    // SAFETY: there is room for as many details as for choices.
    unsafe { SHARED.details.get().add(at as usize).write(detail) };
}

/// The candidates of a choice.
#[derive(Default)]
pub struct Candidates {
    bits: u64,
    more: bool,
}

impl Candidates {
    /// Creates the set of these numbers.
    pub fn of(numbers: impl Iterator<Item = u16>) -> Candidates {
        let mut candidates = Candidates::default();
        for number in numbers {
            match 1u64.checked_shl(number.into()) {
                Some(bit) => candidates.bits |= bit,
                None => candidates.more = true,
            }
        }
        candidates
    }
}

/// The next number of the seeded sequence (xorshift64*).
pub fn random() -> u64 {
    let mut x = SHARED.random.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    SHARED.random.set(x);
    x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}

/// Returns whether the strategy draws; other strategies take the first of the candidates.
fn draws(strategy: RawStrategy) -> bool {
    matches!(strategy, RawStrategy::Random | RawStrategy::Pct)
}

/// Chooses which of `count` waiters a signal wakes; `number_of` names the thread of each.
pub fn pick_waiter(count: usize, number_of: impl Fn(usize) -> u16) -> usize {
    if count <= 1 {
        return 0;
    }
    let drawn = || match draws(checks::strategy()) {
        true => (random() % count as u64) as usize,
        false => 0,
    };
    let planned = || {
        let choice = next_planned(ChoiceKind::Waiter)?;
        (0..count).find(|&i| number_of(i) == choice)
    };
    let followed = followed_waiter(count, &number_of);
    let wanted = followed
        .or_else(planned)
        .or_else(|| follow::prefer(count, &number_of));
    let picked = wanted.unwrap_or_else(drawn);
    note(number_of(picked), ChoiceKind::Waiter, false, || {
        Candidates::of((0..count).map(&number_of))
    });
    picked
}

fn followed_waiter(count: usize, number_of: &impl Fn(usize) -> u16) -> Option<usize> {
    if !follows() {
        return None;
    }
    let choice = next_followed();
    let found = (0..count).find(|&i| number_of(i) == choice);
    if found.is_none() {
        diverged();
    }
    found
}

/// The end chosen for a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The usual end: it is granted, or its time is over.
    Granted,
    /// A spurious wake-up.
    Spurious,
    /// A time-out at once: nobody has promised the thread that it runs before.
    Early,
}

/// Odds of an unusual end: one wait in this many ends by itself, one in this many timed waits at once.
const WAIT_ODDS: u64 = 16;
/// Odds of a failure for no reason: one step in this many that may fail so.
const TRY_ODDS: u64 = 16;

/// Chooses the end of the wait on a condition variable that begins now.
pub fn condition_ending(timed: bool) -> Ending {
    match outcome(ChoiceKind::Wait, wait_outcomes(true, timed), WAIT_ODDS) {
        1 => Ending::Spurious,
        2 => Ending::Early,
        _ => Ending::Granted,
    }
}

/// Returns whether the time of the timed wait that begins now is over at once.
pub fn times_out_early() -> bool {
    outcome(ChoiceKind::Wait, wait_outcomes(false, true), WAIT_ODDS) == 2
}

fn wait_outcomes(condition: bool, timed: bool) -> u64 {
    let spurious = condition && has(chance::SPURIOUS_WAKEUP);
    let early = timed && has(chance::EARLY_TIMEOUT);
    1 | u64::from(spurious) << 1 | u64::from(early) << 2
}

/// Returns whether a step fails that may fail for no reason.
pub fn fails_for_no_reason() -> bool {
    has(chance::TRY) && outcome(ChoiceKind::Try, 0b11, TRY_ODDS) == 1
}

/// Returns whether there is no memory for the requested block.
#[inline(always)]
pub fn memory_is_gone() -> bool {
    has(chance::ALLOCATION)
        && outcome(
            ChoiceKind::Allocation,
            0b11,
            u64::from(header().fail_one_in.max(1)),
        ) == 1
}

#[inline(always)]
fn has(chance: u32) -> bool {
    SHARED.chances.get() & chance != 0
}

/// Chooses one of the numbers below `count`, all of which are as usual; 0 where the strategy does not draw.
pub fn value_below(count: u32) -> u32 {
    // A choice has at most as many candidates as there are bits.
    const MOST: u32 = u64::BITS;
    if count <= MOST {
        let ways = 1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
        return outcome(ChoiceKind::Value, ways, u64::from(count)).into();
    }
    let group = value_below(count.div_ceil(MOST));
    let before = group * MOST;
    before + value_below((count - before).min(MOST))
}

/// Chooses among the outcomes of a step (`ways`, a bit set; bit 0 is the usual one): each of the unusual ones once in
/// `odds` where the strategy draws. Makes no choice if there is one outcome only.
fn outcome(kind: ChoiceKind, ways: u64, odds: u64) -> u16 {
    if ways == 1 {
        return 0;
    }
    let planned = || next_planned(kind).filter(|&way| is_possible(ways, way));
    let followed = followed_outcome(ways).or_else(planned);
    // What the program asks for is drawn everywhere.
    let strategy = match kind {
        ChoiceKind::Value => SHARED.strategy.get(),
        _ => checks::strategy(),
    };
    let drawn = || match draws(strategy) {
        true => drawn_outcome(ways, odds),
        false => 0,
    };
    let chosen = followed.unwrap_or_else(drawn);
    note(chosen, kind, false, || Candidates {
        bits: ways,
        more: false,
    });
    chosen
}

fn followed_outcome(ways: u64) -> Option<u16> {
    if !follows() {
        return None;
    }
    let choice = next_followed();
    let possible = is_possible(ways, choice);
    if !possible {
        diverged();
    }
    possible.then_some(choice)
}

fn is_possible(ways: u64, way: u16) -> bool {
    1u64.checked_shl(way.into())
        .is_some_and(|bit| ways & bit != 0)
}

fn drawn_outcome(ways: u64, odds: u64) -> u16 {
    let drawn = random() % odds;
    // The n-th unusual way for the n-th number.
    let mut left = ways & !1;
    for _ in 0..drawn {
        left &= left.wrapping_sub(1);
    }
    match left {
        0 => 0,
        ways => ways.trailing_zeros() as u16,
    }
}
