//! Allocations that failed shortly before the failure, or whose NULL flowed into it.

use super::{Candidate, PER_STEP, Story, UNRELATED, candidate, distance};
use crate::explain::view::View;
use unsnarl_trace::{EventId, EventKind, LocationId, Value};

/// The failed allocation nearest to the failure.
pub(super) fn no_memory(view: &View) -> Vec<Candidate> {
    let rows = view.run.events.iter();
    let refused =
        rows.filter(|(_, event)| event.kind == EventKind::Alloc && event.location == LocationId(0));
    let near = refused.filter_map(|(row, _)| Some((steps_away(view, row)?, row)));
    let nearest = near.min_by_key(|&(away, row)| (away, std::cmp::Reverse(row)));
    let story = nearest.map(|(away, alloc)| {
        let mut found = candidate(view, Story::NoMemory { alloc }, &[alloc], 0, true);
        (found.cost, found.relevant) = (away * PER_STEP, true);
        found
    });
    story.into_iter().collect()
}

/// Distance to the failure: by the remaining steps of the thread if it is the failing one, else by the path
/// of its NULL.
fn steps_away(view: &View, alloc: EventId) -> Option<u32> {
    const AT_ONCE: usize = 12;
    const PER_DISTANCE: u32 = 4;
    let thread = view.thread(alloc);
    let own = view.rows.before(thread, view.failure);
    let after = own.get(own.partition_point(|row| *row <= alloc)..)?;
    if view.failed == Some(thread) && after.len() <= AT_ONCE {
        return Some(after.len() as u32 / PER_DISTANCE);
    }
    let is_null = |row: &&EventId| {
        let event = view.event(**row);
        event.kind.writes() && event.value == Some(Value::Bits(0))
    };
    let kept = after.iter().take(AT_ONCE).find(is_null)?;
    Some(distance(view, &[*kept])).filter(|&away| away < UNRELATED)
}
