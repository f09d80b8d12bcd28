//! Files that others may be reading are replaced, never written into.

use std::{fs, io, path::Path};

/// Puts a text into a file: written beside it and renamed, so that nobody reads half of it.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}
