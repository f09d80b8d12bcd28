//! Random runs for tests, feasible ones and others.

// Only tests call it, and they may index.
#![allow(clippy::indexing_slicing)]

use proptest::prelude::*;
use unsnarl_trace::{
    Event, EventKind, Events, LocationId, Run, SiteId, SiteRow, StackId, ThreadId, ThreadRow,
    Value, model::flags,
};

/// Number of objects of each kind in a random run.
const OBJECTS: u32 = 2;
/// Locations: 1, 2 memory; 3, 4 mutex; 5, 6 rwlock; 7, 8 condition; 9, 10 semaphore; 11, 12 atomic; 13 once; 14 barrier.
const LOCATIONS: u32 = 14;

/// State of a random run that keeps it feasible.
#[derive(Default)]
struct FixtureMachine {
    rows: Vec<Event>,
    threads: Vec<Spawned>,
    mutex: [Option<u16>; 2],
    writer: [Option<u16>; 2],
    readers: [Vec<u16>; 2],
    units: [u32; 2],
    waiting: [Vec<u16>; 2],
    woken: [Vec<u16>; 2],
    once: u8,
    arrived: Vec<u16>,
    leaving: Vec<u16>,
    /// Threads of the last full generation that are still to leave.
    newest: Vec<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Spawned {
    #[default]
    Running,
    Ended,
    Joined,
}

impl FixtureMachine {
    fn push(&mut self, thread: u16, kind: EventKind, location: u32, value: u64, order: u16) {
        self.rows.push(Event {
            seq: self.rows.len() as u64,
            thread: ThreadId(thread),
            kind,
            site: SiteId(u32::from(thread) * 3 + location % 3),
            location: LocationId(location),
            size: 4,
            flags: order << flags::ORDER_SHIFT,
            value: Some(Value::Bits(value)),
            old: None,
            stack: StackId(0),
            point: unsnarl_trace::PointId(0),
        });
    }

    fn blocked(&self, t: u16) -> bool {
        self.waiting.iter().any(|w| w.contains(&t)) || self.arrived.contains(&t)
    }

    /// Takes one random step; infeasible steps are left out.
    fn step(&mut self, (thread, what, which, order): (u8, u8, u8, u8)) {
        use EventKind::*;
        if self.threads.is_empty() {
            self.threads.push(Spawned::Running);
        }
        let t = u16::from(thread) % self.threads.len() as u16;
        let i = usize::from(which) % OBJECTS as usize;
        let at = |base: u32| base + i as u32;
        let order = u16::from(order) % 6 + 1;
        if self.threads[usize::from(t)] != Spawned::Running || self.blocked(t) {
            return;
        }
        if self.leaving.contains(&t) {
            self.leaving.retain(|x| *x != t);
            self.newest.retain(|x| *x != t);
            return self.push(t, BarrierLeave, 14, 0, 0);
        }
        if let Some(c) = (0..2).find(|c| self.woken[*c].contains(&t)) {
            self.woken[c].retain(|x| *x != t);
            return self.push(t, Wake, 7 + c as u32, 0, 0);
        }
        match what % 22 {
            0..4 => self.push(t, Read, at(1), 0, 0),
            4..7 => self.push(t, Write, at(1), 0, 0),
            7 => match self.mutex[i] {
                None => {
                    self.mutex[i] = Some(t);
                    self.push(t, Lock, at(3), 0, 0);
                }
                Some(owner) if owner == t => {
                    self.mutex[i] = None;
                    self.push(t, Unlock, at(3), 0, 0);
                }
                _ => {}
            },
            8 => self.exclusive(t, i),
            9 => self.shared(t, i),
            10 => {
                self.waiting[i].push(t);
                self.push(t, Wait, at(7), 0, 0);
            }
            11 => {
                let all: Vec<u16> = if which % 4 < 2 {
                    self.waiting[i].drain(..).collect()
                } else {
                    self.waiting[i].pop().into_iter().collect()
                };
                self.push(
                    t,
                    if which % 4 < 2 { Broadcast } else { Signal },
                    at(7),
                    all.len() as u64,
                    0,
                );
                self.woken[i].extend(all);
            }
            12 => {
                self.units[i] += 1;
                self.push(t, SemPost, at(9), 0, 0);
            }
            13 if self.units[i] > 0 => {
                self.units[i] -= 1;
                self.push(t, SemWait, at(9), 0, 0);
            }
            14 => self.push(t, AtomicRead, at(11), 0, order),
            15 => self.push(t, AtomicWrite, at(11), 0, order),
            16 => self.push(t, Rmw, at(11), 0, order),
            17 => self.push(t, Fence, 0, 0, order),
            18 => {
                let (kind, next) = match self.once {
                    0 => (OnceBegin, 1),
                    1 => (OnceEnd, 2),
                    _ => (OncePass, 2),
                };
                self.once = next;
                self.push(t, kind, 13, 0, 0);
            }
            19 if self.threads.len() < 5 => {
                let child = self.threads.len() as u16;
                self.threads.push(Spawned::Running);
                self.push(t, Fork, 0, u64::from(child), 0);
                self.push(child, Begin, 0, 0, 0);
            }
            20 => {
                if let Some(ended) = self.threads.iter().position(|s| *s == Spawned::Ended) {
                    self.threads[ended] = Spawned::Joined;
                    self.push(t, Join, 0, ended as u64, 0);
                } else if t != 0 && !self.holds(t) {
                    self.threads[usize::from(t)] = Spawned::Ended;
                    self.push(t, End, 0, 0, 0);
                }
            }
            // Rows don't say how many a barrier waits for: a third arrival before the first leaves would
            // read as a barrier of three.
            _ if self.newest.len() == 2 => {}
            _ => {
                self.arrived.push(t);
                self.push(t, BarrierArrive, 14, 0, 0);
                if self.arrived.len() == 2 {
                    let all: Vec<u16> = self.arrived.drain(..).collect();
                    self.leaving.extend(&all);
                    self.newest = all;
                }
            }
        }
    }

    fn holds(&self, t: u16) -> bool {
        self.mutex.contains(&Some(t))
            || self.writer.contains(&Some(t))
            || self.readers.iter().any(|r| r.contains(&t))
    }

    fn exclusive(&mut self, t: u16, i: usize) {
        match self.writer[i] {
            None if self.readers[i].is_empty() => {
                self.writer[i] = Some(t);
                self.push(t, EventKind::Lock, 5 + i as u32, 0, 0);
            }
            Some(owner) if owner == t => {
                self.writer[i] = None;
                self.push(t, EventKind::Unlock, 5 + i as u32, 0, 0);
            }
            _ => {}
        }
    }

    fn shared(&mut self, t: u16, i: usize) {
        if self.readers[i].contains(&t) {
            self.readers[i].retain(|x| *x != t);
            self.push(t, EventKind::SharedUnlock, 5 + i as u32, 0, 0);
        } else if self.writer[i].is_none() {
            self.readers[i].push(t);
            self.push(t, EventKind::SharedLock, 5 + i as u32, 0, 0);
        }
    }
}

/// A run of these rows over anonymous locations, with rows in its tables for all that they name.
pub fn of_rows(rows: &[Event]) -> Run {
    let named = |row: &Event| {
        row.other_thread()
            .map_or(row.thread, |it| it.max(row.thread))
    };
    let threads = rows.iter().map(|row| named(row).index() + 1).max();
    let threads = threads.unwrap_or(0);
    let locations = rows.iter().map(|row| row.location.index()).max();
    let mut run = Run {
        locations: (0..=locations.unwrap_or(0).max(LOCATIONS as usize))
            .map(|i| {
                if i == 0 {
                    String::new()
                } else {
                    format!("v{i}")
                }
            })
            .collect(),
        events: Events::from_rows(rows),
        ..Run::default()
    };
    run.meta.sites = (0..60)
        .map(|line| SiteRow {
            file: "r.c".into(),
            line,
            ..SiteRow::default()
        })
        .collect();
    run.meta.threads = (0..threads)
        .map(|i| ThreadRow {
            name: format!("t{i}"),
            ..ThreadRow::default()
        })
        .collect();
    run.meta.exact = true;
    run
}

/// Random feasible runs.
pub fn feasible(most: usize) -> impl Strategy<Value = Run> {
    let step = (0u8..8, 0u8..22, 0u8..8, 0u8..6);
    proptest::collection::vec(step, 0..most).prop_map(|steps| {
        let mut machine = FixtureMachine::default();
        steps.into_iter().for_each(|step| machine.step(step));
        of_rows(&machine.rows)
    })
}

/// Random events that need not be feasible.
pub fn anything(most: usize) -> impl Strategy<Value = Run> {
    let row = (0u16..6, 0u8..33, 0u32..20, 0u64..8, 0u16..8);
    proptest::collection::vec(row, 0..most).prop_map(|rows| {
        let mut machine = FixtureMachine::default();
        for (thread, kind, location, value, order) in rows {
            machine.push(
                thread,
                EventKind::ALL[usize::from(kind)],
                location,
                value,
                order,
            );
        }
        of_rows(&machine.rows)
    })
}
