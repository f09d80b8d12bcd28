//! Pairs of accesses to flip, nearest first ([symbiosis], section 3.4).

use super::{
    program::{NONE, PreparedTrace, StepOp},
    slice::{Matters, Slice},
};
use std::{cmp::Reverse, collections::BinaryHeap};
use unsnarl_order::VectorClock;

/// Two steps of different threads; the first comes first in the base order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct StepPair {
    pub first: u32,
    pub second: u32,
}

/// Conflicting pairs by distance: those with the fewest events between first, among these the later ones
/// first. Pairs whose order is forced are left out. Each next pair costs the logarithm of the number of
/// accesses.
#[derive(Debug)]
pub(super) struct ConflictPairs {
    forced: Forced,
    level: Matters,
    /// Accesses by cell, each in the base order.
    accesses: Vec<PairedAccess>,
    nearest: BinaryHeap<Reverse<Near>>,
}

/// Distance in events, position of the second, and both as indices into [`Pairs::accesses`].
type Near = (u32, Reverse<u32>, u32, u32);

#[derive(Clone, Copy, Debug)]
struct PairedAccess {
    cell: u32,
    place: u32,
    /// Number of events before the access.
    events: u32,
    flat: u32,
    thread: u16,
    index: u32,
    writes: bool,
    matters: Matters,
}

impl ConflictPairs {
    /// The pairs whose more relevant access has this level.
    pub fn new(
        program: &PreparedTrace,
        base: &[u32],
        slice: &Slice,
        level: Matters,
    ) -> ConflictPairs {
        let mut accesses = accesses(program, base, slice);
        accesses.sort_by_key(|access| (access.cell, access.place));
        let mut pairs = ConflictPairs {
            forced: Forced::new(program, base),
            level,
            accesses,
            nearest: BinaryHeap::new(),
        };
        let mut first = 0;
        while let Some(cell) = pairs.cell_from(first) {
            let end = first + cell.len() as u32;
            let thread = cell.first().map(|access| access.thread);
            let is_shared = cell.iter().any(|access| Some(access.thread) != thread);
            if is_shared && cell.iter().any(|access| access.matters == level) {
                (first..end).for_each(|first| pairs.push(first, first + 1));
            }
            first = end;
        }
        pairs
    }

    /// The accesses of the cell that begins here.
    fn cell_from(&self, first: u32) -> Option<&[PairedAccess]> {
        let rest = self.accesses.get(first as usize..)?;
        rest.chunk_by(|a, b| a.cell == b.cell).next()
    }

    /// Pushes the next pair of this first access, with its second from there on.
    fn push(&mut self, first: u32, from: u32) {
        let Some(&a) = self.accesses.get(first as usize) else {
            return;
        };
        let later = self.accesses.get(from as usize..).unwrap_or(&[]);
        let same_cell = later.iter().take_while(|b| b.cell == a.cell);
        let mut fitting = (from..).zip(same_cell).filter(|(_, b)| {
            a.thread != b.thread
                && (a.writes || b.writes)
                && a.matters.min(b.matters) == self.level
                && !self
                    .forced
                    .ordered((a.thread, a.index), (b.thread, b.index))
        });
        if let Some((second, b)) = fitting.next() {
            let key = (b.events - a.events, Reverse(b.place), first, second);
            self.nearest.push(Reverse(key));
        }
    }
}

impl Iterator for ConflictPairs {
    type Item = StepPair;

    fn next(&mut self) -> Option<StepPair> {
        let Reverse((_, _, first, second)) = self.nearest.pop()?;
        self.push(first, second + 1);
        let flat = |at: u32| self.accesses.get(at as usize).map(|access| access.flat);
        Some(StepPair {
            first: flat(first)?,
            second: flat(second)?,
        })
    }
}

fn accesses(program: &PreparedTrace, base: &[u32], slice: &Slice) -> Vec<PairedAccess> {
    let (mut accesses, mut events, mut last) = (Vec::new(), 0, None);
    for (place, &flat) in (0..).zip(base) {
        let id = program.id(flat);
        let event = program.trace.step(id).and_then(|step| step.event);
        events += u32::from(event.is_some() && event != last);
        last = event;
        let (cell, writes) = match program.op(flat) {
            StepOp::Read { cell, .. } => (cell, false),
            StepOp::Write { cell, .. } => (cell, true),
            _ => continue,
        };
        accesses.push(PairedAccess {
            cell,
            place,
            events,
            flat,
            thread: id.thread.0,
            index: id.index,
            writes,
            matters: slice.of(id),
        });
    }
    accesses
}

/// Order forced by thread creation and joining: vector clocks that change only there.
#[derive(Debug, Default)]
pub(super) struct Forced {
    /// Per thread: the index from which on it comes after a number of steps of the others.
    clocks: Vec<Vec<(u32, VectorClock)>>,
}

impl Forced {
    /// Linear in the steps, and in threads for each creation and join.
    pub fn new(program: &PreparedTrace, base: &[u32]) -> Forced {
        let none = || VectorClock::of_width(program.threads());
        let mut forced = Forced {
            clocks: (0..program.threads()).map(|_| vec![(0, none())]).collect(),
        };
        for &flat in base {
            let id = program.id(flat);
            match program.op(flat) {
                StepOp::Fork => {
                    let children = (0..).zip(&program.fork);
                    for (child, _) in children.filter(|(_, fork)| **fork == flat) {
                        forced.learn(child, 0, id.thread.0, id.index + 1);
                    }
                }
                StepOp::Join(joined) => {
                    let own = program
                        .own
                        .get(usize::from(joined))
                        .copied()
                        .unwrap_or(NONE);
                    forced.learn(id.thread.0, id.index, joined, own);
                }
                _ => {}
            }
        }
        forced
    }

    /// Orders a thread, from this index on, after these steps of another and their predecessors.
    fn learn(&mut self, thread: u16, index: u32, other: u16, steps: u32) {
        let mut clock = self.clock(thread, index).cloned().unwrap_or_default();
        if let Some(theirs) = self.clock(other, steps.saturating_sub(1)) {
            clock.join(theirs.entries());
        }
        clock.raise(other, steps);
        if let Some(clocks) = self.clocks.get_mut(usize::from(thread)) {
            clocks.push((index, clock));
        }
    }

    fn clock(&self, thread: u16, index: u32) -> Option<&VectorClock> {
        let clocks = self.clocks.get(usize::from(thread))?;
        let behind = clocks.partition_point(|(from, _)| *from <= index);
        let (_, clock) = clocks.get(behind.checked_sub(1)?)?;
        Some(clock)
    }

    /// Returns whether the first always comes before the second, each given by thread and index.
    pub fn ordered(&self, first: (u16, u32), second: (u16, u32)) -> bool {
        let clock = self.clock(second.0, second.1);
        clock.is_some_and(|clock| clock.get(first.0) > first.1)
    }
}
