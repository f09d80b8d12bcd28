//! Executes the orders of predicted anomalies: the program runs by each, and the result is kept.

use super::{
    runs::{PredictedRun, stem},
    verdict::{AnomalyVerdict, ExecutedFailure, ExecutionVerdict, UnshownReason},
};
use crate::arguments::PredictArguments;
use anyhow::Result;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use unsnarl_core::{
    FailurePlace,
    corpus::failure_place,
    predict::{AnomalyCandidate, Class, WitnessOrder, departure::departure},
};
use unsnarl_lab::executable::{Executable, ExecutionSettings, listed};
use unsnarl_recorder::proposal::{
    Divergence, FollowVerdict as Executed, Obstacle, ScheduleEnd, TrialError,
};
use unsnarl_trace::{Occurrences, Outcome, Policy, Proposal, Run, RunFolder};

/// Number of random continuations after the anomaly, once the one in which each thread runs until it waits has shown
/// nothing.
const SEEDS: u64 = 2;

/// Executes orders of one run's events.
pub struct RunExecutor<'a> {
    run: Arc<Run>,
    occurrences: Occurrences,
    program: Executable,
    out: RunFolder,
    stop: &'a AtomicBool,
}

impl<'a> RunExecutor<'a> {
    /// Creates the executor of a run's program, which has to be the recorded build.
    pub fn new(
        subject: &PredictedRun,
        arguments: &PredictArguments,
        stop: &'a AtomicBool,
    ) -> Result<RunExecutor<'a>> {
        let given = ExecutionSettings {
            stdin: arguments.stdin.clone(),
            driver: None,
            timeout: arguments.timeout,
            word: arguments.trusting.word(),
        };
        Ok(RunExecutor {
            run: subject.run.clone(),
            occurrences: Occurrences::of(&subject.run),
            program: Executable::of(&subject.run, &subject.name, &given)?,
            out: RunFolder::new(&arguments.out),
            stop,
        })
    }

    /// Executes the order of a candidate and, until something fails, other continuations; returns `None` when the
    /// user stopped it. An order with a step at which the program cannot be held is not executed.
    pub fn run(
        &self,
        candidate: &AnomalyCandidate,
        order: &WitnessOrder,
    ) -> Result<Option<AnomalyVerdict>> {
        let (mut best, mut count) = (None, 0);
        for proposal in self.proposals(candidate, order) {
            let executed = match self.program.run(&proposal, self.stop) {
                Ok(executed) => executed,
                Err(error) if is_of_the_schedule(&error) => {
                    return Ok(Some(not_placed(candidate, &error)));
                }
                Err(error) => return Err(error.into()),
            };
            if executed.stopped || self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            count += 1;
            let verdict = self.verdict(candidate, &executed)?;
            match (&verdict, &best) {
                (ExecutionVerdict::Failed(_), _) | (_, None) => best = Some(verdict),
                (ExecutionVerdict::Harmless, Some(ExecutionVerdict::Not { .. })) => {
                    best = Some(verdict)
                }
                _ => {}
            }
            // What was waited for in vain is not waited for again.
            let is_over = executed.run.meta.outcome == Outcome::TimedOut;
            if is_over || matches!(best, Some(ExecutionVerdict::Failed(_))) {
                break;
            }
        }
        Ok(best.map(|verdict| AnomalyVerdict {
            candidate: candidate.clone(),
            verdict,
            executed: count,
            certain: false,
        }))
    }

    /// The proposals for an order: first one that goes on with each thread until it waits, then random ones.
    fn proposals(
        &self,
        candidate: &AnomalyCandidate,
        order: &WitnessOrder,
    ) -> impl Iterator<Item = Proposal> {
        let listed = listed(&self.run, &candidate.events, &order.events);
        let proposal = Proposal::counted(&self.run, &listed, &self.occurrences);
        let random = (0..SEEDS).map(|seed| Policy::Random { seed });
        std::iter::once(Policy::Sequential)
            .chain(random)
            .map(move |then| Proposal {
                then,
                ..proposal.clone()
            })
    }

    fn verdict(
        &self,
        candidate: &AnomalyCandidate,
        executed: &Executed,
    ) -> Result<ExecutionVerdict> {
        let outcome = executed.run.meta.outcome;
        let reached = executed.ended == ScheduleEnd::Reached;
        // A run that fails although it left the order has failed all the same.
        if matches!(outcome, Outcome::Failed | Outcome::Deadlocked) {
            let path = self.out.store(&executed.run)?;
            self.program.vouch(&executed.run)?;
            return Ok(ExecutionVerdict::Failed(ExecutedFailure {
                failure: failure(&executed.run),
                run: stem(&path),
                reached: reached
                    && (candidate.class != Class::Deadlock || outcome == Outcome::Deadlocked),
            }));
        }
        Ok(match &executed.ended {
            ScheduleEnd::Reached if candidate.class == Class::Deadlock => ExecutionVerdict::Not {
                why: UnshownReason::Waited,
                reason: "each thread got its lock: they did not wait for each other".to_owned(),
            },
            ScheduleEnd::Reached => ExecutionVerdict::Harmless,
            ScheduleEnd::Diverged(divergence) | ScheduleEnd::Deadlocked(divergence) => {
                self.not(&executed.run, divergence)
            }
        })
    }

    /// The reason for which an anomaly did not happen.
    fn not(&self, tried: &Run, divergence: &Divergence) -> ExecutionVerdict {
        let threads = std::iter::once(&divergence.wanted.thread)
            .chain(self.run.meta.threads.iter().map(|row| &row.name));
        let mut left = threads.filter_map(|name| departure(&self.run, tried, name));
        if let Some(departure) = left.find(|departure| departure.decided_by.is_some()) {
            return ExecutionVerdict::Not {
                why: UnshownReason::OtherPath,
                reason: departure.words(&self.run, tried),
            };
        }
        let is_over = tried.meta.outcome == Outcome::TimedOut;
        let why = match divergence.cause {
            _ if is_over => UnshownReason::TimedOut,
            Obstacle::OutOfOrder => UnshownReason::NotHeldBack,
            Obstacle::HeldBack => UnshownReason::Waited,
            Obstacle::Elsewhere => UnshownReason::OtherData,
            Obstacle::Ended | Obstacle::RunEnded => UnshownReason::OtherPath,
        };
        ExecutionVerdict::Not {
            why,
            reason: divergence.reason.clone(),
        }
    }
}

fn failure(run: &Run) -> FailurePlace {
    failure_place(run).unwrap_or_else(|| FailurePlace {
        site: None,
        message: run.meta.outcome.name().to_owned(),
        is_by_status: false,
    })
}

/// Returns whether the error is about the steps of a schedule, not about the program: another schedule may do.
fn is_of_the_schedule(error: &TrialError) -> bool {
    use TrialError::{Depth, NoSite, NoThread, OtherBuild, OtherInput, Record};
    match error {
        NoSite(..) | NoThread(..) => true,
        Depth(_) | OtherBuild(_) | OtherInput | Record(_) => false,
    }
}

fn not_placed(candidate: &AnomalyCandidate, error: &TrialError) -> AnomalyVerdict {
    let reason = match error {
        TrialError::NoSite(_, place) => {
            format!("the program cannot be held at {place}: no call in its own code stands there")
        }
        error => error.to_string(),
    };
    AnomalyVerdict {
        candidate: candidate.clone(),
        verdict: ExecutionVerdict::Not {
            why: UnshownReason::NotPlaced,
            reason,
        },
        executed: 0,
        certain: false,
    }
}
