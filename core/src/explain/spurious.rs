//! Waits on condition variables that end spuriously.

use super::{draft::Draft, handovers::signals, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, Role},
};
use unsnarl_trace::{Event, EventId, EventKind, Value};

/// The value of a wakeup by neither a signal nor a timeout: see `docs/run-file.md`.
const SPURIOUS: Value = Value::Bits(2);

/// Returns whether a wait ended spuriously at an event.
#[must_use]
pub fn is_spurious_wakeup(event: &Event) -> bool {
    event.kind == EventKind::Wake && event.value == Some(SPURIOUS)
}

/// Returns whether a wait ended spuriously at this row.
pub(super) fn is_spurious(view: &View, row: EventId) -> bool {
    is_spurious_wakeup(&view.event(row))
}

/// Explains that a thread took the end of a wait for the condition it had waited for.
pub(super) fn unchecked(view: &View, check: EventId, wake: EventId) -> Explanation {
    let (who, name) = (view.words(wake), view.variable(check));
    let condition = view.variable(wake);
    let signal = signals(view, wake).first().copied();
    let (kind, ended) = match signal {
        Some(signal) => ("the wait", woke(view, signal, wake, &name)),
        None => (
            "a spurious wakeup",
            "the wait ended without a signal, as POSIX and C++ allow.".to_owned(),
        ),
    };
    let headline = format!("{who} did not check `{name}` again after {kind}");
    let mut draft = Draft::new(view, BugKind::AtomicityViolation, headline);
    draft.detail(format!(
        "{who} read {name}{} at {} and waited for `{condition}` at {};\n{ended}",
        view.equals_read(check),
        view.at(check),
        line(&view.place(wake), &view.place(check)),
    ));
    draft.set().takes_spurious_wakeup = signal.is_none();
    draft.set().remark = format!("`{name}` has to be checked again in a loop after each wait.");
    draft.step(check, "");
    let note = match signal {
        Some(signal) => {
            draft.step(signal, "");
            draft.mark(signal, Role::Interference);
            ""
        }
        None => "without a signal",
    };
    let mut step = view.step(wake, note);
    step.does("wakes up");
    draft.add(step);
    draft.mark(check, Role::Cause);
    draft.mark(wake, Role::Cause);
    draft.fail();
    draft.finish()
}

/// Sentence about the signal: `main signalled it at line 22, but nobody had changed items since.`
fn woke(view: &View, signal: EventId, wake: EventId, name: &str) -> String {
    format!(
        "{} signalled it at {}, but nobody had changed {name} since.",
        view.words(signal),
        line(&view.place(signal), &view.place(wake))
    )
}
