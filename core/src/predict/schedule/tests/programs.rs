//! Random small programs of two or three threads, run once in a random order.

use crate::fixture;
use proptest::prelude::*;
use unsnarl_trace::{Event, EventKind, LocationId, Run, SiteId, StackId, ThreadId, Value};

/// Steps of a random program's threads beside accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::predict) enum Steps {
    /// Locks released in the reverse order; forks and joins.
    Locks,
    /// Locks released in any order.
    CrossedLocks,
    /// Waits and signals under a lock.
    Waits,
    /// Readers' locks, attempts, semaphores, barriers.
    Others,
    /// Nested readers' and writers' locks.
    Readers,
}

/// A step of a program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u32),
    Write(u32),
    Lock(u32),
    Unlock(u32),
    ReadLock(u32),
    ReadUnlock(u32),
    /// An access under the lock if it is free.
    Try(u32),
    Post(u32),
    Take(u32),
    Arrive,
    Leave,
    Wait,
    Wake,
    Signal,
    Broadcast,
    Join(u16),
}

const X: u32 = 1;
const Y: u32 = 2;
const LOCK: u32 = 3;
const READ_WRITE: u32 = 5;
const CONDITION: u32 = 7;
const SEMAPHORE: u32 = 9;
const BARRIER: u32 = 14;

/// The rows of a running program.
#[derive(Default)]
struct Running {
    rows: Vec<Event>,
    /// Lock, thread, for reading.
    held: Vec<(u32, u16, bool)>,
    units: u32,
    waiting: Vec<u16>,
    woken: Vec<u16>,
    arrived: Vec<u16>,
}

impl Running {
    fn push(&mut self, thread: u16, kind: EventKind, location: u32, value: u64) {
        self.rows.push(Event {
            seq: self.rows.len() as u64,
            thread: ThreadId(thread),
            kind,
            site: SiteId(self.rows.len() as u32 + 1),
            location: LocationId(location),
            size: 4,
            flags: 0,
            value: Some(Value::Bits(value)),
            old: None,
            stack: StackId(0),
            point: unsnarl_trace::PointId(0),
        });
    }

    fn is_free(&self, lock: u32, thread: u16, reading: bool) -> bool {
        let mut held = self.held.iter();
        !held.any(|(other, by, shared)| *other == lock && *by != thread && !(reading && *shared))
    }

    fn give(&mut self, lock: u32, thread: u16) {
        self.held
            .retain(|(other, by, _)| (*other, *by) != (lock, thread));
    }

    /// Executes a step; `false` when the thread has to wait.
    fn step(&mut self, thread: u16, step: Step, is_over: impl Fn(u16) -> bool) -> bool {
        use EventKind as K;
        match step {
            Step::Read(x) => self.push(thread, K::Read, x, 0),
            Step::Write(x) => self.push(thread, K::Write, x, 0),
            Step::Lock(l) => {
                if !self.is_free(l, thread, false) {
                    return false;
                }
                self.held.push((l, thread, false));
                self.push(thread, K::Lock, l, 0);
            }
            Step::ReadLock(l) => {
                if !self.is_free(l, thread, true) {
                    return false;
                }
                self.held.push((l, thread, true));
                self.push(thread, K::SharedLock, l, 0);
            }
            Step::Unlock(l) => {
                self.give(l, thread);
                self.push(thread, K::Unlock, l, 0);
            }
            Step::ReadUnlock(l) => {
                self.give(l, thread);
                self.push(thread, K::SharedUnlock, l, 0);
            }
            Step::Try(l) => {
                if self.is_free(l, thread, false) {
                    self.push(thread, K::Lock, l, 0);
                    self.push(thread, K::Write, X, 0);
                    self.push(thread, K::Unlock, l, 0);
                } else {
                    self.push(thread, K::TryLockFailed, l, 0);
                }
            }
            Step::Post(s) => {
                self.units += 1;
                self.push(thread, K::SemPost, s, 0);
            }
            Step::Take(s) => {
                if self.units == 0 {
                    return false;
                }
                self.units -= 1;
                self.push(thread, K::SemWait, s, 0);
            }
            Step::Arrive => {
                self.arrived.push(thread);
                self.push(thread, K::BarrierArrive, BARRIER, 0);
            }
            Step::Leave => {
                if self.arrived.len() < 2 {
                    return false;
                }
                self.push(thread, K::BarrierLeave, BARRIER, 0);
            }
            Step::Wait => {
                self.waiting.push(thread);
                self.push(thread, K::Wait, CONDITION, 0);
                self.step(thread, Step::Unlock(LOCK), is_over);
            }
            Step::Wake => {
                if !self.woken.contains(&thread) || !self.is_free(LOCK, thread, false) {
                    return false;
                }
                self.woken.retain(|woken| *woken != thread);
                self.step(thread, Step::Lock(LOCK), is_over);
                self.push(thread, K::Wake, CONDITION, 0);
            }
            Step::Signal => {
                let woken = self.waiting.pop();
                self.push(thread, K::Signal, CONDITION, u64::from(woken.is_some()));
                self.woken.extend(woken);
            }
            Step::Broadcast => {
                self.push(thread, K::Broadcast, CONDITION, self.waiting.len() as u64);
                self.woken.append(&mut self.waiting);
            }
            Step::Join(other) => {
                if !is_over(other) {
                    return false;
                }
                self.push(thread, K::Join, 0, u64::from(other));
            }
        }
        true
    }
}

/// Makes a few steps that belong together.
fn block(steps: Steps, (what, which): (u8, u8)) -> Vec<Step> {
    let a = LOCK + u32::from(which % 2);
    let b = LOCK + 1 - u32::from(which % 2);
    let access = |bits: u8| match bits % 4 {
        0 => Step::Read(X),
        1 => Step::Write(X),
        2 => Step::Read(Y),
        _ => Step::Write(Y),
    };
    let (one, other) = (access(which / 2), access(which / 8));
    match (steps, what % 4) {
        (_, 0) => vec![one],
        (Steps::Readers, 1..) => {
            let (c, d) = (
                READ_WRITE + u32::from(which % 2),
                READ_WRITE + 1 - u32::from(which % 2),
            );
            let take = |lock, bit: u8| match which & bit {
                0 => [Step::ReadLock(lock), Step::ReadUnlock(lock)],
                _ => [Step::Lock(lock), Step::Unlock(lock)],
            };
            let ([take_c, give_c], [take_d, give_d]) = (take(c, 2), take(d, 4));
            vec![take_c, take_d, give_d, give_c]
        }
        (Steps::Locks, 1) => vec![Step::Lock(a), one, Step::Unlock(a), other],
        (Steps::Locks, 2) => vec![
            Step::Lock(a),
            Step::Lock(b),
            Step::Unlock(b),
            one,
            Step::Unlock(a),
        ],
        (Steps::CrossedLocks, 1) => vec![
            Step::Lock(a),
            Step::Lock(b),
            one,
            Step::Unlock(a),
            other,
            Step::Unlock(b),
        ],
        (Steps::CrossedLocks, 2) => vec![
            Step::Lock(a),
            Step::Lock(b),
            Step::Unlock(a),
            one,
            Step::Unlock(b),
        ],
        (Steps::Waits, 1) => vec![
            Step::Lock(LOCK),
            Step::Wait,
            Step::Wake,
            one,
            Step::Unlock(LOCK),
        ],
        (Steps::Waits, 2) => vec![Step::Lock(LOCK), Step::Signal, Step::Unlock(LOCK), one],
        (Steps::Waits, _) => vec![
            one,
            if which % 2 == 0 {
                Step::Signal
            } else {
                Step::Broadcast
            },
        ],
        (Steps::Others, 1) => {
            let lock = READ_WRITE;
            match which % 2 {
                0 => vec![Step::ReadLock(lock), one, Step::ReadUnlock(lock)],
                _ => vec![Step::Lock(lock), one, Step::Unlock(lock)],
            }
        }
        (Steps::Others, 2) => match which % 3 {
            0 => vec![Step::Post(SEMAPHORE), one],
            1 => vec![Step::Take(SEMAPHORE), one],
            _ => vec![one, Step::Arrive, Step::Leave],
        },
        (Steps::Others, _) => vec![Step::Try(READ_WRITE), one],
        _ => vec![Step::Lock(a), one, other, Step::Unlock(a)],
    }
}

/// Bound on the rows, since all their orders are enumerated.
const ROWS: usize = 14;

fn run_once(threads: Vec<Vec<Step>>, joins: bool, schedule: &[u8]) -> Run {
    let mut running = Running::default();
    let children = threads.len() as u16;
    let mut left: Vec<Vec<Step>> = threads
        .into_iter()
        .map(|steps| steps.into_iter().rev().collect())
        .collect();
    for child in 1..children {
        running.push(0, EventKind::Fork, 0, u64::from(child));
    }
    if joins && let Some(main) = left.first_mut() {
        main.insert(0, Step::Write(X));
        main.insert(1, Step::Join(1));
    }
    for pick in schedule {
        let thread = u16::from(*pick) % children;
        let over: Vec<bool> = left.iter().map(Vec::is_empty).collect();
        let Some(step) = left[usize::from(thread)].last().copied() else {
            continue;
        };
        if running.rows.len() >= ROWS {
            break;
        }
        if running.step(thread, step, |other| over[usize::from(other)]) {
            left[usize::from(thread)].pop();
        }
    }
    fixture::of_rows(&running.rows)
}

/// Runs of random programs.
pub(in crate::predict) fn programs(steps: Steps) -> impl Strategy<Value = Run> {
    let block_of = (0u8..4, 0u8..32).prop_map(move |bits| block(steps, bits));
    let thread = prop::collection::vec(block_of, 1..3).prop_map(|blocks| blocks.concat());
    let threads = prop::collection::vec(thread, 2..4);
    let schedule = prop::collection::vec(0u8..6, 60);
    (threads, any::<bool>(), schedule).prop_map(move |(threads, joins, schedule)| {
        run_once(threads, joins && steps == Steps::Locks, &schedule)
    })
}
