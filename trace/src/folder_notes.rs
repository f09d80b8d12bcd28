//! Notes about folders, one text for each, among the user's own files: nobody else may put one there.

use crate::{
    files::{read_text, replace, sha256},
    own_folder::Purpose,
};
use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Folders of which a note is kept: those that were written last.
const FILES: usize = 64;

/// The notes of one kind.
#[derive(Debug)]
pub struct FolderNotes {
    state: PathBuf,
}

impl FolderNotes {
    /// The notes of a kind, which names their folder among the user's own.
    ///
    /// # Errors
    /// The user has no folder for them.
    pub fn of(kind: &str) -> io::Result<FolderNotes> {
        let own = Purpose::State.folder().map_err(io::Error::other)?;
        let state = own.join(kind);
        Ok(FolderNotes { state })
    }

    /// The note about a folder; empty where there is none. Without a name it is the folder in which the process works.
    #[must_use]
    pub fn read(&self, folder: &Path) -> String {
        let place = self.place(folder);
        place
            .and_then(|place| read_text(&place))
            .unwrap_or_default()
    }

    /// Replaces the note about a folder at once: others may be reading it. The notes about folders that were written long ago
    /// are removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path, text: &str) -> io::Result<()> {
        let place = self.place(folder)?;
        fs::create_dir_all(&self.state)?;
        replace(&place, text)?;
        self.clear()
    }

    /// The file for a folder.
    fn place(&self, folder: &Path) -> io::Result<PathBuf> {
        let folder = match folder.as_os_str().is_empty() {
            true => std::env::current_dir()?,
            false => folder.canonicalize()?,
        };
        let name = sha256(folder.as_os_str().as_bytes());
        Ok(self.state.join(format!("{name}.json")))
    }

    fn clear(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.state)? {
            let path = entry?.path();
            // Another process may have removed it meanwhile.
            if let Ok(modified) = fs::metadata(&path).and_then(|about| about.modified()) {
                files.push((modified, path));
            }
        }
        files.sort();
        let old = files.len().saturating_sub(FILES);
        for (_, path) in files.into_iter().take(old) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> (tempfile::TempDir, FolderNotes) {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("told");
        (folder, FolderNotes { state })
    }

    #[test]
    fn each_folder_has_a_note_of_its_own() {
        let (_own, notes) = notes();
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        notes.write(one.path(), "first").unwrap();
        notes.write(one.path(), "anew").unwrap();
        assert_eq!(notes.read(one.path()), "anew");
        assert_eq!(notes.read(other.path()), "");
    }

    #[test]
    fn the_folders_that_were_written_last_stay() {
        let (_own, notes) = notes();
        fs::create_dir(&notes.state).unwrap();
        for number in 0..FILES {
            fs::write(notes.state.join(format!("{number}.json")), "").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        notes.write(folder.path(), "told").unwrap();
        assert_eq!(fs::read_dir(&notes.state).unwrap().count(), FILES);
        assert_eq!(notes.read(folder.path()), "told");
    }
}
