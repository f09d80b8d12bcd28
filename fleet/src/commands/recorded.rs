//! `unsnarl-fleet record`: a campaign whose runs go to a storage.

use super::{cache, runtime, status, tell, unsnarl};
use crate::{UNUSABLE, arguments::StoredRuns};
use anyhow::Result;
use std::{fs, path::Path, process::ExitCode};
use unsnarl_fleet::{
    storage::RunStorage,
    sync::{LocalRuns, SyncReport, upload},
};

/// Records into a folder of the cache, and copies from there. Runs of an earlier campaign that could not be copied are
/// still there, and are tried again.
pub fn run(asked: &StoredRuns) -> Result<ExitCode> {
    let storage = RunStorage::open(&asked.url)?;
    let folder = cache(&storage, "recorded")?;
    let mut called = unsnarl("record");
    called
        .args(["--summaries", "--out"])
        .arg(&folder)
        .args(&asked.words);
    let recorded = status(called)?;
    if !folder.is_dir() {
        return Ok(ExitCode::from(recorded));
    }
    let uploaded = runtime()?.block_on(upload(&LocalRuns::new(&folder), &storage));
    let is_done = match &uploaded {
        Ok(report) => is_whole(report),
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    };
    if is_done {
        fs::remove_dir_all(&folder)?;
        return Ok(ExitCode::from(recorded));
    }
    Ok(advise(&folder, &storage))
}

fn is_whole(report: &SyncReport) -> bool {
    tell(report);
    report.failures.is_empty()
}

fn advise(folder: &Path, storage: &RunStorage) -> ExitCode {
    eprintln!(
        "  next: unsnarl-fleet sync '{}' {}",
        folder.display(),
        storage.url()
    );
    ExitCode::from(UNUSABLE)
}
