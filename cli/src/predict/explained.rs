//! Explanations of the runs that failed.

use super::{Report, runs::stem, verdict::ExecutionVerdict};
use crate::{arguments::PredictArguments, message};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use unsnarl_core::{Budget, explain};
use unsnarl_lab::load;

/// The headlines of the explanations of the failing runs, by the run's name. The runs are compared with those in the
/// same folder, as in `unsnarl explain`, in the rest of the time.
pub fn headlines(
    arguments: &PredictArguments,
    reports: &[Report],
    budget: &Budget,
) -> BTreeMap<String, String> {
    let failing: BTreeSet<&str> = failing(reports).collect();
    if failing.is_empty() {
        return BTreeMap::new();
    }
    let mut loaded = match load::load_within(Some(&arguments.out), load::MEMORY) {
        Ok(loaded) => loaded,
        Err(error) => {
            message::warning(&format!("the failing runs cannot be explained: {error:#}"));
            return BTreeMap::new();
        }
    };
    for (name, _) in &mut loaded.runs {
        *name = stem(Path::new(name));
    }
    let corpora = loaded.summarize(&budget.percent(50));
    let mut headlines = BTreeMap::new();
    let explanations = corpora
        .iter()
        .flat_map(|corpus| explain(corpus, budget).findings);
    for explanation in explanations {
        for run in explanation
            .runs
            .iter()
            .filter(|run| failing.contains(run.as_str()))
        {
            headlines
                .entry(run.clone())
                .or_insert_with(|| explanation.headline.clone());
        }
    }
    headlines
}

/// Names of the failing runs.
fn failing(reports: &[Report]) -> impl Iterator<Item = &str> {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.filter_map(|finding| match &finding.verdict {
        ExecutionVerdict::Failed(failed) => Some(failed.run.as_str()),
        _ => None,
    })
}
