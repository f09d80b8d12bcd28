//! Runs in a folder of this machine, by the names that they have in a storage.

use super::SyncError;
use crate::{
    place::place,
    storage::{ObjectKind, ObjectName, StoredContent},
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use unsnarl_trace::{RunFolder, program};

/// A folder of runs, with the folder of the models of their builds.
#[derive(Clone, Debug)]
pub struct LocalRuns {
    runs: PathBuf,
    models: PathBuf,
}

impl LocalRuns {
    /// The runs in a folder, or those of a project. The folder need not be there.
    pub fn new(folder: &Path) -> LocalRuns {
        let runs = RunFolder::at(folder).path().to_owned();
        LocalRuns {
            models: program::folder(&runs),
            runs,
        }
    }

    /// The folder of run files.
    pub fn folder(&self) -> &Path {
        &self.runs
    }

    /// Sizes of the files that belong to runs.
    pub fn list(&self) -> Result<BTreeMap<ObjectName, u64>, SyncError> {
        let mut files = self.list_in(&self.runs, "")?;
        files.extend(self.list_in(&self.models, "models/")?);
        Ok(files)
    }

    fn list_in(&self, folder: &Path, prefix: &str) -> Result<BTreeMap<ObjectName, u64>, SyncError> {
        let failed = |source| at("read", folder, source);
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            other => other.map_err(failed)?,
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().ok();
            let name = name.and_then(|name| ObjectName::of(&format!("{prefix}{name}")));
            // A file that vanished between the listing and the look at it is no error.
            let file = entry.metadata().ok().filter(fs::Metadata::is_file);
            files.extend(name.zip(file.map(|file| file.len())));
        }
        Ok(files)
    }

    /// Path of a file.
    pub fn path_of(&self, name: &ObjectName) -> PathBuf {
        match name.kind() {
            ObjectKind::Model => self.models.join(name.file()),
            ObjectKind::Run | ObjectKind::Summary => self.runs.join(name.file()),
        }
    }

    /// Reads a file.
    pub fn read(&self, name: &ObjectName) -> Result<StoredContent, SyncError> {
        let path = self.path_of(name);
        StoredContent::of_file(&path).map_err(|source| at("read", &path, source))
    }

    /// Writes a file, whole or not at all, with the time at which it was recorded.
    pub fn write(&self, name: &ObjectName, content: &StoredContent) -> Result<(), SyncError> {
        let path = self.path_of(name);
        let folder = path.parent().unwrap_or(&self.runs);
        fs::create_dir_all(folder).map_err(|source| at("make", folder, source))?;
        place(&path, &content.bytes, Some(content.recorded))
            .map_err(|source| at("write", &path, source))
    }

    /// Removes a file.
    pub fn remove(&self, name: &ObjectName) -> Result<(), SyncError> {
        let path = self.path_of(name);
        fs::remove_file(&path).map_err(|source| at("remove", &path, source))
    }
}

fn at(action: &'static str, path: &Path, source: io::Error) -> SyncError {
    SyncError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
