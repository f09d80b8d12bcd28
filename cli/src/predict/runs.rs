//! The runs that predictions are made from: named, the newest of each program, or recorded for the purpose.

use crate::{arguments::PredictArguments, message, record::permitted, replay::find};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use unsnarl_core::{CorpusKey, predict::Inferred};
use unsnarl_lab::load::{self, Loaded};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    record::{Job, RunPlan, execute},
    target,
};
use unsnarl_trace::{
    Criteria, Outcome, Run, RunFolder, meta::USUAL_TIME, raw::RawStrategy, read_run,
};

/// Number of orders that are tried to find one in which the program passes.
const TRIES: u64 = 20;

/// A run to predict from.
pub struct PredictedRun {
    /// Its name, as `replay` takes it.
    pub name: String,
    /// The run.
    pub run: Arc<Run>,
    /// Regions that should be atomic, as other passing runs of the program suggest.
    pub inferred: Inferred,
}

/// The runs that the command line asks for.
pub fn subjects(arguments: &PredictArguments, stop: &AtomicBool) -> Result<Vec<PredictedRun>> {
    if !arguments.command.is_empty() {
        return Ok(vec![recorded(arguments, stop)?]);
    }
    match &arguments.place {
        Some(place) if !place.is_dir() => Ok(vec![named(place)?]),
        place => newest(place.as_deref(), arguments.runs),
    }
}

/// One run by its file or name; it may have failed.
fn named(place: &Path) -> Result<PredictedRun> {
    let path = find(place)?;
    let run = read_run(&path).with_context(|| path.display().to_string())?;
    if let Some(damage) = run.damage.first() {
        bail!(
            "{} is damaged: {damage}\n  next: predict from another run",
            path.display()
        );
    }
    if run.meta.outcome != Outcome::Passed {
        message::note(&format!(
            "this run {}; orders that fail like it are no news",
            run.meta.outcome.name()
        ));
    }
    Ok(PredictedRun {
        name: place.display().to_string(),
        run: Arc::new(run),
        inferred: Inferred::default(),
    })
}

/// The newest passing runs of each build and input.
fn newest(place: Option<&Path>, most: usize) -> Result<Vec<PredictedRun>> {
    let loaded = load::load_newest_passing(place)?;
    for (file, problem) in &loaded.broken {
        message::warning(&format!("left out: {file}: {problem}"));
    }
    let mut passing: BTreeMap<CorpusKey, Vec<(String, Arc<Run>)>> = BTreeMap::new();
    name_left_out(&loaded);
    let count = loaded.left_out.all;
    let runs = loaded.runs.into_iter();
    for (name, run) in runs.filter(|(_, run)| run.meta.outcome == Outcome::Passed) {
        let of_program = passing.entry(CorpusKey::of(&run)).or_default();
        of_program.push((name, run));
    }
    if passing.is_empty() {
        bail!(
            "none of the {count} runs passed, so there is nothing to predict from\n  next: unsnarl explain says why they fail"
        );
    }
    Ok(passing
        .into_values()
        .flat_map(|runs| chosen(runs, most))
        .collect())
}

/// Reports older runs for which there is no memory.
fn name_left_out(loaded: &Loaded) {
    if loaded.left_out.memory > 0 {
        message::note(&format!(
            "{} older passing runs are left out: they would take more than {} MB\n  next: name a run to predict from it",
            loaded.left_out.memory,
            load::MEMORY
        ));
    }
}

/// The first runs of a program, with what all of them suggest.
fn chosen(runs: Vec<(String, Arc<Run>)>, most: usize) -> Vec<PredictedRun> {
    let inferred = Inferred::of(runs.iter().map(|(_, run)| &**run));
    let first = runs.into_iter().take(most);
    first
        .map(|(name, run)| PredictedRun {
            name,
            run,
            inferred: inferred.clone(),
        })
        .collect()
}

/// Records the first passing run of a program: each thread until it waits, then random orders.
fn recorded(arguments: &PredictArguments, stop: &AtomicBool) -> Result<PredictedRun> {
    let directory = std::env::current_dir().context("the current folder cannot be found")?;
    let name = arguments.command.first().cloned().unwrap_or_default();
    let target = target::open(&name, &directory)?;
    let job = Job {
        permit: permitted(&target, None, &arguments.command, &directory),
        parent: None,
        command: arguments.command.clone(),
        directory,
        stdin: arguments.stdin.clone(),
        output: Output::Kept,
        timeout: arguments.timeout.unwrap_or(USUAL_TIME),
        limits: Limits::default(),
        criteria: Criteria::default(),
        starter: Starter::default(),
    };
    for seed in 0..TRIES {
        let run = execute(&job, &target.program, &attempt(seed), stop)?.run;
        if stop.load(Ordering::Relaxed) {
            bail!("stopped before a run had passed");
        }
        if matches!(run.meta.outcome, Outcome::Passed) || run.meta.outcome.is_failure() {
            let out = RunFolder::new(&arguments.out);
            let path = out.store(&run)?;
            job.permit.vouch(&run.meta)?;
            target.program.keep_models(&out)?;
            if run.meta.outcome == Outcome::Passed {
                let name = stem(&path);
                return Ok(PredictedRun {
                    name,
                    run: Arc::new(run),
                    inferred: Inferred::default(),
                });
            }
        }
    }
    bail!(
        "the program passed in none of {TRIES} runs, so there is nothing to predict from\n  next: unsnarl explain says why it fails"
    )
}

fn attempt(seed: u64) -> RunPlan {
    match seed {
        0 => RunPlan::default(),
        seed => RunPlan {
            name: "random",
            strategy: RawStrategy::Random,
            seed,
            ..RunPlan::default()
        },
    }
}

/// The name of a run from its file.
pub fn stem(path: &Path) -> String {
    let name = PathBuf::from(path.file_stem().unwrap_or_default());
    name.display().to_string()
}
