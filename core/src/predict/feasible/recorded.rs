//! Constraints from the recorded order: predecessors of rows, resumptions of waits, initial units of
//! semaphores, and objects used against the rules.

use super::{Rule, state::State};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, Run};

/// Marks the absence of a row.
pub(super) const NONE: u32 = u32::MAX;

/// The wait that a row ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// The row at which the wait began.
    pub wait: u32,
    /// The condition variable.
    pub condition: u32,
    /// `true` if a signal ended it, not a timeout or a spurious wakeup.
    pub signalled: bool,
}

/// Constraints of a run on all its orders.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Exclusive bound of the thread numbers.
    pub threads: usize,
    /// The thread's preceding row, by row.
    previous: Vec<u32>,
    /// Number of a lock among the locks, by location.
    lock_of: Vec<u32>,
    /// Number of locks.
    pub locks: usize,
    needs: FxHashMap<u32, Vec<(u32, Rule)>>,
    /// Returns by the row at which the thread resumes: the reacquisition of the mutex, or the wakeup where
    /// that is not recorded.
    pub returns: FxHashMap<u32, Return>,
    /// End of each wait, by the wait's row.
    pub ends: FxHashMap<u32, u32>,
    /// Initial units of semaphores.
    pub units: FxHashMap<u32, u64>,
    /// Failed attempts while another thread held the lock, with whether it was held for writing.
    pub attempts: FxHashMap<u32, bool>,
    /// Objects that were used against the rules.
    pub odd: FxHashSet<u32>,
}

impl Recorded {
    /// Prepares the run.
    pub fn new(run: &Run) -> Recorded {
        let mut recorded = Recorded::default();
        recorded.program_order(run);
        recorded.number_locks(run);
        recorded.waits(run);
        recorded.semaphores(run);
        recorded.threads_and_once(run);
        recorded.barriers(run);
        recorded.oddities(run);
        recorded
    }

    /// The thread's preceding row.
    pub fn before(&self, row: u32) -> u32 {
        self.previous.get(row as usize).copied().unwrap_or(NONE)
    }

    /// Rows that must come before this one, beyond its thread's.
    pub fn needs(&self, row: u32) -> &[(u32, Rule)] {
        self.needs.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Number of the lock at a location.
    pub fn lock(&self, location: u32) -> usize {
        let number = self.lock_of.get(location as usize);
        number.map_or(usize::MAX, |number| *number as usize)
    }

    fn number_locks(&mut self, run: &Run) {
        for (row, _, kind) in steps(run) {
            if !(EventKind::Lock..=EventKind::TryLockFailed).contains(&kind) {
                continue;
            }
            let location = location(run, row) as usize;
            if self.lock_of.len() <= location {
                self.lock_of.resize(location + 1, NONE);
            }
            if let Some(number) = self
                .lock_of
                .get_mut(location)
                .filter(|number| **number == NONE)
            {
                *number = self.locks as u32;
                self.locks += 1;
            }
        }
    }

    fn need(&mut self, row: u32, need: u32, rule: Rule) {
        self.needs.entry(row).or_default().push((need, rule));
    }

    fn program_order(&mut self, run: &Run) {
        let threads = run.events.threads();
        self.threads = threads
            .iter()
            .max()
            .map_or(0, |most| usize::from(*most) + 1);
        let mut last = vec![NONE; self.threads];
        self.previous.reserve(threads.len());
        for (row, &thread) in (0..).zip(threads) {
            if let Some(last) = last.get_mut(usize::from(thread)) {
                self.previous.push(std::mem::replace(last, row));
            }
        }
    }

    /// Finds the ends of waits: a wait releases the mutex and ends with the thread's next step of
    /// synchronization.
    fn waits(&mut self, run: &Run) {
        let mut begun: FxHashMap<u16, (u32, bool)> = FxHashMap::default();
        let mut open: FxHashMap<u16, (u32, u32)> = FxHashMap::default();
        for (row, thread, kind) in steps(run) {
            if let Some((wait, gave_back)) = begun.get(&thread).copied() {
                if kind == EventKind::Unlock && !gave_back {
                    begun.insert(thread, (wait, true));
                    continue;
                }
                begun.remove(&thread);
                self.ends.insert(wait, row);
                let condition = location(run, wait);
                self.returns.insert(
                    row,
                    Return {
                        wait,
                        condition,
                        signalled: false,
                    },
                );
                open.insert(thread, (condition, row));
            }
            match kind {
                EventKind::Wait => {
                    begun.insert(thread, (row, false));
                }
                EventKind::Wake => {
                    if let Some((condition, end)) = open.remove(&thread)
                        && condition == location(run, row)
                        && let Some(end) = self.returns.get_mut(&end)
                    {
                        end.signalled = value(run, row) == 0;
                    }
                }
                _ => {}
            }
        }
    }

    fn semaphores(&mut self, run: &Run) {
        let mut now: FxHashMap<u32, i64> = FxHashMap::default();
        for (row, _, kind) in steps(run) {
            let by = match kind {
                EventKind::SemPost => 1,
                EventKind::SemWait => -1,
                _ => continue,
            };
            let object = location(run, row);
            let units = now.entry(object).or_default();
            *units += by;
            let lacking = units.checked_neg().and_then(|n| u64::try_from(n).ok());
            let first = self.units.entry(object).or_default();
            *first = (*first).max(lacking.unwrap_or(0));
        }
    }

    fn threads_and_once(&mut self, run: &Run) {
        let mut last: Vec<u32> = vec![NONE; self.threads];
        let mut forks: FxHashMap<u64, u32> = FxHashMap::default();
        let mut once: FxHashMap<(u32, EventKind), u32> = FxHashMap::default();
        for (row, &thread) in (0..).zip(run.events.threads()) {
            let first = self.before(row) == NONE;
            if first && let Some(&fork) = forks.get(&u64::from(thread)) {
                self.need(row, fork, Rule::Fork);
            }
            if let Some(last) = last.get_mut(usize::from(thread)) {
                *last = row;
            }
            let object = location(run, row);
            let wanted = match kind(run, row) {
                Some(EventKind::Fork) => {
                    forks.insert(value(run, row), row);
                    continue;
                }
                Some(EventKind::Join) => {
                    let other = usize::try_from(value(run, row)).ok();
                    let upto = other.and_then(|other| last.get(other)).copied();
                    if let Some(upto) = upto.filter(|upto| *upto != NONE && *upto != row) {
                        self.need(row, upto, Rule::Join);
                    }
                    continue;
                }
                Some(EventKind::OncePass | EventKind::OnceBegin) => EventKind::OnceEnd,
                Some(EventKind::OnceEnd) => EventKind::OnceBegin,
                _ => continue,
            };
            if let Some(&need) = once.get(&(object, wanted)) {
                self.need(row, need, Rule::Once);
            }
            if let Some(kind @ (EventKind::OnceBegin | EventKind::OnceEnd)) = kind(run, row) {
                once.insert((object, kind), row);
            }
        }
    }

    /// Finds the generations of barriers: the first thread to leave closes its generation.
    fn barriers(&mut self, run: &Run) {
        let mut barriers: FxHashMap<u32, Barrier> = FxHashMap::default();
        for (row, thread, kind) in steps(run) {
            let barrier = || location(run, row);
            let needs = match kind {
                EventKind::BarrierArrive => {
                    barriers.entry(barrier()).or_default().arrive(row, thread)
                }
                EventKind::BarrierLeave => barriers.entry(barrier()).or_default().leave(thread),
                _ => continue,
            };
            for need in needs.into_iter().filter(|need| *need != row) {
                self.need(row, need, Rule::Barrier);
            }
        }
    }

    /// Replays the run and notes violations of the rules; rows of such objects then need the object's
    /// preceding row.
    fn oddities(&mut self, run: &Run) {
        let rows: Vec<EventId> = (0..run.events.len() as u32).map(EventId).collect();
        let mut odd = FxHashSet::default();
        let mut attempts = FxHashMap::default();
        let mut state = State::of_order(self, &rows);
        for (row, thread, kind) in steps(run) {
            if kind == EventKind::TryLockFailed
                && let Some(holder) = state.other_holder(location(run, row), thread)
            {
                attempts.insert(row, !holder.shared);
            }
            if let Err((object, ..)) = state.step(run, row) {
                odd.insert(object);
            }
        }
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for (row, _, kind) in steps(run) {
            let object = location(run, row);
            if kind >= EventKind::Lock
                && odd.contains(&object)
                && let Some(before) = last.insert(object, row)
            {
                self.need(row, before, Rule::AsRecorded);
            }
        }
        self.odd = odd;
        self.attempts = attempts;
    }
}

#[derive(Default)]
struct Barrier {
    generation: usize,
    /// Arrivals by generation.
    arrived: Vec<Vec<u32>>,
    /// The generation in which each thread arrived.
    of: FxHashMap<u16, usize>,
}

impl Barrier {
    fn arrive(&mut self, row: u32, thread: u16) -> Vec<u32> {
        self.arrived.resize_with(self.generation + 1, Vec::new);
        self.of.insert(thread, self.generation);
        if let Some(arrived) = self.arrived.get_mut(self.generation) {
            arrived.push(row);
        }
        let earlier = self.generation.checked_sub(1);
        let earlier = earlier.and_then(|before| self.arrived.get(before));
        earlier.cloned().unwrap_or_default()
    }

    fn leave(&mut self, thread: u16) -> Vec<u32> {
        let Some(&mine) = self.of.get(&thread) else {
            return Vec::new();
        };
        if mine == self.generation {
            self.generation += 1;
        }
        self.arrived.get(mine).cloned().unwrap_or_default()
    }
}

/// The synchronization events: row, thread, kind.
fn steps(run: &Run) -> impl Iterator<Item = (u32, u16, EventKind)> {
    let rows = (0..).zip(run.events.threads()).zip(run.events.kinds());
    rows.filter(|(_, kind)| **kind > EventKind::Fence as u8)
        .filter_map(|((row, &thread), &kind)| Some((row, thread, EventKind::from_u8(kind)?)))
}

fn kind(run: &Run, row: u32) -> Option<EventKind> {
    run.events
        .kinds()
        .get(row as usize)
        .and_then(|&kind| EventKind::from_u8(kind))
}

pub(super) fn location(run: &Run, row: u32) -> u32 {
    let locations = run.events.locations();
    locations.get(row as usize).copied().unwrap_or(0)
}

fn value(run: &Run, row: u32) -> u64 {
    let values = run.events.values();
    values.get(row as usize).copied().unwrap_or(0)
}
