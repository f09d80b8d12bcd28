//! Visits that passing runs have only in the opposite order, of lines that come in both: what one thread does in a round comes
//! before what another one still has to do in the same round, which a barrier would have seen to.

use super::{Candidate, Story, UNRELATED, candidate, distance, usual};
use crate::{
    Budget,
    budget::Poll,
    explain::view::View,
    mining::trace::{EventIdentity, LineAccess, Trace, line_hash},
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
struct NumberedVisit {
    thread: u64,
    line: LineAccess,
    number: u32,
}

/// Two visits of one variable, in the order of the failing run.
struct VisitPair {
    rows: (EventId, EventId),
    location: u64,
    early: NumberedVisit,
    late: NumberedVisit,
}

/// Orders of visits that only the failing run has, with nothing that orders the two. Linear in the dependencies of the run, and
/// in the passing runs.
pub(super) fn rounds(view: &View, budget: &Budget) -> Vec<Candidate> {
    let pairs: Vec<VisitPair> = near_pairs(view)
        .into_iter()
        .map(|rows| VisitPair::new(view, rows))
        .collect();
    let turned = turned(view, &pairs, budget);
    let told = pairs.iter().zip(turned).filter(|(_, turned)| *turned);
    let told = told.map(|(pair, _)| {
        let (early, late) = pair.rows;
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

/// For each of the pairs, whether passing runs have the two visits, and only the other way round.
fn turned(view: &View, pairs: &[VisitPair], budget: &Budget) -> Vec<bool> {
    let mut poll = Poll::new(budget);
    let mut tallies = vec![(0, true); pairs.len()];
    let runs = view.corpus.passing().filter(|_| !pairs.is_empty());
    for run in runs.take_while(|_| !poll.is_over()) {
        let first = firsts(&run.accesses, pairs);
        for ((of, are_turned), is_late) in tallies.iter_mut().zip(first) {
            *of += u32::from(is_late.is_some());
            *are_turned &= is_late.unwrap_or(true);
        }
    }
    let passing = view.corpus.counts().passing();
    let tells = |of: u32| of >= ENOUGH && usual(of, passing);
    tallies
        .into_iter()
        .map(|(of, turned)| turned && tells(of))
        .collect()
}

/// For each of the pairs, whether a run comes to the late visit first; none if it comes to neither. Linear in the run.
fn firsts(run: &Trace, pairs: &[VisitPair]) -> Vec<Option<bool>> {
    let ends_of = |kind: &EventIdentity| -> Vec<(usize, bool)> {
        let of_kind = pairs.iter().enumerate();
        let of_kind = of_kind.filter(|(_, pair)| pair.location == kind.location);
        let ends =
            of_kind.flat_map(|(at, pair)| [(at, &pair.early, false), (at, &pair.late, true)]);
        let own = ends.filter(|(_, visit, _)| visit.is(kind));
        own.map(|(at, _, is_late)| (at, is_late)).collect()
    };
    let ends: Vec<Vec<(usize, bool)>> = run.kinds.iter().map(ends_of).collect();
    let mut seen = vec![[0; 2]; pairs.len()];
    let mut first = vec![None; pairs.len()];
    for event in &run.events {
        for (at, is_late) in ends.get(*event as usize).into_iter().flatten() {
            let slots = (pairs.get(*at), seen.get_mut(*at), first.get_mut(*at));
            let (Some(pair), Some([early, late]), Some(first)) = slots else {
                continue;
            };
            let (seen, number) = match is_late {
                true => (late, pair.late.number),
                false => (early, pair.early.number),
            };
            *seen += 1;
            if *seen == number {
                first.get_or_insert(*is_late);
            }
        }
    }
    first
}

impl VisitPair {
    fn new(view: &View, (early, late): (EventId, EventId)) -> VisitPair {
        VisitPair {
            rows: (early, late),
            location: Fnv::of(view.run.location(view.event(early).location)),
            early: NumberedVisit::new(view, early),
            late: NumberedVisit::new(view, late),
        }
    }
}

impl NumberedVisit {
    fn new(view: &View, row: EventId) -> NumberedVisit {
        let (operation, visit) = (view.operation(row), view.visit(row));
        let line = line_hash(&operation.place.file, operation.place.line);
        NumberedVisit {
            thread: Fnv::of(&visit.thread),
            line: (line, operation.access),
            number: visit.number,
        }
    }

    fn is(&self, kind: &EventIdentity) -> bool {
        (self.thread, self.line) == (kind.thread, (kind.line, kind.access))
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
