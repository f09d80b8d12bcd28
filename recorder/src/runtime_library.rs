//! The runtime that is linked into the user's program, wherever unsnarl is installed: it is embedded
//! in this library and written to the user's cache folder on first use.

use crate::wrapper::flags::{EXPORTED, Parts, SPECS};
use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The archive that the build script made.
static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libunsnarl_runtime.a"));
/// The beginning of the archive's SHA-256: another build of unsnarl has its own folder.
const HASH: &str = env!("UNSNARL_RUNTIME_HASH");

/// Why the runtime could not be made available.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the runtime to {place}: {error}\n  next: make the folder writable, or name another one in XDG_CACHE_HOME"
)]
pub struct CacheError {
    /// The file or folder.
    pub place: String,
    /// Why.
    pub error: io::Error,
}

/// The runtime and what goes with it, as files; written if they are not there yet.
pub fn parts() -> Result<Parts, CacheError> {
    Ok(Parts {
        runtime: provide("libunsnarl_runtime.a", ARCHIVE)?,
        specs: provide("thread.specs", SPECS.as_bytes())?,
        exported: provide("exported.list", EXPORTED.as_bytes())?,
    })
}

/// The folder that they are in. It need not exist yet.
pub fn folder() -> PathBuf {
    cache_root().join("unsnarl").join(format!("runtime-{HASH}"))
}

/// `$XDG_CACHE_HOME`, else `$HOME/.cache`, else a folder of this user's own under the temporary one.
fn cache_root() -> PathBuf {
    let named = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(cache) = named("XDG_CACHE_HOME") {
        return cache;
    }
    match named("HOME").filter(|home| home.is_dir()) {
        Some(home) => home.join(".cache"),
        None => env::temp_dir().join(format!(
            "unsnarl-cache-{}",
            rustix::process::getuid().as_raw()
        )),
    }
}

fn provide(name: &str, content: &[u8]) -> Result<PathBuf, CacheError> {
    let folder = folder();
    let file = folder.join(name);
    if is_ours(&file, content.len()) {
        return Ok(file);
    }
    let failed = |place: &Path| {
        let place = place.display().to_string();
        move |error| CacheError { place, error }
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(failed(&folder))?;
    write(&folder, &file, content).map_err(failed(&file))?;
    Ok(file)
}

/// There, whole, and not put there by another user.
fn is_ours(file: &Path, length: usize) -> bool {
    let user = rustix::process::getuid().as_raw();
    let owned = |owner: u32| owner == user || owner == 0;
    file.symlink_metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() == length as u64 && owned(meta.uid()))
}

/// Beside, then renamed: several compilers at once never see half a file.
fn write(folder: &Path, file: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    beside.write_all(content)?;
    beside
        .as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    beside.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        fs::write(&file, b"half").unwrap();
        assert!(!is_ours(&file, 6));
        write(folder.path(), &file, b"entire").unwrap();
        assert!(is_ours(&file, 6));
        assert_eq!(fs::read(&file).unwrap(), b"entire");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn the_archive_is_one() {
        assert!(ARCHIVE.starts_with(b"!<arch>\n"));
        assert_eq!(HASH.len(), 16);
    }
}
