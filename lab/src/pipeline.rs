//! From runs to explanations with fixes: compared, confirmed by executing, and mended on trial.

use crate::{
    Executing,
    confirm::{self, Share},
    dsp,
    load::Loaded,
    offer, sources, trial,
};
use std::time::Duration;
use unsnarl_core::{
    Budget, Corpora, Corpus, CorpusKey, Explanation, StopReason, explain, explain::rank_in_words,
    findings::prediction_agrees, invariants, suppressions::Suppressed, unexplained,
};
use unsnarl_trace::{Mode, program};

/// What was found about the runs of one build on one input.
pub struct Finding<'a> {
    /// The runs.
    pub corpus: &'a Corpus,
    /// Why they fail, what is likeliest first.
    pub explanations: Vec<Explanation>,
    /// What executing has shown to be wrong.
    pub refuted: Vec<Explanation>,
    /// Names of failing runs that nothing explains.
    pub unexplained: Vec<String>,
    /// What somebody called harmless.
    pub suppressed: Vec<Suppressed>,
    /// Why comparing the runs ended.
    pub stopped: StopReason,
    /// All its runs are from another tool: nobody knows how they ended, or how to make more of them.
    pub imported: bool,
}

/// Whether programs are executed.
pub enum Rerun<'a> {
    /// They are not, for this reason.
    Not(&'a str),
    /// They are, in so much time for all findings together.
    Within(&'a Executing<'a>, Duration),
}

/// Compares the runs of each corpus. Linear in the events of all runs, and in the pairs of their accesses.
#[must_use]
pub fn compare<'a>(corpora: &'a Corpora, loaded: &Loaded, budget: &Budget) -> Vec<Finding<'a>> {
    let corpora = corpora.iter();
    corpora
        .map(|corpus| look_at(corpus, loaded, budget))
        .collect()
}

/// Executes what is claimed, and works out and tries what would mend it.
pub fn settle(findings: &mut [Finding<'_>], rerun: &Rerun<'_>, loaded: &Loaded, budget: &Budget) {
    match rerun {
        Rerun::Not(reason) => findings
            .iter_mut()
            .for_each(|finding| leave_out(finding, reason, loaded, budget)),
        Rerun::Within(with, time) => {
            // The trial of fixes is one more share for each corpus.
            let shares = findings
                .iter()
                .map(|finding| finding.explanations.len() + 1)
                .sum();
            let mut time = Share::new(*time, shares);
            for finding in findings {
                execute(finding, with, &mut time, budget);
            }
        }
    }
}

fn leave_out(finding: &mut Finding<'_>, reason: &str, loaded: &Loaded, budget: &Budget) {
    confirm::leave_out(&mut finding.explanations, reason);
    offer_all(finding, loaded, budget);
    trial::leave_out(&mut finding.explanations, reason);
}

fn execute(finding: &mut Finding<'_>, with: &Executing<'_>, time: &mut Share, budget: &Budget) {
    let explanations = &mut finding.explanations;
    finding.refuted = confirm::confirm(finding.corpus, explanations, with, time);
    rank_in_words(explanations);
    offer_all(finding, with.loaded, budget);
    let time = time.take();
    trial::try_fixes(finding.corpus, &mut finding.explanations, with, time);
    let suppressed = finding.suppressed.iter().map(|row| row.explanation.clone());
    let told: Vec<Explanation> = finding
        .explanations
        .iter()
        .cloned()
        .chain(suppressed)
        .collect();
    finding.unexplained = unexplained(finding.corpus, &told);
}

fn look_at<'a>(corpus: &'a Corpus, loaded: &Loaded, budget: &Budget) -> Finding<'a> {
    let mut outcome = explain(corpus, budget);
    dsp::note_agreement(&mut outcome.findings, loaded, budget);
    for explanation in &mut outcome.findings {
        add_invariants(explanation, loaded, budget);
        note_prediction(explanation, corpus, loaded, budget);
    }
    rank_in_words(&mut outcome.findings);
    let mut runs = loaded
        .runs
        .iter()
        .filter(|(_, run)| CorpusKey::of(run) == *corpus.key());
    Finding {
        corpus,
        unexplained: unexplained(corpus, &outcome.findings),
        explanations: outcome.findings,
        refuted: Vec::new(),
        suppressed: Vec::new(),
        stopped: outcome.stopped,
        imported: runs.all(|(_, run)| run.meta.mode == Mode::Imported),
    }
}

/// Works out the fixes of what is left to explain.
fn offer_all(finding: &mut Finding<'_>, loaded: &Loaded, budget: &Budget) {
    let own = offer::runs(finding.corpus, loaded);
    let sources = sources::sources(&own);
    for explanation in &mut finding.explanations {
        offer::offer(explanation, &own, &sources, budget);
    }
}

/// Whether what is blamed could have been predicted from the shortest run that passed.
fn note_prediction(
    explanation: &mut Explanation,
    corpus: &Corpus,
    loaded: &Loaded,
    budget: &Budget,
) {
    let passing = corpus.passing().filter(|run| run.exact);
    let shortest = passing.min_by_key(|run| (run.events, &run.name));
    let Some(shortest) = shortest.filter(|_| budget.stop().is_none()) else {
        return;
    };
    let mut runs = loaded.runs.iter();
    let Some((name, run)) = runs.find(|(name, _)| *name == shortest.name) else {
        return;
    };
    if prediction_agrees(run, explanation, budget) {
        explanation.join("predict", format!("predicts it from {name}, which passed"));
    }
}

/// What had to hold along the first of the explanation's runs that is there, if a model of it was kept.
fn add_invariants(explanation: &mut Explanation, loaded: &Loaded, budget: &Budget) {
    let mut runs = loaded.runs.iter();
    let Some((_, run)) = runs.find(|(name, _)| explanation.runs.contains(name)) else {
        return;
    };
    if let Ok(models) = program::load(&loaded.folder, &run.meta.build_id) {
        invariants::add_to(explanation, run, &models, budget);
    }
}
