//! Files: read where a folder of unknown origin names them, as regular files only, opened without waiting, up to a bound;
//! replaced where others may be reading them, never written into.

use rustix::fs::{Mode, OFlags, open};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read, Write},
    path::Path,
};

/// Most bytes of a text that somebody writes by hand: a source, patterns, suppressions.
pub const MOST_TEXT: u64 = 64 << 20;

/// Opens a regular file for reading, and nothing else: no pipe, on which opening could wait, and no device, which may
/// never end.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty())?);
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        )),
    }
}

/// The bytes of a regular file. A file that has, or turns out to have, more than `most` is refused: files of the kernel
/// have a length of zero and go on for long.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, about) = open_regular(path)?;
    if about.len() > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(too_large(most)),
        false => Ok(bytes),
    }
}

/// The text of a regular file of at most [`MOST_TEXT`] bytes.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_regular(path, MOST_TEXT)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// Puts a text into a file: written beside it and renamed, so that nobody reads half of it.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // What an earlier process of this number left, or somebody put there to be written through.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options
        .write(true)
        .create_new(true)
        .open(&beside)?
        .write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}

/// SHA-256 of bytes in hexadecimal digits, as run files have it of sources and programs.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn too_large(most: u64) -> io::Error {
    let words = match most >> 20 {
        0 => format!("it has more than {most} bytes"),
        megabytes => format!("it has more than {megabytes} MB"),
    };
    io::Error::new(ErrorKind::FileTooLarge, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::os::unix::fs::symlink;

    #[test]
    fn whole_files_up_to_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.c");
        fs::write(&file, "int x;\n").unwrap();
        assert_eq!(read_regular(&file, 7).unwrap(), b"int x;\n");
        let refused = read_regular(&file, 6).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_text(&file).unwrap(), "int x;\n");
    }

    #[test]
    fn what_would_never_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(read_text(&pipe).is_err());
        let link = folder.path().join("zero");
        symlink("/dev/zero", &link).unwrap();
        assert!(read_text(&link).is_err());
        assert!(read_text(folder.path()).is_err());
        // A file of length zero that has more than that to say.
        let kernel = Path::new("/proc/self/status");
        assert!(read_regular(kernel, 1).is_err());
        assert!(read_regular(kernel, 1 << 20).is_ok());
        // A hole costs nothing.
        let sparse = folder.path().join("sparse");
        fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        assert!(read_text(&sparse).is_err());
    }
}
