//! Runs for tests: parsed from the text language of traces, and random feasible ones.

use crate::{Corpus, CorpusKey, RunSummary};
use std::sync::Arc;
use unsnarl_trace::{Run, script};

pub(crate) use unsnarl_order::fixture::{anything, feasible, of_rows};

/// Parses a run.
pub(crate) fn run(text: &str) -> Run {
    script::parse(text).unwrap()
}

/// A corpus of runs that pass and one run that fails.
pub(crate) fn corpus(passing: &[&str], failing: &[&str]) -> Corpus {
    let mut corpus = Corpus::new(CorpusKey::default());
    for (i, text) in passing.iter().enumerate() {
        corpus.insert(RunSummary::new(format!("passed-{i}"), Arc::new(run(text))));
    }
    for (i, text) in failing.iter().enumerate() {
        corpus.insert(RunSummary::new(format!("failed-{i}"), Arc::new(run(text))));
    }
    corpus
}
