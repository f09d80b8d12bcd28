//! Failures of a program whose allocation fails.

use super::{draft::Draft, view::View};
use crate::claims::line;
use crate::explanation::{BugKind, Explanation, Role};
use unsnarl_trace::{EventId, Value};

/// Explains that a program does not handle a failed allocation.
pub(super) fn no_memory(view: &View, alloc: EventId) -> Explanation {
    let headline = format!(
        "the program fails when there is no memory at {}",
        view.at(alloc)
    );
    let mut draft = Draft::new(view, BugKind::Sequential, headline);
    let failed = view.failure_place().site.map_or(String::new(), |site| {
        let who = match view.failed == Some(view.thread(alloc)) {
            true => "it".to_owned(),
            false => view.words(view.failure),
        };
        format!("; {who} failed at {}", line(&site, &view.place(alloc)))
    });
    let bytes = match view.event(alloc).value {
        Some(Value::Bits(bytes)) => bytes,
        _ => 0,
    };
    let who = view.words(alloc);
    draft.detail(format!(
        "{who} asked for {bytes} bytes and got none{failed}."
    ));
    draft.set().remark = "This does not depend on the order of the threads.".to_owned();
    draft.set().caveats.clear();
    let mut step = view.step(alloc, "");
    step.does("gets no memory");
    draft.add(step);
    draft.mark(alloc, Role::Cause);
    draft.fail();
    draft.finish()
}
