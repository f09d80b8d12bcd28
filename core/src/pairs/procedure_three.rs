//! Test Procedure III ([locon], Algorithm 3) at pc and tid precision: pairs on different variables that
//! passing runs have too, but never together and in opposite directions between two threads.

use super::{
    collect::{Directed, RunPairs},
    keys::{AccessClass, AccessKey, Fnv, PairKey},
};
use crate::{
    Budget,
    orders::{Accesses, Dependency, dependencies},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, Run, SiteId};

/// Two pairs that were meant to have one direction: `first` runs from thread A to B, `second` from B to A.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoupledPairs {
    /// The dependency whose head is the earliest of the four accesses.
    pub first: Dependency,
    /// The one in the other direction.
    pub second: Dependency,
}

/// More couples than that are not compared: the procedure is quadratic by nature and works on what
/// cheaper ones left over.
const MOST_PAIRS: usize = 600;

/// Coupled pairs of the failing run that no passing run has together, earliest first.
pub fn procedure_three(
    run: &Run,
    accesses: &Accesses,
    passing: &[&RunPairs],
    budget: &Budget,
) -> Vec<CoupledPairs> {
    if passing.is_empty() {
        return Vec::new();
    }
    let found = first_occurrences(run, accesses);
    let mut couples = Vec::new();
    for (i, (a, first)) in found.iter().enumerate() {
        if budget.stop().is_some() {
            break;
        }
        for (b, second) in found.iter().skip(i + 1) {
            if crosses(a, first, b, second)
                && !passing.iter().any(|run| together(run, a.key, b.key))
            {
                couples.push(CoupledPairs {
                    first: *first,
                    second: *second,
                });
            }
        }
    }
    couples.sort_by_key(|couple| (couple.second.tail.max(couple.first.tail), couple.first.head));
    couples
}

/// Opposite directions between the same two threads, on different locations, and interleaved: in each
/// thread one access of either pair.
fn crosses(a: &Directed, first: &Dependency, b: &Directed, second: &Dependency) -> bool {
    a.head == b.tail
        && a.tail == b.head
        && first.location != second.location
        && first.head < second.tail
        && second.head.max(first.head) < first.tail.max(second.tail)
}

/// Does a passing run have both, in opposite directions between some two threads?
fn together(run: &RunPairs, a: PairKey, b: PairKey) -> bool {
    let of = |key: PairKey| {
        let from = run.directed.partition_point(|directed| directed.key < key);
        run.directed
            .iter()
            .skip(from)
            .take_while(move |directed| directed.key == key)
    };
    of(a).any(|a| {
        run.has_directed(&Directed {
            key: b,
            head: a.tail,
            tail: a.head,
        })
    })
}

/// The last occurrence of each pair between each two threads decides what the failure saw; the first
/// one is where it began. Here the first.
fn first_occurrences(run: &Run, accesses: &Accesses) -> Vec<(Directed, Dependency)> {
    let mut found: FxHashMap<Directed, Dependency> = FxHashMap::default();
    dependencies(run, accesses, |dependency| {
        if !dependency.direct {
            return;
        }
        let directed = directed(run, &dependency);
        let slot = found.entry(directed).or_insert(dependency);
        if dependency.tail < slot.tail {
            *slot = dependency;
        }
    });
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(directed, dependency)| (dependency.head, dependency.tail, *directed));
    found.truncate(MOST_PAIRS);
    found
}

/// The directed pair that a dependency is an occurrence of.
pub fn directed(run: &Run, dependency: &Dependency) -> Directed {
    let thread = |row: EventId| {
        let thread = run.events.threads().get(row.index()).copied().unwrap_or(0);
        run.meta
            .threads
            .get(usize::from(thread))
            .map_or(u64::from(thread), |row| Fnv::of(&row.name))
    };
    let key = PairKey {
        head: access_key(run, dependency.head),
        tail: access_key(run, dependency.tail),
    };
    Directed {
        key,
        head: thread(dependency.head),
        tail: thread(dependency.tail),
    }
}

/// The key of an access of a run.
pub fn access_key(run: &Run, row: EventId) -> AccessKey {
    let site = run.events.sites().get(row.index()).copied().unwrap_or(0);
    let kind = run
        .events
        .kinds()
        .get(row.index())
        .and_then(|&kind| EventKind::from_u8(kind));
    let class = kind.and_then(AccessClass::of).unwrap_or(AccessClass::Read);
    AccessKey::new(run.meta.site(SiteId(site)), class)
}
