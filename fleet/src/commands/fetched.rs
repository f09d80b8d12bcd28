//! `unsnarl-fleet explain` and `report`: other commands on runs that are fetched for them.

use super::{cache, runtime, status, tell, unsnarl, with_failures};
use crate::arguments::StoredRuns;
use anyhow::Result;
use std::process::ExitCode;
use unsnarl_fleet::{
    storage::RunStorage,
    sync::{LocalRuns, mirror},
};

/// Fetches the runs that are not in the cache yet, and calls a command of `unsnarl` for all of them.
pub fn run(command: &str, asked: &StoredRuns) -> Result<ExitCode> {
    let storage = RunStorage::open(&asked.url)?;
    let folder = LocalRuns::new(&cache(&storage, "runs")?);
    let report = runtime()?.block_on(mirror(&storage, &folder))?;
    tell(&report);
    let mut called = unsnarl(command);
    called.arg(folder.folder()).args(&asked.words);
    Ok(with_failures(status(called)?, &report))
}
