//! Replay of a run in its own order except for threads that are held back: Algorithms 3 and 4 of [pecan] for
//! any number of events.
//!
//! A thread is held back right before an event of the candidate until that event's turn has come, and, when
//! others need a lock that it would hold there, already before it acquires its outermost lock. A released
//! thread catches up as soon as possible, so the order stays close to the recorded one. Events after the
//! candidate are left out, unless a thread has to go on to release an object that another one needs.

mod give_way;

use super::{
    goal::{CandidateGoal, GoalEvent, GoalProgress, GoalShape},
    index::{NONE, RunIndex},
};
use unsnarl_order::{
    builder::{BaseOrder, Guide, Offer, OrderBuilder, OrderState},
    kernel::Blocked,
};

/// End of a walk before the candidate was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WalkEnd {
    /// The row that cannot come.
    pub row: u32,
    /// A thread that is held back before a row of the candidate and holds the needed object.
    pub holder: Option<(u16, u32)>,
    /// The row of another thread that it waits for, if it is a single one.
    pub other: Option<u32>,
}

/// Threads held back before a row, to be released in this order when nothing else is possible.
pub(super) type Holds = Vec<(u16, u32)>;

/// Walk through a run that holds threads back.
struct ScheduleWalk<'a> {
    index: &'a RunIndex<'a>,
    build: OrderBuilder<'a, RunIndex<'a>>,
    gates: ThreadGates<'a>,
}

/// Rows before which threads are held back.
struct ThreadGates<'a> {
    progress: GoalProgress<'a>,
    holds: Holds,
    /// By thread: rows from this one on are checked before they are executed.
    checked: Vec<u32>,
    /// By thread: rows from this one on are not executed.
    limits: Vec<u32>,
}

/// Walks the run; returns the order in rows, or the place where it ends.
pub(super) fn walk(
    index: &RunIndex,
    goal: &CandidateGoal,
    holds: Holds,
) -> Result<Vec<u32>, WalkEnd> {
    let end = goal.last_row() + 1;
    let state = OrderState::new(index);
    let mut gates = ThreadGates {
        progress: GoalProgress::new(goal),
        holds,
        checked: vec![0; state.next.len()],
        limits: vec![end; state.next.len()],
    };
    for (thread, &next) in (0..).zip(&state.next) {
        gates.look_again(thread, next);
    }
    let mut walk = ScheduleWalk {
        index,
        build: OrderBuilder::new(index, state),
        gates,
    };
    walk.build.order.reserve(end as usize);
    walk.build.scan(&mut walk.gates, 0..end);
    while !walk.gates.is_done(index, &walk.build.state) {
        walk.give_way()?;
        walk.build.catch_up(&mut walk.gates, NONE);
    }
    walk.show()
}

impl Guide<RunIndex<'_>> for ThreadGates<'_> {
    fn holds(&self, thread: u16, row: u32) -> bool {
        let checked = self.checked.get(usize::from(thread));
        checked.is_none_or(|checked| row >= *checked) && self.gated(thread, row).is_some()
    }

    fn offer(&mut self, index: &RunIndex, _: &OrderState, row: u32) -> Offer {
        let (thread, next) = (index.thread(row), index.next(row));
        let is_shown = self.progress.note(row);
        let checked = self.checked.get(usize::from(thread));
        if is_shown || checked.is_some_and(|checked| next > *checked) {
            self.look_again(thread, next);
        }
        match is_shown {
            true => Offer::Releases,
            false => Offer::Taken,
        }
    }

    fn is_done(&self, index: &RunIndex, state: &OrderState) -> bool {
        let stands = |point: &GoalEvent| stands(index, state, point);
        self.progress.is_shown(stands)
    }
}

/// Returns whether the thread is right before its event, with at most a lock in its way.
fn stands(index: &RunIndex, state: &OrderState, point: &GoalEvent) -> bool {
    let blocked = || state.blocked(index, point.gate);
    state.next_of(point.thread) == Some(point.gate)
        && matches!(blocked(), None | Some(Blocked::Lock(_)))
}

impl ThreadGates<'_> {
    /// The gate that holds the thread back at this row, apart from the state of other threads.
    fn gated(&self, thread: u16, row: u32) -> Option<ThreadGate> {
        let limit = self.limits.get(usize::from(thread));
        if self.holds.contains(&(thread, row)) {
            Some(ThreadGate::Hold)
        } else if limit.is_none_or(|limit| row >= *limit) {
            Some(ThreadGate::Limit)
        } else {
            let is_held = self.progress.holds(thread, row);
            is_held.then_some(ThreadGate::Point)
        }
    }

    /// Finds the thread's next row that has to be checked, from this one on.
    fn look_again(&mut self, thread: u16, from: u32) {
        let points = self.progress.open();
        let points = points.filter(|point| point.thread == thread);
        let points = points.map(|point| point.gate);
        let holds = self.holds.iter().filter(|hold| hold.0 == thread);
        let limit = self.limits.get(usize::from(thread)).copied();
        let rows = points.chain(holds.map(|hold| hold.1)).chain(limit);
        let next = rows.filter(|row| *row >= from).min();
        if let Some(checked) = self.checked.get_mut(usize::from(thread)) {
            *checked = next.unwrap_or(NONE);
        }
    }
}

impl ScheduleWalk<'_> {
    /// Shows the events of a race, one right after the other.
    fn show(mut self) -> Result<Vec<u32>, WalkEnd> {
        let goal = self.gates.progress.goal;
        if goal.shape == GoalShape::Together {
            for point in &goal.points {
                while let Some(row) = self.build.state.next_of(point.thread)
                    && row <= point.row
                {
                    if let Some(blocked) = self.build.state.blocked(self.index, row) {
                        return Err(self.stuck(row, blocked));
                    }
                    self.build.push(row);
                }
            }
        }
        Ok(self.build.order)
    }

    fn stuck(&self, row: u32, blocked: Blocked) -> WalkEnd {
        let thread = self.index.thread(row);
        let responsible = self.responsible(thread, row, blocked);
        WalkEnd {
            row,
            holder: None,
            other: responsible.and_then(|(_, need)| need),
        }
    }
}

/// Gate that holds a thread back, apart from the state of other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadGate {
    /// The row acquires the outermost lock of a held thread.
    Hold,
    /// The row comes after the candidate in the run.
    Limit,
    /// The turn of the thread's event has not come.
    Point,
}
