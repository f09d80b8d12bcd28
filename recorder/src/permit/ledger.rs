//! Record of what the user has recorded on this machine: signatures of deeds, made with a key that nobody else can
//! read.
//!
//! Run files do not contain it, so the same seed gives the same bytes whoever records.

use super::ExecutionInputs;
use hmac::{Hmac, Mac};
use rustix::process::geteuid;
use sha2::Sha256;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};
use unsnarl_trace::{files::read_regular, own_folder};

/// Size at which the older half of the signatures is dropped: some sixty thousand of them are left.
const MOST: u64 = 8 << 20;
/// Bytes of a line: a signature in hexadecimal digits and the end of the line.
const LINE: usize = 65;

/// Bytes of the key.
const KEY: usize = 32;
/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// The user's signatures.
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    key: [u8; KEY],
}

/// The error when the user's recordings cannot be looked up or noted.
#[derive(Debug, thiserror::Error)]
#[error(
    "what you record here cannot be remembered as yours ({}: {source}), so unsnarl explain will not run the program again by itself\n  \
     next: name a folder of your own in XDG_STATE_HOME, or say --trust to commands that run it again",
    path.display()
)]
pub struct LedgerError {
    /// The file or folder.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> LedgerError {
    |source| LedgerError {
        path: path.to_owned(),
        source,
    }
}

impl Ledger {
    /// The ledger of this user; it is made if need be.
    pub fn open() -> Result<Ledger, LedgerError> {
        let folder = own_folder::Purpose::State.folder();
        let folder = folder.map_err(|none| LedgerError {
            path: none.path,
            source: none.source,
        })?;
        Ledger::at(folder)
    }

    /// The ledger in this folder.
    pub fn at(folder: PathBuf) -> Result<Ledger, LedgerError> {
        own_folder::claim(&folder).map_err(at(&folder))?;
        let file = folder.join("key");
        let key = key(&file).map_err(at(&file))?;
        Ok(Ledger { folder, key })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether a deed was signed with this key.
    pub fn has(&self, deed: &ExecutionInputs) -> bool {
        let line = self.line(deed);
        let known = read_regular(&self.file(), 2 * MOST).unwrap_or_default();
        known.chunks_exact(LINE).any(|known| known == line)
    }

    /// Signs a deed, once.
    pub fn add(&self, deed: &ExecutionInputs) -> Result<(), LedgerError> {
        if self.has(deed) {
            return Ok(());
        }
        let file = self.file();
        self.append(&file, &self.line(deed)).map_err(at(&file))
    }

    fn append(&self, file: &Path, line: &[u8]) -> io::Result<()> {
        if fs::metadata(file).is_ok_and(|about| about.len() > MOST) {
            self.shorten(file)?;
        }
        // Lines of several recordings at once do not mix: each is one short write at the end.
        let mut options = OpenOptions::new();
        options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)?
            .write_all(line)
    }

    /// Drops the older half.
    fn shorten(&self, file: &Path) -> io::Result<()> {
        let all = read_regular(file, 2 * MOST)?;
        let lines = all.len() / LINE;
        let newer = all.get(lines / 2 * LINE..).unwrap_or_default();
        let beside = self
            .folder
            .join(format!(".recorded.{}", std::process::id()));
        private(&beside)?.write_all(newer)?;
        fs::rename(&beside, file)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("recorded")
    }

    fn line(&self, deed: &ExecutionInputs) -> Vec<u8> {
        let mut line: String = signature(&self.key, &deed.encoded())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        line.push('\n');
        line.into_bytes()
    }
}

/// HMAC-SHA256 of a message.
fn signature(key: &[u8; KEY], message: &[u8]) -> [u8; 32] {
    // A key that is filled up to a block with zeros is the same key, and one of a block's length cannot be refused.
    let mut block = [0; BLOCK];
    for (place, byte) in block.iter_mut().zip(key) {
        *place = *byte;
    }
    let mut code = <Hmac<Sha256> as Mac>::new(&block.into());
    code.update(message);
    code.finalize().into_bytes().into()
}

/// The key in this file; a new one where there is none yet.
fn key(file: &Path) -> io::Result<[u8; KEY]> {
    match read_key(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    let mut key = [0; KEY];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let beside = file.with_extension(std::process::id().to_string());
    private(&beside)?.write_all(&key)?;
    // Of several at once the first one's key counts.
    let placed = fs::hard_link(&beside, file);
    fs::remove_file(&beside)?;
    match placed {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => read_key(file),
    }
}

fn read_key(file: &Path) -> io::Result<[u8; KEY]> {
    let about = fs::symlink_metadata(file)?;
    let is_private = about.permissions().mode() & 0o077 == 0;
    if !about.is_file() || about.uid() != geteuid().as_raw() || !is_private {
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the key is not the user's alone",
        ));
    }
    let bytes = read_regular(file, KEY as u64)?;
    <[u8; KEY]>::try_from(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not a key"))
}

fn private(file: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::input::RunInput;

    fn deed(program: &str) -> ExecutionInputs {
        ExecutionInputs {
            parent: None,
            program: program.into(),
            build_id: "ab".into(),
            command: vec![program.into()],
            directory: "/w".into(),
            input: RunInput::default(),
        }
    }

    #[test]
    fn another_users_signatures_count_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let one = Ledger::at(folder.path().join("one")).unwrap();
        let other = Ledger::at(folder.path().join("other")).unwrap();
        one.add(&deed("/w/prog")).unwrap();
        fs::copy(one.file(), other.file()).unwrap();
        assert!(one.has(&deed("/w/prog")) && !other.has(&deed("/w/prog")));
        let again = Ledger::at(folder.path().join("one")).unwrap();
        assert!(again.has(&deed("/w/prog")) && !again.has(&deed("/w/other")));
    }

    #[test]
    fn a_deed_is_signed_once_and_the_files_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("state")).unwrap();
        ledger.add(&deed("/w/prog")).unwrap();
        ledger.add(&deed("/w/prog")).unwrap();
        assert_eq!(fs::metadata(ledger.file()).unwrap().len(), LINE as u64);
        for file in [ledger.file(), ledger.folder.join("key")] {
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("state")).unwrap();
        let key = ledger.folder.join("key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Ledger::at(ledger.folder.clone()).is_err());
    }

    #[test]
    fn the_ledger_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("state")).unwrap();
        let lines = MOST as usize / LINE + 2;
        fs::write(ledger.file(), "0".repeat(lines * LINE)).unwrap();
        ledger.add(&deed("/w/prog")).unwrap();
        assert!(fs::metadata(ledger.file()).unwrap().len() < MOST);
        assert!(ledger.has(&deed("/w/prog")));
    }

    /// Test case 1 of RFC 4231, its key of 20 bytes filled up with zeros, which changes nothing.
    #[test]
    fn the_standards_own_example() {
        let mut key = [0; KEY];
        key.iter_mut().take(20).for_each(|byte| *byte = 0x0b);
        let code: String = signature(&key, b"Hi There")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            code,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }
}
