//! Search from an opened file upwards.

use super::Places;
use rustix::process::geteuid;
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Looks for the nearest run folder `runs` in a folder or one above it. Outside of the workspace the search ends at the
/// root of a repository and below the user's home, and only folders count that no other user can write to: the
/// temporary folder, for instance, would show one user the runs of another.
pub fn above(folder: &Path, workspace: &[PathBuf], runs: &Path) -> Places {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let mut places = Places::default();
    for folder in folder.ancestors() {
        let is_inside = workspace.iter().any(|root| folder.starts_with(root));
        if !is_inside && (Some(folder) == home.as_deref() || !is_own(folder)) {
            break;
        }
        if places.note(folder, runs) {
            break;
        }
        places.ways.insert(folder.to_owned());
        if !is_inside && folder.join(".git").is_dir() {
            break;
        }
    }
    places
}

/// Returns whether a folder belongs to the user and nobody else can write to it.
fn is_own(folder: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    std::fs::metadata(folder).is_ok_and(|about| {
        about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & OTHERS_WRITE == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs};

    /// The folder with runs that is found from `from`, in a folder with these run folders.
    fn check(recorded: &[&str], from: &str, workspace: &[&str], expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join(from)).unwrap();
        for name in recorded {
            fs::create_dir_all(root.join(name).join(".unsnarl/runs")).unwrap();
        }
        let workspace: Vec<PathBuf> = workspace.iter().map(|name| root.join(name)).collect();
        let places = above(&root.join(from), &workspace, Path::new(".unsnarl/runs"));
        let expected: BTreeSet<PathBuf> = expected.iter().map(|name| root.join(name)).collect();
        assert_eq!(places.corpora, expected, "{recorded:?} {from}");
    }

    #[test]
    fn the_nearest_counts() {
        check(&["repo", "repo/a"], "repo/a/b", &[], Some("repo/a"));
        check(&["repo"], "repo/a/b", &["repo/a"], Some("repo"));
        check(&["other"], "lone", &[], None);
    }

    #[test]
    fn the_search_ends_at_a_repository_outside_of_the_workspace() {
        check(&["."], "repo/a", &["repo/a"], None);
        check(&["."], "lone/a", &["lone/a"], Some("."));
        check(&["."], "repo/a", &["."], Some("."));
    }

    #[test]
    fn folders_that_others_can_write_to_do_not_count() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (shared, below) = (folder.path().join("shared"), folder.path().join("shared/a"));
        fs::create_dir_all(shared.join(".unsnarl/runs")).unwrap();
        fs::create_dir(&below).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        let places = above(&below, &[], Path::new(".unsnarl/runs"));
        assert!(places.corpora.is_empty());
    }
}
