//! Attempts to lock that failed again and again before the thread gave up.

use super::{Candidate, Story, candidate};
use crate::explain::{refused::attempts, view::View};

/// Cost of it: what flowed into the failure is a better story.
const BEHIND_DATA: u32 = 6;

/// The last of the attempts to lock with which the failing thread ended, if there were several.
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
