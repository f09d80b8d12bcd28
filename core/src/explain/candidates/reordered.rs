//! Pairs that passing runs have only in the opposite order.

use super::{Candidate, NOT_NEW, Story, candidate, distance, seen};
use crate::{
    explain::view::View,
    pairs::{AccessKey, PairKey, triples, turned_pairs},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::EventId;

/// Test Procedure I: pairs that passing runs have only in the opposite order.
pub(super) fn reordered(view: &View, interruptions: &FxHashSet<PairKey>) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    if counts.passing() == 0 {
        return Vec::new();
    }
    let new = turned_pairs(&view.run, view.pairs(), counts);
    let new = new.iter().map(|pair| pair.key);
    // Another read between the two does not change their order.
    let indirect = view.pairs().indirect.iter().copied();
    let indirect = indirect.filter(|key| counts.ordered(*key) == 0);
    let mut keys: Vec<PairKey> = new.chain(indirect).collect();
    keys.sort_unstable();
    keys.dedup();
    let keys = keys
        .into_iter()
        .filter(|key| counts.ordered(key.reversed()) > 0 && !interruptions.contains(key));
    let lost = lost_updates(view);
    let keys = keys.filter(|key| !lost.contains(&key.tail));
    let keys: Vec<PairKey> = keys.collect();
    let nearest = nearest_occurrences(view, keys.iter().copied());
    let found = keys.into_iter().filter_map(|key| {
        let (_, early, late) = nearest.get(&key).copied().flatten()?;
        Some((key, (early, late)))
    });
    let free = found.filter(|(_, (head, tail))| !view.is_forced(*head, *tail));
    let stories = free.map(|(_, pair)| {
        let (early, late) = at_entry(view, pair);
        let key = PairKey {
            head: view.key(early),
            tail: view.key(late),
        };
        let (runs, backward) = (counts.ordered(key), counts.ordered(key.reversed()));
        let without = counts.passing().saturating_sub(backward);
        let contrast = 2 + NOT_NEW * without / counts.passing();
        let also = if runs > 0 {
            seen(runs, counts.passing())
        } else {
            0
        };
        let story = Story::Order { early, late };
        candidate(view, story, &[early, late], contrast + also, runs == 0)
    });
    stories.collect()
}

/// The first read in one critical section of a value that another one wrote: the order of the sections
/// determines all such pairs, and the first read decides what the later section does. Only pairs that passing
/// runs have in the opposite order count.
fn at_entry(view: &View, (early, late): (EventId, EventId)) -> (EventId, EventId) {
    let is_read = view.event(early).kind.writes() && view.event(late).kind.reads();
    let sections = sections(view, early, late).filter(|_| is_read);
    let Some((begin, entry)) = sections else {
        return (early, late);
    };
    let counts = view.corpus.counts();
    let write_of = |row: EventId| {
        let write = view
            .orders
            .last_write_before(view.event(row).location, row)?;
        let is_inside = write > begin && view.thread(write) == view.thread(early) && write < entry;
        is_inside.then_some((write, row))
    };
    let is_turned = |(head, tail): &(EventId, EventId)| {
        let (head, tail) = (view.key(*head), view.key(*tail));
        let key = PairKey { head, tail };
        counts.ordered(key) == 0 && counts.ordered(key.reversed()) > 0
    };
    let rows = view.rows.after(view.thread(late), entry).iter().copied();
    let reads = rows.take_while(|row| *row < late);
    let mut reads = reads.filter(|row| view.event(*row).kind.reads());
    let first = reads.find_map(|row| write_of(row).filter(is_turned));
    first.unwrap_or((early, late))
}

/// Acquisitions of the critical sections of one lock that contain two rows.
fn sections(view: &View, early: EventId, late: EventId) -> Option<(EventId, EventId)> {
    let (one, other) = (view.orders.locks_held(early), view.orders.locks_held(late));
    one.iter().rev().find_map(|section| {
        let mut same = other.iter().filter(|held| held.lock == section.lock);
        same.next().map(|held| (section.acquired, held.acquired))
    })
}

/// Writes that overwrite a change made after the read that they are based on: their order is not wrong, but
/// they are not atomic with the read.
fn lost_updates(view: &View) -> FxHashSet<AccessKey> {
    let mut lost = FxHashSet::default();
    triples(&view.run, view.orders.accesses(), |triple| {
        let (first, second) = (
            view.event(triple.first).kind,
            view.event(triple.second).kind,
        );
        if first.reads() && !second.reads() {
            lost.insert(view.key(triple.second));
        }
    });
    lost
}

/// Distance to the failure, head and tail of an occurrence.
type RankedOccurrence = (u32, EventId, EventId);

/// The occurrence of each pair that is nearest to the failure, in one pass over the run.
fn nearest_occurrences(
    view: &View,
    keys: impl Iterator<Item = PairKey>,
) -> FxHashMap<PairKey, Option<RankedOccurrence>> {
    let mut nearest: FxHashMap<PairKey, Option<RankedOccurrence>> =
        keys.map(|key| (key, None)).collect();
    if nearest.is_empty() {
        return nearest;
    }
    crate::orders::dependencies(&view.run, view.orders.accesses(), |dependency| {
        let key = PairKey {
            head: view.key(dependency.head),
            tail: view.key(dependency.tail),
        };
        if let Some(best) = nearest.get_mut(&key) {
            let here = (
                distance(view, &[dependency.tail]),
                dependency.head,
                dependency.tail,
            );
            *best = Some(best.map_or(here, |best| best.min(here)));
        }
    });
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::corpus;

    /// The order of two critical sections shows in the first value that the later one reads from the earlier
    /// one.
    #[test]
    fn sections_are_told_by_what_is_read_first() {
        let fill =
            "main.1 lock m @10\nmain.1 W data =7 @11\nmain.1 W full =1 @12\nmain.1 unlock m @13\n";
        let take =
            "main.2 lock m @20\nmain.2 R full =1 @21\nmain.2 R data =7 @22\nmain.2 fails @22";
        let look =
            "main.2 lock m @20\nmain.2 R full =0 @21\nmain.2 R data =0 @22\nmain.2 unlock m @23\n";
        let (fine, fails) = (format!("{look}{fill}"), format!("{fill}{take}"));
        let corpus = corpus(&[fine.as_str(); 6], &[&fails]);
        let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
        let found = reordered(&view, &FxHashSet::default());
        let stories: Vec<Story> = found.iter().map(|one| one.story).collect();
        let (early, late) = (EventId(2), EventId(5));
        assert_eq!(stories, [Story::Order { early, late }]);
    }

    #[test]
    fn a_read_between_two_writes_does_not_hide_their_order() {
        let fine = "main.1 W x =1 @20\nmain.2 R x =1 @25\nmain W x =2 @7\nmain R x =2 @30";
        let fails = "main W x =2 @7\nmain.1 W x =1 @20\nmain R x =1 @30\nmain fails @30";
        let corpus = corpus(&[fine; 6], &[fails]);
        let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
        let found = reordered(&view, &FxHashSet::default());
        let (early, late) = (EventId(0), EventId(1));
        let story = Story::Order { early, late };
        assert!(
            found.iter().any(|one| one.story == story && one.new),
            "{found:?}"
        );
    }
}
