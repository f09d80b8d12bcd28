//! PCT's priorities (Burckhardt, Kothari, Musuvathi and Nagarakatte, *A randomized scheduler with probabilistic
//! guarantees of finding bugs*, ASPLOS 2010), and the effect of a yield on them.
//!
//! A thread that a change point has lowered stays below all others, those that yield included: a yield
//! is a hint, and following it would give the lowered thread back what the change point took from it.
//! A thread may also yield because it waits for the lowered one, which then has to run some time. A yield
//! does not say which of both it is, so the number of yields after which the lowered thread is raised
//! again is drawn for each run.

use core::cell::Cell;

/// Bound below which only threads lie that a change point has lowered.
const LOWERED: i64 = 64;
/// Lowest drawn priority; priorities of threads that have yielded lie below.
const DRAWN: i64 = 1 << 40;
/// Binary logarithm of the largest number of yields that a lowered thread is kept waiting for.
const MOST_PATIENCE: u64 = 8;

/// The reason for which a thread lets the others go first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yields {
    /// The thread does not let them.
    No,
    /// The thread yields or sleeps.
    Asks,
    /// The thread was seen to wait: for a long time it has only looked.
    Waits,
}

impl Yields {
    /// Returns whether the others go first.
    pub fn any(self) -> bool {
        self != Yields::No
    }
}

/// A new thread's priority, from a random number.
pub fn drawn(random: u64) -> i64 {
    DRAWN + (random >> 34) as i64
}

/// The priority for the change point with this index.
pub fn lowered(index: usize) -> i64 {
    (index as i64 + 1).min(LOWERED)
}

/// Priorities of the threads that yield.
pub struct Yielders {
    /// Priority of the last thread that yielded, or was raised.
    last: Cell<i64>,
    /// Number of yields since a lowered thread was raised.
    count: Cell<u64>,
    /// Number of yields that a lowered thread is kept waiting for.
    patience: Cell<u64>,
}

impl Yielders {
    /// The state before the first yield.
    pub const fn new() -> Yielders {
        Yielders {
            last: Cell::new(DRAWN),
            count: Cell::new(0),
            patience: Cell::new(0),
        }
    }

    /// Draws the patience of a run from its seed.
    pub fn draw(&self, seed: u64) {
        let drawn = (seed ^ seed >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.patience.set((1 << (drawn % (MOST_PATIENCE + 1))) - 1);
    }

    /// Handles a yield of a thread with the priority `own`: returns the thread to raise (one of `others`, which can
    /// go on, each with its priority), and the yielding thread's new priority.
    pub fn yielded(
        &self,
        how: Yields,
        own: i64,
        others: impl Iterator<Item = (u16, i64)>,
    ) -> (Option<(u16, i64)>, i64) {
        let lowered = others
            .filter(|&(_, priority)| priority <= LOWERED)
            .max_by_key(|&(_, priority)| priority);
        let raised = lowered.filter(|_| self.is_over(how));
        let raised = raised.map(|(number, _)| (number, self.next()));
        let own = if own > LOWERED { self.next() } else { own };
        (raised, own)
    }

    /// Returns whether this yield is one too many for the lowered thread to wait.
    fn is_over(&self, how: Yields) -> bool {
        let count = self.count.get() + 1;
        let is_over = how == Yields::Waits || count > self.patience.get();
        self.count.set(if is_over { 0 } else { count });
        is_over
    }

    fn next(&self) -> i64 {
        let next = (self.last.get() - 1).max(LOWERED + 1);
        self.last.set(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_patience(patience: u64) -> Yielders {
        let yielders = Yielders::new();
        yielders.patience.set(patience);
        yielders
    }

    #[test]
    fn a_yielding_thread_stays_above_the_lowered_one_until_patience_is_over() {
        let yielders = with_patience(4);
        let mut own = drawn(1 << 63);
        for _ in 0..4 {
            let (raised, next) = yielders.yielded(Yields::Asks, own, [(1, lowered(0))].into_iter());
            assert_eq!(raised, None);
            assert!(next < own && next > lowered(31));
            own = next;
        }
        let (raised, own) = yielders.yielded(Yields::Asks, own, [(1, lowered(0))].into_iter());
        assert!(raised.is_some_and(|(number, priority)| number == 1 && priority > own));
    }

    #[test]
    fn a_yielding_thread_goes_below_those_that_no_change_point_lowered() {
        let yielders = with_patience(4);
        let (low, high) = (drawn(0), drawn(u64::MAX));
        let (raised, own) = yielders.yielded(Yields::Asks, high, [(1, low)].into_iter());
        assert_eq!(raised, None);
        assert!(own < low);
        // It yields again, and again goes below whoever yielded meanwhile.
        let (_, other) = yielders.yielded(Yields::Asks, low, [(0, own)].into_iter());
        assert!(other < own);
    }

    #[test]
    fn a_thread_that_waits_raises_the_lowered_one_at_once() {
        let yielders = with_patience(200);
        let others = [(1, lowered(0)), (2, lowered(1)), (3, drawn(9))];
        let (raised, own) = yielders.yielded(Yields::Waits, drawn(5), others.into_iter());
        assert!(raised.is_some_and(|(number, priority)| number == 2 && priority > own));
    }

    #[test]
    fn a_lowered_thread_that_yields_raises_the_ones_below_it_only() {
        let yielders = with_patience(0);
        let (raised, own) =
            yielders.yielded(Yields::Asks, lowered(3), [(1, lowered(0))].into_iter());
        assert_eq!(own, lowered(3));
        assert!(raised.is_some_and(|(number, priority)| number == 1 && priority > own));
        let (raised, _) = yielders.yielded(Yields::Asks, lowered(3), core::iter::empty());
        assert_eq!(raised, None);
    }

    #[test]
    fn patience_differs_between_runs_and_is_bounded() {
        let yielders = Yielders::new();
        let mut seen = [0u32; MOST_PATIENCE as usize + 1];
        for seed in 0..900 {
            yielders.draw(seed);
            let patience = yielders.patience.get();
            let index = (patience + 1).trailing_zeros() as usize;
            if let Some(count) = seen.get_mut(index) {
                *count += 1;
            }
            assert!((patience + 1).is_power_of_two() && patience < 1 << 8);
        }
        assert!(seen.iter().all(|&count| count > 40), "{seen:?}");
    }
}
