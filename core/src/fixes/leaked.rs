//! Locks and units of semaphores that a thread never gives back: it left the function that acquired one on a way that forgets
//! it.

use super::{
    FixInput,
    atomic::Changes,
    lock_calls::PairedLockCalls,
    model::{Fix, FixKind},
    seen::{At, frames},
    text::{EditRefusal, change::Change, locks::last_name, source::ParsedSource, unlock},
};
use crate::{
    explanation::Role,
    orders::{Locks, UnitStep},
};
use std::collections::BTreeMap;
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// Releases the lock, or the unit of a semaphore, that the explanation says is held for ever, on each way out of its block;
/// `None` when the explanation is about several locks, or its holder waits itself.
pub(super) fn release(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let marks = case.explanation.sites.iter();
    let causes = marks.filter(|mark| mark.role == Role::Cause);
    let steps = causes.filter_map(|mark| case.explanation.step_of(mark));
    let rows = steps.map(|step| EventId(step.event));
    let taken: Vec<(EventId, Held)> = rows
        .filter_map(|row| Some((row, held(case.run, row)?)))
        .collect();
    let [(row, held)] = taken.as_slice() else {
        return None;
    };
    Some(released(case, *row, *held))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Lock,
    Unit,
}

/// The kind of what a row acquires: a lock, one of the program's own as well, or a unit of a semaphore for which a thread
/// waits at the end.
fn held(run: &Run, row: EventId) -> Option<Held> {
    let event = run.events.event(row);
    let waits = |(_, other): (EventId, Event)| {
        other.kind == EventKind::Blocked && other.location == event.location
    };
    match event.kind {
        EventKind::Lock | EventKind::SharedLock => Some(Held::Lock),
        EventKind::Rmw if !event.is_update_in_vain() => {
            let locks = Locks::new(run, &mut Vec::new());
            locks.is_spin_lock(event.location).then_some(Held::Lock)
        }
        _ if UnitStep::of(&event) == Some(UnitStep::Taken) => {
            run.events.iter().any(waits).then_some(Held::Unit)
        }
        _ => None,
    }
}

fn released(case: &FixInput<'_>, row: EventId, held: Held) -> Result<Fix, EditRefusal> {
    let mut refused = None;
    let frames = frames(case.run, row);
    let sources = sources(case, row, held, &frames);
    // The lock may be acquired by a function of the program's own, which has to return with it.
    let is_wrapper = |at: &&At| {
        let mut calls = sources.values().map(ParsedSource::lock_calls);
        calls.any(|calls| calls.is_one(last_name(&at.function)))
    };
    for at in frames.iter().filter(|at| !is_wrapper(at)) {
        let source = sources.get(at.file.as_str());
        match source.and_then(|source| unlock::on_every_way_out(source, at.line)) {
            Some(Ok(changes)) => return fix(case, at, (changes, held)),
            Some(Err(why)) => drop(refused.get_or_insert(why)),
            None => {}
        }
    }
    Err(refused.unwrap_or_else(|| match held {
        Held::Lock => "it is not seen which line takes the lock".to_owned(),
        Held::Unit => "it is not seen which line takes the unit".to_owned(),
    }))
}

/// The texts of the files of these calls, in which functions that take and give units of the semaphore lock and unlock.
fn sources<'f>(
    case: &FixInput<'_>,
    row: EventId,
    held: Held,
    frames: &'f [At],
) -> BTreeMap<&'f str, ParsedSource> {
    let place = case.run.meta.site(case.run.events.site(row));
    let pairs = (held == Held::Unit).then(|| PairedLockCalls::with_units(case.runs, place));
    let read = |at: &'f At| {
        let source = case.files.get(&at.file).ok()?.clone();
        let calls = pairs.as_ref().map_or_else(
            || source.lock_calls().clone(),
            |pairs| pairs.in_file(&at.file, &source),
        );
        Some((at.file.as_str(), source.with_lock_calls(calls)))
    };
    frames.iter().filter_map(read).collect()
}

fn fix(
    case: &FixInput<'_>,
    at: &At,
    (changes, held): (Vec<Change>, Held),
) -> Result<Fix, EditRefusal> {
    let edits = case
        .files
        .edits(&Changes::from([(at.file.clone(), changes)]))?;
    let what = match held {
        Held::Lock => "unlock",
        Held::Unit => "give the unit back",
    };
    let title = format!(
        "{what} on every way out of {} after line {}",
        at.function, at.line
    );
    Ok(Fix::edit(FixKind::Unlock, title, edits, "none".to_owned()))
}
