//! Pairs that passing runs have only the other way round.

use super::{Candidate, NOT_NEW, Story, candidate, distance};
use crate::{
    explain::view::View,
    pairs::{AccessKey, PairKey, procedure_one, triples},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::EventId;

/// Test Procedure I: pairs that passing runs have only the other way round.
pub(super) fn reordered(view: &View, interruptions: &FxHashSet<PairKey>) -> Vec<Candidate> {
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
