//! Index of the effects of a run's rows on other threads, made once for a run.

use super::{machine::Machine, reader::Reader};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, Run};

/// Marks the absence of a row.
pub(super) const NONE: u32 = u32::MAX;

/// Effect of a synchronization step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    /// Acquires a lock.
    Take {
        shared: bool,
    },
    /// Releases a lock.
    Give,
    /// Fails to acquire a lock that another thread holds.
    Attempt {
        for_writing: bool,
    },
    /// Posts a unit.
    Post,
    /// Takes a unit. `back`: the thread posts it back itself, as with a lock.
    TakeUnit {
        back: bool,
    },
    /// Begins to wait; not noted where the wait ends spuriously or by timeout.
    Wait {
        signalled: bool,
    },
    Signal,
    Broadcast,
    /// Arrives at a barrier: the generation.
    Arrive(u32),
    /// Leaves a barrier: the generation.
    Leave(u32),
    /// No effect of its own.
    Nothing,
}

/// A row that other threads affect.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub does: Does,
    /// Number of the object.
    pub object: u32,
    /// Rows that must come before.
    pub needs: Vec<u32>,
    /// The condition variable of a signalled wait that ends here.
    pub ends: Option<u32>,
}

/// One generation of a barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    pub arrivals: Vec<u32>,
    /// The preceding generation.
    pub earlier: Option<u32>,
}

/// Index of a run for the makers of orders.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The thread's next row, by row.
    pub next: Vec<u32>,
    /// By row: whether it follows the thread's preceding row without a scheduling decision in between.
    pub glued: Vec<bool>,
    /// First row of each thread.
    pub first: Vec<u32>,
    /// Index into `ops` plus one, by row; 0 for rows that other threads do not affect.
    op_of: Vec<u32>,
    ops: Vec<Op>,
    /// Synchronization rows by thread.
    pub steps: Vec<Vec<u32>>,
    pub generations: Vec<Generation>,
    /// Number of objects.
    pub objects: usize,
    /// Initial units, by object.
    pub units: Vec<i64>,
    /// `true` if a thread releases locks in an order other than the reverse.
    pub not_nested: bool,
}

impl Index {
    /// Indexes the run: linear in its events.
    pub fn new(run: &Run) -> Index {
        let mut index = Index::default();
        index.follow_threads(run);
        let mut reader = Reader::new(run, &mut index);
        let rows = (0..).zip(run.events.threads()).zip(run.events.kinds());
        for ((row, &thread), &kind) in rows {
            reader.row(row, thread, kind);
        }
        reader.finish();
        index.find_oddities(run);
        index.note_nesting();
        index
    }

    /// The synchronization step of a row.
    pub fn op(&self, row: u32) -> Option<&Op> {
        let at = self.op_of.get(row as usize)?.checked_sub(1)?;
        self.ops.get(at as usize)
    }

    /// The row at which the stretch begins in which the thread holds a lock just before `row`: that of the
    /// outermost lock, where locks are nested.
    pub fn outermost(&self, thread: u16, row: u32) -> Option<u32> {
        let mut held: Vec<(u32, u32)> = Vec::new();
        let mut begins = None;
        for &step in self.steps_of(thread).iter().take_while(|step| **step < row) {
            let Some(op) = self.op(step) else { continue };
            match op.does {
                Does::Take { .. } | Does::TakeUnit { back: true } => {
                    if held.is_empty() {
                        begins = Some(step);
                    }
                    hold(&mut held, op.object);
                }
                Does::Give | Does::Post => {
                    give(&mut held, op.object);
                }
                _ => {}
            }
        }
        begins.filter(|_| !held.is_empty())
    }

    /// The thread's rows before this one, backwards.
    pub fn rows_before<'a>(
        &self,
        run: &'a Run,
        thread: u16,
        row: u32,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let threads = run.events.threads();
        (0..row)
            .rev()
            .filter(move |row| threads.get(*row as usize) == Some(&thread))
    }

    /// Synchronization rows of a thread.
    pub fn steps_of(&self, thread: u16) -> &[u32] {
        self.steps
            .get(usize::from(thread))
            .map_or(&[], Vec::as_slice)
    }

    fn follow_threads(&mut self, run: &Run) {
        let threads = run.events.threads();
        let most = threads
            .iter()
            .max()
            .map_or(0, |most| usize::from(*most) + 1);
        let mut last = vec![NONE; most];
        self.first = vec![NONE; most];
        self.steps = vec![Vec::new(); most];
        self.next = vec![NONE; threads.len()];
        self.glued = vec![false; threads.len()];
        self.op_of = vec![0; threads.len()];
        for (row, &thread) in (0..).zip(threads) {
            let Some(last) = last.get_mut(usize::from(thread)) else {
                continue;
            };
            let before = std::mem::replace(last, row);
            match self.next.get_mut(before as usize) {
                Some(next) => *next = row,
                None => {
                    if let Some(first) = self.first.get_mut(usize::from(thread)) {
                        *first = row;
                    }
                }
            }
            if let Some(glued) = self.glued.get_mut(row as usize) {
                *glued = before != NONE && is_glued(run, before, row);
            }
        }
    }

    /// Notes the effect of a row.
    pub fn add(&mut self, row: u32, op: Op) {
        self.ops.push(op);
        if let Some(at) = self.op_of.get_mut(row as usize) {
            *at = self.ops.len() as u32;
        }
    }

    /// Mutable access to the effect of a row.
    pub fn op_mut(&mut self, row: u32) -> Option<&mut Op> {
        let at = self.op_of.get(row as usize)?.checked_sub(1)?;
        self.ops.get_mut(at as usize)
    }

    /// Keeps the rows of objects that the run uses against the rules in recorded order.
    fn find_oddities(&mut self, run: &Run) {
        let mut odd = FxHashSet::default();
        let mut attempts = FxHashMap::default();
        let mut machine = Machine::new(self);
        for (row, &thread) in (0..).zip(run.events.threads()) {
            if let Some(op) = self.op(row) {
                match op.does {
                    Does::Attempt { .. } => {
                        attempts.insert(row, machine.other_holder(op.object, thread));
                    }
                    Does::Give if !machine.holds(op.object, thread) => {
                        odd.insert(op.object);
                    }
                    _ if machine.blocked(self, run, row).is_some() => {
                        odd.insert(op.ends.unwrap_or(op.object));
                    }
                    _ => {}
                }
            }
            machine.step(self, thread, row);
        }
        for (row, holder) in attempts {
            if let Some(op) = self.op_mut(row) {
                op.does = holder.map_or(Does::Nothing, |(_, shared)| Does::Attempt {
                    for_writing: !shared,
                });
            }
        }
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for row in 0..run.events.len() as u32 {
            let Some(op) = self.op_mut(row) else { continue };
            op.ends = op.ends.filter(|condition| !odd.contains(condition));
            if odd.contains(&op.object) {
                op.does = Does::Nothing;
                op.needs.extend(last.insert(op.object, row));
            }
        }
    }

    fn note_nesting(&mut self) {
        let mut not_nested = false;
        for steps in &self.steps {
            let mut held: Vec<(u32, u32)> = Vec::new();
            for op in steps.iter().filter_map(|row| self.op(*row)) {
                match op.does {
                    Does::Take { .. } => hold(&mut held, op.object),
                    Does::Give => not_nested |= !give(&mut held, op.object),
                    _ => {}
                }
            }
        }
        self.not_nested = not_nested;
    }
}

fn hold(held: &mut Vec<(u32, u32)>, object: u32) {
    match held.iter_mut().find(|(lock, _)| *lock == object) {
        Some((_, depth)) => *depth += 1,
        None => held.push((object, 1)),
    }
}

/// Releases a lock; `false` when a lock acquired later is still held.
fn give(held: &mut Vec<(u32, u32)>, object: u32) -> bool {
    let Some(at) = held.iter().position(|(lock, _)| *lock == object) else {
        return true;
    };
    if let Some((_, depth)) = held.get_mut(at) {
        *depth -= 1;
        if *depth == 0 {
            held.remove(at);
            return at == held.len();
        }
    }
    true
}

/// Returns whether the recorder makes no decision between these two rows of a thread.
fn is_glued(run: &Run, before: u32, row: u32) -> bool {
    let kind = |row: u32| {
        let kind = run.events.kinds().get(row as usize);
        kind.and_then(|kind| EventKind::from_u8(*kind))
    };
    let sequence = |row: u32| run.events.sequence().get(row as usize);
    match (kind(before), kind(row)) {
        (_, Some(EventKind::End | EventKind::Alloc)) => true,
        (Some(EventKind::Wait), Some(EventKind::Unlock)) => true,
        (Some(EventKind::Lock), Some(EventKind::Wake)) => true,
        _ => sequence(before) == sequence(row),
    }
}

/// Converts rows to events.
pub(super) fn events(rows: &[u32]) -> Vec<EventId> {
    rows.iter().copied().map(EventId).collect()
}
