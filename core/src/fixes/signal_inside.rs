//! Signals given with the lock still held: whoever they wake cannot free what is signalled before the lock is free.

use super::{
    FixInput, atomic,
    model::Fix,
    mutexes,
    places::{FunctionLines, WantedLines},
    seen::RunEvidence,
    text::EditRefusal,
};
use crate::{callers::common_sites, explanation::BugKind, facts::family};
use unsnarl_trace::{EventId, EventKind, Run};

/// Gives the lock back behind the signal whose condition variable was freed; `None` unless the signalling function gave a
/// lock back just before.
pub(super) fn signal_inside(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let explanation = case.explanation;
    if explanation.kind != BugKind::UseAfterFree {
        return None;
    }
    let rows = explanation.steps.iter().map(|step| EventId(step.event));
    let signal = rows.rev().find(|row| is_signal(case.run, *row))?;
    let unlock = given_back_before(case.run, signal)?;
    let (first, last) = common_sites(case.run, unlock, signal)?;
    let (first, last) = (case.run.meta.site(first), case.run.meta.site(last));
    let lock = family(&mutexes::lock_name(case.run, unlock));
    let place = FunctionLines {
        file: last.file.clone(),
        function: last.function.clone(),
        first: first.line.min(last.line),
        last: last.line,
    };
    let wanted = WantedLines {
        places: vec![place],
        lock: Some(lock.clone()),
        data: String::new(),
    };
    let seen = RunEvidence::of_locks(case.runs);
    let fix = atomic::with_lock(&wanted, &seen, case.files, &lock);
    // It matters for the signal only.
    Some(fix.map(|fix| Fix {
        assumes: Vec::new(),
        ..fix
    }))
}

fn is_signal(run: &Run, row: EventId) -> bool {
    let event = run.events.get(row);
    event.is_some_and(|event| matches!(event.kind, EventKind::Signal | EventKind::Broadcast))
}

/// Returns whether an event takes a lock or gives it back.
pub(super) fn is_of_lock(kind: EventKind) -> bool {
    kind.role().acquires_lock() || kind == EventKind::Unlock
}

/// The last operation on a lock that the signalling thread made before the signal, if it gave one back.
fn given_back_before(run: &Run, signal: EventId) -> Option<EventId> {
    let thread = run.events.get(signal)?.thread;
    let own = (0..signal.0).rev().map(EventId);
    let mut locking = own
        .filter_map(|row| Some((row, run.events.get(row)?)))
        .filter(|(_, event)| event.thread == thread && is_of_lock(event.kind));
    let (row, event) = locking.next()?;
    (event.kind == EventKind::Unlock).then_some(row)
}
