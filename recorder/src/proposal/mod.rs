//! Runs a program by a proposed schedule and reports how much of it happened.
//!
//! [`execute_proposal`] is what engines call: they build a [`Proposal`] from a run
//! ([`Proposal::of_events`], [`Proposal::on`]) and learn from the [`Verdict`] whether the order that they
//! propose is possible, and how the run ended that had it. The runtime does the matching
//! (`runtime/src/follow.rs`); here places in the source become addresses in the code, and what came of it
//! becomes words.

mod blocks;
mod part;
mod sites;
mod words;

use self::{
    part::{ThreadNames, WrittenPart},
    sites::ModuleSites,
};
use crate::{
    assemble::ProgramDebugInfo,
    record::{Job, RecordError, RunPlan, UnassembledRun, input_hash, make},
};
use std::sync::atomic::AtomicBool;
use unsnarl_trace::{Outcome, Policy, Proposal, Run, Wanted, raw::RawStrategy};

/// The result of following a proposed schedule.
#[derive(Clone, Debug)]
pub struct FollowVerdict {
    /// Events that happened in the order proposed, from the first.
    pub reached: usize,
    /// Events proposed.
    pub of: usize,
    /// The way in which following it ended.
    pub ended: ScheduleEnd,
    /// The run, to its end: it repeats like any recorded run. Its outcome says nothing about the
    /// schedule unless all events were reached.
    pub run: Run,
    /// The user stopped it.
    pub stopped: bool,
}

/// The way in which following a schedule ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleEnd {
    /// All required events happened in order.
    Reached,
    /// Another event happened, or the next one could not.
    Diverged(Divergence),
    /// All threads waited for each other first.
    Deadlocked(Divergence),
}

/// The point at which a run left the schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// Index of the event that did not happen.
    pub entry: usize,
    /// The event itself.
    pub wanted: Wanted,
    /// The obstacle.
    pub cause: Obstacle,
    /// The reason in words.
    pub reason: String,
    /// Actions of the threads instead: name and words.
    pub threads: Vec<(String, String)>,
}

/// The obstacle that kept an event from happening.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Obstacle {
    /// A thread did what a later event says, at a place where it cannot be held back.
    OutOfOrder,
    /// The event's thread, or the one that creates it, ended without it.
    Ended,
    /// The event's thread has to wait for one that a later event holds back.
    HeldBack,
    /// The event happened on another location.
    Elsewhere,
    /// The run ended before it.
    RunEnded,
}

/// An error that keeps a proposed schedule from being tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Another build.
    #[error(
        "the schedule is for another build of {0}\n  next: make it anew from runs of this build"
    )]
    OtherBuild(String),
    /// Other input.
    #[error(
        "the schedule is for other arguments or another standard input\n  next: name the file with --stdin"
    )]
    OtherInput,
    /// A thread's name that is not well-formed.
    #[error(
        "event {0} of the schedule: `{1}` is no thread\n  next: name threads as runs do: main, main.1, main.1.2"
    )]
    NoThread(usize, String),
    /// No recorded call lies at the place of an event.
    #[error(
        "event {0} of the schedule: there is no recorded call at {1}\n  next: name a line (and column) where the program accesses memory or calls a function"
    )]
    NoSite(usize, String),
    /// A policy with an impossible depth.
    #[error("a depth of {0} is none for pct\n  next: say 1 to 32")]
    Depth(u32),
    /// The program could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Bound for the runs that are made to learn which libraries the program loads.
const MOST_ROUNDS: usize = 8;

/// Runs the program by a proposed schedule. `job` holds input, folder and limits; the proposal's own build and input
/// are checked against it.
///
/// The program runs once, or again when it has code in libraries that only the first run showed.
pub fn execute_proposal(
    program: &ProgramDebugInfo,
    job: &Job,
    proposal: &Proposal,
    stop: &AtomicBool,
) -> Result<FollowVerdict, TrialError> {
    let names = check(program, job, proposal)?;
    let mut sites = ModuleSites::default();
    sites.add(program, "");
    for _ in 0..MOST_ROUNDS {
        let tried = run_once(program, job, proposal, &names, &sites, stop)?;
        let modules = tried.made.log()?.modules();
        let paths: Vec<String> = modules.map(|module| module.path).collect();
        let news = paths.iter().filter(|path| sites.add(program, path)).count();
        if news == 0 {
            missing(proposal, &sites)?;
            return verdict(proposal, program, tried);
        }
    }
    Err(RecordError::NothingRecorded {
        reason: format!("the program loaded other libraries in each of {MOST_ROUNDS} runs"),
        output: String::new(),
    }
    .into())
}

fn check(
    program: &ProgramDebugInfo,
    job: &Job,
    proposal: &Proposal,
) -> Result<ThreadNames, TrialError> {
    if !proposal.build_id.is_empty() && proposal.build_id != program.build_id() {
        let path = program.path().display().to_string();
        return Err(TrialError::OtherBuild(path));
    }
    let input = input_hash(job).map_err(RecordError::Launch)?;
    if !proposal.input_hash.is_empty() && proposal.input_hash != input {
        return Err(TrialError::OtherInput);
    }
    if let Policy::Pct { depth, .. } = proposal.then
        && !(1..=32).contains(&depth)
    {
        return Err(TrialError::Depth(depth));
    }
    ThreadNames::of(proposal).map_err(|wanted| {
        let at = proposal.events.iter().position(|event| *event == wanted);
        TrialError::NoThread(at.unwrap_or(0), wanted.thread)
    })
}

/// Refuses events at places without code.
fn missing(proposal: &Proposal, sites: &ModuleSites) -> Result<(), TrialError> {
    let mut known = sites.known();
    let missing = proposal.events.iter().position(|event| !known.has(event));
    match missing.and_then(|at| Some((at, proposal.events.get(at)?))) {
        Some((at, event)) => Err(TrialError::NoSite(at, event.place())),
        None => Ok(()),
    }
}

/// A run that was made.
struct Tried {
    made: UnassembledRun,
    run: Run,
}

fn run_once(
    program: &ProgramDebugInfo,
    job: &Job,
    proposal: &Proposal,
    names: &ThreadNames,
    sites: &ModuleSites,
    stop: &AtomicBool,
) -> Result<Tried, RecordError> {
    let attempt = RunPlan {
        follow: part::bytes(proposal, names, sites),
        input: (!proposal.input.is_empty()).then(|| proposal.input.clone()),
        chances: proposal.chances,
        prefix: proposal.choices.clone(),
        ..attempt(proposal.then)
    };
    let made = make(job, program, &attempt, stop)?;
    Ok(Tried {
        run: made.run(program)?,
        made,
    })
}

/// The attempt that continues the run after the schedule.
fn attempt(then: Policy) -> RunPlan {
    let base = RunPlan {
        name: "proposed",
        ..RunPlan::default()
    };
    match then {
        Policy::Sequential => base,
        Policy::Random { seed } => RunPlan {
            strategy: RawStrategy::Random,
            seed,
            ..base
        },
        Policy::Pct { seed, depth, steps } => RunPlan {
            strategy: RawStrategy::Pct,
            seed,
            depth,
            expected_steps: steps,
            ..base
        },
    }
}

/// Returns whether all events that did not happen are optional.
fn is_had(proposal: &Proposal, reached: usize) -> bool {
    let mut left = proposal.events.iter().skip(reached);
    left.all(|event| event.optional)
}

fn verdict(
    proposal: &Proposal,
    program: &ProgramDebugInfo,
    tried: Tried,
) -> Result<FollowVerdict, TrialError> {
    let log = tried.made.log()?;
    let told = words::EndFacts {
        proposal,
        program,
        log: &log,
        run: &tried.run,
        written: WrittenPart(tried.made.follow_part()),
    };
    let of = proposal.events.len();
    let reached = told.written.reached().min(of);
    let elsewhere = told.elsewhere(reached);
    let reached = elsewhere.as_ref().map_or(reached, |found| found.entry);
    let ended = match elsewhere {
        Some(divergence) => ScheduleEnd::Diverged(divergence),
        None if is_had(proposal, reached) => ScheduleEnd::Reached,
        None => {
            let divergence = told.divergence(reached);
            match tried.run.meta.outcome {
                Outcome::Deadlocked if told.was_kept_up() => ScheduleEnd::Deadlocked(divergence),
                _ => ScheduleEnd::Diverged(divergence),
            }
        }
    };
    Ok(FollowVerdict {
        reached,
        of,
        ended,
        run: tried.run,
        stopped: tried.made.finished.stopped,
    })
}
