//! Results of running the programs again, by explanation: executed once, remembered while its run exists.

use crate::confirmer::Confirmation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_core::{Explanation, Verdict, fixes::Fix};
use unsnarl_trace::folder::RunFile;

/// The results so far.
#[derive(Debug, Default)]
pub struct Confirming {
    known: BTreeMap<String, KnownConfirmations>,
}

#[derive(Debug)]
struct KnownConfirmations {
    /// The run that was executed again.
    run: RunFile,
    shown: ShownOutcome,
}

/// The result of execution for an explanation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownOutcome {
    /// The fixes that the explanation had then, untried.
    before: Vec<Fix>,
    outcome: ConfirmOutcome,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum ConfirmOutcome {
    /// The explanation holds, or this one takes its place.
    Told(Box<Explanation>),
    /// The explanation is wrong.
    Refuted,
    /// No result; the program is not executed again in this session.
    Nothing,
}

impl Confirming {
    /// Forgets all but these explanations, and results for runs that are gone or have changed.
    pub fn keep_only(&mut self, ids: &BTreeSet<String>, files: &BTreeSet<RunFile>) {
        self.known
            .retain(|id, known| ids.contains(id) && files.contains(&known.run));
    }

    /// Returns whether the explanation was executed, as far as possible.
    pub fn knows(&self, explanation: &Explanation) -> bool {
        self.known.contains_key(&explanation.id)
    }

    /// The results to be stored. Those that could not be obtained now may be obtained in another session.
    pub fn shown(&self) -> BTreeMap<String, (String, ShownOutcome)> {
        let all = self.known.iter();
        let all = all.filter(|(_, known)| !matches!(known.shown.outcome, ConfirmOutcome::Nothing));
        let one = |(id, known): (&String, &KnownConfirmations)| {
            (id.clone(), (known.run.name.clone(), known.shown.clone()))
        };
        all.map(one).collect()
    }

    /// Takes over the results of another session.
    pub fn remember(
        &mut self,
        all: BTreeMap<String, (String, ShownOutcome)>,
        files: &BTreeSet<RunFile>,
    ) {
        for (id, (name, shown)) in all {
            if let Some(run) = files.iter().find(|file| file.name == name).cloned() {
                self.known.insert(id, KnownConfirmations { run, shown });
            }
        }
    }

    /// Adds the results for these explanations, which are as they were before the execution.
    pub fn learn(
        &mut self,
        asked: &[Explanation],
        answer: &Confirmation,
        files: &BTreeSet<RunFile>,
    ) {
        let ids: BTreeSet<&String> = asked.iter().map(|one| &one.id).collect();
        for one in asked {
            self.note(one, outcome(one, answer, &ids), files);
        }
    }

    /// Takes over what was told of these explanations elsewhere, after executing them; returns whether any of it is new.
    pub fn recall(
        &mut self,
        now: &[&Explanation],
        told: Vec<Explanation>,
        files: &BTreeSet<RunFile>,
    ) -> bool {
        let answer = Confirmation {
            explanations: told.into_iter().filter(was_executed).collect(),
            refuted: Vec::new(),
        };
        let ids: BTreeSet<&String> = now.iter().map(|one| &one.id).collect();
        let mut is_new = false;
        for one in now {
            let outcome = outcome(one, &answer, &ids);
            if matches!(outcome, ConfirmOutcome::Told(_)) && !self.has(one, &outcome) {
                self.note(one, outcome, files);
                is_new = true;
            }
        }
        is_new
    }

    fn has(&self, one: &Explanation, outcome: &ConfirmOutcome) -> bool {
        let known = self.known.get(&one.id);
        known.is_some_and(|known| known.shown.outcome == *outcome)
    }

    fn note(&mut self, one: &Explanation, outcome: ConfirmOutcome, files: &BTreeSet<RunFile>) {
        let name = match &outcome {
            ConfirmOutcome::Told(told) => &told.run,
            _ => &one.run,
        };
        let named = |name: &String| files.iter().find(|file| file.name == *name);
        let run = named(name).or_else(|| one.runs.iter().find_map(named));
        if let Some(run) = run.cloned() {
            let before = one.fixes.clone();
            let shown = ShownOutcome { before, outcome };
            self.known
                .insert(one.id.clone(), KnownConfirmations { run, shown });
        }
    }

    /// The explanation with the result of execution; `None` when it is wrong.
    pub fn add_known(&self, explanation: Explanation) -> Option<Explanation> {
        let Some(known) = self.known.get(&explanation.id) else {
            return Some(explanation);
        };
        match &known.shown.outcome {
            ConfirmOutcome::Refuted => None,
            ConfirmOutcome::Nothing => Some(explanation),
            ConfirmOutcome::Told(told) => Some(merged(explanation, told, &known.shown.before)),
        }
    }
}

/// Was the program executed again for what was told?
fn was_executed(told: &Explanation) -> bool {
    let verdict = told.executed.as_ref().map(|executed| executed.verdict);
    verdict.is_some_and(|verdict| verdict != Verdict::NotRun)
}

/// The result for one of the explanations.
fn outcome(one: &Explanation, answer: &Confirmation, asked: &BTreeSet<&String>) -> ConfirmOutcome {
    let same = |other: &&Explanation| other.id == one.id;
    if let Some(told) = answer.explanations.iter().find(same) {
        return ConfirmOutcome::Told(Box::new(told.clone()));
    }
    if answer.refuted.iter().any(|other| other.id == one.id) {
        return ConfirmOutcome::Refuted;
    }
    // Where another story of the same failure held instead, it has an id of its own.
    let instead = |other: &&Explanation| {
        let shares = || other.runs.iter().any(|run| one.runs.contains(run));
        !asked.contains(&other.id) && other.failure == one.failure && shares()
    };
    let instead = answer.explanations.iter().find(instead);
    instead.map_or(ConfirmOutcome::Nothing, |told| {
        ConfirmOutcome::Told(Box::new(told.clone()))
    })
}

/// The executed explanation, updated with newer runs of the same finding.
fn merged(now: Explanation, told: &Explanation, before: &[Fix]) -> Explanation {
    let mut told = told.clone();
    let (fixes, not_fixed) = match now.fixes == before {
        true => (told.fixes, told.not_fixed),
        // The source or what is known of the locks is another than when they were tried.
        false => (now.fixes, now.not_fixed),
    };
    (told.fixes, told.not_fixed) = (fixes, not_fixed);
    if told.id == now.id {
        told.contrast = now.contrast;
        told.claims = now.claims;
        told.caveats = now.caveats;
        told.by_comparison = now.by_comparison;
        told.takes_spurious_wakeup = now.takes_spurious_wakeup;
    }
    Explanation {
        runs: now.runs,
        also_fails: now.also_fails,
        ..told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, time::SystemTime};
    use unsnarl_core::{Budget, Corpora, Execution, RunSummary, explain};
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

    fn explanation() -> Explanation {
        let run = Arc::new(script::parse(FAILING).unwrap());
        let mut corpora = Corpora::default();
        corpora.insert(RunSummary::new("failed-1".to_owned(), run));
        let corpus = corpora.iter().next().unwrap();
        let found = explain(corpus, &Budget::unlimited()).findings;
        found.into_iter().next().unwrap()
    }

    fn executed(verdict: Verdict) -> Option<Execution> {
        Some(Execution {
            verdict,
            other: String::new(),
            is_recorded: false,
            reason: String::new(),
            next: String::new(),
            says: Vec::new(),
            counterexample: None,
        })
    }

    #[test]
    fn what_the_command_line_has_executed_is_shown() {
        let files = BTreeSet::from([RunFile {
            name: "failed-1".to_owned(),
            path: "failed-1.arrow".into(),
            len: 1,
            modified: SystemTime::UNIX_EPOCH,
        }]);
        let now = explanation();
        let mut confirming = Confirming::default();
        let told = |verdict| Explanation {
            executed: executed(verdict),
            ..now.clone()
        };
        assert!(!confirming.recall(&[&now], vec![told(Verdict::NotRun)], &files));
        assert!(!confirming.knows(&now));
        let confirmed = told(Verdict::Confirmed);
        assert!(confirming.recall(&[&now], vec![confirmed.clone()], &files));
        assert!(!confirming.recall(&[&now], vec![confirmed.clone()], &files));
        assert_eq!(confirming.add_known(now.clone()), Some(confirmed));
        // Another story that experiments have borne out instead, of the same run.
        let other = Explanation {
            id: "other".to_owned(),
            ..told(Verdict::Confirmed)
        };
        assert!(confirming.recall(&[&now], vec![other.clone()], &files));
        assert_eq!(confirming.add_known(now), Some(other));
    }
}
