//! Copies runs, and what belongs to them, from a folder to a storage and back.
//!
//! Nothing that is there is transferred or changed, and nothing is removed. What happens to one file says nothing about
//! the others: each failure is kept with its name, and the rest is copied.

mod local;

pub use local::LocalRuns;

use crate::storage::{ObjectKind, ObjectName, Placed, RunStorage, StorageError, StoredContent};
use futures_util::{StreamExt as _, stream};
use std::{collections::BTreeMap, io, path::PathBuf};

/// Transfers at one time: each holds its file in memory.
const AT_ONCE: usize = 8;

/// An error that keeps a file from being copied.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file or folder of this machine cannot be read or written.
    #[error("cannot {action} {}: {source}\n  next: see to its permissions and to the room on the disk, and repeat the command", path.display())]
    Io {
        /// The verb for it.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A run has one name and two sizes.
    #[error("{object} has {stored} bytes, and {} has {local}, so one of them is damaged\n  next: remove it and repeat the command", path.display())]
    Sizes {
        /// URL of the object.
        object: String,
        /// Its size.
        stored: u64,
        /// The file.
        path: PathBuf,
        /// Its size.
        local: u64,
    },
}

/// The work that was done.
#[derive(Debug, Default)]
pub struct SyncReport {
    /// Files that were transferred.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were there.
    pub there: u64,
    /// Reasons for which the others were not copied, by name.
    pub failures: BTreeMap<ObjectName, SyncError>,
}

impl SyncReport {
    fn add(&mut self, name: ObjectName, result: Result<Copied, SyncError>) {
        match result {
            Ok(Copied::Bytes(bytes)) => {
                self.copied += 1;
                self.bytes += bytes;
            }
            Ok(Copied::WasThere) => self.there += 1,
            Err(error) => {
                self.failures.insert(name, error);
            }
        }
    }
}

/// The effect of copying a file.
enum Copied {
    Bytes(u64),
    WasThere,
}

/// A file to copy: with its size here, and with the one in the storage if it is there.
struct Pending {
    name: ObjectName,
    size: u64,
    other: Option<u64>,
}

/// Copies what the folder has to the storage.
pub async fn upload(from: &LocalRuns, to: &RunStorage) -> Result<SyncReport, SyncError> {
    let (local, stored) = (from.list()?, to.list().await?);
    let pending = pending(&local, &stored);
    let copy = async |file: &Pending| match file.other {
        Some(stored) => agree(file, (to, stored), (from, file.size)),
        None => upload_one(from, to, &file.name).await,
    };
    Ok(each(pending, copy).await)
}

/// Copies what the storage has to the folder.
pub async fn download(from: &RunStorage, to: &LocalRuns) -> Result<SyncReport, SyncError> {
    fetch(from, &from.list().await?, to).await
}

async fn fetch(
    from: &RunStorage,
    stored: &BTreeMap<ObjectName, u64>,
    to: &LocalRuns,
) -> Result<SyncReport, SyncError> {
    let pending = pending(stored, &to.list()?);
    let copy = async |file: &Pending| match file.other {
        Some(local) => agree(file, (from, file.size), (to, local)),
        None => {
            let content = from.get(&file.name).await?;
            let bytes = content.bytes.len() as u64;
            to.write(&file.name, &content)?;
            Ok(Copied::Bytes(bytes))
        }
    };
    Ok(each(pending, copy).await)
}

/// Makes a folder of a cache equal to the storage, as far as names are wanted: also removes files that the storage does not
/// have, or that are not wanted.
pub async fn mirror(
    from: &RunStorage,
    to: &LocalRuns,
    is_wanted: impl Fn(&ObjectName) -> bool,
) -> Result<SyncReport, SyncError> {
    let mut stored = from.list().await?;
    stored.retain(|name, _| is_wanted(name));
    for name in to.list()?.keys().filter(|name| !stored.contains_key(name)) {
        to.remove(name)?;
    }
    fetch(from, &stored, to).await
}

fn pending(own: &BTreeMap<ObjectName, u64>, others: &BTreeMap<ObjectName, u64>) -> Vec<Pending> {
    let files = own.iter().map(|(name, &size)| Pending {
        name: name.clone(),
        size,
        other: others.get(name).copied(),
    });
    files.collect()
}

async fn each(
    pending: Vec<Pending>,
    copy: impl AsyncFn(&Pending) -> Result<Copied, SyncError>,
) -> SyncReport {
    let copy = &copy;
    let results = stream::iter(pending).map(async |file| {
        let result = copy(&file).await;
        (file.name, result)
    });
    let add = async |mut report: SyncReport, (name, result)| {
        report.add(name, result);
        report
    };
    results
        .buffer_unordered(AT_ONCE)
        .fold(SyncReport::default(), add)
        .await
}

/// A run that is on both sides has one size. The summary of a run also has the time at which it was recorded, and the
/// models of a build may be those of fewer libraries: the first ones stay.
fn agree(
    file: &Pending,
    (storage, stored): (&RunStorage, u64),
    (folder, local): (&LocalRuns, u64),
) -> Result<Copied, SyncError> {
    if file.name.kind() != ObjectKind::Run || stored == local {
        return Ok(Copied::WasThere);
    }
    Err(SyncError::Sizes {
        object: storage.url_of(&file.name),
        stored,
        path: folder.path_of(&file.name),
        local,
    })
}

async fn upload_one(
    from: &LocalRuns,
    to: &RunStorage,
    name: &ObjectName,
) -> Result<Copied, SyncError> {
    let content = from.read(name)?;
    let damaged = |why| StorageError::Damaged {
        object: from.path_of(name).display().to_string(),
        why,
    };
    name.check(&content.bytes).map_err(damaged)?;
    let bytes = content.bytes.len() as u64;
    match to.put_if_absent(name, content).await? {
        Placed::Written => Ok(Copied::Bytes(bytes)),
        Placed::WasThere => Ok(Copied::WasThere),
    }
}

impl StoredContent {
    /// The content of a file of this machine.
    fn of_file(path: &std::path::Path) -> io::Result<StoredContent> {
        let recorded = path.metadata()?.modified()?;
        let bytes = std::fs::read(path)?.into();
        Ok(StoredContent { bytes, recorded })
    }
}
