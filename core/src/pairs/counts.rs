//! What a corpus knows of the pairs of its passing runs.

use super::{
    collect::RunPairs,
    couples::CoupleKey,
    keys::{AccessKey, AccessSite, Fnv, PairKey, TripleKey},
};
use rustc_hash::FxHashMap;

/// Over the passing runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairStats {
    /// How many have it.
    pub runs: u32,
    /// Which have it: the sum of their hashes. Equal sums are taken for equal sets, which makes finding
    /// coupled pairs (step 1.2 of Algorithm 2) a matter of sorting instead of comparing all with all.
    pub signature: u128,
    /// How often they have it, in sum.
    pub times: u64,
    /// Sum of its places in the order of first occurrence.
    pub places: u64,
}

impl PairStats {
    /// Mean place in the order of first occurrence, in 256ths.
    pub fn place(&self) -> u64 {
        (self.places << 8) / u64::from(self.runs.max(1))
    }
}

/// Counts over passing runs; a run goes in or out at the cost of that run.
#[derive(Clone, Debug, Default)]
pub struct PairCounts {
    passing: u32,
    pairs: FxHashMap<PairKey, PairStats>,
    indirect: FxHashMap<PairKey, u32>,
    triples: FxHashMap<TripleKey, u32>,
    couples: FxHashMap<CoupleKey, u32>,
    ran: FxHashMap<AccessKey, u32>,
    /// What keys stand for. A build has few sites: they stay when runs go.
    sites: FxHashMap<AccessKey, AccessSite>,
    /// A location of each pair, the first by name.
    locations: FxHashMap<PairKey, String>,
}

impl PairCounts {
    /// Takes in a passing run.
    pub fn insert(&mut self, name: &str, run: &RunPairs) {
        self.passing += 1;
        let hash = run_hash(name);
        for (place, pair) in in_order(run) {
            let stats = self.pairs.entry(pair.key).or_default();
            stats.runs += 1;
            stats.signature = stats.signature.wrapping_add(hash);
            stats.times += u64::from(pair.times);
            stats.places += place;
            let name = run.location(pair);
            let known = self
                .locations
                .entry(pair.key)
                .or_insert_with(|| name.to_owned());
            if name < known.as_str() {
                name.clone_into(known);
            }
        }
        for &key in &run.indirect {
            *self.indirect.entry(key).or_default() += 1;
        }
        for &couple in &run.couples {
            *self.couples.entry(couple).or_default() += 1;
        }
        for &triple in &run.triples {
            *self.triples.entry(triple).or_default() += 1;
        }
        for (key, site) in &run.accesses {
            *self.ran.entry(*key).or_default() += 1;
            self.sites.entry(*key).or_insert_with(|| site.clone());
        }
    }

    /// Takes a passing run out again; `run` is what went in under this name.
    pub fn remove(&mut self, name: &str, run: &RunPairs) {
        self.passing = self.passing.saturating_sub(1);
        let hash = run_hash(name);
        for (place, pair) in in_order(run) {
            let Some(stats) = self.pairs.get_mut(&pair.key) else {
                continue;
            };
            stats.runs = stats.runs.saturating_sub(1);
            stats.signature = stats.signature.wrapping_sub(hash);
            stats.times = stats.times.saturating_sub(u64::from(pair.times));
            stats.places = stats.places.saturating_sub(place);
            if stats.runs == 0 {
                self.pairs.remove(&pair.key);
                self.locations.remove(&pair.key);
            }
        }
        run.indirect
            .iter()
            .for_each(|key| drop_one(&mut self.indirect, key));
        run.couples
            .iter()
            .for_each(|couple| drop_one(&mut self.couples, couple));
        run.triples
            .iter()
            .for_each(|triple| drop_one(&mut self.triples, triple));
        run.accesses
            .iter()
            .for_each(|(key, _)| drop_one(&mut self.ran, key));
    }

    /// Number of passing runs.
    pub fn passing(&self) -> u32 {
        self.passing
    }

    /// What is known of a pair; zeros when no passing run has it.
    pub fn stats(&self, key: PairKey) -> PairStats {
        self.pairs.get(&key).copied().unwrap_or_default()
    }

    /// Passing runs (at least this many) in which the head ran before the tail on one location, with at most
    /// reads in between.
    pub fn ordered(&self, key: PairKey) -> u32 {
        let indirect = self.indirect.get(&key).copied().unwrap_or(0);
        self.stats(key).runs.max(indirect)
    }

    /// All pairs of passing runs, in no particular order.
    pub fn pairs(&self) -> impl Iterator<Item = (PairKey, PairStats)> + '_ {
        self.pairs.iter().map(|(key, stats)| (*key, *stats))
    }

    /// Passing runs with this triple.
    pub fn triple_runs(&self, key: TripleKey) -> u32 {
        self.triples.get(&key).copied().unwrap_or(0)
    }

    /// Passing runs with this couple of pairs.
    pub fn couple_runs(&self, key: CoupleKey) -> u32 {
        self.couples.get(&key).copied().unwrap_or(0)
    }

    /// Passing runs in which this access ran (on shared data).
    pub fn ran(&self, key: AccessKey) -> u32 {
        self.ran.get(&key).copied().unwrap_or(0)
    }

    /// What a key stands for.
    pub fn site(&self, key: AccessKey) -> Option<&AccessSite> {
        self.sites.get(&key)
    }

    /// A location on which passing runs have the pair.
    pub fn location(&self, key: PairKey) -> &str {
        self.locations.get(&key).map_or("", String::as_str)
    }
}

/// The pairs with their places in the order of first occurrence.
fn in_order(run: &RunPairs) -> impl Iterator<Item = (u64, &super::SeenPair)> {
    let mut order: Vec<_> = run.pairs.iter().collect();
    order.sort_by_key(|pair| (pair.tail, pair.head, pair.key));
    order
        .into_iter()
        .enumerate()
        .map(|(place, pair)| (place as u64, pair))
}

fn run_hash(name: &str) -> u128 {
    let mut second = Fnv::default();
    second.text("run");
    second.text(name);
    u128::from(mix(Fnv::of(name))) << 64 | u128::from(mix(second.0))
}

/// Spreads the bits (the finalizer of splitmix64), so that sums of hashes don't collide by structure.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn drop_one<K: std::hash::Hash + Eq>(counts: &mut FxHashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
