//! State of threads and objects while an order is made.

use super::index::{Does, Index, NONE, Op};
use unsnarl_trace::Run;

/// Reason why a thread's next row has to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Blocked {
    /// This thread holds the lock.
    Lock(u16),
    /// This row has to come first.
    Row(u32),
    /// The semaphore has no unit.
    Unit(u32),
    /// The condition variable was not signalled.
    Signal(u32),
    /// No thread holds the lock, so an attempt would not fail.
    Attempt(u32),
}

/// Holder of a lock: thread, for reading, recursion depth.
type Holder = (u16, bool, u32);

/// State of threads and objects within an order.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// The next row of each thread.
    pub next: Vec<u32>,
    locks: Vec<Vec<Holder>>,
    units: Vec<i64>,
    /// By condition variable: threads that wait for a signal.
    pub waiting: Vec<Vec<u16>>,
    /// Threads that were signalled and have not resumed.
    pub woken: Vec<Vec<u16>>,
    arrived: Vec<u32>,
}

impl Machine {
    /// The state before the first row.
    pub fn new(index: &Index) -> Machine {
        Machine {
            next: index.first.clone(),
            locks: vec![Vec::new(); index.objects],
            units: index.units.clone(),
            waiting: vec![Vec::new(); index.objects],
            woken: vec![Vec::new(); index.objects],
            arrived: vec![0; index.generations.len()],
        }
    }

    /// The thread's next row; none when it has finished.
    pub fn next_of(&self, thread: u16) -> Option<u32> {
        let next = self.next.get(usize::from(thread)).copied();
        next.filter(|row| *row != NONE)
    }

    /// Returns whether the row has happened.
    pub fn done(&self, run: &Run, row: u32) -> bool {
        let thread = run.events.threads().get(row as usize);
        let next = thread.and_then(|thread| self.next.get(usize::from(*thread)));
        next.is_some_and(|next| *next > row)
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

    /// Reason why the row has to wait now.
    pub fn blocked(&self, index: &Index, run: &Run, row: u32) -> Option<Blocked> {
        let op = index.op(row)?;
        let thread = run.events.threads().get(row as usize).copied().unwrap_or(0);
        if let Some(need) = op.needs.iter().find(|need| !self.done(run, **need)) {
            return Some(Blocked::Row(*need));
        }
        if let Some(condition) = op.ends
            && !self
                .woken
                .get(condition as usize)
                .is_some_and(|woken| woken.contains(&thread))
        {
            return Some(Blocked::Signal(condition));
        }
        let object = op.object as usize;
        match op.does {
            Does::Take { shared } => {
                let holders = self.locks.get(object)?.iter();
                let mut conflicts = holders.filter(|(holder, for_reading, _)| {
                    *holder != thread && !(shared && *for_reading)
                });
                conflicts.next().map(|(holder, ..)| Blocked::Lock(*holder))
            }
            Does::TakeUnit { .. } => {
                let none = self.units.get(object).is_none_or(|units| *units <= 0);
                none.then_some(Blocked::Unit(op.object))
            }
            Does::Attempt { for_writing } => match self.other_holder(op.object, thread) {
                Some((_, shared)) if !(shared && for_writing) => None,
                _ => Some(Blocked::Attempt(op.object)),
            },
            Does::Arrive(generation) => {
                let earlier = index.generations.get(generation as usize)?.earlier?;
                self.missing(index, run, earlier)
            }
            Does::Leave(generation) => self.missing(index, run, generation),
            _ => None,
        }
    }

    fn missing(&self, index: &Index, run: &Run, generation: u32) -> Option<Blocked> {
        let arrivals = &index.generations.get(generation as usize)?.arrivals;
        if self.arrived.get(generation as usize).copied()? as usize == arrivals.len() {
            return None;
        }
        let missing = arrivals.iter().find(|row| !self.done(run, **row));
        missing.map(|row| Blocked::Row(*row))
    }

    /// Executes the row. A signal wakes the waiter that resumed first in the run.
    pub fn step(&mut self, index: &Index, thread: u16, row: u32) {
        let Some(op) = self.advance(index, thread, row) else {
            return;
        };
        let object = op.object as usize;
        if let Some(condition) = op.ends
            && let Some(woken) = self.woken.get_mut(condition as usize)
        {
            woken.retain(|other| *other != thread);
        }
        match op.does {
            Does::Take { shared } => self.take(object, thread, shared),
            Does::Give => self.give(object, thread),
            Does::Post | Does::TakeUnit { .. } => {
                if let Some(units) = self.units.get_mut(object) {
                    *units += if op.does == Does::Post { 1 } else { -1 };
                }
            }
            Does::Wait { signalled: true } => {
                if let Some(waiting) = self.waiting.get_mut(object) {
                    waiting.push(thread);
                }
            }
            Does::Signal => {
                let first = self
                    .waiters(op.object)
                    .min_by_key(|waiter| self.goes_on(index, *waiter));
                self.wake(op.object, first);
            }
            Does::Broadcast => {
                let all: Vec<u16> = self.waiters(op.object).collect();
                all.into_iter()
                    .for_each(|waiter| self.wake(op.object, Some(waiter)));
            }
            Does::Arrive(generation) => {
                if let Some(arrived) = self.arrived.get_mut(generation as usize) {
                    *arrived += 1;
                }
            }
            _ => {}
        }
    }

    /// Passes the row without its effects on others.
    pub fn skip(&mut self, index: &Index, thread: u16, row: u32) {
        self.advance(index, thread, row);
    }

    fn advance<'i>(&mut self, index: &'i Index, thread: u16, row: u32) -> Option<&'i Op> {
        if let Some(next) = self.next.get_mut(usize::from(thread)) {
            *next = index.next.get(row as usize).copied().unwrap_or(NONE);
        }
        index.op(row)
    }

    /// Row at which a waiter resumes, past its unlock.
    fn goes_on(&self, index: &Index, waiter: u16) -> u32 {
        let mut row = self.next_of(waiter).unwrap_or(NONE);
        while row != NONE && index.op(row).is_none_or(|op| op.ends.is_none()) {
            row = index.next.get(row as usize).copied().unwrap_or(NONE);
        }
        row
    }

    /// Threads that wait for a signal.
    pub fn waiters(&self, condition: u32) -> impl Iterator<Item = u16> + '_ {
        self.waiting
            .get(condition as usize)
            .into_iter()
            .flatten()
            .copied()
    }

    /// Signals this waiter.
    pub fn wake(&mut self, condition: u32, waiter: Option<u16>) {
        let at = condition as usize;
        if let (Some(waiter), Some(waiting), Some(woken)) =
            (waiter, self.waiting.get_mut(at), self.woken.get_mut(at))
        {
            waiting.retain(|other| *other != waiter);
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
}
