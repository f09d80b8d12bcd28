//! The plan for one run: strategy, seed, given choices and input.

use unsnarl_trace::{
    Chances, OrderMode, Outcome, RunMeta, Schedule,
    input::RunInput,
    raw::{Directive, RawMode, RawStrategy},
};

/// The plan for one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunPlan {
    /// Name of the strategy, as in the run file.
    pub name: &'static str,
    /// Strategy of the runtime.
    pub strategy: RawStrategy,
    /// Controlled or free.
    pub mode: RawMode,
    /// Seed.
    pub seed: u64,
    /// PCT's depth, 0 otherwise.
    pub depth: u32,
    /// PCT's k, 0 otherwise.
    pub expected_steps: u64,
    /// Random walk: the running thread is left only once in this many decisions; 0 when the run finds out
    /// ([`unsnarl_trace::raw::switch_one_in_after`]).
    pub switch_one_in: u32,
    /// Choices to follow before the strategy goes on.
    pub prefix: Schedule,
    /// Choices prescribed by the position of their thread, sorted; the strategy makes the others.
    pub plan: Vec<Directive>,
    /// Places where threads are not chosen ([`unsnarl_trace::raw::quiet_slot`]).
    pub quiet: Vec<u32>,
    /// Choices other than threads that the run makes.
    pub chances: Chances,
    /// Asks for the details of each choice.
    pub details: bool,
    /// A proposed schedule to follow first ([`unsnarl_trace::raw::follow`]); empty when there is none.
    pub follow: Vec<u8>,
    /// Records the branches that are taken.
    pub branches: bool,
    /// Input of a recorded run, to give back; `None` to take it as it comes.
    pub input: Option<RunInput>,
    /// The attempt repeats the run that its input is of, step by step.
    pub repeats: bool,
    /// Other runs with the same input have ended: one that waits for the outside for ever hangs.
    pub others_end: bool,
}

/// An attempt in which each thread runs until it waits.
impl Default for RunPlan {
    fn default() -> Self {
        RunPlan {
            name: "sequential",
            strategy: RawStrategy::Sequential,
            mode: RawMode::Controlled,
            seed: 0,
            depth: 0,
            expected_steps: 0,
            switch_one_in: 1,
            prefix: Schedule::default(),
            plan: Vec::new(),
            quiet: Vec::new(),
            chances: Chances::default(),
            details: false,
            follow: Vec::new(),
            branches: false,
            input: None,
            repeats: false,
            others_end: false,
        }
    }
}

impl RunPlan {
    /// The same attempt with the input of a recorded run.
    pub fn with_input_of(self, recorded: &RunMeta) -> RunPlan {
        let mut input = recorded.input.clone();
        input.seed = input.seed.or(Some(recorded.seed));
        RunPlan {
            input: Some(input),
            others_end: recorded.outcome == Outcome::TimedOut,
            ..self
        }
    }

    /// Seed of the program's random numbers.
    pub fn input_seed(&self) -> u64 {
        let given = self.input.as_ref().and_then(|input| input.seed);
        given.unwrap_or(self.seed)
    }

    /// The mode as the run file has it.
    pub fn run_mode(&self) -> OrderMode {
        match self.mode {
            RawMode::Free => OrderMode::Free,
            RawMode::Path => OrderMode::Path,
            RawMode::Controlled | RawMode::Off => OrderMode::Controlled,
        }
    }
}
