//! Fixes for weak pointers that are asked before they are locked.

use super::{
    FixInput,
    atomic::Changes,
    in_file,
    model::{Fix, FixKind},
    text::{
        EditRefusal,
        weak::{asks_whether_expired, locked_once},
    },
};
use crate::{
    explanation::{BugKind, Role},
    facts::is_use_count,
};

/// Locks a weak pointer once, before it is asked for; `None` where the explanation is not of two looks at a use count.
pub(super) fn lock_once(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    if case.explanation.kind != BugKind::AtomicityViolation {
        return None;
    }
    let marks = case.explanation.sites.iter();
    let mut causes = marks.filter(|mark| mark.role == Role::Cause);
    let (asks, locks) = (causes.next()?, causes.next()?);
    let is_count = is_use_count(&asks.location) && is_use_count(&locks.location);
    let is_here = asks.place.file == locks.place.file;
    (is_count && is_here && asks_whether_expired(&asks.place.text)).then(|| {
        let file = &asks.place.file;
        let source = case.files.get(file)?;
        let changes = locked_once(source, asks.place.line, locks.place.line)
            .map_err(|why| in_file(case.explanation, file, &why))?;
        let edits = case.files.edits(&Changes::from([(file.clone(), changes)]))?;
        let title = format!(
            "lock the weak pointer before line {} instead of on line {}, and look at what that gives",
            asks.place.line, locks.place.line
        );
        Ok(Fix::edit(FixKind::AtomicUpdate, title, edits, "none".to_owned()))
    })
}
