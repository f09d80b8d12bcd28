//! Access pairs that most of the failing runs have and no passing one.

use super::{Failing, Material, Proposer};
use crate::{
    Budget,
    claims::Claim,
    explain::{
        LOOKED_AT,
        found::{AccessDependency, ComparedRuns, ENOUGH, is_named, tell},
        view::View,
    },
    explanation::Explanation,
    facts,
    findings::pairs_agree,
    pairs::{SeenPair, procedure_one},
};
use std::cmp::Reverse;

/// The engine's name among those of an explanation.
const NAME: &str = "pairs";

/// Its contribution to an explanation that it agrees with.
const SAYS: &str =
    "reports accesses of these lines only, one right after the other, that no passing run has so";

/// The engine: the pairs of Test Procedure I that most of the runs have, of those first one on a variable of the program's
/// own that is nearest to the failure.
pub(super) struct PairsProposer;

impl Proposer for PairsProposer {
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
        let candidates = candidates(failing).into_iter().take(LOOKED_AT);
        let candidates = candidates.take_while(|_| budget.stop().is_none());
        candidates
            .filter_map(|(pair, with)| told(failing, &pair, with))
            .collect()
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        if pairs_agree(material.corpus, explanation, budget) {
            explanation.join(NAME, SAYS.to_owned());
        }
    }
}

/// The pairs with the runs that have each.
fn candidates(failing: &Failing<'_>) -> Vec<(SeenPair, Vec<String>)> {
    let (view, runs) = (failing.view, &failing.alike);
    let new = procedure_one(&view.run, view.pairs(), view.corpus.counts());
    let having = |pair: &SeenPair| {
        let with = runs.iter().filter(|run| run.pairs.find(pair.key).is_some());
        with.map(|run| run.name.clone()).collect::<Vec<String>>()
    };
    let named = |pair: &SeenPair| {
        [pair.head, pair.tail]
            .iter()
            .all(|&row| is_named(view, row))
    };
    let candidates = new.into_iter().filter(named);
    let candidates = candidates.map(|pair| (pair, having(&pair)));
    let mut candidates: Vec<_> = candidates
        .filter(|(_, with)| with.len() * 2 >= runs.len())
        .collect();
    candidates.sort_by_key(|(pair, with)| {
        (
            Reverse(with.len()),
            is_foreign(view, pair),
            far(view, pair),
            pair.tail,
            pair.head,
        )
    });
    candidates
}

fn far(view: &View, pair: &SeenPair) -> u32 {
    let ends = [pair.head, pair.tail].into_iter();
    let distances = ends.filter_map(|row| view.slice.distance(row));
    distances.min().unwrap_or(u32::MAX)
}

fn is_foreign(view: &View, pair: &SeenPair) -> bool {
    let rows = [pair.tail, pair.head];
    let name = view.variable_of(&rows);
    rows.iter().all(|&row| view.named(row).is_none()) || facts::own_part(&name) != name
}

/// A pair as an explanation; none where other columns of the same lines have it in passing runs, or where it comes too late
/// for the failure.
fn told(failing: &Failing<'_>, pair: &SeenPair, with: Vec<String>) -> Option<Explanation> {
    let view = failing.view;
    let follows = Claim::Follows {
        head: view.operation(pair.head),
        tail: view.operation(pair.tail),
    };
    let counted = follows.count(view.corpus);
    let is_forced = view.is_forced(pair.head, pair.tail);
    if counted.holds_in > 0 || is_forced || view.is_past(pair.tail) {
        return None;
    }
    let links = [AccessDependency::new(view, pair.head, pair.tail)];
    let share = ComparedRuns {
        failing: failing.alike.len(),
        passing: view.corpus.counts().passing(),
    };
    let mut told = tell(view, &links, with, &share);
    told.claims.push(counted);
    told.join(NAME, SAYS.to_owned());
    Some(told)
}
