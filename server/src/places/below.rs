//! Search in a workspace folder and its subfolders, broad before deep.

use super::Places;
use ignore::WalkBuilder;
use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Levels below a workspace folder that are looked at.
const LEVELS: usize = 5;
/// Levels below a folder that git ignores: `out/build/debug` is two below `out`.
const IGNORED_LEVELS: usize = 2;
/// Number of folders of a workspace folder that are looked at. Each is watched, and watches are scarce.
const MOST_FOLDERS: usize = 1000;
/// Number of those among them, or below them, that git ignores.
const MOST_IGNORED: usize = 500;

/// Subfolders of a folder.
#[derive(Default)]
struct Subfolders {
    /// Those with files of the project.
    kept: Vec<PathBuf>,
    /// Those that git ignores, and hidden ones.
    ignored: Vec<PathBuf>,
}

/// Looks for the run folder `runs` in a workspace folder and below. Build folders are folders that git ignores, as a
/// rule: such folders are looked at after all others, and less deep.
pub fn below(workspace: &Path, runs: &Path) -> Places {
    let own = runs.components().next().map(|first| first.as_os_str());
    let mut places = Places::default();
    let mut ignored = VecDeque::new();
    let from = VecDeque::from([(workspace.to_owned(), 0)]);
    let is_whole = places.search(from, runs, (LEVELS, MOST_FOLDERS), |folder| {
        let found = kept_and_ignored(folder, own)?;
        ignored.extend(found.ignored.into_iter().map(|folder| (folder, 0)));
        Some(found.kept)
    });
    let limits = (IGNORED_LEVELS, MOST_IGNORED);
    let are_whole = places.search(ignored, runs, limits, |folder| subfolders(folder, own));
    if !(is_whole && are_whole) {
        places.cut.insert(workspace.to_owned());
    }
    places
}

impl Places {
    /// Looks at folders, each with its level, and what is below them; returns whether that was all. Folders that cannot
    /// be read are left out: nobody records there.
    fn search(
        &mut self,
        mut waiting: VecDeque<(PathBuf, usize)>,
        runs: &Path,
        (levels, most): (usize, usize),
        mut subfolders: impl FnMut(&Path) -> Option<Vec<PathBuf>>,
    ) -> bool {
        let room = self.tree.len() + most;
        while let Some((folder, level)) = waiting.pop_front() {
            if self.tree.len() == room {
                return false;
            }
            let Some(below) = subfolders(&folder) else {
                continue;
            };
            self.note(&folder, runs);
            if level < levels {
                waiting.extend(below.into_iter().map(|folder| (folder, level + 1)));
            }
            self.tree.insert(folder);
        }
        true
    }
}

/// The subfolders of a folder, without the one that runs land in and git's own.
fn subfolders(folder: &Path, own: Option<&OsStr>) -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name();
        name != own && name != Some(OsStr::new(".git"))
    });
    paths.sort();
    Some(paths)
}

/// The same, sorted by whether git ignores them.
fn kept_and_ignored(folder: &Path, own: Option<&OsStr>) -> Option<Subfolders> {
    let all = subfolders(folder, own)?;
    let walk = WalkBuilder::new(folder)
        .max_depth(Some(1))
        .ignore(false)
        .build();
    let seen: BTreeSet<PathBuf> = walk.flatten().map(|entry| entry.into_path()).collect();
    let (kept, ignored) = all.into_iter().partition(|path| seen.contains(path));
    Some(Subfolders { kept, ignored })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The folders with runs in a folder that has these run folders, files and folders.
    fn found(setup: impl FnOnce(&Path)) -> (Vec<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        setup(folder.path());
        let places = below(folder.path(), Path::new(".unsnarl/runs"));
        let names = places.corpora.iter().map(|path| {
            let name = path.strip_prefix(folder.path()).unwrap();
            name.display().to_string()
        });
        (names.collect(), !places.cut.is_empty())
    }

    fn record(root: &Path, folders: &[&str]) {
        for folder in folders {
            fs::create_dir_all(root.join(folder).join(".unsnarl/runs")).unwrap();
        }
    }

    #[test]
    fn subfolders_and_build_folders() {
        let (names, cut) = found(|root| {
            fs::create_dir(root.join(".git")).unwrap();
            fs::write(root.join(".gitignore"), "build/\nout/\n.unsnarl/\n").unwrap();
            record(root, &["", "libs/a", "build", "libs/a/out/x/debug"]);
            record(root, &["build/a/b/c", "a/b/c/d/e/f", ".git/x"]);
        });
        assert_eq!(names, ["", "build", "libs/a", "libs/a/out/x/debug"]);
        assert!(!cut);
    }

    #[test]
    fn many_ignored_folders_hide_no_other() {
        let (names, cut) = found(|root| {
            fs::create_dir(root.join(".git")).unwrap();
            fs::write(root.join(".gitignore"), "modules\n").unwrap();
            for number in 0..MOST_IGNORED + 1 {
                fs::create_dir_all(root.join(format!("modules/{number}"))).unwrap();
            }
            record(root, &["z/z/z"]);
        });
        assert_eq!((names.as_slice(), cut), (&["z/z/z".to_owned()][..], true));
    }

    #[test]
    fn the_rest_of_the_way_to_a_run_folder_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let way = folder.path().join("a/.unsnarl");
        fs::create_dir_all(&way).unwrap();
        let places = below(folder.path(), Path::new(".unsnarl/runs"));
        assert_eq!(places.ways, BTreeSet::from([way]));
        assert!(places.corpora.is_empty());
    }
}
