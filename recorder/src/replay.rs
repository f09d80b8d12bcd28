//! Runs a recorded run again, with its schedule, and compares event by event; or under a debugger.

mod compare;
pub mod debug;
pub mod registers;
mod verbs;

use crate::{
    launch::{Company, LaunchError, Output, Starter},
    log::Limits,
    permit::{ExecutionInputs, Permit, Refused, UserTrust, parent_of},
    record::{Executed, Job, RecordError, RunPlan, execute, input_hash},
    target::{self, Target, TargetError},
};
use std::{
    ffi::OsString,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use unsnarl_trace::{OrderMode, Outcome, Run, RunMeta, meta::CondensedPart, shell};

pub use compare::{Comparison, Departure, DifferingValues, compare};

/// Options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Number of repetitions.
    pub times: u64,
    /// File for standard input, if the run had one.
    pub stdin: Option<PathBuf>,
    /// Command that uses the program from outside, started beside each run in place of the recorded input.
    pub driver: Option<OsString>,
    /// Time that each may take; `None` for the time that the recorded run could take.
    pub timeout: Option<Duration>,
    /// Treatment of the program's output.
    pub output: Output,
    /// Records the branches that are taken, too.
    pub branches: bool,
    /// The user's decision about the program.
    pub trust: UserTrust,
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Runs that reproduced the recorded one.
    pub same: u64,
    /// The first event at which a repetition left the recorded run; replaying ended there.
    pub difference: Option<Departure>,
    /// Values of the last run that differ from the recorded ones at the same steps.
    pub values: Option<DifferingValues>,
    /// The first event at which the last run took other steps, although it failed in the same way.
    pub detour: Option<Departure>,
    /// Remarks of the last run that the recorded one does not have, such as other input.
    pub notes: Vec<String>,
    /// The user stopped it.
    pub stopped: bool,
    /// The outcome that the recorded run had.
    pub outcome: Outcome,
    /// The recorded run with its branches, when they were asked for and a run repeated it.
    pub with_branches: Option<Run>,
}

/// An error that keeps a run from being run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The program is not what was recorded.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The program is another build.
    #[error(
        "{program} is another build than the one that was recorded\n  next: build it as it was then, or record the new build: unsnarl record -- {command}"
    )]
    OtherBuild {
        /// The program.
        program: String,
        /// The command that was recorded.
        command: String,
    },
    /// Standard input or arguments differ.
    #[error("the run had another standard input\n  next: name the file with --stdin")]
    OtherInput,
    /// The run has no schedule.
    #[error(
        "the run has no schedule to follow: it was {0}\n  next: record with a controlled strategy, such as the default"
    )]
    NoSchedule(&'static str),
    /// Events of its beginning are missing, and by their numbers it cannot be followed.
    #[error(
        "the log of the run was full, so events of its beginning are missing, and it cannot be repeated {0}\n  next: give the program less to do, or record with more --max-events"
    )]
    Condensed(&'static str),
    /// The folder that it ran in is gone.
    #[error(
        "the folder that the program ran in is gone: {0}\n  next: make it again, or record again"
    )]
    NoDirectory(String),
    /// The user has not allowed it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The program could not be run.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl From<LaunchError> for ReplayError {
    fn from(error: LaunchError) -> Self {
        ReplayError::Record(error.into())
    }
}

/// Runs `recorded` again. `watcher` is told of every run that repeated it.
pub fn replay(
    recorded: &Run,
    options: &ReplayOptions,
    stop: &AtomicBool,
    mut watcher: impl FnMut(u64),
) -> Result<Replayed, ReplayError> {
    if options.branches && condensed(recorded).is_some() {
        return Err(ReplayError::Condensed("with its branches"));
    }
    let (target, job) = prepare(recorded, options)?;
    let attempt = RunPlan {
        branches: options.branches,
        ..attempt(recorded)
    };
    let mut replayed = Replayed {
        same: 0,
        difference: None,
        values: None,
        detour: None,
        notes: Vec::new(),
        stopped: false,
        outcome: recorded.meta.outcome,
        with_branches: None,
    };
    while replayed.same < options.times {
        let Executed { run, finished, .. } = execute(&job, &target.program, &attempt, stop)?;
        if finished.stopped || stop.load(Ordering::Relaxed) {
            replayed.stopped = true;
            break;
        }
        let is_new = |note: &&String| !recorded.meta.problems.contains(note);
        replayed.notes = run.meta.problems.iter().filter(is_new).cloned().collect();
        let compared = compare(recorded, &run);
        let is_same = compared.is_same();
        replayed.values = compared.values;
        if compared.is_reproduced {
            replayed.detour = compared.difference;
        } else {
            replayed.difference = compared.difference;
            break;
        }
        replayed.same += 1;
        if options.branches && is_same && replayed.with_branches.is_none() {
            replayed.with_branches = Some(as_recorded(run, &recorded.meta));
        }
        watcher(replayed.same);
    }
    Ok(replayed)
}

/// Gives a repetition the recorded run's account of its origin: it is the same run.
fn as_recorded(run: Run, recorded: &RunMeta) -> Run {
    let meta = RunMeta {
        strategy: recorded.strategy.clone(),
        seed: recorded.seed,
        depth: recorded.depth,
        expected_steps: recorded.expected_steps,
        ..run.meta
    };
    Run { meta, ..run }
}

/// An attempt that follows the recorded schedule.
fn attempt(recorded: &Run) -> RunPlan {
    RunPlan {
        name: "replay",
        seed: recorded.meta.seed,
        depth: recorded.meta.depth,
        expected_steps: recorded.meta.expected_steps,
        prefix: recorded.meta.schedule.clone(),
        chances: recorded.meta.chances,
        repeats: true,
        ..RunPlan::default()
    }
    .with_input_of(&recorded.meta)
}

/// Checks that program and input are those that were recorded.
fn prepare(recorded: &Run, options: &ReplayOptions) -> Result<(Target, Job), ReplayError> {
    let meta = &recorded.meta;
    match meta.mode {
        OrderMode::Controlled => {}
        OrderMode::Free => return Err(ReplayError::NoSchedule("recorded in free mode")),
        OrderMode::Path => return Err(ReplayError::NoSchedule("recorded in path mode")),
        OrderMode::Imported => return Err(ReplayError::NoSchedule("imported from another tool")),
    }
    let directory = PathBuf::from(&meta.directory);
    if !directory.is_dir() {
        return Err(ReplayError::NoDirectory(meta.directory.clone()));
    }
    let target = target::open_recorded(meta, &directory)?;
    if target.program.build_id() != meta.build_id {
        let (program, command) = (meta.program.clone(), shell::command(&meta.command));
        return Err(ReplayError::OtherBuild { program, command });
    }
    let deed = ExecutionInputs::of(meta, target.program.path(), target.program.build_id());
    let permit = Permit::ask(deed, &options.trust)?;
    let job = Job {
        permit,
        parent: parent_of(meta.parent.as_deref()),
        command: meta.command.iter().map(OsString::from).collect(),
        directory,
        stdin: options.stdin.clone(),
        output: options.output,
        timeout: options.timeout.unwrap_or(meta.time()),
        limits: limits(recorded, options.branches),
        criteria: meta.criteria.clone(),
        starter: Starter::default().with_company(Company::of_driver(options.driver.clone())),
    };
    if input_hash(&job)? != meta.input_hash {
        return Err(ReplayError::OtherInput);
    }
    Ok((target, job))
}

/// The part of the run that was condensed, since its log was full.
fn condensed(recorded: &Run) -> Option<CondensedPart> {
    recorded.meta.left_out?.condensed
}

/// Limits of a repetition. Branches are events too: with them the same run needs more room. A run that did not end is
/// followed beyond its end, but not far.
fn limits(recorded: &Run, with_branches: bool) -> Limits {
    const BRANCHES_PER_EVENT: u64 = 7;
    let usual = Limits::default();
    let condensed = condensed(recorded);
    Limits {
        events: condensed.map_or(usual.events, |part| part.room)
            * if with_branches {
                1 + BRANCHES_PER_EVENT
            } else {
                1
            },
        steps: match recorded.meta.outcome {
            Outcome::TimedOut => usual.steps.min(1000 + 2 * steps_of(recorded)),
            _ => usual.steps,
        },
        repeats_after: recorded
            .meta
            .left_out
            .map_or(u64::MAX, |left_out| left_out.after),
        ..usual
    }
}

/// Upper bound for the steps of a run: decisions with one thread only are not counted, but most leave an event.
fn steps_of(run: &Run) -> u64 {
    run.meta.steps.max(run.events.len() as u64)
}
