//! The project's file of suppressions, which lists harmless findings: read when it changes, written at the user's
//! command.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};
use unsnarl_core::{
    Explanation,
    suppressions::{FILE, Suppressions},
};
use unsnarl_trace::files::{read_text, replace};

/// The reason that is written when none is given.
const NO_REASON: &str = "called harmless in the editor";

/// The suppressions of a workspace folder; none when it has no such file. The error is for a person.
pub fn read(root: &Path) -> Result<Suppressions, String> {
    let path = file(root);
    let text = match read_text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| format!("cannot read {}: {error}", path.display()))?,
    };
    Suppressions::parse(&text).map_err(|error| {
        format!(
            "{}: {error}\nnothing is suppressed until that is corrected (docs/formats.md)",
            path.display()
        )
    })
}

/// Adds a suppression to the file, which is read anew before: somebody may have edited it.
pub fn add(root: &Path, explanation: &Explanation, because: Option<&str>) -> Result<(), String> {
    let suppressions = read(root)?;
    if suppressions.reason(explanation).is_some() {
        return Ok(());
    }
    let because = because.filter(|because| !because.trim().is_empty());
    let text = suppressions.with(explanation, because.unwrap_or(NO_REASON));
    let path = file(root);
    replace(&path, &text).map_err(|error| {
        format!(
            "cannot write {}: {error}; make the folder writable",
            path.display()
        )
    })
}

/// Path of the file.
pub fn file(root: &Path) -> PathBuf {
    root.join(FILE)
}
