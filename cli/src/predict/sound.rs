//! The second predictor: what an order with the same reads and the same order of sections shows needs no
//! execution to be true of the program.

use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, StopReason,
    predict::{AnomalyCandidate, Class, WitnessOrder, sync_preserving::SyncPreserving},
};
use unsnarl_trace::Run;

/// The sync-preserving orders of a run.
pub struct Sound<'a> {
    run: &'a Run,
    orders: SyncPreserving<'a>,
}

impl<'a> Sound<'a> {
    /// Prepares a run.
    pub fn new(run: &'a Run) -> Sound<'a> {
        Sound {
            run,
            orders: SyncPreserving::new(run),
        }
    }

    /// An order of the recorded steps that shows the race or the deadlock, if there is one.
    pub fn order(&self, candidate: &AnomalyCandidate) -> Option<WitnessOrder> {
        match candidate.class {
            Class::Race | Class::Deadlock => self.orders.order(candidate),
            Class::Atomicity | Class::AtomicSet | Class::Order | Class::User => None,
        }
    }

    /// Adds the races and deadlocks at lines at which none of their class was predicted.
    pub fn complete(&self, candidates: &mut Vec<AnomalyCandidate>, budget: &Budget) -> StopReason {
        let mut known: BTreeSet<_> = candidates.iter().map(|one| self.place(one)).collect();
        let races = self.orders.races(budget);
        let deadlocks = self.orders.deadlocks(budget);
        for candidate in races.findings.into_iter().chain(deadlocks.findings) {
            if known.insert(self.place(&candidate)) {
                candidates.push(candidate);
            }
        }
        match races.stopped {
            StopReason::Complete => deadlocks.stopped,
            stopped => stopped,
        }
    }

    /// Class and places, whatever their order.
    fn place(&self, candidate: &AnomalyCandidate) -> (Class, Vec<u32>) {
        let sites = self.run.events.sites();
        let of = |event: &unsnarl_trace::EventId| sites.get(event.index()).copied().unwrap_or(0);
        let mut places: Vec<u32> = candidate.events.iter().map(of).collect();
        places.sort_unstable();
        (candidate.class, places)
    }
}
