//! The outline of a file: the explanations that begin or have steps there.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
    symbols::begins,
    words,
};
use std::path::Path;

/// An explanation as a part of a file's outline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlinedExplanation {
    /// Its first line.
    pub name: String,
    /// The word for its class.
    pub class: &'static str,
    /// The line of this file that a person should see first.
    pub spot: LineSpot,
    /// Its steps on lines of this file, in their order, each with its text.
    pub steps: Vec<(LineSpot, String)>,
}

/// The explanations with places in a current file, the selected one first.
pub fn outline(state: &ServerState, path: &Path) -> Vec<OutlinedExplanation> {
    let found = state.selected_first().filter_map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        outlined(explained, &located, path)
    });
    found.collect()
}

fn outlined(
    explained: &ExplainedFact,
    located: &FollowedFiles<'_>,
    path: &Path,
) -> Option<OutlinedExplanation> {
    let explanation = &explained.explanation;
    let numbered = explanation.steps.iter().zip(1..);
    let steps: Vec<(LineSpot, String)> = numbered
        .filter_map(|(step, number)| {
            let spot = located.spot(&step.place)?;
            let text = format!("{number}. {}", words::step(explained, step));
            (spot.path == path).then_some((spot, text))
        })
        .collect();
    let first = begins(explained)
        .filter_map(|place| located.spot(place))
        .find(|spot| spot.path == path);
    let spot = first.or_else(|| steps.first().map(|(spot, _)| spot.clone()))?;
    Some(OutlinedExplanation {
        name: explanation.headline.clone(),
        class: explanation.kind.word(),
        spot,
        steps,
    })
}
