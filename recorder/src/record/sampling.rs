//! Samples of the ways in which a run could have gone on: its choices up to a point, then random ones.

use super::{
    Details, Executed, Job, RecordError, RunPlan,
    execute::{execute, make},
};
use crate::{assemble::ProgramDebugInfo, log::Limits};
use std::sync::atomic::{AtomicBool, Ordering};
use unsnarl_trace::{
    EventId, FailureMode, Outcome, Run, Schedule,
    raw::{ChoiceKind, RawStrategy},
};

/// The end of a continuation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Continuation {
    /// `true` if it fails as the run itself: in the same way and at the same place; where threads wait for ever, in
    /// any place.
    pub fails: bool,
    /// `true` if it fails otherwise. One that only takes too long does not: where the choices that were drawn let a thread
    /// wait in vain, fairer ones might not have.
    pub fails_otherwise: bool,
    /// Hash of the order of its conflicting events: equal ones are the same execution for the program.
    pub order: String,
}

/// Makes continuations of one failing run.
pub struct Sampler<'a> {
    job: Job,
    program: &'a ProgramDebugInfo,
    base: RunPlan,
    mode: FailureMode,
    details: Details,
    run: Run,
    stop: &'a AtomicBool,
}

impl<'a> Sampler<'a> {
    /// Repeats `failing` to learn the positions of its choices. `None` when it does not fail again in the same way,
    /// or when the user stops it.
    pub fn new(
        job: &Job,
        program: &'a ProgramDebugInfo,
        failing: &Run,
        stop: &'a AtomicBool,
    ) -> Result<Option<Sampler<'a>>, RecordError> {
        let meta = &failing.meta;
        let base = RunPlan {
            name: "continued",
            seed: meta.seed,
            chances: meta.chances,
            prefix: meta.schedule.clone(),
            ..RunPlan::default()
        }
        .with_input_of(meta);
        let job = Job {
            limits: limits(job, failing),
            ..job.clone()
        };
        let asking = RunPlan {
            details: true,
            ..base.clone()
        };
        let Executed {
            run,
            finished,
            details,
        } = execute(&job, program, &asking, stop)?;
        let mode = FailureMode::of(failing);
        let is_over = finished.stopped || stop.load(Ordering::Relaxed);
        let repeats = !is_over && FailureMode::of(&run) == mode;
        Ok(details.filter(|_| repeats).map(|details| Sampler {
            job,
            program,
            base,
            mode,
            details,
            run,
            stop,
        }))
    }

    /// Number of choices of the run.
    pub fn choices(&self) -> usize {
        self.base.prefix.len().min(self.details.choices.len())
    }

    /// The row with which the run goes on after a choice: the first step of the chosen thread.
    pub fn step_after(&self, choice: usize) -> Option<EventId> {
        let detail = self.details.choices.get(choice)?;
        let thread = match ChoiceKind::from_u8(detail.kind) {
            Some(ChoiceKind::Thread) => detail.chosen,
            _ => detail.running,
        };
        self.details.step_after(&self.run, detail.record, thread)
    }

    /// The choices of the run that come before the one that leads to this row.
    pub fn choices_before(&self, row: EventId) -> Option<Schedule> {
        let count = self.details.choices_before(&self.run, row)?;
        Some(self.base.prefix.first(count))
    }

    /// Runs the program with the first `kept` choices of the run; `number` selects the strategy and seed for the
    /// rest. `None` when the program did not take these choices, when nothing can be said about its end, or when the
    /// user stops it.
    pub fn after(&self, kept: usize, number: u32) -> Result<Option<Continuation>, RecordError> {
        let mut attempt = RunPlan {
            seed: self.base.seed.wrapping_add(number.into()),
            ..self.base.clone()
        };
        attempt.prefix = attempt.prefix.first(kept);
        self.go_on(&mut attempt, number);
        let made = match make(&self.job, self.program, &attempt, self.stop) {
            // A stray write of this schedule says nothing about the next one.
            Err(RecordError::Spoiled(_)) => return Ok(None),
            other => other?,
        };
        let is_over = made.finished.stopped || self.stop.load(Ordering::Relaxed);
        let outcome = made.ended(self.program)?.outcome;
        let left = made.log()?.first_divergence();
        if is_over || left > 0 || outcome == Outcome::CutShort {
            return Ok(None);
        }
        let run = made.run(self.program)?;
        let fails = FailureMode::of(&run).is_like(&self.mode);
        Ok(Some(Continuation {
            fails,
            fails_otherwise: !fails && !matches!(outcome, Outcome::Passed | Outcome::TimedOut),
            order: run.meta.order,
        }))
    }

    /// Sets one of the strategies in turn: each thread until it waits, random walks that switch often and seldom, and
    /// PCT.
    fn go_on(&self, attempt: &mut RunPlan, number: u32) {
        const SELDOM: u32 = 8;
        const DEPTH: u32 = 3;
        match number % 4 {
            _ if number == 0 => {}
            0 | 1 => attempt.strategy = RawStrategy::Random,
            2 => {
                attempt.strategy = RawStrategy::Pct;
                attempt.depth = DEPTH;
                attempt.expected_steps = self.run.meta.steps.max(1);
            }
            _ => {
                attempt.strategy = RawStrategy::Random;
                attempt.switch_one_in = SELDOM;
            }
        }
    }
}

/// Limits of a continuation: an endless one is not waited for.
fn limits(job: &Job, failing: &Run) -> Limits {
    const TIMES: u64 = 20;
    const LEAST: u64 = 30_000;
    let steps = failing.length().saturating_mul(TIMES).max(LEAST);
    match failing.meta.outcome {
        Outcome::TimedOut => job.limits,
        _ => Limits {
            steps: job.limits.steps.min(steps),
            ..job.limits
        },
    }
}
