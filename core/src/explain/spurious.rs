//! Waits on condition variables that end by themselves.

use super::{draft::Draft, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, Role},
};
use unsnarl_trace::{EventId, EventKind, Value};

/// The value of a wake that no signal caused and no time: see `docs/run-file.md`.
const SPURIOUS: Value = Value::Bits(2);

/// Did a wait end here by itself?
pub(super) fn is_spurious(view: &View, row: EventId) -> bool {
    let event = view.event(row);
    event.kind == EventKind::Wake && event.value == Some(SPURIOUS)
}

/// Explains that a thread took a spurious wakeup for a signal.
pub(super) fn spurious(view: &View, check: EventId, wake: EventId) -> Explanation {
    let (who, name) = (view.words(wake), view.variable(check));
    let condition = view.variable(wake);
    let headline = format!("{who} did not check `{name}` again after a spurious wakeup");
    let mut draft = Draft::new(view, BugKind::AtomicityViolation, headline);
    draft.detail(format!(
        "{who} read {name}{} at {} and waited for `{condition}` at {};\n\
         the wait ended without a signal, as POSIX and C++ allow.",
        view.equals_read(check),
        view.at(check),
        line(&view.place(wake), &view.place(check)),
    ));
    draft.set().remark = format!("`{name}` has to be checked again in a loop after each wait.");
    draft.step(check, "");
    let mut step = view.step(wake, "without a signal");
    step.effect = "wakes up".to_owned();
    draft.add(step);
    draft.mark(check, Role::Cause);
    draft.mark(wake, Role::Cause);
    draft.fail();
    draft.finish()
}
