//! Two dependencies in opposite directions between the same two threads, on different locations, near
//! each other: what explanations of several variables are made of.
//!
//! [`procedure_three()`](super::procedure_three()) looks at all couples of a failing run, this at those that are near:
//! a window over each thread's dependencies keeps the search linear. If one thread repeats an end of a
//! dependency between the two, they belong to different steps and are no couple.

use super::{
    collect::access_key,
    counts::PairCounts,
    keys::{AccessKey, Fnv, PairKey},
};
use crate::orders::{Accesses, Dependency, dependencies};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, LocationId, Run};

/// Dependencies of a thread that are tried as partners of one.
const WINDOW: usize = 24;
/// Couples of one run.
const MOST: usize = 200_000;

/// Two dependencies: `first` from the interrupted thread to the other, `second` back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CoupledPairs {
    /// Its head is where the interrupted thread began.
    pub first: Dependency,
    /// Its tail is where the interrupted thread went on.
    pub second: Dependency,
}

/// Identity of a couple: a hash of both pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CoupleKey(pub u64);

impl CoupleKey {
    /// The key of two pairs.
    pub fn new(first: PairKey, second: PairKey) -> CoupleKey {
        let (a, b) = if first < second {
            (first, second)
        } else {
            (second, first)
        };
        let mut hash = Fnv::default();
        for key in [a.head, a.tail, b.head, b.tail] {
            hash.bytes(&key.0.to_le_bytes());
        }
        CoupleKey(hash.0)
    }
}

/// Calls back for each couple of a run. `key` names the access of a row.
pub fn couples(
    run: &Run,
    dependencies: &[Dependency],
    mut key: impl FnMut(EventId) -> AccessKey,
    mut found: impl FnMut(CoupledPairs, CoupleKey),
) {
    let thread = |row: EventId| run.events.threads().get(row.index()).copied().unwrap_or(0);
    let repeats = Repeats::new(dependencies, &thread, &mut key);
    let mut leaving: FxHashMap<(u16, u16), Vec<Dependency>> = FxHashMap::default();
    for dependency in dependencies {
        let ends = (thread(dependency.head), thread(dependency.tail));
        leaving.entry(ends).or_default().push(*dependency);
    }
    leaving.values_mut().for_each(|list| list.sort());
    let mut left = MOST;
    for second in dependencies {
        let (other, interrupted) = (thread(second.head), thread(second.tail));
        let Some(list) = leaving.get(&(interrupted, other)) else {
            continue;
        };
        let upto = list.partition_point(|first| first.head < second.tail);
        let near = list.get(..upto).unwrap_or(&[]).iter().rev().take(WINDOW);
        for first in
            near.filter(|first| first.location != second.location && overlaps(first, second))
        {
            if left > 0 && repeats.are_one_iteration(first, second) {
                left -= 1;
                let couple = CoupledPairs {
                    first: *first,
                    second: *second,
                };
                found(couple, repeats.key(&couple));
            }
        }
    }
}

/// Couples of the failing run with the number of passing runs that have them too, in the order in which
/// they were complete.
pub fn seen_couples(
    run: &Run,
    accesses: &Accesses,
    passing: &PairCounts,
) -> Vec<(CoupledPairs, u32)> {
    let mut direct: Vec<Dependency> = Vec::new();
    dependencies(run, accesses, |dependency| {
        if dependency.direct {
            direct.push(dependency);
        }
    });
    let mut found = Vec::new();
    couples(
        run,
        &direct,
        |row| access_key(run, row),
        |couple, key| {
            found.push((couple, passing.couple_runs(key)));
        },
    );
    found.sort_by_key(|(couple, _)| (couple.first.tail.max(couple.second.tail), *couple));
    found
}

/// The other thread's two accesses are not both before or both after the interrupted thread's.
fn overlaps(first: &Dependency, second: &Dependency) -> bool {
    first.head < second.tail && first.tail.min(second.head) < second.tail
}

/// An access of a thread at a site to a location.
type Place = (u16, AccessKey, LocationId);

/// Where the same thread accesses the same location at the same site again.
struct Repeats {
    rows: FxHashMap<Place, Vec<EventId>>,
    places: FxHashMap<EventId, Place>,
}

impl Repeats {
    fn new(
        dependencies: &[Dependency],
        thread: &impl Fn(EventId) -> u16,
        key: &mut impl FnMut(EventId) -> AccessKey,
    ) -> Repeats {
        let mut repeats = Repeats {
            rows: FxHashMap::default(),
            places: FxHashMap::default(),
        };
        let mut seen = FxHashSet::default();
        let ends = dependencies
            .iter()
            .flat_map(|d| [(d.head, d.location), (d.tail, d.location)]);
        for (row, location) in ends.filter(|(row, _)| seen.insert(*row)) {
            let place = (thread(row), key(row), location);
            repeats.rows.entry(place).or_default().push(row);
            repeats.places.insert(row, place);
        }
        repeats.rows.values_mut().for_each(|rows| rows.sort());
        repeats
    }

    fn key(&self, couple: &CoupledPairs) -> CoupleKey {
        let key = |row| {
            self.places
                .get(&row)
                .map_or(AccessKey::default(), |place| place.1)
        };
        let pair = |d: &Dependency| PairKey {
            head: key(d.head),
            tail: key(d.tail),
        };
        CoupleKey::new(pair(&couple.first), pair(&couple.second))
    }

    fn are_one_iteration(&self, first: &Dependency, second: &Dependency) -> bool {
        let (from, to) = (first.tail.min(second.head), first.tail.max(second.head));
        self.is_last_before(first.head, second.tail)
            && self.is_first_after(second.tail, first.head)
            && self.is_last_before(from, to)
            && self.is_first_after(to, from)
    }

    /// Is there no repetition of `row` between it and `end`?
    fn is_last_before(&self, row: EventId, end: EventId) -> bool {
        self.repeated(row).is_none_or(|rows| {
            let next = rows.partition_point(|other| *other <= row);
            rows.get(next).is_none_or(|next| *next >= end)
        })
    }

    /// Is there no earlier access like `row` after `start`?
    fn is_first_after(&self, row: EventId, start: EventId) -> bool {
        self.repeated(row).is_none_or(|rows| {
            let at = rows.partition_point(|other| *other < row);
            at.checked_sub(1)
                .and_then(|at| rows.get(at))
                .is_none_or(|before| *before <= start)
        })
    }

    fn repeated(&self, row: EventId) -> Option<&Vec<EventId>> {
        self.rows.get(self.places.get(&row)?)
    }
}
