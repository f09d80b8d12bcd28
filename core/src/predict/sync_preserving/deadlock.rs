//! Deadlocks: for each cycle of requests the first instances that are not in the closure of their
//! predecessors.

use super::{
    SyncPreserving,
    cycles::{PatternRequest, cycles, requests},
};
use crate::{
    budget::{Budget, EngineOutcome, StopReason},
    predict::{AnomalyCandidate, Class},
};
use unsnarl_trace::EventId;

/// Bound on the cycles examined; there can be exponentially many.
const MOST_CYCLES: usize = 100_000;

/// Finds one candidate for each cycle that has instances.
pub(super) fn candidates(
    these: &SyncPreserving<'_>,
    budget: &Budget,
) -> EngineOutcome<AnomalyCandidate> {
    let requests = requests(these.run);
    let mut findings = Vec::new();
    let mut stopped = StopReason::Complete;
    let mut seen = 0;
    cycles(&requests, |cycle| {
        seen += 1;
        if seen > MOST_CYCLES {
            stopped = StopReason::TooMuch("cycles of locks");
        } else if let Some(reason) = budget.stop() {
            stopped = reason;
        }
        if stopped != StopReason::Complete {
            return false;
        }
        let cycle: Vec<&PatternRequest> = cycle.iter().filter_map(|&at| requests.get(at)).collect();
        if let Some(events) = instance(these, &cycle) {
            findings.push(AnomalyCandidate {
                class: Class::Deadlock,
                pattern: format!("cycle of {}", events.len()),
                events,
            });
        }
        true
    });
    EngineOutcome { findings, stopped }
}

/// Advances through the requests of each thread at once: closures only grow, so an instance that was in one
/// is never needed again. Linear in the requests.
fn instance(these: &SyncPreserving<'_>, cycle: &[&PatternRequest]) -> Option<Vec<EventId>> {
    let SyncPreserving {
        clocks, sections, ..
    } = these;
    let mut at = vec![0usize; cycle.len()];
    let mut closed = clocks.bottom();
    loop {
        let mut ideal = closed.clone();
        let mut places = Vec::new();
        for (request, &at) in cycle.iter().zip(&at) {
            let row = *request.rows.get(at)?;
            let (thread, step) = clocks.step_of(row)?;
            clocks.join_before(&mut ideal, thread, step);
            places.push((row, thread, step));
        }
        if !sections.close(clocks, &closed, &mut ideal) {
            return None;
        }
        let mut moved = false;
        for (at, &(_, thread, step)) in at.iter_mut().zip(&places) {
            if ideal.get(thread) > step {
                *at += 1;
                moved = true;
            }
        }
        if !moved {
            return Some(places.into_iter().map(|(row, ..)| row).collect());
        }
        closed = ideal;
    }
}
