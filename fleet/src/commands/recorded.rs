//! `unsnarl-fleet record`: a campaign whose runs go to a storage.

use super::{cache, runtime, status, tell, unsnarl};
use crate::{UNUSABLE, arguments::StoredRuns};
use anyhow::Result;
use std::{fs, path::Path, process::ExitCode};
use unsnarl_fleet::{
    storage::RunStorage,
    sync::{LocalRuns, SyncReport, upload},
};

/// Records into a folder of its own in the cache, and copies from there: other campaigns for the same storage may go on at the
/// same time. A folder of which something could not be copied stays.
pub fn run(asked: &StoredRuns) -> Result<ExitCode> {
    let storage = RunStorage::open(&asked.url)?;
    let all = cache(&storage, "recorded")?;
    fs::create_dir_all(&all)?;
    let own = tempfile::Builder::new().prefix("runs-").tempdir_in(&all)?;
    // Whatever ends this process, what was recorded stays.
    let folder = own.keep();
    let mut called = unsnarl("record");
    called
        .args(["--summaries", "--out"])
        .arg(&folder)
        .args(&asked.words);
    let recorded = status(called)?;
    if fs::read_dir(&folder)?.next().is_none() {
        fs::remove_dir(&folder)?;
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
