//! Reads that came before any of several threads had changed the variable, each of which would have been enough.

use super::{draft::Draft, order::ran_before, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, Role},
};
use std::collections::BTreeSet;
use unsnarl_trace::EventId;

/// Explains that `early` read a variable before any thread had changed it on the line of `late`, if more threads than that
/// of `late` do so later. Linear in the accesses of the variable.
pub(super) fn before_any(view: &View, early: EventId, late: EventId) -> Option<Explanation> {
    let changes = changes(view, early, late)?;
    let name = view.variable_of(&[late, early]);
    let again = match view
        .orders
        .last_write_before(view.event(early).location, early)
    {
        Some(write) if view.thread(write) != view.thread(early) => " again",
        _ => "",
    };
    let headline = format!("`{name}` was read before any other thread had set it{again}");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let by: Vec<String> = changes.iter().map(|row| view.name(*row)).collect();
    draft.detail(format!(
        "{} read {name}{} at {} before {} set it at {}.",
        view.words(early),
        view.equals_read(early),
        view.at(early),
        by.join(" or "),
        line(&view.place(late), &view.place(early)),
    ));
    ran_before(&mut draft, view, &view.operation(late), early);
    draft.step(early, "too early");
    changes.iter().for_each(|row| draft.step(*row, ""));
    draft.mark(early, Role::Cause);
    changes
        .iter()
        .for_each(|row| draft.mark(*row, Role::Interference));
    draft.fail();
    Some(draft.finish())
}

/// The first change by each other thread, on the line of `late`, that comes after the read: of two threads at least, where
/// none has changed the variable before it, on whatever line.
fn changes(view: &View, early: EventId, late: EventId) -> Option<Vec<EventId>> {
    let (reader, place) = (view.thread(early), view.place(late));
    let accesses = view.orders.accesses();
    let is_change = |row: &EventId| {
        let at = view.place(*row);
        view.event(*row).kind.writes()
            && view.thread(*row) != reader
            && (at.line, &at.file) == (place.line, &place.file)
    };
    let location = view.event(late).location;
    // What had to come before is where it begins: what the creator of the thread has set.
    let has_come = accesses.before(location, early).iter().any(|row| {
        let is_other = view.thread(*row) != reader && view.event(*row).kind.writes();
        is_other && !view.is_forced(*row, early)
    });
    let mut by = BTreeSet::new();
    let rows = accesses.after(location, early).iter().copied();
    let first = rows.filter(is_change);
    let first: Vec<EventId> = first.filter(|row| by.insert(view.thread(*row))).collect();
    let is_open = first.iter().all(|row| !view.is_forced(early, *row));
    let is_read = !view.event(early).kind.writes() && view.event(late).kind.writes();
    (is_read && !has_come && is_open && first.len() > 1).then_some(first)
}
