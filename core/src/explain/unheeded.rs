//! Waits for what never comes, of a thread that has not looked again at what another one changed: an event loop that takes the
//! announcement of a job off its pipe after it has looked for jobs, or clears the flag by which others see that it was told
//! only then; or a lock of the program's own that is given back without a wake-up.

use super::{
    circle::wait_effect,
    deadlock::Hang,
    draft::Draft,
    look::asks,
    lost_wakeup::reads_before,
    view::View,
    waiting::{WaitingThread, changed_since, object_name, request},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
};
use unsnarl_trace::{EventId, LocationId, raw::WaitsFor};

/// A look of a thread that waits, and the change after it.
struct Unheeded {
    read: EventId,
    write: EventId,
}

/// The flag by which the thread of a change saw that the waiting one was woken already, and that this one set back only then.
struct StaleFlag {
    look: EventId,
    reset: EventId,
}

/// Explains a wait for input or for a unit of a semaphore by the flag that has kept another thread from sending that. Linear in
/// the changes of what the thread has looked at.
pub(super) fn unannounced(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let mut found = waiters.iter().filter_map(|waiter| {
        // Who wakes a thread that waits for a futex has no flag to look at but the word itself.
        let may_be_left_out = matches!(waiter.waits_for, WaitsFor::Io | WaitsFor::Semaphore);
        let wait = request(view, waiter);
        let look = Unheeded::of(view, wait).filter(|_| may_be_left_out)?;
        let told = look.explain_by(view, waiter, &look.flag(view, wait)?);
        Some(Hang::of(told, wait))
    });
    found.next()
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

    /// The first flag that the other thread looked at after its change, if the waiting one set it back after that look.
    fn flag(&self, view: &View, wait: EventId) -> Option<StaleFlag> {
        /// Steps of a thread from its change to the look by which it announces it.
        const NEAR: usize = 20;
        let (who, changed) = (view.thread(wait), view.event(self.write).location);
        let since = view.rows.after(view.thread(self.write), self.write).iter();
        let looks = since.copied().take(NEAR).filter(|row| {
            let event = view.event(*row);
            event.kind.reads() && event.location != changed
        });
        let mut found = looks.filter_map(|look| {
            let location = view.event(look).location;
            let after = view.orders.accesses().after(location, look).iter();
            let mut resets = after.copied().take_while(|row| *row < wait);
            let reset = resets.find(|row| view.thread(*row) == who)?;
            let (seen, set) = (view.read_value(look)?, view.value(reset)?);
            // A count that both of them raise, or what is set to the same, is no flag.
            let is_plain = view.event(reset).kind.writes() && !view.event(reset).kind.reads();
            (is_plain && seen != set).then_some(StaleFlag { look, reset })
        });
        found.next()
    }

    /// Explains the wait by the announcement that was not made.
    fn explain_by(&self, view: &View, waiter: &WaitingThread, flag: &StaleFlag) -> Explanation {
        let (who, other) = (view.words(self.read), view.words(self.write));
        let (what, of) = (view.variable(self.write), waiter.waits_for.words());
        let (name, at) = (view.variable(flag.look), view.place(self.read));
        let missing = match waiter.waits_for {
            WaitsFor::Semaphore => {
                let unit = object_name(view, request(view, waiter));
                format!("a unit of `{unit}` that {other} did not post")
            }
            _ => format!("{of} that {other} did not send"),
        };
        let headline = format!("{who} waits for {missing}");
        let mut draft = Draft::new(view, BugKind::MultiVariableAtomicityViolation, headline);
        draft.set().certainty = Certainty::Possible;
        draft.detail(format!(
            "{who} read `{what}`{} at {}, and set `{name}`{} only at {};\nin between {other} changed `{what}`{} at {}, read `{name}`{} at {}, and went on.",
            view.equals_read(self.read),
            view.at(self.read),
            view.equals(flag.reset).replacen(" =", " to", 1),
            line(&view.place(flag.reset), &at),
            view.equals(self.write).replacen(" =", " to", 1),
            line(&view.place(self.write), &at),
            view.equals_read(flag.look),
            line(&view.place(flag.look), &at),
        ));
        let region = [
            (self.read, "", Role::Cause),
            (self.write, "in between", Role::Interference),
            (flag.look, "goes on", Role::Interference),
            (flag.reset, "too late", Role::Cause),
        ];
        for (row, note, role) in region {
            draft.step(row, note);
            draft.mark(row, role);
        }
        self.wait(view, waiter, draft)
    }

    /// Ends with the wait.
    fn wait(&self, view: &View, waiter: &WaitingThread, mut draft: Draft) -> Explanation {
        let mut step = view.step(request(view, waiter), "for ever");
        step.does(wait_effect(view, waiter));
        draft.add(step);
        draft.finish()
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
        self.wait(view, waiter, draft)
    }
}
