//! Failures without an explanation: they are shown at their place all the same, with the next step.

use crate::{extensions::count, facts::recorded_file, follow::Recorded};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_core::{Corpus, Explanation, FailurePlace, StopReason, render};
use unsnarl_trace::Run;

/// Runs that fail at one place, for an unknown reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexplainedRuns {
    /// The failure and its place.
    pub failure: FailurePlace,
    /// Their names, in order.
    pub runs: Vec<String>,
    /// The next step, for a person.
    pub next: String,
}

/// Such a failure with the recorded facts about its file.
#[derive(Debug)]
pub struct UnexplainedFailure {
    /// The stored part.
    pub kept: UnexplainedRuns,
    files: FxHashMap<String, Recorded>,
}

impl UnexplainedFailure {
    /// The failure in its shown form; `run` is one of the runs, as long as its file can be read.
    pub fn new(kept: UnexplainedRuns, run: Option<&Run>) -> UnexplainedFailure {
        let site = kept.failure.site.iter();
        let files = site.filter(|site| !site.file.is_empty()).map(|site| {
            let file = site.file.clone();
            let recorded = recorded_file(&[site], run, &file);
            (file, recorded)
        });
        UnexplainedFailure {
            files: files.collect(),
            kept,
        }
    }

    /// The file of the failure.
    pub fn files(&self) -> impl Iterator<Item = (&String, &Recorded)> {
        self.files.iter()
    }

    /// The message at its place.
    pub fn message(&self) -> String {
        let UnexplainedRuns {
            failure,
            runs,
            next,
        } = &self.kept;
        let runs = count(runs.len(), "run");
        format!(
            "{} (in {runs}, without an explanation). {next}",
            failure.message
        )
    }
}

/// The failures of a corpus that none of the findings is about.
pub fn of_corpus(
    corpus: &Corpus,
    findings: &[Explanation],
    stopped: StopReason,
) -> Vec<Arc<UnexplainedFailure>> {
    let mut places = BTreeMap::<_, UnexplainedRuns>::new();
    for name in unsnarl_core::unexplained(corpus, findings) {
        let run = corpus.get(&name);
        let Some(failure) = run.and_then(|run| run.failure.as_ref()) else {
            continue;
        };
        let site = failure.site.as_ref();
        let place = site.map(|site| (site.file.as_str(), site.line));
        let kept = places.entry((failure.message.clone(), place));
        let kept = kept.or_insert_with(|| UnexplainedRuns {
            failure: failure.clone(),
            runs: Vec::new(),
            next: render::next_for_unexplained(corpus, stopped).to_owned(),
        });
        kept.runs.push(name);
    }
    let shown = places.into_values().map(|kept| {
        let mut runs = kept
            .runs
            .iter()
            .filter_map(|name| corpus.get(name)?.run.clone());
        let run = runs.next();
        Arc::new(UnexplainedFailure::new(kept, run.as_deref()))
    });
    shown.collect()
}

/// A failure whose explanation was refuted.
pub fn refuted(
    explanation: &Explanation,
    run: Option<&Run>,
    runs: Vec<String>,
) -> UnexplainedFailure {
    let kept = UnexplainedRuns {
        failure: explanation.failure.clone(),
        runs,
        next: "What seemed to be the cause does not hold when it is run again: record more runs."
            .to_owned(),
    };
    UnexplainedFailure::new(kept, run)
}
