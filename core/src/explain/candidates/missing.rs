//! Writes that never came.

use super::{Candidate, NOT_NEW, Story, UNRELATED, candidate, distance};
use crate::{
    explain::{missing::never_comes, view::View},
    facts,
    pairs::{AccessClass, AccessKey, CoupledPairs, PairKey, procedure_two},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::EventId;

/// Test Procedure II: reads of the failure whose write, present in passing runs, never came.
pub(super) fn missing(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    if counts.passing() == 0 {
        return Vec::new();
    }
    // A compiler may give both reads of `a - b` one place, so the name counts too.
    let mut readers: FxHashMap<(AccessKey, &str), EventId> = FxHashMap::default();
    let rows = view.run.events.iter();
    for (row, event) in rows.filter(|(_, event)| event.kind.reads()) {
        let name = view.run.location(event.location);
        let slot = readers.entry((view.key(row), name)).or_insert(row);
        if distance(view, &[row]) <= distance(view, &[*slot]) {
            *slot = row;
        }
    }
    let pairs = procedure_two(view.pairs(), counts);
    let of_reads = pairs.iter().filter_map(|pair| {
        let name = counts.location(pair.original);
        let reader = *readers.get(&(pair.original.tail, name))?;
        let writes = counts.site(pair.original.head)?.class != AccessClass::Read;
        writes.then_some((pair, reader))
    });
    let of_reads = of_reads.filter(|(pair, reader)| !ran(view, pair.original, *reader));
    let stories = of_reads.map(|(pair, reader)| {
        let story = Story::Missing {
            original: pair.original,
            reader,
        };
        let contrast = if pair.partner.is_some() { 4 } else { 2 };
        let contrast =
            contrast + too_late_to_come(view, pair.original, reader) + usual(view, reader);
        candidate(view, story, &[reader], contrast, true)
    });
    stories.collect()
}

/// Cost of a read that sees in passing runs, too, what it saw here: the write was not missing, but came later.
fn usual(view: &View, reader: EventId) -> u32 {
    let counts = view.corpus.counts();
    let source = view
        .orders
        .last_write_before(view.event(reader).location, reader);
    let runs = match source {
        Some(head) => counts.ordered(PairKey {
            head: view.key(head),
            tail: view.key(reader),
        }),
        None => counts.unwritten(view.key(reader)),
    };
    NOT_NEW / 2 * runs.min(counts.passing()) / counts.passing().max(1)
}

/// Cost of a write that cannot come any more: it did not run for another reason.
fn too_late_to_come(view: &View, original: PairKey, reader: EventId) -> u32 {
    let site = view.corpus.counts().site(original.head);
    match site.is_some_and(|site| never_comes(view, &site.place, reader)) {
        true => NOT_NEW,
        false => 0,
    }
}

/// Reads of the failure at sites that see other threads' writes elsewhere, as of the other elements of an
/// array, but here nothing that anybody has written, while a thread may still write it; in passing runs they see
/// such writes more often.
pub(super) fn unset_sibling(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    let written = |row: EventId| {
        let location = view.event(row).location;
        view.orders.last_write_before(location, row).is_some()
    };
    let flows = view.pairs().pairs.iter().filter(|pair| {
        let stats = counts.stats(pair.key);
        let class = counts.site(pair.key.head).map(|site| site.class);
        class.is_some_and(|class| class != AccessClass::Read)
            && stats.times > u64::from(pair.times) * u64::from(stats.runs)
    });
    let flows: FxHashMap<AccessKey, PairKey> =
        flows.map(|pair| (pair.key.tail, pair.key)).collect();
    let rows = view.run.events.iter();
    let reads = rows
        .filter(|(_, event)| event.kind.reads())
        .map(|(row, _)| row);
    let unset = reads.filter(|&row| distance(view, &[row]) < UNRELATED && !written(row));
    let stories = unset.filter_map(|reader| {
        let original = *flows.get(&view.key(reader))?;
        let (theirs, own) = (counts.location(original), view.event(reader).location);
        if facts::family(theirs) != facts::family(view.run.location(own)) {
            return None;
        }
        let story = Story::Missing { original, reader };
        let may_come =
            !ran(view, original, reader) && too_late_to_come(view, original, reader) == 0;
        may_come.then(|| candidate(view, story, &[reader], 2, true))
    });
    stories.collect()
}

/// When nothing else is found: reads of the failure before which only some passing runs have the write. It
/// may be that the others passed for another reason.
pub(super) fn seldom(view: &View) -> Vec<Candidate> {
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
        let writes = counts.site(original.head)?.class != AccessClass::Read;
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

/// A missing pair that came late after all is told better with the pair that came in time.
pub(super) fn is_half(candidate: &Candidate, couples: &[Candidate]) -> bool {
    let Story::Missing { reader: row, .. } = candidate.story else {
        return false;
    };
    let about = |couple: &CoupledPairs| couple.second.head == row || couple.first.head == row;
    couples
        .iter()
        .any(|other| matches!(&other.story, Story::MultiVariable(couple) if about(couple)))
}
