//! The strategies by their names.

use std::{fmt, str::FromStr};

/// The strategy by which a campaign chooses schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Random walks and PCT in turn: they fail on different bugs.
    Portfolio,
    /// Seeded random walks that leave the running thread once in this many steps; with 1 all threads
    /// are equally likely at every step.
    Random(u32),
    /// Probabilistic concurrency testing with this depth.
    Pct(u32),
    /// All schedules with at most this many preemptions.
    Exhaustive(u32),
    /// A thread runs until it blocks: one schedule only.
    Sequential,
    /// Threads run freely: inexact.
    Free,
    /// Threads run freely and only their paths and synchronization are recorded.
    Path,
}

/// PCT's depth when none is given.
pub const USUAL_DEPTH: u32 = 3;

/// The bound of an exhaustive search when none is given.
pub const USUAL_BOUND: u32 = 2;

/// The error for an unknown name of a strategy.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is no strategy: expected portfolio, random, random:ONE_IN, pct, pct:DEPTH (1 to 32), exhaustive, exhaustive:BOUND, \
     sequential, free or path"
)]
pub struct StrategyError(pub String);

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number.parse::<u32>())),
            None => (text, None),
        };
        match (name, number) {
            ("portfolio", None) => Ok(Strategy::Portfolio),
            ("random", None) => Ok(Strategy::Random(1)),
            ("random", Some(Ok(one_in @ 1..))) => Ok(Strategy::Random(one_in)),
            ("pct", None) => Ok(Strategy::Pct(USUAL_DEPTH)),
            ("pct", Some(Ok(depth @ 1..=32))) => Ok(Strategy::Pct(depth)),
            ("exhaustive", None) => Ok(Strategy::Exhaustive(USUAL_BOUND)),
            ("exhaustive", Some(Ok(bound))) => Ok(Strategy::Exhaustive(bound)),
            ("sequential", None) => Ok(Strategy::Sequential),
            ("free", None) => Ok(Strategy::Free),
            ("path", None) => Ok(Strategy::Path),
            _ => Err(StrategyError(text.to_owned())),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Portfolio => f.write_str("portfolio"),
            Strategy::Random(1) => f.write_str("random"),
            Strategy::Random(one_in) => write!(f, "random:{one_in}"),
            Strategy::Exhaustive(bound) => write!(f, "exhaustive:{bound}"),
            Strategy::Pct(depth) => write!(f, "pct:{depth}"),
            Strategy::Sequential => f.write_str("sequential"),
            Strategy::Free => f.write_str("free"),
            Strategy::Path => f.write_str("path"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let names = [
            "portfolio",
            "random",
            "random:8",
            "pct:2",
            "exhaustive:0",
            "sequential",
            "free",
        ];
        for name in names {
            assert_eq!(name.parse::<Strategy>().unwrap().to_string(), name);
        }
        assert_eq!("pct".parse(), Ok(Strategy::Pct(3)));
        assert_eq!("exhaustive".parse(), Ok(Strategy::Exhaustive(2)));
        for bad in [
            "", "luck", "pct:", "pct:0", "pct:33", "pct3", "random:0", "free:1",
        ] {
            assert_eq!(bad.parse::<Strategy>(), Err(StrategyError(bad.to_owned())));
        }
    }
}
