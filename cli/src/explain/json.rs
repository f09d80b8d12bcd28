//! Explanations as JSON.

use super::{BuildFinding, stopped};
use anyhow::Result;
use serde::Serialize;
use unsnarl_core::{Corpus, Explanation, FailurePlace, StopReason};
use unsnarl_lab::load::Loaded;

/// Version of the JSON; changes when a reader would have to.
pub const JSON_VERSION: u32 = 1;

/// The whole document; `docs/explain-json.md` describes it.
#[derive(Serialize)]
struct ExplainDocument<'a> {
    version: u32,
    explanations: Vec<NumberedExplanation<'a>>,
    refuted: Vec<NumberedExplanation<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressed: Vec<OmittedExplanation<'a>>,
    corpora: Vec<CorpusRow<'a>>,
    broken: Vec<LeftOutFile<'a>>,
}

/// An explanation that is not shown.
#[derive(Serialize)]
struct OmittedExplanation<'a> {
    corpus: usize,
    because: &'a str,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// An explanation and whose runs it is about.
#[derive(Serialize)]
struct NumberedExplanation<'a> {
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
    unexplained: Vec<UnexplainedRun<'a>>,
    stopped: Option<String>,
}

/// A failing run that no explanation covers.
#[derive(Serialize)]
pub struct UnexplainedRun<'a> {
    run: &'a str,
    failure: Option<&'a FailurePlace>,
}

/// A file that was left out.
#[derive(Serialize)]
pub struct LeftOutFile<'a> {
    file: &'a str,
    problem: &'a str,
}

/// The files that were left out.
pub fn broken(loaded: &Loaded) -> Vec<LeftOutFile<'_>> {
    let rows = loaded.broken.iter();
    rows.map(|(file, problem)| LeftOutFile { file, problem })
        .collect()
}

pub(super) fn print(findings: &[BuildFinding<'_>], loaded: &Loaded) -> Result<()> {
    let suppressed = findings.iter().enumerate().flat_map(|(corpus, finding)| {
        let rows = finding.suppressed.iter();
        rows.map(move |row| OmittedExplanation {
            corpus,
            because: &row.because,
            explanation: &row.explanation,
        })
    });
    let document = ExplainDocument {
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
    findings: &'a [BuildFinding<'_>],
    of: impl Fn(&'a BuildFinding<'_>) -> &'a [Explanation],
) -> Vec<NumberedExplanation<'a>> {
    let rows = findings.iter().enumerate().flat_map(|(corpus, finding)| {
        of(finding)
            .iter()
            .map(move |explanation| NumberedExplanation {
                corpus,
                explanation,
            })
    });
    rows.collect()
}

fn row<'a>(finding: &'a BuildFinding<'_>) -> CorpusRow<'a> {
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

fn left_over<'a>(corpus: &'a Corpus, name: &'a str) -> UnexplainedRun<'a> {
    let failure = corpus.get(name).and_then(|run| run.failure.as_ref());
    UnexplainedRun { run: name, failure }
}
