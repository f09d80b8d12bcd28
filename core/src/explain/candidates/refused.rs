//! Repeated failed attempts to acquire a lock, after which the thread gave up.

use super::{Candidate, Story, UNRELATED, candidate, distance};
use crate::explain::{
    refused::{attempts, changed_before, holder},
    view::View,
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, SiteId};

/// Cost of it, since a story that flowed into the failure is better.
const BEHIND_DATA: u32 = 6;

/// Cost of work that was left half done, since its omitted part flowed into the failure, too.
const HALF_WAY: u32 = 1;

/// Cost of an attempt in vain that no passing run has: nothing shows that it flowed into the failure.
const TURNED_AWAY: u32 = 2;

/// The last of the failed attempts to lock with which the failing thread ended, if there were several.
pub(super) fn refused(view: &View) -> Vec<Candidate> {
    const SEVERAL: usize = 2;
    let attempts = attempts(view);
    let Some(&(held, attempt)) = attempts.last().filter(|_| attempts.len() >= SEVERAL) else {
        return Vec::new();
    };
    let story = Story::Refused { held, attempt };
    let mut found = candidate(view, story, &[attempt], 0, false);
    (found.cost, found.relevant) = (BEHIND_DATA, true);
    vec![found]
}

/// Changes of a thread that flowed into the failure, before it tried a lock in vain and gave up, at a place
/// where no passing run has tried in vain.
pub(super) fn half_way(view: &View) -> Vec<Candidate> {
    let mut found = Vec::new();
    for attempt in new_attempts(view) {
        let changed = changed_before(view, attempt).into_iter();
        let nearest = changed.min_by_key(|&row| distance(view, &[row]));
        if let Some(write) = nearest.filter(|&row| distance(view, &[row]) < UNRELATED) {
            let story = Story::HalfWay { write, attempt };
            let mut one = candidate(view, story, &[write], 0, true);
            one.cost = HALF_WAY;
            found.push(one);
        }
    }
    found
}

/// Attempts in vain of threads that did not wait for the lock but went on, perhaps without what they were to do.
pub(super) fn turned_away(view: &View) -> Vec<Candidate> {
    const FEW: usize = 3;
    let mut places = BTreeSet::new();
    let tries = new_attempts(view).into_iter();
    let held = tries.filter_map(|attempt| {
        let section = holder(view, attempt).filter(|section| section.released.is_some())?;
        Some((section.acquired, attempt))
    });
    let first = held.filter(|&(held, attempt)| {
        let site = |row: EventId| view.event(row).site;
        places.insert((site(held), site(attempt)))
    });
    let story = first.map(|(held, attempt)| {
        let story = Story::Refused { held, attempt };
        let mut one = candidate(view, story, &[attempt], 0, true);
        (one.cost, one.relevant) = (TURNED_AWAY, true);
        one
    });
    story.take(FEW).collect()
}

/// The attempts to lock in vain at places where no passing run has tried in vain; none without passing runs.
fn new_attempts(view: &View) -> Vec<EventId> {
    if view.corpus.counts().passing() == 0 {
        return Vec::new();
    }
    let mut known: BTreeMap<SiteId, bool> = BTreeMap::new();
    let mut is_new = |attempt: EventId| {
        let is_new = || {
            let at = view.place(attempt);
            let place = (at.file, at.line);
            let mut passing = view.corpus.passing();
            passing.all(|run| !run.refusals.contains(&place))
        };
        *known.entry(view.event(attempt).site).or_insert_with(is_new)
    };
    let rows = view.run.events.iter();
    let tries = rows.filter(|(_, event)| event.kind == EventKind::TryLockFailed);
    tries
        .map(|(row, _)| row)
        .filter(|row| is_new(*row) && !is_repeated(view, *row))
        .collect()
}

/// Returns whether the thread gets the lock in the same statement, as where that takes several locks: it tries them in another
/// order then.
fn is_repeated(view: &View, attempt: EventId) -> bool {
    const NEAR: usize = 64;
    let tried = view.event(attempt);
    let own = view.rows.after(tried.thread, attempt).iter();
    let own = own.map(|row| view.event(*row)).take(NEAR);
    let mut there = own.take_while(|event| (event.site, event.stack) == (tried.site, tried.stack));
    there.any(|event| event.kind == EventKind::Lock && event.location == tried.location)
}

#[cfg(test)]
mod tests {
    use super::turned_away;
    use crate::{explain::view::View, fixture::corpus};

    /// `std::scoped_lock` takes one lock, tries the other one, and begins with that one where it is held.
    #[test]
    fn a_lock_that_is_taken_after_all_has_turned_nobody_away() {
        let begin = "start main.1 move\nmain fork main.1 @40 main\n";
        let lock = "main lock b @50 main\n";
        let tries =
            "main.1 lock a @5 move\nmain.1 trylock-failed b @5 move\nmain.1 unlock a @5 move\n";
        let gives = "main unlock b @52 main\n";
        let gets = "main.1 lock b @5 move\nmain.1 lock a @5 move\nmain.1 W n =1 @6 move\n";
        let ends = "main R n =0 @60 main\nmain fails @61 main";
        let found = |gets: &str| {
            let failing = [begin, lock, tries, gives, gets, ends].concat();
            let passing = format!("{begin}main.1 W n =1 @6 move\nmain R n =1 @60 main\n");
            let corpus = corpus(&[&*passing; 6], &[&failing]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            turned_away(&view).len()
        };
        assert_eq!(found(""), 1);
        assert_eq!(found(gets), 0);
    }
}
