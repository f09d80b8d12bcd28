//! Which schedule the next run of a campaign tries.

use super::{
    Executed, RecordError, Recording,
    exhaustive::{Exhaustive, Progress, StateFile},
};
use crate::assemble::Program;
use std::{collections::VecDeque, fmt, str::FromStr};
use unsnarl_trace::{
    Chances, Mode, RunMeta,
    input::RunInput,
    raw::{Directive, RawMode, RawStrategy},
};

/// How a campaign chooses schedules.
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

/// A strategy's name that is none.
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
    /// Places where threads are not chosen ([`unsnarl_trace::raw::quiet_slot`]).
    pub quiet: Vec<u32>,
    /// The choices other than threads that the run has.
    pub chances: Chances,
    /// Ask for what is known about each choice.
    pub details: bool,
    /// A proposed schedule to follow first ([`unsnarl_trace::raw::follow`]); empty when there is none.
    pub follow: Vec<u8>,
    /// Record the branches that are taken.
    pub branches: bool,
    /// Input of a recorded run, to give back; `None` to take it as it comes.
    pub input: Option<RunInput>,
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
            quiet: Vec::new(),
            chances: Chances::default(),
            details: false,
            follow: Vec::new(),
            branches: false,
            input: None,
        }
    }
}

impl Attempt {
    /// The same with the input that a recorded run had.
    pub fn with_input_of(self, recorded: &RunMeta) -> Attempt {
        let mut input = recorded.input.clone();
        input.seed = input.seed.or(Some(recorded.seed));
        Attempt {
            input: Some(input),
            ..self
        }
    }

    /// What the program's random numbers are drawn from.
    pub fn input_seed(&self) -> u64 {
        let given = self.input.as_ref().and_then(|input| input.seed);
        given.unwrap_or(self.seed)
    }

    /// The mode as the run file has it.
    pub fn run_mode(&self) -> Mode {
        match self.mode {
            RawMode::Free => Mode::Free,
            RawMode::Path => Mode::Path,
            RawMode::Controlled | RawMode::Off => Mode::Controlled,
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
    chances: Chances,
    made: u64,
    steps: VecDeque<u64>,
    search: Option<Exhaustive>,
}

/// Runs from which PCT's k is measured.
const MEASURED: usize = 16;
/// PCT's k before anything was measured.
const GUESSED_STEPS: u64 = 200;

impl Planner {
    /// Begins a campaign; an exhaustive search that was interrupted goes on.
    pub fn begin(recording: &Recording, program: &Program) -> Result<Planner, RecordError> {
        let Recording { job, chances, .. } = recording;
        let mut planner = Planner::new(recording.strategy, recording.seed, *chances);
        if let Strategy::Exhaustive(bound) = recording.strategy {
            let file = StateFile::of(&recording.out, job, program.build_id(), *chances)?;
            planner.search = Some(Exhaustive::begin(bound, Some(file))?);
        }
        Ok(planner)
    }

    fn new(strategy: Strategy, seed: u64, chances: Chances) -> Planner {
        Planner {
            strategy,
            seed,
            chances,
            made: 0,
            steps: VecDeque::new(),
            search: None,
        }
    }

    /// What the next run tries; `None` when there is no schedule left. Its seed is the campaign's plus
    /// its number.
    pub fn next_attempt(&mut self) -> Option<Attempt> {
        let attempt = match &self.search {
            Some(search) => exhaustive(search.next_prefix()?),
            None => self.attempt(),
        };
        Some(Attempt {
            chances: self.chances,
            ..attempt
        })
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
            (Strategy::Portfolio, None) => random(seed, 1),
            (Strategy::Random(one_in), _) => random(seed, one_in),
            (Strategy::Sequential | Strategy::Exhaustive(_), _) => Attempt {
                seed,
                ..Attempt::default()
            },
            (Strategy::Free, _) => Attempt {
                name: "free",
                strategy: RawStrategy::Sequential,
                mode: RawMode::Free,
                ..random(seed, 1)
            },
            (Strategy::Path, _) => Attempt {
                name: "path",
                strategy: RawStrategy::Sequential,
                mode: RawMode::Path,
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

    /// Learns from a run: k is the most steps of the last runs. Whether the run counts: a search makes
    /// some again for the sake of what follows.
    pub fn observe(&mut self, executed: &Executed) -> Result<bool, RecordError> {
        self.measured(executed.run.meta.steps);
        match &mut self.search {
            Some(search) => search.observe(executed),
            None => Ok(true),
        }
    }

    /// The run that was tried left nothing to learn from.
    pub fn lost(&mut self) {
        if let Some(search) = &mut self.search {
            search.lost();
        }
    }

    /// Ends the campaign: leaves what the next one goes on with. How far an exhaustive search has come.
    pub fn leave(&self) -> Result<Option<Progress>, RecordError> {
        match &self.search {
            Some(search) => search.leave().map(|()| Some(search.progress())),
            None => Ok(None),
        }
    }

    fn measured(&mut self, steps: u64) {
        self.steps.push_back(steps);
        if self.steps.len() > MEASURED {
            self.steps.pop_front();
        }
    }
}

/// The seed is always the same: what is drawn must not differ between two runs of a search.
fn exhaustive(prefix: Vec<u16>) -> Attempt {
    Attempt {
        name: "exhaustive",
        prefix,
        details: true,
        ..Attempt::default()
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

    #[test]
    fn the_portfolio_tries_everything_with_seeds_of_its_own() {
        let mut planner = Planner::new(Strategy::Portfolio, 100, Chances::default());
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
        let mut planner = Planner::new(Strategy::Pct(2), 0, Chances::default());
        let k = |planner: &mut Planner| planner.next_attempt().unwrap().expected_steps;
        assert_eq!(k(&mut planner), GUESSED_STEPS);
        planner.measured(5000);
        assert_eq!(k(&mut planner), 5000);
        (0..MEASURED).for_each(|_| planner.measured(70));
        assert_eq!(k(&mut planner), 70);
    }
}
