//! Equivalence classes of a campaign's runs: runs of a class differ only in the order of steps that have nothing to
//! do with each other.

use super::seen::MadeRun;
use rustc_hash::FxHashSet;
use unsnarl_trace::{OrderMode, Outcome};

/// The runs seen so far, by outcome and order of conflicting events.
#[derive(Debug, Default)]
pub(super) struct Classes {
    seen: FxHashSet<(Outcome, String, String)>,
}

impl Classes {
    /// Returns whether this run is the first of its class. Runs that were not recorded to their end, or not exactly,
    /// are never taken to be equal.
    pub fn is_new(&mut self, run: &MadeRun<'_>) -> bool {
        let outcome = run.ended.outcome;
        if outcome == Outcome::CutShort || run.made.mode() != OrderMode::Controlled {
            return true;
        }
        let failure = run.ended.failure.as_ref();
        let message = failure.map_or("", |(_, message)| message).to_owned();
        self.seen
            .insert((outcome, message, run.digest.order.clone()))
    }
}
