//! Explanations that were told, kept by their ids: comparing runs alone does not come to what experiments have found, nor
//! to the order in which trials have put the fixes.
//!
//! They lie among the user's own files and not beside the runs: a fix is built and executed, and nobody else may put one
//! there.

use crate::Explanation;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use unsnarl_trace::{
    files::{read_text, replace, sha256},
    own_folder::Purpose,
};

/// The folder of these files, among the user's own.
const FOLDER: &str = "told";

/// Folders of runs of which explanations are kept: those that were explained last.
const FILES: usize = 64;

/// Explanations that are kept of one folder: those that were told last.
const EXPLANATIONS: usize = 100;

/// The explanations of the runs of one folder, those that were told last first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ToldFolder {
    folder: PathBuf,
    explanations: Vec<Explanation>,
}

/// Keeps explanations of the runs of a folder with their fixes as they are told, so that [`all`] finds them. Without a name
/// it is the folder in which the process works.
///
/// # Errors
/// The user has no folder for them, or it cannot be written.
pub fn keep(folder: &Path, explanations: Vec<Explanation>) -> io::Result<()> {
    keep_in(&state()?, folder, explanations)
}

/// The explanations of the runs of a folder as they were told last, those that were told last first, of the runs with these
/// names. None where nothing is kept.
#[must_use]
pub fn all(folder: &Path, names: &[&str]) -> Vec<Explanation> {
    state().map_or_else(|_| Vec::new(), |state| all_in(&state, folder, names))
}

fn state() -> io::Result<PathBuf> {
    let own = Purpose::State.folder().map_err(io::Error::other)?;
    Ok(own.join(FOLDER))
}

fn keep_in(state: &Path, folder: &Path, now: Vec<Explanation>) -> io::Result<()> {
    let (place, folder) = place(state, folder)?;
    let before = read(&place, &folder).explanations;
    let mut ids = BTreeSet::new();
    let mut explanations: Vec<Explanation> = now.into_iter().chain(before).collect();
    explanations.retain(|one| ids.insert(one.id.clone()));
    explanations.truncate(EXPLANATIONS);
    let told = ToldFolder {
        folder,
        explanations,
    };
    fs::create_dir_all(state)?;
    replace(&place, &serde_json::to_string(&told)?)?;
    clear(state)
}

fn all_in(state: &Path, folder: &Path, names: &[&str]) -> Vec<Explanation> {
    let Ok((place, folder)) = place(state, folder) else {
        return Vec::new();
    };
    let told = read(&place, &folder).explanations.into_iter();
    told.filter_map(|one| with_names(one, names)).collect()
}

/// The explanation with the names that its runs have now; none if its run is not there any more.
fn with_names(mut told: Explanation, names: &[&str]) -> Option<Explanation> {
    told.run = known(names, &told.run)?;
    let runs = told.runs.iter().filter_map(|name| known(names, name));
    told.runs = runs.collect();
    Some(told)
}

/// The file for the runs of a folder, and that folder.
fn place(state: &Path, folder: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let folder = match folder.as_os_str().is_empty() {
        true => std::env::current_dir()?,
        false => folder.canonicalize()?,
    };
    let name = sha256(folder.as_os_str().as_bytes());
    Ok((state.join(format!("{name}.json")), folder))
}

/// The notes that are kept of a folder. A file that is missing, or written by another version, holds none.
fn read(place: &Path, folder: &Path) -> ToldFolder {
    let text = read_text(place).unwrap_or_default();
    let told: ToldFolder = serde_json::from_str(&text).unwrap_or_default();
    match told.folder == folder {
        true => told,
        false => ToldFolder::default(),
    }
}

/// Removes the files of folders that were not explained for long.
fn clear(state: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(state)? {
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

/// The name that a run has now: a run of the same file has another one when another place was named.
fn known(names: &[&str], name: &str) -> Option<String> {
    let mut names = names.iter();
    let found = names.find(|known| stem(known) == stem(name));
    found.map(|known| (*known).to_owned())
}

/// A run's name without the folder and the ending that it has where its file is named.
fn stem(name: &str) -> &str {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.strip_suffix(".arrow").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Corpora, RunSummary, explain};
    use std::sync::Arc;
    use unsnarl_trace::script;

    const FAILING: &str = r#"
        start main.1 add
        main fork main.1 @1 main
        main.1 R n =0 @4 add
        main W n =1 @4 add
        main.1 W n =1 @4 add
        main join main.1 @5 main
        main R n =1 @6 main
        main fails @6 assertion
    "#;

    fn explanation(id: &str) -> Explanation {
        let run = Arc::new(script::parse(FAILING).unwrap());
        let mut corpora = Corpora::default();
        corpora.insert(RunSummary::new("failed-1".to_owned(), run));
        let corpus = corpora.iter().next().unwrap();
        let found = explain(corpus, &Budget::unlimited()).findings;
        Explanation {
            id: id.to_owned(),
            ..found.into_iter().next().unwrap()
        }
    }

    #[test]
    fn what_was_told_is_found_from_any_place() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let told = explanation("found-by-experiment");
        keep_in(state.path(), folder.path(), vec![told.clone()]).unwrap();
        let here = all_in(state.path(), folder.path(), &["failed-1"]);
        assert_eq!(here, [told]);

        let by_file = ".unsnarl/runs/failed-1.arrow";
        let found = all_in(state.path(), folder.path(), &[by_file]);
        let runs = |one: &Explanation| (one.run.clone(), one.runs.clone());
        let expected = (by_file.to_owned(), vec![by_file.to_owned()]);
        assert_eq!(found.iter().map(runs).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn what_is_told_anew_takes_the_place_of_what_was() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (first, other) = (explanation("first"), explanation("other"));
        let before = vec![first.clone(), other.clone()];
        keep_in(state.path(), folder.path(), before).unwrap();
        let anew = Explanation {
            headline: "anew".to_owned(),
            ..first
        };
        keep_in(state.path(), folder.path(), vec![anew.clone()]).unwrap();
        let found = all_in(state.path(), folder.path(), &["failed-1"]);
        assert_eq!(found, [anew, other]);
    }

    #[test]
    fn nothing_is_found_without_its_run_or_in_another_folder() {
        let state = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        keep_in(state.path(), folder.path(), vec![explanation("first")]).unwrap();
        assert_eq!(all_in(state.path(), folder.path(), &["failed-2"]), []);
        assert_eq!(all_in(state.path(), elsewhere.path(), &["failed-1"]), []);
    }

    #[test]
    fn the_folders_that_were_explained_last_stay() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FILES {
            fs::write(state.path().join(format!("{number}.json")), "").unwrap();
        }
        keep_in(state.path(), folder.path(), vec![explanation("first")]).unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), FILES);
        assert_eq!(all_in(state.path(), folder.path(), &["failed-1"]).len(), 1);
    }
}
