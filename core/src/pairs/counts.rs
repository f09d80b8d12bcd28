//! Statistics of the pairs of a corpus's passing runs.

use super::{
    collect::RunPairs,
    columns::{KeyCounts, places, spread, walk},
    couples::CoupleKey,
    keys::{AccessClass, AccessKey, AccessSite, Fnv, PairKey, TripleKey},
};
use crate::mining::trace::line_hash;
use rustc_hash::FxHashMap;

/// Statistics of a pair over the passing runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct PairStats {
    /// Number of runs that have it.
    pub runs: u32,
    /// A location on which they have it, named by [`PairCounts::location`].
    location: u32,
    /// Signature of the set of runs that have it: the sum of their hashes. Equal sums are taken for equal
    /// sets, so that coupled pairs (step 1.2 of Algorithm 2) are found by sorting instead of comparing all
    /// with all.
    pub signature: Signature,
    /// Total number of occurrences.
    pub times: u64,
    /// Sum of its ranks by first occurrence.
    pub places: u64,
}

/// A sum of 128-bit hashes of runs.
pub type Signature = (u64, u64);

impl PairStats {
    /// Mean rank by first occurrence, in 256ths.
    pub fn place(&self) -> u64 {
        (self.places << 8) / u64::from(self.runs.max(1))
    }
}

/// Counts over passing runs; adding or removing a run costs as much as that run.
#[derive(Clone, Debug, Default)]
pub struct PairCounts {
    passing: u32,
    /// Sorted keys; `stats` has the same rows.
    keys: Vec<PairKey>,
    stats: Vec<PairStats>,
    indirect: KeyCounts<PairKey>,
    triples: KeyCounts<TripleKey>,
    couples: KeyCounts<CoupleKey>,
    /// Number of runs with more couples than were examined.
    cut: u32,
    unwritten: KeyCounts<AccessKey>,
    ran: KeyCounts<AccessKey>,
    /// Access sites of the keys. A build has few sites, so they stay when runs are removed.
    sites: FxHashMap<AccessKey, AccessSite>,
    names: LocationNames,
}

/// Names of locations, each once; they stay when runs are removed.
#[derive(Clone, Debug, Default)]
struct LocationNames {
    list: Vec<String>,
    index: FxHashMap<String, u32>,
}

impl LocationNames {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", String::as_str)
    }
}

impl PairCounts {
    /// Adds a passing run.
    pub fn insert(&mut self, name: &str, run: &RunPairs) {
        self.passing += 1;
        self.take_pairs(run_hash(name), run);
        self.indirect.insert(run.indirect.iter().copied());
        self.couples.insert(run.couples.iter().copied());
        self.cut += u32::from(run.couples_cut);
        self.triples.insert(run.triples.iter().copied());
        self.unwritten.insert(run.unwritten.iter().copied());
        self.ran.insert(run.accesses.iter().map(|(key, _)| *key));
        for (key, site) in &run.accesses {
            self.sites.entry(*key).or_insert_with(|| site.clone());
        }
    }

    fn take_pairs(&mut self, hash: Signature, run: &RunPairs) {
        let names = &mut self.names;
        let numbers: Vec<u32> = run.locations.iter().map(|name| names.of(name)).collect();
        let location = |pair: &super::SeenPair| {
            let number = numbers.get(pair.location as usize);
            number.copied().unwrap_or(u32::MAX)
        };
        let (mut new, mut fresh) = (Vec::new(), Vec::new());
        let (names, stats) = (&self.names, &mut self.stats);
        let hit = |at: usize, number: usize| {
            if let (Some(stats), Some(pair)) = (stats.get_mut(at), run.pairs.get(number)) {
                add(stats, hash, pair);
                let here = location(pair);
                // The first by name among several locations.
                if here != stats.location && names.name(here) < names.name(stats.location) {
                    stats.location = here;
                }
            }
        };
        let miss = |number: usize, key| {
            let mut stats = PairStats::default();
            if let Some(pair) = run.pairs.get(number) {
                add(&mut stats, hash, pair);
                stats.location = location(pair);
            }
            new.push(key);
            fresh.push(stats);
        };
        walk(&self.keys, run.pairs.iter().map(|pair| pair.key), hit, miss);
        if !new.is_empty() {
            let places = places(&self.keys, &new);
            spread(&mut self.keys, &places, &new);
            spread(&mut self.stats, &places, &fresh);
        }
    }

    /// Removes a passing run; `run` was added under this name.
    pub fn remove(&mut self, name: &str, run: &RunPairs) {
        self.passing = self.passing.saturating_sub(1);
        self.give_pairs(run_hash(name), run);
        self.indirect.remove(run.indirect.iter().copied());
        self.couples.remove(run.couples.iter().copied());
        self.cut = self.cut.saturating_sub(u32::from(run.couples_cut));
        self.triples.remove(run.triples.iter().copied());
        self.unwritten.remove(run.unwritten.iter().copied());
        self.ran.remove(run.accesses.iter().map(|(key, _)| *key));
    }

    fn give_pairs(&mut self, hash: Signature, run: &RunPairs) {
        let stats = &mut self.stats;
        let mut gone = false;
        let hit = |at: usize, number: usize| {
            if let (Some(stats), Some(pair)) = (stats.get_mut(at), run.pairs.get(number)) {
                subtract(stats, hash, pair);
                gone |= stats.runs == 0;
            }
        };
        let keys = run.pairs.iter().map(|pair| pair.key);
        walk(&self.keys, keys, hit, |_, _| {});
        if gone {
            let mut kept = self.stats.iter().map(|stats| stats.runs > 0);
            self.keys.retain(|_| kept.next().unwrap_or(false));
            self.stats.retain(|stats| stats.runs > 0);
        }
    }

    /// Number of passing runs.
    pub fn passing(&self) -> u32 {
        self.passing
    }

    /// Statistics of a pair; zeros when no passing run has it.
    pub fn stats(&self, key: PairKey) -> PairStats {
        let at = self.keys.binary_search(&key).ok();
        at.and_then(|at| self.stats.get(at))
            .copied()
            .unwrap_or_default()
    }

    /// Number of passing runs (a lower bound) in which the head ran before the tail on one location, with at
    /// most reads in between.
    pub fn ordered(&self, key: PairKey) -> u32 {
        self.stats(key).runs.max(self.indirect.get(&key))
    }

    /// All pairs of passing runs, in the order of their keys.
    pub fn pairs(&self) -> impl Iterator<Item = (PairKey, PairStats)> + '_ {
        self.keys.iter().copied().zip(self.stats.iter().copied())
    }

    /// For each of the pairs (sorted by key), whether a passing run has it.
    pub(super) fn known(&self, pairs: &[super::SeenPair]) -> Vec<bool> {
        let mut known = vec![true; pairs.len()];
        let unknown = |number: usize, _| {
            if let Some(known) = known.get_mut(number) {
                *known = false;
            }
        };
        walk(
            &self.keys,
            pairs.iter().map(|pair| pair.key),
            |_, _| {},
            unknown,
        );
        known
    }

    /// For each row of [`PairCounts::pairs`], whether it is one of these pairs (sorted by key).
    pub(super) fn are_in(&self, pairs: &[super::SeenPair]) -> Vec<bool> {
        let mut are_in = vec![false; self.keys.len()];
        let hit = |at: usize, _| {
            if let Some(is_in) = are_in.get_mut(at) {
                *is_in = true;
            }
        };
        walk(
            &self.keys,
            pairs.iter().map(|pair| pair.key),
            hit,
            |_, _| {},
        );
        are_in
    }

    /// Number of passing runs with this triple.
    pub fn triple_runs(&self, key: TripleKey) -> u32 {
        self.triples.get(&key)
    }

    /// Returns whether all couples of the passing runs were examined. If not, [`PairCounts::couple_runs`] may
    /// be too low.
    pub fn knows_all_couples(&self) -> bool {
        self.cut == 0
    }

    /// Number of passing runs with this couple of pairs.
    pub fn couple_runs(&self, key: CoupleKey) -> u32 {
        self.couples.get(&key)
    }

    /// Number of passing runs that executed this access (on shared data).
    pub fn ran(&self, key: AccessKey) -> u32 {
        self.ran.get(&key)
    }

    /// Number of passing runs in which this read saw the initial value.
    pub fn unwritten(&self, key: AccessKey) -> u32 {
        self.unwritten.get(&key)
    }

    /// Access site of a key.
    pub fn site(&self, key: AccessKey) -> Option<&AccessSite> {
        self.sites.get(&key)
    }

    /// All access sites, in no order.
    pub fn sites(&self) -> impl Iterator<Item = &AccessSite> {
        self.sites.values()
    }

    /// The key of an access on a line; the first of several.
    pub fn key_at(&self, line: u64, class: AccessClass) -> Option<AccessKey> {
        let is_there = |site: &AccessSite| {
            site.class == class && line_hash(&site.place.file, site.place.line) == line
        };
        let mut keys = self.sites.iter();
        let found = keys.by_ref().filter(|(_, site)| is_there(site));
        found.map(|(key, _)| *key).min()
    }

    /// A location on which passing runs have the pair.
    pub fn location(&self, key: PairKey) -> &str {
        match self.stats(key) {
            PairStats { runs: 0, .. } => "",
            stats => self.names.name(stats.location),
        }
    }

    /// Returns whether these are on different variables.
    pub(super) fn differ(&self, a: &PairStats, b: &PairStats) -> bool {
        a.location != b.location
    }
}

fn add(stats: &mut PairStats, hash: Signature, pair: &super::SeenPair) {
    stats.runs += 1;
    stats.signature.0 = stats.signature.0.wrapping_add(hash.0);
    stats.signature.1 = stats.signature.1.wrapping_add(hash.1);
    stats.times += u64::from(pair.times);
    stats.places += u64::from(pair.place);
}

fn subtract(stats: &mut PairStats, hash: Signature, pair: &super::SeenPair) {
    stats.runs = stats.runs.saturating_sub(1);
    stats.signature.0 = stats.signature.0.wrapping_sub(hash.0);
    stats.signature.1 = stats.signature.1.wrapping_sub(hash.1);
    stats.times = stats.times.saturating_sub(u64::from(pair.times));
    stats.places = stats.places.saturating_sub(u64::from(pair.place));
}

fn run_hash(name: &str) -> Signature {
    let mut second = Fnv::default();
    second.text("run");
    second.text(name);
    (mix(Fnv::of(name)), mix(second.0))
}

/// Mixes the bits (the finalizer of splitmix64), so that sums of hashes don't collide by structure.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
