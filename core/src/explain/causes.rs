//! From stories of single runs to causes: stories based on the same accesses are merged, whatever place the
//! runs fail at.

use super::{
    candidates::{Candidate, Story},
    parted::PartedSections,
    spurious::is_spurious,
    view::View,
};
use crate::{
    corpus::RunSummary,
    explanation::{BugKind, Explanation, FailurePlace, Role, SiteMark},
    facts::family,
    pairs::{AccessClass, AccessKey, PairKey, TripleKey},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::EventKind;

/// Accesses that a story is based on, by places in the source, so that it is recognized in other runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum StoryEvidence {
    Triple(TripleKey),
    Couple(PairKey, PairKey),
    Order(PairKey),
    Missing(PairKey),
    Refused(PairKey),
    NoMemory(AccessKey),
    Freed(AccessKey),
    Returned(AccessKey),
    Spurious(AccessKey),
    Unchecked(AccessKey),
}

impl StoryEvidence {
    /// Evidence of a candidate's story.
    pub fn of(view: &View, story: &Story) -> StoryEvidence {
        let pair = |head, tail| PairKey {
            head: view.key(head),
            tail: view.key(tail),
        };
        let at = |row| AccessKey::new(view.run.meta.site(view.event(row).site), AccessClass::Write);
        match *story {
            Story::Atomicity(triple) => StoryEvidence::Triple(view.triple_key(&triple)),
            Story::MultiVariable(couple) => StoryEvidence::Couple(
                pair(couple.first.head, couple.first.tail),
                pair(couple.second.head, couple.second.tail),
            ),
            Story::Order { early, late } => StoryEvidence::Order(pair(early, late)),
            Story::Missing { original, .. } => StoryEvidence::Missing(original),
            Story::Refused { held, attempt } => StoryEvidence::Refused(PairKey {
                head: at(held),
                tail: at(attempt),
            }),
            Story::HalfWay { write, attempt } => StoryEvidence::Refused(PairKey {
                head: at(write),
                tail: at(attempt),
            }),
            Story::Unchecked { wake, .. } if is_spurious(view, wake) => {
                StoryEvidence::Spurious(at(wake))
            }
            Story::Unchecked { wake, .. } => StoryEvidence::Unchecked(at(wake)),
            Story::NoMemory { alloc } => StoryEvidence::NoMemory(at(alloc)),
            Story::AfterFree { free, .. } => StoryEvidence::Freed(at(free)),
            Story::Returned { used, .. } => StoryEvidence::Returned(at(used)),
        }
    }
}

/// Bound on the additional cost of a story that is nearly as good as another one.
pub(super) const NEARLY: u32 = 24;

/// Evidence that a run supports nearly as well as its best story: new in it and flowed into the failure; with how often it has
/// it.
pub(super) fn borne_out(view: &View, candidates: &[Candidate]) -> BTreeMap<StoryEvidence, usize> {
    let best = candidates.first().map_or(0, |best| best.cost);
    let good = candidates.iter().filter(|candidate| {
        candidate.new && candidate.relevant && candidate.cost <= best.saturating_add(NEARLY)
    });
    let mut counted = BTreeMap::new();
    for candidate in good {
        let evidence = StoryEvidence::of(view, &candidate.story);
        *counted.entry(evidence).or_default() += 1;
    }
    counted
}

/// An explanation with the cost of its story and the runs that support it.
pub(super) struct ToldExplanation {
    pub explanation: Explanation,
    pub cost: u32,
    /// Number of runs that support it.
    pub times: usize,
    /// Number of times that its run has the same accesses in the same order: a run that has them once shows best that it fails
    /// by them.
    instances: usize,
    /// Places of the failures.
    pub places: BTreeSet<String>,
    /// Evidence of the story; none when it is no access.
    evidence: Option<StoryEvidence>,
    /// Evidence supported by each of these runs.
    borne_out: Vec<BTreeSet<StoryEvidence>>,
    /// Sites blamed by this and the stories merged into it.
    blamed: Vec<SiteMark>,
    /// The critical sections of which it says that another one comes between them.
    parted: Option<PartedSections>,
}

impl ToldExplanation {
    /// A story from one run.
    pub fn new(explanation: Explanation, cost: u32, place: String) -> ToldExplanation {
        let blamed = explanation.blamed();
        let blamed = blamed.cloned().collect();
        ToldExplanation {
            explanation,
            cost,
            times: 1,
            instances: 0,
            places: BTreeSet::from([place]),
            evidence: None,
            borne_out: Vec::new(),
            blamed,
            parted: None,
        }
    }

    /// Adds the critical sections that it is about.
    pub fn between(self, parted: Option<PartedSections>) -> ToldExplanation {
        ToldExplanation { parted, ..self }
    }

    /// Adds its evidence.
    pub fn resting_on(
        self,
        evidence: Option<StoryEvidence>,
        borne_out: BTreeMap<StoryEvidence, usize>,
    ) -> ToldExplanation {
        let own = evidence.and_then(|evidence| borne_out.get(&evidence));
        ToldExplanation {
            evidence,
            instances: own.copied().unwrap_or(0),
            borne_out: vec![borne_out.into_keys().collect()],
            ..self
        }
    }

    /// Returns whether it needs a wakeup that only the scheduler makes frequent.
    fn is_spurious(&self) -> bool {
        matches!(self.evidence, Some(StoryEvidence::Spurious(_)))
    }

    /// Merges the runs of another explanation of the same cause.
    fn take(&mut self, other: ToldExplanation) {
        self.times += other.times;
        self.places.extend(other.places);
        self.borne_out.extend(other.borne_out);
        self.blamed.extend(other.blamed);
        self.explanation.runs.extend(other.explanation.runs);
        let failures =
            std::iter::once(other.explanation.failure).chain(other.explanation.also_fails);
        self.explanation.also_fails.extend(failures);
    }

    /// Returns whether every run of the other one supports this cause.
    fn covers(&self, other: &ToldExplanation) -> bool {
        self.evidence.is_some_and(|evidence| {
            !other.borne_out.is_empty() && other.borne_out.iter().all(|run| run.contains(&evidence))
        })
    }
}

/// Adds a story. Stories about the same variable that share a line are variants of one; the cheapest stays.
pub(super) fn add(told: &mut Vec<ToldExplanation>, new: ToldExplanation) {
    let mut merged = new;
    let mut i = 0;
    while let Some(known) = told.get(i) {
        if akin(known, &merged) {
            merged = merge(told.remove(i), merged);
        } else {
            i += 1;
        }
    }
    told.push(merged);
}

fn merge(known: ToldExplanation, new: ToldExplanation) -> ToldExplanation {
    let is_same = known.evidence == new.evidence;
    let order = |told: &ToldExplanation| {
        let instances = if is_same { told.instances } else { 0 };
        let kind = told.explanation.kind;
        (told.is_spurious(), told.cost, kind, instances)
    };
    let better = order(&new) < order(&known);
    let (mut kept, other) = if better { (new, known) } else { (known, new) };
    kept.take(other);
    kept
}

/// Returns whether both blame the same variable (or elements of the same array) and one of the same lines,
/// and neither or both wait. For freed memory, which has a name of its own, the line is enough; for critical sections that
/// are parted, the sections are: a container shows itself in one variable or another.
fn akin(a: &ToldExplanation, b: &ToldExplanation) -> bool {
    let waits = |told: &ToldExplanation| {
        matches!(
            told.explanation.kind,
            BugKind::Deadlock | BugKind::LostWakeup
        )
    };
    let freed = [a, b]
        .iter()
        .any(|told| told.explanation.kind == BugKind::UseAfterFree);
    let any = |same: fn(&SiteMark, &SiteMark) -> bool| {
        a.blamed.iter().any(|a| b.blamed.iter().any(|b| same(a, b)))
    };
    let sections = a.parted.is_some() && a.parted == b.parted;
    // A lock that is kept for ever is another cause than threads that wait for each other there.
    let differ = waits(a) && waits(b) && blames_waits_alone(a) != blames_waits_alone(b);
    a.explanation.id == b.explanation.id
        || sections
        || waits(a) == waits(b)
            && !differ
            && (freed || any(|a, b| family(&a.location) == family(&b.location)))
            && any(|a, b| (&a.place.file, a.place.line) == (&b.place.file, b.place.line))
}

/// Returns whether all that is blamed are the waits of threads at the end.
fn blames_waits_alone(told: &ToldExplanation) -> bool {
    let mut causes = told.blamed.iter().filter(|mark| mark.role == Role::Cause);
    causes.all(|mark| mark.access == EventKind::Blocked.name())
}

/// Minimizes the number of causes: a cause that all runs of another explanation also support explains them
/// too.
pub(super) fn as_few_as_will_do(mut told: Vec<ToldExplanation>) -> Vec<ToldExplanation> {
    let mut kept: Vec<ToldExplanation> = Vec::new();
    while let Some(best) = widest(&told) {
        let mut cause = told.remove(best);
        let (covered, rest): (Vec<ToldExplanation>, Vec<ToldExplanation>) =
            told.into_iter().partition(|other| cause.covers(other));
        covered.into_iter().for_each(|other| cause.take(other));
        kept.push(cause);
        told = rest;
    }
    kept
}

/// The explanation of most runs, among equals the one with most supporting runs and at least cost.
fn widest(told: &[ToldExplanation]) -> Option<usize> {
    let runs = |cause: &ToldExplanation| {
        let covered = told.iter().filter(|other| cause.covers(other));
        let others: usize = covered.map(|other| other.times).sum();
        others.max(cause.times)
    };
    let key = |&at: &usize| {
        let cause = told.get(at)?;
        let cost = std::cmp::Reverse(cause.cost);
        Some((runs(cause), cause.times, cost, std::cmp::Reverse(at)))
    };
    (0..told.len()).max_by_key(key)
}

/// Assigns the remaining runs that fail at a place to the explanation with most supporting runs there.
pub(super) fn claim(told: &mut [ToldExplanation], place: &str, runs: &[&RunSummary]) {
    let known: BTreeSet<String> = told
        .iter()
        .flat_map(|told| told.explanation.runs.clone())
        .collect();
    let here = told.iter_mut().filter(|told| told.places.contains(place));
    let Some(most) = here.max_by_key(|told| (told.times, std::cmp::Reverse(told.cost))) else {
        return;
    };
    let rest = runs
        .iter()
        .map(|run| run.name.clone())
        .filter(|name| !known.contains(name));
    most.explanation.runs.extend(rest);
}

/// Orders explanations, best first: by certainty, without a wakeup that only the scheduler makes frequent, by
/// runs, by engines, by cost.
pub(super) fn ranked(mut told: Vec<ToldExplanation>) -> Vec<Explanation> {
    told.sort_by_key(|told| {
        let sequential = told.explanation.kind == BugKind::Sequential;
        (
            sequential,
            told.explanation.certainty,
            told.is_spurious(),
            std::cmp::Reverse(told.times),
            std::cmp::Reverse(told.explanation.engines.len()),
            told.cost,
            told.explanation.id.clone(),
        )
    });
    told.into_iter().map(|told| told.explanation).collect()
}

/// Removes duplicate runs and duplicate places of failure.
pub(super) fn tidy(explanation: &mut Explanation) {
    explanation.runs.sort();
    explanation.runs.dedup();
    let own = place_of(&explanation.failure);
    let mut others: BTreeMap<(String, String), FailurePlace> = BTreeMap::new();
    for failure in std::mem::take(&mut explanation.also_fails) {
        others.insert(place_of(&failure), failure);
    }
    others.remove(&own);
    explanation.also_fails = others.into_values().collect();
}

/// The message and the place of a failure; none of one that only the process's status tells: threads that still run differ in
/// the last step.
fn place_of(failure: &FailurePlace) -> (String, String) {
    let site = failure.site.as_ref().filter(|_| !failure.is_by_status);
    let at = site.map(crate::facts::short);
    (at.unwrap_or_default(), failure.message.clone())
}
