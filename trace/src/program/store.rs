//! Storage for the models of builds: one file for each build, beside the runs, named by its build id.

use super::{DecodeError, Hash, Program, decode_all, encode::first};
use crate::files::read_regular;
use crate::folder::{RunFolder, StoreError};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The folder for models, beside the folder for runs.
const FOLDER: &str = "models";
/// Most bytes of a build's models.
const MOST: u64 = 1 << 30;

/// An error that keeps a build's models from being read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No model was kept for this build.
    #[error(
        "there is no program model of this build in {}\n  next: build the program with `unsnarl cc` \
         and record it again",
        folder.display()
    )]
    Missing {
        /// The folder in which it was looked for.
        folder: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read the program model {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file's content is no model.
    #[error("{}: {source}; remove the file and record the program again", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// The defect.
        source: DecodeError,
    },
}

/// The folder with the models of the builds whose runs lie in `runs`: within a project's `.unsnarl` the one folder
/// `.unsnarl/models`, elsewhere `models` among the runs.
pub fn folder(runs: &Path) -> PathBuf {
    let full = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
    let home = full
        .ancestors()
        .find(|folder| folder.file_name() == Some(crate::folder::HOME.as_ref()));
    home.unwrap_or(&full).join(FOLDER)
}

/// The units of the build with this id, for a run that lies in the folder `runs`. Linear in the file.
///
/// # Errors
/// Fails if there is none, or if it cannot be read.
pub fn load(runs: &Path, build_id: &str) -> Result<Program, LoadError> {
    let folder = folder(runs);
    let Some(path) = file(&folder, build_id) else {
        return Err(LoadError::Missing { folder });
    };
    let bytes = match read_regular(&path, MOST) {
        Ok(bytes) => bytes,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::Missing { folder });
        }
        Err(source) => return Err(LoadError::Io { path, source }),
    };
    match decode_all(&bytes) {
        Ok(units) => Ok(Program::new(units)),
        Err(source) => Err(LoadError::Decode { path, source }),
    }
}

/// Keeps the models of a build: `sections` are those of its files. What was kept for this build with other
/// libraries stays, for the runs that are of them.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn keep(runs: &RunFolder, build_id: &str, sections: &[&[u8]]) -> Result<(), StoreError> {
    let Some(path) = file(&folder(runs.path()), build_id) else {
        return Ok(());
    };
    let mut bytes = sections.concat();
    if bytes.is_empty() {
        return Ok(());
    }
    // What cannot be read is as good as not there.
    let there = fs::read(&path).unwrap_or_default();
    if there == bytes {
        return Ok(());
    }
    let known: Vec<Hash> = units(&bytes).map(|(name, _)| name).collect();
    for (name, blob) in units(&there) {
        if !known.contains(&name) {
            bytes.extend(blob);
        }
    }
    if there == bytes {
        return Ok(());
    }
    runs.place(&path, &bytes)
}

/// The file of a build; `None` for an ill-formed id, which anybody's run file may contain.
fn file(folder: &Path, build_id: &str) -> Option<PathBuf> {
    let is_id = !build_id.is_empty() && build_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| folder.join(build_id))
}

/// Units that are whole, up to the first that is not.
fn units(mut bytes: &[u8]) -> impl Iterator<Item = (Hash, &[u8])> {
    std::iter::from_fn(move || {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let (name, blob, rest) = first(bytes.get(zeros..)?).ok()?;
        bytes = rest;
        Some((name, blob))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Unit, encode};

    fn unit(source: &str) -> Vec<u8> {
        let unit = Unit {
            source: source.into(),
            ..Unit::default()
        };
        encode(&unit).unwrap()
    }

    fn sources(program: &Program) -> Vec<&str> {
        program
            .units()
            .map(|(_, unit)| unit.source.as_str())
            .collect()
    }

    #[test]
    fn models_lie_beside_the_runs() {
        assert_eq!(
            folder(Path::new("/p/.unsnarl/runs")),
            Path::new("/p/.unsnarl/models")
        );
        let branches = Path::new("/p/.unsnarl/runs/branches");
        assert_eq!(folder(branches), Path::new("/p/.unsnarl/models"));
        assert_eq!(folder(Path::new("/q")), Path::new("/q/models"));
    }

    #[test]
    fn units_of_other_libraries_stay() {
        let folder = tempfile::tempdir().unwrap();
        let runs = RunFolder::new(folder.path());
        let (a, b, c) = (unit("a"), unit("b"), unit("c"));
        keep(&runs, "1f", &[&a, &b]).unwrap();
        keep(&runs, "1f", &[&a, &c]).unwrap();
        keep(&runs, "1f", &[&a, &c]).unwrap();
        let program = load(folder.path(), "1f").unwrap();
        assert_eq!(sources(&program), ["a", "c", "b"]);
        let files = fs::read_dir(folder.path().join(FOLDER)).unwrap();
        assert_eq!(files.count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_missing_or_broken_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let runs = RunFolder::new(folder.path());
        let error = |id: &str| load(folder.path(), id).unwrap_err().to_string();
        assert!(error("1f").contains("no program model"), "{}", error("1f"));
        assert!(error("../x").contains("no program model"));
        keep(&runs, "1f", &[&unit("a")]).unwrap();
        let path = folder.path().join(FOLDER).join("1f");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(error("1f").contains("cut off"), "{}", error("1f"));
        fs::write(&path, b"something").unwrap();
        assert!(error("1f").contains("no program model"));
        keep(&runs, "1f", &[&unit("a")]).unwrap();
        assert_eq!(sources(&load(folder.path(), "1f").unwrap()), ["a"]);
    }
}
