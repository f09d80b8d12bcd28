//! Continuation of a run that executed the order of a trace.

use super::side::{LockEffect, OperationNumber, SideOperation, lock_of};
use crate::{StepId, SymbolicTrace};
use rustc_hash::FxHashMap;
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// The first key of operations that are no steps of the trace.
const FIRST: OperationNumber = 1 << 31;

/// The events of a run after those of an order, thread by thread.
pub(super) struct ContinuedRun<'r> {
    pub run: &'r Run,
    pub ops: Vec<SideOperation>,
    /// Events by key, from [`FIRST`] on.
    events: Vec<EventId>,
}

impl<'r> ContinuedRun<'r> {
    /// Matches `failing`, the run of the trace, with `passing`, one that executed the order. Linear in both.
    pub fn new(
        trace: &SymbolicTrace,
        failing: &Run,
        order: &[StepId],
        passing: &'r Run,
    ) -> ContinuedRun<'r> {
        let mut continued = ContinuedRun {
            run: passing,
            ops: Vec::new(),
            events: Vec::new(),
        };
        let mut had = had(trace, failing, order);
        let cells: FxHashMap<&str, u32> = (0..)
            .zip(&trace.cells)
            .map(|(number, cell)| (failing.location(cell.location), number))
            .collect();
        for (id, event) in passing.events.iter().filter(|(_, event)| is_op(event.kind)) {
            let name = passing.meta.thread(event.thread).name.as_str();
            let Some((thread, left)) = had.get_mut(name) else {
                continue;
            };
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => {
                    let cell = cells.get(passing.location(event.location)).copied();
                    continued.push(id, &event, *thread, cell);
                }
            }
        }
        continued
    }

    fn push(&mut self, id: EventId, event: &Event, thread: u16, cell: Option<u32>) {
        let cells = |wanted: bool| cell.filter(|_| wanted).into_iter().collect();
        self.ops.push(SideOperation {
            key: FIRST + self.events.len() as OperationNumber,
            thread,
            reads: cells(event.kind.reads()),
            writes: cells(event.kind.writes()),
            // Locks have other numbers in another run; only whether the thread waits matters here.
            lock: match lock_of(event.kind, 0) {
                LockEffect::Waits => LockEffect::Waits,
                _ => LockEffect::None,
            },
        });
        self.events.push(id);
    }

    /// The event of the key.
    pub fn id(&self, key: OperationNumber) -> Option<EventId> {
        self.events.get(key.checked_sub(FIRST)? as usize).copied()
    }

    /// The event of the key with its run.
    pub fn event(&self, key: OperationNumber) -> Option<(&Run, Event)> {
        Some((self.run, self.run.events.get(self.id(key)?)?))
    }
}

/// Numbers of the threads by name, with the count of their operations in the order.
fn had<'r>(
    trace: &SymbolicTrace,
    failing: &'r Run,
    order: &[StepId],
) -> FxHashMap<&'r str, (u16, usize)> {
    let mut last: FxHashMap<u16, EventId> = FxHashMap::default();
    for id in order {
        if let Some(event) = trace.step(*id).and_then(|step| step.event) {
            let latest = last.entry(id.thread.0).or_insert(event);
            *latest = event.max(*latest);
        }
    }
    let mut had: FxHashMap<&str, (u16, usize)> = FxHashMap::default();
    for (id, event) in failing.events.iter().filter(|(_, event)| is_op(event.kind)) {
        let thread = event.thread.0;
        if last.get(&thread).is_some_and(|last| id <= *last) {
            let name = failing.meta.thread(event.thread).name.as_str();
            had.entry(name).or_insert((thread, 0)).1 += 1;
        }
    }
    had
}

/// `true` for accesses, and for synchronization that a thread does in every run, independent of whether it
/// has to wait.
fn is_op(kind: EventKind) -> bool {
    kind.role().is_order_relevant() && kind != EventKind::Fence
}
