//! The folder that runs are kept in.
//!
//! A run is one file that never changes: it is written beside under a name that readers pass over,
//! and renamed. Whatever else lies in the folder is left alone.

use crate::{
    meta::RunMeta,
    read::{ReadError, read_run_bytes},
    run::Run,
    write::{RunEncoder, WriteError, encode},
};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// File name extension of run files.
const EXTENSION: &str = "arrow";
/// The folder of a project that unsnarl keeps its files in.
pub(crate) const HOME: &str = ".unsnarl";
/// The folder of the runs of the project in the current folder.
pub const RUNS: &str = ".unsnarl/runs";

/// A folder of run files. It need not be there yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

/// One file in a [`RunFolder`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RunFile {
    /// File name without folder and extension.
    pub name: String,
    /// The whole path.
    pub path: PathBuf,
    /// Size in bytes.
    pub len: u64,
    /// Time of the last modification.
    pub modified: SystemTime,
}

/// The content of a run file that has not been written yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedRun {
    name: String,
    /// Its bytes, in pieces.
    parts: Vec<Vec<u8>>,
}

impl EncodedRun {
    /// Encodes `run`.
    pub fn of(run: &Run) -> Result<EncodedRun, StoreError> {
        let parts = encode(run).map_err(StoreError::Run)?;
        Ok(EncodedRun::of_parts(&run.meta, parts))
    }

    /// A run whose events were encoded while they were made.
    pub fn of_events(
        events: RunEncoder,
        meta: &RunMeta,
        locations: &[String],
    ) -> Result<EncodedRun, StoreError> {
        let parts = events.finish(meta, locations).map_err(StoreError::Run)?;
        Ok(EncodedRun::of_parts(meta, parts))
    }

    fn of_parts(meta: &RunMeta, parts: Vec<Vec<u8>>) -> EncodedRun {
        EncodedRun {
            name: file_name(meta, &parts),
            parts,
        }
    }

    /// Decodes the run.
    pub fn decode(&self) -> Result<Run, ReadError> {
        read_run_bytes(self.parts.concat())
    }

    /// Its size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "no run file is empty")]
    pub fn len(&self) -> u64 {
        self.parts.iter().map(|part| part.len() as u64).sum()
    }
}

/// An error that keeps a run from being stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder or the file could not be written.
    #[error("cannot write {}: {source}; {}", path.display(), advice(source))]
    Io {
        /// The file or folder that could not be written.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The run itself is inconsistent.
    #[error(transparent)]
    Run(WriteError),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room and record again; the runs stored before are whole"
        }
        _ => "name a folder that you may write to with --out",
    }
}

impl RunFolder {
    /// The folder at `path`.
    pub fn new(path: impl Into<PathBuf>) -> RunFolder {
        RunFolder { path: path.into() }
    }

    /// The folder for the runs of the project at `root`.
    pub fn of_project(root: &Path) -> RunFolder {
        RunFolder::new(root.join(RUNS))
    }

    /// The folder that a place names: that of a project's runs where the project has one, else the place itself.
    pub fn at(place: &Path) -> RunFolder {
        let project = RunFolder::of_project(place);
        match project.path().is_dir() {
            true => project,
            false => RunFolder::new(place),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of this name for runs that belong to those in this one and are none of them: in a project's `.unsnarl`,
    /// elsewhere within this folder, whose readers pass folders over.
    pub fn beside(&self, name: &str) -> RunFolder {
        let mut above = self.path.ancestors();
        let home = above.find(|folder| folder.file_name() == Some(OsStr::new(HOME)));
        RunFolder::new(home.unwrap_or(&self.path).join(name))
    }

    /// The run files in it, by name. A folder that is not there has none.
    pub fn files(&self) -> io::Result<Vec<RunFile>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut files = Vec::new();
        for entry in entries {
            // A file that vanished between the listing and the look at it is no error.
            files.extend(run_file(&entry?.path()));
        }
        files.sort();
        Ok(files)
    }

    /// Writes a run into the folder, which is made if need be. The same run is stored once.
    pub fn store(&self, run: &Run) -> Result<PathBuf, StoreError> {
        self.store_encoded(&EncodedRun::of(run)?)
    }

    /// Like [`RunFolder::store`], for a run whose file's content is known.
    pub fn store_encoded(&self, run: &EncodedRun) -> Result<PathBuf, StoreError> {
        let path = self.path.join(&run.name);
        if !self.has(run) {
            self.place_parts(&path, &run.parts)?;
        }
        Ok(path)
    }

    /// Returns whether the run is stored already.
    pub fn has(&self, run: &EncodedRun) -> bool {
        let there = fs::metadata(self.path.join(&run.name));
        there.is_ok_and(|there| there.len() == run.len())
    }

    /// Writes a file of this folder, or of one beside it, whole or not at all.
    pub(crate) fn place(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.place_parts(path, &[bytes])
    }

    fn place_parts(&self, path: &Path, parts: &[impl AsRef<[u8]>]) -> Result<(), StoreError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        self.make().map_err(at(&self.path))?;
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = Beside {
            path: folder.join(format!(".{name}.{}", std::process::id())),
        };
        beside
            .write(parts)
            .and_then(|()| fs::rename(&beside.path, path))
            .map_err(at(path))
    }

    /// Makes the folder; one in a project is kept out of the project's version control.
    fn make(&self) -> io::Result<()> {
        let home = self
            .path
            .parent()
            .filter(|parent| parent.file_name() == Some(OsStr::new(HOME)));
        let new_home = home.filter(|home| !home.exists());
        fs::create_dir_all(&self.path)?;
        new_home.map_or(Ok(()), |home| fs::write(home.join(".gitignore"), "*\n"))
    }
}

/// The run file at `path`, if that is one.
pub fn run_file(path: &Path) -> Option<RunFile> {
    let file_name = path.file_name()?.to_str()?;
    let name = file_name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    if name.is_empty() || name.starts_with('.') {
        return None;
    }
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(RunFile {
        name: name.to_owned(),
        path: path.to_owned(),
        len: metadata.len(),
        modified: metadata.modified().ok()?,
    })
}

/// `failed-random-7-0123abcd.arrow`: how it ended, how it was made, and the beginning of its SHA-256.
fn file_name(meta: &RunMeta, parts: &[Vec<u8>]) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric();
    let strategy: String = meta.strategy.chars().filter(is_plain).collect();
    let strategy = if strategy.is_empty() {
        "run"
    } else {
        &strategy
    };
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let hash: String = hash
        .finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!(
        "{}-{strategy}-{}-{hash}.{EXTENSION}",
        meta.outcome.name(),
        meta.seed
    )
}

/// A file on its way into the folder; what did not arrive is removed.
struct Beside {
    path: PathBuf,
}

impl Beside {
    fn write(&self, parts: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(&self.path)?);
        for part in parts {
            file.write_all(part.as_ref())?;
        }
        file.flush()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After the rename there is nothing to remove, and after a failure nothing more to say.
        let _ = fs::remove_file(&self.path);
    }
}
