//! Cycles of requests at which all threads could stand at once.

use super::requests::Request;
use crate::{Budget, StopReason, predict::Graph};
use rustc_hash::FxHashMap;
use unsnarl_trace::EventId;

/// Indices into the list of requests; each wants the lock that the next one holds, the last that of the
/// first.
pub(super) type Cycle = Vec<usize>;

/// Bound on the requests examined as the next one of a cycle, in total.
const STEPS: usize = 2_000_000;

struct Search<'a> {
    graph: &'a Graph<'a>,
    requests: &'a [Request],
    /// Requests by the location of the held lock.
    holding: FxHashMap<u32, Vec<usize>>,
    budget: &'a Budget,
    steps: usize,
    stopped: StopReason,
    path: Cycle,
    found: Vec<Cycle>,
}

/// Finds the cycles, each once, of any length.
pub(super) fn cycles(
    graph: &Graph,
    requests: &[Request],
    budget: &Budget,
) -> (Vec<Cycle>, StopReason) {
    let mut holding: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, request) in requests.iter().enumerate() {
        holding.entry(request.held.location).or_default().push(at);
    }
    let mut search = Search {
        graph,
        requests,
        holding,
        budget,
        steps: 0,
        stopped: budget.stop().unwrap_or(StopReason::Complete),
        path: Vec::new(),
        found: Vec::new(),
    };
    for first in 0..requests.len() {
        search.path = vec![first];
        search.extend();
    }
    (search.found, search.stopped)
}

impl Search<'_> {
    /// Extends the path after its last request; a cycle begins with the first of its requests.
    fn extend(&mut self) {
        let requests = self.requests;
        let (Some(&first), Some(last)) = (
            self.path.first(),
            self.path.last().and_then(|last| requests.get(*last)),
        ) else {
            return;
        };
        let next = self.holding.get(&last.wanted.location);
        let next: Vec<usize> = next
            .into_iter()
            .flatten()
            .copied()
            .filter(|next| *next > first)
            .collect();
        for next in next {
            if !self.go_on() {
                return;
            }
            if !self.fits(next) {
                continue;
            }
            self.path.push(next);
            if self.closes() {
                self.found.push(self.path.clone());
            }
            self.extend();
            self.path.pop();
        }
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

    /// Returns whether a request holds the lock that the last one wants, and its thread can stand there while
    /// those of the path stand where they do.
    fn fits(&self, next: usize) -> bool {
        let Some(next) = self.requests.get(next) else {
            return false;
        };
        let mut path = self.path.iter().filter_map(|at| self.requests.get(*at));
        path.clone()
            .next_back()
            .is_some_and(|last| last.wanted.excludes(next.held))
            && path.all(|other| self.at_once(other, next))
    }

    fn at_once(&self, a: &Request, b: &Request) -> bool {
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

    fn closes(&self) -> bool {
        let of = |at: Option<&usize>| at.and_then(|at| self.requests.get(*at));
        match (of(self.path.first()), of(self.path.last())) {
            (Some(first), Some(last)) => last.wanted.excludes(first.held),
            _ => false,
        }
    }
}
