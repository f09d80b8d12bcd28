//! What may have caused a failure: evidence of the procedures, each with a cost. The cheapest wins.

use super::{atomicity::common_function, view::View};
use crate::{
    Budget,
    orders::{Dependency, DependencyKind},
    pairs::{
        AccessKey, CoupledPairs, PairKey, Triple, TripleKey, procedure_one, procedure_three,
        procedure_two, triples,
    },
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, FailureKind};

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
    /// It flowed into the failure.
    pub relevant: bool,
    /// Where it was complete; earlier ones come first among equals.
    at: EventId,
}

/// Cost of one step of distance to the failure.
const PER_STEP: u32 = 4;
/// Distance of what did not flow into the failure.
const UNRELATED: u32 = 30;
/// Cost of what passing runs have too.
const NOT_NEW: u32 = 20;

/// All candidates, best first.
pub(super) fn candidates(view: &View, budget: &Budget) -> Vec<Candidate> {
    let mut found = after_free(view);
    let interrupted = interrupted(view);
    found.extend(reordered(view, &pairs_of(view, &interrupted)));
    found.extend(interrupted);
    let couples = match budget.stop() {
        None => coupled(view, budget),
        Some(_) => Vec::new(),
    };
    found.extend(
        missing(view)
            .into_iter()
            .filter(|one| !is_half(one, &couples)),
    );
    found.extend(couples);
    if found.is_empty() {
        found = seldom(view);
    }
    found.sort_by_key(|candidate| (candidate.cost, candidate.at, rows(view, &candidate.story)));
    found
}

/// A missing pair that came late after all is told better with the pair that came in time.
fn is_half(candidate: &Candidate, couples: &[Candidate]) -> bool {
    let Story::Missing { reader: row, .. } = candidate.story else {
        return false;
    };
    let about = |couple: &CoupledPairs| couple.second.head == row || couple.first.head == row;
    couples
        .iter()
        .any(|other| matches!(&other.story, Story::MultiVariable(couple) if about(couple)))
}

fn distance(view: &View, rows: &[EventId]) -> u32 {
    rows.iter()
        .filter_map(|row| view.slice.distance(*row))
        .min()
        .unwrap_or(UNRELATED)
}

fn candidate(view: &View, story: Story, rows: &[EventId], contrast: u32, new: bool) -> Candidate {
    let distance = distance(view, rows);
    Candidate {
        story,
        cost: distance * PER_STEP + contrast,
        new,
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
        Story::AfterFree { free, used } => (*free, *used),
    }
}

/// Unserializable triples of the failing run. What passing runs have too may still be the cause, with
/// other values, when the failure itself read it; then it has to be near.
fn interrupted(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    let mut found = Vec::new();
    triples(&view.run, view.orders.accesses(), |triple| {
        if view.is_forced(triple.first, triple.remote)
            && view.is_forced(triple.remote, triple.second)
        {
            return;
        }
        let key = TripleKey {
            first: view.key(triple.first),
            remote: view.key(triple.remote),
            second: view.key(triple.second),
        };
        let runs = counts.triple_runs(key);
        let story = classify(view, triple, key);
        let contrast = seen(runs, counts.passing())
            + harmless(view, &triple, runs)
            + match story {
                Story::Atomicity(_) => apart(view, triple.first, triple.second),
                _ => 0,
            };
        let mut rows = vec![triple.second, triple.remote];
        if distance(view, &rows) == UNRELATED {
            rows.push(triple.first);
        }
        found.push(candidate(
            view,
            story,
            &rows,
            contrast.saturating_sub(freed_twice(view, &triple)),
            runs == 0 && counts.passing() > 0,
        ));
    });
    keep_best(found)
}

/// The pairs that interruptions consist of: those are told as such, not as two accesses in the wrong order.
fn pairs_of(view: &View, interruptions: &[Candidate]) -> FxHashSet<PairKey> {
    let triples = interruptions
        .iter()
        .filter_map(|candidate| match candidate.story {
            Story::Atomicity(triple) => Some(triple),
            _ => None,
        });
    let pairs = triples.flat_map(|triple| {
        let [first, remote, second] =
            [triple.first, triple.remote, triple.second].map(|row| view.key(row));
        [
            PairKey {
                head: first,
                tail: remote,
            },
            PairKey {
                head: remote,
                tail: second,
            },
        ]
    });
    pairs.collect()
}

/// Cost of being seen in passing runs.
fn seen(runs: u32, passing: u32) -> u32 {
    match (runs, passing) {
        (_, 0) => NOT_NEW / 4,
        (0, _) => 0,
        (runs, passing) => NOT_NEW + NOT_NEW * runs / passing,
    }
}

/// A thread that writes, lets another write, and reads what is there now is mostly fine with it (a shared
/// counter); one that reads the same value twice has noticed nothing.
fn harmless(view: &View, triple: &Triple, runs: u32) -> u32 {
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let unchanged = first.value.is_some() && first.value == second.value;
    match (first.kind.reads(), second.kind.reads()) {
        (true, true) if unchanged => NOT_NEW,
        (false, true) if distance(view, &[triple.second]) <= 3 => NOT_NEW / 4,
        (false, true) if runs > 0 || apart(view, triple.first, triple.second) > 0 => 2 * NOT_NEW,
        (false, true) => NOT_NEW / 4,
        _ => 0,
    }
}

/// When a block was freed twice, an interruption in that block, or of what the thread looked at just before,
/// is most likely in the count of its users.
fn freed_twice(view: &View, triple: &Triple) -> u32 {
    const JUST_BEFORE: usize = 8;
    let block = |location| crate::facts::block(view.run.location(location));
    let twice = view.summary.failure_kind == Some(FailureKind::DoubleFree);
    let rows = view.rows.before(view.thread(view.failure), view.failure);
    let looked_at = rows
        .iter()
        .rev()
        .take(JUST_BEFORE)
        .any(|row| *row == triple.second);
    let same = block(triple.location) == block(view.event(view.failure).location);
    if twice && (same || looked_at) {
        2 * NOT_NEW
    } else {
        0
    }
}

/// Are the three meant as one step, or were two of them meant to have one order? When passing runs have
/// the other thread's access on both sides, each order alone is fine; when only ever on one side, the
/// order was meant.
fn classify(view: &View, triple: Triple, key: TripleKey) -> Story {
    const ENOUGH: u32 = 3;
    let counts = view.corpus.counts();
    let runs = |head, tail| counts.ordered(PairKey { head, tail });
    let remote_first = runs(key.remote, key.first).max(runs(key.remote, key.second));
    let remote_last = runs(key.second, key.remote).max(runs(key.first, key.remote));
    let (first, second) = (
        view.event(triple.first).kind,
        view.event(triple.second).kind,
    );
    let symmetric = view.place(triple.remote).function == view.place(triple.second).function;
    let carried = first == EventKind::Rmw || second == EventKind::Rmw || symmetric;
    let updates = first.reads() && second.writes();
    match (remote_first, remote_last) {
        _ if updates || carried => Story::Atomicity(triple),
        (0, last) if last >= ENOUGH => Story::Order {
            early: triple.remote,
            late: triple.second,
        },
        (first, 0) if first >= ENOUGH => Story::Order {
            early: triple.first,
            late: triple.remote,
        },
        _ if counts.passing() < ENOUGH && tears_down(view, triple.remote) => Story::Order {
            early: triple.remote,
            late: triple.second,
        },
        _ => Story::Atomicity(triple),
    }
}

/// Sets a pointer to NULL.
fn tears_down(view: &View, row: EventId) -> bool {
    view.value(row).as_deref() == Some("NULL")
}

/// Of stories about the same lines one is enough.
fn keep_best(mut found: Vec<Candidate>) -> Vec<Candidate> {
    const KEEP: usize = 400;
    found.sort_by_key(|candidate| (candidate.cost, candidate.at));
    found.truncate(KEEP);
    found
}

/// Test Procedure I: pairs that passing runs have only the other way round.
fn reordered(view: &View, interruptions: &FxHashSet<PairKey>) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    if counts.passing() == 0 {
        return Vec::new();
    }
    let new = procedure_one(&view.run, view.pairs(), counts);
    let pairs = new
        .iter()
        .filter(|pair| counts.stats(pair.key.reversed()).runs > 0);
    let pairs = pairs.filter(|pair| !interruptions.contains(&pair.key));
    let lost = lost_updates(view);
    let pairs = pairs.filter(|pair| !lost.contains(&pair.key.tail));
    let pairs = pairs.filter(|pair| !view.is_forced(pair.head, pair.tail));
    let pairs = pairs.map(|pair| {
        let occurrence = nearest_occurrence(view, pair.key).unwrap_or((pair.head, pair.tail));
        let backward = counts.stats(pair.key.reversed()).runs;
        let contrast =
            2 + NOT_NEW * (counts.passing() - backward.min(counts.passing())) / counts.passing();
        let story = Story::Order {
            early: occurrence.0,
            late: occurrence.1,
        };
        candidate(view, story, &[occurrence.0, occurrence.1], contrast, true)
    });
    pairs.collect()
}

/// Writes that overwrite what came after the read that they go back to: not in the wrong order, but not
/// one step with the read.
fn lost_updates(view: &View) -> FxHashSet<AccessKey> {
    let mut lost = FxHashSet::default();
    triples(&view.run, view.orders.accesses(), |triple| {
        let (first, second) = (
            view.event(triple.first).kind,
            view.event(triple.second).kind,
        );
        if first.reads() && !second.reads() {
            lost.insert(view.key(triple.second));
        }
    });
    lost
}

/// The occurrence of a pair that is nearest to the failure.
fn nearest_occurrence(view: &View, key: PairKey) -> Option<(EventId, EventId)> {
    let mut best: Option<(u32, EventId, EventId)> = None;
    crate::orders::dependencies(&view.run, view.orders.accesses(), |dependency| {
        if view.key(dependency.head) == key.head && view.key(dependency.tail) == key.tail {
            let here = (
                distance(view, &[dependency.tail]),
                dependency.head,
                dependency.tail,
            );
            best = Some(best.map_or(here, |best| best.min(here)));
        }
    });
    best.map(|(_, head, tail)| (head, tail))
}

/// Test Procedure II: reads of the failure whose write, present in passing runs, never came.
fn missing(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    if counts.passing() == 0 {
        return Vec::new();
    }
    let mut readers: FxHashMap<_, EventId> = FxHashMap::default();
    for (row, event) in view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind.reads())
    {
        let slot = readers.entry(view.key(row)).or_insert(row);
        if event.kind.reads() && distance(view, &[row]) <= distance(view, &[*slot]) {
            *slot = row;
        }
    }
    let pairs = procedure_two(view.pairs(), counts);
    let of_reads = pairs.iter().filter_map(|pair| {
        let reader = *readers.get(&pair.original.tail)?;
        let writes = counts.site(pair.original.head)?.class != crate::pairs::AccessClass::Read;
        (writes && same_variable(view, pair.original, reader)).then_some((pair, reader))
    });
    let of_reads = of_reads.filter(|(pair, reader)| !ran(view, pair.original, *reader));
    let stories = of_reads.map(|(pair, reader)| {
        let story = Story::Missing {
            original: pair.original,
            reader,
        };
        candidate(
            view,
            story,
            &[reader],
            if pair.partner.is_some() { 4 } else { 2 },
            true,
        )
    });
    stories.collect()
}

/// When nothing else is found: reads of the failure before which only some passing runs have the write. It
/// may be that the others passed for another reason.
fn seldom(view: &View) -> Vec<Candidate> {
    const NEVER_SURE: u32 = 60;
    let counts = view.corpus.counts();
    let mut readers: FxHashMap<AccessKey, EventId> = FxHashMap::default();
    let rows = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind.reads());
    let near = rows.filter(|(row, _)| distance(view, &[*row]) < UNRELATED);
    for (row, _) in near {
        readers.insert(view.key(row), row);
    }
    let pairs = counts.pairs().filter_map(|(original, _)| {
        let reader = *readers.get(&original.tail)?;
        let writes = counts.site(original.head)?.class != crate::pairs::AccessClass::Read;
        let fits = writes
            && same_variable(view, original, reader)
            && view.pairs().find(original).is_none()
            && !ran(view, original, reader);
        fits.then_some((original, reader))
    });
    let stories = pairs.map(|(original, reader)| {
        let story = Story::Missing { original, reader };
        candidate(view, story, &[reader], NEVER_SURE, false)
    });
    stories.collect()
}

fn same_variable(view: &View, original: PairKey, reader: EventId) -> bool {
    view.corpus.counts().location(original) == view.run.location(view.event(reader).location)
}

/// Did the write happen after all, before the read (and something else came in between) or after it?
fn ran(view: &View, original: PairKey, reader: EventId) -> bool {
    let rows = view
        .orders
        .accesses()
        .of(view.event(reader).location)
        .iter();
    rows.into_iter().any(|&row| view.key(row) == original.head)
}

/// Test Procedure III. What passing runs have too is weak, but may be the cause with other values.
fn coupled(view: &View, budget: &Budget) -> Vec<Candidate> {
    let passing = view.corpus.counts().passing();
    let mut found = Vec::new();
    for (couple, runs) in procedure_three(&view.run, view.orders.accesses(), view.corpus.counts()) {
        if budget.stop().is_some() {
            break;
        }
        let forced = |d: &Dependency| view.is_forced(d.head, d.tail);
        if !forced(&couple.first) && !forced(&couple.second) && passing > 0 {
            found.push(couple_candidate(view, couple, runs));
        }
    }
    keep_best(found)
}

fn couple_candidate(view: &View, couple: CoupledPairs, runs: u32) -> Candidate {
    const BEHIND_ONE_AND_TWO: u32 = 8;
    let passing = view.corpus.counts().passing();
    let (first, second) = (&couple.first, &couple.second);
    let far =
        distance(view, &[first.head, first.tail]).max(distance(view, &[second.head, second.tail]));
    let flows = [first, second]
        .iter()
        .any(|d| d.kind == DependencyKind::Flow);
    let (from, to) = (first.tail.min(second.head), first.tail.max(second.head));
    let contrast = BEHIND_ONE_AND_TWO
        + seen(runs, passing)
        + if flows { 0 } else { 4 }
        + apart(view, first.head, second.tail)
        + apart(view, from, to) / 2
        + far.min(UNRELATED);
    let rows = [first.head, first.tail, second.head, second.tail];
    candidate(
        view,
        Story::MultiVariable(couple),
        &rows,
        contrast,
        runs == 0,
    )
}

/// Cost of two accesses of one thread not looking like one step: in functions that nothing common calls, or
/// the second at the first or above it, as in the next turn of a loop.
fn apart(view: &View, first: EventId, second: EventId) -> u32 {
    match common_function(view, first, second) {
        None => 12,
        Some((_, a, b)) => {
            let (a, b) = (view.run.meta.site(a), view.run.meta.site(b));
            let same_again = view.key(first) == view.key(second);
            if b.line < a.line || same_again { 10 } else { 0 }
        }
    }
}

/// Blocks that were used after they were freed.
fn after_free(view: &View) -> Vec<Candidate> {
    let freed = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Free);
    let mut freed: Vec<(&str, EventId)> = freed
        .map(|(row, event)| (view.run.location(event.location), row))
        .collect();
    freed.sort();
    freed.dedup_by_key(|(block, _)| *block);
    if freed.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (row, event) in view.run.events.iter() {
        let name = view.run.location(event.location);
        let block = crate::facts::block(name);
        let free = freed
            .binary_search_by_key(&block, |(block, _)| *block)
            .ok()
            .and_then(|at| freed.get(at));
        let Some(&(_, free)) = free.filter(|(_, free)| *free < row && !block.is_empty()) else {
            continue;
        };
        let again = event.kind == EventKind::Failure
            && view.summary.failure_kind == Some(FailureKind::DoubleFree);
        let uses = again
            || event.kind.is_access()
            || event.kind == EventKind::Free
            || event.kind == EventKind::Lock;
        if uses {
            found.push(after_free_candidate(view, free, row, again));
        }
    }
    keep_best(found)
}

fn after_free_candidate(view: &View, free: EventId, used: EventId, again: bool) -> Candidate {
    let mut found = candidate(view, Story::AfterFree { free, used }, &[used], 0, true);
    if again {
        (found.cost, found.relevant) = (NOT_NEW / 2, true);
    }
    found
}
