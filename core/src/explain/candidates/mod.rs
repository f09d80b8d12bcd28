//! Candidate causes of a failure: evidence of the procedures, each with a cost. The cheapest one is chosen.

mod announced;
mod coupled;
mod freed;
mod hidden;
mod interrupted;
mod missing;
mod no_memory;
mod overwritten;
mod passes;
mod refused;
mod reordered;
mod returned;
mod rounds;
mod spurious;
mod visits;
mod woken;

use super::{locking::taken_again, view::View};
use crate::{
    Budget,
    callers::common_sites,
    facts,
    pairs::{CoupledPairs, PairKey, Triple},
};
use announced::announced;
use coupled::{coupled, is_told_by_one};
use freed::after_free;
use hidden::hidden;
use interrupted::{interrupted, pairs_of};
use missing::{is_half, missing, seldom, uncounted, unset_sibling, wherever_read};
use no_memory::no_memory;
use overwritten::overwritten;
use refused::{half_way, refused, turned_away};
use reordered::reordered;
use returned::returned;
use rounds::rounds;
pub(super) use spurious::spurious as spurious_wakeup;
use unsnarl_trace::{EventId, ThreadId};
pub(super) use visits::times_before;
use woken::Woken;

/// A possible cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Story {
    /// Two accesses that belong together were interrupted.
    Atomicity(Triple),
    /// Accesses to two locations that belong together were interrupted.
    MultiVariable(CoupledPairs),
    /// `early` ran before `late`; passing runs have the opposite order.
    Order {
        /// The access that ran first in the failing run.
        early: EventId,
        /// The access that ran after it.
        late: EventId,
    },
    /// `reader` ran, but the write that precedes it in passing runs did not.
    Missing {
        /// The write and the read, as in passing runs.
        original: PairKey,
        /// The read in the failing run.
        reader: EventId,
        /// Thread that does the write in every passing run: for a line that other threads have run in this
        /// one.
        by: Option<ThreadId>,
    },
    /// A thread gave up because other threads held the lock that it tried to acquire.
    Refused {
        /// Acquisition of the lock by the other thread.
        held: EventId,
        /// Its last attempt.
        attempt: EventId,
    },
    /// A thread had changed something when it failed to acquire the lock for the rest, and left it so.
    HalfWay {
        /// Its write.
        write: EventId,
        /// Its attempt to acquire the lock.
        attempt: EventId,
    },
    /// A wait ended spuriously, or by a signal for another thread, and the condition was not checked again.
    Unchecked {
        /// The check before the wait.
        check: EventId,
        /// End of the wait.
        wake: EventId,
    },
    /// An allocation failed.
    NoMemory {
        /// The failed allocation.
        alloc: EventId,
    },
    /// A block was used (or freed again) after it was freed.
    AfterFree {
        /// Row of the free.
        free: EventId,
        /// Row of the use.
        used: EventId,
    },
    /// A local was used after its function had returned.
    Returned {
        /// The step of the variable's thread that the use should have come before.
        step: EventId,
        /// Row of the use.
        used: EventId,
    },
}

/// A story with its evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// The possible cause.
    pub story: Story,
    /// Cost of the story; less is better.
    pub cost: u32,
    /// `true` if no passing run has it, and there are passing runs.
    pub new: bool,
    /// `true` if most passing runs have it, and its accesses are meant to meet: it explains nothing.
    pub is_usual: bool,
    /// `true` if it flowed into the failure.
    pub relevant: bool,
    /// Iterations of loops between it and the failure: of a story that a loop has again and again the last one is told.
    repeats: u32,
    /// Row at which it was complete; earlier ones come first among equals.
    at: EventId,
}

/// Cost of one step of distance to the failure.
const PER_STEP: u32 = 4;

/// Distance of accesses that did not flow into the failure.
const UNRELATED: u32 = 30;

/// Cost of a story about memory that has no name in the program.
const NAMELESS: u32 = 60;

/// Cost of a story that passing runs also have, or of which the failing thread has not seen the end: neither is a difference
/// that it could fail by.
const NOT_NEW: u32 = 20;

/// All candidates, best first.
pub(super) fn candidates(view: &View, budget: &Budget) -> Vec<Candidate> {
    let mut found = after_free(view);
    found.extend(returned(view));
    let interrupted = interrupted(view, budget);
    found.extend(reordered(view, &pairs_of(view, &interrupted)));
    let mut couples = match budget.stop() {
        None => coupled(view, budget),
        Some(_) => Vec::new(),
    };
    couples.retain(|couple| !is_told_by_one(couple, &interrupted));
    found.extend(interrupted);
    found.extend(
        missing(view)
            .into_iter()
            .filter(|one| !is_half(one, &couples)),
    );
    found.extend(couples);
    found.extend(hidden(view, budget));
    found.extend(rounds(view, budget));
    found.extend(announced(view, budget));
    found.extend(refused(view));
    let half_way = half_way(view);
    if half_way.is_empty() {
        found.extend(turned_away(view));
    }
    found.extend(half_way);
    found.extend(unset_sibling(view));
    found.extend(uncounted(view));
    found.extend(wherever_read(view));
    found.extend(no_memory(view));
    found.extend(overwritten(view));
    let woken = Woken::all(view);
    found.retain(|one| !woken.iter().any(|woken| woken.explains(view, one)));
    found.extend(woken.into_iter().map(|woken| woken.story));
    found.retain(|candidate| !candidate.is_usual && !is_past(view, &candidate.story));
    found.retain(|candidate| !is_of_spin_lock(view, &candidate.story));
    if found.is_empty() {
        found = seldom(view);
    }
    for one in &mut found {
        one.cost += u32::from(is_unseen(view, &one.story)) * NOT_NEW;
    }
    // That memory was gone is a fact of the run: other stories may tell how it came to that.
    let is_other =
        |story: &Story| !matches!(story, Story::AfterFree { .. } | Story::Returned { .. });
    found.sort_by_key(|one| {
        (
            one.cost,
            one.repeats,
            is_other(&one.story),
            one.at,
            rows(view, &one.story),
        )
    });
    found
}

fn distance(view: &View, rows: &[EventId]) -> u32 {
    rows.iter()
        .filter_map(|row| view.slice.distance(*row))
        .min()
        .unwrap_or(UNRELATED)
}

fn candidate(view: &View, story: Story, rows: &[EventId], contrast: u32, new: bool) -> Candidate {
    let distance = distance(view, rows);
    let nameless = rows
        .iter()
        .any(|row| !facts::is_named(view.run.location(view.event(*row).location)));
    let says_less = rows
        .iter()
        .any(|row| facts::is_begin(view.run.location(view.event(*row).location)));
    let repeats = rows.iter().filter_map(|row| view.slice.repeats(*row));
    let extra = if nameless { NAMELESS } else { 0 } + u32::from(says_less);
    Candidate {
        story,
        cost: distance * PER_STEP + contrast + extra,
        new,
        is_usual: false,
        relevant: distance < UNRELATED,
        repeats: repeats.min().unwrap_or(0),
        at: rows.iter().copied().max().unwrap_or_default(),
    }
}

/// Rows of a story, to make the order of ties deterministic.
fn rows(view: &View, story: &Story) -> (EventId, EventId) {
    match story {
        // Of several interfering accesses the thread saw the last one.
        Story::Atomicity(triple) => (triple.first, EventId(u32::MAX - triple.remote.0)),
        Story::MultiVariable(couple) => (couple.first.head, couple.second.tail),
        Story::Order { early, late } => (*early, *late),
        Story::Missing { reader, .. } => (*reader, view.failure),
        Story::Refused { held, attempt } => (*held, *attempt),
        Story::HalfWay { write, attempt } => (*write, *attempt),
        Story::Unchecked { check, wake } => (*check, *wake),
        Story::NoMemory { alloc } => (*alloc, view.failure),
        Story::AfterFree { free, used } => (*free, *used),
        Story::Returned { step, used } => (*step, *used),
    }
}

/// Returns whether a step of a story comes too late for the failure.
fn is_past(view: &View, story: &Story) -> bool {
    view.is_past(last(story))
}

/// Returns whether an interruption ends behind the read by which another thread fails. An order may: that read is one of its
/// two steps.
fn is_unseen(view: &View, story: &Story) -> bool {
    let last = last(story);
    let is_interruption = matches!(story, Story::Atomicity(_) | Story::MultiVariable(_));
    let is_others = view
        .failed
        .is_some_and(|failed| view.thread(last) != failed);
    let is_behind = view.slice.nearest().is_some_and(|read| read < last);
    is_interruption && is_others && is_behind
}

/// The last step of a story.
fn last(story: &Story) -> EventId {
    match story {
        Story::Atomicity(triple) => triple.second,
        Story::MultiVariable(couple) => couple.first.tail.max(couple.second.tail),
        Story::Order { late, .. } => *late,
        Story::Missing { reader, .. } => *reader,
        Story::Refused { attempt, .. } | Story::HalfWay { attempt, .. } => *attempt,
        Story::Unchecked { wake, .. } => *wake,
        Story::NoMemory { alloc } => *alloc,
        Story::AfterFree { used, .. } | Story::Returned { used, .. } => *used,
    }
}

/// Returns whether a story is about the word of a lock of the program's own. Only pairs that are compared with those of other
/// runs have such words: for this run they are no shared data.
fn is_of_spin_lock(view: &View, story: &Story) -> bool {
    match story {
        Story::Order { late, .. } => view.is_of_spin_lock(*late),
        Story::Missing { reader, .. } => view.is_of_spin_lock(*reader),
        _ => false,
    }
}

/// Returns whether most passing runs have it, out of enough runs to tell.
fn usual(runs: u32, passing: u32) -> bool {
    const ENOUGH: u32 = 10;
    passing >= ENOUGH && runs * 2 > passing
}

/// Cost by the number of passing runs that have it.
fn seen(runs: u32, passing: u32) -> u32 {
    match (runs, passing) {
        (_, 0) => NOT_NEW / 4,
        (0, _) => 0,
        (runs, passing) => NOT_NEW + NOT_NEW * runs / passing,
    }
}

/// Bound on the candidates kept of each kind, the best ones.
const KEEP: usize = 400;

/// Keeps the best story of several about the same lines.
fn keep_best(mut found: Vec<Candidate>) -> Vec<Candidate> {
    shrink(&mut found);
    found
}

/// Adds a candidate; candidates that would not be kept are dropped now and then, so that their number is
/// bounded.
fn add(found: &mut Vec<Candidate>, one: Candidate) {
    const AT_MOST: usize = 64 * KEEP;
    found.push(one);
    if found.len() >= AT_MOST {
        shrink(found);
    }
}

fn shrink(found: &mut Vec<Candidate>) {
    found.sort_by_key(|candidate| (candidate.cost, candidate.repeats, candidate.at));
    found.truncate(KEEP);
}

/// Cost of two accesses of one thread that are no part of one operation: in functions without a common
/// caller, or of two visits of the same lines, as in two iterations of a loop.
fn apart(view: &View, first: EventId, second: EventId) -> u32 {
    const NOTHING_COMMON: u32 = 12;
    const ANOTHER_VISIT: u32 = 30;
    match common_sites(&view.run, first, second) {
        None => NOTHING_COMMON,
        Some(_) if view.comes_again(first, second) || taken_again(view, first, second) => {
            ANOTHER_VISIT
        }
        Some(_) => 0,
    }
}
