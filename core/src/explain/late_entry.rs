//! Late registration: a thread counts itself in too late, so that another one that waits for all counted
//! threads goes on before.

use super::{
    announced::{Needs, is_same_object, stands_above},
    draft::Draft,
    order::ran_before,
    too_early::called_at,
    view::View,
};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, Role},
};
use unsnarl_trace::{EventId, LocationId};

/// A check of a counter, and the registration of another thread that came after it.
#[derive(Clone, Copy)]
pub(super) struct LateEntry {
    look: EventId,
    entry: EventId,
}

/// Finds a late registration: before `early`, its thread checked a variable that the thread of `late` changes
/// before `late`, in the same function or one that leads to it, and again afterwards, as on entering and
/// leaving; and the check came before that change.
pub(super) fn late_entry(view: &View, early: EventId, late: EventId) -> Option<LateEntry> {
    const NEAR: usize = 64;
    let before = view.rows.before(view.thread(early), early).iter().rev();
    let looks = before.take(NEAR).copied().filter(|&row| {
        let event = view.event(row);
        let is_shared = view.orders.accesses().is_shared(event.location);
        event.kind.reads() && is_shared
    });
    let own = view.event(late).location;
    let mut looks = looks.filter(|&row| !is_same_object(view, view.event(row).location, own));
    looks.find_map(|look| {
        let entry = entered(view, look, early, late)?;
        Some(LateEntry { look, entry })
    })
}

/// The change of the checked variable that the thread of `late` makes after the check and before `late`,
/// among those that it reverts later.
fn entered(view: &View, look: EventId, early: EventId, late: EventId) -> Option<EventId> {
    let location = view.event(look).location;
    let writes = writes_behind(view, location, look, late);
    let (entries, exits): (Vec<EventId>, Vec<EventId>) =
        writes.into_iter().partition(|row| *row < late);
    let entry = *entries.last()?;
    let leaves = exits.iter().any(|&exit| is_elsewhere(view, entry, exit));
    let is_guarded = view.event(look).kind.is_atomic() && view.event(entry).kind.is_atomic()
        || view.orders.common_lock(look, entry).is_some();
    let needs = Needs::written(view, early, late);
    (leaves && is_guarded && stands_above(view, entry, &needs).is_some()).then_some(entry)
}

fn writes_behind(view: &View, location: LocationId, look: EventId, late: EventId) -> Vec<EventId> {
    let after = view.orders.accesses().after(location, look).iter().copied();
    let own = after.filter(|&row| view.thread(row) == view.thread(late));
    own.filter(|&row| view.event(row).kind.writes()).collect()
}

fn is_elsewhere(view: &View, a: EventId, b: EventId) -> bool {
    let (a, b) = (view.place(a), view.place(b));
    (a.file, a.line) != (b.file, b.line)
}

/// Explains that a thread went on because another one had not yet registered itself.
pub(super) fn not_counted(
    view: &View,
    found: LateEntry,
    early: EventId,
    late: EventId,
) -> Explanation {
    let LateEntry { look, entry } = found;
    let (who, other) = (view.words(look), view.words(entry));
    let (count, name) = (
        view.variable_of(&[look, entry]),
        view.variable_of(&[early, late]),
    );
    let headline = format!("`{count}` was read before {other} had counted itself in");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let at = view.place(look);
    let changes = |row: EventId| view.event(row).kind.writes();
    draft.detail(format!(
        "{who} read {count}{} at {} and then {} {name} at {};\n\
         {other} changes {count} only at {}{}, and {} {name} after that, at {}.",
        view.equals_read(look),
        view.at(look),
        if changes(early) { "changed" } else { "read" },
        line(&view.place(early), &at),
        line(&view.place(entry), &at),
        called_at(view, entry, &Needs::written(view, early, late)),
        if changes(late) { "changes" } else { "reads" },
        line(&view.place(late), &at),
    ));
    ran_before(&mut draft, view, &view.operation(entry), look);
    ran_before(&mut draft, view, &view.operation(late), early);
    draft.set().remark = format!(
        "{} changes `{count}` itself: until it has come there, nothing keeps {} from going on.",
        view.name(entry),
        view.name(look)
    );
    draft.step(look, "too early");
    draft.step(early, "");
    draft.step(entry, "");
    draft.step(late, "");
    draft.mark(look, Role::Cause);
    draft.mark(entry, Role::Interference);
    draft.fail();
    draft.finish()
}
