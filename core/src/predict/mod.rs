//! Anomalies that another order of a run's events would show ([pecan]), and the schedule for each.
//!
//! From one run, mostly one that passed: find the sequences of accesses that a pattern describes and that
//! a feasible order could show, write the schedule for each, and hand it to whoever can run it. What is
//! found here is *predicted*; only what was executed is an error.
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

pub use graph::{Graph, GraphOptions};
pub use pattern::{Access, Pattern, PatternError, Patterns, Step, UserPatterns};
pub use regions::{Annotation, Inferred, RegionId, RegionOptions, Regions};
pub use search::{SearchOptions, search};

use unsnarl_trace::EventId;

/// What kind of anomaly is predicted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Two accesses of one location at the same time, one of them a write.
    Race,
    /// A foreign access between two accesses of one location that belong together.
    Atomicity,
    /// Foreign accesses among those to several locations that belong together.
    AtomicSet,
    /// Two accesses under one lock in the order that the run did not have.
    Order,
    /// Threads that wait for each other.
    Deadlock,
    /// What a pattern of the user's describes.
    User,
}

impl Class {
    /// The word for it, as in text and JSON.
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

/// Events of a run that an anomaly would have in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Candidate {
    /// Its kind.
    pub class: Class,
    /// Name of the pattern, e.g. `w-r-w`; for deadlocks `cycle of 2`.
    pub pattern: String,
    /// The events in the order in which the anomaly has them. Of a deadlock: for each thread of the cycle
    /// the event at which it asks for the lock that the next one holds.
    pub events: Vec<EventId>,
}

/// An order of events of a run that shows a candidate, from the run's first event to the candidate's last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// The events, first to last; each thread's are in program order and without gaps.
    pub events: Vec<EventId>,
    /// Locks that are not released in the reverse order stand in the way of the guarantee
    /// (Theorem 1 of [pecan]); the order was tried all the same.
    pub not_nested: bool,
}
