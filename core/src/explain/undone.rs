//! Changes that a thread waits for, and that were undone before it looked.

use super::{
    draft::Draft,
    lost_wakeup::{checked_before, last_looks},
    order::plain,
    view::View,
    waiting::{WaitingThread, object_name, request, waiting},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
};
use unsnarl_trace::{EventId, EventKind, raw::WaitsFor};

/// A change that was announced to a thread, and undone before it looked.
struct Undone {
    /// The change.
    set: EventId,
    /// The signal for all, or of the thread that undid the change itself: it was meant for this thread, too.
    announced: EventId,
    /// The write that undid it.
    undone: EventId,
    /// The read of the waiting thread before its wait.
    read: EventId,
    /// Its wait.
    wait: EventId,
}

/// Explains that threads wait for ever since what they wait for was changed back before they looked, by others or by themselves.
/// Linear in the run for each thread that waits.
pub(super) fn undone(view: &View) -> Vec<Explanation> {
    let waiters = waiting(view);
    let waiters = waiters
        .iter()
        .filter(|one| one.waits_for == WaitsFor::Condition);
    let of_each = |waiter: &WaitingThread| {
        let own = overwritten(view, waiter).map(|(set, undone)| plain(view, set, undone));
        [
            own,
            Undone::of(view, waiter).map(|found| told(view, &found)),
        ]
    };
    waiters.flat_map(of_each).flatten().collect()
}

/// A change by another thread that the waiting one wrote over, without having seen it, before it looked: the two writes.
fn overwritten(view: &View, waiter: &WaitingThread) -> Option<(EventId, EventId)> {
    let wait = request(view, waiter);
    let looks = checked_before(view, wait).into_iter();
    let mut looks = looks.chain(last_looks(view, wait));
    looks.find_map(|look| {
        let location = view.event(look).location;
        let is_own = |row: &EventId| view.thread(*row) == waiter.thread;
        let undone = view.orders.last_write_before(location, look)?;
        let set = view.orders.last_write_before(location, undone)?;
        let before = view.orders.accesses().before(location, undone).iter().rev();
        let is_seen = before.take_while(|row| **row > set).any(is_own);
        let value = |row: EventId| view.event(row).value;
        let is_change = value(set).is_some() && value(set) != value(undone);
        let is_blind = is_own(&undone) && !view.event(undone).kind.reads() && !is_seen;
        let is_open = !is_own(&set) && !view.is_forced(set, undone);
        (is_blind && is_change && is_open).then_some((set, undone))
    })
}

impl Undone {
    fn of(view: &View, waiter: &WaitingThread) -> Option<Undone> {
        let wait = request(view, waiter);
        let read = checked_before(view, wait)?;
        let location = view.event(read).location;
        let before = view.orders.accesses().before(location, read).iter().rev();
        // What the thread had seen itself was not kept from it.
        let unseen = before
            .copied()
            .take_while(|row| view.thread(*row) != waiter.thread);
        let mut writes = unseen.filter(|row| view.event(*row).kind.writes());
        let undone = writes.next()?;
        let value = |row: EventId| view.event(row).value;
        let set = writes.find(|row| value(*row).is_some() && value(*row) != value(undone))?;
        let is_by_one = view.thread(set) == view.thread(undone);
        let own = view.rows.after(view.thread(set), set).iter().copied();
        let mut own = own.take_while(|row| *row < read);
        let announced = own.find(|row| {
            let event = view.event(*row);
            let is_for_it =
                event.kind == EventKind::Broadcast || event.kind == EventKind::Signal && is_by_one;
            is_for_it && event.location == waiter.object
        })?;
        let is_open = !view.is_forced(undone, read);
        (is_open && value(undone) == value(read)).then_some(Undone {
            set,
            announced,
            undone,
            read,
            wait,
        })
    }
}

fn told(view: &View, found: &Undone) -> Explanation {
    let Undone {
        set,
        announced,
        undone,
        read,
        wait,
    } = *found;
    let (name, waiter) = (view.variable(read), view.words(read));
    let headline = format!("`{name}` was changed again before {waiter} looked at it");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let at = view.place(set);
    let by = match view.thread(set) == view.thread(undone) {
        true => "it".to_owned(),
        false => view.words(undone),
    };
    draft.detail(format!(
        "{} set {name}{} at {} and signalled `{}` at {};\n{by} set {name}{} at {} before {} read it at {}.",
        view.words(set),
        view.equals(set),
        view.at(set),
        object_name(view, wait),
        line(&view.place(announced), &at),
        view.equals(undone),
        line(&view.place(undone), &at),
        view.name(read),
        line(&view.place(read), &at),
    ));
    draft.set().certainty = Certainty::Possible;
    draft.step(set, "");
    draft.step(announced, "");
    draft.step(undone, "changes it again");
    draft.step(read, "");
    draft.mark(set, Role::Cause);
    draft.mark(undone, Role::Interference);
    draft.mark(read, Role::Cause);
    draft.fail();
    draft.finish()
}
