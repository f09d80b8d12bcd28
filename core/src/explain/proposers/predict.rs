//! Anomalies that were to be expected from a run that passed, as far as the failing run has them.

use super::{Failing, Material, Proposer, among::Among};
use crate::{
    Budget,
    corpus::RunSummary,
    explain::view::View,
    explanation::Explanation,
    findings::{predicted, prediction_agrees},
    pairs::Triple,
    predict::AnomalyCandidate,
};
use std::{cell::OnceCell, collections::HashMap};
use unsnarl_trace::{EventId, Run};

/// Anomalies that are looked for in a failing run.
const LOOKED_FOR: usize = 256;

/// The engine's name among those of an explanation.
const NAME: &str = "predict";

/// The engine: what it finds in the shortest exact run that passed.
#[derive(Default)]
pub(super) struct PredictProposer {
    known: OnceCell<Vec<AnomalyCandidate>>,
}

impl PredictProposer {
    fn found(&self, passed: &Run, budget: &Budget) -> &[AnomalyCandidate] {
        self.known.get_or_init(|| predicted(passed, budget))
    }
}

impl Proposer for PredictProposer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
        let Some((name, passed)) = shortest(failing.material) else {
            return Vec::new();
        };
        let view = failing.view;
        let here: HashMap<AccessName<'_>, EventId> = names(&view.run).collect();
        let same = names(passed).filter_map(|(name, row)| Some((row, *here.get(&name)?)));
        let same: HashMap<EventId, EventId> = same.collect();
        let mut among = Among::default();
        for candidate in self.found(passed, budget).iter().take(LOOKED_FOR) {
            let rows = candidate.events.iter().map(|row| same.get(row).copied());
            let rows: Option<Vec<EventId>> = rows.collect();
            let rows = rows.filter(|rows| rows.is_sorted());
            add(view, &mut among, &rows.unwrap_or_default());
        }
        among.told(
            view,
            NAME,
            &format!("predicts it from {name}, which passed"),
        )
    }

    fn support(&self, explanation: &mut Explanation, material: &Material<'_>, budget: &Budget) {
        if budget.stop().is_some() {
            return;
        }
        let Some((name, passed)) = shortest(material) else {
            return;
        };
        if prediction_agrees(self.found(passed, budget), passed, explanation) {
            explanation.join(NAME, format!("predicts it from {name}, which passed"));
        }
    }
}

/// The shortest exact run that passed, if it was read.
fn shortest<'m>(material: &'m Material<'_>) -> Option<(&'m str, &'m Run)> {
    let passing = material.corpus.passing().filter(|run| run.exact);
    let shortest: &RunSummary = passing.min_by_key(|run| (run.events, &run.name))?;
    Some((&shortest.name, material.run(&shortest.name)?))
}

/// Adds what the rows of an anomaly are in the failing run: two accesses in an order, or one between two others.
fn add(view: &View, among: &mut Among, rows: &[EventId]) {
    let conflicts = |a: EventId, b: EventId| {
        let [a, b] = [a, b].map(|row| view.event(row));
        a.thread != b.thread
            && a.location == b.location
            && a.kind.is_access()
            && b.kind.is_access()
            && (a.kind.writes() || b.kind.writes())
    };
    match *rows {
        [early, late] if conflicts(early, late) => {
            among.pairs.insert((early, late));
        }
        [first, remote, second] if conflicts(first, remote) && conflicts(remote, second) => {
            among.interruptions.push(Triple {
                first,
                remote,
                second,
                location: view.event(first).location,
            });
        }
        _ => {}
    }
}

/// An access by names that are the same in every run: thread, line and column, what is done to what, and how many times
/// before.
type AccessName<'r> = (&'r str, (&'r str, u32, u32), &'static str, &'r str, usize);

/// The accesses of a run by their names.
fn names(run: &Run) -> impl Iterator<Item = (AccessName<'_>, EventId)> {
    let mut counts: HashMap<AccessName<'_>, usize> = HashMap::new();
    let accesses = run.events.iter();
    let accesses = accesses.filter(|(_, event)| event.kind.is_access());
    accesses.map(move |(row, event)| {
        let site = run.meta.site(event.site);
        let thread = run.meta.thread(event.thread).name.as_str();
        let at = (site.file.as_str(), site.line, site.column);
        let location = run.location(event.location);
        let count = counts.entry((thread, at, event.kind.name(), location, 0));
        let count = count.or_default();
        *count += 1;
        ((thread, at, event.kind.name(), location, *count), row)
    })
}
