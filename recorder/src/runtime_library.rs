//! The runtime that is linked into the user's program, wherever unsnarl is installed: it is embedded
//! in this library and written to the user's cache folder on first use.

use crate::wrapper::{
    assembler,
    flags::{CommandParts, EXPORTED, SPECS, STRINGS},
};
use sha2::{Digest, Sha256};
use std::{
    env, fs,
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use unsnarl_trace::own_folder;

/// The archive that the build script made.
pub(crate) static ARCHIVE: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/libunsnarl_runtime.a"));
/// The header by which a program tells the scheduler something: `unsnarl.h`.
pub static HEADER: &str = include_str!("../include/unsnarl.h");
/// The header that lets programs compile the members of `std::string` themselves.
static STRINGS_HEADER: &str = include_str!("../include/unsnarl_strings.h");
/// The beginning of the archive's SHA-256: another build of unsnarl has its own folder.
const HASH: &str = env!("UNSNARL_RUNTIME_HASH");

/// The error when the runtime could not be made available.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the runtime to {place}: {error}\n  next: make the folder writable, or name another one in XDG_CACHE_HOME"
)]
pub struct CacheError {
    /// The file or folder.
    pub place: String,
    /// The cause.
    pub error: io::Error,
}

/// The runtime and what goes with it, as files; written if they are not there yet.
pub fn parts() -> Result<CommandParts, CacheError> {
    Ok(CommandParts {
        runtime: provide("libunsnarl_runtime.a", ARCHIVE)?,
        specs: provide("thread.specs", SPECS.as_bytes())?,
        exported: provide("exported.list", EXPORTED.as_bytes())?,
        include: include()?,
        tools: tools()?,
    })
}

/// The folder with our headers, and with nothing else that an `#include` could find.
fn include() -> Result<PathBuf, CacheError> {
    let folder = folder()?.join("include");
    own(&folder)?;
    provide("include/unsnarl.h", HEADER.as_bytes())?;
    provide(&format!("include/{STRINGS}"), STRINGS_HEADER.as_bytes())?;
    Ok(folder)
}

/// A folder in which this program goes by the assembler's name.
fn tools() -> Result<PathBuf, CacheError> {
    let itself = env::current_exe().map_err(failed(Path::new("/proc/self/exe")))?;
    let hash = Sha256::digest(itself.as_os_str().as_bytes());
    let name: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let folder = folder()?.join(format!("tools-{name}"));
    own(&folder)?;
    let link = folder.join(assembler::NAME);
    if fs::read_link(&link).is_ok_and(|target| target == itself) {
        return Ok(folder.join(""));
    }
    match symlink(&itself, &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(&link)(error)),
        _ => Ok(folder.join("")),
    }
}

/// The folder of the runtime's files. It is made if need be, and belongs to the user alone: what is in it becomes
/// part of the programs that the user builds, and some of it is executed.
pub fn folder() -> Result<PathBuf, CacheError> {
    let cache = own_folder::Purpose::Cache.folder();
    let cache = cache.map_err(|none| CacheError {
        place: none.path.display().to_string(),
        error: none.source,
    })?;
    let folder = cache.join(format!("runtime-{HASH}"));
    if !folder.exists() {
        remove_old(&cache);
    }
    own(&folder)?;
    Ok(folder)
}

/// Makes a folder of the user's own, or refuses the one that is there.
fn own(folder: &Path) -> Result<(), CacheError> {
    own_folder::claim(folder).map_err(failed(folder))
}

fn failed(place: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let place = place.display().to_string();
    move |error| CacheError { place, error }
}

fn provide(name: &str, content: &[u8]) -> Result<PathBuf, CacheError> {
    let folder = folder()?;
    let file = folder.join(name);
    if !is_ours(&file, content.len()) {
        write(&folder, &file, content).map_err(failed(&file))?;
    }
    Ok(file)
}

/// Number of folders of other builds of unsnarl that are kept.
const KEPT: usize = 3;
/// Age below which a folder may belong to a build that is still running.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes room when this build of unsnarl is new here: of the others only the newest are kept. Folders that cannot be
/// read or removed stay; they do no harm.
fn remove_old(cache: &Path) {
    let mut others: Vec<(SystemTime, PathBuf)> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("runtime-"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    others.sort();
    let older = others.len().saturating_sub(KEPT);
    for (made, folder) in others.into_iter().take(older) {
        if made.elapsed().is_ok_and(|age| age > RECENT) {
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// Returns whether the file is there, whole, and was not put there by another user.
fn is_ours(file: &Path, length: usize) -> bool {
    let user = rustix::process::getuid().as_raw();
    let owned = |owner: u32| owner == user || owner == 0;
    file.symlink_metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() == length as u64 && owned(meta.uid()))
}

/// Writes a temporary file and renames it: concurrent compilers never see half a file.
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
    fn only_the_newest_of_the_old_are_kept() {
        let cache = tempfile::tempdir().unwrap();
        let make = |name: &str, days: u32| {
            let folder = cache.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("libunsnarl_runtime.a"), b"x").unwrap();
            let made = SystemTime::now() - RECENT * days;
            fs::File::open(&folder).unwrap().set_modified(made).unwrap();
        };
        for days in 2..8 {
            make(&format!("runtime-{days}"), days);
        }
        make("tools", 100);
        remove_old(cache.path());
        let mut left: Vec<_> = fs::read_dir(cache.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["runtime-2", "runtime-3", "runtime-4", "tools"]);
        for days in 0..6 {
            make(&format!("runtime-new-{days}"), 0);
        }
        remove_old(cache.path());
        let recent = fs::read_dir(cache.path()).unwrap().flatten();
        let recent = recent.filter(|entry| entry.file_name().to_string_lossy().contains("-new-"));
        assert_eq!(recent.count(), 6, "a build that goes on may use them");
    }

    #[test]
    fn the_archive_is_one() {
        assert!(ARCHIVE.starts_with(b"!<arch>\n"));
        assert_eq!(HASH.len(), 16);
    }
}
