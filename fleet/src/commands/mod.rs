//! The commands, and what several of them say.

pub mod asked;
pub mod fetched;
pub mod recorded;
pub mod summarize;
pub mod sync;

use anyhow::{Context, Result};
use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode},
};
use tokio::runtime::Runtime;
use unsnarl_fleet::{storage::RunStorage, sync::SyncReport};
use unsnarl_trace::own_folder::Purpose;

/// The threads that wait for storages.
fn runtime() -> Result<Runtime> {
    Runtime::new().context("cannot start the threads that wait for the storage")
}

/// Names each file that was not copied, and says what was.
fn tell(report: &SyncReport) {
    for failure in report.failures.values() {
        eprintln!("error: {failure}");
    }
    let failed = match report.failures.len() {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    eprintln!(
        "{} files ({} bytes) transferred, {} were there{failed}",
        report.copied, report.bytes, report.there
    );
}

/// The folder in the cache for what lies at a URL.
fn cache(storage: &RunStorage, purpose: &str) -> Result<PathBuf> {
    let name = storage.url().replace('%', "%25").replace('/', "%2F");
    Ok(Purpose::Cache
        .folder()?
        .join("fleet")
        .join(name)
        .join(purpose))
}

/// A command of the `unsnarl` beside this program, or of the one on the `PATH`.
fn unsnarl(command: &str) -> Command {
    let mut unsnarl = beside_or_path("unsnarl");
    unsnarl.arg(command);
    unsnarl
}

/// The program of this name beside this one, or the one on the `PATH`.
fn beside_or_path(name: &str) -> Command {
    let own = env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(name)));
    let beside = beside.filter(|path| path.is_file());
    Command::new(beside.map_or_else(|| OsString::from(name), Into::into))
}

/// Waits for it; returns its exit status.
fn status(mut command: Command) -> Result<u8> {
    let ended = command.status().context(
        "cannot start unsnarl\n  next: put it beside unsnarl-fleet or on the PATH (cargo install --path cli)",
    )?;
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::UNUSABLE))
}

/// The exit status of the other command, which is not 0 unless everything was copied.
fn with_failures(status: u8, report: &SyncReport) -> ExitCode {
    match (status, report.failures.is_empty()) {
        (0, false) => ExitCode::from(crate::UNUSABLE),
        _ => ExitCode::from(status),
    }
}
