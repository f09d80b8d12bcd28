//! Agreement of engines with an explanation.

use super::{Finding, FoundSite, Presence, mining::Brief, pairs};
use crate::{
    Budget, Corpus, RunSummary,
    explanation::{Explanation, Place, Role, SiteMark},
    facts::family,
    pairs::{Precision, Procedure},
    predict::{
        AnomalyCandidate, ForcedOrder, Patterns, RegionOptions, Regions, SearchOptions, search,
    },
};
use std::collections::BTreeSet;
use unsnarl_trace::Run;

/// Number of failing runs of an explanation that the engines examine.
const ASKED: usize = 3;
/// Bound on the pairs of a failing run for Procedure III at loop precision, since an explanation must not
/// wait for it.
const FEW: usize = 2000;

/// True if access pairs report, in one of the explanation's runs, a finding about blamed lines only.
pub(crate) fn pairs_agree(corpus: &Corpus, explanation: &Explanation, budget: &Budget) -> bool {
    let blamed: Vec<(&str, u32)> = blamed(explanation).map(|mark| line(&mark.place)).collect();
    let names = explanation.runs.iter();
    let runs = names.filter_map(|name| corpus.get(name));
    runs.take(ASKED)
        .any(|run| reports(corpus, run, &blamed, budget))
}

fn reports(corpus: &Corpus, run: &RunSummary, blamed: &[(&str, u32)], budget: &Budget) -> bool {
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

/// Have at least half of the explanation's runs a pattern that no passing run has, and that is about what
/// it blames? Threads that do the same make several patterns of one cause.
pub(crate) fn mining_agrees(mined: &Brief, explanation: &Explanation) -> bool {
    let blamed: Vec<&SiteMark> = blamed(explanation).collect();
    let told = explanation.runs.iter();
    let told: BTreeSet<&String> = told.filter(|run| mined.looked_at.contains(*run)).collect();
    let findings = mined.findings.iter();
    let about = findings.filter(|finding| is_about(finding, &blamed));
    let with: BTreeSet<&String> = about.flat_map(|finding| &finding.runs).collect();
    let with = with.intersection(&told).count();
    with > 0 && with * 2 >= told.len()
}

/// Anomalies by the built-in patterns that a run which passed lets expect, the likeliest to matter first. Runs of more than
/// 20,000 events are not looked at.
pub(crate) fn predicted(passed: &Run, budget: &Budget) -> Vec<AnomalyCandidate> {
    const EVENTS: usize = 20_000;
    if passed.events.len() > EVENTS {
        return Vec::new();
    }
    let graph = ForcedOrder::new(passed);
    let regions = Regions::new(&graph, &RegionOptions::default());
    let graph = graph.with_regions(regions);
    let options = SearchOptions::default();
    search(&graph, &Patterns::built_in(), &options, budget).findings
}

/// True if an anomaly of a run that passed is on lines of two threads that an explanation blames only, with
/// each line of a cause among them.
pub(crate) fn prediction_agrees(
    found: &[AnomalyCandidate],
    passed: &Run,
    explanation: &Explanation,
) -> bool {
    let lines: BTreeSet<(&str, u32)> = blamed(explanation).map(|mark| line(&mark.place)).collect();
    let marks = explanation.sites.iter();
    let causes: BTreeSet<(&str, u32)> = marks
        .filter(|site| site.role == Role::Cause)
        .map(|mark| line(&mark.place))
        .collect();
    found.iter().any(|candidate| {
        let events = candidate.events.iter();
        let at: BTreeSet<(&str, u32)> = events
            .map(|id| passed.events.event(*id))
            .map(|event| {
                let site = passed.meta.site(event.site);
                (site.file.as_str(), site.line)
            })
            .collect();
        at.is_subset(&lines) && causes.is_subset(&at)
    })
}

/// Returns whether one of the pattern's dependencies is between blamed accesses, and either all of them are
/// between blamed lines, or they cover each blamed place that was executed.
fn is_about(finding: &Finding, blamed: &[&SiteMark]) -> bool {
    let site = |index: u32| finding.sites.get(index as usize);
    let ends = finding.dependencies.iter().filter_map(|dependency| {
        (dependency.seen == Presence::Failing)
            .then_some([site(dependency.head)?, site(dependency.tail)?])
    });
    let ends: Vec<[&FoundSite; 2]> = ends.collect();
    let is_blamed = |site: &&FoundSite| blamed.iter().any(|mark| is_at(site, mark));
    let on_line = |site: &&FoundSite| {
        let mut marks = blamed.iter();
        marks.any(|mark| line(&mark.place) == line(&site.place))
    };
    let has = |mark: &SiteMark| ends.iter().flatten().any(|site| is_at(site, mark));
    let mut ran = blamed.iter().filter(|mark| mark.step.is_some());
    ends.iter().any(|both| both.iter().all(is_blamed))
        && (ends.iter().flatten().all(on_line) || ran.all(|mark| has(mark)))
}

/// Returns whether line and variable are the same, for any element of an array.
fn is_at(site: &FoundSite, mark: &SiteMark) -> bool {
    line(&site.place) == line(&mark.place) && family(&site.location) == family(&mark.location)
}

fn blamed(explanation: &Explanation) -> impl Iterator<Item = &SiteMark> {
    let marks = explanation.sites.iter();
    marks.filter(|site| site.role.is_blamed())
}

fn line(place: &Place) -> (&str, u32) {
    (&place.file, place.line)
}
