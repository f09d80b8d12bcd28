//! `.unsnarl-suppressions.toml` on disk: what it says is for [`unsnarl_core::suppressions`] to know.

use anyhow::{Context, Result, anyhow};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use unsnarl_core::{
    Explanation,
    suppressions::{FILE, Suppressed, Suppressions},
};
use unsnarl_trace::files::read_text;

/// The suppressions of a project, with the file that they stand in.
#[derive(Debug, Default)]
pub struct SuppressionFile {
    path: PathBuf,
    content: Suppressions,
}

impl SuppressionFile {
    /// Reads the suppressions in the file of a folder; there are none when there is no file. If the file cannot be
    /// read, the error names its line.
    pub fn read(folder: &Path) -> Result<SuppressionFile> {
        let path = folder.join(FILE);
        let text = match read_text(&path) {
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
        let text = self.content.with(explanation, because);
        replace(&self.path, &text)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(&self.path)
    }

    /// The reason why an explanation is suppressed already.
    pub fn reason(&self, explanation: &Explanation) -> Option<&str> {
        self.content.reason(explanation)
    }
}

/// Puts a text in place of a file, whole or not at all. A link is replaced, not followed.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut beside = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    beside.write_all(text.as_bytes())?;
    let before = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file);
    let mode = before.map_or(0o644, |about| about.permissions().mode() & 0o777);
    let file = beside.as_file();
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    beside.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_replaced_and_what_it_names_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (link, other) = (folder.path().join(FILE), folder.path().join("other"));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        replace(&link, "one").unwrap();
        assert!(!other.exists() && !link.is_symlink());
        replace(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

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
