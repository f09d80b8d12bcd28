//! Uses of locals whose function had returned.

use super::{Candidate, PER_STEP, Story, candidate};
use crate::explain::{returned::ReturnedUse, view::View};

/// Bound on the cost of a use that flowed into the failure, from however far: it is wrong in itself.
const WRONG_IN_ITSELF: u32 = 2 * PER_STEP;

/// Locals of other threads that were used when their function had returned: facts of the run, whatever other runs show.
pub(super) fn returned(view: &View) -> Vec<Candidate> {
    let uses = ReturnedUse::all(view).map(|found| {
        let story = Story::Returned {
            since: found.since,
            used: found.used,
        };
        let mut found = candidate(view, story, &[found.used], 0, true);
        if found.relevant {
            found.cost = found.cost.min(WRONG_IN_ITSELF);
        }
        found
    });
    uses.collect()
}
