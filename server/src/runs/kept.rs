//! Facts stored for another session, or taken over from one.

use super::{Fitting, RunStore, list};
use crate::{
    cache::{self, KeptOne},
    facts::{ExplainedFact, FolderFacts},
    paths::Root,
    unexplained::{self, UnexplainedFailure},
};
use std::{collections::BTreeSet, path::Path, sync::Arc};
use unsnarl_trace::{folder::RunFile, read::read_run};

impl RunStore {
    /// The facts about the files of the folder from another session, if nothing was read yet and the files are the
    /// same.
    pub fn reopen(&mut self, root: &Root, folder: &Path, room: u64) -> Option<FolderFacts> {
        if self.kept.is_some() {
            return None;
        }
        let (all, _) = list(folder);
        let files = Fitting::of(all, room);
        let key = cache::key(&files.there);
        self.kept = Some(String::new());
        let kept = cache::read(&root.path, folder, &key)?;
        self.kept = Some(key);
        self.confirming.remember(kept.confirmed, &files.there);
        let explained = kept.explained.into_iter();
        let explained = explained.map(|one| Arc::new(self.take_over(one, &files.there)));
        Some(FolderFacts {
            runs: kept.runs,
            failing: kept.failing,
            broken: kept.broken,
            unreadable: None,
            explained: explained.collect(),
            unexplained: kept
                .unexplained
                .into_iter()
                .map(|one| Arc::new(taken_over(one, &files.there)))
                .collect(),
            outdated: kept.outdated,
            unconfirmed: 0,
            out_of_time: false,
            left_out: files.left_out,
            memory: files.memory,
        })
    }

    fn take_over(&mut self, one: KeptOne, files: &BTreeSet<RunFile>) -> ExplainedFact {
        let name = one.evidence.as_ref();
        let file = files.iter().find(|file| Some(&file.name) == name);
        let read = |file: &RunFile| Some((file.clone(), Arc::new(read_run(&file.path).ok()?)));
        let Some((file, run)) = file.and_then(read) else {
            return ExplainedFact::new(one.explanation, None).beside(one.passing.into());
        };
        if let Some(rests_on) = one.fixes {
            self.fixing.remember(&one.explanation, &run, rests_on);
        }
        if one.has_invariants {
            self.deeper.remember(&one.explanation, &run);
        }
        self.at_hand.insert(file, run.clone());
        ExplainedFact::new(one.explanation, Some(run)).beside(one.passing.into())
    }

    /// Stores the facts for another session. An error is reported once: it only makes later sessions slower.
    pub fn keep(&mut self, root: &Root, folder: &Path, facts: &FolderFacts) -> Result<(), String> {
        let key = cache::key(&self.files);
        // Of a folder that is being removed nothing is kept: its end must not meet a new file.
        if facts.runs == 0 || facts.out_of_time || self.kept.as_ref() == Some(&key) {
            return Ok(());
        }
        let is_first = self.kept.as_ref().is_none_or(String::is_empty);
        self.kept = Some(key.clone());
        let explained = facts.explained.iter().map(|one| self.kept_one(one));
        let kept = cache::StoredFacts {
            key,
            runs: facts.runs,
            failing: facts.failing,
            unexplained: facts
                .unexplained
                .iter()
                .map(|one| one.kept.clone())
                .collect(),
            outdated: facts.outdated,
            broken: facts.broken.clone(),
            explained: explained.collect(),
            confirmed: self.confirming.shown(),
        };
        match cache::write(&root.path, folder, &kept) {
            Err(error) if is_first => Err(format!(
                "cannot write into {}: {error}; the next start will read all runs again",
                root.path.join(".unsnarl/cache").display()
            )),
            _ => Ok(()),
        }
    }

    fn kept_one(&self, explained: &ExplainedFact) -> KeptOne {
        let explanation = explained.explanation.clone();
        let evidence = explained.evidence.as_ref();
        let corpus = evidence.and_then(|run| self.corpus_of(run));
        let is_evidence = |name: &&String| {
            let held = corpus.and_then(|corpus| corpus.get(name)?.run.as_ref());
            held.zip(evidence)
                .is_some_and(|(held, run)| Arc::ptr_eq(held, run))
        };
        KeptOne {
            evidence: explanation.runs.iter().find(is_evidence).cloned(),
            passing: explained.passing.to_vec(),
            fixes: self.fixing.rests_on(&explanation.id).cloned(),
            has_invariants: self.deeper.knows(&explanation.id),
            explanation,
        }
    }
}

/// A failure without an explanation, with the facts of its run about the file.
fn taken_over(kept: unexplained::UnexplainedRuns, files: &BTreeSet<RunFile>) -> UnexplainedFailure {
    let mut there = files.iter().filter(|file| kept.runs.contains(&file.name));
    let run = there.next().and_then(|file| read_run(&file.path).ok());
    UnexplainedFailure::new(kept, run.as_ref())
}
