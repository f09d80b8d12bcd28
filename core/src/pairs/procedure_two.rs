//! Test Procedure II (LOCON, Algorithm 2): pairs that the failing run lacks.

use super::{
    collect::RunPairs,
    counts::{PairCounts, PairStats, Signature},
    keys::PairKey,
};
use rustc_hash::FxHashMap;

/// A pair of passing runs that the failing run lacks. The procedure blames the reversed pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingPair {
    /// The pair as in passing runs.
    pub original: PairKey,
    /// The pair that accompanied it in every passing run and that the failing run does have; none when all
    /// passing runs have the original.
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
    let here = passing.are_in(&failing.pairs);
    let mut missing = Vec::new();
    let mut lacking = Vec::new();
    for ((key, stats), here) in passing.pairs().zip(&here) {
        match (here, stats.runs == passing.passing()) {
            (false, true) => missing.push((key, stats, None)),
            (false, false) => lacking.push((key, stats)),
            (true, _) => {}
        }
    }
    missing.extend(coupled(&lacking, &here, passing));
    missing.sort_unstable_by_key(|(original, stats, _)| (stats.place(), *original));
    let missing = missing.into_iter();
    missing
        .map(|(original, _, partner)| MissingPair { original, partner })
        .collect()
}

/// A pair of passing runs with its statistics.
type PassingPair = (PairKey, PairStats);

/// Steps 1.2 and 2.2: pairs that always accompany one that the failing run has, on another variable. Pairs
/// with the same signature occur in the same runs.
fn coupled(
    lacking: &[PassingPair],
    here: &[bool],
    passing: &PairCounts,
) -> Vec<(PairKey, PairStats, Option<PairKey>)> {
    let mut partners: FxHashMap<Signature, TwoPairs> = FxHashMap::default();
    for (_, stats) in lacking {
        partners.entry(stats.signature).or_default();
    }
    let mine = passing.pairs().zip(here).filter(|(_, here)| **here);
    for (known, _) in mine {
        if let Some(partners) = partners.get_mut(&known.1.signature) {
            partners.add(known, passing);
        }
    }
    let coupled = lacking.iter().filter_map(|(original, stats)| {
        let partner = partners.get(&stats.signature)?.beside(stats, passing)?;
        Some((*original, *stats, Some(partner)))
    });
    coupled.collect()
}

/// The first two pairs on different variables, which are enough: one of them differs from any third.
#[derive(Default)]
struct TwoPairs {
    /// The first to occur.
    first: Option<PassingPair>,
    /// The first to occur on another variable than that.
    other: Option<PassingPair>,
}

impl TwoPairs {
    fn add(&mut self, known: PassingPair, passing: &PairCounts) {
        let place = |known: &PassingPair| (known.1.place(), known.0);
        let all = [Some(known), self.first, self.other];
        self.first = all.into_iter().flatten().min_by_key(place);
        let first = self.first;
        let differs =
            |known: &PassingPair| first.is_some_and(|first| passing.differ(&first.1, &known.1));
        self.other = all.into_iter().flatten().filter(differs).min_by_key(place);
    }

    fn beside(&self, stats: &PairStats, passing: &PairCounts) -> Option<PairKey> {
        let fits = |known: &&PassingPair| passing.differ(&known.1, stats);
        let both = [self.first.as_ref(), self.other.as_ref()];
        both.into_iter().flatten().find(fits).map(|known| known.0)
    }
}
