//! Collection of the pairs of one run for its corpus.

use super::{
    couples::{CoupleKey, couple_keys},
    keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey},
    loops::Loops,
    meetings::{LocatedOccurrence, Meetings, by_iterations, by_threads},
    radix::sort_by_number,
    ranks::Ranks,
    triples::{Triple, triples},
};
use crate::{
    callers,
    orders::{Accesses, Dependency, dependencies},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, LocationId, Run};

/// A pair of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenPair {
    /// Identity of the pair.
    pub key: PairKey,
    /// Head of its first occurrence.
    pub head: EventId,
    /// Tail of its first occurrence.
    pub tail: EventId,
    /// Location of its first occurrence: index into [`RunPairs::locations`].
    pub location: u32,
    /// Number of occurrences.
    pub times: u32,
    /// Rank among the pairs of the run, by first occurrence.
    pub place: u32,
    /// `true` if it also occurs on other locations.
    pub elsewhere: bool,
}

/// The pairs of one run, with the other facts that procedures compare over runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunPairs {
    /// Sorted by key.
    pub pairs: Vec<SeenPair>,
    /// Pairs that occur together, by threads.
    pub by_threads: Meetings,
    /// Pairs that occur together, by iterations of loops.
    pub by_iterations: Meetings,
    /// Ordered dependencies that are not immediate, and therefore no pairs. Sorted.
    pub indirect: Vec<PairKey>,
    /// Couples of pairs in opposite directions. Sorted.
    pub couples: Vec<CoupleKey>,
    /// `true` if the run has more couples: only those whose accesses are near each other were examined.
    pub couples_cut: bool,
    /// Sorted.
    pub triples: Vec<TripleKey>,
    /// Reads of shared locations that saw the initial value. Sorted.
    pub unwritten: Vec<AccessKey>,
    /// Accesses to shared locations that were executed, sorted by key.
    pub accesses: Vec<(AccessKey, AccessSite)>,
    /// Names of the locations of the pairs.
    pub locations: Vec<String>,
}

impl RunPairs {
    /// Collects the pairs of a run. Linear in its accesses to shared locations, except for the costs stated
    /// at [`Meetings`] and [`couples`](super::couples).
    pub fn collect(run: &Run) -> RunPairs {
        RunPairs::with_accesses(run, &Accesses::new(run))
    }

    /// Collects the pairs from accesses that are indexed already.
    pub fn with_accesses(run: &Run, accesses: &Accesses) -> RunPairs {
        let ranks = Ranks::new(run, accesses);
        let found = CollectedPairs::new(run, accesses, &ranks);
        let loops = match found.occurrences.is_empty() {
            true => Loops::default(),
            false => Loops::new(run),
        };
        let (couples, couples_cut) = couple_keys(run, &found, &ranks);
        RunPairs {
            by_threads: by_threads(run, &found),
            by_iterations: by_iterations(run, &loops, &found),
            indirect: found.indirect,
            couples,
            couples_cut,
            triples: triple_keys(run, accesses, &ranks),
            unwritten: unwritten(run, accesses, &ranks),
            pairs: found.pairs,
            locations: found.names.list,
            accesses: ranks.into_sites(),
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

    /// Returns whether this access was executed.
    pub fn ran(&self, key: AccessKey) -> bool {
        self.accesses
            .binary_search_by_key(&key, |(key, _)| *key)
            .is_ok()
    }
}

/// The pairs of a run and all their occurrences.
#[derive(Default)]
pub(super) struct CollectedPairs {
    /// Sorted by key.
    pub pairs: Vec<SeenPair>,
    /// Occurrences by location, in the order of their tails.
    pub occurrences: Vec<LocatedOccurrence>,
    /// The occurrences by pair: numbers in `occurrences`.
    pub by_pair: Vec<u32>,
    /// Sorted.
    pub indirect: Vec<PairKey>,
    /// Names of the locations with pairs.
    pub names: QueryNames,
}

impl CollectedPairs {
    /// Collects all pairs in one pass over the dependencies; pairs are identified by sorting their ranks.
    pub fn new(run: &Run, accesses: &Accesses, ranks: &Ranks) -> CollectedPairs {
        let mut found = CollectedPairs::default();
        let mut names = QueryNames::default();
        let (mut direct, mut indirect) = (Vec::new(), Vec::new());
        dependencies(run, accesses, |dependency| {
            let joined = ranks.joined(ranks.of(dependency.head), ranks.of(dependency.tail));
            if !dependency.direct {
                indirect.push(joined);
                return;
            }
            direct.push((joined, found.occurrences.len() as u32));
            found.occurrences.push(LocatedOccurrence {
                dependency,
                pair: 0,
                location: names.of(run, dependency.location),
            });
        });
        found.names = names;
        sort_by_number(&mut indirect, |joined| *joined);
        indirect.dedup();
        found.indirect = indirect
            .into_iter()
            .map(|joined| ranks.pair(joined))
            .collect();
        sort_by_number(&mut direct, |(joined, _)| *joined);
        for same in direct.chunk_by(|a, b| a.0 == b.0) {
            found.add(same, ranks);
        }
        found.by_pair = direct.into_iter().map(|(_, number)| number).collect();
        found.note_places();
        found
    }

    /// Makes a pair from its occurrences.
    fn add(&mut self, same: &[(u64, u32)], ranks: &Ranks) {
        let Some((joined, _)) = same.first() else {
            return;
        };
        let mut pair = SeenPair {
            key: ranks.pair(*joined),
            head: EventId(u32::MAX),
            tail: EventId(u32::MAX),
            location: u32::MAX,
            times: same.len() as u32,
            place: 0,
            elsewhere: false,
        };
        for &(_, number) in same {
            let Some(occurrence) = self.occurrences.get_mut(number as usize) else {
                continue;
            };
            occurrence.pair = self.pairs.len() as u32;
            let (Dependency { head, tail, .. }, location) =
                (occurrence.dependency, occurrence.location);
            pair.elsewhere |= pair.location != location && pair.location != u32::MAX;
            if (tail, head) < (pair.tail, pair.head) {
                (pair.head, pair.tail, pair.location) = (head, tail, location);
            }
        }
        self.pairs.push(pair);
    }

    /// Ranks the pairs in the order of occurrence.
    fn note_places(&mut self) {
        let rows = |pair: &SeenPair| u64::from(pair.tail.0) << 32 | u64::from(pair.head.0);
        let mut order: Vec<(u64, u32)> = self.pairs.iter().map(rows).zip(0..).collect();
        sort_by_number(&mut order, |(rows, _)| *rows);
        for ((_, number), place) in order.into_iter().zip(0..) {
            if let Some(pair) = self.pairs.get_mut(number as usize) {
                pair.place = place;
            }
        }
    }
}

/// The unserializable triples, each once, sorted by key.
fn triple_keys(run: &Run, accesses: &Accesses, ranks: &Ranks) -> Vec<TripleKey> {
    let mut within = DivergingPoints::new(run);
    let mut seen: Vec<[u32; 4]> = Vec::new();
    triples(run, accesses, |triple| {
        let of = |row| ranks.of(row);
        let Triple {
            first,
            remote,
            second,
            ..
        } = triple;
        seen.push([
            of(first),
            of(remote),
            of(second),
            within.number(first, second),
        ]);
    });
    let (within, numbers) = within.sorted();
    let number = |old: u32| numbers.get(old as usize).copied().unwrap_or(0);
    let lower =
        |[_, _, second, within]: &[u32; 4]| u64::from(*second) << 32 | u64::from(number(*within));
    sort_by_number(&mut seen, lower);
    sort_by_number(&mut seen, |[first, remote, ..]| {
        ranks.joined(*first, *remote)
    });
    let key = |[first, remote, second, at]: [u32; 4]| TripleKey {
        first: ranks.key(first),
        remote: ranks.key(remote),
        second: ranks.key(second),
        within: within.get(number(at) as usize).copied().unwrap_or(0),
    };
    let mut keys: Vec<TripleKey> = seen.into_iter().map(key).collect();
    keys.dedup();
    keys
}

/// The points at which the call paths to two accesses diverge, computed once per site and stack of both, and
/// numbered.
struct DivergingPoints<'a> {
    run: &'a Run,
    numbers: FxHashMap<[u32; 4], u32>,
    values: Vec<u64>,
}

impl<'a> DivergingPoints<'a> {
    fn new(run: &'a Run) -> DivergingPoints<'a> {
        DivergingPoints {
            run,
            numbers: FxHashMap::default(),
            values: Vec::new(),
        }
    }

    fn number(&mut self, first: EventId, second: EventId) -> u32 {
        let events = &self.run.events;
        let at = |column: &[u32], row: EventId| column.get(row.index()).copied().unwrap_or(0);
        let key = [
            at(events.sites(), first),
            at(events.stacks(), first),
            at(events.sites(), second),
            at(events.stacks(), second),
        ];
        let (run, values) = (self.run, &mut self.values);
        *self.numbers.entry(key).or_insert_with(|| {
            values.push(callers::within(run, first, second));
            values.len() as u32 - 1
        })
    }

    /// The values in order, and the position there of each number.
    fn sorted(self) -> (Vec<u64>, Vec<u32>) {
        let mut values = self.values.clone();
        values.sort_unstable();
        values.dedup();
        let place = |value| values.partition_point(|other| other < value) as u32;
        let places = self.values.iter().map(place).collect();
        (values, places)
    }
}

/// Accesses to shared locations before the first write, sorted by key.
fn unwritten(run: &Run, accesses: &Accesses, ranks: &Ranks) -> Vec<AccessKey> {
    let mut is_unwritten = vec![false; ranks.count()];
    let writes = |row: &EventId| run.events.kind(*row).writes();
    for location in accesses.shared() {
        let rows = accesses.of(location).iter();
        for &row in rows.take_while(|row| !writes(row)) {
            if let Some(slot) = is_unwritten.get_mut(ranks.of(row) as usize) {
                *slot = true;
            }
        }
    }
    let marked = (0..)
        .zip(is_unwritten)
        .filter(|(_, is_unwritten)| *is_unwritten);
    marked.map(|(rank, _)| ranks.key(rank)).collect()
}

/// Names of locations, each once, in the order of the queries.
#[derive(Default)]
pub(super) struct QueryNames {
    /// Number of the location, from 1; 0 for none.
    numbers: Vec<u32>,
    list: Vec<String>,
}

impl QueryNames {
    fn of(&mut self, run: &Run, location: LocationId) -> u32 {
        if self.numbers.len() <= location.index() {
            self.numbers
                .resize(run.locations.len().max(location.index() + 1), 0);
        }
        let Some(number) = self.numbers.get_mut(location.index()) else {
            return 0;
        };
        if *number == 0 {
            self.list.push(run.location(location).to_owned());
            *number = self.list.len() as u32;
        }
        *number - 1
    }
}

/// The key of an access of a run.
pub fn access_key(run: &Run, row: EventId) -> AccessKey {
    let class = AccessClass::of(run.events.kind(row)).unwrap_or(AccessClass::Read);
    AccessKey::new(run.meta.site(run.events.site(row)), class)
}
