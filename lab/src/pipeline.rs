//! From runs to explanations with fixes: compared, confirmed by executing, and mended on trial.

use crate::{
    Executing,
    confirm::{self, Counterexamples, TimeShare},
    load::Loaded,
    mended, offer, perturb, sources, trial,
};
use std::{rc::Rc, time::Duration};
use unsnarl_core::{
    Budget, Corpora, Corpus, CorpusKey, Explanation, StopReason,
    explain::{Material, Proposers, explain_by, rank_in_words, set_apart},
    suppressions::Suppressed,
    unexplained,
};
use unsnarl_symbolic::{engines::engines, invariants::PreparedPaths};
use unsnarl_trace::{OrderMode, program};

/// Hundredths of the time for analysis in which causes are looked for; what is left is for their fixes.
const COMPARING: u32 = 80;

/// Results about the runs of one build on one input.
pub struct BuildFinding<'a> {
    /// The runs.
    pub corpus: &'a Corpus,
    /// The engines, with what they have worked out.
    pub proposers: Proposers<'a>,
    /// The paths of its failing runs that were followed.
    pub paths: Rc<PreparedPaths>,
    /// Explanations of the failures, the likeliest first.
    pub explanations: Vec<Explanation>,
    /// Explanations that executing has shown to be wrong.
    pub refuted: Vec<Explanation>,
    /// Names of failing runs that nothing explains.
    pub unexplained: Vec<String>,
    /// Explanations that somebody called harmless.
    pub suppressed: Vec<Suppressed>,
    /// Reason why comparing the runs ended.
    pub stopped: StopReason,
    /// All its runs are from another tool: nobody knows how they ended, or how to make more of them.
    pub imported: bool,
}

/// Choice whether programs are executed.
pub enum Rerun<'a> {
    /// They are not, for this reason.
    Not(&'a str),
    /// They are, in so much time for all findings together.
    Within(&'a Executing<'a>, Duration),
}

/// Compares the runs of each corpus. Linear in the events of all runs, and in the pairs of their accesses.
#[must_use]
pub fn compare<'a>(
    corpora: &'a Corpora,
    loaded: &'a Loaded,
    budget: &Budget,
) -> Vec<BuildFinding<'a>> {
    let corpora = corpora.iter();
    corpora
        .map(|corpus| look_at(corpus, loaded, budget))
        .collect()
}

/// Executes what is claimed, and works out and tries what would mend it.
pub fn settle(
    findings: &mut [BuildFinding<'_>],
    rerun: &Rerun<'_>,
    loaded: &Loaded,
    budget: &Budget,
) {
    match rerun {
        Rerun::Not(reason) => findings
            .iter_mut()
            .for_each(|finding| leave_out(finding, reason, loaded, budget)),
        Rerun::Within(with, time) => {
            let weights = findings.iter().map(|finding| {
                let (perturbing, fixing) = finding.weights();
                let all = finding.explanations.iter().map(confirm::weight);
                all.sum::<usize>() + perturbing + fixing
            });
            let mut time = TimeShare::new(*time, weights.sum());
            let kept = Counterexamples::of(&loaded.folder);
            // Executing has a time of its own, which the one for analysis does not count.
            let mut left = budget.left();
            for finding in findings.iter_mut() {
                let (perturbing, fixing) = finding.weights();
                confirm(finding, with, (&mut time, &kept));
                let while_perturbing = time.take(perturbing);
                perturb::settle(
                    &mut finding.explanations,
                    &finding.paths,
                    with,
                    while_perturbing,
                );
                let analysis = budget.resumed(left);
                offer_all(finding, with.loaded, &analysis);
                left = analysis.left();
                try_fixes(finding, with, time.take(fixing));
            }
            if let Some(problem) = kept.problem() {
                caution(findings, &problem);
            }
        }
    }
}

fn leave_out(finding: &mut BuildFinding<'_>, reason: &str, loaded: &Loaded, budget: &Budget) {
    confirm::leave_out(&mut finding.explanations, reason);
    if finding.imported {
        confirm::rank_unexecuted(&finding.proposers, &mut finding.explanations, budget);
        rank_in_words(&mut finding.explanations);
    }
    for explanation in &mut finding.explanations {
        set_apart(explanation, &loaded.runs);
    }
    offer_all(finding, loaded, budget);
    trial::leave_out(&mut finding.explanations, reason);
}

/// Says with each explanation that runs which speak against others are not there.
fn caution(findings: &mut [BuildFinding<'_>], problem: &str) {
    let explanations = findings.iter_mut().flat_map(|one| &mut one.explanations);
    for explanation in explanations {
        let caveat = format!("Counterexamples could not be kept: {problem}.");
        explanation.caveats.push(caveat);
    }
}

impl BuildFinding<'_> {
    /// Weights of perturbing its invariants and of trying its fixes, in the time that the experiments on its explanations share.
    fn weights(&self) -> (usize, usize) {
        let failing = self.explanations.iter().map(|one| one.runs.len().max(1));
        let failing: usize = failing.sum();
        (failing.max(1), 2 * failing.max(1))
    }

    /// The reason why the search for causes ended: experiments that were cut short may have told of more runs.
    #[must_use]
    pub fn search_stopped(&self) -> StopReason {
        let mut all = self.explanations.iter().chain(&self.refuted);
        match self.stopped {
            StopReason::Complete if all.any(|one| one.progress.is_some()) => StopReason::OutOfTime,
            stopped => stopped,
        }
    }
}

fn confirm(
    finding: &mut BuildFinding<'_>,
    with: &Executing<'_>,
    shared: (&mut TimeShare, &Counterexamples),
) {
    let explanations = &mut finding.explanations;
    finding.refuted = confirm::confirm(&finding.proposers, explanations, with, shared);
    rank_in_words(explanations);
}

fn try_fixes(finding: &mut BuildFinding<'_>, with: &Executing<'_>, time: Duration) {
    trial::try_fixes(finding.corpus, &mut finding.explanations, with, time);
    mended::retell(finding.corpus, &mut finding.explanations);
    let suppressed = finding.suppressed.iter().map(|row| row.explanation.clone());
    let told: Vec<Explanation> = finding
        .explanations
        .iter()
        .cloned()
        .chain(suppressed)
        .collect();
    finding.unexplained = unexplained(finding.corpus, &told);
}

/// The engines that propose causes of a corpus's failures, with its runs and the model of its program.
#[must_use]
pub fn proposers<'a>(corpus: &'a Corpus, loaded: &'a Loaded) -> Proposers<'a> {
    proposers_and_paths(corpus, loaded).0
}

fn proposers_and_paths<'a>(
    corpus: &'a Corpus,
    loaded: &'a Loaded,
) -> (Proposers<'a>, Rc<PreparedPaths>) {
    // Why none can be used is said by the engines that need one, when they are asked by themselves.
    let program = program::load(&loaded.folder, &corpus.key().build_id).unwrap_or_default();
    let runs = &loaded.runs;
    let (engines, paths) = engines(program);
    (Proposers::new(Material { corpus, runs }, engines), paths)
}

fn look_at<'a>(corpus: &'a Corpus, loaded: &'a Loaded, budget: &Budget) -> BuildFinding<'a> {
    let (proposers, paths) = proposers_and_paths(corpus, loaded);
    // The rest is for the fixes.
    let comparing = budget.percent(COMPARING);
    let mut outcome = explain_by(&proposers, &comparing);
    for explanation in &mut outcome.findings {
        proposers.support_by_looking(explanation, &comparing);
    }
    rank_in_words(&mut outcome.findings);
    let mut runs = loaded
        .runs
        .iter()
        .filter(|(_, run)| CorpusKey::of(run) == *corpus.key());
    BuildFinding {
        corpus,
        proposers,
        paths,
        unexplained: unexplained(corpus, &outcome.findings),
        explanations: outcome.findings,
        refuted: Vec::new(),
        suppressed: Vec::new(),
        stopped: outcome.stopped,
        imported: runs.all(|(_, run)| run.meta.mode == OrderMode::Imported),
    }
}

/// Works out the fixes of what is left to explain.
fn offer_all(finding: &mut BuildFinding<'_>, loaded: &Loaded, budget: &Budget) {
    let own = offer::runs(finding.corpus, loaded);
    let sources = sources::sources(&own);
    for explanation in &mut finding.explanations {
        offer::offer(explanation, &own, &sources, budget);
    }
}
