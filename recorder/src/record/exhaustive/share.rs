//! Estimate of the part of the schedules within the bound that has been explored.
//!
//! The total number is not known before the end, and each run may ask for more. Two estimates nearly always enclose
//! the truth: one takes the waiting options to be as large as those that were explored with as many preemptions left,
//! which are small, since the search goes deep first; the other divides every choice equally among its options
//! (Knuth, *Estimating the efficiency of backtrack programs*, 1975), although those that cost a preemption lead to
//! less.

use super::{path::bit, path::options, search::BoundedSearch};

/// An explored part, as an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExploredShare {
    /// Probable lower bound.
    pub low: f64,
    /// Probable upper bound.
    pub high: f64,
}

impl ExploredShare {
    /// The share of a part that is divided into units, by their number and that of those that have not begun; nothing as
    /// long as they are not known.
    pub(super) fn of_units(units: Option<(u64, u64)>) -> ExploredShare {
        let (all, waiting) = units.unwrap_or((1, 1));
        let part = |begun: u64| begun as f64 / all.max(1) as f64;
        ExploredShare {
            low: part(all.saturating_sub(waiting + 1)),
            high: part(all - waiting.min(all)),
        }
    }
}

impl BoundedSearch {
    /// Estimates the part of the schedules within the bound that has been explored.
    pub fn share(&self) -> ExploredShare {
        if self.is_done {
            return ExploredShare {
                low: 1.0,
                high: 1.0,
            };
        }
        let (one, other) = (self.shared_out(), self.by_size());
        ExploredShare {
            low: one.min(other),
            high: one.max(other),
        }
    }

    /// The estimate by equal shares of each choice's options.
    fn shared_out(&self) -> f64 {
        let mut explored = 0.0;
        let mut part = 1.0;
        for node in &self.nodes {
            let all = node.affordable(self.bound) | node.begun;
            part /= f64::from(all.count_ones().max(1));
            let done = node.begun & !bit(node.choice.chosen);
            explored += part * f64::from(done.count_ones());
        }
        explored
    }

    /// The estimate by size: waiting options take as many schedules as the explored ones with as many preemptions
    /// left.
    fn by_size(&self) -> f64 {
        let waiting = self.nodes.iter().flat_map(|node| {
            let options = options(node.affordable(self.bound) & !node.begun);
            options.map(|option| self.bound - node.cost_of(option))
        });
        // The one that is explored next has begun.
        let ahead = 1.0 + waiting.map(|left| self.size_of(left)).sum::<f64>();
        let explored = self.explored as f64;
        explored / (explored + ahead)
    }

    /// The usual number of schedules of an option with this many preemptions left.
    fn size_of(&self, left: u32) -> f64 {
        let known = self.sizes.iter().take(left as usize + 1).rev();
        known
            .filter(|(options, _)| *options > 0)
            .map(|(options, schedules)| *schedules as f64 / *options as f64)
            .next()
            .unwrap_or(1.0)
    }
}
