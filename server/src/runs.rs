//! The run files of one workspace folder: read once each, kept as summaries, forgotten when they go.

use crate::facts::{Explained, FolderFacts};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use unsnarl_core::{Budget, Corpora, RunSummary, explain};
use unsnarl_trace::read::read_run;

/// A job was given up because something newer happened.
#[derive(Debug)]
pub struct Superseded;

/// What is known about the runs of one folder.
#[derive(Debug, Default)]
pub struct RunStore {
    files: BTreeMap<PathBuf, Stamp>,
    broken: BTreeMap<PathBuf, String>,
    corpora: Corpora,
}

/// Tells whether a file is the one that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

/// A file that a recorder finished: `*.arrow`, not one that it is still writing (`.*`).
pub fn is_run_file_name(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden
        && path
            .extension()
            .is_some_and(|extension| extension == "arrow")
}

impl RunStore {
    /// Brings the store up to date with the folder, then explains what fails. What was read stays read
    /// when the budget ends the work. `progress` hears how many of the new files are done.
    pub fn refresh(
        &mut self,
        folder: &Path,
        budget: &Budget,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<FolderFacts, Superseded> {
        let (there, unreadable) = list(folder);
        self.forget_others(&there);
        let new: Vec<_> = there
            .into_iter()
            .filter(|(path, stamp)| self.files.get(path) != Some(stamp))
            .collect();
        for (done, (path, stamp)) in new.iter().enumerate() {
            progress(done, new.len());
            if budget.stop().is_some() {
                return Err(Superseded);
            }
            self.take_in(path, *stamp);
        }
        let explained = self.explain(budget)?;
        let runs = || self.corpora.iter().flat_map(|corpus| corpus.runs());
        Ok(FolderFacts {
            runs: runs().count(),
            failing: runs().filter(|run| run.is_failure()).count(),
            broken: self.broken.clone(),
            unreadable,
            explained,
        })
    }

    fn forget_others(&mut self, there: &BTreeMap<PathBuf, Stamp>) {
        let gone: BTreeSet<PathBuf> = self
            .files
            .iter()
            .filter(|(path, stamp)| there.get(*path) != Some(*stamp))
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            self.files.remove(&path);
            self.broken.remove(&path);
            self.corpora.remove(&run_name(&path));
        }
    }

    fn take_in(&mut self, path: &Path, found: Stamp) {
        match summarize(path) {
            Ok(summary) => drop(self.corpora.insert(summary)),
            // Gone or replaced while it was read: there is an event on its way that says so.
            Err(_) if stamp(path) != Some(found) => return,
            Err(reason) => drop(self.broken.insert(path.to_owned(), reason)),
        }
        self.files.insert(path.to_owned(), found);
    }

    fn explain(&self, budget: &Budget) -> Result<Vec<Arc<Explained>>, Superseded> {
        let mut explained = Vec::new();
        for corpus in self.corpora.iter() {
            for explanation in explain(corpus, budget).findings {
                let mut shown_by = explanation
                    .runs
                    .iter()
                    .filter_map(|name| corpus.get(name)?.run.clone());
                let evidence = shown_by.next();
                explained.push(Arc::new(Explained::new(explanation, evidence)));
            }
            if budget.stop().is_some() {
                return Err(Superseded);
            }
        }
        Ok(explained)
    }
}

/// The run files of a folder; a folder that is not there has none.
fn list(folder: &Path) -> (BTreeMap<PathBuf, Stamp>, Option<String>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return (BTreeMap::new(), None),
        Err(error) => {
            let text = format!(
                "cannot read {}: {error}; check that it is a readable folder",
                folder.display()
            );
            return (BTreeMap::new(), Some(text));
        }
    };
    let paths = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_run_file_name(path));
    (
        paths
            .filter_map(|path| Some((path.clone(), stamp(&path)?)))
            .collect(),
        None,
    )
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    Some(Stamp {
        inode: about.ino(),
        size: about.len(),
        modified: about.modified().ok(),
    })
}

/// Name of the run in a file: what `replay` takes.
fn run_name(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A file that trips the reader or the analysis up is broken, and no reason to end the server.
fn summarize(path: &Path) -> Result<RunSummary, String> {
    let read = || {
        let run = read_run(path).map_err(|error| error.to_string())?;
        if let Some(damage) = run.damage.first() {
            return Err(format!(
                "the run file {} is left out: {damage}; record the program again",
                path.display()
            ));
        }
        Ok(RunSummary::new(run_name(path), Arc::new(run)))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(format!(
            "the run file {} makes the analysis fail, a defect of unsnarl: please report it with the file",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let is = |name: &str| is_run_file_name(&Path::new("/w/.unsnarl/runs").join(name));
        assert!(is("failed-random-1-0a1b2c3d.arrow"));
        assert!(!is(".failed.arrow") && !is("notes.txt") && !is("arrow") && !is(".arrow"));
    }
}
