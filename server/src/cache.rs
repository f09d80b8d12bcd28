//! What analysis found, kept on disk: opened again, a workspace shows its marks before its runs are read.
//!
//! One file for each run folder, below `.unsnarl/cache`. It holds for exactly the run files that it was made of. What is
//! damaged, of another version or about other files is as good as not there, and written anew.

use crate::{confirming::Shown, follow::sha256, replace::replace, unexplained};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use unsnarl_core::Explanation;
use unsnarl_trace::files::read_text;
use unsnarl_trace::folder::RunFile;

/// Changes with what stands in the file.
const FORMAT: u32 = 3;

/// What is kept of the facts about a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The run files that it holds for: [`key`].
    pub key: String,
    /// Run files that were read.
    pub runs: usize,
    /// How many of them failed.
    pub failing: usize,
    /// Failures that no explanation is about.
    pub unexplained: Vec<unexplained::Kept>,
    /// Failing runs of older builds.
    pub outdated: usize,
    /// Run files that cannot be used, each with the reason.
    pub broken: BTreeMap<PathBuf, String>,
    /// Best first.
    pub explained: Vec<KeptOne>,
    /// What running programs again has shown, by explanation, with the name of the run that was executed.
    pub confirmed: BTreeMap<String, (String, Shown)>,
}

/// What is kept of one explanation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptOne {
    /// With its fixes and invariants.
    pub explanation: Explanation,
    /// Name of the run that it is told of.
    pub evidence: Option<String>,
    /// Names of the passing runs beside it.
    pub passing: Vec<String>,
    /// What its fixes rest on, if they were worked out.
    pub fixes: Option<FixesRestOn>,
    /// Its invariants were worked out.
    pub has_invariants: bool,
}

/// What the fixes of an explanation rest on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FixesRestOn {
    /// How many runs were looked at.
    pub runs: usize,
    /// Sources of which the recorded text could not be had.
    pub missing: BTreeSet<String>,
}

/// Stands for exactly these files, as they are now.
pub fn key(files: &BTreeSet<RunFile>) -> String {
    let mut text = String::new();
    for file in files {
        let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        text.push_str(&format!(
            "{} {} {}\n",
            file.path.display(),
            file.len,
            since.as_nanos()
        ));
    }
    sha256(text.as_bytes())
}

/// What is kept for these files.
pub fn read(root: &Path, runs: &Path, key: &str) -> Option<Kept> {
    let text = read_text(&place(root, runs)).ok()?;
    let (first, body) = text.split_once('\n')?;
    if first != head(body) {
        return None;
    }
    let kept: Kept = serde_json::from_str(body).ok()?;
    (kept.key == key).then_some(kept)
}

/// Keeps it. Nothing is kept where the project has
/// no `.unsnarl`, or where that is being removed: it is made with what keeps it out of version control.
pub fn write(root: &Path, runs: &Path, kept: &Kept) -> io::Result<()> {
    let place = place(root, runs);
    let body = serde_json::to_string(kept)?;
    let text = format!("{}\n{body}", head(&body));
    let folder = place.parent().unwrap_or(root);
    let made = match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if !fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir()) => {
            Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                "it is a link or a file, not a folder",
            ))
        }
        _ => Ok(()),
    };
    match made.and_then(|()| replace(&place, &text)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

/// The first line: what it is, of which version, and the hash of the rest.
fn head(body: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "unsnarl editor cache {FORMAT} {version} {}",
        sha256(body.as_bytes())
    )
}

fn place(root: &Path, runs: &Path) -> PathBuf {
    let name = sha256(runs.as_os_str().as_encoded_bytes());
    let name = name.get(..8).unwrap_or(&name);
    root.join(".unsnarl/cache")
        .join(format!("editor-{name}.json"))
}
