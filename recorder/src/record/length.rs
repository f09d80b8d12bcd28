//! How many steps the runs of a program have: PCT's k.

use std::collections::VecDeque;

/// Runs after which a length that all of them stay far below is forgotten.
const MEASURED: usize = 16;

/// The most steps of a campaign's runs. It changes seldom, so that what later runs try can be foreseen: one run more or
/// less among the last ones does not matter to PCT.
#[derive(Clone, Debug, Default)]
pub(super) struct Length {
    most: Option<u64>,
    /// The last runs.
    last: VecDeque<u64>,
}

impl Length {
    /// The length to expect; `None` before the first run.
    pub fn get(&self) -> Option<u64> {
        self.most
    }

    /// Learns from a run.
    pub fn measure(&mut self, steps: u64) {
        self.last.push_back(steps);
        if self.last.len() > MEASURED {
            self.last.pop_front();
        }
        let lately = self.last.iter().max().copied().unwrap_or(steps);
        let is_outdated = |most: u64| lately > most || lately <= most / 2;
        if self.most.is_none_or(is_outdated) {
            self.most = Some(lately);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_counts_until_all_are_far_shorter() {
        let mut length = Length::default();
        assert_eq!(length.get(), None);
        let mut after = |steps| {
            length.measure(steps);
            length.get().unwrap()
        };
        assert_eq!((after(100), after(90), after(120)), (100, 100, 120));
        assert!((0..MEASURED).all(|_| after(61) == 120));
        let seen: Vec<u64> = (0..MEASURED).map(|_| after(60)).collect();
        assert_eq!(
            (seen[0], seen[MEASURED - 2], seen[MEASURED - 1]),
            (120, 120, 60)
        );
    }
}
