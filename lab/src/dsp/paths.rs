//! Runs that were recorded as paths: the solver finds an order that fails, and an exact build of the program is made
//! to have it.

use super::{ExecutedProjection, ProjectionRequest, about, execute::WAYS, solver};
use crate::{
    cancel::cancellable,
    executable::{Executable, listed},
};
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use unsnarl_recorder::proposal::ScheduleEnd;
use unsnarl_symbolic::{
    Bug, StepId, WalkedPaths, dsp,
    schedules::{self, CheckedSchedule, SolverVerdict},
};
use unsnarl_trace::{
    FailureKind, Outcome, Proposal, Run, RunFolder,
    program::{self, LoadError, Program},
};

/// Steps of an order that are shown where it is not executed.
const SHOWN: usize = 24;

/// An order that fails, from the paths of a failing run; it is executed, and the run that fails is told about.
pub fn about_paths(
    name: &str,
    run: &Run,
    asked: &ProjectionRequest<'_>,
    notes: &mut Vec<String>,
) -> Result<ExecutedProjection> {
    let models = models(asked, run)?;
    let (paths, schedule) = cancellable(asked.with.stop, asked.budget, || {
        let paths = unsnarl_symbolic::walk_paths(run, &models, asked.budget)
            .context("the program model does not know the blocks of this run\n  next: build again (UNSNARL_CC=clang unsnarl cc --path) and record again")?;
        notes.extend(paths.walked.trace.gaps.iter().cloned());
        let schedule = failing_order(&paths, asked)?;
        anyhow::Ok((paths, schedule))
    })?;
    let proposal = proposal(&paths, &schedule);
    let fails = execute(name, run, &proposal, asked)
        .map_err(|error| anyhow!("{}\n{error:#}", in_words(&proposal)))?;
    let folder = RunFolder::new(&asked.with.loaded.folder);
    let file = folder.store(&fails)?;
    let kept = file.file_stem().unwrap_or(OsStr::new("run"));
    let kept = kept.to_string_lossy().into_owned();
    notes.push(format!(
        "{name} has no order: the solver found one that fails, and {} failed with it: kept as {kept}",
        fails.meta.program
    ));
    about(&kept, &fails, asked, notes)
}

fn models(asked: &ProjectionRequest<'_>, run: &Run) -> Result<Program> {
    match program::load(&asked.with.loaded.folder, &run.meta.build_id) {
        Err(LoadError::Missing { .. }) => bail!(
            "it was recorded as paths, and without a program model nothing tells what happens on them\n  next: build with clang (UNSNARL_CC=clang unsnarl cc --path) and record again"
        ),
        models => models.context("the program model cannot be used"),
    }
}

fn failing_order(paths: &WalkedPaths, asked: &ProjectionRequest<'_>) -> Result<CheckedSchedule> {
    let trace = &paths.walked.trace;
    match schedules::synthesize(trace, &asked.solver, asked.budget).verdict {
        SolverVerdict::Found(schedule) => Ok(schedule),
        SolverVerdict::Unknown(why) => bail!(
            "no order is known that fails on the recorded paths: {}",
            solver::with_next_step(&why)
        ),
        SolverVerdict::Impossible => {
            let guessed = match (trace.concretized.is_empty(), trace.gaps.first()) {
                (true, None) => {
                    ", which the run contradicts: something that it does is not understood".into()
                }
                (_, Some(gap)) => format!(", as far as its threads could be followed: {gap}"),
                (false, None) => {
                    ", with the addresses that were guessed from the order of synchronization"
                        .into()
                }
            };
            bail!(
                "no order of the recorded paths fails{guessed}\n  next: record an exact build, where order and values are known: unsnarl record -- PROG"
            )
        }
    }
}

/// The order up to the failure.
fn proposal(paths: &WalkedPaths, schedule: &CheckedSchedule) -> Proposal {
    let trace = &paths.walked.trace;
    let last = match trace.bug {
        Bug::Condition { step, .. } | Bug::AfterFree { step, .. } => Some(step),
        Bug::Unknown(_) | Bug::Deadlock => None,
    };
    let end = schedule.order.iter().position(|step| Some(*step) == last);
    let order: Vec<StepId> = schedule
        .order
        .iter()
        .take(end.map_or(usize::MAX, |end| end + 1))
        .copied()
        .collect();
    let events = listed(&paths.run, &[], &dsp::events(trace, &order));
    Proposal::of_events(&paths.run, &events)
}

/// Makes the exact build have the order, and gives the run that failed with it.
fn execute(
    name: &str,
    run: &Run,
    proposal: &Proposal,
    asked: &ProjectionRequest<'_>,
) -> Result<Run> {
    if asked.no_run {
        bail!("it was not executed (--no-run)");
    }
    let executable = Executable::exact(run, name, asked.program, asked.with.given).map_err(|error| {
        anyhow!(
            "to execute it takes a build that can be made to have an order: {}\n  next: build the same source without --path (unsnarl cc) as another program, then name it: --program ./exact",
            error.to_string().lines().next().unwrap_or_default()
        )
    })?;
    let mut reason = None;
    for then in WAYS {
        let proposal = Proposal {
            then,
            build_id: executable.build_id().to_owned(),
            ..proposal.clone()
        };
        let verdict = executable.run(&proposal, asked.with.stop)?;
        let outcome = verdict.run.meta.outcome;
        if outcome.is_failure() && fails_alike(&verdict.run, run) {
            executable.keep_models(&RunFolder::new(&asked.with.loaded.folder))?;
            executable.vouch(&verdict.run)?;
            return Ok(verdict.run);
        }
        reason.get_or_insert(match verdict.ended {
            ScheduleEnd::Reached if outcome == Outcome::Passed => {
                "with this order it passed".to_owned()
            }
            ScheduleEnd::Reached => {
                format!("with this order it ended otherwise: {}", outcome.name())
            }
            ScheduleEnd::Diverged(divergence) | ScheduleEnd::Deadlocked(divergence) => {
                format!(
                    "it cannot be made to have this order: {}",
                    divergence.reason
                )
            }
        });
        if verdict.stopped {
            break;
        }
    }
    bail!("{}", reason.unwrap_or_default())
}

/// The order, for reading.
fn in_words(proposal: &Proposal) -> String {
    let mut text = "the solver found an order that fails:".to_owned();
    for event in proposal.events.iter().take(SHOWN) {
        text.push_str(&format!("\n  {event}"));
    }
    let more = proposal.events.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    text
}

/// The same kind of failure, and of assertions the same one. What else a message says is more than a recording of paths
/// knows, such as the address of a fault.
fn fails_alike(a: &Run, b: &Run) -> bool {
    let (Some(a), Some(b)) = (&a.meta.failure, &b.meta.failure) else {
        return false;
    };
    a.kind == b.kind && (a.kind != FailureKind::Assert || a.message == b.message)
}
