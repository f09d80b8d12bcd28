//! Waits for a signal, or a unit of a semaphore, whose sender has ended: in runs that pass it sends it before that.

use super::{
    deadlock::Hang,
    draft::Draft,
    missing::{end_of, learned, tell_learned},
    view::View,
    waiting::{WaitingThread, object_name, request, sends},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
};
use unsnarl_trace::{EventId, ThreadId, raw::WaitsFor};

/// The sender that has ended, and why.
struct EndedSender {
    thread: ThreadId,
    /// The last value that it had learned from another thread: the write and its read.
    learned: (EventId, EventId),
}

/// Explains a wait for a signal, or a unit, that only threads which have ended send in runs that pass, by what the last of them had
/// learned. Linear in the signals of the passing runs for each thread and wait.
pub(super) fn ended_sender(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let mut found = waiters.iter().filter_map(|waiter| {
        let sender = EndedSender::of(view, waiter)?;
        let wait = request(view, waiter);
        Some(Hang::of(sender.explain(view, waiter, wait), wait))
    });
    found.next()
}

impl EndedSender {
    /// The last sender to end; `None` while one still runs.
    fn of(view: &View, waiter: &WaitingThread) -> Option<EndedSender> {
        let threads = (0..view.run.meta.threads.len() as u16).map(ThreadId);
        let others = threads.filter(|thread| *thread != waiter.thread);
        let senders = others.filter(|thread| sends(view, *thread, waiter.object).is_some());
        let thread = senders.max_by_key(|thread| end_of(view, *thread))?;
        let end = end_of(view, thread);
        let learned = learned(view, thread, end).filter(|_| end < view.failure.max(waiter.row))?;
        Some(EndedSender { thread, learned })
    }

    fn explain(&self, view: &View, waiter: &WaitingThread, wait: EventId) -> Explanation {
        let (write, seen) = self.learned;
        let (condition, sender) = (object_name(view, wait), view.words(seen));
        let (what, sends_it) = match waiter.waits_for {
            WaitsFor::Semaphore => (format!("a unit of `{condition}` from"), "posts"),
            _ => ("a signal of".to_owned(), "signals"),
        };
        let headline = format!(
            "{} waits for {what} {sender}, which has ended",
            view.words(wait)
        );
        let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
        draft.set().certainty = Certainty::Possible;
        let told = tell_learned(&mut draft, view, self.learned);
        draft.detail(format!(
            "{} waits for `{condition}` at {};\nbefore {sender} ended, it {told}.",
            view.words(wait),
            view.at(wait),
        ));
        if let Some(place) = sends(view, self.thread, waiter.object) {
            draft.set().remark = format!(
                "In passing runs {} {sends_it} it, at {}.",
                view.name(seen),
                line(place, &view.place(wait))
            );
        }
        draft.mark(write, Role::Cause);
        draft.mark(seen, Role::Interference);
        let mut step = view.step(wait, "for ever");
        step.does(format!("waits for {condition}"));
        draft.add(step);
        draft.finish()
    }
}
