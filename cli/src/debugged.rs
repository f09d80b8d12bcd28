//! The explanation of a run that is debugged, and the passing run beside it.

use std::{path::Path, sync::Arc};
use unsnarl_core::{
    Budget, Corpus, CorpusKey, Explanation, RunSummary, Step,
    beside::{Passing, nearest, taken},
    explain,
};
use unsnarl_lab::load;
use unsnarl_recorder::replay::debug::DebugStep;
use unsnarl_trace::{Run, RunFolder, read_run};

/// Passing runs that the explanation of the run is made from.
const COMPARED: usize = 50;

/// The explanations of this run: those that were told of it last, then those found from it and the passing runs beside it.
pub fn explanations(path: &Path, name: &str, run: &Arc<Run>) -> Vec<Explanation> {
    let folder = path.parent().unwrap_or(Path::new(load::RUNS));
    let mut told = load::told_of(folder, &[name]);
    let found = found(path, name, run).into_iter();
    let others: Vec<Explanation> = found
        .filter(|one| told.iter().all(|known| known.id != one.id))
        .collect();
    told.extend(others);
    told
}

fn found(path: &Path, name: &str, run: &Arc<Run>) -> Vec<Explanation> {
    let mut corpus = Corpus::new(CorpusKey::of(run));
    corpus.insert(RunSummary::new(name, run.clone()));
    for (name, run) in comparable(path, run) {
        corpus.insert(RunSummary::new(name, Arc::new(run)));
    }
    explain(&corpus, &Budget::unlimited()).findings
}

/// The steps of an explanation in the nearest passing run that takes them in another way, with that run.
pub fn passing(path: &Path, run: &Arc<Run>, explanation: &Explanation) -> Option<(Passing, Run)> {
    let (mut steps, mut runs) = (Vec::new(), Vec::new());
    for (name, other) in comparable(path, run) {
        let taken = taken(explanation, run, &name, &other);
        if taken.differs() {
            steps.push(taken);
            runs.push((name, other));
        }
    }
    let nearest = nearest(steps)?;
    let own = runs.into_iter().find(|(name, _)| *name == nearest.run);
    own.map(|(_, run)| (nearest, run))
}

/// The steps as a debugger shows them.
pub fn steps(steps: &[Step]) -> Vec<DebugStep> {
    steps.iter().map(step).collect()
}

/// The passing runs in the folder of this one that can be compared with it; files that cannot be read say nothing.
fn comparable(path: &Path, run: &Run) -> impl Iterator<Item = (String, Run)> {
    let key = CorpusKey::of(run);
    let folder = path.parent().unwrap_or(Path::new(load::RUNS));
    let files = RunFolder::new(folder).files().unwrap_or_default();
    let passing = files.into_iter().filter_map(|file| {
        let run = read_run(&file.path).ok()?;
        let is_pass = run.meta.outcome == unsnarl_trace::Outcome::Passed && run.damage.is_empty();
        is_pass.then_some((file.name, run))
    });
    passing
        .filter(move |(_, run)| CorpusKey::of(run) == key)
        .take(COMPARED)
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
