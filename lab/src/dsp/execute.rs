//! Executes the two orders of a projection: does the one fail each time, and does the other pass?

use crate::executable::{Executable, ExecutionSettings, listed};
use anyhow::Result;
use std::{
    cell::OnceCell,
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};
use unsnarl_recorder::{
    launch::Output,
    proposal::{FollowVerdict, ScheduleEnd, TrialError},
    record::Sampler,
    replay::{ReplayOptions, replay},
};
use unsnarl_trace::{EventId, Outcome, Policy, Proposal, Run};

/// Ways to go on after an order that should pass: each thread until it waits; then random ones.
pub const WAYS: [Policy; 3] = [
    Policy::Sequential,
    Policy::Random { seed: 0 },
    Policy::Random { seed: 1 },
];

/// Executes orders of one run's events.
pub struct Executor<'a> {
    /// The run.
    pub run: &'a Run,
    program: Executable,
    given: &'a ExecutionSettings,
    /// Number of executions of an order that is shown.
    times: u64,
    stop: &'a AtomicBool,
    /// Result of running the failing run again, once that was tried.
    repeated: OnceCell<Repeated>,
}

/// Result of running a recorded run again.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// Number of times that it was the same run.
    pub same: u64,
    /// Difference of the first other one; none was run after that.
    pub difference: Option<String>,
    /// Its time is over, or the user stopped it.
    pub stopped: bool,
}

/// Result of executing an order that should not fail.
pub enum TriedOrder {
    /// The program had this order and passed, `passes` times of so many executions.
    Passes {
        /// Number of executions that passed.
        passes: u64,
        /// The first of these runs.
        run: Box<Run>,
    },
    /// Not so, for this reason.
    Not(String),
    /// The user stopped it.
    Stopped,
}

impl<'a> Executor<'a> {
    /// The executor of a run's program, which has to be the build that was recorded.
    pub fn new(
        run: &'a Run,
        name: &str,
        given: &'a ExecutionSettings,
        times: u64,
        stop: &'a AtomicBool,
    ) -> Result<Executor<'a>> {
        Ok(Executor {
            run,
            program: Executable::of(run, name, given)?,
            given,
            times,
            stop,
            repeated: OnceCell::new(),
        })
    }

    /// Other ways in which its run could have gone on; none when it does not fail again.
    pub fn sampler<'s>(&'s self, stop: &'s AtomicBool) -> Result<Option<Sampler<'s>>> {
        Ok(self.program.sampler(self.run, stop)?)
    }

    /// Notes a run that it made as the user's own, so that it can be replayed.
    pub fn vouch(&self, run: &Run) -> Result<()> {
        Ok(self.program.vouch(run)?)
    }

    /// Number of executions of an order.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// Counts how often a recorded run ends as it did when it is run again, up to the first that is another run, and
    /// returns how that one differs.
    pub fn repeats(&self, run: &Run) -> Result<(u64, Option<String>)> {
        let repeated = self.repeated(run)?;
        Ok((repeated.same, repeated.difference))
    }

    /// The same, and whether it was stopped. The failing run is run again once only, however often that is asked.
    pub fn repeated(&self, run: &Run) -> Result<Repeated> {
        if !std::ptr::eq(run, self.run) {
            return self.repeat(run);
        }
        if let Some(known) = self.repeated.get() {
            return Ok(known.clone());
        }
        let repeated = self.repeat(run)?;
        Ok(self.repeated.get_or_init(|| repeated).clone())
    }

    fn repeat(&self, run: &Run) -> Result<Repeated> {
        let options = ReplayOptions {
            times: self.times,
            stdin: self.given.stdin.clone(),
            driver: self.given.driver.clone(),
            timeout: self.given.timeout,
            output: Output::Kept,
            branches: false,
            trust: self.program.trust().clone(),
        };
        let replayed = replay(run, &options, self.stop, |_| {})?;
        let difference = replayed.difference.map(|difference| {
            format!(
                "run again it differs: {} instead of {}",
                difference.replayed, difference.recorded
            )
        });
        Ok(Repeated {
            same: replayed.same,
            difference,
            stopped: replayed.stopped,
        })
    }

    /// Executes an order, and goes on after it in these ways until one passes; of the events those that are
    /// `important` are named in any case.
    pub fn passes(
        &self,
        order: &[EventId],
        important: &[EventId],
        ways: &[Policy],
    ) -> Result<TriedOrder> {
        let events = listed(self.run, important, order);
        let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
        for &then in ways {
            let proposal = Proposal {
                then,
                ..Proposal::of_events(self.run, &events)
            };
            let first = match self.once(&proposal) {
                Ok(Some(first)) => first,
                Ok(None) => return Ok(TriedOrder::Stopped),
                // An event that cannot be named is no reason to give the other orders up.
                Err(error @ TrialError::NoSite(..)) => {
                    return Ok(TriedOrder::Not(error.to_string()));
                }
                Err(error) => return Err(error.into()),
            };
            match failure(&first) {
                None => return self.again(&proposal, first.run),
                // How it goes on does not matter to an order that was not had.
                Some(reason) if first.ended != ScheduleEnd::Reached => {
                    return Ok(TriedOrder::Not(reason));
                }
                Some(reason) => *reasons.entry(reason).or_default() += 1,
            }
        }
        let reasons: Vec<String> = reasons.into_keys().collect();
        Ok(TriedOrder::Not(reasons.join("; ")))
    }

    /// The other executions of an order that passed once.
    fn again(&self, proposal: &Proposal, run: Run) -> Result<TriedOrder> {
        let mut passes = 1;
        for _ in 1..self.times {
            let Some(verdict) = self.once(proposal)? else {
                return Ok(TriedOrder::Stopped);
            };
            passes += u64::from(failure(&verdict).is_none());
        }
        let run = Box::new(run);
        Ok(TriedOrder::Passes { passes, run })
    }

    /// Executes an order once; none when the user stopped it.
    pub fn once(&self, proposal: &Proposal) -> Result<Option<FollowVerdict>, TrialError> {
        let verdict = self.program.run(proposal, self.stop)?;
        let stopped = verdict.stopped || self.stop.load(Ordering::Relaxed);
        Ok((!stopped).then_some(verdict))
    }
}

/// Reason why an execution does not confirm the order; none when it does.
pub fn failure(verdict: &FollowVerdict) -> Option<String> {
    let outcome = verdict.run.meta.outcome;
    match &verdict.ended {
        ScheduleEnd::Reached if outcome == Outcome::Passed => None,
        ScheduleEnd::Reached => {
            let failure = verdict.run.meta.failure.as_ref();
            let what = failure.map_or(outcome.name(), |failure| failure.message.as_str());
            Some(format!("with this order the program failed, too: {what}"))
        }
        ScheduleEnd::Diverged(divergence) | ScheduleEnd::Deadlocked(divergence) => {
            Some(divergence.reason.clone())
        }
    }
}
