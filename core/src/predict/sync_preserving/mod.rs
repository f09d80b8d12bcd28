//! Sync-preserving races and deadlocks: anomalies that are possible in some other order for certain.
//!
//! An order of some of a run's events is *sync-preserving* when each thread executes a prefix of its events,
//! each read sees the write that it saw, and the sections of each lock keep their order ([races]). No such
//! order can make a thread do anything else than it did: results are true of the program without an
//! execution. Two accesses race when such an order ends right before both; threads deadlock when it ends
//! right before each requests a lock that the next one holds ([deadlocks]).
//!
//! The smallest such order with given events is their closure, in the run's order. It is a number of steps
//! for each thread, grown by joining clocks to the fixed point.
//!
//! For constructs beyond the papers the recorded order is kept, which finds less and stays sound: two
//! sections that only read may overlap, others exclude each other; a wait resumes after all signals before
//! it; an operation on a barrier, a semaphore or a once-only initialization comes after all earlier
//! operations there; an attempt at a lock fails after the acquisition that made it fail.
//!
//! [races]: Mathur, Pavlogiannis, Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*, POPL
//! 2021. [deadlocks]: Tunç, Mathur, Pavlogiannis, Viswanathan, *Sound Dynamic Deadlock Prediction in Linear
//! Time*, PLDI 2023.

mod clocks;
mod closure;
mod counts;
mod cycles;
mod deadlock;
mod race;
#[cfg(test)]
mod tests;

pub use counts::{Racy, hb_racy, lockset_racy, shb_racy};

use super::{AnomalyCandidate, WitnessOrder};
use crate::budget::{Budget, EngineOutcome};
use clocks::{Edges, Prerequisites};
use closure::SharedSections;
use unsnarl_order::VectorClock;
use unsnarl_trace::{EventId, Run};

/// Races that a sync-preserving order shows, one for each two places in the program, in the run's order of
/// the later access. The events of a candidate are the earlier access and the later one.
pub fn races(run: &Run, budget: &Budget) -> EngineOutcome<AnomalyCandidate> {
    SyncPreserving::new(run).races(budget)
}

/// Deadlocks that a sync-preserving order shows, one for each cycle of threads, locks wanted and locks held.
pub fn deadlocks(run: &Run, budget: &Budget) -> EngineOutcome<AnomalyCandidate> {
    SyncPreserving::new(run).deadlocks(budget)
}

/// The sync-preserving orders of a run.
pub struct SyncPreserving<'a> {
    run: &'a Run,
    clocks: Prerequisites,
    sections: SharedSections,
}

impl<'a> SyncPreserving<'a> {
    /// Prepares a run. Linear in the events, times the threads at events where one learns of another.
    pub fn new(run: &'a Run) -> SyncPreserving<'a> {
        let clocks = Prerequisites::new(run, Edges::ReadsFrom);
        let sections = SharedSections::new(run, &clocks);
        SyncPreserving {
            run,
            clocks,
            sections,
        }
    }

    /// As [`races`].
    pub fn races(&self, budget: &Budget) -> EngineOutcome<AnomalyCandidate> {
        race::candidates(self, budget)
    }

    /// Accesses that race with an earlier one, in the run's order.
    pub fn racy(&self, budget: &Budget) -> EngineOutcome<EventId> {
        race::racy(self, budget)
    }

    /// As [`deadlocks`].
    pub fn deadlocks(&self, budget: &Budget) -> EngineOutcome<AnomalyCandidate> {
        deadlock::candidates(self, budget)
    }

    /// The shortest sync-preserving order that ends with the events of a candidate: of a race with both
    /// accesses, of a deadlock right before the requests. None when there is no such order.
    pub fn order(&self, candidate: &AnomalyCandidate) -> Option<WitnessOrder> {
        let mut ideal = self.before(&candidate.events)?;
        let mut events = self.rows(&ideal);
        if candidate.class == super::Class::Deadlock {
            return Some(WitnessOrder {
                events,
                not_nested: false,
            });
        }
        for &event in &candidate.events {
            let (thread, step) = self.clocks.step_of(event)?;
            if ideal.get(thread) == step {
                events.extend(self.clocks.rows_of(thread, step));
                ideal.raise(thread, step + 1);
            }
        }
        Some(WitnessOrder {
            events,
            not_nested: false,
        })
    }

    /// The closure of the predecessors of the events; none when it contains one of them.
    fn before(&self, events: &[EventId]) -> Option<VectorClock> {
        let mut ideal = self.clocks.bottom();
        let mut steps = Vec::new();
        for &event in events {
            let (thread, step) = self.clocks.step_of(event)?;
            self.clocks.join_before(&mut ideal, thread, step);
            steps.push((thread, step));
        }
        let bottom = self.clocks.bottom();
        self.sections
            .close(&self.clocks, &bottom, &mut ideal)
            .then_some(())?;
        let is_out = |(thread, step): &(u16, u32)| ideal.get(*thread) <= *step;
        steps.iter().all(is_out).then_some(ideal)
    }

    /// The rows of an ideal in the run's order.
    fn rows(&self, ideal: &VectorClock) -> Vec<EventId> {
        let all = (0..self.run.events.len() as u32).map(EventId);
        let is_in = |event: &EventId| {
            let step = self.clocks.step_of(*event);
            step.is_some_and(|(thread, step)| step < ideal.get(thread))
        };
        all.filter(is_in).collect()
    }
}
