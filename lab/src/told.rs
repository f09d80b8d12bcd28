//! Explanations that were told, kept by their ids: comparing runs alone does not come to what experiments have found, nor
//! to the order in which trials have put the fixes.
//!
//! They lie among the user's own files and not beside the runs: a fix is built and executed, and nobody else may put one
//! there.

use crate::load::Loaded;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use unsnarl_core::Explanation;
use unsnarl_trace::{files::read_text, own_folder::Purpose};

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

/// Keeps explanations with their fixes as they are told, so that [`named`] finds them.
///
/// # Errors
/// The user has no folder for them, or it cannot be written.
pub fn keep<'e>(
    loaded: &Loaded,
    explanations: impl Iterator<Item = &'e Explanation>,
) -> Result<()> {
    let state = Purpose::State.folder()?.join(FOLDER);
    keep_in(&state, loaded, explanations.cloned().collect())
}

/// The explanation of this id as it was told last, if its run is among these.
#[must_use]
pub fn named(loaded: &Loaded, id: &str) -> Option<Explanation> {
    let state = Purpose::State.folder().ok()?.join(FOLDER);
    named_in(&state, loaded, id)
}

fn keep_in(state: &Path, loaded: &Loaded, now: Vec<Explanation>) -> Result<()> {
    let (place, folder) = place(state, loaded)?;
    let before = read(&place, &folder).explanations;
    let mut ids = BTreeSet::new();
    let mut explanations: Vec<Explanation> = now.into_iter().chain(before).collect();
    explanations.retain(|one| ids.insert(one.id.clone()));
    explanations.truncate(EXPLANATIONS);
    let told = ToldFolder {
        folder,
        explanations,
    };
    write(state, &place, &serde_json::to_vec(&told)?)
        .with_context(|| format!("cannot write {}", place.display()))?;
    let shown = || format!("cannot clear {}", state.display());
    clear(state).with_context(shown)
}

fn named_in(state: &Path, loaded: &Loaded, id: &str) -> Option<Explanation> {
    let (place, folder) = place(state, loaded).ok()?;
    let mut told = read(&place, &folder).explanations.into_iter();
    let mut found = told.find(|one| one.id == id)?;
    found.run = known(loaded, &found.run)?;
    found.runs = found
        .runs
        .iter()
        .filter_map(|name| known(loaded, name))
        .collect();
    Some(found)
}

/// The file for the runs of a folder, and that folder.
fn place(state: &Path, loaded: &Loaded) -> io::Result<(PathBuf, PathBuf)> {
    let folder = match loaded.folder.as_os_str().is_empty() {
        true => std::env::current_dir()?,
        false => loaded.folder.canonicalize()?,
    };
    let name = Sha256::digest(folder.as_os_str().as_bytes());
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
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

/// Puts the content into the file at once: others may be reading it.
fn write(state: &Path, place: &Path, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(state)?;
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    file.write_all(content)?;
    file.persist(place)?;
    Ok(())
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
fn known(loaded: &Loaded, name: &str) -> Option<String> {
    let mut runs = loaded.runs.iter().map(|(known, _)| known);
    runs.find(|known| stem(known) == stem(name)).cloned()
}

/// A run's name without the folder and the ending that it has where its file is named.
fn stem(name: &str) -> &str {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.strip_suffix(".arrow").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use unsnarl_core::{Budget, Corpora, RunSummary, explain};
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

    /// A folder with this run, under this name.
    fn loaded(folder: &Path, name: &str) -> Loaded {
        Loaded {
            runs: vec![(name.to_owned(), Arc::new(script::parse(FAILING).unwrap()))],
            folder: folder.to_owned(),
            ..Loaded::default()
        }
    }

    fn explanation(loaded: &Loaded) -> Explanation {
        let mut corpora = Corpora::default();
        for (name, run) in &loaded.runs {
            corpora.insert(RunSummary::new(name.clone(), run.clone()));
        }
        let corpus = corpora.iter().next().unwrap();
        let found = explain(corpus, &Budget::unlimited()).findings;
        found.into_iter().next().unwrap()
    }

    #[test]
    fn what_was_told_is_found_by_its_id_from_any_place() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let here = loaded(folder.path(), "failed-1");
        let told = Explanation {
            id: "found-by-experiment".to_owned(),
            ..explanation(&here)
        };
        keep_in(state.path(), &here, vec![told.clone()]).unwrap();
        assert_eq!(named_in(state.path(), &here, &told.id), Some(told.clone()));
        assert_eq!(named_in(state.path(), &here, "another"), None);

        let named_by_file = loaded(folder.path(), ".unsnarl/runs/failed-1.arrow");
        let found = named_in(state.path(), &named_by_file, &told.id).unwrap();
        assert_eq!(found.run, ".unsnarl/runs/failed-1.arrow");
        assert_eq!(found.runs, [".unsnarl/runs/failed-1.arrow"]);
    }

    #[test]
    fn what_is_told_anew_takes_the_place_of_what_was() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let here = loaded(folder.path(), "failed-1");
        let first = explanation(&here);
        let other = Explanation {
            id: "other".to_owned(),
            ..first.clone()
        };
        keep_in(state.path(), &here, vec![first.clone(), other.clone()]).unwrap();
        let anew = Explanation {
            headline: "anew".to_owned(),
            ..first.clone()
        };
        keep_in(state.path(), &here, vec![anew.clone()]).unwrap();
        assert_eq!(named_in(state.path(), &here, &first.id), Some(anew));
        assert_eq!(named_in(state.path(), &here, "other"), Some(other));
    }

    #[test]
    fn nothing_is_found_without_its_run_or_in_another_folder() {
        let state = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let here = loaded(folder.path(), "failed-1");
        let told = explanation(&here);
        keep_in(state.path(), &here, vec![told.clone()]).unwrap();
        let gone = loaded(folder.path(), "failed-2");
        assert_eq!(named_in(state.path(), &gone, &told.id), None);
        let other = loaded(elsewhere.path(), "failed-1");
        assert_eq!(named_in(state.path(), &other, &told.id), None);
    }

    #[test]
    fn the_folders_that_were_explained_last_stay() {
        let state = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FILES {
            fs::write(state.path().join(format!("{number}.json")), "").unwrap();
        }
        let here = loaded(folder.path(), "failed-1");
        let told = explanation(&here);
        keep_in(state.path(), &here, vec![told.clone()]).unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), FILES);
        assert!(named_in(state.path(), &here, &told.id).is_some());
    }
}
