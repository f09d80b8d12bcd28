//! Anomalies that another order of a run's events would show ([pecan]), with a schedule for each.
//!
//! From one run, mostly one that passed, the search finds the sequences of accesses that a pattern describes
//! and that a feasible order could show; a schedule is written for each and handed to the caller for
//! execution. Results are *predicted*; only an executed one is an error.
//!
//! [pecan]: Huang and Zhang, *Persuasive Prediction of Concurrency Access Anomalies*, ISSTA 2011.

pub mod deadlock;
pub mod departure;
pub mod feasible;
pub mod graph;
pub mod pattern;
pub mod regions;
pub mod schedule;
pub mod search;
pub mod sync_preserving;

pub use graph::{ForcedOrder, GraphOptions};
pub use pattern::{AccessType, Pattern, PatternError, PatternEvent, Patterns, UserPatterns};
pub use regions::{Annotation, Inferred, RegionId, RegionOptions, Regions};
pub use search::{SearchOptions, search};

use unsnarl_trace::EventId;

/// Class of a predicted anomaly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Two accesses of one location at the same time, one of them a write.
    Race,
    /// An access of another thread between two accesses of one location in one atomic region.
    Atomicity,
    /// Accesses of other threads among those to several locations in one atomic region.
    AtomicSet,
    /// Two accesses under one lock in the order that the run did not have.
    Order,
    /// Threads that wait for each other.
    Deadlock,
    /// An anomaly described by a user's pattern.
    User,
}

impl Class {
    /// Name of the class, as in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Race => "race",
            Class::Atomicity => "atomicity-violation",
            Class::AtomicSet => "atomic-set-violation",
            Class::Order => "order-violation",
            Class::Deadlock => "deadlock",
            Class::User => "pattern",
        }
    }
}

/// An anomaly that the run's events would have in another order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AnomalyCandidate {
    /// Its kind.
    pub class: Class,
    /// Name of the pattern, e.g. `w-r-w`; for deadlocks `cycle of 2`.
    pub pattern: String,
    /// The events in the order in which the anomaly has them. Of a deadlock: for each thread of the cycle the
    /// event at which it requests the lock that the next one holds.
    pub events: Vec<EventId>,
}

/// An order of events of a run that shows a candidate, from the run's first event to the candidate's last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WitnessOrder {
    /// The events, first to last; each thread's are a gapless prefix in program order.
    pub events: Vec<EventId>,
    /// `true` if locks are not released in the reverse order, which voids the guarantee (Theorem 1 of
    /// [pecan]); the order was attempted all the same.
    pub not_nested: bool,
}
