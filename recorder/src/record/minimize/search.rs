//! Takes preemptions out of a failing run, one group after the other, and runs it again each time.
//!
//! This is delta debugging (Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*,
//! 2002) over the choices that a thread would not have made by itself. Choices are named by where their
//! thread stands, so the others keep their meaning when one is gone.

use super::{
    super::{Details, Executed, Job, RecordError, RunPlan, execute},
    deviations::{Deviation, deviations, plan, points, preemptions},
};
use crate::{assemble::ProgramDebugInfo, log::Limits};
use std::sync::atomic::{AtomicBool, Ordering};
use unsnarl_trace::{FailureMode, Outcome, Run, Schedule};

/// Runs that are tried to take something away.
const MOST_REMOVALS: u64 = 4_000;
/// Runs that are tried to put one preemption in the place of two.
const MOST_MOVES: u64 = 2_000;

/// A run that fails as wanted.
pub(super) struct FailingCandidate {
    pub run: Run,
    pub details: Details,
    pub deviations: Vec<Deviation>,
}

impl FailingCandidate {
    pub fn preemptions(&self) -> usize {
        preemptions(&self.deviations)
    }

    fn is_simpler_than(&self, other: &FailingCandidate) -> bool {
        let size = |one: &FailingCandidate| (one.preemptions(), one.deviations.len());
        size(self) < size(other)
    }
}

/// Runs a program with one plan after the other.
pub(super) struct PlanSearch<'a> {
    job: Job,
    program: &'a ProgramDebugInfo,
    base: RunPlan,
    mode: FailureMode,
    stop: &'a AtomicBool,
    /// Runs that were tried.
    pub tried: u64,
    /// A limit was reached before everything was tried.
    pub gave_up: bool,
    /// The user wants to stop.
    pub stopped: bool,
}

impl<'a> PlanSearch<'a> {
    /// Creates a search for runs that fail like `failing`, with the same input and choices of the same kinds.
    pub fn new(
        job: &Job,
        program: &'a ProgramDebugInfo,
        failing: &Run,
        stop: &'a AtomicBool,
    ) -> PlanSearch<'a> {
        let mut job = job.clone();
        // What has become endless is not waited for.
        if failing.meta.outcome != Outcome::TimedOut {
            let steps = failing.length().saturating_mul(20).saturating_add(100_000);
            job.limits = Limits {
                steps: job.limits.steps.min(steps),
                ..job.limits
            };
        }
        PlanSearch {
            job,
            program,
            base: RunPlan {
                name: "minimized",
                seed: failing.meta.seed,
                chances: failing.meta.chances,
                details: true,
                ..RunPlan::default()
            }
            .with_input_of(&failing.meta),
            mode: FailureMode::of(failing),
            stop,
            tried: 0,
            gave_up: false,
            stopped: false,
        }
    }

    /// The run with exactly this schedule, if it fails as wanted.
    pub fn repeat(&mut self, schedule: &Schedule) -> Result<Option<FailingCandidate>, RecordError> {
        let attempt = RunPlan {
            prefix: schedule.clone(),
            ..self.base.clone()
        };
        let run = self.run(&attempt)?;
        Ok(run.filter(|run| self.mode == FailureMode::of(&run.run)))
    }

    /// The run with these deviations, if it fails as wanted.
    pub fn attempt(
        &mut self,
        deviations: &[Deviation],
    ) -> Result<Option<FailingCandidate>, RecordError> {
        let attempt = self.planned(deviations);
        let run = self.run(&attempt)?;
        Ok(run.filter(|run| self.mode == FailureMode::of(&run.run)))
    }

    fn planned(&self, deviations: &[Deviation]) -> RunPlan {
        RunPlan {
            plan: plan(deviations),
            ..self.base.clone()
        }
    }

    fn run(&mut self, attempt: &RunPlan) -> Result<Option<FailingCandidate>, RecordError> {
        self.tried += 1;
        let executed = match execute(&self.job, self.program, attempt, self.stop) {
            // A stray write of this schedule says nothing about the next one.
            Err(RecordError::Spoiled(_)) => return Ok(None),
            other => other?,
        };
        let Executed {
            run,
            finished,
            details,
        } = executed;
        self.stopped |= finished.stopped || self.stop.load(Ordering::Relaxed);
        Ok(details
            .filter(|_| !self.stopped)
            .map(|details| FailingCandidate {
                run,
                deviations: deviations(&details),
                details,
            }))
    }

    /// The simplest run that can be reached from this one.
    pub fn simplest(
        &mut self,
        mut best: FailingCandidate,
    ) -> Result<FailingCandidate, RecordError> {
        if let Some(sequential) = self.attempt(&[])? {
            return Ok(sequential);
        }
        loop {
            best = self.without(best, |one| one.preempts)?;
            best = self.without(best, |one| !one.preempts)?;
            best = self.without(best, |one| one.preempts)?;
            match self.with_fewer(&best)? {
                Some(better) => best = better,
                None => return Ok(best),
            }
        }
    }

    /// Takes away what can be taken away among the deviations of one sort: halves first, single ones last,
    /// until no single one is left that can.
    fn without(
        &mut self,
        mut best: FailingCandidate,
        is_one: impl Fn(&Deviation) -> bool,
    ) -> Result<FailingCandidate, RecordError> {
        let count =
            |best: &FailingCandidate| best.deviations.iter().filter(|one| is_one(one)).count();
        let mut size = count(&best);
        while size > 0 && !self.is_over() {
            let mut at = 0;
            let mut found = false;
            while at < count(&best) && !self.is_over() {
                let rest = leave_out(&best.deviations, &is_one, at..at + size);
                match self
                    .attempt(&rest)?
                    .filter(|run| run.is_simpler_than(&best))
                {
                    Some(simpler) => (best, found) = (simpler, true),
                    None => at += size,
                }
            }
            // Something that is gone may have been all that another one was good for.
            let again = size == 1 && found;
            size = if again { 1 } else { size / 2 };
        }
        Ok(best)
    }

    fn is_over(&mut self) -> bool {
        self.gave_up |= self.tried >= MOST_REMOVALS + MOST_MOVES;
        self.gave_up || self.stopped
    }

    /// A run with one preemption where `best` has two, if there is one.
    fn with_fewer(
        &mut self,
        best: &FailingCandidate,
    ) -> Result<Option<FailingCandidate>, RecordError> {
        let places: Vec<usize> = (0..best.deviations.len())
            .filter(|&at| best.deviations.get(at).is_some_and(|one| one.preempts))
            .collect();
        let limit = self.tried + MOST_MOVES;
        for (i, &first) in places.iter().enumerate() {
            for &second in places.iter().skip(i + 1) {
                let mut rest = best.deviations.clone();
                rest.remove(second);
                rest.remove(first);
                if let Some(better) = self.with_one_more(&rest, best, limit)? {
                    return Ok(Some(better));
                }
            }
        }
        Ok(None)
    }

    /// A run with these deviations and one preemption more, anywhere.
    fn with_one_more(
        &mut self,
        rest: &[Deviation],
        best: &FailingCandidate,
        limit: u64,
    ) -> Result<Option<FailingCandidate>, RecordError> {
        let attempt = self.planned(rest);
        let Some(base) = self.run(&attempt)? else {
            return Ok(None);
        };
        for point in points(&base.details) {
            if self.is_over() || self.tried >= limit {
                self.gave_up = true;
                return Ok(None);
            }
            let mut with = rest.to_vec();
            with.push(point);
            let found = self.attempt(&with)?;
            if let Some(better) = found.filter(|run| run.is_simpler_than(best)) {
                return Ok(Some(better));
            }
        }
        Ok(None)
    }
}

/// All deviations but those of one sort with these numbers.
fn leave_out(
    deviations: &[Deviation],
    is_one: impl Fn(&Deviation) -> bool,
    numbers: std::ops::Range<usize>,
) -> Vec<Deviation> {
    let mut number = 0;
    let stays = |one: &&Deviation| {
        let is_one = is_one(one);
        let leaves = is_one && numbers.contains(&number);
        number += usize::from(is_one);
        !leaves
    };
    deviations.iter().filter(stays).copied().collect()
}
