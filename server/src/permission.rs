//! Permissions of workspace folders to run their programs again. The user is asked once; the answer is kept among the
//! user's own files, where no project can give itself the permission.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};
use unsnarl_trace::{
    files::{read_text, replace},
    own_folder,
};

/// The answers by workspace folder: `true` if its programs may be run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PermissionAnswers {
    folders: BTreeMap<PathBuf, bool>,
    /// Builds that the user has not recorded, by the hashes of their programs' files.
    #[serde(default)]
    builds: BTreeMap<PathBuf, BTreeMap<String, bool>>,
}

/// The store of the answers.
#[derive(Debug, Default)]
pub struct Permissions {
    /// File in which they are kept; `None` when they are for this session only.
    file: Option<PathBuf>,
    /// Answers for this session, which take precedence over the stored ones.
    session: BTreeMap<PathBuf, bool>,
    /// Answers for builds in this session.
    session_builds: BTreeMap<PathBuf, BTreeMap<String, bool>>,
}

impl Permissions {
    /// Answers that are kept in this file, which need not be there.
    pub fn kept_in(file: Option<PathBuf>) -> Permissions {
        Permissions {
            file,
            ..Permissions::default()
        }
    }

    /// The answer about a folder. A file that cannot be read has none: then the user is asked again.
    pub fn of(&self, folder: &Path) -> Option<bool> {
        let session = self.session.get(folder).copied();
        session.or_else(|| self.read().folders.get(folder).copied())
    }

    /// The answers about builds of a folder's programs.
    pub fn builds(&self, folder: &Path) -> BTreeMap<String, bool> {
        let mut builds = self.read().builds.remove(folder).unwrap_or_default();
        let session = self.session_builds.get(folder);
        builds.extend(
            session
                .into_iter()
                .flatten()
                .map(|(build, may)| (build.clone(), *may)),
        );
        builds
    }

    /// Sets answers about builds for this session only.
    pub fn set_builds_now(&mut self, folder: &Path, builds: &BTreeSet<String>, may: bool) {
        let known = self.session_builds.entry(folder.to_owned()).or_default();
        known.extend(builds.iter().map(|build| (build.clone(), may)));
    }

    /// Sets answers about builds for this session and later ones, if the file can be written.
    pub fn keep_builds(
        &mut self,
        folder: &Path,
        builds: &BTreeSet<String>,
        may: bool,
    ) -> io::Result<()> {
        self.set_builds_now(folder, builds, may);
        self.change(|answers| {
            let known = answers.builds.entry(folder.to_owned()).or_default();
            known.extend(builds.iter().map(|build| (build.clone(), may)));
        })
    }

    /// Sets the answer for this session only.
    pub fn set_now(&mut self, folder: &Path, may: bool) {
        self.session.insert(folder.to_owned(), may);
    }

    /// Sets the answer for this session and later ones, if the file can be written.
    pub fn keep(&mut self, folder: &Path, may: bool) -> io::Result<()> {
        self.set_now(folder, may);
        self.change(|answers| {
            answers.folders.insert(folder.to_owned(), may);
        })
    }

    fn change(&self, change: impl FnOnce(&mut PermissionAnswers)) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(above) = file.parent() {
            own_folder::claim(above)?;
        }
        let mut answers = load(file)?;
        change(&mut answers);
        replace(file, &serde_json::to_string_pretty(&answers)?)
    }

    /// The stored answers; none where they cannot be read: then the user is asked again.
    fn read(&self) -> PermissionAnswers {
        let stored = self.file.as_ref().map(|file| load(file));
        stored.and_then(Result::ok).unwrap_or_default()
    }
}

/// Reads the answers of a file, which need not be there.
fn load(file: &Path) -> io::Result<PermissionAnswers> {
    let text = match read_text(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(PermissionAnswers::default());
        }
        text => text?,
    };
    serde_json::from_str(&text).map_err(|error| {
        let said = format!("{} holds no answers: {error}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, said)
    })
}

/// `may-run.json` in the folder of this user's state; none where there is no folder that belongs to the user.
pub fn file() -> Option<PathBuf> {
    let folder = own_folder::Purpose::State.folder().ok()?;
    Some(folder.join("may-run.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/may-run.json");
        let (one, other) = (Path::new("/w/one"), Path::new("/w/other"));
        let mut first = Permissions::kept_in(Some(file.clone()));
        assert_eq!(first.of(one), None);
        first.keep(one, true).unwrap();
        first.keep(other, false).unwrap();
        first.set_now(other, true);
        assert_eq!((first.of(one), first.of(other)), (Some(true), Some(true)));
        let second = Permissions::kept_in(Some(file.clone()));
        assert_eq!(
            (second.of(one), second.of(other)),
            (Some(true), Some(false))
        );
        std::fs::write(&file, "{").unwrap();
        assert_eq!(second.of(one), None);
    }

    #[test]
    fn answers_that_cannot_be_read_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/may-run.json");
        let here = Path::new("/w/one");
        let mut permissions = Permissions::kept_in(Some(file.clone()));
        permissions.keep(here, true).unwrap();
        std::fs::write(&file, "{\"folders\": {\"/w/other\": true},").unwrap();
        let error = permissions.keep(here, false).unwrap_err().to_string();
        assert!(error.contains("may-run.json holds no answers"), "{error}");
        assert_eq!(permissions.of(here), Some(false), "for this session");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("/w/other"), "{text}");
    }

    #[test]
    fn answers_about_builds_are_kept_beside_those_about_folders() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/may-run.json");
        let here = Path::new("/w/one");
        let mut first = Permissions::kept_in(Some(file.clone()));
        first.keep(here, true).unwrap();
        first
            .keep_builds(here, &BTreeSet::from(["ab".to_owned()]), true)
            .unwrap();
        first
            .keep_builds(here, &BTreeSet::from(["cd".to_owned()]), false)
            .unwrap();
        let second = Permissions::kept_in(Some(file));
        assert_eq!(second.of(here), Some(true));
        let expected = [("ab".to_owned(), true), ("cd".to_owned(), false)];
        assert_eq!(second.builds(here), BTreeMap::from(expected));
        assert!(second.builds(Path::new("/w/other")).is_empty());
    }

    #[test]
    fn without_a_file_for_the_session() {
        let mut permissions = Permissions::default();
        permissions.keep(Path::new("/w"), true).unwrap();
        assert_eq!(permissions.of(Path::new("/w")), Some(true));
    }
}
