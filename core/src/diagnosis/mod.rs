//! Causes by experiment: with input and environment fixed, the outcome is a function of the schedule, so that
//! the cause of a failure is found by changing the schedule, not by comparing runs.
//!
//! This module holds the experiments as algorithms over an executor, which the caller provides.

mod decisive;
mod ochiai;

use serde::{Deserialize, Serialize};

pub use decisive::{
    Continuation, Continue, CurvePoint, Decided, DecisiveStep, FailingShare, decisive,
};
pub use ochiai::{DifferentOrders, Ochiai};

/// Experimental evidence on a hypothesis: schedules with the blamed behaviour, and schedules without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Schedules with it: the share that fails is the degree to which it suffices.
    pub with: FailingShare,
    /// Schedules without it: if none fails, it is necessary.
    pub without: FailingShare,
}

/// Schedules that have the steps of a slice in their order, with everything else drawn anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Perturbation {
    /// Executed schedules that have the slice's order.
    pub of: u32,
    /// Those of them that fail as the explained run.
    pub fails: u32,
}

impl Perturbation {
    /// Returns whether all of them failed, and there were some.
    #[must_use]
    pub fn is_borne_out(self) -> bool {
        self.of > 0 && self.fails == self.of
    }
}

/// Another story of the same run that experiments were made on, and that was not told.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PassedOver {
    /// The explanation's id; it is not stored.
    #[serde(skip)]
    pub id: String,
    /// Its headline.
    pub headline: String,
    /// The engines that propose it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    /// Result of the experiments; none when its orders are infeasible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Failures among schedules with the chosen explanation but without this one, where there are none: the failure
    /// takes both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<FailingShare>,
    /// Failures among schedules with both, where the failure takes both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub both: Option<FailingShare>,
    /// `true` if it follows from the chosen explanation, without which it does not occur.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// Numbers of different orders that have it, where nothing was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ochiai: Option<Ochiai>,
    /// A run that speaks against it, if one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
}

/// A run that speaks against a cause that was proposed. It was executed for an experiment, and is no recorded run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counterexample {
    /// Its file, as `unsnarl replay` takes it.
    pub run: String,
    /// Reason that it speaks against the cause.
    pub shows: Shows,
}

/// Evidence that a counterexample gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// It fails in the same way without what is blamed: that is not necessary.
    FailsWithout,
    /// It has what is blamed and does not fail so: that is not enough.
    PassesWith,
}

/// State of the experiments at the end of their time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ExperimentProgress {
    /// The proposals that schedules were drawn for, in this order.
    pub tried: Vec<TriedProposal>,
    /// First sentences of those that none were drawn for.
    pub not_tried: Vec<String>,
    /// Engines that were not asked what they propose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<String>,
}

/// A proposal that schedules were drawn for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedProposal {
    /// Its first sentence.
    pub headline: String,
    /// Schedules that were executed for it, those that did not have its orders among them.
    pub schedules: u32,
    /// The time was over before its experiment was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unfinished: bool,
}

impl Evidence {
    /// Size of the effect: the share that fails with it, minus the share that fails without it.
    pub fn effect(self) -> f64 {
        self.with.value() - self.without.value()
    }

    /// Returns whether hardly any schedule with it passes, so that nothing else matters.
    pub fn suffices(self) -> bool {
        const ENOUGH: f64 = 0.9;
        self.with.value() >= ENOUGH
    }

    /// Returns whether most schedules with it fail. Where fewer do, something else that is not told has to come to it.
    pub fn mostly_suffices(self) -> bool {
        const MOST: f64 = 2.0 / 3.0;
        self.with.value() >= MOST
    }

    /// Returns whether the program hardly ever fails without it: in at most one in ten schedules, which
    /// another bug may have.
    pub fn is_necessary(self) -> bool {
        self.without.of > 0 && self.without.fails * 10 <= self.without.of
    }

    /// Returns whether the program fails no more often with it than without it, and often enough for chance to be ruled out:
    /// in most of a few schedules, or in more than one in ten of many.
    pub fn makes_no_difference(self) -> bool {
        const MOSTLY: f64 = 0.5;
        const MANY: u32 = 20;
        let are_many = self.with.of.min(self.without.of) >= MANY;
        let fails = self.without.value() >= MOSTLY || are_many && !self.is_necessary();
        self.effect() <= 0.0 && fails
    }

    /// Returns whether the program fails significantly more often with it, and hardly ever without it.
    pub fn is_cause(self) -> bool {
        self.tells() && self.is_necessary()
    }

    /// Returns whether it is a cause, every schedule with it fails, and none without it.
    pub fn is_exact(self) -> bool {
        self.is_cause() && self.with.fails == self.with.of && self.without.fails == 0
    }

    /// The program fails much more often with it than without it: by more than chance gives with samples of this size
    /// (three standard deviations of the difference of two shares).
    pub fn tells(self) -> bool {
        let share =
            |share: FailingShare| (f64::from(share.fails) + 0.5) / (f64::from(share.of) + 1.0);
        let (with, without) = (share(self.with), share(self.without));
        let spread = |share: f64, of: u32| share * (1.0 - share) / f64::from(of.max(1));
        let deviation = (spread(with, self.with.of) + spread(without, self.without.of)).sqrt();
        with - without > 3.0 * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(fails: u32, of: u32) -> FailingShare {
        FailingShare {
            fails,
            of,
            orders: of,
        }
    }

    fn tells(with: u32, without: u32) -> bool {
        let evidence = Evidence {
            with: share(with, 30),
            without: share(without, 30),
        };
        evidence.tells()
    }

    #[test]
    fn what_fails_as_often_without_it_makes_no_difference() {
        let evidence = |with: (u32, u32), without: (u32, u32)| Evidence {
            with: share(with.0, with.1),
            without: share(without.0, without.1),
        };
        assert!(evidence((7, 30), (7, 30)).makes_no_difference());
        assert!(!evidence((8, 30), (7, 30)).makes_no_difference());
        // It may be one of two rare causes.
        assert!(!evidence((2, 30), (3, 30)).makes_no_difference());
        // Few schedules tell little.
        assert!(!evidence((2, 8), (3, 8)).makes_no_difference());
        assert!(evidence((3, 8), (4, 8)).makes_no_difference());
    }

    #[test]
    fn what_is_not_enough_for_most_failures_is_seen() {
        let with = |fails| Evidence {
            with: share(fails, 30),
            without: share(0, 30),
        };
        assert!(with(20).mostly_suffices() && with(30).mostly_suffices());
        assert!(!with(19).mostly_suffices() && with(19).is_cause());
    }

    #[test]
    fn schedules_tell_exactly_where_none_is_an_exception() {
        let is_exact = |with, without| Evidence { with, without }.is_exact();
        assert!(is_exact(share(30, 30), share(0, 30)));
        assert!(!is_exact(share(29, 30), share(0, 30)));
        assert!(!is_exact(share(30, 30), share(1, 30)));
        assert!(!is_exact(share(1, 1), share(0, 3)), "too few");
    }

    #[test]
    fn a_difference_that_chance_makes_tells_nothing() {
        assert!(tells(30, 0) && tells(30, 15) && tells(12, 0));
        assert!(!tells(0, 0) && !tells(30, 30) && !tells(15, 12) && !tells(0, 30));
        // Few samples show little.
        let evidence = Evidence {
            with: share(1, 1),
            without: share(0, 1),
        };
        assert!(!evidence.tells());
    }

    /// Two shares drawn with the same probability differ by that much in less than one of two hundred cases.
    #[test]
    fn equal_chances_seldom_tell() {
        let binomial: Vec<f64> = (0..=30u32).map(|k| chance_of(k, 30, 0.5)).collect();
        let wrong: f64 = (0..=30u32)
            .flat_map(|with| (0..=30u32).map(move |without| (with, without)))
            .filter(|(with, without)| tells(*with, *without))
            .map(|(with, without)| binomial[with as usize] * binomial[without as usize])
            .sum();
        assert!(wrong < 0.005, "{wrong}");
    }

    fn chance_of(k: u32, n: u32, p: f64) -> f64 {
        let choose: f64 = (0..k)
            .map(|i| f64::from(n - i) / f64::from(i + 1))
            .product();
        choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
    }
}
