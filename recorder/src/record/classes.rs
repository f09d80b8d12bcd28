//! Which runs of a campaign are one and the same but for the order of steps that have nothing to do
//! with each other.

use rustc_hash::FxHashSet;
use unsnarl_trace::{Outcome, Run};

/// The runs seen so far, by how they ended and the order of their conflicting events.
#[derive(Debug, Default)]
pub(super) struct Classes {
    seen: FxHashSet<(Outcome, String, String)>,
}

impl Classes {
    /// Whether this run is the first of its class. Runs that were not recorded to their end, or not
    /// exactly, are never taken to be equal.
    pub fn is_new(&mut self, run: &Run) -> bool {
        let meta = &run.meta;
        if meta.outcome == Outcome::CutShort || !meta.exact {
            return true;
        }
        let failure = meta.failure.as_ref();
        let message = failure.map_or("", |failure| &failure.message).to_owned();
        self.seen
            .insert((meta.outcome, message, meta.order.clone()))
    }
}
