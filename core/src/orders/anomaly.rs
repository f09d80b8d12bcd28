//! Anomalies of a trace, which are reported but never stop the analysis.

use std::fmt;
use unsnarl_trace::EventId;

/// One anomaly of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Anomaly {
    /// Event at which the anomaly shows.
    pub event: EventId,
    /// Kind of the anomaly.
    pub kind: AnomalyKind,
}

/// Kinds of anomalies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnomalyKind {
    /// A lock was released by a thread that does not hold it, while another does.
    UnlockByOther,
    /// A lock was released that no thread holds.
    UnlockWithoutLock,
    /// A lock was acquired while another thread holds it.
    LockWhileHeld,
    /// A thread was joined that was never forked.
    JoinWithoutFork,
    /// A thread other than the first began without a fork.
    BeginWithoutFork,
    /// A thread was forked after it had run.
    ForkAfterBegin,
    /// A thread has events after its end or after it was joined.
    EventAfterEnd,
    /// An event's kind is not known.
    UnknownKind,
    /// An event names a location that is not in the table.
    UnknownLocation,
    /// The run has more threads than the orders support.
    TooManyThreads,
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnlockByOther => "a lock is released by a thread that does not hold it",
            Self::UnlockWithoutLock => "a lock is released that nobody holds",
            Self::LockWhileHeld => "a lock is taken while another thread holds it",
            Self::JoinWithoutFork => "a thread is joined that was never created",
            Self::BeginWithoutFork => "a thread begins that was never created",
            Self::ForkAfterBegin => "a thread is created after it has run",
            Self::EventAfterEnd => "a thread goes on after its end or after it was joined",
            Self::UnknownKind => "an event's kind is not known",
            Self::UnknownLocation => "an event's location is not in the table",
            Self::TooManyThreads => "there are more threads than orders are worked out for",
        })
    }
}
