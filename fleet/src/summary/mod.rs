//! Summaries of runs, for aggregation over many of them: a Parquet file beside the run file, so that nobody who counts
//! has to open a run.
//!
//! A summary is one flat table. Each row is a *fact*, and has the columns of its run as well, so that no query needs a
//! join to tell the program or the outcome; repeated values take next to nothing in Parquet. `docs/fleet.md` documents the
//! columns, and a test compares the page with [`schema::COLUMNS`].

mod facts;
mod run_facts;
pub mod schema;
mod signature;
mod write;

pub use facts::{Fact, FactKind, Operation, facts};
pub use run_facts::RunFacts;
pub use signature::failure_signature;
pub use write::SummaryError;

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};
use unsnarl_trace::{Run, read_run};

/// File name extension of summaries.
const EXTENSION: &str = "parquet";

/// The summary of a run that is stored in a file.
pub fn summarize(run: &Run, file: &str, recorded: SystemTime) -> Result<Vec<u8>, SummaryError> {
    let of_run = RunFacts::new(run, file, recorded);
    write::table(&of_run, &facts(run))
}

/// The file of a run's summary.
pub fn beside(run_file: &Path) -> PathBuf {
    run_file.with_extension(EXTENSION)
}

/// Writes the summary of a run file beside it; returns its path, or `None` if it is there already: a run never changes.
pub fn write_beside(run_file: &Path) -> Result<Option<PathBuf>, SummaryError> {
    let path = beside(run_file);
    if path.exists() {
        return Ok(None);
    }
    let name = run_file.file_name().unwrap_or_default().to_string_lossy();
    let recorded = run_file.metadata().and_then(|file| file.modified());
    let recorded = recorded.map_err(|error| unreadable(run_file, &error))?;
    let run = read_run(run_file).map_err(|error| unreadable(run_file, &error))?;
    let bytes = summarize(&run, &name, recorded)?;
    store(&path, &bytes).map_err(|source| SummaryError::Io {
        path: path.clone(),
        source,
    })?;
    Ok(Some(path))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> SummaryError {
    SummaryError::Run {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

/// Puts the file into its place as a whole.
fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file()
        .set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(path)?;
    Ok(())
}
