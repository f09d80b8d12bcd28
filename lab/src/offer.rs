//! Gives explanations their fixes: reads the sources that the runs were recorded of.

use crate::{compiles::Compiles, load::Loaded};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_core::{Budget, Corpus, CorpusKey, Explanation, fixes};
use unsnarl_trace::Run;

/// The runs of a corpus, with their names.
pub fn runs(corpus: &Corpus, loaded: &Loaded) -> Vec<(String, Arc<Run>)> {
    let all = loaded.runs.iter();
    all.filter(|(_, run)| CorpusKey::of(run) == *corpus.key())
        .cloned()
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
    explanation.advice = offered.advice;
    explanation.not_fixed = offered.refused;
    explanation.not_fixed.extend(wrong);
    explanation.fixes = right;
}
