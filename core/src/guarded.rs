//! Locks that guard locations, as far as runs show, and the accesses without them.
//!
//! An access counts when another thread's access of the location could come before it as well as after it:
//! accesses before threads are created or after they are joined need no lock. Atomic accesses need none
//! either.

use crate::{
    explanation::Place,
    facts::{self, short},
    orders::{Accesses, HappensBefore, Locks, Locksets},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId};

/// Lock discipline of one location.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Guarded {
    /// The location; elements of one array and blocks of one place are merged.
    pub location: String,
    /// The lock that most of the accesses hold.
    pub lock: String,
    /// Number of accesses that hold it: for writing, or for reading if they only read.
    pub held: u64,
    /// Number of accesses that count.
    pub of: u64,
    /// Places of accesses without it, those with most such accesses first.
    pub without: Vec<Without>,
}

/// A place of accesses without the lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Without {
    /// Place in the source.
    #[serde(flatten)]
    pub place: Place,
    /// `read` or `write`.
    pub access: &'static str,
    /// Number of accesses.
    pub times: u64,
}

/// Number of accesses, in total and with each lock.
type AccessCounts = (u64, BTreeMap<String, u64>);

/// Accesses of one location, by place and by held locks.
#[derive(Clone, Debug, Default)]
struct LocationTally {
    of: u64,
    held: BTreeMap<String, u64>,
    /// Counts by place and access.
    places: BTreeMap<(Place, &'static str), AccessCounts>,
}

/// Counts over any number of runs.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    tallies: BTreeMap<String, LocationTally>,
}

impl Guards {
    /// Counts the accesses of a run: linear in its events, times the number of threads for the accesses of
    /// shared locations.
    pub fn add(&mut self, run: &Run) {
        let view = RunView::of(run);
        let shared: Vec<LocationId> = view.accesses.shared().collect();
        for location in shared {
            self.add_location(&view, location);
        }
    }

    fn add_location(&mut self, view: &RunView<'_>, location: LocationId) {
        for access in view.counted(location) {
            let tally = self
                .tallies
                .entry(facts::family(view.run.location(location)));
            tally.or_default().add(access);
        }
    }

    /// The table: locations that have a lock in more than half of their accesses, by name.
    pub fn table(&self) -> Vec<Guarded> {
        let rows = self.tallies.iter();
        rows.filter_map(|(location, tally)| tally.guarded(location))
            .collect()
    }
}

/// Lock discipline of a location in this run, with the places that violate it, in a sentence; `None` when no
/// lock guards it.
pub fn in_words(run: &Run, location: LocationId) -> Option<String> {
    let mut guards = Guards::default();
    guards.add_location(&RunView::of(run), location);
    let table = guards.table();
    let Guarded {
        lock,
        held,
        of,
        without,
        ..
    } = table.first()?;
    let lines: Vec<String> = without
        .iter()
        .map(|without| short(&without.place))
        .collect();
    let lock = facts::location_in_words(lock);
    Some(match lines.as_slice() {
        [] => format!(
            "Guarded by `{lock}` in all {of} accesses of this run that could meet another thread's."
        ),
        lines => format!(
            "Guarded by `{lock}` in {held} of {of} accesses of this run that could meet another thread's; not at {}.",
            lines.join(", ")
        ),
    })
}

/// One access that counts.
struct CountedAccess {
    place: Place,
    access: &'static str,
    locks: BTreeSet<String>,
}

impl LocationTally {
    fn add(&mut self, access: CountedAccess) {
        self.of += 1;
        let place = self
            .places
            .entry((access.place, access.access))
            .or_default();
        place.0 += 1;
        for lock in access.locks {
            *place.1.entry(lock.clone()).or_default() += 1;
            *self.held.entry(lock).or_default() += 1;
        }
    }

    /// The lock held most often, the first by name among equals.
    fn guarded(&self, location: &str) -> Option<Guarded> {
        let best = self.held.values().max()?;
        let (lock, &held) = self.held.iter().find(|(_, held)| *held == best)?;
        let places = self
            .places
            .iter()
            .filter_map(|((place, access), (times, with))| {
                let times = times - with.get(lock).copied().unwrap_or(0);
                (times > 0).then(|| Without {
                    place: place.clone(),
                    access,
                    times,
                })
            });
        let mut without: Vec<Without> = places.collect();
        without.sort_by(|a, b| b.times.cmp(&a.times).then(a.cmp(b)));
        (held * 2 > self.of).then(|| Guarded {
            location: location.to_owned(),
            lock: lock.clone(),
            held,
            of: self.of,
            without,
        })
    }
}

/// Orders and locks of a run.
struct RunView<'a> {
    run: &'a Run,
    accesses: Accesses,
    /// Order that no schedule can change.
    forced: HappensBefore,
    locksets: Locksets,
}

impl RunView<'_> {
    fn of(run: &Run) -> RunView<'_> {
        RunView {
            run,
            accesses: Accesses::new(run),
            forced: HappensBefore::forced(run),
            locksets: Locksets::new(&Locks::new(run, &mut Vec::new())),
        }
    }

    /// The accesses of a location that count.
    fn counted(&self, location: LocationId) -> Vec<CountedAccess> {
        let mut by_thread: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
        for &row in self.accesses.of(location) {
            let thread = self.run.events.thread(row);
            by_thread.entry(thread).or_default().push(row);
        }
        let meets = |row: EventId, thread: ThreadId| {
            by_thread.iter().any(|(&other, theirs)| {
                let before = self.forced.known(row, thread.0, other.0);
                let after = self.forced.known_from(row, thread.0, other.0);
                let next = theirs.get(theirs.partition_point(|theirs| theirs.0 < before));
                other != thread && next.is_some_and(|next| next.0 < after)
            })
        };
        let rows = self.accesses.of(location).iter().copied();
        let plain = rows.map(|row| (row, self.run.events.event(row)));
        plain
            .filter(|(row, event)| !event.kind.is_atomic() && meets(*row, event.thread))
            .map(|(row, event)| {
                let set = self.locksets.at(event.thread, row);
                let locks = self.locksets.locks(set).iter();
                let guards = locks.filter(|(_, shared)| !shared || event.kind == EventKind::Read);
                let names =
                    guards.map(|(lock, _)| facts::family(self.run.location(LocationId(*lock))));
                CountedAccess {
                    place: facts::place(self.run, event.site),
                    access: event.kind.name(),
                    locks: names.collect(),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, orders::Orders};
    use expect_test::expect;
    use proptest::prelude::*;

    const BALANCE: &str = r#"
        file bank.c
        main W balance =5 @3 main
        main fork main.1 @5 main
        main fork main.2 @6 main
        main.1 lock m @10 add
        main.1 R balance =5 @11 add
        main.1 W balance =6 @12 add
        main.1 unlock m @13 add
        main.2 lock m @10 add
        main.2 R balance =6 @11 add
        main.2 W balance =7 @12 add
        main.2 unlock m @13 add
        main.2 W balance =8 @20 reset
        main join main.1 @30 main
        main join main.2 @31 main
        main R balance =8 @32 main
    "#;

    #[test]
    fn what_is_done_before_and_after_the_threads_needs_no_lock() {
        let run = fixture::run(BALANCE);
        let mut guards = Guards::default();
        guards.add(&run);
        guards.add(&run);
        let table = guards.table();
        let said = table.iter().map(|row| {
            let without = row.without.iter();
            let without = without
                .map(|it| format!("{} at {} {} times", it.access, short(&it.place), it.times));
            format!(
                "{}: {} in {} of {}, not {:?}",
                row.location,
                row.lock,
                row.held,
                row.of,
                without.collect::<Vec<_>>()
            )
        });
        expect![[r#"balance: m in 8 of 10, not ["write at bank.c:20 2 times"]"#]]
            .assert_eq(&said.collect::<Vec<_>>().join("\n"));
        let row = run
            .events
            .iter()
            .find(|(_, event)| event.kind == EventKind::Write);
        expect!["Guarded by `m` in 4 of 5 accesses of this run that could meet another thread's; not at bank.c:20."]
            .assert_eq(&in_words(&run, row.unwrap().1.location).unwrap());
    }

    #[test]
    fn locks_of_one_array_count_once() {
        let holds = |thread: &str| {
            format!(
                "{thread} lock l[0] @1\n{thread} lock m @2\n{thread} lock l[1] @3\n{thread} W n =1 @4\n\
                 {thread} unlock l[1] @5\n{thread} unlock m @6\n{thread} unlock l[0] @7\n"
            )
        };
        let both = format!(
            "main fork a @8\nmain fork b @9\n{}{}",
            holds("a"),
            holds("b")
        );
        let mut guards = Guards::default();
        guards.add(&fixture::run(&both));
        let table = guards.table();
        let row = table.first().unwrap();
        assert_eq!((row.lock.as_str(), row.held, row.of), ("l[]", 2, 2));
    }

    /// The counts by comparing all pairs of accesses and all sections.
    fn naively(run: &Run) -> BTreeMap<String, AccessCounts> {
        let (orders, forced) = (Orders::new(run), HappensBefore::forced(run));
        let mut counts: BTreeMap<String, AccessCounts> = BTreeMap::new();
        for (a, event) in run.events.iter() {
            let plain = matches!(event.kind, EventKind::Read | EventKind::Write);
            let location = event.location;
            if !plain || location == LocationId(0) || !orders.accesses().is_shared(location) {
                continue;
            }
            let meets = run.events.iter().any(|(b, other)| {
                let (one, two) = (event.thread.0, other.thread.0);
                one != two
                    && other.location == location
                    && other.kind.is_access()
                    && !forced.ordered(a, one, b, two)
                    && !forced.ordered(b, two, a, one)
            });
            if meets {
                let count = counts
                    .entry(facts::family(run.location(location)))
                    .or_default();
                count.0 += 1;
                let held = orders.locks_held(a);
                let held = held
                    .iter()
                    .filter(|held| !held.shared || event.kind == EventKind::Read);
                let names = held.map(|held| facts::family(run.location(held.lock)));
                for lock in names.collect::<BTreeSet<_>>() {
                    *count.1.entry(lock).or_default() += 1;
                }
            }
        }
        counts
    }

    proptest! {
        #[test]
        fn counts_are_those_of_all_pairs(run in fixture::feasible(120)) {
            let mut guards = Guards::default();
            guards.add(&run);
            let counted = guards.tallies.iter().map(|(location, tally)| {
                let of_places: u64 = tally.places.values().map(|(times, _)| times).sum();
                assert_eq!(of_places, tally.of);
                (location.clone(), (tally.of, tally.held.clone()))
            });
            prop_assert_eq!(counted.collect::<BTreeMap<_, _>>(), naively(&run));
        }
    }
}
