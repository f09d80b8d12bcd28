//! Atomic variables that are loaded, changed and stored: one atomic operation does it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    text::{EditRefusal, one_step},
};
use crate::{
    explanation::{Role, SiteMark},
    facts::{self, family},
};
use unsnarl_trace::{EventKind, Location};

/// Makes one atomic operation of a load and a store of one variable that belong together; `None` when the
/// explanation blames no such two.
pub(super) fn in_one_step(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let marks = case.explanation.sites.iter();
    let causes: Vec<&SiteMark> = marks.filter(|mark| mark.role == Role::Cause).collect();
    let is = |mark: &SiteMark, kind: EventKind| mark.access == kind.name();
    let mut loads = causes.iter().filter(|mark| is(mark, EventKind::AtomicRead));
    let (load, store) = loads.find_map(|load| {
        let store = causes.iter().find(|mark| {
            is(mark, EventKind::AtomicWrite)
                && mark.location == load.location
                && (&mark.place.file, &mark.place.function)
                    == (&load.place.file, &load.place.function)
        })?;
        Some((*load, *store))
    })?;
    Some(edited(case, load, store))
}

fn edited(case: &FixInput<'_>, load: &SiteMark, store: &SiteMark) -> Result<Fix, EditRefusal> {
    let file = &store.place.file;
    let (reads, writes) = (load.place.line, store.place.line);
    let changes = one_step::in_one_step(case.files.get(file)?, reads, writes)?;
    let edits = case
        .files
        .edits(&Changes::from([(file.clone(), changes)]))?;
    let lines = match reads == writes {
        true => format!("on line {writes}"),
        false => format!("instead of lines {reads} and {writes}"),
    };
    let variable = family(&load.location);
    let name = facts::in_block(Location::variable(&variable));
    let title = format!("change `{name}` in one atomic step {lines}");
    Ok(Fix::edit(
        FixKind::AtomicUpdate,
        title,
        edits,
        "none".to_owned(),
    ))
}
