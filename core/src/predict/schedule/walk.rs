//! Replay of a run in its own order except for threads that are held back: Algorithms 3 and 4 of [pecan] for
//! any number of events.
//!
//! A thread is held back right before an event of the candidate until that event's turn has come, and, when
//! others need a lock that it would hold there, already before it acquires its outermost lock. A released
//! thread catches up as soon as possible, so the order stays close to the recorded one. Events after the
//! candidate are left out, unless a thread has to go on to release an object that another one needs.

mod give_way;

use super::{
    goal::{CandidateGoal, GoalEvent, GoalShape},
    index::{NONE, RunIndex},
    machine::OrderMachine,
};
use unsnarl_order::kernel::Blocked;
use unsnarl_trace::{EventId, Run};

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

/// State of a walk.
pub(super) struct ScheduleWalk<'a> {
    run: &'a Run,
    index: &'a RunIndex,
    goal: &'a CandidateGoal,
    machine: OrderMachine,
    holds: Holds,
    /// Number of the candidate's rows that have happened.
    shown: usize,
    /// By thread: rows from this one on are checked before they are executed.
    gates: Vec<u32>,
    /// By thread: rows from this one on are not executed.
    limits: Vec<u32>,
    /// Threads that lag behind the scan.
    behind: Vec<u16>,
    order: Vec<u32>,
    /// The scan's row.
    at: u32,
}

/// Walks the run; returns the order in rows, or the place where it ends.
pub(super) fn walk(
    run: &Run,
    index: &RunIndex,
    goal: &CandidateGoal,
    holds: Holds,
) -> Result<Vec<u32>, WalkEnd> {
    let end = goal.last_row() + 1;
    let mut walk = ScheduleWalk {
        run,
        index,
        goal,
        machine: OrderMachine::new(index),
        holds,
        shown: 0,
        gates: Vec::new(),
        limits: vec![end; index.first.len()],
        behind: Vec::new(),
        order: Vec::with_capacity(end as usize),
        at: 0,
    };
    walk.gates = (0..index.first.len())
        .map(|thread| walk.gate_of(thread as u16))
        .collect();
    walk.scan(end);
    while !walk.is_shown() {
        walk.give_way()?;
        walk.catch_up(NONE);
    }
    walk.show()
}

impl ScheduleWalk<'_> {
    /// Scans the rows in the order of the run.
    fn scan(&mut self, end: u32) {
        let threads = self.run.events.threads();
        for (row, &thread) in (0..end).zip(threads) {
            self.at = row;
            if self.machine.next.get(usize::from(thread)) != Some(&row) {
                continue;
            }
            if self.may(thread, row) {
                if self.go(thread, row) {
                    self.catch_up(row + 1);
                }
            } else {
                self.behind.push(thread);
            }
            if self.is_shown() {
                return;
            }
        }
    }

    /// Lets lagging threads go on, the one with the earliest row first, up to the scan.
    fn catch_up(&mut self, upto: u32) {
        while !self.is_shown() {
            let rows = self.behind.iter().filter_map(|&thread| {
                let row = self.machine.next_of(thread)?;
                (row < upto && self.may(thread, row)).then_some((row, thread))
            });
            let Some((row, thread)) = rows.min() else {
                break;
            };
            self.go(thread, row);
            // Plain rows do not affect other threads: continue to the next row of one of them.
            let others = self.behind.iter().filter(|other| **other != thread);
            let other = others
                .filter_map(|other| self.machine.next_of(*other))
                .min();
            let upto = upto.min(other.unwrap_or(NONE));
            while let Some(row) = self.machine.next_of(thread).filter(|row| *row < upto)
                && self.index.op(row).is_none()
                && self.may(thread, row)
            {
                self.go(thread, row);
            }
        }
        if upto != NONE {
            let next = &self.machine.next;
            self.behind.retain(|thread| {
                next.get(usize::from(*thread))
                    .is_some_and(|row| *row < upto)
            });
        }
    }

    /// Returns whether the thread may execute this row, its next.
    fn may(&self, thread: u16, row: u32) -> bool {
        let gate = self.gates.get(usize::from(thread)).copied().unwrap_or(0);
        (row < gate || self.gated(thread, row).is_none())
            && self.machine.blocked(self.index, self.run, row).is_none()
    }

    /// The gate that holds the thread back at this row, apart from the state of other threads.
    fn gated(&self, thread: u16, row: u32) -> Option<ThreadGate> {
        if self.holds.contains(&(thread, row)) {
            return Some(ThreadGate::Hold);
        }
        if self
            .limits
            .get(usize::from(thread))
            .is_none_or(|limit| row >= *limit)
        {
            return Some(ThreadGate::Limit);
        }
        let points = self.goal.points.iter().enumerate().skip(self.shown);
        let mut mine = points.filter(|(_, point)| point.thread == thread && point.gate == row);
        let (at, _) = mine.next()?;
        (self.goal.shape != GoalShape::Sequence || at != self.shown).then_some(ThreadGate::Point)
    }

    /// The thread's next row that has to be checked.
    fn gate_of(&self, thread: u16) -> u32 {
        let from = self.machine.next_of(thread).unwrap_or(NONE);
        let points = self.goal.points.iter().skip(self.shown);
        let points = points.filter(|point| point.thread == thread);
        let points = points.map(|point| point.gate);
        let holds = self.holds.iter().filter(|hold| hold.0 == thread);
        let limit = self.limits.get(usize::from(thread)).copied();
        let rows = points.chain(holds.map(|hold| hold.1)).chain(limit);
        rows.filter(|row| *row >= from).min().unwrap_or(NONE)
    }

    fn look_again(&mut self, thread: u16) {
        let gate = self.gate_of(thread);
        if let Some(gates) = self.gates.get_mut(usize::from(thread)) {
            *gates = gate;
        }
    }

    /// Executes a row and those that follow without a decision; `true` when that may let others go on.
    fn go(&mut self, thread: u16, row: u32) -> bool {
        let mut matters = false;
        let mut row = row;
        loop {
            self.order.push(row);
            matters |= self.index.op(row).is_some();
            self.machine.step(self.index, thread, row);
            while self.goal.shape == GoalShape::Sequence
                && self
                    .goal
                    .points
                    .get(self.shown)
                    .is_some_and(|point| point.row == row)
            {
                self.shown += 1;
                matters = true;
                self.look_again(thread);
            }
            let next = self.machine.next_of(thread);
            match next.filter(|next| self.index.glued.get(*next as usize) == Some(&true)) {
                Some(next) if !self.is_shown() => row = next,
                _ => break,
            }
        }
        let passed = |gate: &u32| self.machine.next_of(thread).is_none_or(|next| next > *gate);
        if self.gates.get(usize::from(thread)).is_some_and(passed) {
            self.look_again(thread);
        }
        matters && !self.behind.is_empty()
    }

    /// Returns whether the thread is right before its event, with at most a lock in its way.
    fn stands(&self, point: &GoalEvent) -> bool {
        self.machine.next_of(point.thread) == Some(point.gate)
            && matches!(
                self.machine.blocked(self.index, self.run, point.gate),
                None | Some(Blocked::Lock(_))
            )
    }

    fn is_shown(&self) -> bool {
        match self.goal.shape {
            GoalShape::Sequence => self.shown == self.goal.points.len(),
            _ => {
                let mut points = self.goal.points.iter();
                points.all(|point| self.stands(point))
            }
        }
    }

    /// Shows the events of a race, one right after the other.
    fn show(mut self) -> Result<Vec<u32>, WalkEnd> {
        if self.goal.shape == GoalShape::Together {
            for point in &self.goal.points {
                while let Some(row) = self
                    .machine
                    .next_of(point.thread)
                    .filter(|row| *row <= point.row)
                {
                    if let Some(blocked) = self.machine.blocked(self.index, self.run, row) {
                        return Err(self.stuck(row, blocked));
                    }
                    self.order.push(row);
                    self.machine.step(self.index, point.thread, row);
                }
            }
        }
        Ok(self.order)
    }

    fn stuck(&self, row: u32, blocked: Blocked) -> WalkEnd {
        let thread = self.run.events.thread(EventId(row)).0;
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
