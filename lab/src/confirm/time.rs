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

/// The time for all explanations together, given out in parts: the more weight, the more of what is left.
pub struct TimeShare {
    deadline: Option<Instant>,
    /// Weight of the parts that are not taken yet.
    left: u32,
}

impl TimeShare {
    /// `time` from now for parts of so much weight in all.
    pub fn new(time: Duration, weight: usize) -> TimeShare {
        TimeShare {
            deadline: Instant::now().checked_add(time),
            left: in_all(weight),
        }
    }

    /// Leaves time for one more part.
    pub fn add(&mut self, weight: usize) {
        self.left = self.left.saturating_add(in_all(weight));
    }

    /// The time of the next part. What the parts before it have not used is in what is left.
    pub fn take(&mut self, weight: usize) -> Duration {
        let left = self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let weight = in_all(weight);
        let part = f64::from(weight) / f64::from(self.left.max(weight).max(1));
        self.left = self.left.saturating_sub(weight);
        // All of an endless time is as much.
        Duration::try_from_secs_f64(left.as_secs_f64() * part).unwrap_or(left)
    }
}

fn in_all(weight: usize) -> u32 {
    u32::try_from(weight).unwrap_or(u32::MAX)
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
    fn each_gets_by_its_weight_of_what_is_left() {
        let mut share = TimeShare::new(Duration::from_secs(30), 6);
        let mut seconds = |weight| share.take(weight).as_secs_f64().round() as u64;
        // Nobody has used any.
        assert_eq!([seconds(3), seconds(1), seconds(2)], [15, 10, 30]);
    }

    #[test]
    fn a_part_of_an_endless_time_is_long() {
        let mut share = TimeShare::new(Duration::MAX, 2);
        assert!(share.take(1) > Duration::from_secs(1 << 40));
        assert_eq!(share.take(1), Duration::MAX);
    }

    #[test]
    fn a_part_that_comes_late_leaves_less_for_the_next() {
        let mut share = TimeShare::new(Duration::from_secs(30), 1);
        share.add(2);
        assert_eq!(share.take(1).as_secs_f64().round() as u64, 10);
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
