//! `unsnarl explain --engine invariants`: for each failure mode the conditions that had to hold along a failing run,
//! and the lines that established them.

mod json;
mod source;
mod text;

pub use json::FailureRow;
pub use text::print;

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use std::{sync::atomic::AtomicBool, time::Instant};
use unsnarl_core::{
    Budget, Corpus, StopReason,
    diagnosis::Perturbation,
    findings::{by_failure, weaknesses},
};
use unsnarl_lab::{
    cancel::cancellable,
    executable::ExecutionSettings,
    load::Loaded,
    perturb::{self, PerturbedQuestion},
};
use unsnarl_symbolic::invariants::{self, Level, ToldInvariants, Unexplained};
use unsnarl_trace::{
    OrderMode, Run,
    program::{self, LoadError, Program},
};

/// Number of failing runs of one failure mode that are tried until one can be explained.
const RUNS: usize = 6;

/// Answer of the engine about a corpus.
pub struct InvariantAnswer {
    /// Failure modes, those of most runs first.
    pub failures: Vec<FailureMode>,
    /// The reason for which it stopped.
    pub stopped: StopReason,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// One failure mode.
pub struct FailureMode {
    /// The failure and its place.
    pub what: String,
    /// The runs that fail so, as `replay` takes them; the shortest first.
    pub runs: Vec<String>,
    /// The explained run, or the reason for which there is none, with the next step.
    pub told: Result<Box<Explained>, String>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// A failing run explained.
pub struct Explained {
    /// The run.
    pub run: String,
    /// The conditions that had to hold.
    pub told: ToldInvariants,
    /// The reason for which conditions before some line are missing; `Complete` when none are.
    pub stopped: StopReason,
    /// Times that it took.
    pub measured: InvariantTimes,
    /// Other schedules with the same steps, or the reason for which none were executed; none when that was not wanted.
    pub perturbed: Option<Result<Perturbation, String>>,
}

/// Times, for tables.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct InvariantTimes {
    /// Milliseconds that following the threads through the program model took.
    pub symbolic_ms: f64,
    /// Milliseconds that finding invariants and slice took.
    pub invariants_ms: f64,
}

/// The question to the engine.
pub struct InvariantQuestion<'a> {
    /// The level of detail; the lightest with a step between threads when none is given.
    pub level: Option<Level>,
    /// The runs.
    pub loaded: &'a Loaded,
    /// Time for all of it.
    pub budget: &'a Budget,
    /// Raised when the user stops it.
    pub stop: &'a AtomicBool,
    /// Settings for executing the program, and the end of the time for that; none when nothing shall be executed.
    pub executing: Option<(&'a ExecutionSettings, Instant)>,
}

/// Asks the engine about the failing runs of a corpus.
pub fn ask(corpus: &Corpus, asked: &InvariantQuestion<'_>) -> InvariantAnswer {
    if corpus.failing().next().is_none() {
        return InvariantAnswer {
            failures: Vec::new(),
            stopped: StopReason::Lacks("a failing run"),
            notes: vec![
                "only what failed can be explained\n  next: unsnarl record --until-failing 1 -- PROG".to_owned(),
            ],
        };
    }
    let mut failures = Vec::new();
    for (what, runs) in by_failure(corpus) {
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        failures.push(explain(what, names, asked));
    }
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.runs.len()));
    InvariantAnswer {
        failures,
        stopped: asked.budget.stop().unwrap_or(StopReason::Complete),
        notes: weaknesses(corpus),
    }
}

/// Explains the first of the runs that can be explained.
fn explain(what: String, runs: Vec<String>, asked: &InvariantQuestion<'_>) -> FailureMode {
    let mut reason: Option<(String, Vec<String>)> = None;
    for name in runs.iter().take(RUNS) {
        let found = asked.loaded.runs.iter().find(|(known, _)| known == name);
        let Some((_, run)) = found else { continue };
        let mut notes = Vec::new();
        match about(name, run, asked, &mut notes) {
            Ok(explained) => {
                return FailureMode {
                    what,
                    runs,
                    told: Ok(Box::new(explained)),
                    notes,
                };
            }
            Err(error) if reason.is_none() => reason = Some((format!("{name}: {error:#}"), notes)),
            Err(_) => {}
        }
        if asked.budget.stop().is_some() {
            break;
        }
    }
    let (reason, notes) = reason.unwrap_or_else(|| ("the runs are gone".to_owned(), Vec::new()));
    FailureMode {
        what,
        runs,
        told: Err(reason),
        notes,
    }
}

fn about(
    name: &str,
    run: &Run,
    asked: &InvariantQuestion<'_>,
    notes: &mut Vec<String>,
) -> Result<Explained> {
    refuse(run)?;
    let models = models(asked.loaded, run, notes);
    cancellable(asked.stop, asked.budget, || {
        match with(name, run, &models, asked, notes) {
            Err(Unexplained::Contradiction(why)) if !models.is_empty() => {
                notes.push(format!(
                    "the program model contradicts the run, so only its values are used: {why}"
                ));
                with(name, run, &Program::default(), asked, notes)
            }
            result => result,
        }
    })
    .map_err(|unexplained| anyhow!("{unexplained}"))
}

fn with(
    name: &str,
    run: &Run,
    models: &Program,
    asked: &InvariantQuestion<'_>,
    notes: &mut Vec<String>,
) -> Result<Explained, Unexplained> {
    let begin = Instant::now();
    let walked = unsnarl_symbolic::walk_in_words(run, models, asked.budget);
    if walked.stopped != StopReason::Complete {
        return Err(Unexplained::Stopped(walked.stopped));
    }
    let trace = walked.trace;
    notes.extend(trace.gaps.iter().cloned());
    let symbolic_ms = milliseconds(begin);
    let begin = Instant::now();
    let path = invariants::prepare(&trace, run, &trace.order)?;
    let prepared_ms = milliseconds(begin);
    let mut found = perturb::explain(
        &path,
        &PerturbedQuestion {
            level: asked.level,
            executing: asked.executing,
            ..PerturbedQuestion::alone((run, name), asked.stop, asked.budget)
        },
    )?;
    let invariants_ms = prepared_ms + found.took.as_secs_f64() * 1000.0;
    source::fill(&mut found.told, run);
    Ok(Explained {
        run: name.to_owned(),
        told: found.told,
        stopped: found.stopped,
        measured: InvariantTimes {
            symbolic_ms,
            invariants_ms,
        },
        perturbed: found.perturbed,
    })
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}

/// Refuses runs whose order or values are not those of the program.
fn refuse(run: &Run) -> Result<()> {
    match run.meta.mode {
        OrderMode::Free => bail!(
            "its order is not exact: it was recorded while the threads ran freely\n  next: record with a controlled strategy, such as the default"
        ),
        OrderMode::Path => bail!(
            "it has neither an order nor values: it was recorded in path mode\n  next: unsnarl explain --engine dsp finds an order that fails and keeps it as a run, which can be explained"
        ),
        _ => Ok(()),
    }
}

/// The models that were kept when the run was recorded; without them there are only values.
fn models(loaded: &Loaded, run: &Run, notes: &mut Vec<String>) -> Program {
    match program::load(&loaded.folder, &run.meta.build_id) {
        Ok(models) => models,
        // Following the threads without one says what that loses.
        Err(LoadError::Missing { .. }) => Program::default(),
        Err(error) => {
            notes.push(format!("the program model cannot be used: {error}"));
            Program::default()
        }
    }
}
