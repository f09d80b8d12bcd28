//! Gives explanations their fixes: reads the sources that the runs were recorded of.

use crate::load::Loaded;
use std::{collections::BTreeMap, fs, sync::Arc};
use unsnarl_core::{Budget, Corpus, CorpusKey, Explanation, fixes};
use unsnarl_trace::Run;

/// The runs of a corpus, with their names.
pub fn runs(corpus: &Corpus, loaded: &Loaded) -> Vec<(String, Arc<Run>)> {
    let all = loaded.runs.iter();
    all.filter(|(_, run)| CorpusKey::of(run) == *corpus.key())
        .cloned()
        .collect()
}

/// The texts of the sources of runs, as far as they are still those that were recorded.
pub fn sources(runs: &[(String, Arc<Run>)]) -> BTreeMap<String, String> {
    let rows = runs.iter().flat_map(|(_, run)| &run.meta.sources);
    let known: BTreeMap<&str, &str> = rows
        .map(|row| (row.file.as_str(), row.sha256.as_str()))
        .collect();
    let same = known
        .into_iter()
        .filter(|(file, hash)| !crate::explain::is_other(file, hash));
    same.filter_map(|(file, _)| Some((file.to_owned(), fs::read_to_string(file).ok()?)))
        .collect()
}

/// Adds the fixes that can be offered, and why others cannot.
pub fn offer(
    explanation: &mut Explanation,
    runs: &[(String, Arc<Run>)],
    sources: &BTreeMap<String, String>,
    budget: &Budget,
) {
    let offered = fixes::offer(explanation, runs, sources, budget);
    explanation.fixes = offered.fixes;
    explanation.not_fixed = offered.refused;
}
