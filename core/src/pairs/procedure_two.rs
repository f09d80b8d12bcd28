//! Test Procedure II (LOCON, Algorithm 2): pairs that are missing in the failing run.

use super::{
    collect::RunPairs,
    counts::{PairCounts, PairStats},
    keys::PairKey,
};
use rustc_hash::FxHashMap;

/// A pair of passing runs that the failing run lacks. The reversed pair is what the procedure blames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingPair {
    /// As in passing runs.
    pub original: PairKey,
    /// The pair that came with it in every passing run and that the failing run does have; none when
    /// all passing runs have the original.
    pub partner: Option<PairKey>,
}

impl MissingPair {
    /// The pair to blame.
    pub fn reversed(&self) -> PairKey {
        self.original.reversed()
    }
}

/// Missing pairs in the order in which the originals occur in passing runs.
pub fn procedure_two(failing: &RunPairs, passing: &PairCounts) -> Vec<MissingPair> {
    let mut missing = always(failing, passing);
    missing.extend(coupled(failing, passing));
    missing.sort_by_key(|pair| (passing.stats(pair.original).place(), pair.original));
    missing
}

/// Steps 1.1 and 2.1: pairs of all passing runs.
fn always(failing: &RunPairs, passing: &PairCounts) -> Vec<MissingPair> {
    let all = passing
        .pairs()
        .filter(|(_, stats)| stats.runs == passing.passing());
    let lacking = all.filter(|(key, _)| failing.find(*key).is_none());
    lacking
        .map(|(original, _)| MissingPair {
            original,
            partner: None,
        })
        .collect()
}

/// Steps 1.2 and 2.2: pairs that always come together with one that the failing run has. Pairs with
/// the same signature occur in the same runs, so sorting by it finds the couples.
fn coupled(failing: &RunPairs, passing: &PairCounts) -> Vec<MissingPair> {
    let mut groups: FxHashMap<u128, Vec<PairKey>> = FxHashMap::default();
    for (key, stats) in passing
        .pairs()
        .filter(|(_, stats)| sometimes(stats, passing))
    {
        groups.entry(stats.signature).or_default().push(key);
    }
    let groups = groups.into_values().filter(|group| group.len() > 1);
    groups
        .flat_map(|group| lacking_partner(&group, failing, passing))
        .collect()
}

fn sometimes(stats: &PairStats, passing: &PairCounts) -> bool {
    stats.runs < passing.passing()
}

/// Two pairs on different variables are enough as partners: one of them differs from any third.
fn lacking_partner(
    group: &[PairKey],
    failing: &RunPairs,
    passing: &PairCounts,
) -> Vec<MissingPair> {
    let mut here: Vec<PairKey> = group
        .iter()
        .copied()
        .filter(|key| failing.find(*key).is_some())
        .collect();
    here.sort_by_key(|key| (passing.stats(*key).place(), *key));
    let partner = |original: PairKey| {
        let variable = passing.location(original);
        here.iter()
            .copied()
            .find(|key| passing.location(*key) != variable)
    };
    let lacking = group
        .iter()
        .copied()
        .filter(|key| failing.find(*key).is_none());
    let pair = |original| {
        Some(MissingPair {
            original,
            partner: Some(partner(original)?),
        })
    };
    lacking.filter_map(pair).collect()
}
