//! Which engines name the lines that an explanation blames, too.

use super::pairs;
use crate::{
    Budget, Corpus, RunSummary,
    explanation::{Explanation, Place, Role},
    pairs::{Precision, Procedure},
};

/// Failing runs of an explanation that are asked about.
const ASKED: usize = 3;
/// Pairs of a failing run up to which Procedure III is asked at loop precision here: an explanation is not
/// to wait for it.
const FEW: usize = 2000;

/// Do access pairs report, in one of the explanation's runs, something that is about blamed lines only?
pub fn pairs_agree(corpus: &Corpus, explanation: &Explanation, budget: &Budget) -> bool {
    let blamed = explanation.sites.iter();
    let blamed = blamed.filter(|site| matches!(site.role, Role::Cause | Role::Interference));
    let blamed: Vec<(&str, u32)> = blamed.map(|site| line(&site.place)).collect();
    let runs = explanation.runs.iter().filter_map(|name| corpus.get(name));
    runs.take(ASKED)
        .any(|run| agrees(corpus, run, &blamed, budget))
}

fn agrees(corpus: &Corpus, run: &RunSummary, blamed: &[(&str, u32)], budget: &Budget) -> bool {
    let is_dear = |procedure: &Procedure| {
        *procedure == Procedure::Three(Precision::Loop) && run.pairs.pairs.len() > FEW
    };
    let procedures = Procedure::ORDER.into_iter();
    let mut asked = procedures.filter(|procedure| !is_dear(procedure));
    asked.any(|procedure| {
        let reports = pairs::reports(corpus, run, procedure, budget);
        reports.iter().any(|finding| {
            let mut sites = finding.sites.iter();
            sites.all(|site| blamed.contains(&line(&site.place)))
        })
    })
}

fn line(place: &Place) -> (&str, u32) {
    (&place.file, place.line)
}
