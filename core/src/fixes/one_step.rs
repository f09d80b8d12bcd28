//! Atomic variables that are loaded, changed and stored: one atomic operation does it.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    text::{EditRefusal, change::Change, left_value, one_step},
};
use crate::{
    explanation::{BugKind, Role, Step},
    facts::{self, family},
};
use unsnarl_trace::{EventId, EventKind, Location};

/// Makes one atomic operation of a load and a store of one variable that belong together, or of an update and a look at what it
/// left; `None` when the explanation blames no such two.
pub(super) fn in_one_step(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let steps = &case.explanation.steps;
    let marks = case.explanation.sites.iter();
    let causes = marks.filter(|mark| mark.role == Role::Cause);
    let step = |mark| case.explanation.step_of(mark);
    let causes: Vec<&Step> = causes.filter_map(step).collect();
    let two = |first: EventKind, second: EventKind| {
        let mut firsts = causes.iter().copied().filter(|one| is(one, first));
        firsts.find_map(|one| {
            let mut others = causes.iter().copied();
            let other = others.find(|other| is(other, second) && are_beside(other, one))?;
            Some((one, other))
        })
    };
    if let Some((load, store)) = two(EventKind::AtomicRead, EventKind::AtomicWrite) {
        return Some(changed(case, load, store));
    }
    let (update, load) = match case.explanation.kind {
        BugKind::UseAfterFree => let_go(steps)?,
        _ => two(EventKind::Rmw, EventKind::AtomicRead)?,
    };
    let is_behind = update.place.line < load.place.line;
    is_behind.then(|| looked_at(case, update, load))
}

/// The update by which a thread let a block go, and its look at what that left, when the block was freed.
fn let_go(steps: &[Step]) -> Option<(&Step, &Step)> {
    let mut back = steps.iter().rev();
    let look = back.find(|step| is(step, EventKind::AtomicRead))?;
    let update = back.find(|step| step.thread == look.thread && is(step, EventKind::Rmw))?;
    are_beside(update, look).then_some((update, look))
}

fn is(step: &Step, kind: EventKind) -> bool {
    step.access == kind.name()
}

/// Returns whether both access one variable, in one function.
fn are_beside(one: &Step, other: &Step) -> bool {
    let (here, there) = (&one.place, &other.place);
    one.location == other.location && (&here.file, &here.function) == (&there.file, &there.function)
}

fn changed(case: &FixInput<'_>, load: &Step, store: &Step) -> Result<Fix, EditRefusal> {
    let (reads, writes) = (load.place.line, store.place.line);
    let source = case.files.get(&store.place.file)?;
    let changes = one_step::in_one_step(source, reads, writes)?;
    let lines = match reads == writes {
        true => format!("on line {writes}"),
        false => format!("instead of lines {reads} and {writes}"),
    };
    let title = format!("change `{}` in one atomic step {lines}", name(case, load));
    edited(case, &store.place.file, changes, title)
}

fn looked_at(case: &FixInput<'_>, update: &Step, load: &Step) -> Result<Fix, EditRefusal> {
    let (updates, reads) = (update.place.line, load.place.line);
    let source = case.files.get(&load.place.file)?;
    let changes = left_value::look_at_what_is_left(source, updates, reads)?;
    let title = format!(
        "look on line {reads} at the value of `{}` that the update of line {updates} leaves",
        name(case, load)
    );
    edited(case, &load.place.file, changes, title)
}

/// The variable of a step: of any element of an array, and by the words of its line where it lies in a block.
fn name(case: &FixInput<'_>, step: &Step) -> String {
    let event = case.run.events.get(EventId(step.event));
    let in_words = event.filter(|_| Location::of(&step.location).is_on_heap());
    let named = in_words.and_then(|event| facts::named(case.run, &event));
    named.unwrap_or_else(|| {
        let variable = family(&step.location);
        facts::in_block(Location::variable(&variable))
    })
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
