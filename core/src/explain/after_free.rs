//! Memory used or freed again after it was freed.

use super::{draft::Draft, view::View};
use crate::claims::line;
use crate::explanation::{BugKind, Explanation, Role};
use unsnarl_trace::{EventId, EventKind};

/// Explains a use of a block after it was freed.
pub(super) fn after_free(view: &View, free: EventId, used: EventId) -> Explanation {
    let name = view.variable(used);
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
        EventKind::Lock | EventKind::SharedLock => "locked it",
        kind if kind.reads() => "read it",
        _ => "wrote it",
    };
    draft.detail(format!(
        "{} freed it at {} before {} {did} at {}.",
        view.words(free),
        view.at(free),
        view.words(used),
        line(&view.place(used), &view.place(free))
    ));
    if view.orders.concurrent(free, used) {
        draft.set().remark = "Nothing orders the two.".to_owned();
    }
    if let Some(pointer) = pointer_read(view, used) {
        draft.step(pointer, "");
    }
    draft.step(free, "too early");
    if view.event(used).kind != EventKind::Failure {
        draft.step(used, "after it was freed");
    }
    draft.mark(free, Role::Cause);
    draft.mark(used, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The read by which the thread that used the block had obtained a pointer to it.
fn pointer_read(view: &View, used: EventId) -> Option<EventId> {
    const NEAR: usize = 60;
    let block = |location| crate::facts::block(view.run.location(location));
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
