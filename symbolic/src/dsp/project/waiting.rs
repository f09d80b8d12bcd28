//! The projection of a run in which all threads wait, and one in which they do not: for locks that two
//! threads acquire in different orders, or a signal that came before the wait.

use super::{
    OperationNumber, OrderSide, Projection, advice::OrderAdvice, finish_with, runs::keyed,
};
use crate::dsp::model::Dsp;
use unsnarl_trace::{Event, EventId, EventKind, Run, raw::WaitsFor};

/// Projects a run in which all threads wait, and one that flipped the pair (of the first run's events) and
/// passed. Linear in the runs.
pub fn project_waiting(failing: &Run, alternate: &Run, pair: (EventId, EventId)) -> Option<Dsp> {
    let (mut source, [first, second], keys) = keyed(failing, alternate);
    let key = |event: EventId| keys.get(&event).copied();
    let pair = (key(pair.0)?, key(pair.1)?);
    let stuck = stuck(failing, pair, &first, &key);
    source.stuck.extend(stuck.iter().copied());
    let projection = Projection {
        source: &source,
        failing: &first,
        alternate: &second,
    };
    let hint = match section(&first, pair, &stuck) {
        Some(hint) => hint,
        None => projection.hint(pair),
    };
    let mut dsp = finish_with(&projection, (pair, hint), &stuck);
    dsp.explains = true;
    Some(dsp)
}

/// Operations at which the threads of the pair block at the end on each other's locks; for a condition, the
/// wait itself.
fn stuck(
    run: &Run,
    pair: (OperationNumber, OperationNumber),
    side: &OrderSide,
    key: &dyn Fn(EventId) -> Option<OperationNumber>,
) -> Vec<OperationNumber> {
    let thread = |key: OperationNumber| side.op(key).map(|op| op.thread);
    let threads = [thread(pair.0), thread(pair.1)];
    let rows = run.events.iter();
    let blocked = rows.filter(|(_, event)| event.kind == EventKind::Blocked);
    let mut stuck = Vec::new();
    for (id, event) in blocked.filter(|(_, event)| threads.contains(&Some(event.thread.0))) {
        match WaitsFor::from_u32(event.size) {
            Some(WaitsFor::Lock | WaitsFor::SharedLock) => stuck.extend(key(id)),
            Some(WaitsFor::Condition) if Some(event.thread.0) == threads[1] => stuck.push(pair.1),
            _ => {}
        }
    }
    stuck
}

/// The region from the first lock to the one that the thread waits for, uninterrupted in the alternate.
fn section(
    side: &OrderSide,
    (first, second): (OperationNumber, OperationNumber),
    stuck: &[OperationNumber],
) -> Option<OrderAdvice> {
    let thread = |key: OperationNumber| side.op(key).map(|op| op.thread);
    let last = stuck
        .iter()
        .copied()
        .find(|key| *key != second && thread(*key) == thread(first))?;
    Some(OrderAdvice::Region {
        first,
        last,
        from: first,
        to: last,
        between: vec![second],
        lock: None,
    })
}

/// The operation that a thread blocked in for ever on a lock.
pub(super) fn wanted(event: &Event) -> Option<EventKind> {
    match (event.kind, WaitsFor::from_u32(event.size)?) {
        (EventKind::Blocked, WaitsFor::Lock) => Some(EventKind::Lock),
        (EventKind::Blocked, WaitsFor::SharedLock) => Some(EventKind::SharedLock),
        _ => None,
    }
}
