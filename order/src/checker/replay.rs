//! The state of objects while an order is replayed.

use super::{BrokenRule, constraints::Constraints};
use crate::{Rule, SyncOp, SyncSteps};
use rustc_hash::FxHashMap;
use unsnarl_trace::kinds::EventRole;

/// The conflicting step and the violated rule of an operation.
type RefusedStep = (Option<u32>, Rule);

/// Holder of a lock.
#[derive(Clone, Copy, Debug)]
struct LockHolder {
    thread: u16,
    shared: bool,
    depth: u32,
    step: u32,
}

/// The state of all objects within an order.
pub struct Replay<'a, S> {
    constraints: &'a Constraints,
    steps: &'a S,
    /// Positions in the order of the steps at which waits end.
    ends: FxHashMap<u32, usize>,
    /// By step: whether it has come.
    done: Vec<bool>,
    locks: FxHashMap<u32, Vec<LockHolder>>,
    /// Units of semaphores, and the step that took the last.
    units: FxHashMap<u32, (u64, Option<u32>)>,
    /// Steps at which the threads waiting for a signal began to wait.
    waiting: FxHashMap<u32, Vec<u32>>,
    /// Of these, steps whose threads were signalled and have not resumed.
    woken: FxHashMap<u32, Vec<u32>>,
    arrived: FxHashMap<u32, u64>,
    /// By barrier and thread at it: the arrivals required before it leaves.
    full: FxHashMap<(u32, u16), u64>,
}

impl<'a, S: SyncSteps> Replay<'a, S> {
    /// The state before this order.
    pub fn new(
        constraints: &'a Constraints,
        steps: &'a S,
        order: impl Iterator<Item = u32>,
    ) -> Replay<'a, S> {
        let mut ends = FxHashMap::default();
        if !constraints.wait_ends.is_empty() {
            let places = order.zip(0..);
            ends.extend(places.filter(|(step, _)| constraints.wait_ends.contains_key(step)));
        }
        let units = constraints.units.iter();
        Replay {
            constraints,
            steps,
            ends,
            done: vec![false; steps.count() as usize],
            locks: FxHashMap::default(),
            units: units.map(|(&object, &n)| (object, (n, None))).collect(),
            waiting: FxHashMap::default(),
            woken: FxHashMap::default(),
            arrived: FxHashMap::default(),
            full: FxHashMap::default(),
        }
    }

    /// Applies a step that comes first in its thread or synchronizes.
    pub fn step(&mut self, step: u32) -> Result<(), BrokenRule> {
        let missing = self.missing(step);
        self.pass(step);
        let Some(sync) = self.steps.sync(step) else {
            return missing;
        };
        missing.and(self.synchronize(step, sync))
    }

    /// Notes a step that other threads do not affect.
    pub fn pass(&mut self, step: u32) {
        if let Some(done) = self.done.get_mut(step as usize) {
            *done = true;
        }
    }

    fn missing(&self, step: u32) -> Result<(), BrokenRule> {
        let is_done = |step: u32| self.done.get(step as usize).copied().unwrap_or_default();
        let needs = self.constraints.needs(step).iter();
        let mut missing = needs.filter(|(need, _)| !is_done(*need));
        match missing.next() {
            Some(&(need, rule)) => Err((0, Some(need), rule)),
            None => Ok(()),
        }
    }

    /// Applies the step to its object; one that violates a rule takes effect nevertheless.
    pub(super) fn synchronize(&mut self, step: u32, sync: SyncOp) -> Result<(), BrokenRule> {
        let resumed = self.resume(step);
        let object = sync.object;
        if self.constraints.odd.contains(&object) {
            return resumed;
        }
        let result = match sync.kind.role() {
            EventRole::Acquire { shared } => self.take(object, step, shared),
            EventRole::Release { .. } => self.give(object, step),
            EventRole::Attempt => self.attempt(object, step),
            EventRole::PostUnit => self.post(object),
            EventRole::TakeUnit => self.take_unit(object, step),
            EventRole::Sleep => self.wait(object, step),
            EventRole::Notify { all: false } => self.signal(object),
            EventRole::Notify { all: true } => self.broadcast(object),
            EventRole::Arrive => self.arrive(object, step),
            EventRole::Leave => self.leave(object, step),
            // These need steps that come before.
            EventRole::Fork
            | EventRole::Begin
            | EventRole::End
            | EventRole::Join
            | EventRole::Resume => Ok(()),
            EventRole::Enter | EventRole::Open | EventRole::Pass => Ok(()),
            EventRole::Access | EventRole::Fence | EventRole::Contend => Ok(()),
            EventRole::Allocate | EventRole::Free | EventRole::GiveWay | EventRole::Local => Ok(()),
        };
        resumed.and(result.map_err(|(other, rule)| (object, other, rule)))
    }

    /// Another thread holds the lock: whether for reading.
    pub(super) fn other_holder(&self, lock: u32, thread: u16) -> Option<bool> {
        self.holder_beside(lock, thread).map(|holder| holder.shared)
    }

    fn holder_beside(&self, lock: u32, thread: u16) -> Option<&LockHolder> {
        let holders = self.locks.get(&lock)?.iter();
        holders.into_iter().find(|holder| holder.thread != thread)
    }

    fn take(&mut self, lock: u32, step: u32, shared: bool) -> Result<(), RefusedStep> {
        let thread = self.steps.thread(step);
        let holders = self.locks.entry(lock).or_default();
        let others = |holder: &&LockHolder| holder.thread != thread && !(holder.shared && shared);
        let conflict = holders.iter().find(others).map(|holder| holder.step);
        match holders.iter_mut().find(|holder| holder.thread == thread) {
            Some(mine) => mine.depth += 1,
            None => holders.push(LockHolder {
                thread,
                shared,
                depth: 1,
                step,
            }),
        }
        conflict.map_or(Ok(()), |other| Err((Some(other), Rule::Lock)))
    }

    fn give(&mut self, lock: u32, step: u32) -> Result<(), RefusedStep> {
        let thread = self.steps.thread(step);
        let holders = self.locks.entry(lock).or_default();
        let mine = |holder: &&mut LockHolder| holder.thread == thread;
        let Some(holder) = holders.iter_mut().find(mine) else {
            let taken = holders.pop();
            return Err((taken.map(|holder| holder.step), Rule::Unlock));
        };
        holder.depth -= 1;
        holders.retain(|holder| holder.depth > 0);
        Ok(())
    }

    fn attempt(&self, lock: u32, step: u32) -> Result<(), RefusedStep> {
        let Some(&for_writing) = self.constraints.attempts.get(&step) else {
            return Ok(());
        };
        match self.holder_beside(lock, self.steps.thread(step)) {
            Some(holder) if !(for_writing && holder.shared) => Ok(()),
            holder => Err((holder.map(|holder| holder.step), Rule::Attempt)),
        }
    }

    fn post(&mut self, semaphore: u32) -> Result<(), RefusedStep> {
        self.units.entry(semaphore).or_default().0 += 1;
        Ok(())
    }

    fn take_unit(&mut self, semaphore: u32, step: u32) -> Result<(), RefusedStep> {
        let (units, last) = self.units.entry(semaphore).or_default();
        let other = last.replace(step);
        match units.checked_sub(1) {
            Some(left) => {
                *units = left;
                Ok(())
            }
            None => Err((other, Rule::Unit)),
        }
    }

    fn wait(&mut self, condition: u32, step: u32) -> Result<(), RefusedStep> {
        let end = self.constraints.end_of.get(&step);
        let end = end.and_then(|end| self.constraints.wait_ends.get(end));
        if end.is_none_or(|end| end.signalled) {
            self.waiting.entry(condition).or_default().push(step);
        }
        Ok(())
    }

    /// Wakes the thread that resumes first.
    fn signal(&mut self, condition: u32) -> Result<(), RefusedStep> {
        let waiting = self.waiting.entry(condition).or_default();
        let end = |wait: &u32| {
            let end = self.constraints.end_of.get(wait);
            let place = end.and_then(|end| self.ends.get(end)).copied();
            place.unwrap_or(usize::MAX)
        };
        let first = (0..waiting.len()).min_by_key(|&at| waiting.get(at).map(end));
        if let Some(first) = first {
            let wait = waiting.remove(first);
            self.woken.entry(condition).or_default().push(wait);
        }
        Ok(())
    }

    fn broadcast(&mut self, condition: u32) -> Result<(), RefusedStep> {
        let waiting = self.waiting.remove(&condition).unwrap_or_default();
        self.woken.entry(condition).or_default().extend(waiting);
        Ok(())
    }

    /// Checks that a wait that ends with this step was signalled.
    fn resume(&mut self, step: u32) -> Result<(), BrokenRule> {
        let Some(end) = self.constraints.wait_ends.get(&step).copied() else {
            return Ok(());
        };
        if !end.signalled || self.constraints.odd.contains(&end.condition) {
            return Ok(());
        }
        let woken = self.woken.entry(end.condition).or_default();
        match woken.iter().position(|wait| *wait == end.wait) {
            Some(at) => {
                woken.swap_remove(at);
                Ok(())
            }
            None => {
                let waiting = self.waiting.entry(end.condition).or_default();
                waiting.retain(|wait| *wait != end.wait);
                Err((end.condition, Some(end.wait), Rule::Signal))
            }
        }
    }

    fn arrive(&mut self, barrier: u32, step: u32) -> Result<(), RefusedStep> {
        if let Some(&meet) = self.constraints.meeting.get(&barrier) {
            let (arrived, meet) = (self.arrived.entry(barrier).or_default(), meet.max(1));
            let full = (*arrived / meet + 1) * meet;
            *arrived += 1;
            self.full.insert((barrier, self.steps.thread(step)), full);
        }
        Ok(())
    }

    fn leave(&mut self, barrier: u32, step: u32) -> Result<(), RefusedStep> {
        if !self.constraints.meeting.contains_key(&barrier) {
            return Ok(());
        }
        let needs = self.full.remove(&(barrier, self.steps.thread(step)));
        let arrived = self.arrived.get(&barrier).copied().unwrap_or_default();
        match needs.is_some_and(|needs| arrived >= needs) {
            true => Ok(()),
            false => Err((None, Rule::Barrier)),
        }
    }
}
