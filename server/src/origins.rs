//! The lines that a line of a failing run depends on: the writes of the values that it read, and what it waits for.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    jumps::{self, JumpKind},
    marks::{FollowedFiles, LineSpot},
    words,
};
use std::path::Path;
use unsnarl_core::{EdgeKind, Place, Step, facts};

/// The lines that wrote what the steps at a line (from 0) of a current file read, in the first explanation that has
/// such steps there; else the lines that it waits for.
pub fn origins(state: &ServerState, path: &Path, line: usize) -> Vec<LineSpot> {
    let mut written = state.selected_first().map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let is_here = |step: &&Step| {
            let spot = located.spot(&step.place);
            spot.is_some_and(|spot| spot.line == line && spot.path == path)
        };
        let here = explained.explanation.steps.iter().filter(is_here);
        let writes = here.filter_map(|step| located.spot(&origin(explained, step)?));
        unique(writes)
    });
    let written = written.find(|spots| !spots.is_empty());
    written.unwrap_or_else(|| awaited(state, path, line))
}

/// The place of the write whose value a step read, in the run that the step was taken from.
fn origin(explained: &ExplainedFact, step: &Step) -> Option<Place> {
    let (run, orders) = explained.orders()?;
    let event = words::event(run, step)?;
    let row = unsnarl_trace::EventId(step.event);
    let write = event
        .kind
        .reads()
        .then(|| orders.last_write_before(event.location, row))??;
    Some(facts::place(run, run.events.get(write)?.site))
}

/// The lines on which a line waits in a deadlock.
fn awaited(state: &ServerState, path: &Path, line: usize) -> Vec<LineSpot> {
    let jumps = jumps::jumps(state, path, line).into_iter();
    let waits = jumps.filter(|jump| jump.way == JumpKind::Edge(EdgeKind::WaitsFor));
    unique(waits.map(|jump| jump.spot))
}

/// Each spot once, in the order of their first occurrences.
fn unique(spots: impl Iterator<Item = LineSpot>) -> Vec<LineSpot> {
    let mut unique = Vec::new();
    for spot in spots {
        if !unique.contains(&spot) {
            unique.push(spot);
        }
    }
    unique
}
