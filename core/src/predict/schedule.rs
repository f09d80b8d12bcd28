//! Schedules for candidates: Algorithms 3 and 4 of [pecan] and their extension to any pattern.
//!
//! A [`Scheduler`] replays the run in its own order, with threads held back before events of the candidate
//! whose turn has not come, and, where others need a lock that they would hold there, before their outermost
//! lock. That moves the events that the paper's algorithms move (its Figures 1, 4 and 5 come out), takes time
//! linear in the run, and leaves the rest as recorded, so most reads see the same values. Where it finds no
//! order, a bounded search through the orders of the synchronization steps follows. Every result has passed
//! [`feasible::Checker`]. Decisions by values are not examined: only an execution of the order shows them.
//!
//! [pecan]: Huang and Zhang, *Persuasive Prediction of Concurrency Access Anomalies*, ISSTA 2011.

mod goal;
mod index;
mod search;
#[cfg(test)]
mod tests;
mod walk;

#[cfg(test)]
pub(super) use tests::{brute, programs};

use super::{
    AnomalyCandidate, WitnessOrder,
    feasible::{self, Infeasible, event_in_words},
};
use crate::orders::HappensBefore;
use goal::{CandidateGoal, GoalEvent, GoalShape};
use index::RunIndex;
use search::Ended;
use unsnarl_trace::{EventId, Run};
use walk::{Holds, WalkEnd, walk};

/// Reason why a candidate has no order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoOrder {
    /// The candidate has no events.
    Empty,
    /// The run has no such event.
    NotInRun(EventId),
    /// Two events of one thread cannot be in this order.
    Contradicts {
        /// The event that is to come first.
        first: EventId,
        /// The event that is to come second.
        second: EventId,
    },
    /// Forks, joins, barriers or once-only initialization force one event before the other.
    Ordered {
        /// The event that always comes first.
        first: EventId,
        /// The other event.
        second: EventId,
    },
    /// The search was exhaustive: this event cannot come when it has to.
    Impossible {
        /// The event.
        event: EventId,
        /// The conflicting event in the order nearest to the run, if it is a single one.
        other: Option<EventId>,
    },
    /// There are more orders than the search tries.
    GaveUp {
        /// The event that could not come in the orders tried.
        event: EventId,
        /// The conflicting event in the order nearest to the run, if it is a single one.
        other: Option<EventId>,
        /// Number of search states examined.
        states: usize,
    },
    /// The resulting order violates a rule.
    Infeasible(Infeasible),
}

impl NoOrder {
    /// The reason as a clause.
    pub fn in_words(&self, run: &Run) -> String {
        let words = |event: &EventId| feasible::event_in_words(run, *event);
        let against = |other: &Option<EventId>| {
            let other = other.map(|other| format!(" (in the way: {})", words(&other)));
            other.unwrap_or_default()
        };
        match self {
            NoOrder::Empty => "the candidate has no events".to_owned(),
            NoOrder::NotInRun(event) => format!("the run has no event {}", event.0),
            NoOrder::Contradicts { first, second } => format!(
                "one thread does them in the other order, or cannot stand at both: {}; {}",
                words(first),
                words(second)
            ),
            NoOrder::Ordered { first, second } => format!(
                "the first always comes before the second: {}; {}",
                words(first),
                words(second)
            ),
            NoOrder::Impossible { event, other } => format!(
                "no order of the threads lets it come in time: {}{}",
                words(event),
                against(other)
            ),
            NoOrder::GaveUp {
                event,
                other,
                states,
            } => format!(
                "gave up after {states} states of the search; in the nearest order this does not come in time: {}{}",
                words(event),
                against(other)
            ),
            NoOrder::Infeasible(infeasible) => {
                infeasible.worded(|event| event_in_words(run, *event))
            }
        }
    }
}

/// Makes the order for one candidate. Make a [`Scheduler`] for many candidates of a run.
pub fn generate(run: &Run, candidate: &AnomalyCandidate) -> Result<WitnessOrder, NoOrder> {
    Scheduler::new(run).order(candidate)
}

/// Maker of orders of a run's events, prepared once for a run, in time linear in its events.
#[derive(Debug)]
pub struct Scheduler<'r> {
    index: RunIndex<'r>,
    forced: HappensBefore,
    checker: feasible::Checker<'r>,
}

impl<'r> Scheduler<'r> {
    /// Prepares the run.
    pub fn new(run: &'r Run) -> Scheduler<'r> {
        Scheduler {
            index: RunIndex::new(run),
            forced: HappensBefore::forced(run),
            checker: feasible::Checker::new(run),
        }
    }

    /// Makes the order for a candidate: linear in the run, unless only the search finds one or proves that
    /// there is none.
    pub fn order(&self, candidate: &AnomalyCandidate) -> Result<WitnessOrder, NoOrder> {
        let goal = CandidateGoal::of(&self.index, candidate)?;
        self.is_not_ordered(&goal)?;
        let rows = self.rows(&goal)?;
        let order = WitnessOrder {
            events: index::events(&rows),
            not_nested: self.index.not_nested,
        };
        match self.checker.check(&order.events) {
            Ok(()) => Ok(order),
            Err(infeasible) => Err(NoOrder::Infeasible(infeasible)),
        }
    }

    /// Checks that no forced order contradicts the candidate.
    fn is_not_ordered(&self, goal: &CandidateGoal) -> Result<(), NoOrder> {
        let before = |a: &GoalEvent, b: &GoalEvent| {
            self.forced
                .ordered(EventId(a.row), a.thread, EventId(b.row), b.thread)
        };
        for (at, later) in goal.points.iter().enumerate() {
            for earlier in goal.points.iter().take(at) {
                let (first, second) = match goal.shape {
                    _ if before(later, earlier) => (later, earlier),
                    GoalShape::Together | GoalShape::Stand if before(earlier, later) => {
                        (earlier, later)
                    }
                    _ => continue,
                };
                return Err(NoOrder::Ordered {
                    first: EventId(first.row),
                    second: EventId(second.row),
                });
            }
        }
        Ok(())
    }

    fn rows(&self, goal: &CandidateGoal) -> Result<Vec<u32>, NoOrder> {
        let stuck = match self.held_where_needed(goal) {
            Ok(rows) => return Ok(rows),
            Err(stuck) => stuck,
        };
        let all = self.outermost(goal);
        for holds in permutations(all.clone()) {
            if let Ok(rows) = walk(&self.index, goal, holds) {
                return Ok(rows);
            }
        }
        self.searched(goal, &all, stuck)
    }

    /// Walks, holding threads back before their outermost lock as others turn out to need it.
    fn held_where_needed(&self, goal: &CandidateGoal) -> Result<Vec<u32>, WalkEnd> {
        let mut holds = Holds::new();
        loop {
            let stuck = match walk(&self.index, goal, holds.clone()) {
                Ok(rows) => return Ok(rows),
                Err(stuck) => stuck,
            };
            let outermost = stuck
                .holder
                .and_then(|(thread, row)| Some((thread, self.index.outermost(thread, row)?)));
            match outermost.filter(|hold| !holds.contains(hold)) {
                Some(hold) => holds.push(hold),
                None => return Err(stuck),
            }
        }
    }

    /// Acquisitions of the outermost locks of the candidate's threads.
    fn outermost(&self, goal: &CandidateGoal) -> Holds {
        let mut holds = Holds::new();
        for point in &goal.points {
            let row = self.index.outermost(point.thread, point.gate);
            if let Some(hold) = row
                .map(|row| (point.thread, row))
                .filter(|hold| !holds.contains(hold))
            {
                holds.push(hold);
            }
        }
        holds
    }

    /// Searches: first only in the last part of the run, then in everything.
    fn searched(
        &self,
        goal: &CandidateGoal,
        holds: &Holds,
        stuck: WalkEnd,
    ) -> Result<Vec<u32>, NoOrder> {
        let gates = goal.points.iter().map(|point| point.gate);
        let from = holds
            .iter()
            .map(|hold| hold.1)
            .chain(gates)
            .min()
            .unwrap_or(0);
        let near = (from, goal.last_row() + 1);
        let far = (0, self.index.run.events.len() as u32);
        let mut states = 0;
        for bounds in [near, far] {
            if bounds == far
                && self.index.steps.iter().map(Vec::len).sum::<usize>() > search::STATES
            {
                break;
            }
            match search::search(&self.index, goal, bounds) {
                Ok(rows) => return Ok(rows),
                Err(Ended::Exhausted) if bounds == far => {
                    return Err(NoOrder::Impossible {
                        event: EventId(stuck.row),
                        other: stuck.other.map(EventId),
                    });
                }
                Err(Ended::Exhausted) => {}
                Err(Ended::TooMany) => states += search::STATES,
            }
        }
        Err(NoOrder::GaveUp {
            event: EventId(stuck.row),
            other: stuck.other.map(EventId),
            states,
        })
    }
}

/// The orders in which held threads are released: all for up to three, both directions for more.
fn permutations(holds: Holds) -> Vec<Holds> {
    match holds.as_slice() {
        [] => Vec::new(),
        [_] => vec![holds],
        [a, b] => vec![vec![*a, *b], vec![*b, *a]],
        [a, b, c] => vec![
            vec![*a, *b, *c],
            vec![*a, *c, *b],
            vec![*b, *a, *c],
            vec![*b, *c, *a],
            vec![*c, *a, *b],
            vec![*c, *b, *a],
        ],
        _ => vec![holds.clone(), holds.into_iter().rev().collect()],
    }
}
