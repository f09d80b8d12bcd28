//! `unsnarl replay RUN --gdb`.

use crate::message;
use anyhow::Result;
use std::{ffi::OsString, path::Path, process::ExitCode, sync::Arc};
use unsnarl_core::{Budget, Corpus, CorpusKey, RunSummary, explain};
use unsnarl_lab::load;
use unsnarl_recorder::replay::{
    ReplayOptions,
    debug::{DebugStep, Debugged, ProgramOutput, Session, debug},
    registers,
};
use unsnarl_trace::{Run, RunFolder, read_run};

/// Passing runs that the explanation of the run is made from.
const COMPARED: usize = 50;

/// Starts gdb on the program that follows the run.
pub fn run(
    path: &Path,
    run: Arc<Run>,
    options: &ReplayOptions,
    arguments: Vec<OsString>,
) -> Result<ExitCode> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let session = Session {
        steps: steps(path, &name, &run),
        name: name.into_owned(),
        arguments,
        output: ProgramOutput::Inherited,
    };
    if let Some(limit) = registers::limit() {
        message::note(&limit);
    }
    let debugged = debug(&run, options, &session)?;
    report(&debugged);
    let differs = debugged.difference.is_some();
    Ok(match (differs, debugged.status.code()) {
        (true, _) => ExitCode::FAILURE,
        (false, Some(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        (false, None) => ExitCode::FAILURE,
    })
}

fn report(debugged: &Debugged) {
    match &debugged.difference {
        Some(difference) => {
            outln!(
                "the program left the recorded run at event {}:",
                difference.event
            );
            outln!("  recorded  {}", difference.recorded);
            outln!("  debugged  {}", difference.replayed);
        }
        None if !debugged.has_run => message::note("the program was not run"),
        None if debugged.has_ended => outln!("the program repeated the recorded run"),
        None => outln!("the program repeated the recorded run as far as it came"),
    }
}

/// The steps of the first explanation of this run, found from it and the passing runs beside it.
fn steps(path: &Path, name: &str, run: &Arc<Run>) -> Vec<DebugStep> {
    let key = CorpusKey::of(run);
    let mut corpus = Corpus::new(key.clone());
    corpus.insert(RunSummary::new(name, run.clone()));
    for (name, run) in passing(path)
        .filter(|(_, run)| CorpusKey::of(run) == key)
        .take(COMPARED)
    {
        corpus.insert(RunSummary::new(name, Arc::new(run)));
    }
    let outcome = explain(&corpus, &Budget::unlimited());
    let first = outcome.findings.into_iter().next();
    let steps = first
        .map(|explanation| explanation.steps)
        .unwrap_or_default();
    steps.iter().map(step).collect()
}

/// The passing runs in the folder of this one; files that cannot be read say nothing.
fn passing(path: &Path) -> impl Iterator<Item = (String, Run)> {
    let folder = path.parent().unwrap_or(Path::new(load::RUNS));
    let files = RunFolder::new(folder).files().unwrap_or_default();
    files.into_iter().filter_map(|file| {
        let run = read_run(&file.path).ok()?;
        let is_pass = run.meta.outcome == unsnarl_trace::Outcome::Passed && run.damage.is_empty();
        is_pass.then_some((file.name, run))
    })
}

fn step(step: &unsnarl_core::Step) -> DebugStep {
    let file = step.place.file.rsplit('/').next().unwrap_or("");
    let mut text = format!("{} {file}:{}", step.thread, step.place.line);
    for part in [&step.place.text, &step.effect, &step.note] {
        if !part.is_empty() {
            text.push_str("  ");
            text.push_str(part);
        }
    }
    DebugStep {
        event: step.event,
        text,
    }
}
