//! Findings of access pairs: the test procedures of LOCON on the failing runs.

use super::{
    Answer, Engine, Finding, FoundDependency, FoundSite, Presence, by_failure, cannot_compare,
    variable, weaknesses,
};
use crate::{
    Budget, Corpus, RunSummary, StopReason,
    facts::{place, short, thread_in_words},
    orders::DependencyKind,
    pairs::{
        AccessClass, AccessSite, Couple, CoupledPair, MissingPair, Procedure, Reported, SeenPair,
        localize,
    },
};
use std::{cmp::Reverse, collections::BTreeMap};
use unsnarl_trace::{EventId, Run};

/// Options for access pairs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PairOptions {
    /// The procedures to run; if none is named, all in the paper's order until one reports a finding.
    pub procedures: Vec<Procedure>,
}

impl PairOptions {
    fn order(&self) -> &[Procedure] {
        match self.procedures.as_slice() {
            [] => &Procedure::ORDER,
            named => named,
        }
    }

    fn stops_when_localized(&self) -> bool {
        self.procedures.is_empty()
    }
}

/// Bound on the failing runs of one place that are examined: the shortest ones.
const LOOKED_AT: usize = 16;

/// Runs the procedures on the failing runs.
pub fn ask(corpus: &Corpus, options: &PairOptions, budget: &Budget) -> Answer {
    let mut answer = Answer {
        engine: Engine::Pairs,
        findings: Vec::new(),
        stopped: StopReason::Complete,
        notes: weaknesses(corpus),
    };
    if let Some(lacks) = cannot_compare(corpus).or_else(|| has_no_pairs(corpus)) {
        answer.stopped = lacks;
        return answer;
    }
    let mut found = MergedFindings::default();
    for (failure, runs) in by_failure(corpus) {
        if runs.len() > LOOKED_AT {
            answer.notes.push(format!(
                "of the {} runs that end so: {failure}, the {LOOKED_AT} shortest were looked at",
                runs.len()
            ));
        }
        for failing in runs.into_iter().take(LOOKED_AT) {
            if let Err(stopped) = found.look_at(corpus, failing, options, budget) {
                answer.stopped = stopped;
                break;
            }
        }
    }
    if found.findings.is_empty() && answer.stopped == StopReason::Complete {
        answer.notes.push(format!(
            "{} found nothing: what the failing runs do with shared data, passing runs do, too",
            names(options.order())
        ));
    }
    answer.notes.extend(std::mem::take(&mut found.notes));
    answer.findings = found.ranked();
    answer
}

/// All results of one procedure for one failing run.
pub(super) fn reports(
    corpus: &Corpus,
    failing: &RunSummary,
    procedure: Procedure,
    budget: &Budget,
) -> Vec<Finding> {
    if cannot_compare(corpus).is_some() {
        return Vec::new();
    }
    let reports = localize(corpus, failing, procedure, budget).reported;
    let findings = reports
        .iter()
        .filter_map(|reported| finding(corpus, failing, procedure, reported));
    findings.collect()
}

fn has_no_pairs(corpus: &Corpus) -> Option<StopReason> {
    let empty = corpus.runs().all(|run| run.pairs.pairs.is_empty());
    empty.then_some(StopReason::Lacks(
        "accesses of two threads to the same data",
    ))
}

fn names(procedures: &[Procedure]) -> String {
    let names: Vec<&str> = procedures.iter().map(|p| p.name()).collect();
    match names.as_slice() {
        [one] => format!("procedure {one}"),
        several => format!("procedures {}", several.join(", ")),
    }
}

/// Findings of several failing runs; equal ones are merged.
#[derive(Default)]
struct MergedFindings {
    findings: Vec<(FindingRank, Finding)>,
    known: BTreeMap<Identity, usize>,
    notes: Vec<String>,
}

/// Procedure, and rank among its results for one run.
type FindingRank = (Procedure, usize);
/// Identity of a finding.
type Identity = (Procedure, Vec<FoundSite>);

impl MergedFindings {
    fn look_at(
        &mut self,
        corpus: &Corpus,
        failing: &RunSummary,
        options: &PairOptions,
        budget: &Budget,
    ) -> Result<(), StopReason> {
        for &procedure in options.order() {
            budget.stop().map_or(Ok(()), Err)?;
            let reports = localize(corpus, failing, procedure, budget);
            if reports.left_out > 0 {
                self.notes.push(format!(
                    "procedure {} left out {} couples of {}: so many say that the {} passing runs are too few",
                    procedure.name(),
                    reports.left_out,
                    failing.name,
                    corpus.counts().passing()
                ));
            }
            for (rank, reported) in reports.reported.iter().enumerate() {
                if let Some(finding) = finding(corpus, failing, procedure, reported) {
                    self.add((procedure, rank), finding);
                }
            }
            if reports.stopped != StopReason::Complete {
                return Err(reports.stopped);
            }
            if options.stops_when_localized() && !reports.reported.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, rank: FindingRank, finding: Finding) {
        let identity = (rank.0, finding.sites.clone());
        let known = self.known.get(&identity).copied();
        if let Some((best, known)) = known.and_then(|known| self.findings.get_mut(known)) {
            *best = rank.min(*best);
            known.runs.extend(finding.runs);
            return;
        }
        self.known.insert(identity, self.findings.len());
        self.findings.push((rank, finding));
    }

    /// By procedure; those of most failing runs first, and of one run in the order of occurrence.
    fn ranked(mut self) -> Vec<Finding> {
        self.findings
            .sort_by_key(|(rank, finding)| (rank.0, Reverse(finding.runs.len()), rank.1));
        self.findings
            .into_iter()
            .map(|(_, finding)| finding)
            .collect()
    }
}

fn finding(
    corpus: &Corpus,
    failing: &RunSummary,
    procedure: Procedure,
    reported: &Reported,
) -> Option<Finding> {
    let run = failing.run.as_deref()?;
    let (headline, sites, dependencies) = match reported {
        Reported::Seen(pair) => seen(run, pair),
        Reported::Missing(pair) => lacking(corpus, pair)?,
        Reported::Couple(couple) => coupled(run, couple),
    };
    Some(Finding {
        engine: Engine::Pairs,
        method: format!("procedure {}", procedure.name()),
        headline,
        sites,
        dependencies,
        runs: vec![failing.name.clone()],
        passing: corpus.counts().passing(),
        in_passing: match reported {
            Reported::Seen(_) | Reported::Couple(_) => Some(0),
            Reported::Missing(_) => None,
        },
    })
}

/// Headline, accesses, and dependencies between them.
type FindingParts = (String, Vec<FoundSite>, Vec<FoundDependency>);

/// Procedure I: the pair that only the failing run has.
fn seen(run: &Run, pair: &SeenPair) -> FindingParts {
    let sites = vec![site_of(run, pair.head), site_of(run, pair.tail)];
    let dependency = dependency(&sites, 0, 1, Presence::Failing);
    let headline = format!("{}: no passing run has this", in_order(&sites, 0, 1));
    (headline, sites, vec![dependency])
}

/// Procedure II: the reverse of a pair that the failing run lacks.
fn lacking(corpus: &Corpus, pair: &MissingPair) -> Option<FindingParts> {
    let counts = corpus.counts();
    let reversed = pair.reversed();
    let location = counts.location(pair.original);
    let head = of_site(counts.site(reversed.head)?, location);
    let tail = of_site(counts.site(reversed.tail)?, location);
    let sites = vec![head, tail];
    let passing = match pair.partner {
        None => "all passing runs have that",
        Some(_) => "passing runs have that whenever they have what else this run has",
    };
    let headline = format!("missing is that {}: {passing}", in_order(&sites, 1, 0));
    let dependency = dependency(&sites, 0, 1, Presence::Missing);
    Some((headline, sites, vec![dependency]))
}

/// Procedure III: two pairs that occur together only in the failing run.
fn coupled(run: &Run, couple: &Couple) -> FindingParts {
    let Couple { first, second } = couple;
    let ends = |pair: &CoupledPair| [pair.head, pair.tail];
    let mut rows = [ends(first), ends(second)].concat();
    rows.sort_unstable();
    rows.dedup();
    let sites: Vec<FoundSite> = rows.iter().map(|&row| site_of(run, row)).collect();
    let at = |row: EventId| rows.iter().position(|other| *other == row).unwrap_or(0);
    let pairs = [first, second].map(|pair| (at(pair.head), at(pair.tail)));
    let words = pairs.map(|(head, tail)| in_order(&sites, head, tail));
    let dependencies = pairs.map(|(head, tail)| dependency(&sites, head, tail, Presence::Failing));
    let headline = format!(
        "{}, and {}: no passing run has both together",
        words[0], words[1]
    );
    (headline, sites, dependencies.into())
}

fn dependency(sites: &[FoundSite], head: usize, tail: usize, seen: Presence) -> FoundDependency {
    let access = |at: usize| sites.get(at).map_or("", |site| site.access.as_str());
    FoundDependency {
        head: head as u32,
        tail: tail as u32,
        kind: kind(access(head), access(tail)),
        seen,
    }
}

fn site_of(run: &Run, row: EventId) -> FoundSite {
    let event = run.events.event(row);
    let class = AccessClass::of(event.kind).map_or("", AccessClass::name);
    FoundSite {
        place: place(run, event.site),
        thread: thread_in_words(run, event.thread),
        access: class.to_owned(),
        location: run.location(event.location).to_owned(),
    }
}

fn of_site(site: &AccessSite, location: &str) -> FoundSite {
    FoundSite {
        place: site.place.clone(),
        thread: String::new(),
        access: site.class.name().to_owned(),
        location: location.to_owned(),
    }
}

/// `the write of deposit (main.1) at bank.c:74 came before the read of withdraw (main.2) at bank.c:100 on
/// balance`.
fn in_order(sites: &[FoundSite], head: usize, tail: usize) -> String {
    let words = |at: usize| sites.get(at).map_or(String::new(), in_words);
    let name = variable(&[sites.get(head), sites.get(tail)]);
    format!("{} came before {} on `{name}`", words(head), words(tail))
}

fn in_words(site: &FoundSite) -> String {
    let at = short(&site.place);
    match site.thread.as_str() {
        "" => format!("the {} at {at}", site.access),
        thread => format!("the {} of {thread} at {at}", site.access),
    }
}

fn kind(head: &str, tail: &str) -> DependencyKind {
    match (head, tail) {
        (_, "read") | ("write" | "update", "update") => DependencyKind::Flow,
        ("read", _) => DependencyKind::Anti,
        _ => DependencyKind::Output,
    }
}
