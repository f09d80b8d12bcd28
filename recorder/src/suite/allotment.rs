//! The share of a time budget that each case gets: by the rate at which its runs still show new orders.
//!
//! If a case has made n runs and f of its orders were seen in one run only, the probability that its next run shows an
//! order that no run has shown is about f/n (Good and Turing's estimate of the unseen). That is the weight of the case, as
//! (f + 1)/(n + 1), so that none is ever without one. Cases get steps of their programs in proportion to their weights:
//! the next slice goes to the case that has got the least so far for its weight (stride scheduling). All of this depends on
//! counts only, not on the clock; the time decides only how many slices there are.

use crate::record::CampaignTally;
use std::cmp::Ordering;

/// Steps that a run costs beside its own: its process, and the look at its log.
const COST_OF_RUN: u64 = 2_000;

/// The share that a case has got so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Allotment {
    runs: u64,
    seen_once: u64,
    steps: u64,
}

impl Allotment {
    /// The state of a case after runs that had so many events together.
    pub fn of(tally: &CampaignTally, events: u64) -> Allotment {
        Allotment {
            runs: tally.runs,
            seen_once: tally.seen_once,
            steps: events.saturating_add(tally.runs.saturating_mul(COST_OF_RUN)),
        }
    }

    /// Compares what two cases have got for their weights; the lesser one is next.
    pub fn compare(&self, other: &Allotment) -> Ordering {
        // steps / ((seen_once + 1) / (runs + 1)), without division.
        let got = |of: &Allotment, weight: &Allotment| {
            u128::from(of.steps) * u128::from(of.runs + 1) * u128::from(weight.seen_once + 1)
        };
        got(self, other).cmp(&got(other, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives 400 slices of ten runs to cases, each of which shows new orders until it has shown so many.
    fn slices(orders: [u64; 3], events: [u64; 3]) -> [u64; 3] {
        let mut got = [0; 3];
        let mut states = [Allotment::default(); 3];
        for _ in 0..400 {
            let next = (0..3).min_by(|a, b| states[*a].compare(&states[*b]));
            let at = next.unwrap();
            got[at] += 1;
            let runs = states[at].runs + 10;
            // Once all orders were seen, each has been seen again and again.
            let seen_once = if runs <= orders[at] { runs } else { 0 };
            let tally = CampaignTally {
                runs,
                seen_once,
                ..CampaignTally::default()
            };
            states[at] = Allotment::of(&tally, runs * events[at]);
        }
        got
    }

    #[test]
    fn time_goes_where_new_orders_come() {
        let [new, old, none] = slices([u64::MAX, 100, 1], [500; 3]);
        assert!(new > 300 && old > none && none > 1, "{new} {old} {none}");
        assert_eq!(slices([5, 5, 5], [500; 3]).iter().max(), Some(&134));
    }

    #[test]
    fn costly_runs_are_fewer_but_none_starves() {
        let [cheap, costly, _] = slices([u64::MAX; 3], [0, 18_000, 0]);
        let ratio = cheap as f64 / costly as f64;
        assert!((8.0..12.0).contains(&ratio), "{cheap} {costly}");
    }
}
