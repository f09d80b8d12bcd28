//! Deadlocks that another order would show: cycles in the lock-order graph, and wakeups that would be lost.
//!
//! A cycle is a candidate when its threads could stand at their requests at once: they are different threads,
//! no two hold a common lock (a guard lock that keeps them apart; readers share), and no request happens
//! before another one by forks, joins, signals and the other edges of [`ForcedOrder::before`]. Cycles on the same
//! source lines count as one; of these, one is chosen for which there is an order.
//!
//! A wakeup can be lost when the last signal on a condition variable can come before the wait that it ended,
//! and the waiter reads the same values under its lock as before: then nothing tells it not to wait.
//!
//! A lock that was only tried (`pthread_mutex_trylock`) is held, but was not waited for.

mod cycles;
mod lost;
mod requests;
#[cfg(test)]
mod tests;

use super::{AnomalyCandidate, Class, ForcedOrder, schedule::Scheduler};
use crate::{Budget, EngineOutcome, StopReason, facts};
use cycles::Cycle;
use requests::LockRequest;
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, Run};

/// The pattern of wakeups that could be lost: the signal, then the wait.
pub const LOST_WAKEUP: &str = "lost wakeup";

/// Bound on the cycles on the same source lines for which an order is searched.
const TRIED: usize = 16;

/// Finds all candidates. The search for cycles is bounded by a number of steps, which `stopped` reports; the
/// rest is linear in the events for each cycle and each wait.
pub fn predict(
    graph: &ForcedOrder,
    scheduler: &Scheduler,
    budget: &Budget,
) -> EngineOutcome<AnomalyCandidate> {
    let run = graph.run();
    let requests = requests::requests(run);
    let (cycles, mut stopped) = cycles::cycles(graph, &requests, budget);
    let mut by_lines: BTreeMap<CycleLines, Vec<AnomalyCandidate>> = BTreeMap::new();
    for cycle in &cycles {
        let same = by_lines.entry(lines(run, &requests, cycle)).or_default();
        if same.len() < TRIED {
            same.push(candidate(&requests, cycle));
        }
    }
    let mut findings = Vec::new();
    for same in by_lines.into_values() {
        if let Some(stop) = budget.stop() {
            stopped = stop;
            break;
        }
        findings.extend(best(scheduler, same));
    }
    findings.sort_by(|a, b| a.events.cmp(&b.events));
    let (lost, stop) = lost::lost(run, scheduler, budget);
    findings.extend(lost);
    if stopped == StopReason::Complete {
        stopped = stop;
    }
    EngineOutcome { findings, stopped }
}

/// Of candidates on the same lines, one that has an order, if any has.
fn best(scheduler: &Scheduler, same: Vec<AnomalyCandidate>) -> Option<AnomalyCandidate> {
    if same.len() < 2 {
        return same.into_iter().next();
    }
    let shown = same.iter().find(|one| scheduler.order(one).is_ok());
    shown.or(same.first()).cloned()
}

fn candidate(requests: &[LockRequest], cycle: &Cycle) -> AnomalyCandidate {
    let asked = cycle.iter().filter_map(|at| requests.get(*at));
    AnomalyCandidate {
        class: Class::Deadlock,
        pattern: format!("cycle of {}", cycle.len()),
        events: asked.map(|request| EventId(request.asked)).collect(),
    }
}

/// Source lines at which the locks of a cycle are acquired and requested.
type CycleLines = Vec<(SourceLine, SourceLine)>;

/// File and line; the number of the site where these are not known.
type SourceLine = (String, u32, u32);

fn lines(run: &Run, requests: &[LockRequest], cycle: &Cycle) -> CycleLines {
    let asked = cycle.iter().filter_map(|at| requests.get(*at));
    let mut lines: CycleLines = asked
        .map(|request| (line(run, request.taken), line(run, request.asked)))
        .collect();
    lines.sort();
    lines
}

fn line(run: &Run, row: u32) -> SourceLine {
    let Some(event) = run.events.get(EventId(row)) else {
        return SourceLine::default();
    };
    let place = facts::place(run, event.site);
    match place.line {
        0 => (String::new(), 0, event.site.0),
        line => (place.file, line, 0),
    }
}
