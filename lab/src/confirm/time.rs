//! Time for executing, shared by all explanations.

use crate::cancel::DoneGuard;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use unsnarl_core::Budget;

/// Seconds that all executions together may take where nothing else is said.
pub const DEFAULT: &str = "30s";

/// The time for all explanations together.
pub struct TimeShare {
    deadline: Option<Instant>,
    left: u32,
}

impl TimeShare {
    /// `time` from now for so many explanations.
    pub fn new(time: Duration, explanations: usize) -> TimeShare {
        TimeShare {
            deadline: Instant::now().checked_add(time),
            left: u32::try_from(explanations).unwrap_or(u32::MAX),
        }
    }

    /// Leaves a share for one more explanation.
    pub fn one_more(&mut self) {
        self.left += 1;
    }

    /// The time of the next explanation: an equal share of what is left.
    pub fn take(&mut self) -> Duration {
        let left = self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let share = left / self.left.max(1);
        self.left = self.left.saturating_sub(1);
        share
    }
}

/// Does the work with a flag that is set when the time is over or the user stops it, and a budget that ends then.
pub fn within<T>(
    time: Duration,
    stop: &AtomicBool,
    work: impl FnOnce(&AtomicBool, &Budget) -> T,
) -> T {
    let halt = AtomicBool::new(false);
    let is_done = AtomicBool::new(false);
    let budget = Budget::lasting(time);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    budget.cancel();
                }
                if budget.stop().is_some() {
                    halt.store(true, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let _done = DoneGuard(&is_done);
        work(&halt, &budget)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_an_equal_share_of_what_is_left() {
        let mut share = TimeShare::new(Duration::from_secs(30), 3);
        let times: Vec<u64> = (0..3)
            .map(|_| share.take().as_secs_f64().round() as u64)
            .collect();
        // Nobody has used any.
        assert_eq!(times, [10, 15, 30]);
    }

    #[test]
    fn a_panic_ends_the_wait() {
        let never = AtomicBool::new(false);
        let work = || within(Duration::from_secs(600), &never, |_, _| panic!("as if"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    }

    #[test]
    fn the_flag_is_set_when_the_time_is_over() {
        let never = AtomicBool::new(false);
        let waited = within(Duration::from_millis(1), &never, |halt, budget| {
            while !halt.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            budget.stop().is_some()
        });
        assert!(waited);
    }
}
