//! Sets announcements last: a flag or a pointer after the data it announces, data after the lock for the
//! rest.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    seen::{At, frames},
    text::{EditRefusal, move_behind},
};
use crate::{
    explanation::{BugKind, Role, SiteMark, Step},
    facts,
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// Moves a flag or a pointer after the data it announces; `None` for explanations of another kind.
pub(super) fn set_last(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let explanation = case.explanation;
    let causes: Vec<&SiteMark> = causes(case).collect();
    let [one, other] = causes.as_slice() else {
        return None;
    };
    let is_early =
        |mark: &&&SiteMark| step(case, mark).is_some_and(|step| step.note == "too early");
    let early = *[one, other].into_iter().find(is_early)?;
    let setter = *[one, other].into_iter().find(|mark| **mark != early)?;
    let is_order = matches!(
        explanation.kind,
        BugKind::OrderViolation | BugKind::LostWakeup
    ) && one.location != other.location;
    let store = step(case, early).filter(|_| is_order)?;
    explanation.steps.iter().find(|step| {
        step.location == store.location && step.thread != store.thread && step.event > store.event
    })?;
    Some(behind(case, store, setter))
}

fn behind(case: &FixInput<'_>, store: &Step, setter: &SiteMark) -> Result<Fix, EditRefusal> {
    let at = &store.place;
    let line = line_of(case, setter, store)
        .ok_or_else(|| format!("what is set late is not set in {}", at.function))?;
    let last = all_set(case, store, line);
    let mut fix =
        moved(case, &at.file, at.line, last).or_else(|_| moved(case, &at.file, at.line, line))?;
    // Runs do not show this: they see the stores in the order of the program.
    let stored = case.run.events.get(EventId(store.event));
    if !stored.is_some_and(|event| event.kind.is_atomic()) {
        fix.assumes.push(format!(
            "`{}` is atomic, or becomes so: compilers and other machines may change the order of plain stores",
            store.location
        ));
    }
    Ok(fix)
}

/// Moves a change of data after the acquisition of the lock for the rest; `None` for explanations of another
/// kind.
pub(super) fn change_last(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let tried = EventKind::TryLockFailed.name();
    let attempt = causes(case).find(|mark| mark.access == tried)?;
    let write = causes(case).find(|mark| mark.access != tried)?;
    let (of, at) = (&write.place, &attempt.place);
    if (&of.file, &of.function) != (&at.file, &at.function) {
        return Some(Err(
            "the change and the attempt are in different functions".to_owned()
        ));
    }
    Some(moved(case, &of.file, of.line, at.line))
}

fn moved(case: &FixInput<'_>, file: &str, early: u32, after: u32) -> Result<Fix, EditRefusal> {
    let changes = move_behind::set_behind(case.files.get(file)?, early, after)?;
    let edits = case
        .files
        .edits(&Changes::from([(file.to_owned(), changes)]))?;
    let title = format!("move line {early} behind line {after}");
    Ok(Fix::edit(
        FixKind::MoveBehind,
        title,
        edits,
        "none".to_owned(),
    ))
}

fn causes<'c>(case: &FixInput<'c>) -> impl Iterator<Item = &'c SiteMark> {
    let marks = case.explanation.sites.iter();
    marks.filter(|mark| mark.role == Role::Cause)
}

fn step<'c>(case: &FixInput<'c>, mark: &SiteMark) -> Option<&'c Step> {
    let at = mark.step?.checked_sub(1)?;
    case.explanation.steps.get(at as usize)
}

/// The line of the store's function that sets the late data, or calls a function that does.
fn line_of(case: &FixInput<'_>, setter: &SiteMark, store: &Step) -> Option<u32> {
    let own = |at: &At| (&at.function, &at.file) == (&store.place.function, &store.place.file);
    let within = |run: &Run, row: EventId| frames(run, row).into_iter().find(|at| own(at));
    if let Some(step) = step(case, setter) {
        return within(case.run, EventId(step.event)).map(|at| at.line);
    }
    let place = &setter.place;
    let mut found = case.runs.iter().flat_map(|(_, run)| {
        let rows = run.events.iter().filter(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind.writes() && (&site.file, site.line) == (&place.file, place.line)
        });
        rows.filter_map(|(row, _)| within(run, row))
    });
    found.next().map(|at| at.line)
}

/// The last line of the store's function, from `line` on, that sets what other threads read after they have read what was
/// stored: all of that has to be there before. Linear in the runs.
fn all_set(case: &FixInput<'_>, store: &Step, line: u32) -> u32 {
    let runs = || case.runs.iter().map(|(_, run)| &**run);
    let read: BTreeSet<&str> = runs().flat_map(|run| read_after(run, store)).collect();
    let lines = runs().flat_map(|run| {
        let writes = run.events.iter().filter(|(_, event)| {
            event.kind.writes() && read.contains(run.location(event.location))
        });
        let own = writes.map(|(_, event)| run.meta.site(event.site));
        own.filter(|site| {
            (&site.function, &site.file) == (&store.place.function, &store.place.file)
        })
    });
    lines.map(|site| site.line).fold(line, u32::max)
}

/// The locations that other threads read after they have read the stored value.
fn read_after<'r>(run: &'r Run, store: &Step) -> Vec<&'r str> {
    let mut looked: BTreeSet<ThreadId> = BTreeSet::new();
    let mut read = Vec::new();
    for (_, event) in run.events.iter().filter(|(_, event)| event.kind.reads()) {
        let location = run.location(event.location);
        if facts::thread_name(run, event.thread) == store.thread {
            continue;
        }
        if location == store.location {
            looked.insert(event.thread);
        } else if looked.contains(&event.thread) {
            read.push(location);
        }
    }
    read
}
