//! Locks that a thread never releases: it left the function that acquired one on a way that forgets it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    seen::frames,
    text::{EditRefusal, unlock},
};
use crate::explanation::{Role, SiteMark};
use unsnarl_trace::{EventId, EventKind};

/// Releases the lock that the explanation says is held for ever, on each way out of its block; `None` when the explanation
/// is about several locks, or its holder waits itself.
pub(super) fn release(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let marks = case.explanation.sites.iter();
    let taken =
        marks.filter(|mark| mark.role == Role::Cause && mark.access == EventKind::Lock.name());
    let taken: Vec<&SiteMark> = taken.collect();
    let [held] = taken.as_slice() else {
        return None;
    };
    let at = held.step?.checked_sub(1)?;
    let row = EventId(case.explanation.steps.get(at as usize)?.event);
    Some(released(case, row))
}

fn released(case: &FixInput<'_>, row: EventId) -> Result<Fix, EditRefusal> {
    let mut refused = "the text of the function that takes the lock is not at hand".to_owned();
    // The lock may be acquired by a function of the program's own.
    for at in frames(case.run, row) {
        let Ok(source) = case.files.get(&at.file) else {
            continue;
        };
        let changes = match unlock::on_every_way_out(source, at.line) {
            Ok(changes) => changes,
            Err(why) => {
                refused = why;
                continue;
            }
        };
        let edits = case
            .files
            .edits(&Changes::from([(at.file.clone(), changes)]))?;
        let title = format!(
            "unlock on every way out of {} after line {}",
            at.function, at.line
        );
        return Ok(Fix::edit(FixKind::Unlock, title, edits, "none".to_owned()));
    }
    Err(refused)
}
