//! Gives explanations their fixes: reads the sources that the runs were recorded of.

use super::compiles::Compiles;
use crate::load::Loaded;
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_core::{Budget, Corpus, CorpusKey, Explanation, fixes};
use unsnarl_trace::Run;
use unsnarl_trace::files::read_text;

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
    same.filter_map(|(file, _)| Some((file.to_owned(), read_text(file.as_ref()).ok()?)))
        .collect()
}

/// Adds the fixes that can be offered and compile, and why others cannot.
pub fn offer(
    explanation: &mut Explanation,
    runs: &[(String, Arc<Run>)],
    sources: &BTreeMap<String, String>,
    budget: &Budget,
) {
    let offered = fixes::offer(explanation, runs, sources, budget);
    let directory = runs.first().map_or("", |(_, run)| &run.meta.directory);
    let mut compiles = Compiles::new(sources, directory);
    let (right, wrong) = compiles.sifted(offered.fixes);
    explanation.not_fixed = offered.refused;
    explanation.not_fixed.extend(wrong);
    explanation.fixes = right;
}
