//! In which workspace folders programs may be run again. The user is asked once; the answer is kept among the user's
//! own files, where no project can give itself the permission.

use crate::replace::replace;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

/// The answers by workspace folder: may its programs be run again?
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Answers {
    folders: BTreeMap<PathBuf, bool>,
}

/// Remembers the answers.
#[derive(Debug, Default)]
pub struct Permissions {
    /// Where they are kept; none when they are for this session only.
    file: Option<PathBuf>,
    /// Answers for this session, which go before those that are kept.
    session: BTreeMap<PathBuf, bool>,
}

impl Permissions {
    /// Answers that are kept in this file, which need not be there.
    pub fn kept_in(file: Option<PathBuf>) -> Permissions {
        Permissions {
            file,
            session: BTreeMap::new(),
        }
    }

    /// What was said about a folder. A file that cannot be read says nothing: then the user is asked again.
    pub fn of(&self, folder: &Path) -> Option<bool> {
        let session = self.session.get(folder).copied();
        session.or_else(|| self.read().folders.get(folder).copied())
    }

    /// For this session only.
    pub fn set_now(&mut self, folder: &Path, may: bool) {
        self.session.insert(folder.to_owned(), may);
    }

    /// For this session and later ones, if it can be written.
    pub fn keep(&mut self, folder: &Path, may: bool) -> io::Result<()> {
        self.set_now(folder, may);
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(above) = file.parent() {
            fs::create_dir_all(above)?;
        }
        let mut answers = self.read();
        answers.folders.insert(folder.to_owned(), may);
        replace(file, &serde_json::to_string_pretty(&answers)?)
    }

    fn read(&self) -> Answers {
        let text = self.file.as_ref().map(fs::read_to_string);
        let text = text.and_then(Result::ok).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// `$XDG_STATE_HOME/unsnarl/may-run.json`, else below `$HOME/.local/state`.
pub fn file() -> Option<PathBuf> {
    let named = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    Some(state?.join("unsnarl/may-run.json"))
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
        fs::write(&file, "{").unwrap();
        assert_eq!(second.of(one), None);
    }

    #[test]
    fn without_a_file_for_the_session() {
        let mut permissions = Permissions::default();
        permissions.keep(Path::new("/w"), true).unwrap();
        assert_eq!(permissions.of(Path::new("/w")), Some(true));
    }
}
