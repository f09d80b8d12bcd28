//! Memory used or freed again after it was freed.

use super::{
    announced::{Needs, stands_above},
    draft::Draft,
    handovers::handovers,
    order::Publication,
    pointee::used_block,
    view::View,
};
use crate::explanation::{BugKind, Explanation, Role};
use crate::{claims::line, facts::ValueKind};
use unsnarl_trace::{EventId, EventKind};

/// Explains a use of a block after it was freed.
pub(super) fn after_free(view: &View, free: EventId, used: EventId) -> Explanation {
    let pointer = pointer_read(view, used);
    let name = used_block(view, used, pointer);
    let again = matches!(view.event(used).kind, EventKind::Free | EventKind::Failure);
    let headline = match again {
        true => format!("{} freed a block that was freed before", view.words(used)),
        false => format!(
            "`{name}` was freed while {} still used it",
            view.words(used)
        ),
    };
    let mut draft = Draft::new(view, BugKind::UseAfterFree, headline);
    let did = match view.event(used).kind {
        EventKind::Free | EventKind::Failure => "freed it again",
        EventKind::Lock | EventKind::SharedLock => "took its lock",
        EventKind::Rmw => "updated it",
        kind if kind.reads() => "read it",
        kind if kind.writes() => "wrote it",
        _ => "used it",
    };
    draft.detail(format!(
        "{} freed it at {} before {} {did} at {}.",
        view.words(free),
        view.at(free),
        view.words(used),
        line(&view.place(used), &view.place(free))
    ));
    if view.orders.concurrent(free, used) {
        draft.set().remark = match let_go(view, free, used) {
            Some(given) => tell_let_go(view, &given, free),
            None => "Nothing orders the two.".to_owned(),
        };
    }
    if let Some(pointer) = pointer {
        draft.step(pointer, "");
    }
    draft.step(free, "too early");
    if view.event(used).kind != EventKind::Failure {
        let seen = view.read_value(used).map(|seen| seen.kind);
        let is_said = seen == Some(ValueKind::Freed) && view.event(used).kind.reads();
        draft.step(used, if is_said { "" } else { "after it was freed" });
    }
    draft.mark(free, Role::Cause);
    draft.mark(used, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The announcement by which the thread that frees went on, if the other thread makes it before it uses the block:
/// a unit of a semaphore or an atomic write. Data that only happens to be read is none.
fn let_go(view: &View, free: EventId, used: EventId) -> Option<Publication> {
    let needs = Needs::written(view, free, used);
    let announces = |row: EventId| {
        let kind = view.event(row).kind;
        kind == EventKind::SemPost || kind.is_atomic()
    };
    let since = |store: EventId| {
        let rows = view.rows.before(view.thread(used), used).iter().rev();
        rows.take_while(move |row| **row > store)
    };
    handovers(view, free).into_iter().find(|given| {
        view.thread(given.store) == view.thread(used)
            && announces(given.store)
            && stands_above(view, given.store, &needs).is_some()
            && !since(given.store).any(|row| needs.is_at(&view.place(*row)))
    })
}

/// An announcement before the use in words.
fn tell_let_go(view: &View, given: &Publication, free: EventId) -> String {
    let (store, load) = (view.place(given.store), view.place(given.load));
    let name = view.variable_of(&[given.store, given.load]);
    let (gave, took) = match view.event(given.store).kind {
        EventKind::SemPost => ("posts", "takes a unit of it"),
        _ => ("changes", "reads it"),
    };
    format!(
        "{} {gave} `{name}` at {}, before this use: {} {took} at {}, and goes on.",
        view.name(given.store),
        line(&store, &view.place(free)),
        view.name(free),
        line(&load, &store)
    )
}

/// The read by which the thread that used the block had obtained a pointer to it.
fn pointer_read(view: &View, used: EventId) -> Option<EventId> {
    const NEAR: usize = 60;
    let block = |location| view.run.block(location);
    let wanted = block(view.event(used).location);
    let before = view.rows.before(view.thread(used), used).iter().rev();
    let mut reads = before
        .take(NEAR)
        .copied()
        .filter(|&row| view.event(row).kind.reads());
    reads.find(|&row| {
        let event = view.event(row);
        let shared = view.orders.accesses().is_shared(event.location);
        shared
            && matches!(event.value, Some(unsnarl_trace::Value::Address(to)) if block(to) == wanted)
    })
}
