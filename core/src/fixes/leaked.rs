//! Locks that a thread never releases: it left the function that acquired one on a way that forgets it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    seen::{At, frames},
    text::{EditRefusal, change::Change, locks::last_name, source::ParsedSource, unlock},
};
use crate::explanation::{Role, SiteMark};
use unsnarl_trace::{EventId, EventKind};

/// Releases the lock that the explanation says is held for ever, on each way out of its block; `None` when the explanation
/// is about several locks, or its holder waits itself.
pub(super) fn release(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let marks = case.explanation.sites.iter();
    let locks = [EventKind::Lock, EventKind::SharedLock].map(EventKind::name);
    let taken =
        marks.filter(|mark| mark.role == Role::Cause && locks.contains(&mark.access.as_str()));
    let taken: Vec<&SiteMark> = taken.collect();
    let [held] = taken.as_slice() else {
        return None;
    };
    let at = held.step?.checked_sub(1)?;
    let row = EventId(case.explanation.steps.get(at as usize)?.event);
    Some(released(case, row))
}

fn released(case: &FixInput<'_>, row: EventId) -> Result<Fix, EditRefusal> {
    let mut refused = None;
    let frames = frames(case.run, row);
    // The lock may be acquired by a function of the program's own, which has to return with it.
    let is_wrapper = |at: &&At| {
        let sources = frames
            .iter()
            .filter_map(|other| case.files.get(&other.file).ok());
        let mut calls = sources.map(ParsedSource::lock_calls);
        calls.any(|calls| calls.is_one(last_name(&at.function)))
    };
    for at in frames.iter().filter(|at| !is_wrapper(at)) {
        let source = case.files.get(&at.file).ok();
        match source.and_then(|source| unlock::on_every_way_out(source, at.line)) {
            Some(Ok(changes)) => return fix(case, at, changes),
            Some(Err(why)) => drop(refused.get_or_insert(why)),
            None => {}
        }
    }
    Err(refused.unwrap_or_else(|| "it is not seen which line takes the lock".to_owned()))
}

fn fix(case: &FixInput<'_>, at: &At, changes: Vec<Change>) -> Result<Fix, EditRefusal> {
    let edits = case
        .files
        .edits(&Changes::from([(at.file.clone(), changes)]))?;
    let title = format!(
        "unlock on every way out of {} after line {}",
        at.function, at.line
    );
    Ok(Fix::edit(FixKind::Unlock, title, edits, "none".to_owned()))
}
