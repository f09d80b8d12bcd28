//! Goal of an order.

use super::{NoOrder, index::RunIndex};
use crate::predict::{AnomalyCandidate, Class};
use unsnarl_order::builder::BaseOrder;
use unsnarl_trace::{EventId, EventKind, Run};

/// Required arrangement of a candidate's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GoalShape {
    /// The events come one after the other, with others in between.
    Sequence,
    /// All threads stand right before their events, which then come without others in between.
    Together,
    /// All threads stand right before their events, which do not come.
    Stand,
}

/// A candidate's event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GoalEvent {
    pub thread: u16,
    /// The row of the event.
    pub row: u32,
    /// The row before which the thread can be held back.
    pub gate: u32,
}

/// Events of a candidate with their required arrangement.
#[derive(Clone, Debug)]
pub(super) struct CandidateGoal {
    pub shape: GoalShape,
    pub points: Vec<GoalEvent>,
}

impl CandidateGoal {
    /// The goal of a candidate.
    pub fn of(index: &RunIndex, candidate: &AnomalyCandidate) -> Result<CandidateGoal, NoOrder> {
        let run = index.run;
        let mut points = Vec::new();
        for &event in &candidate.events {
            let thread = run.events.threads().get(event.index());
            let Some(&thread) = thread else {
                return Err(NoOrder::NotInRun(event));
            };
            points.push(GoalEvent {
                thread,
                row: event.0,
                gate: event.0,
            });
        }
        let shape = shape(run, candidate);
        let goal = CandidateGoal {
            shape,
            points: points
                .into_iter()
                .map(|point| GoalEvent {
                    gate: gate(index, point, shape),
                    ..point
                })
                .collect(),
        };
        goal.is_in_program_order().map(|()| goal)
    }

    /// Checks that each thread's events are in program order; where threads stand, each stands at one event
    /// only.
    fn is_in_program_order(&self) -> Result<(), NoOrder> {
        for (at, later) in self.points.iter().enumerate() {
            let earlier = self.points.iter().take(at);
            let mut same = earlier.filter(|earlier| earlier.thread == later.thread);
            let against =
                same.find(|earlier| earlier.row >= later.row || self.shape != GoalShape::Sequence);
            if let Some(earlier) = against {
                return Err(NoOrder::Contradicts {
                    first: EventId(earlier.row),
                    second: EventId(later.row),
                });
            }
        }
        match self.points.is_empty() {
            true => Err(NoOrder::Empty),
            false => Ok(()),
        }
    }

    /// The last of the rows in the run.
    pub fn last_row(&self) -> u32 {
        self.points.iter().map(|point| point.row).max().unwrap_or(0)
    }
}

/// A goal with the number of its rows that have come, in a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoalProgress<'g> {
    pub goal: &'g CandidateGoal,
    pub shown: usize,
}

impl<'g> GoalProgress<'g> {
    /// The goal before the first row.
    pub fn new(goal: &'g CandidateGoal) -> GoalProgress<'g> {
        GoalProgress { goal, shown: 0 }
    }

    /// The candidate's events that have not come.
    pub fn open(&self) -> impl Iterator<Item = &'g GoalEvent> {
        self.goal.points.iter().skip(self.shown)
    }

    /// Returns whether the thread stands before an event whose turn has not come.
    pub fn holds(&self, thread: u16, row: u32) -> bool {
        let mut open = self.open();
        let mine = |point: &GoalEvent| point.thread == thread && point.gate == row;
        let at = open.position(mine);
        at.is_some_and(|at| self.goal.shape != GoalShape::Sequence || at > 0)
    }

    /// Notes a row that comes; returns whether it is one of a sequence.
    pub fn note(&mut self, row: u32) -> bool {
        let before = self.shown;
        if self.goal.shape == GoalShape::Sequence {
            let come = self.open().take_while(|point| point.row == row).count();
            self.shown += come;
        }
        self.shown > before
    }

    /// Returns whether the sequence is complete, or each of the other goals' events fulfils `stands`.
    pub fn is_shown(&self, stands: impl Fn(&GoalEvent) -> bool) -> bool {
        match self.goal.shape {
            GoalShape::Sequence => self.shown == self.goal.points.len(),
            _ => self.goal.points.iter().all(stands),
        }
    }
}

/// The arrangement of a candidate: requests for locks stay unfulfilled; races are adjacent.
fn shape(run: &Run, candidate: &AnomalyCandidate) -> GoalShape {
    let asks = |event: &EventId| {
        let event = run.events.get(*event);
        event.is_some_and(|event| event.kind.role().requests_lock())
    };
    match candidate.class {
        Class::Race => GoalShape::Together,
        Class::Deadlock if candidate.events.iter().all(asks) => GoalShape::Stand,
        _ => GoalShape::Sequence,
    }
}

/// The row at which the recorder can hold the thread back: the head of rows without a scheduling decision in
/// between. A thread that stands before a lock has not begun to wait for it.
fn gate(index: &RunIndex, point: GoalEvent, shape: GoalShape) -> u32 {
    let rows = index.rows_before(point.thread, point.row);
    let mut gate = point.row;
    for row in rows {
        let kinds = index.run.events.kinds();
        let waits = kinds.get(row as usize) == Some(&(EventKind::LockWait as u8));
        if index.is_glued(gate) || (waits && shape == GoalShape::Stand) {
            gate = row;
        } else {
            break;
        }
    }
    gate
}
