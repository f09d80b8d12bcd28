//! The steps of an explanation as a chain: each leads to the one that ran next.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
    paths::Root,
    words,
};
use std::{path::Path, sync::Arc};

/// A step as a link of the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainedStep {
    /// Id of the explanation.
    pub explanation: String,
    /// Index of the step, from 0.
    pub index: usize,
    /// Its number and its text: `2. main.1 writes balance = 500, in between`.
    pub title: String,
    /// The function that took it.
    pub function: String,
    /// Its line.
    pub spot: LineSpot,
}

/// A direction along the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainDirection {
    /// To the step that ran before.
    Back,
    /// To the step that ran next.
    On,
}

/// The steps at a line (from 0) of a current file, of the first explanation that has any there.
pub fn at(state: &ServerState, path: &Path, line: usize) -> Vec<ChainedStep> {
    let mut found = state.selected_first().map(|(root, explained)| {
        let mut steps = chained(state, root, explained);
        steps.retain(|step| step.spot.line == line && step.spot.path == path);
        steps
    });
    found.find(|steps| !steps.is_empty()).unwrap_or_default()
}

/// The nearest step in this direction whose line is still there.
pub fn beside(
    state: &ServerState,
    explanation: &str,
    index: usize,
    direction: ChainDirection,
) -> Option<ChainedStep> {
    let mut all = state.selected_first();
    let (root, explained) = all.find(|(_, other)| other.explanation.id == explanation)?;
    let mut steps = chained(state, root, explained).into_iter();
    match direction {
        ChainDirection::Back => steps.rfind(|step| step.index < index),
        ChainDirection::On => steps.find(|step| step.index > index),
    }
}

/// The steps whose lines are still there.
fn chained(state: &ServerState, root: &Root, explained: &Arc<ExplainedFact>) -> Vec<ChainedStep> {
    let located = FollowedFiles::new(&state.sources, root, explained);
    let steps = explained.explanation.steps.iter().enumerate();
    let chained = steps.filter_map(|(index, step)| {
        Some(ChainedStep {
            explanation: explained.explanation.id.clone(),
            index,
            title: format!("{}. {}", index + 1, words::step(explained, step)),
            function: step.place.function.clone(),
            spot: located.spot(&step.place)?,
        })
    });
    chained.collect()
}
