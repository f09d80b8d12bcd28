//! Which schedule the next run of a campaign tries.

use super::Executed;
use std::{collections::VecDeque, fmt, str::FromStr};
use unsnarl_trace::{
    Chances, Mode,
    raw::{Directive, RawMode, RawStrategy},
};

/// How a campaign chooses schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Random walks and PCT in turn: they fail on different bugs.
    Portfolio,
    /// Seeded random walks, every step a choice.
    Random,
    /// Probabilistic concurrency testing with this depth.
    Pct(u32),
    /// A thread runs until it blocks: one schedule only.
    Sequential,
    /// Threads run freely: inexact.
    Free,
}

/// PCT's depth when none is given.
pub const USUAL_DEPTH: u32 = 3;

/// A strategy's name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is no strategy: expected portfolio, random, pct, pct:DEPTH (1 to 32), sequential or free"
)]
pub struct StrategyError(pub String);

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let wrong = || StrategyError(text.to_owned());
        match text {
            "portfolio" => Ok(Strategy::Portfolio),
            "random" => Ok(Strategy::Random),
            "pct" => Ok(Strategy::Pct(USUAL_DEPTH)),
            "sequential" => Ok(Strategy::Sequential),
            "free" => Ok(Strategy::Free),
            _ => {
                let depth: u32 = text
                    .strip_prefix("pct:")
                    .and_then(|depth| depth.parse().ok())
                    .ok_or_else(wrong)?;
                (1..=32)
                    .contains(&depth)
                    .then_some(Strategy::Pct(depth))
                    .ok_or_else(wrong)
            }
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Portfolio => f.write_str("portfolio"),
            Strategy::Random => f.write_str("random"),
            Strategy::Pct(depth) => write!(f, "pct:{depth}"),
            Strategy::Sequential => f.write_str("sequential"),
            Strategy::Free => f.write_str("free"),
        }
    }
}

/// What one run tries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// As in the run file.
    pub name: &'static str,
    /// For the runtime.
    pub strategy: RawStrategy,
    /// Controlled or free.
    pub mode: RawMode,
    /// Seed.
    pub seed: u64,
    /// PCT's depth, 0 otherwise.
    pub depth: u32,
    /// PCT's k, 0 otherwise.
    pub expected_steps: u64,
    /// Random walk: how seldom the running thread is left.
    pub switch_one_in: u32,
    /// Choices to follow before the strategy goes on.
    pub prefix: Vec<u16>,
    /// Choices given by where their thread stands, sorted; the strategy makes the others.
    pub plan: Vec<Directive>,
    /// The choices other than threads that the run has.
    pub chances: Chances,
    /// Ask for what is known about each choice.
    pub details: bool,
    /// A proposed schedule to follow first ([`unsnarl_trace::raw::follow`]); empty when there is none.
    pub follow: Vec<u8>,
    /// Record the branches that are taken.
    pub branches: bool,
}

/// Each thread runs until it waits.
impl Default for Attempt {
    fn default() -> Self {
        Attempt {
            name: "sequential",
            strategy: RawStrategy::Sequential,
            mode: RawMode::Controlled,
            seed: 0,
            depth: 0,
            expected_steps: 0,
            switch_one_in: 1,
            prefix: Vec::new(),
            plan: Vec::new(),
            chances: Chances::default(),
            details: false,
            follow: Vec::new(),
            branches: false,
        }
    }
}

impl Attempt {
    /// The mode as the run file has it.
    pub fn run_mode(&self) -> Mode {
        if self.mode == RawMode::Free {
            Mode::Free
        } else {
            Mode::Controlled
        }
    }
}

/// The portfolio's turns: random walks that switch at every step, seldom and very seldom, and PCT
/// that looks for bugs of two and of three ordered steps.
const TURNS: [Turn; 8] = [
    Turn::Random(1),
    Turn::Pct(3),
    Turn::Random(8),
    Turn::Pct(2),
    Turn::Random(1),
    Turn::Pct(3),
    Turn::Random(40),
    Turn::Pct(2),
];

#[derive(Clone, Copy)]
enum Turn {
    Random(u32),
    Pct(u32),
}

/// Decides run by run what to try, and learns from the runs how long the program is.
pub struct Planner {
    strategy: Strategy,
    seed: u64,
    made: u64,
    steps: VecDeque<u64>,
}

/// Runs from which PCT's k is measured.
const MEASURED: usize = 16;
/// PCT's k before anything was measured.
const GUESSED_STEPS: u64 = 200;

impl Planner {
    /// Begins a campaign.
    pub fn new(strategy: Strategy, seed: u64) -> Planner {
        Planner {
            strategy,
            seed,
            made: 0,
            steps: VecDeque::new(),
        }
    }

    /// What the next run tries; `None` when there is no schedule left. Its seed is the campaign's plus
    /// its number.
    pub fn next_attempt(&mut self) -> Option<Attempt> {
        Some(self.attempt())
    }

    fn attempt(&mut self) -> Attempt {
        let seed = self.seed.wrapping_add(self.made);
        let turn = TURNS
            .get((self.made % TURNS.len() as u64) as usize)
            .copied();
        self.made += 1;
        match (self.strategy, turn) {
            (Strategy::Portfolio, Some(Turn::Pct(depth))) | (Strategy::Pct(depth), _) => {
                self.pct(seed, depth)
            }
            (Strategy::Portfolio, Some(Turn::Random(one_in))) => random(seed, one_in),
            (Strategy::Portfolio, None) | (Strategy::Random, _) => random(seed, 1),
            (Strategy::Sequential, _) => Attempt {
                name: "sequential",
                strategy: RawStrategy::Sequential,
                ..random(seed, 1)
            },
            (Strategy::Free, _) => Attempt {
                name: "free",
                strategy: RawStrategy::Sequential,
                mode: RawMode::Free,
                ..random(seed, 1)
            },
        }
    }

    fn pct(&self, seed: u64, depth: u32) -> Attempt {
        let expected_steps = self
            .steps
            .iter()
            .max()
            .copied()
            .unwrap_or(GUESSED_STEPS)
            .max(1);
        Attempt {
            name: "pct",
            strategy: RawStrategy::Pct,
            depth,
            expected_steps,
            ..random(seed, 1)
        }
    }

    /// Learns from a run: k is the most steps of the last runs.
    pub fn observe(&mut self, executed: &Executed) {
        self.measured(executed.run.meta.steps);
    }

    fn measured(&mut self, steps: u64) {
        self.steps.push_back(steps);
        if self.steps.len() > MEASURED {
            self.steps.pop_front();
        }
    }
}

fn random(seed: u64, switch_one_in: u32) -> Attempt {
    Attempt {
        name: "random",
        strategy: RawStrategy::Random,
        seed,
        switch_one_in,
        ..Attempt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["portfolio", "random", "pct:2", "sequential", "free"] {
            assert_eq!(name.parse::<Strategy>().unwrap().to_string(), name);
        }
        assert_eq!("pct".parse(), Ok(Strategy::Pct(3)));
        for bad in ["", "luck", "pct:", "pct:0", "pct:33", "pct3"] {
            assert_eq!(bad.parse::<Strategy>(), Err(StrategyError(bad.to_owned())));
        }
    }

    #[test]
    fn the_portfolio_tries_everything_with_seeds_of_its_own() {
        let mut planner = Planner::new(Strategy::Portfolio, 100);
        let attempts: Vec<Attempt> = (0..16).map(|_| planner.next_attempt().unwrap()).collect();
        assert_eq!(
            attempts
                .iter()
                .filter(|attempt| attempt.name == "pct")
                .count(),
            8
        );
        for (attempt, seed) in attempts.iter().zip(100..) {
            assert_eq!(attempt.seed, seed);
        }
        for depth in [2, 3] {
            assert!(attempts.iter().any(|attempt| attempt.depth == depth));
        }
    }

    #[test]
    fn k_is_measured_again() {
        let mut planner = Planner::new(Strategy::Pct(2), 0);
        let k = |planner: &mut Planner| planner.next_attempt().unwrap().expected_steps;
        assert_eq!(k(&mut planner), GUESSED_STEPS);
        planner.measured(5000);
        assert_eq!(k(&mut planner), 5000);
        (0..MEASURED).for_each(|_| planner.measured(70));
        assert_eq!(k(&mut planner), 70);
    }
}
