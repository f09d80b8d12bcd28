//! Naive collection of a run's pairs: maps of keys, and all dependencies compared with all. The reference for
//! [`RunPairs::collect`] on random runs.

use super::{
    couples::CoupleKey,
    keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey},
    loops::Loops,
    matrix::{Matrix, MatrixItem, together},
    meetings::{LocatedOccurrence, Meetings, MetPair, SEVERAL},
    triples::triples,
    *,
};
use crate::{
    callers,
    facts::place,
    orders::{Accesses, Dependency, dependencies},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, LocationId, Outcome, Run};

/// Collects everything of a run.
pub fn collect(run: &Run) -> RunPairs {
    let accesses = Accesses::new(run);
    let mut keys = Keys::new(run);
    let mut found = NaivePairs::default();
    let mut indirect = FxHashSet::default();
    let mut direct = Vec::new();
    dependencies(run, &accesses, |dependency| {
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
    let coupled = coupled(run, &direct);
    let mut unserializable = FxHashSet::default();
    triples(run, &accesses, |triple| {
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
        couples_cut: false,
        triples: sorted(unserializable),
        unwritten: sorted(unwritten),
        accesses: keys.sites(),
        locations: found.names.list,
    }
}
/// Each two dependencies on two locations in opposite directions between two threads without a recurrence of
/// an end in between.
fn coupled(run: &Run, direct: &[Dependency]) -> FxHashSet<CoupleKey> {
    let place = |row: EventId| {
        let event = run.events.get(row).unwrap();
        (event.thread, access_key(run, row), event.location)
    };
    let ends: Vec<EventId> = direct.iter().flat_map(|d| [d.head, d.tail]).collect();
    // Neither end recurs in another statement in between.
    let once = |from: EventId, to: EventId| {
        let mut between = ends.iter().filter(|&&row| from < row && row < to);
        let recurs = |row: EventId, end: EventId| {
            place(row) == place(end) && !is_one_statement(run, row.min(end), row.max(end))
        };
        between.all(|&row| !recurs(row, from) && !recurs(row, to))
    };
    let pair = |d: &Dependency| PairKey {
        head: access_key(run, d.head),
        tail: access_key(run, d.tail),
    };
    let thread = |row| place(row).0;
    let mut found = FxHashSet::default();
    for first in direct {
        for second in direct {
            let back = thread(first.head) == thread(second.tail)
                && thread(first.tail) == thread(second.head);
            let apart = first.location != second.location;
            let (from, to) = (first.tail.min(second.head), first.tail.max(second.head));
            if back
                && apart
                && first.head < second.tail
                && once(first.head, second.tail)
                && once(from, to)
            {
                found.insert(CoupleKey::new(pair(first), pair(second)));
            }
        }
    }
    found
}

/// Returns whether the thread of two rows is at one line, by the same calls, from the first to the second.
fn is_one_statement(run: &Run, first: EventId, second: EventId) -> bool {
    let at = |row: EventId| {
        let event = run.events.get(row).unwrap();
        let site = run.meta.site(event.site);
        (&site.file, &site.function, site.line, event.stack)
    };
    let thread = run.events.thread(first);
    let rows = (first.0..=second.0).map(EventId);
    let mut own = rows.filter(|row| run.events.thread(*row) == thread);
    own.all(|row| at(row) == at(first))
}

fn sorted<T: Ord>(set: FxHashSet<T>) -> Vec<T> {
    let mut list: Vec<T> = set.into_iter().collect();
    list.sort();
    list
}

/// The pairs of a run and all their occurrences.
#[derive(Default)]
struct NaivePairs {
    index: FxHashMap<PairKey, u32>,
    pairs: Vec<SeenPair>,
    occurrences: Vec<LocatedOccurrence>,
    names: NaiveNames,
}

impl NaivePairs {
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
        self.occurrences.push(LocatedOccurrence {
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

    /// Sorts the pairs by key and ranks them in the order of occurrence.
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

/// Keys of the accesses of one run, computed once per site and class.
struct Keys<'a> {
    run: &'a Run,
    known: FxHashMap<(u32, AccessClass), AccessKey>,
    /// Keys of common callers, by site and stack of both accesses.
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
        let site = events.site(row).0;
        let kind = Some(events.kind(row));
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
struct NaiveNames {
    index: FxHashMap<LocationId, u32>,
    list: Vec<String>,
}

impl NaiveNames {
    fn of(&mut self, run: &Run, location: LocationId) -> u32 {
        *self.index.entry(location).or_insert_with(|| {
            self.list.push(run.location(location).to_owned());
            self.list.len() as u32 - 1
        })
    }
}

/// An occurrence in a group, which is named by its key: threads in order, then iterations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NaiveEntry {
    key: (u16, u16, u32, u32),
    backward: bool,
    met: MetPair,
}

/// Groups occurrences by threads.
fn by_threads(run: &Run, occurrences: &[LocatedOccurrence]) -> Meetings {
    let entries = occurrences.iter().map(|occurrence| entry(run, occurrence));
    let mut meetings = Meetings::default();
    grouped(entries.collect(), |group, half| meetings.push(group, half));
    meetings
}

/// Groups occurrences by threads and iterations. Groups with only one direction have no information and are
/// left out; of equal ones the first stays. A passing run needs only the set of couples that occur together:
/// of its groups those stay that add such a couple, so that long loops take no more room than short ones.
fn by_iterations(
    run: &Run,
    loops: &Loops,
    occurrences: &[LocatedOccurrence],
    pairs: usize,
) -> Meetings {
    let mut entries = Vec::new();
    for occurrence in occurrences {
        let plain = entry(run, occurrence);
        let (first, second) = match plain.backward {
            false => (plain.met.head, plain.met.tail),
            true => (plain.met.tail, plain.met.head),
        };
        for (a, within_a) in loops.around(first.index()) {
            for (b, within_b) in loops.around(second.index()) {
                let mut entry = plain;
                (entry.key.2, entry.key.3) = (a, b);
                entry.met.within = (within_a, within_b);
                entries.push(entry);
            }
        }
    }
    let mut meetings = Meetings::default();
    let mut known: FxHashSet<Vec<NaiveKey>> = FxHashSet::default();
    let passed = run.meta.outcome == Outcome::Passed;
    let mut had = (passed && pairs <= MANY).then(|| Matrix::new(0..pairs, pairs));
    grouped(entries, |group, half| {
        let both = half > 0 && half < group.len();
        let new = both && known.insert(bare(group, half));
        if new && had.as_mut().is_none_or(|had| adds(had, group, half)) {
            meetings.push(group, half);
        }
    });
    meetings
}

/// Bound on the pairs of a run for which occurrences together are recorded: the bits take 2 MB then.
const MANY: usize = 4096;

/// Returns whether the group adds a couple that occurs together.
fn adds(had: &mut Matrix, group: &[MetPair], half: usize) -> bool {
    let items: Vec<MatrixItem> = group.iter().map(MatrixItem::of).collect();
    let (forward, backward) = items.split_at(half.min(items.len()));
    let mut adds = false;
    together(forward, backward, |forward, backward| {
        adds |= had.mark(forward, backward);
    });
    adds
}

/// Identity of a pair in a group: its half, inner loops, pair, location.
type NaiveKey = (bool, (u32, u32), u32, u32);

fn bare(group: &[MetPair], half: usize) -> Vec<NaiveKey> {
    let numbered = group.iter().enumerate();
    let bare =
        |(number, met): (usize, &MetPair)| (number < half, met.within, met.pair, met.location);
    numbered.map(bare).collect()
}

fn entry(run: &Run, occurrence: &LocatedOccurrence) -> NaiveEntry {
    let thread = |row: EventId| run.events.thread(row).0;
    let Dependency { head, tail, .. } = occurrence.dependency;
    let (from, to) = (thread(head), thread(tail));
    NaiveEntry {
        key: (from.min(to), from.max(to), 0, 0),
        backward: from > to,
        met: MetPair {
            within: (0, 0),
            pair: occurrence.pair,
            location: occurrence.location,
            head,
            tail,
        },
    }
}

/// Calls back for each group with the length of its forward half; occurrences of one pair are merged.
fn grouped(mut entries: Vec<NaiveEntry>, mut found: impl FnMut(&[MetPair], usize)) {
    entries.sort_unstable();
    let mut group: Vec<MetPair> = Vec::new();
    for entries in entries.chunk_by(|a, b| a.key == b.key) {
        group.clear();
        let mut half = 0;
        let same = |a: &NaiveEntry, b: &NaiveEntry| {
            (a.backward, a.met.within, a.met.pair) == (b.backward, b.met.within, b.met.pair)
        };
        for same in entries.chunk_by(same) {
            let met = same.iter().map(|entry| entry.met);
            let Some(mut first) = met.clone().min_by_key(|met| (met.tail, met.head)) else {
                continue;
            };
            if met.clone().any(|met| met.location != first.location) {
                first.location = SEVERAL;
            }
            group.push(first);
            half += usize::from(same.first().is_some_and(|entry| !entry.backward));
        }
        found(&group, half);
    }
}
