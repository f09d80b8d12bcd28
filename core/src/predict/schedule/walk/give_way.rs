//! Resolution of a standstill: choice of the thread that has to go on.

use super::{ScheduleWalk, ThreadGate, WalkEnd, stands};
use crate::predict::schedule::{goal::GoalShape, index::NONE};
use unsnarl_order::{
    builder::BaseOrder,
    kernel::{Blocked, SyncEffect},
};

impl ScheduleWalk<'_> {
    /// Lets a thread go on that has to, when no other step is possible.
    pub(super) fn give_way(&mut self) -> Result<(), WalkEnd> {
        let mut stuck = None;
        for thread in self.wanted() {
            match self.what_for(thread) {
                Ok(()) => return Ok(()),
                Err(found) => stuck = stuck.or(Some(found)),
            }
        }
        if self.gates.holds.is_empty() {
            return Err(stuck.unwrap_or(WalkEnd {
                row: self.gates.progress.goal.last_row(),
                holder: None,
                other: None,
            }));
        }
        let (thread, _) = self.gates.holds.remove(0);
        self.let_go(thread);
        Ok(())
    }

    /// The threads whose progress the candidate needs.
    fn wanted(&self) -> Vec<u16> {
        let open = self.gates.progress.open();
        match self.gates.progress.goal.shape {
            GoalShape::Sequence => open.take(1).map(|point| point.thread).collect(),
            _ => open
                .filter(|point| !stands(self.index, &self.build.state, point))
                .map(|point| point.thread)
                .collect(),
        }
    }

    fn let_go(&mut self, thread: u16) {
        let next = self.build.state.next_of(thread).unwrap_or(NONE);
        self.gates.look_again(thread, next);
        self.build.let_go(thread);
    }

    /// Follows a thread's dependencies to one that only its limit holds back, and lets that go on.
    fn what_for(&mut self, wanted: u16) -> Result<(), WalkEnd> {
        let first = self.build.state.next_of(wanted).unwrap_or(NONE);
        let mut seen = vec![wanted];
        let mut thread = wanted;
        let mut other = None;
        while let Some(row) = self.build.state.next_of(thread) {
            match self.gates.gated(thread, row) {
                Some(ThreadGate::Limit) => {
                    self.lift(thread, row);
                    return Ok(());
                }
                Some(ThreadGate::Point) => {
                    return Err(WalkEnd {
                        row: first,
                        holder: Some((thread, row)),
                        other,
                    });
                }
                Some(ThreadGate::Hold) => break,
                None => {}
            }
            let Some(blocked) = self.build.state.blocked(self.index, row) else {
                // It lagged behind all the time and can continue now.
                self.let_go(thread);
                return Ok(());
            };
            let Some((next, need)) = self.responsible(thread, row, blocked) else {
                break;
            };
            other = other.or(need);
            if seen.contains(&next) {
                break;
            }
            seen.push(next);
            thread = next;
        }
        Err(WalkEnd {
            row: first,
            holder: None,
            other,
        })
    }

    /// Raises a limit by one row, up to the thread's next step of synchronization.
    fn lift(&mut self, thread: u16, row: u32) {
        let mut upto = row;
        while self.index.op(upto).is_none()
            && let next = self.index.next(upto)
            && next != NONE
        {
            upto = next;
        }
        if let Some(limit) = self.gates.limits.get_mut(usize::from(thread)) {
            *limit = upto + 1;
        }
        self.let_go(thread);
    }

    /// The thread that has to go on, and the conflicting row.
    pub(super) fn responsible(
        &self,
        thread: u16,
        row: u32,
        blocked: Blocked,
    ) -> Option<(u16, Option<u32>)> {
        match blocked {
            Blocked::Lock(holder) => Some((holder, self.taken(holder, row))),
            Blocked::Step(need) => Some((self.index.thread(need), Some(need))),
            Blocked::Unit(object) => {
                self.next_that(thread, |does| does == SyncEffect::Post, object)
            }
            Blocked::Signal(object) => self.next_that(
                thread,
                |does| matches!(does, SyncEffect::Signal | SyncEffect::Broadcast),
                object,
            ),
            // Runs keep the generations of barriers, so that single arrivals are missing.
            Blocked::Barrier(_) => None,
            Blocked::Attempt(object) => self.next_that(
                thread,
                |does| matches!(does, SyncEffect::Take { .. }),
                object,
            ),
        }
    }

    /// Acquisition by the holder of the lock that this row requests.
    fn taken(&self, holder: u16, row: u32) -> Option<u32> {
        let object = self.index.op(row)?.object;
        let upto = self.build.state.next_of(holder).unwrap_or(NONE);
        let steps = self.index.steps_of(holder).iter().rev();
        let mut steps = steps.filter(|step| **step < upto);
        steps
            .find(|step| {
                self.index.op(**step).is_some_and(|op| {
                    op.object == object && matches!(op.effect, SyncEffect::Take { .. })
                })
            })
            .copied()
    }

    /// The thread, other than this one, that is the next in the run with this effect on the object.
    fn next_that(
        &self,
        thread: u16,
        does: impl Fn(SyncEffect) -> bool,
        object: u32,
    ) -> Option<(u16, Option<u32>)> {
        let threads = 0..self.build.state.next.len() as u16;
        let rows = threads
            .filter(|other| *other != thread)
            .filter_map(|other| {
                let from = self.build.state.next_of(other)?;
                let steps = self.index.steps_of(other);
                let after = steps.get(steps.partition_point(|step| *step < from)..)?;
                let mut after = after
                    .iter()
                    .filter_map(|row| Some((*row, self.index.op(*row)?)));
                let (row, _) = after.find(|(_, op)| op.object == object && does(op.effect))?;
                Some((row, other))
            });
        rows.min().map(|(row, other)| (other, Some(row)))
    }
}
