//! What may have caused a failure: evidence of the procedures, each with a cost. The cheapest wins.

mod announced;
mod coupled;
mod freed;
mod interrupted;
mod missing;
mod no_memory;
mod refused;
mod reordered;
mod spurious;
mod visits;
mod woken;

use super::{
    atomicity::{comes_again, common_sites},
    view::View,
};
use crate::{
    Budget, facts,
    pairs::{CoupledPairs, PairKey, Triple},
};
use announced::announced;
use coupled::{coupled, is_told_by_one};
use freed::after_free;
use interrupted::{interrupted, pairs_of};
use missing::{is_half, missing, seldom, uncounted, unset_sibling};
use no_memory::no_memory;
use refused::{half_way, refused};
use reordered::reordered;
pub(super) use spurious::spurious as spurious_wakeup;
use unsnarl_trace::{EventId, ThreadId};
use woken::Woken;

/// One possible cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Story {
    /// Two accesses that belong together were interrupted.
    Atomicity(Triple),
    /// The same over two locations.
    MultiVariable(CoupledPairs),
    /// `early` ran before `late`; passing runs have them the other way round.
    Order {
        /// What ran first in the failing run.
        early: EventId,
        /// What ran after it.
        late: EventId,
    },
    /// `reader` ran, but the write that precedes it in passing runs did not.
    Missing {
        /// As in passing runs: the write and the read.
        original: PairKey,
        /// The read in the failing run.
        reader: EventId,
        /// Who does the write in every passing run: for a line that others have run here.
        by: Option<ThreadId>,
    },
    /// A thread gave up because others held what it tried to lock.
    Refused {
        /// Where the lock was taken that it could not have.
        held: EventId,
        /// Its last attempt.
        attempt: EventId,
    },
    /// A thread had changed something when it did not get the lock for the rest, and left it so.
    HalfWay {
        /// What it had changed.
        write: EventId,
        /// Its attempt at the lock.
        attempt: EventId,
    },
    /// A wait ended without a signal or by one for somebody else, and what was looked at before it was not looked at
    /// again.
    Unchecked {
        /// The look before the wait.
        check: EventId,
        /// Where the wait ended.
        wake: EventId,
    },
    /// There was no memory for a block.
    NoMemory {
        /// Where it was asked for.
        alloc: EventId,
    },
    /// A block was used (or freed again) after it was freed.
    AfterFree {
        /// Where it was freed.
        free: EventId,
        /// Where it was used.
        used: EventId,
    },
}

/// A story with what speaks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// What may have happened.
    pub story: Story,
    /// Less is better.
    pub cost: u32,
    /// No passing run has it, and passing runs have been seen.
    pub new: bool,
    /// Most passing runs have it, and its accesses are made to meet: it explains nothing.
    pub is_usual: bool,
    /// It flowed into the failure.
    pub relevant: bool,
    /// Where it was complete; earlier ones come first among equals.
    at: EventId,
}

/// Cost of one step of distance to the failure.
const PER_STEP: u32 = 4;

/// Distance of what did not flow into the failure.
const UNRELATED: u32 = 30;

/// Cost of a story about memory that has no name in the program.
const NAMELESS: u32 = 60;

/// Cost of what passing runs have too.
const NOT_NEW: u32 = 20;

/// All candidates, best first.
pub(super) fn candidates(view: &View, budget: &Budget) -> Vec<Candidate> {
    let mut found = after_free(view);
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
    found.extend(announced(view, budget));
    found.extend(refused(view));
    found.extend(half_way(view));
    found.extend(unset_sibling(view));
    found.extend(uncounted(view));
    found.extend(no_memory(view));
    let woken = Woken::all(view);
    found.retain(|one| !woken.iter().any(|woken| woken.explains(view, one)));
    found.extend(woken.into_iter().map(|woken| woken.story));
    found.retain(|candidate| !candidate.is_usual);
    if found.is_empty() {
        found = seldom(view);
    }
    found.sort_by_key(|candidate| (candidate.cost, candidate.at, rows(view, &candidate.story)));
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
    Candidate {
        story,
        cost: distance * PER_STEP + contrast + if nameless { NAMELESS } else { 0 },
        new,
        is_usual: false,
        relevant: distance < UNRELATED,
        at: rows.iter().copied().max().unwrap_or_default(),
    }
}

/// Rows of a story, to make the order of equals definite.
fn rows(view: &View, story: &Story) -> (EventId, EventId) {
    match story {
        // Of several accesses in between the last one is what the thread saw.
        Story::Atomicity(triple) => (triple.first, EventId(u32::MAX - triple.remote.0)),
        Story::MultiVariable(couple) => (couple.first.head, couple.second.tail),
        Story::Order { early, late } => (*early, *late),
        Story::Missing { reader, .. } => (*reader, view.failure),
        Story::Refused { held, attempt } => (*held, *attempt),
        Story::HalfWay { write, attempt } => (*write, *attempt),
        Story::Unchecked { check, wake } => (*check, *wake),
        Story::NoMemory { alloc } => (*alloc, view.failure),
        Story::AfterFree { free, used } => (*free, *used),
    }
}

/// Do most passing runs have it, of enough to tell?
fn usual(runs: u32, passing: u32) -> bool {
    const ENOUGH: u32 = 10;
    passing >= ENOUGH && runs * 2 > passing
}

/// Cost of being seen in passing runs.
fn seen(runs: u32, passing: u32) -> u32 {
    match (runs, passing) {
        (_, 0) => NOT_NEW / 4,
        (0, _) => 0,
        (runs, passing) => NOT_NEW + NOT_NEW * runs / passing,
    }
}

/// Candidates of one kind that are kept, the best.
const KEEP: usize = 400;

/// Of stories about the same lines one is enough.
fn keep_best(mut found: Vec<Candidate>) -> Vec<Candidate> {
    shrink(&mut found);
    found
}

/// Adds a candidate; what would not be kept is dropped now and then, so that their number is bounded.
fn add(found: &mut Vec<Candidate>, one: Candidate) {
    const AT_MOST: usize = 64 * KEEP;
    found.push(one);
    if found.len() >= AT_MOST {
        shrink(found);
    }
}

fn shrink(found: &mut Vec<Candidate>) {
    found.sort_by_key(|candidate| (candidate.cost, candidate.at));
    found.truncate(KEEP);
}

/// Cost of two accesses of one thread that are no part of one operation: in functions that nothing common calls, or of
/// two visits of the same lines, as in two turns of a loop.
fn apart(view: &View, first: EventId, second: EventId) -> u32 {
    const NOTHING_COMMON: u32 = 12;
    const ANOTHER_VISIT: u32 = 30;
    match common_sites(view, first, second) {
        None => NOTHING_COMMON,
        Some(_) if comes_again(view, first, second) => ANOTHER_VISIT,
        Some(_) => 0,
    }
}
