//! Stories that were tried and are not told.

use super::{experiment::Experiments, tried::TriedStory};
use anyhow::Result;
use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, Explanation,
    diagnosis::{Evidence, PassedOver},
};
use unsnarl_trace::EventId;

/// A story that was tried and is not told.
pub(super) struct OtherStory {
    /// Its entry in the answer.
    pub passed_over: PassedOver,
    /// Files and lines that it blames.
    lines: Lines,
    /// Event at which what it blames is complete, if experiments could be made.
    complete: Option<EventId>,
    /// The story itself.
    story: Explanation,
}

/// Files and lines.
type Lines = BTreeSet<(String, u32)>;

impl OtherStory {
    pub fn of(explanation: &Explanation, tried: Option<&TriedStory>) -> OtherStory {
        OtherStory {
            passed_over: PassedOver {
                id: explanation.id.clone(),
                headline: explanation.headline.clone(),
                engines: explanation.engines.clone(),
                evidence: explanation.evidence,
                ..PassedOver::default()
            },
            lines: lines(explanation),
            complete: tried.map(|tried| tried.experiment.orders.complete),
            story: explanation.clone(),
        }
    }

    /// Returns whether it is this story.
    pub fn is(&self, story: &Explanation) -> bool {
        self.story.id == story.id
    }

    /// Does nothing fail without it either, though it is complete before `end`? The failure may take it, or it is just a
    /// part of the way to what is told.
    fn may_be_needed(&self, end: EventId) -> bool {
        self.passed_over.evidence.is_some_and(Evidence::is_cause)
            && self.complete.is_some_and(|at| at < end)
    }
}

/// Gives the story that is told instead of another one what experiments have shown of both.
pub(super) fn instead_of(told: &mut Explanation, known: Explanation) {
    let passed_over = OtherStory::of(&known, None).passed_over;
    let mut others = known.passed_over;
    let is_told = |other: &PassedOver| other.id == told.id;
    if let Some(at) = others.iter().position(is_told) {
        told.evidence = others.remove(at).evidence;
    }
    others.insert(0, passed_over);
    told.passed_over = others;
}

fn lines(explanation: &Explanation) -> Lines {
    let blamed = explanation.blamed();
    let lines = blamed.map(|mark| (mark.place.file.clone(), mark.place.line));
    lines.collect()
}

/// Marks the stories that the failure takes as well, as far as each blames a line that none before it does: what is told can
/// be had without them, and then nothing fails. How often it fails with both is noted.
pub(super) fn needed(
    told: &Explanation,
    best: &TriedStory,
    others: &mut [OtherStory],
    (trials, budget): (&dyn Experiments, &Budget),
) -> Result<()> {
    let mut known = lines(told);
    let end = best.experiment.orders.complete;
    for other in others.iter_mut().filter(|other| other.may_be_needed(end)) {
        if other.lines.is_subset(&known) {
            continue;
        }
        let share = trials.but_without(told, &other.story, budget)?;
        if let Some(share) = share.filter(|share| share.fails == 0) {
            other.passed_over.needed = Some(share);
            other.passed_over.both = trials.both(told, &other.story, budget)?;
            known.append(&mut other.lines);
        }
    }
    Ok(())
}
