//! Report about a folder: its facts, with the results of running its programs again.

use super::RunStore;
use crate::{
    confirmer::Confirmation,
    facts::{ExplainedFact, FolderFacts},
    trust::Trust,
    unexplained,
};
use std::{collections::BTreeSet, path::Path, sync::Arc};
use unsnarl_core::{
    Explanation,
    told::{self, TOLD},
};
use unsnarl_trace::folder_notes::FolderNotes;

impl RunStore {
    /// The explanations that could be confirmed by running a program again, and were not yet.
    pub fn unconfirmed<'a>(
        &'a self,
        facts: &'a FolderFacts,
    ) -> impl Iterator<Item = &'a Explanation> {
        let all = facts.explained.iter().map(|one| &one.explanation);
        all.filter(|one| !one.runs.is_empty() && !self.confirming.knows(one))
    }

    /// Explanations among them whose programs may be executed. Of the others nothing is known afterwards.
    pub fn unconfirmed_of<'a>(
        &'a self,
        facts: &'a FolderFacts,
        trust: &'a Trust,
    ) -> impl Iterator<Item = &'a Explanation> {
        let is_trusted = |explanation: &Explanation| {
            let mut all = facts.explained.iter();
            let own = all.find(|one| one.explanation.id == explanation.id);
            let run = own.and_then(|one| one.evidence.as_ref());
            run.is_some_and(|run| trust.covers(&run.meta))
        };
        self.unconfirmed(facts).filter(move |one| is_trusted(one))
    }

    /// Takes over the results of running programs again for explanations that were not confirmed yet.
    pub fn learn(&mut self, facts: &FolderFacts, answer: &Confirmation, trust: &Trust) {
        let asked: Vec<Explanation> = self.unconfirmed_of(facts, trust).cloned().collect();
        self.confirming.learn(&asked, answer, &self.files);
        self.kept = Some(String::new());
    }

    /// Takes over what the command line has told of the runs of a folder after executing them; returns whether
    /// any of it is new.
    pub fn recall(&mut self, runs: &Path, facts: &FolderFacts) -> bool {
        let names = self.files.iter().map(|file| file.name.as_str());
        let note = FolderNotes::of(TOLD).map(|notes| notes.read(runs));
        let told = told::all(&note.unwrap_or_default(), &names.collect::<Vec<_>>());
        let now = facts.explained.iter().map(|one| &one.explanation);
        self.confirming
            .recall(&now.collect::<Vec<_>>(), told, &self.files)
    }

    /// The facts in their shown form: with the results of running programs again.
    pub fn shown(&self, facts: &FolderFacts) -> FolderFacts {
        let mut shown = facts.clone();
        shown.unconfirmed = self.unconfirmed(facts).count();
        let (mut told, mut refuted) = (BTreeSet::new(), Vec::new());
        shown.explained.clear();
        for one in &facts.explained {
            match self.confirming.add_known(one.explanation.clone()) {
                None => refuted.push(one),
                Some(known) if !told.insert(known.id.clone()) => {}
                Some(known) if known == one.explanation => shown.explained.push(one.clone()),
                Some(known) => {
                    let known = ExplainedFact::new(known, one.evidence.clone());
                    shown
                        .explained
                        .push(Arc::new(known.beside(one.passing.clone())));
                }
            }
        }
        for one in refuted {
            let mut runs = one.explanation.runs.clone();
            runs.retain(|run| !explains(&shown, run));
            if !runs.is_empty() {
                let left = unexplained::refuted(&one.explanation, one.evidence.as_deref(), runs);
                shown.unexplained.push(Arc::new(left));
            }
        }
        shown
    }
}

fn explains(facts: &FolderFacts, run: &String) -> bool {
    let mut all = facts.explained.iter();
    all.any(|one| one.explanation.runs.contains(run))
}
