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
pub use run_facts::{FailureFacts, RunFacts};
pub use signature::failure_signature;
pub use write::{SummaryError, table};

use crate::{
    place::place,
    storage::{ObjectName, Placed, RunStorage, StorageError, StoredContent},
};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};
use unsnarl_trace::{Run, read_run, read_run_bytes};

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
    place(&path, &bytes, None).map_err(|source| SummaryError::Io {
        path: path.clone(),
        source,
    })?;
    Ok(Some(path))
}

/// Writes the summary of a stored run beside it; returns whether it was there already.
pub async fn write_stored(
    storage: &RunStorage,
    run: &ObjectName,
) -> Result<Placed, StoredSummaryError> {
    let Some(name) = run.summary() else {
        return Ok(Placed::WasThere);
    };
    let content = storage.get(run).await?;
    let object = storage.url_of(run);
    let decoded = read_run_bytes(content.bytes.to_vec());
    let decoded = decoded.map_err(|error| unreadable(Path::new(&object), &error))?;
    let bytes = summarize(&decoded, run.as_str(), content.recorded)?.into();
    let summary = StoredContent { bytes, ..content };
    Ok(storage.put_if_absent(&name, summary).await?)
}

/// An error that keeps a stored run from being summarized.
#[derive(Debug, thiserror::Error)]
pub enum StoredSummaryError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no summary of it.
    #[error(transparent)]
    Summary(#[from] SummaryError),
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> SummaryError {
    SummaryError::Run {
        path: path.to_owned(),
        why: error.to_string(),
    }
}
