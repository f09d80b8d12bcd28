//! Cycles of requests at which all threads could stand at once.

use super::requests::LockRequest;
use crate::{Budget, StopReason, predict::ForcedOrder};
use rustc_hash::FxHashMap;
use unsnarl_order::Requests;
use unsnarl_trace::EventId;

/// Indices into the list of requests; each wants the lock that the next one holds, the last that of the
/// first.
pub(super) type Cycle = Vec<usize>;

/// Bound on the requests examined as the next one of a cycle, in total.
const STEPS: usize = 2_000_000;

struct CycleSearch<'a> {
    graph: &'a ForcedOrder<'a>,
    requests: &'a [LockRequest],
    /// Requests by the location of the held lock.
    holding: FxHashMap<u32, Vec<usize>>,
    budget: &'a Budget,
    steps: usize,
    stopped: StopReason,
    found: Vec<Cycle>,
}

/// Finds the cycles, each once, of any length.
pub(super) fn cycles(
    graph: &ForcedOrder,
    requests: &[LockRequest],
    budget: &Budget,
) -> (Vec<Cycle>, StopReason) {
    let mut holding: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, request) in requests.iter().enumerate() {
        holding.entry(request.held.location).or_default().push(at);
    }
    let mut search = CycleSearch {
        graph,
        requests,
        holding,
        budget,
        steps: 0,
        stopped: budget.stop().unwrap_or(StopReason::Complete),
        found: Vec::new(),
    };
    unsnarl_order::cycles(&mut search);
    (search.found, search.stopped)
}

impl Requests for CycleSearch<'_> {
    fn count(&self) -> usize {
        self.requests.len()
    }

    fn holders(&self, request: usize) -> &[usize] {
        let request = self.requests.get(request);
        let holding = request.and_then(|one| self.holding.get(&one.wanted.location));
        holding.map_or(&[], Vec::as_slice)
    }

    fn waits_for(&self, request: usize, holder: usize) -> bool {
        let pair = self.requests.get(request).zip(self.requests.get(holder));
        pair.is_some_and(|(one, holder)| one.wanted.excludes(holder.held))
    }

    /// Returns whether the threads are different, hold no common lock, and neither request comes first in all
    /// orders.
    fn at_once(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.requests.get(a), self.requests.get(b)) else {
            return false;
        };
        let guarded = || {
            a.all
                .iter()
                .any(|mine| b.all.iter().any(|lock| lock.excludes(*mine)))
        };
        let (asks_a, asks_b) = (EventId(a.asked), EventId(b.asked));
        a.thread != b.thread
            && !guarded()
            && !self.graph.before(asks_a, asks_b)
            && !self.graph.before(asks_b, asks_a)
    }

    fn go_on(&mut self) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            self.stopped = StopReason::TooMuch("requests for locks while others are held");
        } else if self.steps.is_multiple_of(1024)
            && let Some(stop) = self.budget.stop()
        {
            self.stopped = stop;
        }
        self.stopped == StopReason::Complete
    }

    fn found(&mut self, cycle: &[usize]) -> bool {
        self.found.push(cycle.to_vec());
        true
    }
}
