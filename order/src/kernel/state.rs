//! State of objects while an order is made.

use super::{SyncEffect, Transitions};
use crate::NONE;

/// Reason why a step has to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocked {
    /// This thread holds the lock.
    Lock(u16),
    /// This step has to come first.
    Step(u32),
    /// The semaphore has no unit.
    Unit(u32),
    /// The condition variable was not signalled.
    Signal(u32),
    /// Threads have still to arrive at the barrier.
    Barrier(u32),
    /// No thread holds the lock, so an attempt would not fail.
    Attempt(u32),
}

/// Holder of a lock: thread, for reading, recursion depth.
type Holder = (u16, bool, u32);

/// State of all objects within an order.
#[derive(Clone, Debug)]
pub struct SyncState {
    locks: Vec<Vec<Holder>>,
    units: Vec<i64>,
    /// By condition variable: threads that wait for a signal, with the place at which they resume.
    waiting: Vec<Vec<(u16, u32)>>,
    /// Threads that were signalled and have not resumed.
    woken: Vec<Vec<u16>>,
    /// Arrivals, by barrier.
    arrived: Vec<u32>,
    /// By thread at a barrier: the number of arrivals required before it leaves.
    full: Vec<u32>,
}

impl SyncState {
    /// The state before the first step.
    pub fn new(transitions: &Transitions) -> SyncState {
        let objects = transitions.objects;
        let counted = match transitions.meeting.is_empty() {
            true => (0, 0),
            false => (objects, transitions.threads),
        };
        SyncState {
            locks: vec![Vec::new(); objects],
            units: transitions.units.clone(),
            waiting: vec![Vec::new(); objects],
            woken: vec![Vec::new(); objects],
            arrived: vec![0; counted.0],
            full: vec![NONE; counted.1],
        }
    }

    /// Another thread that holds the lock, and whether for reading.
    pub fn other_holder(&self, lock: u32, thread: u16) -> Option<(u16, bool)> {
        let holders = self.locks.get(lock as usize)?.iter();
        let mut others = holders.filter(|(holder, ..)| *holder != thread);
        others.next().map(|&(holder, shared, _)| (holder, shared))
    }

    /// Returns whether the thread holds the lock.
    pub fn holds(&self, lock: u32, thread: u16) -> bool {
        let holders = self.locks.get(lock as usize).into_iter().flatten();
        holders.into_iter().any(|(holder, ..)| *holder == thread)
    }

    /// Threads that wait for a signal, by condition variable.
    pub fn waiting(&self) -> &[Vec<(u16, u32)>] {
        &self.waiting
    }

    /// Threads that were signalled and have not resumed, by condition variable.
    pub fn woken(&self) -> &[Vec<u16>] {
        &self.woken
    }

    /// Reason why the step has to wait now; `done` tells which steps have come.
    pub fn blocked(
        &self,
        transitions: &Transitions,
        step: u32,
        thread: u16,
        done: impl Fn(u32) -> bool,
    ) -> Option<Blocked> {
        let transition = transitions.get(step)?;
        if let Some(need) = transition.needs.iter().find(|need| !done(**need)) {
            return Some(Blocked::Step(*need));
        }
        if let Some(condition) = transition.ends {
            let woken = self.woken.get(condition as usize);
            if !woken.is_some_and(|woken| woken.contains(&thread)) {
                return Some(Blocked::Signal(condition));
            }
        }
        self.refused(transition.effect, transition.object, thread)
    }

    fn refused(&self, effect: SyncEffect, object: u32, thread: u16) -> Option<Blocked> {
        match effect {
            SyncEffect::Take { shared } => {
                let mut holders = self.locks.get(object as usize)?.iter();
                let conflict = holders.find(|(holder, for_reading, _)| {
                    *holder != thread && !(shared && *for_reading)
                });
                conflict.map(|(holder, ..)| Blocked::Lock(*holder))
            }
            SyncEffect::TakeUnit { .. } => {
                let units = self.units.get(object as usize);
                let none = units.is_none_or(|units| *units <= 0);
                none.then_some(Blocked::Unit(object))
            }
            SyncEffect::Attempt { for_writing } => match self.other_holder(object, thread) {
                Some((_, shared)) if !(shared && for_writing) => None,
                _ => Some(Blocked::Attempt(object)),
            },
            SyncEffect::Leave => {
                let full = self.full.get(usize::from(thread)).copied().unwrap_or(NONE);
                let arrived = self.arrived.get(object as usize).copied().unwrap_or(0);
                (arrived < full).then_some(Blocked::Barrier(object))
            }
            _ => None,
        }
    }

    /// Applies the step. A signal wakes the waiter that resumes first in the recorded order.
    pub fn apply(&mut self, transitions: &Transitions, step: u32, thread: u16) {
        let Some(transition) = transitions.get(step) else {
            return;
        };
        let object = transition.object as usize;
        if let Some(condition) = transition.ends
            && let Some(woken) = self.woken.get_mut(condition as usize)
        {
            woken.retain(|other| *other != thread);
        }
        match transition.effect {
            SyncEffect::Take { shared } => self.take(object, thread, shared),
            SyncEffect::Give => self.give(object, thread),
            SyncEffect::Post => self.change_units(object, 1),
            SyncEffect::TakeUnit { .. } => self.change_units(object, -1),
            SyncEffect::Wait {
                signalled: true,
                resumes,
            } => {
                if let Some(waiting) = self.waiting.get_mut(object) {
                    waiting.push((thread, resumes));
                }
            }
            SyncEffect::Signal => {
                let waiting = self.waiting.get(object).into_iter().flatten();
                let first = waiting.min_by_key(|(_, resumes)| *resumes);
                let first = first.map(|(waiter, _)| *waiter);
                first.into_iter().for_each(|one| self.wake(object, one));
            }
            SyncEffect::Broadcast => {
                let all: Vec<u16> = self.waiters(transition.object).collect();
                all.into_iter().for_each(|waiter| self.wake(object, waiter));
            }
            SyncEffect::Arrive => self.arrive(transitions, transition.object, thread),
            _ => {}
        }
    }

    /// Threads that wait for a signal of this condition variable.
    pub fn waiters(&self, condition: u32) -> impl Iterator<Item = u16> + '_ {
        let waiting = self.waiting.get(condition as usize);
        waiting.into_iter().flatten().map(|(waiter, _)| *waiter)
    }

    /// Signals this waiter.
    pub fn wake(&mut self, condition: usize, waiter: u16) {
        if let (Some(waiting), Some(woken)) = (
            self.waiting.get_mut(condition),
            self.woken.get_mut(condition),
        ) {
            waiting.retain(|(other, _)| *other != waiter);
            woken.push(waiter);
        }
    }

    fn take(&mut self, lock: usize, thread: u16, shared: bool) {
        let Some(holders) = self.locks.get_mut(lock) else {
            return;
        };
        match holders.iter_mut().find(|(holder, ..)| *holder == thread) {
            Some((.., depth)) => *depth += 1,
            None => holders.push((thread, shared, 1)),
        }
    }

    fn give(&mut self, lock: usize, thread: u16) {
        let Some(holders) = self.locks.get_mut(lock) else {
            return;
        };
        if let Some((.., depth)) = holders.iter_mut().find(|(holder, ..)| *holder == thread) {
            *depth -= 1;
        }
        holders.retain(|(.., depth)| *depth > 0);
    }

    fn change_units(&mut self, semaphore: usize, by: i64) {
        if let Some(units) = self.units.get_mut(semaphore) {
            *units += by;
        }
    }

    fn arrive(&mut self, transitions: &Transitions, barrier: u32, thread: u16) {
        let meet = transitions.meeting.get(&barrier).copied();
        let meet = meet.unwrap_or(1).max(1);
        let arrived = self.arrived.get_mut(barrier as usize);
        let full = self.full.get_mut(usize::from(thread));
        if let (Some(arrived), Some(full)) = (arrived, full) {
            *full = (*arrived / meet + 1) * meet;
            *arrived += 1;
        }
    }
}
