//! What one run contributes to its corpus.

use super::{
    couples::{CoupleKey, couples},
    keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey},
    loops::Loops,
    meetings::{Meetings, Occurrence, by_iterations, by_threads},
    triples::triples,
};
use crate::{
    callers,
    facts::place,
    orders::{Accesses, Dependency, dependencies},
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
    /// Its place among the pairs of the run, in the order of first occurrence.
    pub place: u32,
    /// It occurs on other locations, too.
    pub elsewhere: bool,
}

/// The pairs of one run and what else procedures compare over runs.
#[derive(Clone, Debug, Default)]
pub struct RunPairs {
    /// Sorted by key.
    pub pairs: Vec<SeenPair>,
    /// Which pairs met between which threads.
    pub by_threads: Meetings,
    /// Which pairs met in which iterations of loops.
    pub by_iterations: Meetings,
    /// Dependencies that are not immediate: no pairs, but they have an order. Sorted.
    pub indirect: Vec<PairKey>,
    /// Couples of pairs in opposite directions. Sorted.
    pub couples: Vec<CoupleKey>,
    /// Sorted.
    pub triples: Vec<TripleKey>,
    /// Reads of shared locations that saw what was there before anybody wrote. Sorted.
    pub unwritten: Vec<AccessKey>,
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
        let mut found = Found::default();
        let mut indirect = FxHashSet::default();
        let mut direct = Vec::new();
        dependencies(run, accesses, |dependency| {
            let key = PairKey {
                head: keys.of(dependency.head),
                tail: keys.of(dependency.tail),
            };
            if dependency.direct {
                direct.push(dependency);
                found.add(run, key, dependency);
            } else {
                indirect.insert(key);
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
        let mut unwritten = FxHashSet::default();
        for location in accesses.shared() {
            let mut is_written = false;
            for &row in accesses.of(location) {
                let key = keys.of(row);
                let kind = run.events.kinds().get(row.index()).copied();
                let kind = kind.and_then(EventKind::from_u8);
                is_written |= kind.is_some_and(EventKind::writes);
                if !is_written {
                    unwritten.insert(key);
                }
            }
        }
        found.sort();
        let loops = match found.occurrences.is_empty() {
            true => Loops::default(),
            false => Loops::new(run),
        };
        RunPairs {
            by_threads: by_threads(run, &found.occurrences),
            by_iterations: by_iterations(run, &loops, &found.occurrences, found.pairs.len()),
            pairs: found.pairs,
            indirect: sorted(indirect),
            couples: sorted(coupled),
            triples: sorted(unserializable),
            unwritten: sorted(unwritten),
            accesses: keys.sites(),
            locations: found.names.list,
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

/// The pairs of a run and all their occurrences.
#[derive(Default)]
struct Found {
    index: FxHashMap<PairKey, u32>,
    pairs: Vec<SeenPair>,
    occurrences: Vec<Occurrence>,
    names: Names,
}

impl Found {
    fn add(&mut self, run: &Run, key: PairKey, dependency: Dependency) {
        let location = self.names.of(run, dependency.location);
        let Dependency { head, tail, .. } = dependency;
        let new = SeenPair {
            key,
            head,
            tail,
            location,
            times: 0,
            place: 0,
            elsewhere: false,
        };
        let number = *self.index.entry(key).or_insert_with(|| {
            self.pairs.push(new);
            self.pairs.len() as u32 - 1
        });
        self.occurrences.push(Occurrence {
            dependency,
            pair: number,
            location,
        });
        if let Some(pair) = self.pairs.get_mut(number as usize) {
            pair.elsewhere |= pair.location != location;
            pair.times += 1;
            if (tail, head) < (pair.tail, pair.head) {
                (pair.head, pair.tail, pair.location) = (head, tail, location);
            }
        }
    }

    /// Sorts the pairs by key and notes their places in the order of occurrence.
    fn sort(&mut self) {
        let key = |pair: &SeenPair| (pair.tail, pair.head, pair.key);
        let mut order: Vec<(_, u32)> = self.pairs.iter().map(key).zip(0..).collect();
        order.sort_unstable();
        for (place, (_, number)) in order.into_iter().enumerate() {
            if let Some(pair) = self.pairs.get_mut(number as usize) {
                pair.place = place as u32;
            }
        }
        let mut order: Vec<(PairKey, u32)> = self.pairs.iter().map(|p| p.key).zip(0..).collect();
        order.sort_unstable();
        let mut now = vec![0; order.len()];
        for (new, &(_, old)) in order.iter().enumerate() {
            if let Some(slot) = now.get_mut(old as usize) {
                *slot = new as u32;
            }
        }
        for occurrence in &mut self.occurrences {
            if let Some(&new) = now.get(occurrence.pair as usize) {
                occurrence.pair = new;
            }
        }
        self.pairs.sort_unstable_by_key(|pair| pair.key);
    }
}

/// Keys of the accesses of one run, worked out once per site and class.
struct Keys<'a> {
    run: &'a Run,
    known: FxHashMap<(u32, AccessClass), AccessKey>,
    /// By site and stack of both accesses.
    within: FxHashMap<[u32; 4], u64>,
}

impl<'a> Keys<'a> {
    fn new(run: &'a Run) -> Keys<'a> {
        Keys {
            run,
            known: FxHashMap::default(),
            within: FxHashMap::default(),
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
            within: self.within(first, second),
        }
    }

    fn within(&mut self, first: EventId, second: EventId) -> u64 {
        let events = &self.run.events;
        let at = |column: &[u32], row: EventId| column.get(row.index()).copied().unwrap_or(0);
        let key = [
            at(events.sites(), first),
            at(events.stacks(), first),
            at(events.sites(), second),
            at(events.stacks(), second),
        ];
        let run = self.run;
        *self
            .within
            .entry(key)
            .or_insert_with(|| callers::within(run, first, second))
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
