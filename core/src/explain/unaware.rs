//! Looks that told a thread too early that nobody waits: it has changed since what somebody waits for, and sent no signal.

use super::{view::View, withheld::changed_to};
use crate::{callers::call_sites, claims::line};
use unsnarl_trace::EventId;

/// Accesses of a thread before its change that are looked at.
const NEAR: usize = 40;

/// A look at what the thread that waits has changed only after that, on its way to its wait.
pub(super) struct UnawareLook {
    /// The look.
    pub look: EventId,
    /// The change.
    pub change: EventId,
}

/// The last such look before a change that no signal followed, unless the thread has looked again. Linear in its accesses and
/// in those of the memory that it looks at.
pub(super) fn unaware(view: &View, wait: EventId, write: EventId) -> Option<UnawareLook> {
    let changed = view.event(write).location;
    let is_look = |row: &EventId| {
        let event = view.event(*row);
        event.kind.reads() && event.location != changed
    };
    let mut looks = view.own_before(write).take(NEAR).filter(is_look);
    looks.find_map(|look| {
        let change = announcement(view, look, wait)?;
        (!looks_again(view, look, change)).then_some(UnawareLook { look, change })
    })
}

/// The first change of what a look reads, after it, that the waiting thread makes in a function that is waiting.
fn announcement(view: &View, look: EventId, wait: EventId) -> Option<EventId> {
    let accesses = view.orders.accesses();
    let after = accesses.after(view.event(look).location, look).iter();
    let mut after = after.copied().filter(|row| *row > look && *row < wait);
    let function = |site| &view.run.meta.site(site).function;
    let waiting = call_sites(&view.run, wait);
    let is_waiting = |site| waiting.iter().any(|call| function(*call) == function(site));
    let announces = |row: &EventId| {
        let event = view.event(*row);
        event.kind.writes() && view.thread(*row) == view.thread(wait) && is_waiting(event.site)
    };
    after
        .find(announces)
        .filter(|row| view.value(*row) != view.read_value(look) && !view.is_forced(look, *row))
}

/// Returns whether the thread of a look reads the same memory once it was changed.
fn looks_again(view: &View, look: EventId, change: EventId) -> bool {
    let location = view.event(look).location;
    let after = view.orders.accesses().after(location, change).iter();
    let own = |row: &EventId| view.thread(*row) == view.thread(look);
    after.filter(|row| **row > change).any(own)
}

impl UnawareLook {
    /// Sentence of it: `post (main) had read `idle` = 0 at line 20, before worker (main.1) changed it from 0 to 1 at line 12.`
    pub fn in_words(&self, view: &View) -> String {
        let (look, change) = (self.look, self.change);
        format!(
            "{} had read `{}`{} at {}, before {} changed it{} at {}.",
            view.words(look),
            view.variable(look),
            view.equals_read(look),
            view.at(look),
            view.words(change),
            changed_to(view, change),
            line(&view.place(change), &view.place(look)),
        )
    }
}
