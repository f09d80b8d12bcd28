//! The planner of a campaign: chooses the schedule that the next run tries.

use super::{
    Attempt, RecordError, Recording,
    exhaustive::{Exhaustive, Progress, StateFile},
    length::Length,
    seen::Seen,
    strategy::Strategy,
};
use crate::assemble::Program;
use unsnarl_trace::{
    Chances,
    raw::{RawMode, RawStrategy},
};

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

/// The turns of runs that are to pass: few switches, and PCT with threads that run in random order until they wait.
const QUIET_TURNS: [Turn; 4] = [
    Turn::Sequential,
    Turn::Pct(1),
    Turn::Pct(1),
    Turn::Random(40),
];

#[derive(Clone, Copy)]
enum Turn {
    Sequential,
    Random(u32),
    Pct(u32),
}

/// Decides run by run what to try, and learns the length of the program from the runs.
pub struct Planner {
    strategy: Strategy,
    seed: u64,
    chances: Chances,
    made: u64,
    length: Length<MEASURED>,
    search: Option<Exhaustive>,
}

/// Number of runs from which PCT's k is measured.
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
            length: Length::default(),
            search: None,
        }
    }

    /// The attempt of the next run; `None` when there is no schedule left. Its seed is the campaign's plus
    /// its number. Where too few have passed, it is to pass: a schedule in which threads hardly disturb each other.
    pub fn next_attempt(&mut self, is_to_pass: bool) -> Option<Attempt> {
        if let Some(search) = &self.search {
            return Some(Attempt {
                chances: self.chances,
                ..exhaustive(search.next_prefix()?)
            });
        }
        let attempt = self.attempt(self.made, is_to_pass);
        self.made += 1;
        Some(attempt)
    }

    /// Returns whether the attempts of later runs can be known in advance.
    pub fn can_foresee(&self) -> bool {
        self.search.is_none()
    }

    /// The attempt of the run that comes `ahead` runs after the next one, unless the runs before it show something new.
    /// `None` where it cannot be known.
    pub fn foreseen(&self, ahead: u64, is_to_pass: bool) -> Option<Attempt> {
        let attempt = || self.attempt(self.made + ahead, is_to_pass);
        self.can_foresee().then(attempt)
    }

    /// Strategies that do not draw keep to themselves.
    fn attempt(&self, number: u64, is_to_pass: bool) -> Attempt {
        use Strategy::{Pct, Portfolio, Random};
        let draws = matches!(self.strategy, Portfolio | Pct(_) | Random(_));
        Attempt {
            chances: self.chances,
            ..match is_to_pass && draws {
                true => self.quiet_attempt(number),
                false => self.usual_attempt(number),
            }
        }
    }

    fn quiet_attempt(&self, number: u64) -> Attempt {
        let seed = self.seed.wrapping_add(number);
        match QUIET_TURNS.get((number % QUIET_TURNS.len() as u64) as usize) {
            Some(Turn::Pct(depth)) => self.pct(seed, *depth),
            Some(Turn::Random(one_in)) => random(seed, *one_in),
            Some(Turn::Sequential) | None => Attempt {
                seed,
                ..Attempt::default()
            },
        }
    }

    fn usual_attempt(&self, number: u64) -> Attempt {
        let seed = self.seed.wrapping_add(number);
        let turn = TURNS.get((number % TURNS.len() as u64) as usize).copied();
        match (self.strategy, turn) {
            (Strategy::Portfolio, Some(Turn::Pct(depth))) | (Strategy::Pct(depth), _) => {
                self.pct(seed, depth)
            }
            (Strategy::Portfolio, Some(Turn::Random(one_in))) => random(seed, one_in),
            (Strategy::Portfolio, Some(Turn::Sequential) | None) => random(seed, 1),
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
        Attempt {
            name: "pct",
            strategy: RawStrategy::Pct,
            depth,
            expected_steps: self.length.get().unwrap_or(GUESSED_STEPS).max(1),
            ..random(seed, 1)
        }
    }

    /// Learns from a run how long they are. Whether the run counts: a search makes some again for the sake of what
    /// follows.
    pub fn observe(&mut self, seen: &Seen<'_>) -> Result<bool, RecordError> {
        self.length.measure(seen.steps);
        match &mut self.search {
            Some(search) => search.observe(seen),
            None => Ok(true),
        }
    }

    /// Notes that the run of the last attempt left nothing to learn from.
    pub fn lost(&mut self) {
        if let Some(search) = &mut self.search {
            search.lost();
        }
    }

    /// Ends the campaign: stores the state with which the next one goes on. Returns the progress of an exhaustive
    /// search.
    pub fn leave(&self) -> Result<Option<Progress>, RecordError> {
        match &self.search {
            Some(search) => search.leave().map(|()| Some(search.progress())),
            None => Ok(None),
        }
    }
}

/// An attempt with fixed seed: random draws must not differ between two runs of a search.
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
    fn the_portfolio_tries_everything_with_seeds_of_its_own() {
        let mut planner = Planner::new(Strategy::Portfolio, 100, Chances::default());
        let attempts: Vec<Attempt> = (0..16)
            .map(|_| planner.next_attempt(false).unwrap())
            .collect();
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
    fn runs_that_are_to_pass_switch_seldom() {
        let mut planner = Planner::new(Strategy::Random(1), 5, Chances::default());
        let attempts: Vec<Attempt> = (0..4)
            .map(|_| planner.next_attempt(true).unwrap())
            .collect();
        let of = |name| {
            attempts
                .iter()
                .filter(|attempt| attempt.name == name)
                .count()
        };
        assert_eq!((of("sequential"), of("pct"), of("random")), (1, 2, 1));
        assert!(
            attempts
                .iter()
                .zip(5..)
                .all(|(attempt, seed)| attempt.seed == seed)
        );
        assert!(attempts.iter().all(|attempt| attempt.depth <= 1));
        let mut planner = Planner::new(Strategy::Free, 5, Chances::default());
        assert_eq!(planner.next_attempt(true).unwrap().name, "free");
    }

    #[test]
    fn what_is_foreseen_is_what_comes() {
        let mut planner = Planner::new(Strategy::Portfolio, 9, Chances::default());
        planner.length.measure(70);
        let foreseen: Vec<Attempt> = (0..20)
            .map(|ahead| planner.foreseen(ahead, ahead > 15).unwrap())
            .collect();
        for (ahead, foreseen) in foreseen.iter().enumerate() {
            assert_eq!(planner.next_attempt(ahead > 15).as_ref(), Some(foreseen));
        }
    }
}
