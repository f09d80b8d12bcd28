//! Executes the orders of predicted anomalies: the program runs by each, and the result is kept.

use super::{
    runs::{Subject, stem},
    verdict::{Failed, Finding, Verdict, Why},
};
use crate::arguments::Predict;
use anyhow::Result;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use unsnarl_core::{
    FailurePlace,
    facts::place,
    predict::{Candidate, Class, Order, departure::departure},
};
use unsnarl_lab::executable::{Executable, Given, listed};
use unsnarl_recorder::proposal::{Cause, Divergence, Ended, ProposalError, Verdict as Executed};
use unsnarl_trace::{Occurrences, Outcome, Policy, Proposal, Run, RunFolder};

/// Number of random continuations after the anomaly, once the one in which each thread runs until it waits has shown
/// nothing.
const SEEDS: u64 = 2;

/// Executes orders of one run's events.
pub struct Executor<'a> {
    run: Arc<Run>,
    occurrences: Occurrences,
    program: Executable,
    out: RunFolder,
    stop: &'a AtomicBool,
}

impl<'a> Executor<'a> {
    /// Creates the executor of a run's program, which has to be the recorded build.
    pub fn new(
        subject: &Subject,
        arguments: &Predict,
        stop: &'a AtomicBool,
    ) -> Result<Executor<'a>> {
        let given = Given {
            stdin: arguments.stdin.clone(),
            driver: None,
            timeout: arguments.timeout,
            word: arguments.trusting.word(),
        };
        Ok(Executor {
            run: subject.run.clone(),
            occurrences: Occurrences::of(&subject.run),
            program: Executable::of(&subject.run, &subject.name, &given)?,
            out: RunFolder::new(&arguments.out),
            stop,
        })
    }

    /// Executes the order of a candidate and, until something fails, other continuations; returns `None` when the
    /// user stopped it. An order with a step at which the program cannot be held is not executed.
    pub fn run(&self, candidate: &Candidate, order: &Order) -> Result<Option<Finding>> {
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
                (Verdict::Failed(_), _) | (_, None) => best = Some(verdict),
                (Verdict::Harmless, Some(Verdict::Not { .. })) => best = Some(verdict),
                _ => {}
            }
            // What was waited for in vain is not waited for again.
            let is_over = executed.run.meta.outcome == Outcome::TimedOut;
            if is_over || matches!(best, Some(Verdict::Failed(_))) {
                break;
            }
        }
        Ok(best.map(|verdict| Finding {
            candidate: candidate.clone(),
            verdict,
            executed: count,
            certain: false,
        }))
    }

    /// The proposals for an order: first one that goes on with each thread until it waits, then random ones.
    fn proposals(&self, candidate: &Candidate, order: &Order) -> impl Iterator<Item = Proposal> {
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

    fn verdict(&self, candidate: &Candidate, executed: &Executed) -> Result<Verdict> {
        let outcome = executed.run.meta.outcome;
        let reached = executed.ended == Ended::Reached;
        // A run that fails although it left the order has failed all the same.
        if matches!(outcome, Outcome::Failed | Outcome::Deadlocked) {
            let path = self.out.store(&executed.run)?;
            self.program.vouch(&executed.run)?;
            return Ok(Verdict::Failed(Failed {
                failure: failure(&executed.run),
                run: stem(&path),
                reached: reached
                    && (candidate.class != Class::Deadlock || outcome == Outcome::Deadlocked),
            }));
        }
        Ok(match &executed.ended {
            Ended::Reached if candidate.class == Class::Deadlock => Verdict::Not {
                why: Why::Waited,
                reason: "each thread got its lock: they did not wait for each other".to_owned(),
            },
            Ended::Reached => Verdict::Harmless,
            Ended::Diverged(divergence) | Ended::Deadlocked(divergence) => {
                self.not(&executed.run, divergence)
            }
        })
    }

    /// The reason for which an anomaly did not happen.
    fn not(&self, tried: &Run, divergence: &Divergence) -> Verdict {
        let threads = std::iter::once(&divergence.wanted.thread)
            .chain(self.run.meta.threads.iter().map(|row| &row.name));
        let mut left = threads.filter_map(|name| departure(&self.run, tried, name));
        if let Some(departure) = left.find(|departure| departure.decided_by.is_some()) {
            return Verdict::Not {
                why: Why::OtherPath,
                reason: departure.words(&self.run, tried),
            };
        }
        let is_over = tried.meta.outcome == Outcome::TimedOut;
        let why = match divergence.cause {
            _ if is_over => Why::TimedOut,
            Cause::OutOfOrder => Why::NotHeldBack,
            Cause::HeldBack => Why::Waited,
            Cause::Elsewhere => Why::OtherData,
            Cause::Ended | Cause::RunEnded => Why::OtherPath,
        };
        Verdict::Not {
            why,
            reason: divergence.reason.clone(),
        }
    }
}

fn failure(run: &Run) -> FailurePlace {
    let failure = run.meta.failure.as_ref();
    FailurePlace {
        site: failure
            .and_then(|failure| failure.site)
            .map(|site| place(run, site)),
        message: failure.map_or_else(
            || run.meta.outcome.name().to_owned(),
            |failure| failure.message.clone(),
        ),
    }
}

/// Returns whether the error is about the steps of a schedule, not about the program: another schedule may do.
fn is_of_the_schedule(error: &ProposalError) -> bool {
    use ProposalError::{Depth, NoSite, NoThread, OtherBuild, OtherInput, Record};
    match error {
        NoSite(..) | NoThread(..) => true,
        Depth(_) | OtherBuild(_) | OtherInput | Record(_) => false,
    }
}

fn not_placed(candidate: &Candidate, error: &ProposalError) -> Finding {
    let reason = match error {
        ProposalError::NoSite(_, place) => {
            format!("the program cannot be held at {place}: no call in its own code stands there")
        }
        error => error.to_string(),
    };
    Finding {
        candidate: candidate.clone(),
        verdict: Verdict::Not {
            why: Why::NotPlaced,
            reason,
        },
        executed: 0,
        certain: false,
    }
}
