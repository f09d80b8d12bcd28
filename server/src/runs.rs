//! The run files of one workspace folder: read once each, kept as summaries, forgotten when they go.

use crate::{
    deeper::Deeper,
    facts::{Explained, FolderFacts},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_core::{Budget, Corpora, RunSummary, StopReason, explain};
use unsnarl_trace::{
    folder::{RunFile, RunFolder, run_file},
    read::read_run,
};

/// A job was given up because something newer happened.
#[derive(Debug)]
pub struct Superseded;

/// What is known about the runs of one workspace folder.
#[derive(Debug, Default)]
pub struct RunStore {
    /// Every file that was looked into, as it was then.
    files: BTreeSet<RunFile>,
    broken: BTreeMap<PathBuf, String>,
    corpora: Corpora,
    deeper: Deeper,
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
    /// Brings the store up to date with the run folder, then explains what fails. What was read stays read
    /// when the budget ends the work. `progress` hears how many of the new files are done.
    pub fn refresh(
        &mut self,
        folder: &Path,
        budget: &Budget,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<FolderFacts, Superseded> {
        let (there, unreadable) = list(folder);
        for gone in self.files.difference(&there).cloned().collect::<Vec<_>>() {
            self.forget(&gone);
        }
        let new: Vec<RunFile> = there.difference(&self.files).cloned().collect();
        for (done, file) in new.iter().enumerate() {
            progress(done, new.len());
            give_way(budget)?;
            self.take_in(file);
        }
        let (explained, unexplained) = self.explain(budget)?;
        let runs = || self.corpora.iter().flat_map(|corpus| corpus.runs());
        Ok(FolderFacts {
            runs: runs().count(),
            failing: runs().filter(|run| run.is_failure()).count(),
            broken: self.broken.clone(),
            unreadable,
            explained,
            unexplained,
            out_of_time: budget.stop() == Some(StopReason::OutOfTime),
        })
    }

    /// The same facts with what takes longer to work out; none when there is nothing to add.
    pub fn deepen(
        &mut self,
        folder: &Path,
        facts: &FolderFacts,
        budget: &Budget,
    ) -> Result<Option<FolderFacts>, Superseded> {
        let known: BTreeSet<String> = facts
            .explained
            .iter()
            .map(|one| one.explanation.id.clone())
            .collect();
        self.deeper.keep_only(&known);
        let (mut explained, mut is_new) = (Vec::new(), false);
        for one in &facts.explained {
            let deepened = self.deeper.look(folder, one, budget);
            give_way(budget)?;
            is_new |= deepened.is_some();
            explained.push(deepened.map_or_else(|| one.clone(), Arc::new));
        }
        Ok(is_new.then(|| FolderFacts {
            explained,
            ..facts.clone()
        }))
    }

    fn forget(&mut self, file: &RunFile) {
        self.files.remove(file);
        self.broken.remove(&file.path);
        self.corpora.remove(&file.name);
    }

    fn take_in(&mut self, file: &RunFile) {
        match summarize(file) {
            Ok(summary) => drop(self.corpora.insert(summary)),
            // Gone or replaced while it was read: there is an event on its way that says so.
            Err(_) if run_file(&file.path).as_ref() != Some(file) => return,
            Err(reason) => drop(self.broken.insert(file.path.clone(), reason)),
        }
        self.files.insert(file.clone());
    }

    /// Explanations, and the number of failing runs that none of them is about.
    fn explain(&self, budget: &Budget) -> Result<(Vec<Arc<Explained>>, usize), Superseded> {
        let (mut explained, mut unexplained) = (Vec::new(), 0);
        for corpus in self.corpora.iter() {
            let findings = explain(corpus, budget).findings;
            unexplained += unsnarl_core::unexplained(corpus, &findings).len();
            for explanation in findings {
                let mut shown_by = explanation
                    .runs
                    .iter()
                    .filter_map(|name| corpus.get(name)?.run.clone());
                let evidence = shown_by.next();
                let known = self.deeper.add_known(explanation, evidence.as_ref());
                explained.push(Arc::new(Explained::new(known, evidence)));
            }
            give_way(budget)?;
        }
        Ok((explained, unexplained))
    }
}

/// A file that trips the reader or the analysis up is broken, and no reason to end the server.
fn summarize(file: &RunFile) -> Result<RunSummary, String> {
    let read = || {
        let run = read_run(&file.path).map_err(|error| error.to_string())?;
        if let Some(damage) = run.damage.first() {
            return Err(format!(
                "the run file {} is left out: {damage}; record the program again",
                file.path.display()
            ));
        }
        Ok(RunSummary::new(file.name.as_str(), Arc::new(run)))
    };
    let defect = |_| {
        Err(format!(
            "the run file {} makes the analysis fail, a defect of unsnarl: please report it with the file",
            file.path.display()
        ))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(defect)
}

/// Running out of time is no reason to throw away what there is; something newer is.
fn give_way(budget: &Budget) -> Result<(), Superseded> {
    match budget.stop() {
        Some(StopReason::Cancelled) => Err(Superseded),
        _ => Ok(()),
    }
}

/// The run files of a folder, and why it cannot be read if it cannot. One that is not there has none.
fn list(folder: &Path) -> (BTreeSet<RunFile>, Option<String>) {
    match RunFolder::new(folder).files() {
        Ok(files) => (files.into_iter().collect(), None),
        Err(error) => {
            let shown = folder.display();
            let text = format!("cannot read {shown}: {error}; check that it is a readable folder");
            (BTreeSet::new(), Some(text))
        }
    }
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
