//! How much an engine may spend, and why it stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Time and cancellation, polled by every engine. Cloning shares the cancellation.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
}

impl Budget {
    /// No limit; can still be cancelled.
    pub fn unlimited() -> Budget {
        Budget::default()
    }

    /// Ends `time` from now.
    pub fn lasting(time: Duration) -> Budget {
        Budget {
            deadline: Instant::now().checked_add(time),
            ..Budget::default()
        }
    }

    /// The same for a part of the work, which ends at the latest `time` from now.
    pub fn at_most(&self, time: Duration) -> Budget {
        let end = Instant::now().checked_add(time);
        Budget {
            deadline: self.deadline.into_iter().chain(end).min(),
            cancelled: self.cancelled.clone(),
        }
    }

    /// Makes every engine that polls this budget stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Time that is left; `None` without a limit.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Why an engine has to stop now, if it has to.
    pub fn stop(&self) -> Option<StopReason> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(StopReason::Cancelled);
        }
        let over = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        over.then_some(StopReason::OutOfTime)
    }
}

/// Why an engine stopped: "nothing found" and "gave up" never look alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// Everything was looked at.
    Complete,
    /// The budget's time ran out; the findings so far are right but may not be all.
    OutOfTime,
    /// Somebody cancelled.
    Cancelled,
    /// There is more than the engine's own limit lets it look at; the text says of what. The findings so far
    /// are right but may not be all.
    TooMuch(&'static str),
    /// The runs lack what the engine needs; the text says what.
    Lacks(&'static str),
}

/// What an engine found, and why it stopped.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The findings, best first.
    pub findings: Vec<T>,
    /// Why it stopped.
    pub stopped: StopReason,
}
