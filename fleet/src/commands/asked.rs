//! `unsnarl-fleet ask` and `local`: questions about summaries, which the engine answers.

use super::{beside_or_path, cache, runtime, tell};
use crate::UNUSABLE;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    process::{Command, ExitCode},
};
use unsnarl_fleet::{
    storage::{ObjectKind, ObjectName, RunStorage, is_url},
    sync::{LocalRuns, SyncReport, mirror},
};

/// Hands a question to the engine. For a URL it gets the folder in which the summaries are that lie there.
pub fn run(words: &[OsString]) -> Result<ExitCode> {
    let mut called = engine("ask");
    let mut is_whole = true;
    for word in words {
        match word.to_str().filter(|word| is_url(word)) {
            None => called.arg(word),
            Some(url) => {
                let (folder, report) = summaries(&RunStorage::open(url)?)?;
                is_whole &= report.failures.is_empty();
                called.arg(folder.folder())
            }
        };
    }
    Ok(match status(called)? {
        0 if !is_whole => ExitCode::from(1),
        status => ExitCode::from(status),
    })
}

/// Has the engine run a cluster on this machine.
pub fn local(words: &[OsString]) -> Result<ExitCode> {
    let mut called = engine("local");
    called.args(words);
    Ok(ExitCode::from(status(called)?))
}

fn status(mut called: Command) -> Result<u8> {
    let code = called.status().context(MISSING)?.code();
    let status = code.and_then(|code| u8::try_from(code).ok());
    Ok(status.unwrap_or(UNUSABLE))
}

/// A run to explain.
#[derive(Deserialize)]
struct ChosenRun {
    file: String,
    build: String,
}

/// The names of the run files to explain for a way to fail, and of the models of their builds.
pub fn choose(storage: &RunStorage, signature: &str) -> Result<BTreeSet<String>> {
    let (folder, _) = summaries(storage)?;
    let mut called = engine("ask");
    called
        .args(["choose", "--signature", signature])
        .arg(folder.folder());
    let said = called.output().context(MISSING)?;
    let errors = String::from_utf8_lossy(&said.stderr);
    ensure!(matches!(said.status.code(), Some(0 | 1)), "{errors}");
    eprint!("{errors}");
    let chosen: Vec<ChosenRun> = serde_json::from_slice(&said.stdout)?;
    ensure!(
        !chosen.is_empty(),
        "no run failed with the signature {signature}\n  next: unsnarl-fleet ask signatures {}",
        storage.url()
    );
    let names = chosen
        .into_iter()
        .flat_map(|run| [run.file, format!("models/{}", run.build)]);
    Ok(names.collect())
}

/// Fetches the summaries that are not in the cache yet.
fn summaries(storage: &RunStorage) -> Result<(LocalRuns, SyncReport)> {
    let folder = LocalRuns::new(&cache(storage, "summaries")?);
    let is_summary = |name: &ObjectName| name.kind() == ObjectKind::Summary;
    let report = runtime()?.block_on(mirror(storage, &folder, is_summary))?;
    tell(&report);
    Ok((folder, report))
}

const MISSING: &str = "cannot start unsnarl-fleet-engine\n  next: put it beside unsnarl-fleet or on the PATH (cargo install --path fleet/engine)";

fn engine(command: &str) -> Command {
    let mut engine = beside_or_path("unsnarl-fleet-engine");
    engine.arg(command);
    engine
}
