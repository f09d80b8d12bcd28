//! Number of steps in the last runs of a program: PCT's k.

use std::collections::VecDeque;

/// The most steps of the last `RUNS` runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Length<const RUNS: usize> {
    last: VecDeque<u64>,
}

impl<const RUNS: usize> Length<RUNS> {
    /// The length to expect; `None` before the first run.
    pub fn get(&self) -> Option<u64> {
        self.last.iter().max().copied()
    }

    /// Learns from a run.
    pub fn measure(&mut self, steps: u64) {
        self.last.push_back(steps);
        if self.last.len() > RUNS {
            self.last.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_the_last_runs_counts() {
        let mut length = Length::<3>::default();
        assert_eq!(length.get(), None);
        let seen = [5000, 70, 80, 60, 60].map(|steps| {
            length.measure(steps);
            length.get()
        });
        assert_eq!(seen, [5000, 5000, 5000, 80, 80].map(Some));
    }
}
