//! Waits for what never comes, of a thread that has not looked again at what another one changed: an event loop that takes the
//! announcement of a job off its pipe after it has looked for jobs, or a lock of the program's own that is given back without
//! a wake-up.

use super::{
    circle::wait_effect,
    deadlock::Hang,
    draft::Draft,
    look::asks,
    lost_wakeup::reads_before,
    view::View,
    waiting::{WaitingThread, changed_since, request},
};
use crate::explanation::{BugKind, Certainty, Explanation, Role};
use unsnarl_trace::{EventId, LocationId, raw::WaitsFor};

/// A look of a thread that waits, and the change after it.
struct Unheeded {
    read: EventId,
    write: EventId,
}

/// Explains a wait for input or for a wake-up by the last look before it that another thread's change has made wrong. Linear
/// in the changes of what the thread has looked at.
pub(super) fn unheeded(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let mut found = waiters.iter().filter_map(|waiter| {
        let wait = request(view, waiter);
        let look = match waiter.waits_for {
            WaitsFor::Io => Unheeded::of(view, wait),
            WaitsFor::Futex => Unheeded::of_object(view, waiter.object, wait),
            _ => None,
        };
        Some(Hang::of(look?.explain(view, waiter), wait))
    });
    found.next()
}

impl Unheeded {
    /// The latest look; one that asks for what it reads, if there is one.
    fn of(view: &View, wait: EventId) -> Option<Unheeded> {
        let reads = reads_before(view, wait).into_iter();
        let changed = reads.filter_map(|read| Unheeded::after(view, read));
        changed.max_by_key(|look| (asks(&view.place(look.read)), look.read))
    }

    /// The last look at what the thread waits for a change of.
    fn of_object(view: &View, object: LocationId, wait: EventId) -> Option<Unheeded> {
        let mut own = view.own_before(wait);
        let read = own.find(|row| view.event(*row).location == object)?;
        Unheeded::after(view, read).filter(|_| view.event(read).kind.reads())
    }

    /// A look, if another thread has left another value there since.
    fn after(view: &View, read: EventId) -> Option<Unheeded> {
        let write = changed_since(view, read)?;
        let is_other = view.event(write).value != view.event(read).value;
        is_other.then_some(Unheeded { read, write })
    }

    fn explain(&self, view: &View, waiter: &WaitingThread) -> Explanation {
        let Unheeded { read, write } = *self;
        let (who, what) = (view.words(read), view.variable(write));
        let of = waiter.waits_for.words();
        let headline = format!("{who} waits for {of}, and does not see that `{what}` was changed");
        let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
        draft.set().certainty = Certainty::Possible;
        draft.detail(format!(
            "{who} read `{what}`{} at {};\n{} changed it{} at {}, and {who} waits for {of} at {} and has not looked again.",
            view.equals_read(read),
            view.at(read),
            view.words(write),
            view.equals(write).replacen(" =", " to", 1),
            view.at(write),
            view.at(waiter.row),
        ));
        draft.step(read, "");
        draft.mark(read, Role::Cause);
        draft.step(write, "not seen any more");
        draft.mark(write, Role::Interference);
        let mut step = view.step(request(view, waiter), "for ever");
        step.does(wait_effect(view, waiter));
        draft.add(step);
        draft.finish()
    }
}
