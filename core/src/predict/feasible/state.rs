//! State of locks, waits and semaphores while an order is replayed.

use super::{
    Rule,
    recorded::{Recorded, location},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, Run};

/// A violated rule: the object, the conflicting row, the rule.
type Broken = (u32, Option<u32>, Rule);

/// Holder of a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    thread: u16,
    /// `true` for reading only.
    pub shared: bool,
    depth: u32,
    row: u32,
}

/// State of all objects within an order.
pub(super) struct State<'a> {
    recorded: &'a Recorded,
    /// Positions in the order of the rows at which waits end.
    ends: FxHashMap<u32, usize>,
    /// Holders by number of the lock.
    locks: Vec<Vec<Holder>>,
    /// Units of semaphores, and the row that took the last.
    units: FxHashMap<u32, (u64, Option<u32>)>,
    /// Rows at which the threads waiting for a signal began to wait.
    waiting: FxHashMap<u32, Vec<u32>>,
    /// Of these, rows whose threads were signalled and have not resumed.
    woken: FxHashMap<u32, Vec<u32>>,
}

impl<'a> State<'a> {
    /// The state before this order.
    pub fn of_order(recorded: &'a Recorded, order: &[EventId]) -> State<'a> {
        let mut ends = FxHashMap::default();
        if !recorded.returns.is_empty() {
            let places = order.iter().enumerate();
            ends.extend(
                places
                    .filter(|(_, event)| recorded.returns.contains_key(&event.0))
                    .map(|(at, event)| (event.0, at)),
            );
        }
        let units = recorded.units.iter();
        State {
            recorded,
            ends,
            locks: vec![Vec::new(); recorded.locks],
            units: units.map(|(&object, &n)| (object, (n, None))).collect(),
            waiting: FxHashMap::default(),
            woken: FxHashMap::default(),
        }
    }

    /// Applies a row; an error names the rule that it violates.
    pub fn step(&mut self, run: &Run, row: u32) -> Result<(), Broken> {
        let at = row as usize;
        let (Some(&thread), Some(kind)) = (
            run.events.threads().get(at),
            run.events
                .kinds()
                .get(at)
                .and_then(|k| EventKind::from_u8(*k)),
        ) else {
            return Ok(());
        };
        let goes_on = self.goes_on(row);
        let object = location(run, row);
        if self.recorded.odd.contains(&object) {
            return goes_on;
        }
        let result = match kind {
            EventKind::Lock => self.take(object, thread, row, false),
            EventKind::SharedLock => self.take(object, thread, row, true),
            EventKind::Unlock | EventKind::SharedUnlock => self.give(object, thread),
            EventKind::TryLockFailed => self.attempt(object, thread, row),
            EventKind::SemPost => self.post(object),
            EventKind::SemWait => self.take_unit(object, row),
            EventKind::Wait => self.wait(object, row),
            EventKind::Signal => self.signal(object),
            EventKind::Broadcast => self.broadcast(object),
            _ => Ok(()),
        };
        goes_on.and(result.map_err(|(other, rule)| (object, other, rule)))
    }

    /// Another thread that holds the lock.
    pub fn other_holder(&self, lock: u32, thread: u16) -> Option<Holder> {
        let holders = self.locks.get(self.recorded.lock(lock))?.iter();
        let mut others = holders.filter(|holder| holder.thread != thread);
        others.next().copied()
    }

    fn take(
        &mut self,
        lock: u32,
        thread: u16,
        row: u32,
        shared: bool,
    ) -> Result<(), (Option<u32>, Rule)> {
        let Some(holders) = self.locks.get_mut(self.recorded.lock(lock)) else {
            return Ok(());
        };
        let others = |holder: &&Holder| holder.thread != thread && !(holder.shared && shared);
        let conflict = holders.iter().find(others).map(|holder| holder.row);
        match holders.iter_mut().find(|holder| holder.thread == thread) {
            Some(mine) => mine.depth += 1,
            None => holders.push(Holder {
                thread,
                shared,
                depth: 1,
                row,
            }),
        }
        conflict.map_or(Ok(()), |other| Err((Some(other), Rule::Lock)))
    }

    fn give(&mut self, lock: u32, thread: u16) -> Result<(), (Option<u32>, Rule)> {
        let Some(holders) = self.locks.get_mut(self.recorded.lock(lock)) else {
            return Ok(());
        };
        let mine = holders.iter().position(|holder| holder.thread == thread);
        let Some(at) = mine.or_else(|| holders.len().checked_sub(1)) else {
            return Err((None, Rule::AsRecorded));
        };
        let Some(holder) = holders.get_mut(at) else {
            return Ok(());
        };
        holder.depth -= 1;
        let (row, done) = (holder.row, holder.depth == 0);
        if done {
            holders.swap_remove(at);
        }
        match mine {
            Some(_) => Ok(()),
            None => Err((Some(row), Rule::AsRecorded)),
        }
    }

    fn attempt(&self, lock: u32, thread: u16, row: u32) -> Result<(), (Option<u32>, Rule)> {
        let Some(&for_writing) = self.recorded.attempts.get(&row) else {
            return Ok(());
        };
        match self.other_holder(lock, thread) {
            Some(holder) if !(for_writing && holder.shared) => Ok(()),
            holder => Err((holder.map(|holder| holder.row), Rule::Attempt)),
        }
    }

    fn post(&mut self, semaphore: u32) -> Result<(), (Option<u32>, Rule)> {
        self.units.entry(semaphore).or_default().0 += 1;
        Ok(())
    }

    fn take_unit(&mut self, semaphore: u32, row: u32) -> Result<(), (Option<u32>, Rule)> {
        let (units, last) = self.units.entry(semaphore).or_default();
        let other = last.replace(row);
        match units.checked_sub(1) {
            Some(left) => {
                *units = left;
                Ok(())
            }
            None => Err((other, Rule::Unit)),
        }
    }

    fn wait(&mut self, condition: u32, row: u32) -> Result<(), (Option<u32>, Rule)> {
        let end = self.recorded.ends.get(&row);
        let end = end.and_then(|end| self.recorded.returns.get(end));
        if end.is_none_or(|end| end.signalled) {
            self.waiting.entry(condition).or_default().push(row);
        }
        Ok(())
    }

    /// Wakes the thread that resumes first.
    fn signal(&mut self, condition: u32) -> Result<(), (Option<u32>, Rule)> {
        let waiting = self.waiting.entry(condition).or_default();
        let end = |wait: &u32| {
            let end = self.recorded.ends.get(wait);
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

    fn broadcast(&mut self, condition: u32) -> Result<(), (Option<u32>, Rule)> {
        let waiting = self.waiting.remove(&condition).unwrap_or_default();
        self.woken.entry(condition).or_default().extend(waiting);
        Ok(())
    }

    /// Checks that a wait that ends with this row was signalled.
    fn goes_on(&mut self, row: u32) -> Result<(), Broken> {
        let Some(end) = self.recorded.returns.get(&row).copied() else {
            return Ok(());
        };
        if !end.signalled || self.recorded.odd.contains(&end.condition) {
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
}
