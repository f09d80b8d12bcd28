//! `unsnarl-fleet explain` and `report`: other commands on runs that are fetched for them.

use super::{asked::choose, cache, runtime, status, tell, unsnarl, with_failures};
use crate::arguments::StoredRuns;
use anyhow::Result;
use std::process::ExitCode;
use unsnarl_fleet::{
    storage::{ObjectName, RunStorage},
    sync::{LocalRuns, mirror},
};

/// Fetches the runs that are not in the cache yet, and calls a command of `unsnarl` for all of them.
pub fn run(command: &str, asked: &StoredRuns) -> Result<ExitCode> {
    let storage = RunStorage::open(&asked.url)?;
    let folder = LocalRuns::new(&cache(&storage, "runs")?);
    call(command, asked, (&storage, &folder), |_| true)
}

/// The same, for the runs that explain one way to fail.
pub fn run_chosen(command: &str, signature: &str, asked: &StoredRuns) -> Result<ExitCode> {
    let storage = RunStorage::open(&asked.url)?;
    let folder = LocalRuns::new(&cache(&storage, signature)?);
    let chosen = choose(&storage, signature)?;
    call(command, asked, (&storage, &folder), |name| {
        chosen.contains(name.as_str())
    })
}

fn call(
    command: &str,
    asked: &StoredRuns,
    (storage, folder): (&RunStorage, &LocalRuns),
    is_wanted: impl Fn(&ObjectName) -> bool,
) -> Result<ExitCode> {
    let report = runtime()?.block_on(mirror(storage, folder, is_wanted))?;
    tell(&report);
    let mut called = unsnarl(command);
    called.arg(folder.folder()).args(&asked.words);
    Ok(with_failures(status(called)?, &report))
}
