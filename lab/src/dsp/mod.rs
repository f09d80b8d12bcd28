//! Differential schedule projections: for each way to fail the failing order, the nearest order that passes, and what
//! they do differently; both executed.

mod analysis;
mod choose;
mod execute;
mod paths;
mod recorded;
mod region;
mod solver;

pub use execute::{Executor, WAYS, failure as why_not};

use self::analysis::Analysis;
use crate::{Executing, cancel::cancellable, load::Loaded};
use serde::Serialize;
use std::path::Path;
use unsnarl_core::{
    Budget, Corpus, StopReason, Tally,
    findings::{by_failure, weaknesses},
};
use unsnarl_symbolic::{dsp::Dsp, schedules::SolverOptions};
use unsnarl_trace::{
    OrderMode, Run,
    program::{self, LoadError, Program},
};

/// Failing runs of one way to fail that are looked at until one is told about and confirmed.
const RUNS: usize = 6;

/// Answer of the engine about a corpus.
pub struct ProjectionAnswer {
    /// For each way to fail, those of most runs first.
    pub failures: Vec<WayToFail>,
    /// Reason why it stopped.
    pub stopped: StopReason,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One way to fail.
pub struct WayToFail {
    /// Description of the failure and its place.
    pub what: String,
    /// The runs that fail so, as `replay` takes them; the shortest first.
    pub runs: Vec<String>,
    /// The projection, or why there is none, with the next step.
    pub told: Result<Box<ExecutedProjection>, String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A projection with what came of executing it.
pub struct ExecutedProjection {
    /// The failing run that it is of.
    pub run: String,
    /// The two orders.
    pub dsp: Dsp,
    /// Number of times that the failing order failed and the other one passed; none when they were not executed.
    pub confirmed: Option<Tally>,
    /// Reason why it is not confirmed, in words; none when it is.
    pub unconfirmed: Option<String>,
    /// The other order is that of this recorded run.
    pub recorded: Option<String>,
    /// Sizes and times of the work for it.
    pub measured: ProjectionTimes,
}

/// Sizes and times, for tables.
#[derive(Clone, Default, Debug, Serialize)]
pub struct ProjectionTimes {
    /// Locations that several threads access and one writes.
    pub shared_variables: usize,
    /// Accesses of them.
    pub shared_accesses: usize,
    /// Constraints of the failing order, as the solver gets them.
    pub constraints: Option<u64>,
    /// Unknowns of the failing order.
    pub variables: Option<u64>,
    /// Milliseconds that following the threads through the program model took.
    pub symbolic_ms: f64,
    /// Milliseconds that looking for other orders took.
    pub search_ms: f64,
    /// Milliseconds that the solver took for the failing order.
    pub solver_ms: Option<f64>,
    /// Milliseconds that executing took.
    pub executing_ms: f64,
    /// Pairs of operations that could be turned round.
    pub pairs: usize,
    /// Pairs that were tried until an order passed.
    pub tried: usize,
    /// Orders that were executed.
    pub executed: usize,
}

/// Request to the engine.
pub struct ProjectionRequest<'a> {
    /// Means for executing programs.
    pub with: &'a Executing<'a>,
    /// Nothing is executed.
    pub no_run: bool,
    /// The failing order is solved for as well.
    pub solve: bool,
    /// Limits of the solver.
    pub solver: SolverOptions,
    /// An exact build, for runs that cannot be made to have an order.
    pub program: Option<&'a Path>,
    /// Time for all of it.
    pub budget: &'a Budget,
}

/// Asks the engine about the failing runs of a corpus.
pub fn ask(corpus: &Corpus, asked: &ProjectionRequest<'_>) -> ProjectionAnswer {
    if corpus.failing().next().is_none() {
        return ProjectionAnswer {
            failures: Vec::new(),
            stopped: StopReason::Lacks("a failing run"),
            notes: Vec::new(),
        };
    }
    let kinds = by_failure(corpus);
    let mut failures = Vec::new();
    for (what, runs) in kinds {
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        failures.push(explain(what, names, asked));
    }
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.runs.len()));
    ProjectionAnswer {
        failures,
        stopped: asked.budget.stop().unwrap_or(StopReason::Complete),
        notes: weaknesses(corpus),
    }
}

/// The projection of the first of the runs of which one can be made and confirmed; else of the first of which one
/// can be made. After an order that passes as far as it is known the program may fail in another thread, which goes on
/// differently in each run.
fn explain(what: String, runs: Vec<String>, asked: &ProjectionRequest<'_>) -> WayToFail {
    let mut told: Option<(ExecutedProjection, Vec<String>)> = None;
    let mut reason: Option<(String, Vec<String>)> = None;
    for name in runs.iter().take(RUNS) {
        let found = asked
            .with
            .loaded
            .runs
            .iter()
            .find(|(known, _)| known == name);
        let Some((_, run)) = found else { continue };
        let mut notes = Vec::new();
        match about(name, run, asked, &mut notes) {
            Ok(projection) => {
                let is_settled =
                    projection.unconfirmed.is_none() || projection.measured.executed == 0;
                if is_settled || told.is_none() {
                    told = Some((projection, notes));
                }
                if is_settled {
                    break;
                }
            }
            Err(error) if reason.is_none() => reason = Some((format!("{name}: {error:#}"), notes)),
            Err(_) => {}
        }
        if asked.budget.stop().is_some() {
            break;
        }
    }
    let (told, notes) = match (told, reason) {
        (Some((projection, notes)), _) => (Ok(Box::new(projection)), notes),
        (None, Some((reason, notes))) => (Err(reason), notes),
        (None, None) => (Err("the runs are gone".to_owned()), Vec::new()),
    };
    WayToFail {
        what,
        runs,
        told,
        notes,
    }
}

fn about(
    name: &str,
    run: &Run,
    asked: &ProjectionRequest<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<ExecutedProjection> {
    if run.meta.mode == OrderMode::Path {
        return paths::about_paths(name, run, asked, notes);
    }
    let with = asked.with;
    let executor = match asked.no_run {
        true => Err("nothing was executed (--no-run)".to_owned()),
        false => Executor::new(run, name, with.given, with.times, with.stop)
            .map_err(|error| format!("{error:#}")),
    };
    executed(name, run, asked, &executor, notes)
}

/// The projection of a run whose program can be executed, or why it cannot.
///
/// # Errors
/// No other order is known that passes; in words, with the next step where there is one.
pub fn executed(
    name: &str,
    run: &Run,
    asked: &ProjectionRequest<'_>,
    executor: &Result<Executor<'_>, String>,
    notes: &mut Vec<String>,
) -> anyhow::Result<ExecutedProjection> {
    let models = models(asked.with.loaded, run, notes);
    let analysis = cancellable(asked.with.stop, asked.budget, || {
        let mut analysis = Analysis::of(name, run, &models, notes, asked.budget)?;
        if asked.solve {
            analysis.solve(&asked.solver, notes, asked.budget);
        }
        anyhow::Ok(analysis)
    });
    let projection = match analysis {
        Ok(analysis) => analysis.project(executor, asked.budget),
        Err(error) => return Err(error),
    };
    projection.or_else(|reason| {
        let nearest = recorded::project(name, run, asked, executor);
        if nearest.is_ok() {
            notes.push("no other order of the failing run's own steps passes: it is compared with the nearest recorded run that passed".to_owned());
        }
        nearest.map_err(|_| reason)
    })
}

/// The models that were kept when the run was recorded; without them only its order is used.
fn models(loaded: &Loaded, run: &Run, notes: &mut Vec<String>) -> Program {
    match program::load(&loaded.folder, &run.meta.build_id) {
        Ok(models) => models,
        Err(LoadError::Missing { .. }) => {
            notes.push(
                "there is no program model: only executing tells which order passes, and no conditions are shown\n  next: build with `unsnarl cc` and record again".to_owned(),
            );
            Program::default()
        }
        Err(error) => {
            notes.push(format!("the program model cannot be used: {error}"));
            Program::default()
        }
    }
}
