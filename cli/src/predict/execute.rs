//! Executes the orders of predicted anomalies: the program runs by each, and what came of it is kept.

use super::{
    runs::{Subject, stem},
    verdict::{Failed, Finding, Verdict, Why},
};
use crate::arguments::Predict;
use anyhow::{Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use unsnarl_core::{
    FailurePlace,
    facts::place,
    predict::{Candidate, Class, Order, departure::departure},
};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    proposal::{Cause, Divergence, Ended, Verdict as Executed, execute_proposal},
    record::Job,
    target::{self, Target},
};
use unsnarl_trace::{
    Event, EventId, EventKind, Mode, Outcome, Policy, Proposal, Run, RunFolder, ThreadId,
};

/// Random ways to go on after the anomaly, once each thread until it waits has shown nothing.
const SEEDS: u64 = 2;

/// Executes orders of one run's events.
pub struct Executor<'a> {
    run: Arc<Run>,
    target: Target,
    job: Job,
    out: RunFolder,
    stop: &'a AtomicBool,
}

impl<'a> Executor<'a> {
    /// The executor of a run's program, which has to be the build that was recorded.
    pub fn new(
        subject: &Subject,
        arguments: &Predict,
        stop: &'a AtomicBool,
    ) -> Result<Executor<'a>> {
        let meta = &subject.run.meta;
        let directory = PathBuf::from(&meta.directory);
        if meta.mode == Mode::Imported {
            bail!(
                "{} was imported: there is no program to execute",
                subject.name
            );
        }
        if !directory.is_dir() {
            bail!(
                "the folder that the program ran in is gone: {}\n  next: make it again, or record again",
                meta.directory
            );
        }
        let target = target::open(meta.program.as_ref(), &directory)?;
        if target.program.build_id() != meta.build_id {
            bail!(
                "{} is another build than the one that was recorded\n  next: record the new build: unsnarl predict -- {}",
                meta.program,
                meta.command.join(" ")
            );
        }
        Ok(Executor {
            run: subject.run.clone(),
            target,
            job: Job {
                command: meta.command.iter().map(Into::into).collect(),
                directory,
                stdin: arguments.stdin.clone(),
                output: Output::Kept,
                timeout: arguments.timeout,
                limits: limits(&subject.run),
                starter: Starter::default(),
            },
            out: RunFolder::new(&arguments.out),
            stop,
        })
    }

    /// Executes the order of a candidate and, until something fails, other ways to go on after it; `None`
    /// when the user stopped it.
    pub fn run(&self, candidate: &Candidate, order: &Order) -> Result<Option<Finding>> {
        let (mut best, mut count) = (None, 0);
        for proposal in proposals(&self.run, candidate, order) {
            let executed = execute_proposal(&self.target.program, &self.job, &proposal, self.stop)?;
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

    fn verdict(&self, candidate: &Candidate, executed: &Executed) -> Result<Verdict> {
        let outcome = executed.run.meta.outcome;
        let reached = executed.ended == Ended::Reached;
        // A run that fails although it left the order has failed all the same.
        if matches!(outcome, Outcome::Failed | Outcome::Deadlocked) {
            let path = self.out.store(&executed.run)?;
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

    /// Why an anomaly did not happen.
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

/// A thread that goes round and round while the order holds back the one that it waits for is not waited
/// for: an order takes no more steps than the run did, and what comes after it hardly many times as many.
fn limits(run: &Run) -> Limits {
    const TIMES: u64 = 20;
    const LEAST: u64 = 30_000;
    let usual = Limits::default();
    Limits {
        steps: usual
            .steps
            .min(run.meta.steps.saturating_mul(TIMES).max(LEAST)),
        ..usual
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

/// The ways to execute an order: then each thread runs until it waits; then with random ways to go on.
fn proposals<'r>(
    run: &'r Run,
    candidate: &Candidate,
    order: &Order,
) -> impl Iterator<Item = Proposal> + 'r {
    let listed = listed(run, candidate, &order.events);
    let sequential = std::iter::once((listed.clone(), Policy::Sequential));
    let random = (0..SEEDS).map(move |seed| (listed.clone(), Policy::Random { seed }));
    sequential.chain(random).map(|(events, then)| Proposal {
        then,
        ..Proposal::of_events(run, &events)
    })
}

/// The events of an order that a schedule has to name: synchronization, the anomaly itself, and where
/// another thread goes on. In between a thread runs on by itself.
fn listed(run: &Run, candidate: &Candidate, order: &[EventId]) -> Vec<EventId> {
    let rows: Vec<_> = order
        .iter()
        .filter_map(|id| Some((*id, run.events.get(*id)?)))
        .filter(|(_, event)| is_listable(event.kind))
        .collect();
    let inside = inside_waits(run, order);
    let is_named = |at: usize, id: &EventId, event: &Event| {
        let next = rows.get(at + 1);
        let is_last = next.is_none_or(|(_, next)| next.thread != event.thread);
        let is_sync = !event.kind.is_access();
        candidate.events.contains(id) || (is_sync || is_last) && !inside.contains(id)
    };
    rows.iter()
        .enumerate()
        .filter(|(at, (id, event))| is_named(*at, id, event))
        .map(|(_, (id, _))| *id)
        .collect()
}

/// What is decided, and comes whatever the others do.
fn is_listable(kind: EventKind) -> bool {
    use EventKind::{Alloc, Begin, Blocked, Branch, End, Failure, Fence, LockWait, Yield};
    !matches!(
        kind,
        Alloc | Begin | Blocked | Branch | End | Failure | Fence | LockWait | Yield
    )
}

/// The `unlock` and `lock` that belong to a wait on a condition variable: nobody can be held back there.
fn inside_waits(run: &Run, order: &[EventId]) -> BTreeSet<EventId> {
    let mut last: BTreeMap<ThreadId, (EventId, EventKind)> = BTreeMap::new();
    let mut inside = BTreeSet::new();
    let rows = order
        .iter()
        .filter_map(|id| Some((*id, run.events.get(*id)?)));
    for (id, event) in rows.filter(|(_, event)| event.kind != EventKind::LockWait) {
        let before = last.insert(event.thread, (id, event.kind));
        match (before, event.kind) {
            (Some((_, EventKind::Wait)), EventKind::Unlock) => inside.insert(id),
            (Some((lock, EventKind::Lock)), EventKind::Wake) => inside.insert(lock),
            _ => false,
        };
    }
    inside
}
