//! Stories that were tried and are not told.

use super::tried::Tried;
use std::collections::BTreeSet;
use unsnarl_core::{
    Explanation, Role,
    diagnosis::{Evidence, PassedOver},
};
use unsnarl_trace::EventId;

/// A story that was tried and is not told.
pub(super) struct Other {
    /// Its entry in the answer.
    pub passed_over: PassedOver,
    /// Files and lines that it blames.
    lines: Lines,
    /// Event at which what it blames is complete, if experiments could be made.
    complete: Option<EventId>,
}

/// Files and lines.
type Lines = BTreeSet<(String, u32)>;

impl Other {
    pub fn of(explanation: &Explanation, tried: Option<&Tried>) -> Other {
        Other {
            passed_over: PassedOver {
                headline: explanation.headline.clone(),
                engines: explanation.engines.clone(),
                evidence: explanation.evidence,
                ..PassedOver::default()
            },
            lines: lines(explanation),
            complete: tried.map(|tried| tried.experiment.orders.complete),
        }
    }

    /// Does nothing fail without it either, though it is complete before `end`?
    fn is_needed(&self, end: EventId) -> bool {
        self.passed_over.evidence.is_some_and(Evidence::is_cause)
            && self.complete.is_some_and(|at| at < end)
    }
}

fn lines(explanation: &Explanation) -> Lines {
    let marks = explanation.sites.iter();
    let blamed = marks.filter(|mark| matches!(mark.role, Role::Cause | Role::Interference));
    let lines = blamed.map(|mark| (mark.place.file.clone(), mark.place.line));
    lines.collect()
}

/// Marks the stories that the failure takes as well: as far as each blames a line that none before it does, and what comes
/// of what is told apart.
pub(super) fn needed(told: &Explanation, best: &Tried, others: &mut [Other]) {
    let mut known = lines(told);
    let end = best.experiment.orders.complete;
    for other in others.iter_mut().filter(|other| other.is_needed(end)) {
        if !other.lines.is_subset(&known) {
            other.passed_over.needed = true;
            known.append(&mut other.lines);
        }
    }
}
