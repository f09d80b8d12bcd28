//! Writes that never came.

use super::{Candidate, Story, UNRELATED, candidate, distance};
use crate::{
    explain::view::View,
    pairs::{AccessKey, CoupledPairs, PairKey, procedure_two},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::EventId;

/// Test Procedure II: reads of the failure whose write, present in passing runs, never came.
pub(super) fn missing(view: &View) -> Vec<Candidate> {
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
