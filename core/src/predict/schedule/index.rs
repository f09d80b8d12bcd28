//! Index of the effects of a run's rows on other threads, made once for a run.

use unsnarl_order::{
    HeldLocks,
    builder::BaseOrder,
    kernel::{SyncEffect, Transition, Transitions},
};
use unsnarl_trace::{EventId, EventKind, Run};

pub(super) use unsnarl_order::NONE;

/// Index of a run for the makers of orders.
#[derive(Debug)]
pub(super) struct RunIndex<'r> {
    pub run: &'r Run,
    /// The thread's next row, by row.
    next: Vec<u32>,
    /// By row: whether it follows the thread's preceding row without a scheduling decision in between.
    glued: Vec<bool>,
    /// First row of each thread.
    first: Vec<u32>,
    /// Effects of rows on objects.
    transitions: Transitions,
    /// Synchronization rows by thread.
    pub steps: Vec<Vec<u32>>,
    /// `true` if a thread releases locks in an order other than the reverse.
    pub not_nested: bool,
}

impl BaseOrder for RunIndex<'_> {
    fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    fn first(&self) -> Vec<u32> {
        self.first.clone()
    }

    fn thread(&self, row: u32) -> u16 {
        self.run.events.thread(EventId(row)).0
    }

    fn next(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }

    fn at(&self, place: u32) -> Option<u32> {
        (place < self.next.len() as u32).then_some(place)
    }

    fn place(&self, row: u32) -> u32 {
        row
    }

    fn is_glued(&self, row: u32) -> bool {
        self.glued.get(row as usize) == Some(&true)
    }
}

impl<'r> RunIndex<'r> {
    /// Indexes the run: linear in its events.
    pub fn new(run: &'r Run) -> RunIndex<'r> {
        let mut index = RunIndex {
            run,
            next: Vec::new(),
            glued: Vec::new(),
            first: Vec::new(),
            transitions: Transitions::new(run),
            steps: Vec::new(),
            not_nested: false,
        };
        index.follow_threads(run);
        index.note_nesting();
        index
    }

    /// The effect of a row on objects; none for rows that other threads do not affect.
    pub fn op(&self, row: u32) -> Option<&Transition> {
        self.transitions.get(row)
    }

    /// The row at which the stretch begins in which the thread holds a lock just before `row`: that of the
    /// outermost lock, where locks are nested.
    pub fn outermost(&self, thread: u16, row: u32) -> Option<u32> {
        let mut held = HeldLocks::default();
        let mut begins = None;
        for &step in self.steps_of(thread).iter().take_while(|step| **step < row) {
            let Some(op) = self.op(step) else { continue };
            match op.effect {
                SyncEffect::Take { .. } | SyncEffect::TakeUnit { back: true } => {
                    if held.is_empty() {
                        begins = Some(step);
                    }
                    held.take(op.object, ());
                }
                SyncEffect::Give | SyncEffect::Post => {
                    held.give(op.object);
                }
                _ => {}
            }
        }
        begins.filter(|_| !held.is_empty())
    }

    /// The thread's rows before this one, backwards.
    pub fn rows_before(&self, thread: u16, row: u32) -> impl Iterator<Item = u32> {
        let rows = (0..row).rev();
        rows.filter(move |row| self.thread(*row) == thread)
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
        let kinds = run.events.kinds();
        for (row, (&thread, &kind)) in (0..).zip(threads.iter().zip(kinds)) {
            if kind > EventKind::Fence as u8
                && EventKind::from_u8(kind).is_some()
                && let Some(steps) = self.steps.get_mut(usize::from(thread))
            {
                steps.push(row);
            }
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

    fn note_nesting(&mut self) {
        let mut not_nested = false;
        for steps in &self.steps {
            let mut held = HeldLocks::default();
            for op in steps.iter().filter_map(|row| self.op(*row)) {
                match op.effect {
                    SyncEffect::Take { .. } => held.take(op.object, ()),
                    SyncEffect::Give => not_nested |= !held.give(op.object),
                    _ => {}
                }
            }
        }
        self.not_nested = not_nested;
    }
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
