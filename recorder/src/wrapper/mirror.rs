//! A folder with links to the user's files in the places of these, and edited files among them: whatever includes such a
//! file by a name relative to its own place, or is given a folder to look in, finds the edited one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::symlink,
    },
    path::{Path, PathBuf},
};

/// Options that name a folder or file of headers, and inputs, which have none.
const NAMING: [&str; 6] = ["", "-I", "-iquote", "-isystem", "-idirafter", "-include"];

/// A mirrored folder.
pub(super) struct Mirror {
    /// The user's folder, without links in its path.
    pub root: PathBuf,
    /// The folder that mirrors it.
    pub folder: PathBuf,
}

impl Mirror {
    /// Mirrors the innermost folder around these folders and files. The folders themselves and those around them become
    /// real folders, so that `..` leads from one to another; everything else in them is a link. All paths are without
    /// links.
    pub fn new(
        folder: PathBuf,
        texts: &BTreeMap<PathBuf, String>,
        folders: &BTreeSet<PathBuf>,
    ) -> io::Result<Mirror> {
        let own = texts.keys().filter_map(|file| file.parent());
        let all: BTreeSet<&Path> = own.chain(folders.iter().map(PathBuf::as_path)).collect();
        let root = common(&all).ok_or(io::ErrorKind::InvalidInput)?;
        let around = all.iter().flat_map(|one| one.ancestors());
        let real: BTreeSet<&Path> = around.filter(|one| one.starts_with(&root)).collect();
        let mirror = Mirror { root, folder };
        for one in &real {
            mirror.fill(one, &real, texts)?;
        }
        Ok(mirror)
    }

    fn fill(
        &self,
        own: &Path,
        real: &BTreeSet<&Path>,
        texts: &BTreeMap<PathBuf, String>,
    ) -> io::Result<()> {
        fs::create_dir_all(self.place(own))?;
        for entry in fs::read_dir(own)? {
            let file = entry?.path();
            match texts.get(&file) {
                Some(text) => fs::write(self.place(&file), text)?,
                None if real.contains(file.as_path()) => {}
                None => symlink(&file, self.place(&file))?,
            }
        }
        Ok(())
    }

    /// The place of a file in the mirror; the path itself if it is not mirrored.
    pub fn place(&self, file: &Path) -> PathBuf {
        match file.strip_prefix(&self.root) {
            Ok(rest) => self.folder.join(rest),
            Err(_) => file.to_owned(),
        }
    }

    /// A word of a command line with the mirrored place of a file that it names by its whole path.
    pub fn word(&self, word: &OsString) -> OsString {
        let named = NAMING.iter().find_map(|option| {
            let rest = word.as_bytes().strip_prefix(option.as_bytes())?;
            let file = PathBuf::from(OsString::from_vec(rest.to_vec()));
            let is_there = file.is_absolute() && file.exists();
            is_there.then_some((option, file))
        });
        let Some((option, file)) = named else {
            return word.clone();
        };
        let mut all = OsString::from(option);
        match file.canonicalize() {
            Ok(real) if !file.starts_with(&self.root) => all.push(self.place(&real)),
            _ => all.push(self.place(&file)),
        }
        all
    }
}

/// The innermost folder around all, unless it is the root of the file system.
fn common(folders: &BTreeSet<&Path>) -> Option<PathBuf> {
    let first = folders.first()?;
    let mut around = first.ancestors();
    let found = around.find(|one| folders.iter().all(|other| other.starts_with(one)))?;
    found.parent().map(|_| found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_files_are_in_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["src", "include/deep", "data"] {
            fs::create_dir_all(root.join("own").join(name)).unwrap();
        }
        let file = |name: &str| root.join("own").join(name);
        for name in ["src/a.c", "include/a.h", "include/b.h", "data/d"] {
            fs::write(file(name), "as it was").unwrap();
        }
        let texts = BTreeMap::from([(file("include/a.h"), "edited".to_owned())]);
        let folders = BTreeSet::from([file("src")]);
        let mirror = Mirror::new(root.join("mirror"), &texts, &folders).unwrap();
        assert_eq!(mirror.root, root.join("own"));
        let text = |name: &str| fs::read_to_string(root.join("mirror").join(name)).unwrap();
        assert_eq!(text("src/../include/a.h"), "edited");
        for name in ["src/a.c", "include/b.h", "data/d"] {
            assert_eq!(text(name), "as it was");
        }
        let mut word = OsString::from("-I");
        word.push(file("include"));
        let mut expected = OsString::from("-I");
        expected.push(root.join("mirror/include"));
        assert_eq!(mirror.word(&word), expected);
        assert_eq!(mirror.word(&"-O2".into()), "-O2");
    }
}
