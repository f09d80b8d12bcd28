//! Test Procedure I (LOCON, Algorithm 1): pairs that only the failing run has.

use super::{
    collect::{RunPairs, SeenPair},
    counts::PairCounts,
    predictable::{OccurrencePair, implies_another},
};
use unsnarl_trace::Run;

/// Pairs of the failing run that no passing run has, without those that make another one predictable, in the
/// order of their first occurrence.
pub fn procedure_one(run: &Run, failing: &RunPairs, passing: &PairCounts) -> Vec<SeenPair> {
    not_implied(run, only_here(failing, passing).collect())
}

/// Procedure I restricted to pairs whose reverse occurs in passing runs: a pair of which they have neither
/// order does not make one of these predictable.
pub fn turned_pairs(run: &Run, failing: &RunPairs, passing: &PairCounts) -> Vec<SeenPair> {
    let is_turned = |pair: &SeenPair| passing.ordered(pair.key.reversed()) > 0;
    not_implied(run, only_here(failing, passing).filter(is_turned).collect())
}

fn only_here(failing: &RunPairs, passing: &PairCounts) -> impl Iterator<Item = SeenPair> {
    let known = passing.known(&failing.pairs);
    let only_here = failing.pairs.iter().zip(known).filter(|(_, known)| !known);
    only_here.map(|(pair, _)| *pair)
}

fn not_implied(run: &Run, new: Vec<SeenPair>) -> Vec<SeenPair> {
    let occurrences: Vec<OccurrencePair> = new.iter().map(|pair| occurrence(run, pair)).collect();
    let dropped = implies_another(&occurrences);
    let kept = new.into_iter().zip(dropped).filter(|(_, dropped)| !dropped);
    let mut kept: Vec<SeenPair> = kept.map(|(pair, _)| pair).collect();
    kept.sort_by_key(|pair| (pair.tail, pair.head, pair.key));
    kept
}

/// First occurrence of a pair with its threads.
pub fn occurrence(run: &Run, pair: &SeenPair) -> OccurrencePair {
    let thread = |row: unsnarl_trace::EventId| run.events.thread(row).0;
    OccurrencePair {
        head: pair.head,
        head_thread: thread(pair.head),
        tail: pair.tail,
        tail_thread: thread(pair.tail),
    }
}
