//! Uses of locals whose function had returned.

use super::{Candidate, PER_STEP, Story, candidate};
use crate::{
    explain::{returned::ReturnedUse, view::View},
    explanation::GoneLocal,
};

/// Bound on the cost of a use that flowed into the failure, from however far: it is wrong in itself.
const WRONG_IN_ITSELF: u32 = 2 * PER_STEP;

/// Locals of other threads that were used when their function had returned: facts of the run, whatever other runs show. Where no
/// passing run has it, the failure came of it, however it did.
pub(super) fn returned(view: &View) -> Vec<Candidate> {
    let is_usual = |gone: &GoneLocal| {
        let mut passing = view.corpus.passing();
        passing.any(|run| run.gone.contains(gone))
    };
    let has_passing = view.corpus.passing().next().is_some();
    let uses = ReturnedUse::all(view).map(|found| {
        let story = Story::Returned {
            step: found.step,
            used: found.used,
        };
        let is_only_here = has_passing && !is_usual(&found.gone());
        let mut found = candidate(view, story, &[found.used], 0, true);
        if is_only_here {
            (found.cost, found.relevant) = (0, true);
        } else if found.relevant {
            found.cost = found.cost.min(WRONG_IN_ITSELF);
        }
        found
    });
    uses.collect()
}
