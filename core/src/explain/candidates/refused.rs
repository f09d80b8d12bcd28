//! Repeated failed attempts to acquire a lock, after which the thread gave up.

use super::{Candidate, Story, UNRELATED, candidate, distance};
use crate::explain::{
    refused::{attempts, changed_before},
    view::View,
};
use unsnarl_trace::EventKind;

/// Cost of it, since a story that flowed into the failure is better.
const BEHIND_DATA: u32 = 6;

/// Cost of work that was left half done, since its omitted part flowed into the failure, too.
const HALF_WAY: u32 = 1;

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
    let rows = view.run.events.iter();
    let tries = rows.filter(|(_, event)| event.kind == EventKind::TryLockFailed);
    let is_new = |place: &(String, u32)| {
        let mut passing = view.corpus.passing();
        passing.all(|run| !run.refusals.contains(place))
    };
    let mut found = Vec::new();
    for (attempt, _) in tries {
        let at = view.place(attempt);
        if view.corpus.counts().passing() == 0 || !is_new(&(at.file, at.line)) {
            continue;
        }
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
