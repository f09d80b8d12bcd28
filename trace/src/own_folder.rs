//! Folders that belong to the user who runs unsnarl: caches and state, in which nobody else can put anything.

use rustix::process::geteuid;
use std::{
    env, fs,
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Kinds of files that are kept for the user, each with folders of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Files that can be regenerated.
    Cache,
    /// Records of what the user has done and decided.
    State,
}

/// The error when no folder can be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {source}", path.display())]
pub struct NoFolder {
    /// The last folder that was tried.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl Purpose {
    /// The first folder for it that belongs to the user, made if need be: below the variable of the XDG base
    /// directories, in the home folder, or in the folder for temporary files.
    pub fn folder(self) -> Result<PathBuf, NoFolder> {
        let mut refused = None;
        for path in self.candidates() {
            match claim(&path) {
                Ok(()) => return Ok(path),
                Err(source) => refused = Some(NoFolder { path, source }),
            }
        }
        Err(refused.unwrap_or_else(|| NoFolder {
            path: PathBuf::new(),
            source: ErrorKind::NotFound.into(),
        }))
    }

    /// The folders for it, the preferred one first. None of them need be there.
    pub fn candidates(self) -> Vec<PathBuf> {
        let (variable, below_home, name) = match self {
            Purpose::Cache => ("XDG_CACHE_HOME", ".cache", "cache"),
            Purpose::State => ("XDG_STATE_HOME", ".local/state", "state"),
        };
        let named = |name| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let of_home = named("HOME").filter(|home| home.is_dir());
        let of_home = of_home.map(|home| home.join(below_home));
        let mut folders: Vec<PathBuf> = named(variable)
            .into_iter()
            .chain(of_home)
            .map(|folder| folder.join("unsnarl"))
            .collect();
        folders.push(self.temporary(name));
        folders
    }

    fn temporary(self, name: &str) -> PathBuf {
        env::temp_dir().join(format!("unsnarl-{name}-{}", geteuid().as_raw()))
    }

    /// Returns whether this folder vanishes with the temporary files.
    pub fn is_temporary(self, folder: &Path) -> bool {
        self.candidates().last().is_some_and(|last| last == folder)
    }
}

/// Makes the folder with mode 0700 unless it is there, and refuses one that is a link, belongs to another user, or can
/// be written by everybody. The permission of a group to write in it is taken away.
pub fn claim(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(above)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return refused("it is a link or a file, not a folder");
    }
    if found.uid() != geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    let mode = found.permissions().mode();
    if mode & 0o002 != 0 {
        return refused("everybody may write in it");
    }
    if mode & 0o020 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o020 & 0o7777))?;
    }
    Ok(())
}

fn refused(why: &'static str) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_folder_is_the_users_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("deep/unsnarl");
        claim(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        claim(&folder).unwrap();
    }

    #[test]
    fn what_others_could_have_written_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("unsnarl");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(claim(&folder).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o775)).unwrap();
        claim(&folder).unwrap();
        assert_eq!(mode(&folder), 0o755);
        let link = temporary.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(claim(&link).is_err());
        fs::write(temporary.path().join("file"), "").unwrap();
        assert!(claim(&temporary.path().join("file")).is_err());
        // Nobody's but the user's own.
        if !geteuid().is_root() {
            assert!(claim(Path::new("/usr")).is_err());
        }
    }
}
