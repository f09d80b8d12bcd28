//! Waits on condition variables that end spuriously.

use super::{begins::own_before, draft::Draft, handovers::signals, turned::blamed, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation, Role},
};
use unsnarl_trace::{Event, EventId, EventKind, Run, Value};

/// The value of a wakeup by neither a signal nor a timeout: see `docs/run-file.md`.
const SPURIOUS: Value = Value::Bits(2);

/// Returns whether a wait ended spuriously at an event.
#[must_use]
pub fn is_spurious_wakeup(event: &Event) -> bool {
    event.kind == EventKind::Wake && event.value == Some(SPURIOUS)
}

/// Returns whether all that `other` blames of the thread whose wait `told` says to have ended spuriously comes after that,
/// before it obtains anything else: it should not have got there. Linear in the run.
#[must_use]
pub fn comes_of_wakeup(other: &Explanation, told: &Explanation, run: &Run) -> bool {
    let wakes = told.steps.iter().map(|step| EventId(step.event));
    let mut wakes = wakes.filter(|row| {
        let event = run.events.get(*row);
        event.is_some_and(|event| is_spurious_wakeup(&event))
    });
    let Some(wake) = wakes.next().filter(|_| told.run == other.run) else {
        return false;
    };
    let thread = run.events.event(wake).thread;
    let rows = blamed(other).into_iter().map(|one| one.row);
    let own = rows.filter(|row| {
        run.events
            .get(*row)
            .is_some_and(|event| event.thread == thread)
    });
    let own: Vec<EventId> = own.collect();
    let is_behind = |last: &EventId| obtains_nothing_since(run, wake, own_before(run, *last));
    own.iter().all(|row| *row > wake) && own.last().is_some_and(is_behind)
}

/// Returns whether a thread has obtained nothing since it woke up, by its rows before some row, the latest first.
pub(super) fn obtains_nothing_since(
    run: &Run,
    wake: EventId,
    before: impl Iterator<Item = EventId>,
) -> bool {
    let mut since = before.take_while(|row| *row > wake);
    !since.any(|row| run.events.kind(row).role().obtains())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{explain::order::plain, fixture::corpus};

    /// `main` reads `part` after a wait that ended without a signal; `between` comes in between.
    fn comes_of_it(between: &str) -> bool {
        let text = format!(
            "start main.1 load
            main fork main.1 @40 main
            main lock m @4 await
            main R left =1 @5 await \"if (left > 0)\"
            main wait zero @8 await
            main unlock m @8 await
            main lock m @8 await
            main wake zero =2 @8 await
            main unlock m @9 await
            {between}
            main R part =0 @16 main
            main.1 W part =10 @20 load
            main join main.1 @17 main
            main R sum =0 @19 main \"assert(sum == 10);\"
            main fails @19"
        );
        let corpus = corpus(&[], &[&text]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        let row = |kind: EventKind, line: u32| {
            let mut rows = view.run.events.iter();
            let found = rows.find(|(_, event)| {
                event.kind == kind && view.run.meta.site(event.site).line == line
            });
            found.unwrap().0
        };
        let told = unchecked(&view, row(EventKind::Read, 5), row(EventKind::Wake, 8));
        let other = plain(&view, row(EventKind::Read, 16), row(EventKind::Write, 20));
        assert!(!comes_of_wakeup(&told, &other, &view.run));
        comes_of_wakeup(&other, &told, &view.run)
    }

    #[test]
    fn what_is_read_right_after_the_wait_comes_of_it() {
        assert!(comes_of_it(""));
        assert!(!comes_of_it("main join main.1 @15 main"));
    }
}
