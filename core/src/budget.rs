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

    /// The same for a part of the work, which may take this share of the time that is left: so many hundredths.
    pub fn percent(&self, hundredths: u32) -> Budget {
        match self.left() {
            Some(left) => self.at_most(left * hundredths.min(100) / 100),
            None => self.clone(),
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

/// Looks at a budget now and then, for loops with short steps. Once it is over it stays over.
pub struct Poll<'a> {
    budget: &'a Budget,
    steps: u32,
    is_over: bool,
}

impl<'a> Poll<'a> {
    /// Polls this budget.
    pub fn new(budget: &'a Budget) -> Poll<'a> {
        Poll {
            budget,
            steps: 0,
            is_over: false,
        }
    }

    /// One more step; true when no more should follow.
    pub fn is_over(&mut self) -> bool {
        const STEPS: u32 = 256;
        if self.steps.is_multiple_of(STEPS) {
            self.is_over |= self.budget.stop().is_some();
        }
        self.steps = self.steps.wrapping_add(1);
        self.is_over
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
