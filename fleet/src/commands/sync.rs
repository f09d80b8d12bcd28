//! `unsnarl-fleet sync`.

use super::{runtime, tell};
use anyhow::{Result, bail};
use std::{path::Path, process::ExitCode};
use unsnarl_fleet::{
    storage::{RunStorage, is_url},
    sync::{LocalRuns, download, upload},
};

/// Copies runs from one place to the other.
pub fn run(from: &str, to: &str) -> Result<ExitCode> {
    let runtime = runtime()?;
    let report = match (is_url(from), is_url(to)) {
        (false, true) if !Path::new(from).is_dir() => bail!("there is no folder {from}"),
        (false, true) => {
            let folder = LocalRuns::new(Path::new(from));
            runtime.block_on(upload(&folder, &RunStorage::open(to)?))?
        }
        (true, false) => {
            let folder = LocalRuns::new(Path::new(to));
            runtime.block_on(download(&RunStorage::open(from)?, &folder))?
        }
        _ => bail!(
            "one of the two must be a folder, and the other one a URL (s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER)"
        ),
    };
    tell(&report);
    Ok(ExitCode::from(u8::from(!report.failures.is_empty())))
}
