//! The planner of a campaign: chooses the schedule that the next run tries.

use super::{
    RecordError, Recording, RunPlan, checks,
    exhaustive::{Exhaustive, SearchProgress, StateFile},
    filter,
    length::Length,
    seen::MadeRun,
    strategy::Strategy,
};
use crate::{assemble::ProgramDebugInfo, shard::Shard};
use unsnarl_trace::{
    Chances,
    raw::{self, RawMode, RawStrategy},
};

/// The portfolio's turns: random walks that switch at every step, seldom and very seldom, and PCT
/// that looks for bugs of two and of three ordered steps.
const TURNS: [PlannedTurn; 8] = [
    PlannedTurn::Random(1),
    PlannedTurn::Pct(3),
    PlannedTurn::Random(8),
    PlannedTurn::Pct(2),
    PlannedTurn::Random(1),
    PlannedTurn::Pct(3),
    PlannedTurn::Random(40),
    PlannedTurn::Pct(2),
];

/// The turns of runs that are to pass: few switches, and PCT with threads that run in random order until they wait.
const QUIET_TURNS: [PlannedTurn; 4] = [
    PlannedTurn::Sequential,
    PlannedTurn::Pct(1),
    PlannedTurn::Pct(1),
    PlannedTurn::Random(40),
];

#[derive(Clone, Copy)]
enum PlannedTurn {
    Sequential,
    Random(u32),
    Pct(u32),
}

/// Decides run by run what to try, and learns the length of the program from the runs.
pub struct Planner {
    strategy: Strategy,
    seed: u64,
    chances: Chances,
    /// Runs that were planned.
    made: u64,
    /// The part of the campaign to make, if it is divided.
    part: Option<CampaignPart>,
    length: Length<MEASURED>,
    search: Option<Exhaustive>,
}

/// A shard with the runs that every shard makes first: what is learned from them is the same everywhere.
#[derive(Clone, Copy, Debug)]
struct CampaignPart {
    shard: Shard,
    /// Number of the campaign's first runs from which later ones are planned.
    first: u64,
}

/// Number of runs from which PCT's k is measured.
const MEASURED: usize = 16;
/// Steps above which runs are long: what they cost is what they do between the few steps at which threads meet.
const LONG: u64 = 1 << 20;

/// PCT's k before anything was measured.
const GUESSED_STEPS: u64 = 200;

impl Planner {
    /// Begins a campaign; an exhaustive search that was interrupted goes on.
    pub fn begin(
        recording: &Recording,
        program: &ProgramDebugInfo,
    ) -> Result<Planner, RecordError> {
        let job = &recording.job;
        let chances = checks::chances(recording, program)?;
        let mut planner = Planner::new(recording.strategy, recording.seed, chances);
        planner.part = recording.shard.map(|shard| CampaignPart {
            shard,
            first: learned_from(recording),
        });
        if let Strategy::Exhaustive(bound) = recording.strategy {
            let folder = &recording.out;
            let shard = recording.shard.map(|shard| (shard, bound));
            let file = StateFile::of(folder, job, program.build_id(), chances, shard)?;
            planner.search = Some(Exhaustive::begin(bound, Some(file), recording.shard)?);
        }
        Ok(planner)
    }

    fn new(strategy: Strategy, seed: u64, chances: Chances) -> Planner {
        Planner {
            strategy,
            seed,
            chances,
            made: 0,
            part: None,
            length: Length::default(),
            search: None,
        }
    }

    /// The attempt of the next run; `None` when there is no schedule left. Its seed is the campaign's plus
    /// its number. Where too few have passed, it is to pass: a schedule in which threads hardly disturb each other.
    pub fn next_attempt(&mut self, is_to_pass: bool) -> Option<RunPlan> {
        if let Some(search) = &self.search {
            return Some(RunPlan {
                chances: self.chances,
                ..exhaustive(search.next_prefix()?)
            });
        }
        let attempt = self.attempt(self.made, is_to_pass);
        self.made += 1;
        Some(attempt)
    }

    /// Number, in the whole campaign, of the run that is planned after so many others.
    fn number(&self, planned: u64) -> u64 {
        match self.part {
            Some(CampaignPart { shard, first }) if planned >= first => {
                shard.number(shard.size(first) + planned - first)
            }
            _ => planned,
        }
    }

    /// Number of an attempt in the whole campaign.
    pub fn number_of(&self, attempt: &RunPlan) -> u64 {
        attempt.seed.wrapping_sub(self.seed)
    }

    /// Returns whether no run was made before the one of the last attempt.
    pub fn is_first(&self) -> bool {
        self.made <= 1
    }

    /// Returns whether the run counts that comes so many after that of the last attempt: it belongs to the shard, if the
    /// campaign is divided. A search decides by itself.
    pub fn owns(&self, ahead: u64) -> bool {
        let planned = self.made.saturating_sub(1) + ahead;
        let is_own = |part: CampaignPart| part.shard.owns(self.number(planned));
        self.search.is_some() || self.part.is_none_or(is_own)
    }

    /// Returns whether later runs are planned by what the one of the last attempt has shown.
    pub fn learns_from_last(&self) -> bool {
        self.part.is_none_or(|part| self.made <= part.first)
    }

    /// Returns whether the attempts of later runs can be known in advance.
    pub fn can_foresee(&self) -> bool {
        self.search.is_none()
    }

    /// The attempt of the run that comes `ahead` runs after the next one, unless the runs before it show something new.
    /// `None` where it cannot be known.
    pub fn foreseen(&self, ahead: u64, is_to_pass: bool) -> Option<RunPlan> {
        let attempt = || self.attempt(self.made + ahead, is_to_pass);
        self.can_foresee().then(attempt)
    }

    /// Strategies that do not draw keep to themselves.
    fn attempt(&self, planned: u64, is_to_pass: bool) -> RunPlan {
        use Strategy::{Pct, Portfolio, Random};
        let number = self.number(planned);
        // What every shard learns from is the same in all of them.
        let is_to_pass = is_to_pass && self.part.is_none_or(|part| planned >= part.first);
        let draws = matches!(self.strategy, Portfolio | Pct(_) | Random(_));
        RunPlan {
            chances: self.chances,
            ..match is_to_pass && draws {
                true => self.quiet_attempt(number),
                false => self.usual_attempt(number),
            }
        }
    }

    fn quiet_attempt(&self, number: u64) -> RunPlan {
        let seed = self.seed.wrapping_add(number);
        match QUIET_TURNS.get((number % QUIET_TURNS.len() as u64) as usize) {
            Some(PlannedTurn::Pct(depth)) => self.pct(seed, *depth),
            Some(PlannedTurn::Random(one_in)) => random(seed, *one_in),
            Some(PlannedTurn::Sequential) | None => RunPlan {
                seed,
                ..RunPlan::default()
            },
        }
    }

    fn usual_attempt(&self, number: u64) -> RunPlan {
        let seed = self.seed.wrapping_add(number);
        let turn = TURNS.get((number % TURNS.len() as u64) as usize).copied();
        match (self.strategy, turn) {
            (Strategy::Portfolio, Some(PlannedTurn::Pct(depth))) | (Strategy::Pct(depth), _) => {
                self.pct(seed, depth)
            }
            (Strategy::Portfolio, Some(PlannedTurn::Random(one_in))) => random(seed, one_in),
            (Strategy::Portfolio, Some(PlannedTurn::Sequential) | None) => random(seed, 1),
            (Strategy::Random(one_in), _) => random(seed, one_in),
            (Strategy::Sequential | Strategy::Exhaustive(_), _) => RunPlan {
                seed,
                ..RunPlan::default()
            },
            (Strategy::Free, _) => RunPlan {
                name: "free",
                strategy: RawStrategy::Sequential,
                mode: RawMode::Free,
                ..random(seed, 1)
            },
            (Strategy::Path, _) => RunPlan {
                name: "path",
                strategy: RawStrategy::Sequential,
                mode: RawMode::Path,
                ..random(seed, 1)
            },
        }
    }

    fn pct(&self, seed: u64, depth: u32) -> RunPlan {
        RunPlan {
            name: "pct",
            strategy: RawStrategy::Pct,
            depth,
            expected_steps: self.length.get().unwrap_or(GUESSED_STEPS).max(1),
            ..random(seed, 1)
        }
    }

    /// Returns whether the program takes long.
    pub fn are_long(&self) -> bool {
        self.length.get().is_some_and(|steps| steps > LONG)
    }

    /// The steps of which one can be a switch, in a run of a portfolio that passes nothing over: those of a long run are too
    /// many to switch at each. As long as nobody knows how long runs are, each one finds out for itself (0).
    pub fn switch_one_in(&self, attempt: &RunPlan) -> u32 {
        if !matches!(self.strategy, Strategy::Portfolio) {
            return attempt.switch_one_in;
        }
        let seldom = |steps| raw::switch_one_in_after(steps).min(u32::MAX.into()) as u32;
        match self.length.get() {
            Some(steps) => attempt.switch_one_in.max(seldom(steps)),
            None if attempt.switch_one_in == 1 => 0,
            None => attempt.switch_one_in,
        }
    }

    /// Learns from a run how long they are. Whether the run counts: a search makes some again for the sake of what
    /// follows.
    pub fn observe(&mut self, seen: &MadeRun<'_>) -> Result<bool, RecordError> {
        if self.learns_from_last() {
            self.length.measure(seen.steps);
        }
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
    pub fn leave(&self) -> Result<Option<SearchProgress>, RecordError> {
        match &self.search {
            Some(search) => search.leave().map(|()| Some(search.progress())),
            None => Ok(None),
        }
    }
}

/// Number of a divided campaign's first runs from which the later ones are planned.
fn learned_from(recording: &Recording) -> u64 {
    use Strategy::{Pct, Portfolio, Random};
    match (recording.strategy, recording.filter) {
        (Portfolio | Pct(_) | Random(_), true) => filter::LEARNED_FROM,
        (Portfolio | Pct(_), false) => MEASURED as u64,
        _ => 0,
    }
}

/// An attempt with fixed seed: random draws must not differ between two runs of a search.
fn exhaustive(prefix: Vec<u16>) -> RunPlan {
    RunPlan {
        name: "exhaustive",
        prefix: prefix.into_iter().collect(),
        details: true,
        ..RunPlan::default()
    }
}

fn random(seed: u64, switch_one_in: u32) -> RunPlan {
    RunPlan {
        name: "random",
        strategy: RawStrategy::Random,
        seed,
        switch_one_in,
        ..RunPlan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_portfolio_tries_everything_with_seeds_of_its_own() {
        let mut planner = Planner::new(Strategy::Portfolio, 100, Chances::default());
        let attempts: Vec<RunPlan> = (0..16)
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
        let attempts: Vec<RunPlan> = (0..4)
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
        let foreseen: Vec<RunPlan> = (0..20)
            .map(|ahead| planner.foreseen(ahead, ahead > 15).unwrap())
            .collect();
        for (ahead, foreseen) in foreseen.iter().enumerate() {
            assert_eq!(planner.next_attempt(ahead > 15).as_ref(), Some(foreseen));
        }
    }
}
