//! Causes by experiment: with input and environment fixed, the outcome is a function of the schedule, so that what
//! decides a failure is found by changing the schedule and not by comparing runs.
//!
//! Here are the experiments as algorithms over somebody who executes; who that is, the caller says.

mod decisive;

use serde::{Deserialize, Serialize};

pub use decisive::{Continue, Continued, CurvePoint, Decided, DecisiveStep, Share, decisive};

/// What experiments say of a hypothesis: schedules in which what it blames happens, and others in which it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Schedules in which it happens: the share that fails is how far it suffices.
    pub with: Share,
    /// Schedules in which it does not: where none fails it is necessary.
    pub without: Share,
}

/// Another story of the same run that experiments were made on, and that was not told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PassedOver {
    /// What it would have said first.
    pub headline: String,
    /// What came of the experiments; none when its orders cannot be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

impl Evidence {
    /// No schedule without it fails, and some with it do.
    pub fn is_necessary(self) -> bool {
        self.with.fails > 0 && self.without.of > 0 && self.without.fails == 0
    }

    /// The program fails much more often with it than without it: by more than chance gives with samples of this size
    /// (three standard deviations of the difference of two shares).
    pub fn tells(self) -> bool {
        let share = |share: Share| (f64::from(share.fails) + 0.5) / (f64::from(share.of) + 1.0);
        let (with, without) = (share(self.with), share(self.without));
        let spread = |share: f64, of: u32| share * (1.0 - share) / f64::from(of.max(1));
        let deviation = (spread(with, self.with.of) + spread(without, self.without.of)).sqrt();
        with - without > 3.0 * deviation
    }
}
