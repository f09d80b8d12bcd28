//! Uses of memory after it was freed.

use super::{Candidate, NOT_NEW, Story, candidate, keep_best};
use crate::explain::view::View;
use unsnarl_trace::{EventId, EventKind, FailureKind};

/// Blocks that were used after they were freed.
pub(super) fn after_free(view: &View) -> Vec<Candidate> {
    let freed = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Free);
    let mut freed: Vec<(&str, EventId)> = freed
        .map(|(row, event)| (view.run.location(event.location), row))
        .collect();
    freed.sort();
    freed.dedup_by_key(|(block, _)| *block);
    if freed.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (row, event) in view.run.events.iter() {
        let block = view.run.block(event.location);
        let free = freed
            .binary_search_by_key(&block, |(block, _)| *block)
            .ok()
            .and_then(|at| freed.get(at));
        let Some(&(_, free)) = free.filter(|(_, free)| *free < row && !block.is_empty()) else {
            continue;
        };
        let again = event.kind == EventKind::Failure
            && view.summary.failure_kind == Some(FailureKind::DoubleFree);
        let uses = again
            || event.kind.is_access()
            || event.kind == EventKind::Free
            || event.kind.role().touches_object();
        if uses {
            found.push(after_free_candidate(view, free, row, again));
        }
    }
    keep_best(found)
}

fn after_free_candidate(view: &View, free: EventId, used: EventId, again: bool) -> Candidate {
    let mut found = candidate(view, Story::AfterFree { free, used }, &[used], 0, true);
    if again {
        (found.cost, found.relevant) = (NOT_NEW / 2, true);
    }
    if is_the_failure(view, used) {
        (found.cost, found.relevant) = (0, true);
    }
    found
}

/// Returns whether the run failed by this use of the block: at its line, by its thread.
fn is_the_failure(view: &View, used: EventId) -> bool {
    let (at, failed) = (view.place(used), view.place(view.failure));
    view.summary.failure_kind == Some(FailureKind::UseAfterFree)
        && view.thread(used) == view.thread(view.failure)
        && (&at.file, at.line) == (&failed.file, failed.line)
}
