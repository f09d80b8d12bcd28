//! What one run contributes to its corpus.

use super::{
    couples::{CoupleKey, couples},
    keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey},
    triples::triples,
};
use crate::{
    facts::place,
    orders::{Accesses, dependencies},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, LocationId, Run};

/// A pair in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenPair {
    /// Which pair.
    pub key: PairKey,
    /// Head of its first occurrence.
    pub head: EventId,
    /// Tail of its first occurrence.
    pub tail: EventId,
    /// Location of its first occurrence: index into [`RunPairs::locations`].
    pub location: u32,
    /// How often it occurs.
    pub times: u32,
}

/// The pairs of one run and what else procedures compare over runs.
#[derive(Clone, Debug, Default)]
pub struct RunPairs {
    /// Sorted by key.
    pub pairs: Vec<SeenPair>,
    /// Dependencies that are not immediate: no pairs, but they have an order. Sorted.
    pub indirect: Vec<PairKey>,
    /// Couples of pairs in opposite directions. Sorted.
    pub couples: Vec<CoupleKey>,
    /// Sorted.
    pub triples: Vec<TripleKey>,
    /// Accesses to shared locations that ran, sorted by key.
    pub accesses: Vec<(AccessKey, AccessSite)>,
    /// Names of the locations of the pairs.
    pub locations: Vec<String>,
}

impl RunPairs {
    /// Collects the pairs of a run in one pass over the accesses to shared locations.
    pub fn collect(run: &Run) -> RunPairs {
        RunPairs::with_accesses(run, &Accesses::new(run))
    }

    /// The same when the accesses are indexed already.
    pub fn with_accesses(run: &Run, accesses: &Accesses) -> RunPairs {
        let mut keys = Keys::new(run);
        let mut pairs: FxHashMap<PairKey, SeenPair> = FxHashMap::default();
        let mut direct = Vec::new();
        let mut indirect = FxHashSet::default();
        let mut names = Names::default();
        dependencies(run, accesses, |dependency| {
            let key = PairKey {
                head: keys.of(dependency.head),
                tail: keys.of(dependency.tail),
            };
            if !dependency.direct {
                indirect.insert(key);
                return;
            }
            direct.push(dependency);
            let seen = SeenPair {
                key,
                head: dependency.head,
                tail: dependency.tail,
                location: 0,
                times: 0,
            };
            let slot = pairs.entry(key).or_insert(SeenPair {
                tail: EventId(u32::MAX),
                ..seen
            });
            slot.times += 1;
            if dependency.tail < slot.tail {
                *slot = SeenPair {
                    times: slot.times,
                    location: names.of(run, dependency.location),
                    ..seen
                };
            }
        });
        let mut coupled = FxHashSet::default();
        couples(
            run,
            &direct,
            |row| keys.of(row),
            |_, key| {
                coupled.insert(key);
            },
        );
        let mut unserializable = FxHashSet::default();
        triples(run, accesses, |triple| {
            unserializable.insert(keys.triple(triple.first, triple.remote, triple.second));
        });
        for location in accesses.shared() {
            accesses.of(location).iter().for_each(|&row| {
                keys.of(row);
            });
        }
        let mut pairs: Vec<SeenPair> = pairs.into_values().collect();
        pairs.sort_by_key(|pair| pair.key);
        RunPairs {
            pairs,
            indirect: sorted(indirect),
            couples: sorted(coupled),
            triples: sorted(unserializable),
            accesses: keys.sites(),
            locations: names.list,
        }
    }

    /// The pair, if the run has it.
    pub fn find(&self, key: PairKey) -> Option<&SeenPair> {
        let at = self
            .pairs
            .binary_search_by_key(&key, |pair| pair.key)
            .ok()?;
        self.pairs.get(at)
    }

    /// Name of the location of a pair.
    pub fn location(&self, pair: &SeenPair) -> &str {
        self.locations
            .get(pair.location as usize)
            .map_or("", String::as_str)
    }

    /// Did this access run?
    pub fn ran(&self, key: AccessKey) -> bool {
        self.accesses
            .binary_search_by_key(&key, |(key, _)| *key)
            .is_ok()
    }
}

fn sorted<T: Ord>(set: FxHashSet<T>) -> Vec<T> {
    let mut list: Vec<T> = set.into_iter().collect();
    list.sort();
    list
}

/// Keys of the accesses of one run, worked out once per site and class.
struct Keys<'a> {
    run: &'a Run,
    known: FxHashMap<(u32, AccessClass), AccessKey>,
}

impl<'a> Keys<'a> {
    fn new(run: &'a Run) -> Keys<'a> {
        Keys {
            run,
            known: FxHashMap::default(),
        }
    }

    fn of(&mut self, row: EventId) -> AccessKey {
        let events = &self.run.events;
        let site = events.sites().get(row.index()).copied().unwrap_or(0);
        let kind = events
            .kinds()
            .get(row.index())
            .and_then(|&kind| EventKind::from_u8(kind));
        let class = kind.and_then(AccessClass::of).unwrap_or(AccessClass::Read);
        let run = self.run;
        let new = || AccessKey::new(run.meta.site(unsnarl_trace::SiteId(site)), class);
        *self.known.entry((site, class)).or_insert_with(new)
    }

    fn triple(&mut self, first: EventId, remote: EventId, second: EventId) -> TripleKey {
        TripleKey {
            first: self.of(first),
            remote: self.of(remote),
            second: self.of(second),
        }
    }

    fn sites(self) -> Vec<(AccessKey, AccessSite)> {
        let site = |(&(site, class), &key): (&(u32, AccessClass), &AccessKey)| {
            (
                key,
                AccessSite {
                    place: place(self.run, unsnarl_trace::SiteId(site)),
                    class,
                },
            )
        };
        let mut sites: Vec<_> = self.known.iter().map(site).collect();
        sites.sort();
        sites.dedup_by_key(|(key, _)| *key);
        sites
    }
}

/// Names of locations, each once.
#[derive(Default)]
struct Names {
    index: FxHashMap<LocationId, u32>,
    list: Vec<String>,
}

impl Names {
    fn of(&mut self, run: &Run, location: LocationId) -> u32 {
        *self.index.entry(location).or_insert_with(|| {
            self.list.push(run.location(location).to_owned());
            self.list.len() as u32 - 1
        })
    }
}

/// The key of an access of a run.
pub fn access_key(run: &Run, row: EventId) -> AccessKey {
    let site = run.events.sites().get(row.index()).copied().unwrap_or(0);
    let kind = run.events.kinds().get(row.index());
    let class = kind
        .and_then(|&kind| EventKind::from_u8(kind))
        .and_then(AccessClass::of);
    AccessKey::new(
        run.meta.site(unsnarl_trace::SiteId(site)),
        class.unwrap_or(AccessClass::Read),
    )
}
