//! Mined patterns that most of the failing runs have and no passing one.

use super::{Failing, Material, Proposer};
use crate::{
    Budget, Corpus,
    explain::{
        found::{AccessDependency, ComparedRuns, ENOUGH, is_named, tell},
        view::View,
    },
    explanation::Explanation,
    findings::{
        Finding, FoundSite,
        mining::{Brief, in_brief},
        mining_agrees,
    },
    orders::{Dependency, dependencies},
    pairs::AccessClass,
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};
use unsnarl_trace::{EventId, Location};

/// Patterns that are proposed.
const PROPOSED: usize = 8;

/// The engine's name among those of an explanation.
const NAME: &str = "mining";

/// Its contribution to an explanation that it agrees with.
const SAYS: &str = "finds a pattern of these lines and variables in at least half of the runs, and in no passing one";

/// The engine: the patterns of which a run has all dependencies, between accesses that have a name.
#[derive(Default)]
pub(super) struct MiningProposer {
    /// The patterns, mined at the first question.
    mined: OnceCell<Brief>,
}

impl MiningProposer {
    fn mined(&self, corpus: &Corpus, budget: &Budget) -> &Brief {
        self.mined.get_or_init(|| in_brief(corpus, budget))
    }
}

impl Proposer for MiningProposer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compares(&self) -> bool {
        true
    }

    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
        let view = failing.view;
        if view.corpus.counts().passing() < ENOUGH {
            return Vec::new();
        }
        let mined = self.mined(view.corpus, budget);
        let here: BTreeSet<&String> = failing.alike.iter().map(|run| &run.name).collect();
        let seen = here.iter().filter(|name| mined.looked_at.contains(**name));
        let share = ComparedRuns {
            failing: seen.count(),
            passing: view.corpus.counts().passing(),
        };
        let findings = mined.findings.iter().filter(|_| mined.is_sure);
        let told = findings.filter_map(|finding| told(view, finding, &here, &share));
        told.take(PROPOSED).collect()
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        if mining_agrees(self.mined(material.corpus, budget), explanation) {
            explanation.join(NAME, SAYS.to_owned());
        }
    }
}

/// A pattern of at least half of the runs as an explanation.
fn told(
    view: &View,
    finding: &Finding,
    here: &BTreeSet<&String>,
    share: &ComparedRuns,
) -> Option<Explanation> {
    let names = finding.runs.iter().filter(|name| here.contains(name));
    let among: Vec<String> = names.cloned().collect();
    if !finding.runs.contains(&view.summary.name) || among.len() * 2 < share.failing {
        return None;
    }
    let links = in_run(view, finding)?;
    // What every schedule does so is no cause, whatever else the runs have.
    let is_forced = links
        .iter()
        .all(|link| view.is_forced(link.head, link.tail));
    if is_forced || links.iter().any(|link| view.is_past(link.tail)) {
        return None;
    }
    let share = ComparedRuns {
        passing: finding.passing,
        ..*share
    };
    let mut told = tell(view, &links, among, &share);
    told.join(NAME, SAYS.to_owned());
    Some(told)
}

/// The last occurrence of each of the finding's dependencies; none when one is missing or has no name.
fn in_run(view: &View, finding: &Finding) -> Option<Vec<AccessDependency>> {
    let mut last: BTreeMap<usize, Dependency> = BTreeMap::new();
    dependencies(&view.run, view.orders.accesses(), |dependency| {
        if dependency.tail > view.failure {
            return;
        }
        for (number, wanted) in finding.dependencies.iter().enumerate() {
            let is = |index: u32, row| {
                let site = finding.sites.get(index as usize);
                site.is_some_and(|site| is_at(view, row, site))
            };
            if wanted.kind == dependency.kind
                && is(wanted.head, dependency.head)
                && is(wanted.tail, dependency.tail)
                && last
                    .get(&number)
                    .is_none_or(|known| known.tail < dependency.tail)
            {
                last.insert(number, dependency);
            }
        }
    });
    let is_whole = !last.is_empty() && last.len() == finding.dependencies.len();
    let rows = || last.values().flat_map(|found| [found.head, found.tail]);
    (is_whole && rows().all(|row| is_named(view, row))).then(|| {
        let links = last.values();
        links
            .map(|found| AccessDependency {
                head: found.head,
                tail: found.tail,
                kind: found.kind,
            })
            .collect()
    })
}

fn is_at(view: &View, row: EventId, site: &FoundSite) -> bool {
    let event = view.event(row);
    let place = view.place(row);
    let class = AccessClass::of(event.kind).map_or("", AccessClass::name);
    (&place.file, place.line) == (&site.place.file, site.place.line)
        && class == site.access
        && view.words(row) == site.thread
        && view.run.block(event.location) == Location::of(&site.location).block()
}
