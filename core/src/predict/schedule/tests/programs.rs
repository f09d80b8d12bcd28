//! Random small programs of two or three threads, run once in a random order.

use crate::fixture;
use proptest::prelude::*;
use unsnarl_trace::{Event, EventKind, LocationId, Run, SiteId, StackId, ThreadId, Value};

/// Steps of a random program's threads beside accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::predict) enum OtherSteps {
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
enum ProgramStep {
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
struct RunningProgram {
    rows: Vec<Event>,
    /// Lock, thread, for reading.
    held: Vec<(u32, u16, bool)>,
    units: u32,
    waiting: Vec<u16>,
    woken: Vec<u16>,
    arrived: Vec<u16>,
}

impl RunningProgram {
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
    fn step(&mut self, thread: u16, step: ProgramStep, is_over: impl Fn(u16) -> bool) -> bool {
        use EventKind as K;
        match step {
            ProgramStep::Read(x) => self.push(thread, K::Read, x, 0),
            ProgramStep::Write(x) => self.push(thread, K::Write, x, 0),
            ProgramStep::Lock(l) => {
                if !self.is_free(l, thread, false) {
                    return false;
                }
                self.held.push((l, thread, false));
                self.push(thread, K::Lock, l, 0);
            }
            ProgramStep::ReadLock(l) => {
                if !self.is_free(l, thread, true) {
                    return false;
                }
                self.held.push((l, thread, true));
                self.push(thread, K::SharedLock, l, 0);
            }
            ProgramStep::Unlock(l) => {
                self.give(l, thread);
                self.push(thread, K::Unlock, l, 0);
            }
            ProgramStep::ReadUnlock(l) => {
                self.give(l, thread);
                self.push(thread, K::SharedUnlock, l, 0);
            }
            ProgramStep::Try(l) => {
                if self.is_free(l, thread, false) {
                    self.push(thread, K::Lock, l, 0);
                    self.push(thread, K::Write, X, 0);
                    self.push(thread, K::Unlock, l, 0);
                } else {
                    self.push(thread, K::TryLockFailed, l, 0);
                }
            }
            ProgramStep::Post(s) => {
                self.units += 1;
                self.push(thread, K::SemPost, s, 0);
            }
            ProgramStep::Take(s) => {
                if self.units == 0 {
                    return false;
                }
                self.units -= 1;
                self.push(thread, K::SemWait, s, 0);
            }
            ProgramStep::Arrive => {
                self.arrived.push(thread);
                self.push(thread, K::BarrierArrive, BARRIER, 0);
            }
            ProgramStep::Leave => {
                if self.arrived.len() < 2 {
                    return false;
                }
                self.push(thread, K::BarrierLeave, BARRIER, 0);
            }
            ProgramStep::Wait => {
                self.waiting.push(thread);
                self.push(thread, K::Wait, CONDITION, 0);
                self.step(thread, ProgramStep::Unlock(LOCK), is_over);
            }
            ProgramStep::Wake => {
                if !self.woken.contains(&thread) || !self.is_free(LOCK, thread, false) {
                    return false;
                }
                self.woken.retain(|woken| *woken != thread);
                self.step(thread, ProgramStep::Lock(LOCK), is_over);
                self.push(thread, K::Wake, CONDITION, 0);
            }
            ProgramStep::Signal => {
                let woken = self.waiting.pop();
                self.push(thread, K::Signal, CONDITION, u64::from(woken.is_some()));
                self.woken.extend(woken);
            }
            ProgramStep::Broadcast => {
                self.push(thread, K::Broadcast, CONDITION, self.waiting.len() as u64);
                self.woken.append(&mut self.waiting);
            }
            ProgramStep::Join(other) => {
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
fn block(steps: OtherSteps, (what, which): (u8, u8)) -> Vec<ProgramStep> {
    let a = LOCK + u32::from(which % 2);
    let b = LOCK + 1 - u32::from(which % 2);
    let access = |bits: u8| match bits % 4 {
        0 => ProgramStep::Read(X),
        1 => ProgramStep::Write(X),
        2 => ProgramStep::Read(Y),
        _ => ProgramStep::Write(Y),
    };
    let (one, other) = (access(which / 2), access(which / 8));
    match (steps, what % 4) {
        (_, 0) => vec![one],
        (OtherSteps::Readers, 1..) => {
            let (c, d) = (
                READ_WRITE + u32::from(which % 2),
                READ_WRITE + 1 - u32::from(which % 2),
            );
            let take = |lock, bit: u8| match which & bit {
                0 => [ProgramStep::ReadLock(lock), ProgramStep::ReadUnlock(lock)],
                _ => [ProgramStep::Lock(lock), ProgramStep::Unlock(lock)],
            };
            let ([take_c, give_c], [take_d, give_d]) = (take(c, 2), take(d, 4));
            vec![take_c, take_d, give_d, give_c]
        }
        (OtherSteps::Locks, 1) => vec![ProgramStep::Lock(a), one, ProgramStep::Unlock(a), other],
        (OtherSteps::Locks, 2) => vec![
            ProgramStep::Lock(a),
            ProgramStep::Lock(b),
            ProgramStep::Unlock(b),
            one,
            ProgramStep::Unlock(a),
        ],
        (OtherSteps::CrossedLocks, 1) => vec![
            ProgramStep::Lock(a),
            ProgramStep::Lock(b),
            one,
            ProgramStep::Unlock(a),
            other,
            ProgramStep::Unlock(b),
        ],
        (OtherSteps::CrossedLocks, 2) => vec![
            ProgramStep::Lock(a),
            ProgramStep::Lock(b),
            ProgramStep::Unlock(a),
            one,
            ProgramStep::Unlock(b),
        ],
        (OtherSteps::Waits, 1) => vec![
            ProgramStep::Lock(LOCK),
            ProgramStep::Wait,
            ProgramStep::Wake,
            one,
            ProgramStep::Unlock(LOCK),
        ],
        (OtherSteps::Waits, 2) => vec![
            ProgramStep::Lock(LOCK),
            ProgramStep::Signal,
            ProgramStep::Unlock(LOCK),
            one,
        ],
        (OtherSteps::Waits, _) => vec![
            one,
            if which % 2 == 0 {
                ProgramStep::Signal
            } else {
                ProgramStep::Broadcast
            },
        ],
        (OtherSteps::Others, 1) => {
            let lock = READ_WRITE;
            match which % 2 {
                0 => vec![
                    ProgramStep::ReadLock(lock),
                    one,
                    ProgramStep::ReadUnlock(lock),
                ],
                _ => vec![ProgramStep::Lock(lock), one, ProgramStep::Unlock(lock)],
            }
        }
        (OtherSteps::Others, 2) => match which % 3 {
            0 => vec![ProgramStep::Post(SEMAPHORE), one],
            1 => vec![ProgramStep::Take(SEMAPHORE), one],
            _ => vec![one, ProgramStep::Arrive, ProgramStep::Leave],
        },
        (OtherSteps::Others, _) => vec![ProgramStep::Try(READ_WRITE), one],
        _ => vec![ProgramStep::Lock(a), one, other, ProgramStep::Unlock(a)],
    }
}

/// Bound on the rows, since all their orders are enumerated.
const ROWS: usize = 14;

fn run_once(threads: Vec<Vec<ProgramStep>>, joins: bool, schedule: &[u8]) -> Run {
    let mut running = RunningProgram::default();
    let children = threads.len() as u16;
    let mut left: Vec<Vec<ProgramStep>> = threads
        .into_iter()
        .map(|steps| steps.into_iter().rev().collect())
        .collect();
    for child in 1..children {
        running.push(0, EventKind::Fork, 0, u64::from(child));
    }
    if joins && let Some(main) = left.first_mut() {
        main.insert(0, ProgramStep::Write(X));
        main.insert(1, ProgramStep::Join(1));
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
pub(in crate::predict) fn programs(steps: OtherSteps) -> impl Strategy<Value = Run> {
    let block_of = (0u8..4, 0u8..32).prop_map(move |bits| block(steps, bits));
    let thread = prop::collection::vec(block_of, 1..3).prop_map(|blocks| blocks.concat());
    let threads = prop::collection::vec(thread, 2..4);
    let schedule = prop::collection::vec(0u8..6, 60);
    (threads, any::<bool>(), schedule).prop_map(move |(threads, joins, schedule)| {
        run_once(threads, joins && steps == OtherSteps::Locks, &schedule)
    })
}
