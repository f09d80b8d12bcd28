//! The program and its libraries: read once, shared by all runs that are assembled.

use super::{
    image::{Image, Instrumented},
    sources::SourceFiles,
};
use crate::modelled::libraries_with_locks;
use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};
use unsnarl_trace::{RunFolder, RunMeta, StoreError, files::read_regular, program as model};

/// Upper bound for the size of a program's or library's file.
pub(crate) const MOST: u64 = 8 << 30;

/// An error that keeps a program from being examined.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The file cannot be read.
    #[error("cannot read the program {path}: {cause}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The file is not a program for this machine.
    #[error("{0} is neither an ELF program nor a script, which begins with #!")]
    NotElf(PathBuf),
}

/// Debug info of the program and its libraries, loaded once per recording and shared by all runs.
pub struct ProgramDebugInfo {
    path: PathBuf,
    build_id: String,
    main: Arc<Image>,
    libraries: Mutex<FxHashMap<String, Option<Arc<Image>>>>,
    pub(super) sources: SourceFiles,
    pub(super) points: super::sites::PointCache,
    pub(super) lines: super::lines::LineCache,
    pub(super) returns: super::returns::ReturnsCache,
    /// Libraries with locks that are not recorded, once they were looked for.
    unseen_locks: OnceLock<Vec<String>>,
    /// The folder whose models are up to date, and the number of files that they are of.
    kept: Mutex<Option<(PathBuf, usize)>>,
}

impl ProgramDebugInfo {
    /// Reads a program's symbols and debug info. Libraries follow when a run needs them.
    pub fn open(path: &Path) -> Result<ProgramDebugInfo, ProgramError> {
        let bytes = read_regular(path, MOST).map_err(|cause| ProgramError::Read {
            path: path.to_owned(),
            cause,
        })?;
        let main = Image::parse(&bytes, path, String::new())
            .ok_or_else(|| ProgramError::NotElf(path.to_owned()))?;
        Ok(ProgramDebugInfo {
            path: path.to_owned(),
            build_id: hash_of(&bytes),
            sources: SourceFiles::new(main.built),
            main: Arc::new(main),
            libraries: Mutex::default(),
            points: super::sites::PointCache::default(),
            lines: super::lines::LineCache::default(),
            returns: super::returns::ReturnsCache::default(),
            unseen_locks: OnceLock::new(),
            kept: Mutex::default(),
        })
    }

    /// Takes the text of sources from a recorded run of this build where the files have changed since: a repetition
    /// then uses the same names as the recorded run.
    pub fn recall(&mut self, recorded: &RunMeta) {
        self.sources.recall(recorded);
        self.points = super::sites::PointCache::default();
        self.lines = super::lines::LineCache::default();
        self.returns = super::returns::ReturnsCache::default();
    }

    /// Like [`Program::recall`], for sources that were changed after the build; the run is searched for only if there
    /// are such sources.
    pub fn recall_by(&mut self, find: impl Fn() -> Option<RunMeta> + Send + Sync + 'static) {
        self.sources.recall_by(find);
    }

    /// SHA-256 of the program's file.
    pub fn build_id(&self) -> &str {
        &self.build_id
    }

    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether addresses can be translated into lines of source.
    pub fn has_debug_info(&self) -> bool {
        self.main.has_debug_info
    }

    /// Names of the program's own data whose accesses the compiler does not report.
    pub(super) fn unseen(&self) -> &[String] {
        &self.main.unseen
    }

    /// The libraries that it loads at its start and that have locks of their own, which are not recorded.
    pub(crate) fn unseen_locks(&self) -> &[String] {
        self.unseen_locks
            .get_or_init(|| libraries_with_locks(&self.path))
    }

    /// The instrumentation runtime that the program was linked with.
    pub fn is_instrumented(&self) -> Instrumented {
        self.main.instrumented
    }

    /// Returns whether the program can be started once and make a copy of itself for each run.
    pub fn serves(&self) -> bool {
        self.main.serves
    }

    /// Returns whether the program calls `unsnarl_check` somewhere, though perhaps not in every run.
    pub fn has_checks(&self) -> bool {
        self.main.has_checks
    }

    /// Keeps the program model of this build, as far as its files have one, for the runs in a folder. Does nothing if
    /// that was done before and no library has been loaded since.
    ///
    /// # Errors
    /// Fails if the models cannot be written.
    pub fn keep_models(&self, runs: &RunFolder) -> Result<(), StoreError> {
        let models = self.models();
        let now = (runs.path().to_owned(), models.len());
        let Ok(mut kept) = self.kept.lock() else {
            return Ok(());
        };
        if kept.as_ref() != Some(&now) {
            let sections: Vec<&[u8]> = models.iter().map(|models| &**models).collect();
            model::keep(runs, &self.build_id, &sections)?;
            *kept = Some(now);
        }
        Ok(())
    }

    /// The models of the program and of the libraries seen so far, by their paths.
    fn models(&self) -> Vec<Arc<[u8]>> {
        let mut models = vec![self.main.models()];
        if let Ok(libraries) = self.libraries.lock() {
            let mut found: Vec<&Arc<Image>> = libraries.values().flatten().collect();
            found.sort_by(|a, b| a.path.cmp(&b.path));
            models.extend(found.into_iter().map(|image| image.models()));
        }
        models.retain(|models| !models.is_empty());
        models
    }

    /// The image of a module: the program itself for the empty path.
    pub(super) fn image(&self, path: &str) -> Option<Arc<Image>> {
        if path.is_empty() {
            return Some(self.main.clone());
        }
        let mut libraries = self.libraries.lock().ok()?;
        let load = || {
            let bytes = read_regular(Path::new(path), MOST).ok()?;
            let prefix = format!("{}:", super::names::file_name(path));
            Some(Arc::new(Image::parse(&bytes, Path::new(path), prefix)?))
        };
        libraries
            .entry(path.to_owned())
            .or_insert_with(load)
            .clone()
    }
}

/// The SHA-256 of a program's file, as runs keep it.
pub(crate) fn hash_of(file: &[u8]) -> String {
    hex(&Sha256::digest(file))
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
