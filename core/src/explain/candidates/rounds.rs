//! Visits that passing runs have only in the opposite order, of lines that come in both: what one thread does in a round comes
//! before what another one still has to do in the same round, which a barrier would have seen to.

use super::{Candidate, Story, UNRELATED, candidate, distance, usual};
use crate::{
    Budget,
    budget::Poll,
    explain::view::View,
    mining::trace::{LineAccess, Trace, line_hash},
    orders::dependencies,
    pairs::{Fnv, PairKey},
};
use std::collections::BTreeMap;
use unsnarl_trace::EventId;

/// Bound on the pairs examined, the nearest to the failure.
const MOST: usize = 64;

/// Cost of a difference that only the numbers of visits show.
const BY_NUMBER: u32 = 4;

/// Passing runs with both visits that tell which one comes first.
const ENOUGH: u32 = 10;

/// A visit of a line by a thread, for one variable; its number counts from 1.
#[derive(Clone, Copy, PartialEq, Eq)]
struct NumberedVisit {
    thread: u64,
    line: LineAccess,
    number: u32,
}

/// Orders of visits that only the failing run has, with nothing that orders the two. Linear in the dependencies of the run, and
/// in the accesses of passing runs for each pair that is examined.
pub(super) fn rounds(view: &View, budget: &Budget) -> Vec<Candidate> {
    let mut poll = Poll::new(budget);
    let near = near_pairs(view).into_iter();
    let near = near.take_while(|_| !poll.is_over());
    let turned = near.filter(|(early, late)| is_turned(view, *early, *late));
    let told = turned.map(|(early, late)| {
        let story = Story::Order { early, late };
        candidate(view, story, &[early, late], 2 + BY_NUMBER, true)
    });
    told.collect()
}

/// The pairs of lines that passing runs have in both orders, each as it is nearest to the failure, where nothing orders the
/// two accesses.
fn near_pairs(view: &View) -> Vec<(EventId, EventId)> {
    let counts = view.corpus.counts();
    let mut nearest: BTreeMap<PairKey, (u32, EventId, EventId)> = BTreeMap::new();
    dependencies(&view.run, view.orders.accesses(), |found| {
        let (head, tail) = (found.head, found.tail);
        let near = distance(view, &[tail]);
        if near == UNRELATED || view.orders.happens_before(head, tail) {
            return;
        }
        let [head_key, tail_key] = [head, tail].map(|row| view.key(row));
        let key = PairKey {
            head: head_key,
            tail: tail_key,
        };
        let is_both = counts.ordered(key) > 0 && counts.ordered(key.reversed()) > 0;
        if is_both {
            let here = (near, head, tail);
            let best = nearest.entry(key).or_insert(here);
            *best = here.min(*best);
        }
    });
    let mut found: Vec<_> = nearest.into_values().collect();
    found.sort_unstable();
    found.truncate(MOST);
    found
        .into_iter()
        .map(|(_, head, tail)| (head, tail))
        .collect()
}

/// Returns whether passing runs have the two visits, and only the other way round.
fn is_turned(view: &View, early: EventId, late: EventId) -> bool {
    let location = Fnv::of(view.run.location(view.event(early).location));
    let [early, late] = [early, late].map(|row| numbered(view, row));
    let is_late_first = |run: &Trace| {
        let (mut early_seen, mut late_seen) = (0, 0);
        for kind in run.of(location) {
            let is = |visit: &NumberedVisit| {
                (visit.thread, visit.line) == (kind.thread, (kind.line, kind.access))
            };
            early_seen += u32::from(is(&early));
            late_seen += u32::from(is(&late));
            let (has_early, has_late) = (early_seen >= early.number, late_seen >= late.number);
            if has_early || has_late {
                return Some(has_late);
            }
        }
        None
    };
    let runs = view.corpus.passing();
    let seen: Vec<bool> = runs
        .filter_map(|run| is_late_first(&run.accesses))
        .collect();
    let passing = view.corpus.counts().passing();
    let of = u32::try_from(seen.len()).unwrap_or(u32::MAX);
    of >= ENOUGH && usual(of, passing) && seen.iter().all(|is_late| *is_late)
}

fn numbered(view: &View, row: EventId) -> NumberedVisit {
    let (operation, visit) = (view.operation(row), view.visit(row));
    let line = line_hash(&operation.place.file, operation.place.line);
    NumberedVisit {
        thread: Fnv::of(&visit.thread),
        line: (line, operation.access),
        number: visit.number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::corpus;

    const READ: &str = "main.2 R cell =1 @4\n";
    const SET: &str = "main.1 W cell =2 @5\n";
    const WAITS: &str = "main.1 barrier-arrive b @6\nmain.2 barrier-arrive b @6\nmain.1 barrier-leave b @6\n\
        main.2 barrier-leave b @6\n";
    const SECOND: &str = "main.2 R cell =2 @4\nmain.1 W cell =4 @5\n";
    const EARLY: &str = "main.2 R cell =2 @4\n";
    const ENDS: &str = "main.2 W sum =9 @7\nmain.2 fails @8";

    fn found(passing: usize, fails: &[&str]) -> Vec<Story> {
        let fine = [READ, SET, WAITS, SECOND].concat();
        let corpus = corpus(&vec![&*fine; passing], &[&fails.concat()]);
        let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
        let found = rounds(&view, &Budget::unlimited());
        found.iter().map(|one| one.story).collect()
    }

    /// In passing runs line 5 comes before line 4 as well: in the round before, with a barrier between the two.
    #[test]
    fn a_step_of_a_round_that_comes_before_another_one_of_it() {
        let (early, late) = (EventId(0), EventId(1));
        let turned = [SET, EARLY, "main.2 fails @8"];
        assert_eq!(found(12, &turned), [Story::Order { early, late }]);
        assert!(found(4, &turned).is_empty(), "few runs do not tell");
        assert!(found(12, &[READ, SET, WAITS, SECOND, ENDS]).is_empty());
    }
}
