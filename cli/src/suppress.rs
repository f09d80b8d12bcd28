//! `unsnarl suppress`.

use crate::{arguments::Suppress, suppressions::SuppressionFile};
use anyhow::{Result, bail};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use unsnarl_core::{Budget, Corpora, Explanation, RunSummary, explain};
use unsnarl_lab::load::{self, Loaded};

/// Writes down that a finding is harmless.
pub fn run(arguments: &Suppress) -> Result<ExitCode> {
    let loaded = load::load(arguments.place.as_deref())?;
    let explanation = find(&loaded, &arguments.finding)?;
    let suppressions = SuppressionFile::read(&project(arguments.place.as_deref()))?;
    if let Some(because) = suppressions.reason(&explanation) {
        outln!("suppressed already: {because}");
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.because.trim().is_empty() {
        bail!("a suppression says why\n  next: --because \"...\", for those who read it in a year");
    }
    let file = suppressions.add(&explanation, &arguments.because)?;
    outln!("suppressed: {}", explanation.headline);
    outln!("in {}; commit it to share it", file.display());
    Ok(ExitCode::SUCCESS)
}

/// The folder of the project whose runs are at a place: where its suppressions are.
pub fn project(place: Option<&Path>) -> PathBuf {
    match place {
        Some(place) if place.join(load::RUNS).is_dir() => place.to_owned(),
        _ => PathBuf::new(),
    }
}

/// The explanation with this id, or the one of this run.
fn find(loaded: &Loaded, named: &str) -> Result<Explanation> {
    let mut told = loaded.told().into_iter();
    if let Some(told) = told.find(|one| one.id == named) {
        return Ok(told);
    }
    let mut corpora = Corpora::default();
    for (name, run) in &loaded.runs {
        corpora.insert(RunSummary::new(name.clone(), run.clone()));
    }
    let mut all = corpora
        .iter()
        .flat_map(|corpus| explain(corpus, &Budget::unlimited()).findings);
    let found = all.find(|it| it.id == named || it.runs.iter().any(|run| run == named));
    match found {
        Some(explanation) => Ok(explanation),
        None => bail!(
            "nothing that is explained is called {named}\n  next: name a failing run, as unsnarl explain does, or the id of its --format json"
        ),
    }
}
