//! Signals that could come before the wait that they ended, which would then last for ever.

use super::{LOST_WAKEUP, line};
use crate::{
    Budget, StopReason,
    predict::{AnomalyCandidate, Class, schedule::Scheduler},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, EventKind, Run};

/// A wait that a signal ended.
struct SignalledWait {
    thread: u16,
    condition: u32,
    wait: u32,
    /// Row from which on the thread held the mutex that it released to wait.
    locked: u32,
}

/// Finds the candidates: one for each pair of source lines of a signal and a wait.
pub(super) fn lost(
    run: &Run,
    scheduler: &Scheduler,
    budget: &Budget,
) -> (Vec<AnomalyCandidate>, StopReason) {
    let signals = last_signals(run);
    let mut lines = FxHashSet::default();
    let mut found = Vec::new();
    for waited in waits(run) {
        if let Some(stop) = budget.stop() {
            return (found, stop);
        }
        let of_others = signals.get(&waited.condition).into_iter().flatten();
        let last = of_others
            .filter(|(by, _)| *by != waited.thread)
            .map(|(_, row)| *row)
            .max();
        let Some(signal) = last.filter(|signal| *signal > waited.wait) else {
            continue;
        };
        let candidate = AnomalyCandidate {
            class: Class::Deadlock,
            pattern: LOST_WAKEUP.to_owned(),
            events: vec![EventId(signal), EventId(waited.wait)],
        };
        let key = (line(run, signal), line(run, waited.wait));
        if lines.contains(&key) {
            continue;
        }
        if let Ok(order) = scheduler.order(&candidate)
            && reads_the_same(run, &order.events, &waited)
        {
            lines.insert(key);
            found.push(candidate);
        }
    }
    (found, StopReason::Complete)
}

/// By condition variable and thread: its last signal or broadcast.
fn last_signals(run: &Run) -> FxHashMap<u32, Vec<(u16, u32)>> {
    let mut last: FxHashMap<u32, Vec<(u16, u32)>> = FxHashMap::default();
    let kinds = run.events.kinds().iter();
    for (row, kind) in (0..).zip(kinds) {
        if *kind == EventKind::Signal as u8 || *kind == EventKind::Broadcast as u8 {
            let of = last.entry(column(run.events.locations(), row)).or_default();
            let thread = column(run.events.threads(), row);
            of.retain(|(by, _)| *by != thread);
            of.push((thread, row));
        }
    }
    last
}

/// The waits that a signal ended.
fn waits(run: &Run) -> Vec<SignalledWait> {
    let mut locked: FxHashMap<(u16, u32), u32> = FxHashMap::default();
    let mut waiting: FxHashMap<u16, (u32, Option<u32>)> = FxHashMap::default();
    let mut found = Vec::new();
    for (row, &kind) in (0..).zip(run.events.kinds()) {
        let (thread, location) = (
            column(run.events.threads(), row),
            column(run.events.locations(), row),
        );
        match EventKind::from_u8(kind) {
            Some(EventKind::Lock) => {
                locked.insert((thread, location), row);
            }
            Some(EventKind::Wait) => {
                waiting.insert(thread, (row, None));
            }
            Some(EventKind::Unlock) => {
                let taken = locked.remove(&(thread, location));
                if let Some((_, mutex @ None)) = waiting.get_mut(&thread) {
                    *mutex = taken;
                }
            }
            Some(EventKind::Wake) if column(run.events.values(), row) == 0 => {
                if let Some((wait, Some(locked))) = waiting.remove(&thread) {
                    found.push(SignalledWait {
                        thread,
                        condition: location,
                        wait,
                        locked,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns whether the waiter's reads under its lock before the wait have the same values in this order as in
/// the run.
fn reads_the_same(run: &Run, order: &[EventId], waited: &SignalledWait) -> bool {
    let recorded = seen(run, 0..waited.wait, waited);
    let now = seen(run, order.iter().map(|event| event.0), waited);
    let written = |row: &u32| run.events.get(EventId(*row)).and_then(|event| event.value);
    recorded.iter().all(|(read, writer)| {
        let other = now.get(read).copied().flatten();
        *writer == other
            || matches!((writer.as_ref().and_then(written), other.as_ref().and_then(written)), (Some(a), Some(b)) if a == b)
    })
}

/// The writes that the waiter's reads under its lock see.
fn seen(
    run: &Run,
    rows: impl Iterator<Item = u32>,
    waited: &SignalledWait,
) -> FxHashMap<u32, Option<u32>> {
    let mut writers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut seen = FxHashMap::default();
    for row in rows {
        let kind = run.events.kinds().get(row as usize);
        let Some(kind) = kind
            .and_then(|kind| EventKind::from_u8(*kind))
            .filter(|kind| kind.is_access())
        else {
            continue;
        };
        let location = column(run.events.locations(), row);
        let is_mine = column(run.events.threads(), row) == waited.thread
            && (waited.locked..waited.wait).contains(&row);
        if is_mine && kind.reads() {
            seen.insert(row, writers.get(&location).copied());
        }
        if kind.writes() {
            writers.insert(location, row);
        }
    }
    seen
}

fn column<T: Copy + Default>(column: &[T], row: u32) -> T {
    column.get(row as usize).copied().unwrap_or_default()
}
