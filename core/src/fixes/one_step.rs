//! Atomic variables that are loaded, changed and stored: one atomic operation does it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    text::{EditRefusal, change::Change, left_value, one_step},
};
use crate::{
    explanation::{Role, SiteMark},
    facts::{self, family},
};
use unsnarl_trace::{EventKind, Location};

/// Makes one atomic operation of a load and a store of one variable that belong together, or of an update and a look at what it
/// left; `None` when the explanation blames no such two.
pub(super) fn in_one_step(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let marks = case.explanation.sites.iter();
    let causes: Vec<&SiteMark> = marks.filter(|mark| mark.role == Role::Cause).collect();
    let two = |first: EventKind, second: EventKind| {
        let is = |mark: &SiteMark, kind: EventKind| mark.access == kind.name();
        let mut firsts = causes.iter().filter(|mark| is(mark, first));
        firsts.find_map(|one| {
            let other = causes.iter().find(|other| {
                is(other, second) && other.location == one.location && is_beside(other, one)
            })?;
            Some((*one, *other))
        })
    };
    match two(EventKind::AtomicRead, EventKind::AtomicWrite) {
        Some((load, store)) => Some(changed(case, load, store)),
        None => {
            let (update, load) = two(EventKind::Rmw, EventKind::AtomicRead)?;
            let is_behind = update.place.line < load.place.line;
            is_behind.then(|| looked_at(case, update, load))
        }
    }
}

fn is_beside(one: &SiteMark, other: &SiteMark) -> bool {
    (&one.place.file, &one.place.function) == (&other.place.file, &other.place.function)
}

fn changed(case: &FixInput<'_>, load: &SiteMark, store: &SiteMark) -> Result<Fix, EditRefusal> {
    let (reads, writes) = (load.place.line, store.place.line);
    let source = case.files.get(&store.place.file)?;
    let changes = one_step::in_one_step(source, reads, writes)?;
    let lines = match reads == writes {
        true => format!("on line {writes}"),
        false => format!("instead of lines {reads} and {writes}"),
    };
    let title = format!("change `{}` in one atomic step {lines}", name(load));
    edited(case, &store.place.file, changes, title)
}

fn looked_at(case: &FixInput<'_>, update: &SiteMark, load: &SiteMark) -> Result<Fix, EditRefusal> {
    let (updates, reads) = (update.place.line, load.place.line);
    let source = case.files.get(&load.place.file)?;
    let changes = left_value::look_at_what_is_left(source, updates, reads)?;
    let title = format!(
        "look on line {reads} at the value of `{}` that the update of line {updates} leaves",
        name(load)
    );
    edited(case, &load.place.file, changes, title)
}

fn name(mark: &SiteMark) -> String {
    let variable = family(&mark.location);
    facts::in_block(Location::variable(&variable))
}

fn edited(
    case: &FixInput<'_>,
    file: &str,
    changes: Vec<Change>,
    title: String,
) -> Result<Fix, EditRefusal> {
    let changes = Changes::from([(file.to_owned(), changes)]);
    let edits = case.files.edits(&changes)?;
    let overhead = "none".to_owned();
    Ok(Fix::edit(FixKind::AtomicUpdate, title, edits, overhead))
}
