//! Explanations as JSON.

use super::{Finding, stopped};
use anyhow::Result;
use serde::Serialize;
use unsnarl_core::{Corpus, Explanation, FailurePlace, StopReason};
use unsnarl_lab::load::Loaded;

/// Version of the JSON; changes when a reader would have to.
pub const JSON_VERSION: u32 = 1;

/// The whole document; `docs/explain-json.md` describes it.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    explanations: Vec<Numbered<'a>>,
    refuted: Vec<Numbered<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressed: Vec<Left<'a>>,
    corpora: Vec<CorpusRow<'a>>,
    broken: Vec<Broken<'a>>,
}

/// An explanation that is not shown.
#[derive(Serialize)]
struct Left<'a> {
    corpus: usize,
    because: &'a str,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// An explanation and whose runs it is about.
#[derive(Serialize)]
struct Numbered<'a> {
    corpus: usize,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// A set of runs that can be compared.
#[derive(Serialize)]
pub struct CorpusRow<'a> {
    command: &'a [String],
    build_id: &'a str,
    input_hash: &'a str,
    runs: usize,
    failing: usize,
    passing: usize,
    unexplained: Vec<Unexplained<'a>>,
    stopped: Option<String>,
}

/// A failing run that no explanation covers.
#[derive(Serialize)]
pub struct Unexplained<'a> {
    run: &'a str,
    failure: Option<&'a FailurePlace>,
}

/// A file that was left out.
#[derive(Serialize)]
pub struct Broken<'a> {
    file: &'a str,
    problem: &'a str,
}

/// The files that were left out.
pub fn broken(loaded: &Loaded) -> Vec<Broken<'_>> {
    let rows = loaded.broken.iter();
    rows.map(|(file, problem)| Broken { file, problem })
        .collect()
}

pub(super) fn print(findings: &[Finding<'_>], loaded: &Loaded) -> Result<()> {
    let suppressed = findings.iter().enumerate().flat_map(|(corpus, finding)| {
        let rows = finding.suppressed.iter();
        rows.map(move |row| Left {
            corpus,
            because: &row.because,
            explanation: &row.explanation,
        })
    });
    let document = Document {
        version: JSON_VERSION,
        explanations: numbered(findings, |finding| &finding.explanations),
        refuted: numbered(findings, |finding| &finding.refuted),
        suppressed: suppressed.collect(),
        corpora: findings.iter().map(row).collect(),
        broken: broken(loaded),
    };
    anstream::println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

fn numbered<'a>(
    findings: &'a [Finding<'_>],
    of: impl Fn(&'a Finding<'_>) -> &'a [Explanation],
) -> Vec<Numbered<'a>> {
    let rows = findings.iter().enumerate().flat_map(|(corpus, finding)| {
        of(finding).iter().map(move |explanation| Numbered {
            corpus,
            explanation,
        })
    });
    rows.collect()
}

fn row<'a>(finding: &'a Finding<'_>) -> CorpusRow<'a> {
    corpus_row(finding.corpus, &finding.unexplained, finding.stopped)
}

/// The row of a corpus.
pub fn corpus_row<'a>(
    corpus: &'a Corpus,
    unexplained: &'a [String],
    stopped_by: StopReason,
) -> CorpusRow<'a> {
    let key = corpus.key();
    CorpusRow {
        command: &key.command,
        build_id: &key.build_id,
        input_hash: &key.input_hash,
        runs: corpus.len(),
        failing: corpus.failing().count(),
        passing: corpus.passing().count(),
        unexplained: unexplained
            .iter()
            .map(|name| left_over(corpus, name))
            .collect(),
        stopped: stopped(stopped_by),
    }
}

fn left_over<'a>(corpus: &'a Corpus, name: &'a str) -> Unexplained<'a> {
    let failure = corpus.get(name).and_then(|run| run.failure.as_ref());
    Unexplained { run: name, failure }
}
