//! Limits on the time of an engine, and its reason to stop.

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
    /// A budget without a limit; it can still be cancelled.
    pub fn unlimited() -> Budget {
        Budget::default()
    }

    /// A budget that ends `time` from now.
    pub fn lasting(time: Duration) -> Budget {
        Budget {
            deadline: Instant::now().checked_add(time),
            ..Budget::default()
        }
    }

    /// A budget for a part of the work, which ends at the latest `time` from now.
    pub fn at_most(&self, time: Duration) -> Budget {
        let end = Instant::now().checked_add(time);
        Budget {
            deadline: self.deadline.into_iter().chain(end).min(),
            cancelled: self.cancelled.clone(),
        }
    }

    /// A budget for a part of the work, which may take this share of the time left, in hundredths.
    pub fn percent(&self, hundredths: u32) -> Budget {
        match self.left() {
            Some(left) => self.at_most(left * hundredths.min(100) / 100),
            None => self.clone(),
        }
    }

    /// The budget that goes on after other work, which its time does not count: `left` is what there was before.
    pub fn resumed(&self, left: Option<Duration>) -> Budget {
        Budget {
            deadline: left.and_then(|left| Instant::now().checked_add(left)),
            cancelled: self.cancelled.clone(),
        }
    }

    /// Cancels the budget: every engine that polls it stops soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Time left; `None` without a limit.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Reason for an engine to stop now, if there is one.
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

/// Polls a budget now and then, for loops with short steps. Once it is over it stays over.
pub struct Poll<'a> {
    budget: &'a Budget,
    steps: u32,
    is_over: bool,
}

impl<'a> Poll<'a> {
    /// Makes a poll of this budget.
    pub fn new(budget: &'a Budget) -> Poll<'a> {
        Poll {
            budget,
            steps: 0,
            is_over: false,
        }
    }

    /// Counts one more step; `true` when no more should follow.
    pub fn is_over(&mut self) -> bool {
        const STEPS: u32 = 256;
        if self.steps.is_multiple_of(STEPS) {
            self.is_over |= self.budget.stop().is_some();
        }
        self.steps = self.steps.wrapping_add(1);
        self.is_over
    }
}

/// Reason why an engine stopped: "nothing found" and "gave up" never look alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// The analysis is complete.
    Complete,
    /// The budget's time ran out; the findings so far are correct but may not be all.
    OutOfTime,
    /// The budget was cancelled.
    Cancelled,
    /// The input exceeds the engine's own limit, which the text names. The findings so far are correct but
    /// may not be all.
    TooMuch(&'static str),
    /// The runs lack something that the engine needs, which the text names.
    Lacks(&'static str),
}

/// Findings of an engine, with its stop reason.
#[derive(Clone, Debug)]
pub struct EngineOutcome<T> {
    /// The findings, best first.
    pub findings: Vec<T>,
    /// Stop reason of the engine.
    pub stopped: StopReason,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_end_before_the_whole() {
        let whole = Budget::lasting(Duration::from_secs(100));
        let share = whole.percent(40).left().unwrap_or_default();
        assert!(share <= Duration::from_secs(40));
        assert!(share > Duration::from_secs(30));
        assert_eq!(Budget::unlimited().percent(40).left(), None);
        whole.cancel();
        assert_eq!(whole.percent(40).stop(), Some(StopReason::Cancelled));
    }

    #[test]
    fn a_poll_that_is_over_stays_over() {
        let over = Budget::lasting(Duration::ZERO);
        let mut poll = Poll::new(&over);
        assert!((0..1000).all(|_| poll.is_over()));
        let endless = Budget::unlimited();
        let mut poll = Poll::new(&endless);
        assert!((0..1000).all(|_| !poll.is_over()));
    }
}
