//! `.unsnarl-suppressions.toml` on disk: what it says is for [`unsnarl_core::suppressions`] to know.

use anyhow::{Context, Result, anyhow};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use unsnarl_core::{
    Explanation,
    suppressions::{FILE, Suppressed, Suppressions},
};

/// The suppressions of a project, with the file that they stand in.
#[derive(Debug, Default)]
pub struct SuppressionFile {
    path: PathBuf,
    content: Suppressions,
}

impl SuppressionFile {
    /// Those in the file of a folder; none when there is no file. A file that cannot be read is named with its line.
    pub fn read(folder: &Path) -> Result<SuppressionFile> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let content = Suppressions::parse(&text).map_err(|error| {
            anyhow!(
                "{}: {error}\n  next: correct it (docs/formats.md), or remove that suppression and write it anew: unsnarl suppress",
                path.display(),
            )
        })?;
        Ok(SuppressionFile { path, content })
    }

    /// Takes out of the explanations those that are suppressed.
    pub fn take(&self, explanations: &mut Vec<Explanation>) -> Vec<Suppressed> {
        self.content.take(explanations)
    }

    /// Suppressions that match none of the suppressed findings, each as file, line and reason.
    pub fn unused(&self, suppressed: &[Suppressed]) -> Vec<String> {
        let unused = self.content.unused(suppressed).into_iter();
        let told = unused.map(|(line, because)| {
            format!(
                "{}:{line}: nothing that was found is suppressed by this ({because})",
                self.path.display()
            )
        });
        told.collect()
    }

    /// Writes one more into the file. Says where.
    pub fn add(&self, explanation: &Explanation, because: &str) -> Result<&Path> {
        fs::write(&self.path, self.content.with(explanation, because))
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(&self.path)
    }

    /// The reason why an explanation is suppressed already.
    pub fn reason(&self, explanation: &Explanation) -> Option<&str> {
        self.content.reason(explanation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_file_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "[[supress]]\n").unwrap();
        let said = SuppressionFile::read(folder.path())
            .unwrap_err()
            .to_string();
        for part in [FILE, "line 1", "supress", "next:"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
