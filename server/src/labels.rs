//! Names of the folders in which runs were recorded, for workspaces with several of them.

use crate::{facts::Folder, host::ServerState};
use std::path::Path;

/// Name that tells the runs of a folder from those of others: its path below the workspace folder, which is `.` itself,
/// behind the name of the workspace folder if there are several. `None` if no other folder has runs.
pub fn label(state: &ServerState, folder: &Path) -> Option<String> {
    let with_runs = |one: &&Folder| one.facts.as_ref().is_some_and(|facts| facts.runs > 0);
    let recorded = state.folders.iter().filter(with_runs);
    (recorded.count() > 1).then(|| name(state, folder))
}

fn name(state: &ServerState, folder: &Path) -> String {
    let workspace = || state.folders.iter().filter(|one| one.is_of_workspace);
    let above = workspace()
        .map(|one| one.root.path.as_path())
        .filter(|root| folder.starts_with(root))
        .max_by_key(|root| root.components().count());
    let Some(above) = above else {
        return folder.display().to_string();
    };
    let inside = folder.strip_prefix(above).unwrap_or(folder);
    let several = workspace().nth(1).is_some();
    match above.file_name().filter(|_| several) {
        Some(name) if inside.as_os_str().is_empty() => name.display().to_string(),
        Some(name) => Path::new(name).join(inside).display().to_string(),
        None if inside.as_os_str().is_empty() => ".".to_owned(),
        None => inside.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::FolderFacts;
    use std::sync::Arc;

    fn check(workspace: &[&str], found: &[&str], expected: &[Option<&str>]) {
        let folder = |path: &&str, is_of_workspace| Folder {
            facts: Some(Arc::new(FolderFacts {
                runs: 1,
                ..FolderFacts::default()
            })),
            ..Folder::new(path.into(), is_of_workspace)
        };
        let workspace = workspace.iter().map(|path| folder(path, true));
        let found = found.iter().map(|path| folder(path, false));
        let state = ServerState {
            folders: workspace.chain(found).collect(),
            ..ServerState::default()
        };
        let folders = state.folders.iter();
        let labels: Vec<Option<String>> =
            folders.map(|one| label(&state, &one.root.path)).collect();
        let labels: Vec<Option<&str>> = labels.iter().map(Option::as_deref).collect();
        assert_eq!(labels, expected);
    }

    #[test]
    fn labels() {
        check(&["/w/a"], &[], &[None]);
        check(
            &["/w/a"],
            &["/w/a/build/x", "/w"],
            &[Some("."), Some("build/x"), Some("/w")],
        );
        check(
            &["/w/a", "/w/b"],
            &["/w/b/out"],
            &[Some("a"), Some("b"), Some("b/out")],
        );
    }
}
