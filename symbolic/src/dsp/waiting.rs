//! Alternate orders of a run in which all threads wait: another thread acquires the first of two locks, or
//! the signal comes after the wait. What follows lies behind the end of the recorded paths, so only an
//! execution decides.

use super::{
    alternates::CandidateOrder,
    simulate::{AttemptEnd, Simulator},
};
use crate::{Action, Bug, CellId, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::{EventKind, LocationId, Run, ThreadId, kinds::EventRole, raw::WaitsFor};

/// Two steps to flip, and the step before which the first one's thread waits for the second.
struct WaitTurn {
    pair: (StepId, StepId),
    hold: StepId,
}

/// Candidates for a run that ended with all threads waiting, lock pairs first. Empty for other failures.
/// Linear in the trace for each thread that waits.
pub fn waiting(trace: &SymbolicTrace, run: &Run, failing: &[StepId]) -> Vec<CandidateOrder> {
    if trace.bug != Bug::Deadlock {
        return Vec::new();
    }
    let ends = Ends::new(trace, run, failing);
    let mut turns = ends.locks();
    turns.extend(ends.signals());
    if turns.is_empty() {
        return Vec::new();
    }
    let mut simulator = Simulator::new(trace, failing, trace.first_values());
    let made = turns.iter().filter_map(|turn| made(&mut simulator, turn));
    made.collect()
}

/// The order up to the second step of the pair, with the first one's thread held back before the point where
/// it waits, or before a lock that it holds there.
fn made(simulator: &mut Simulator, turn: &WaitTurn) -> Option<CandidateOrder> {
    let program = &simulator.program;
    let hold = program.flat(turn.hold);
    let (_, until) = program.unit(program.flat(turn.pair.1));
    let mut holds = program.acquisitions(hold).to_vec();
    holds.insert(0, hold);
    for hold in holds {
        let attempt = simulator.held_back(hold, until, false);
        if !matches!(
            simulator.attempt(&attempt),
            AttemptEnd::Open | AttemptEnd::Passes { .. }
        ) {
            continue;
        }
        let mut order = simulator.steps(&attempt);
        let end = order.iter().position(|&id| id == turn.pair.1)?;
        order.truncate(end + 1);
        return Some(CandidateOrder {
            pair: turn.pair,
            order,
            departs: None,
            waits: true,
        });
    }
    None
}

/// Objects that the threads wait for at the end.
struct Ends<'t> {
    trace: &'t SymbolicTrace,
    /// Positions of steps in the order.
    place: FxHashMap<StepId, usize>,
    order: &'t [StepId],
    waits: Vec<(ThreadId, WaitsFor, LocationId)>,
}

impl<'t> Ends<'t> {
    fn new(trace: &'t SymbolicTrace, run: &Run, order: &'t [StepId]) -> Ends<'t> {
        let rows = run.events.iter().map(|(_, event)| event);
        let blocked = rows.filter(|event| event.kind == EventKind::Blocked);
        let waits = blocked.filter_map(|event| {
            let what = WaitsFor::from_u32(event.size)?;
            Some((event.thread, what, event.location))
        });
        Ends {
            trace,
            place: (0..).zip(order).map(|(at, &id)| (id, at)).collect(),
            order,
            waits: waits.collect(),
        }
    }

    /// Turns of the acquisitions of locks that a thread waits for and whose holder waits itself: for each two
    /// threads that wait for each other, the locks that both hold.
    fn locks(&self) -> Vec<WaitTurn> {
        let wanted = self.waits.iter();
        let wanted: Vec<(ThreadId, LocationId)> = wanted
            .filter(|(_, what, _)| matches!(what, WaitsFor::Lock | WaitsFor::SharedLock))
            .map(|(thread, _, lock)| (*thread, *lock))
            .collect();
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut turns = Vec::new();
        for (thread, lock) in &wanted {
            let theirs = wanted.iter().filter(|(other, _)| other != thread);
            let theirs = theirs.filter_map(|(other, _)| self.taken(*other, *lock));
            let others = wanted.iter().filter(|(other, _)| other != thread);
            let mine = others.filter_map(|(_, lock)| self.taken(*thread, *lock));
            let mine: Vec<usize> = mine.collect();
            for their in theirs {
                pairs.extend(mine.iter().map(|&mine| (mine.min(their), mine.max(their))));
            }
        }
        for (first, second) in pairs {
            if let (Some(&first), Some(&second)) = (self.order.get(first), self.order.get(second)) {
                turns.push(WaitTurn {
                    pair: (first, second),
                    hold: first,
                });
            }
        }
        turns
    }

    /// The position at which a thread acquired a lock that it still holds at the end.
    fn taken(&self, thread: ThreadId, lock: LocationId) -> Option<usize> {
        let mut open: Vec<StepId> = Vec::new();
        for (id, kind) in self.syncs(lock).filter(|(id, _)| id.thread == thread) {
            match kind.role() {
                EventRole::Acquire { .. } => open.push(id),
                EventRole::Release { .. } => drop(open.pop()),
                _ => {}
            }
        }
        self.place.get(open.first()?).copied()
    }

    /// The synchronization steps on an object, in order.
    fn syncs(&self, of: LocationId) -> impl Iterator<Item = (StepId, EventKind)> {
        self.order.iter().filter_map(move |&id| {
            let Action::Sync { kind, object, .. } = self.trace.step(id)?.action else {
                return None;
            };
            (object == of).then_some((id, kind))
        })
    }

    /// Turns for signals that came before the wait of a thread that still waits at the end, the nearest
    /// first.
    fn signals(&self) -> Vec<WaitTurn> {
        let on = |(_, what, _): &&(ThreadId, WaitsFor, LocationId)| *what == WaitsFor::Condition;
        let mut turns = Vec::new();
        for (thread, _, condition) in self.waits.iter().filter(on) {
            let syncs: Vec<(StepId, EventKind)> = self.syncs(*condition).collect();
            let is_mine = |(id, kind): &&(StepId, EventKind)| {
                id.thread == *thread && *kind == EventKind::Wait
            };
            let Some(at) = syncs.iter().rposition(|row| is_mine(&row)) else {
                continue;
            };
            let Some(&(wait, _)) = syncs.get(at) else {
                continue;
            };
            let before = syncs.get(..at).unwrap_or(&[]).iter().rev();
            for (signal, _) in before.filter(|(id, kind)| {
                id.thread != *thread && matches!(kind, EventKind::Signal | EventKind::Broadcast)
            }) {
                turns.push(WaitTurn {
                    pair: (*signal, wait),
                    hold: self.told(*signal, wait).unwrap_or(*signal),
                });
            }
        }
        turns
    }

    /// The write by which the signalling thread changes what the waiter read before its wait, so that both
    /// belong together.
    fn told(&self, signal: StepId, wait: StepId) -> Option<StepId> {
        let end = *self.place.get(&wait)?;
        let before = self.order.get(..end)?;
        let access = |id: &StepId| -> Option<(CellId, bool)> {
            match self.trace.step(*id)?.action {
                Action::Read { cell, .. } => Some((cell, false)),
                Action::Write { cell, .. } => Some((cell, true)),
                _ => None,
            }
        };
        let theirs = |id: &StepId| id.thread == signal.thread && *id <= signal;
        let mut last: FxHashMap<CellId, usize> = FxHashMap::default();
        for (at, id) in before.iter().enumerate().filter(|(_, id)| theirs(id)) {
            if let Some((cell, true)) = access(id) {
                last.insert(cell, at);
            }
        }
        let mine = before.iter().enumerate().rev();
        let mut mine = mine.filter(|(_, id)| id.thread == wait.thread);
        let (read, cell) = mine.find_map(|(at, id)| match access(id)? {
            (cell, false) => (*last.get(&cell)? > at).then_some((at, cell)),
            _ => None,
        })?;
        let mut after = before.get(read..)?.iter().filter(|id| theirs(id));
        after.find(|id| access(id) == Some((cell, true))).copied()
    }
}
