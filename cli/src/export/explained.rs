//! Explanation of one failed run, by comparing it with the runs beside it.

use crate::message;
use anyhow::{Result, bail};
use std::path::Path;
use unsnarl_core::{Budget, BugKind, Corpora, Explanation, RunSummary, explain};
use unsnarl_lab::load::{self, Loaded};

/// The explanation of a run.
pub struct ExplainedRun {
    /// The explanation, if there is one.
    pub explanation: Option<Explanation>,
    /// Files beside it that could not be read, each with the problem.
    pub broken: Vec<(String, String)>,
}

/// Explains a run file from the folder that it lies in; reports it when there is nothing to explain.
pub fn explained(path: &Path) -> Result<ExplainedRun> {
    let loaded = beside(path)?;
    let name = name_in(&loaded, path)?;
    let explanation = alone(&loaded, &name);
    if explanation.is_none() {
        let is_it = |(other, _): &&(String, _)| *other == name;
        let run = loaded.runs.iter().find(is_it);
        message::note(
            &match run.is_some_and(|(_, run)| run.meta.outcome.is_failure()) {
                true => format!("{name} failed, but nothing in the runs explains it"),
                false => format!("{name} did not fail: there is nothing to explain"),
            },
        );
    }
    Ok(ExplainedRun {
        explanation,
        broken: loaded.broken,
    })
}

/// The explanation of this run as if no other one failed, so that the steps are its own. The others decide only
/// whether it fails in every order.
fn alone(loaded: &Loaded, name: &str) -> Option<Explanation> {
    let mut corpora = Corpora::default();
    for (name, run) in &loaded.runs {
        corpora.insert(RunSummary::new(name.clone(), run.clone()));
    }
    let found = |corpora: &Corpora| {
        let all = explain(corpora.of_run(name)?, &Budget::unlimited()).findings;
        let mut all = all.into_iter();
        all.find(|explanation| explanation.runs.iter().any(|run| run == name))
    };
    let together = found(&corpora);
    if together
        .as_ref()
        .is_some_and(|it| it.kind == BugKind::Sequential)
    {
        return together;
    }
    for (other, run) in &loaded.runs {
        if other != name && run.meta.outcome.is_failure() {
            corpora.remove(other);
        }
    }
    found(&corpora)
}

/// The runs of a file's folder, under the names that `explain` has for them.
fn beside(path: &Path) -> Result<Loaded> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if folder == Path::new(load::RUNS) => load::load(None),
        folder => load::load(Some(folder.unwrap_or(Path::new(".")))),
    }
}

fn name_in(loaded: &Loaded, path: &Path) -> Result<String> {
    let stem = path.file_stem().unwrap_or_default();
    let is_it = |name: &str| {
        let named = Path::new(name);
        named.file_stem() == Some(stem) || named.file_name() == Some(stem)
    };
    let found = loaded.runs.iter().find(|(name, _)| is_it(name));
    match found {
        Some((name, _)) => Ok(name.clone()),
        None => bail!("{} is not among the runs of its folder", path.display()),
    }
}
