//! Equivalence classes of a campaign's runs: runs of a class differ only in the order of steps that have nothing to
//! do with each other.

use super::seen::MadeRun;
use rustc_hash::FxHashMap;
use unsnarl_trace::{OrderMode, Outcome};

/// The runs seen so far, by outcome and order of conflicting events.
#[derive(Debug, Default)]
pub(super) struct Classes {
    seen: FxHashMap<(Outcome, String, String), u64>,
    /// Classes that one run only belongs to.
    seen_once: u64,
}

impl Classes {
    /// Returns whether this run is the first of its class. Runs that were not recorded to their end, or not exactly,
    /// are never taken to be equal.
    pub fn is_new(&mut self, run: &MadeRun<'_>) -> bool {
        let outcome = run.ended.outcome;
        if outcome == Outcome::CutShort || run.made.mode() != OrderMode::Controlled {
            self.seen_once += 1;
            return true;
        }
        let failure = run.ended.failure.as_ref();
        let message = failure.map_or("", |(_, message)| message).to_owned();
        let class = (outcome, message, run.digest.order.clone());
        let times = self.seen.entry(class).or_insert(0);
        *times += 1;
        match *times {
            1 => self.seen_once += 1,
            2 => self.seen_once -= 1,
            _ => {}
        }
        *times == 1
    }

    /// Number of classes that one run only belongs to.
    pub fn seen_once(&self) -> u64 {
        self.seen_once
    }
}
