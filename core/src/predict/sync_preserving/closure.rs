//! The closure: the events that an order must have so that the sections of each lock can come in the run's
//! order.

use super::clocks::Prerequisites;
use crate::orders::Locks;
use rustc_hash::FxHashMap;
use unsnarl_order::VectorClock;
use unsnarl_trace::{LocationId, Run};

/// A section of a lock that more than one thread acquires.
struct SharedSection {
    /// The row of the acquisition.
    row: u32,
    /// Thread and step of the release; none when it never happened.
    released: Option<(u16, u32)>,
}

/// The sections of one lock and thread: steps of acquisitions, with the section, rising.
#[derive(Default)]
struct OfThread {
    thread: u16,
    all: Vec<(u32, u32)>,
    exclusive: Vec<(u32, u32)>,
}

/// The sections of all locks that more than one thread acquires.
pub(super) struct SharedSections {
    sections: Vec<SharedSection>,
    locks: Vec<Vec<OfThread>>,
    /// For each thread the steps at which it acquired a lock, with the lock.
    taken: Vec<Vec<(u32, u32)>>,
}

impl SharedSections {
    pub(super) fn new(run: &Run, clocks: &Prerequisites) -> SharedSections {
        let all = Locks::new(run, &mut Vec::new());
        let numbers = contended(&all);
        let mut these = SharedSections {
            sections: Vec::new(),
            locks: Vec::new(),
            taken: Vec::new(),
        };
        these.locks.resize_with(numbers.len(), Vec::new);
        these
            .taken
            .resize_with(clocks.bottom().entries().len(), Vec::new);
        for section in all.sections() {
            let number = numbers.get(&section.lock);
            let place = clocks.step_of(section.acquired);
            if let (Some(&lock), Some((thread, step))) = (number, place) {
                let id = these.sections.len() as u32;
                these.sections.push(SharedSection {
                    row: section.acquired.0,
                    released: section.released.and_then(|row| clocks.step_of(row)),
                });
                these.add(id, lock, thread, step, section.shared);
            }
        }
        these
    }

    fn add(&mut self, id: u32, lock: u32, thread: u16, step: u32, shared: bool) {
        if let Some(taken) = self.taken.get_mut(usize::from(thread)) {
            taken.push((step, lock));
        }
        let Some(lock) = self.locks.get_mut(lock as usize) else {
            return;
        };
        if lock.iter().all(|of| of.thread != thread) {
            lock.push(OfThread {
                thread,
                ..OfThread::default()
            });
        }
        if let Some(of) = lock.iter_mut().find(|of| of.thread == thread) {
            of.all.push((step, id));
            if !shared {
                of.exclusive.push((step, id));
            }
        }
    }

    /// Grows `ideal`, which contains the closed `from`, to its closure. `false` when there is none, because a
    /// lock is acquired again that was never released.
    ///
    /// Examines the locks acquired in the new part, until there is none: at most each lock once per round,
    /// however often it was acquired.
    pub(super) fn close(
        &self,
        clocks: &Prerequisites,
        from: &VectorClock,
        ideal: &mut VectorClock,
    ) -> bool {
        let mut done = from.clone();
        let mut touched: Vec<u32> = Vec::new();
        loop {
            touched.clear();
            let mut news = 0;
            for (taken, (done, &upto)) in self
                .taken
                .iter()
                .zip(done.entries().iter().zip(ideal.entries()))
            {
                news += acquired(taken, *done, upto).len();
            }
            if news == 0 {
                return true;
            }
            if news >= self.locks.len() {
                // A lock without an acquisition in the new part is closed already: examining all locks is
                // cheaper than collecting the others.
                touched.extend(0..self.locks.len() as u32);
            } else {
                for (taken, (done, &upto)) in self
                    .taken
                    .iter()
                    .zip(done.entries().iter().zip(ideal.entries()))
                {
                    let locks = acquired(taken, *done, upto).iter().map(|(_, lock)| *lock);
                    touched.extend(locks);
                }
                touched.sort_unstable();
                touched.dedup();
            }
            done.join(ideal.entries());
            for &lock in &touched {
                if !self.close_lock(clocks, lock, ideal) {
                    return false;
                }
            }
        }
    }

    /// Adds the ends of sections that come before another one that they exclude.
    fn close_lock(&self, clocks: &Prerequisites, lock: u32, ideal: &mut VectorClock) -> bool {
        let lock = self.locks.get(lock as usize).map_or(&[][..], Vec::as_slice);
        let last = |steps: &[(u32, u32)], upto: u32| -> Option<&SharedSection> {
            let count = steps.partition_point(|&(step, _)| step < upto);
            let &(_, id) = steps.get(count.checked_sub(1)?)?;
            self.sections.get(id as usize)
        };
        let upto = |ideal: &VectorClock, of: &OfThread| ideal.get(of.thread);
        let exclusive = lock
            .iter()
            .filter_map(|of| last(&of.exclusive, upto(ideal, of)));
        let Some(newest) = exclusive.max_by_key(|section| section.row) else {
            return true;
        };
        let mut must_end: Vec<&SharedSection> = Vec::new();
        for of in lock {
            let Some(section) = last(&of.all, upto(ideal, of)) else {
                continue;
            };
            match section.row.cmp(&newest.row) {
                std::cmp::Ordering::Less => must_end.push(section),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => must_end.push(newest),
            }
        }
        must_end.into_iter().all(|section| {
            let end = section.released;
            end.is_some_and(|(thread, step)| {
                clocks.join_before(ideal, thread, step + 1);
                true
            })
        })
    }
}

/// The acquisitions of a thread from one step on and before another.
fn acquired(taken: &[(u32, u32)], from: u32, upto: u32) -> &[(u32, u32)] {
    let first = taken.partition_point(|&(step, _)| step < from);
    let rest = taken.get(first..).unwrap_or(&[]);
    let count = rest.partition_point(|&(step, _)| step < upto);
    rest.get(..count).unwrap_or(&[])
}

/// Numbers of the locks that more than one thread acquires.
fn contended(locks: &Locks) -> FxHashMap<LocationId, u32> {
    let mut takers = FxHashMap::default();
    let mut numbers = FxHashMap::default();
    for section in locks.sections() {
        let first = *takers.entry(section.lock).or_insert(section.thread);
        if first != section.thread {
            let next = numbers.len() as u32;
            numbers.entry(section.lock).or_insert(next);
        }
    }
    numbers
}
