//! Stories around the decisive steps of a run, independent of other runs: experiments tell which of them
//! hold.

use super::{atomicity, deadlock::deadlock, note_engines, order, view::View};
use crate::{
    Budget,
    corpus::Corpus,
    explanation::{Certainty, Explanation},
    findings::Beside,
    pairs::{Triple, triples},
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, Outcome};

/// Bound on the interruptions reported.
const INTERRUPTIONS: usize = 4;

/// Bound on the accesses of a critical section that are examined.
const IN_SECTION: usize = 24;

/// The orders of conflicting accesses that involve one of these rows, as explanations of the run that another
/// explanation is about: for corpora whose own stories are not confirmed. Linear in the run.
pub fn decided(
    corpus: &Corpus,
    explanation: &Explanation,
    steps: &[EventId],
    budget: &Budget,
) -> Vec<Explanation> {
    let summary = corpus.get(&explanation.run);
    let Some(view) = summary.and_then(|run| View::new(corpus, run)) else {
        return Vec::new();
    };
    let rows: BTreeSet<EventId> = steps
        .iter()
        .flat_map(|step| accesses(&view, *step))
        .collect();
    let interruptions = interruptions(&view, &rows);
    // A half of an interruption is explained as the interruption.
    let halves: BTreeSet<(EventId, EventId)> = interruptions
        .iter()
        .flat_map(|of| [(of.first, of.remote), (of.remote, of.second)])
        .collect();
    let pairs: BTreeSet<(EventId, EventId)> = rows
        .iter()
        .flat_map(|row| neighbours(&view, *row))
        .filter(|pair| !halves.contains(pair))
        .collect();
    let beside = Beside::new(corpus, budget);
    let behind = behind(&view);
    let atomic = interruptions.into_iter().take(INTERRUPTIONS);
    let atomic = atomic.map(|triple| atomicity::single(&view, &triple));
    let ordered = pairs.into_iter();
    let ordered = ordered.map(|(early, late)| order::swapped(&view, early, late));
    let told = atomic.chain(ordered).map(|mut told| {
        told.certainty = Certainty::Possible;
        told.runs.clone_from(&explanation.runs);
        told.also_fails.clone_from(&explanation.also_fails);
        if let Some(behind) = &behind {
            told.remark_first(behind);
        }
        note_engines(&beside, &mut told);
        told
    });
    told.collect()
}

/// Interruptions that involve one of the rows.
fn interruptions(view: &View, rows: &BTreeSet<EventId>) -> Vec<Triple> {
    let mut found = Vec::new();
    triples(&view.run, view.orders.accesses(), |triple| {
        let of = [triple.first, triple.remote, triple.second];
        let is_forced = view.is_forced(triple.first, triple.remote);
        if !is_forced && of.iter().any(|row| rows.contains(row)) {
            found.push(triple);
        }
    });
    found
}

/// The step itself if it accesses shared data; else the accesses up to the end of the section that it begins.
fn accesses(view: &View, step: EventId) -> Vec<EventId> {
    let is_shared = |row: &EventId| {
        let event = view.event(*row);
        event.kind.is_access() && view.orders.accesses().is_shared(event.location)
    };
    if view.event(step).kind.is_access() {
        return Some(step).filter(is_shared).into_iter().collect();
    }
    let rows = view.rows.after(view.thread(step), step).iter().copied();
    let ends = |row: &EventId| !matches!(view.event(*row).kind, EventKind::Unlock | EventKind::End);
    rows.take_while(ends)
        .filter(is_shared)
        .take(IN_SECTION)
        .collect()
}

/// Pairs of the access with the next conflicting one of another thread, and with the preceding one.
fn neighbours(view: &View, row: EventId) -> Vec<(EventId, EventId)> {
    let location = view.event(row).location;
    let writes = |row: EventId| view.event(row).kind.writes();
    let conflicts = |other: &EventId| {
        view.thread(*other) != view.thread(row) && (writes(row) || writes(*other))
    };
    let accesses = view.orders.accesses();
    let mut after = accesses.after(location, row).iter().copied();
    let mut before = accesses.before(location, row).iter().rev().copied();
    let next = after.find(conflicts).map(|late| (row, late));
    let last = before.find(conflicts).map(|early| (early, row));
    let is_open = |(early, late): &(EventId, EventId)| !view.is_forced(*early, *late);
    next.into_iter().chain(last).filter(is_open).collect()
}

/// Consequence of a deadlock as a sentence, where nothing else fails: `main.1 waits for ever at line 18.`
fn behind(view: &View) -> Option<String> {
    let hangs = view.summary.outcome == Outcome::Deadlocked;
    let hang = deadlock(view).filter(|_| hangs)?;
    Some(format!("{}.", view.waits_for_ever(hang.wait)))
}
