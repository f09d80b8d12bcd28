//! Cache of analysis results on disk: when a workspace is opened again, its marks are shown before its runs are read.
//!
//! There is one file for each run folder, below `.unsnarl/cache`. It is valid for exactly the run files that it was
//! made from. A file that is damaged, of another version or about other files is ignored, and written anew.

use crate::{confirming::ShownOutcome, unexplained};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use unsnarl_core::Explanation;
use unsnarl_trace::{
    files::{read_text, replace, sha256},
    folder::RunFile,
};

/// Version of the file's content.
const FORMAT: u32 = 3;

/// The facts about a folder in their stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredFacts {
    /// Key of the run files that it is valid for: [`key`].
    pub key: String,
    /// Run files that were read.
    pub runs: usize,
    /// Number of failing runs among them.
    pub failing: usize,
    /// Failures that no explanation is about.
    pub unexplained: Vec<unexplained::UnexplainedRuns>,
    /// Failing runs of older builds.
    pub outdated: usize,
    /// Run files that cannot be used, each with the reason.
    pub broken: BTreeMap<PathBuf, String>,
    /// Explanations, best first.
    pub explained: Vec<KeptOne>,
    /// Results of running programs again, by explanation, with the name of the run that was executed.
    pub confirmed: BTreeMap<String, (String, ShownOutcome)>,
}

/// An explanation in its stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptOne {
    /// The explanation, with its fixes and invariants.
    pub explanation: Explanation,
    /// Name of the run that it is based on.
    pub evidence: Option<String>,
    /// Names of the passing runs beside it.
    pub passing: Vec<String>,
    /// Basis of its fixes, if they were worked out.
    pub fixes: Option<FixesRestOn>,
    /// `true` if its invariants were worked out.
    pub has_invariants: bool,
}

/// The basis of an explanation's fixes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FixesRestOn {
    /// Number of runs that were examined.
    pub runs: usize,
    /// Sources whose recorded text was not available.
    pub missing: BTreeSet<String>,
}

/// A key that identifies exactly these files, as they are now.
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

/// Reads the stored facts for these files.
pub fn read(root: &Path, runs: &Path, key: &str) -> Option<StoredFacts> {
    let text = read_text(&place(root, runs)).ok()?;
    let (first, body) = text.split_once('\n')?;
    if first != head(body) {
        return None;
    }
    let kept: StoredFacts = serde_json::from_str(body).ok()?;
    (kept.key == key).then_some(kept)
}

/// Stores the facts. Nothing is stored if the project has no `.unsnarl`, or if that is being removed: it is created
/// together with the file that keeps it out of version control.
pub fn write(root: &Path, runs: &Path, kept: &StoredFacts) -> io::Result<()> {
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

/// The first line: type, version, and hash of the rest.
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
