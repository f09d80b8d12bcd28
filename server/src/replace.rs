//! Files that others may be reading are replaced, never written into.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

/// Puts a text into a file: written beside it and renamed, so that nobody reads half of it.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // What an earlier process of this number left, or somebody put there to be written through.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::File::options();
    options
        .write(true)
        .create_new(true)
        .open(&beside)?
        .write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}
