//! Changes of two variables that belong together, seen half done: a thread read both in one critical section, between the
//! two changes of another one, which gives the lock back in between.

use super::{
    announced::{Needs, has_come, is_one_look, is_same_object},
    found::AccessDependency,
    handovers::handovers,
    missing::{could_write, end_of},
    multi_variable,
    order::Publication,
    view::View,
};
use crate::{explanation::Explanation, facts, orders::Dependency, pairs::CoupledPairs};
use unsnarl_trace::EventId;

/// The change that a reader had seen already, with its read of it, before the other change that it needs. Locks say that
/// the reader looks at both in one step: to announce something, one variable would be enough.
pub(super) fn seen_before(view: &View, needs: &Needs) -> Option<Publication> {
    let learned = handovers(view, needs.reader).into_iter();
    let mut halves = learned.filter(|given| is_half(view, given, needs));
    halves.next()
}

/// Returns whether the handover is a change that another one belongs to, which the reader needs and which was still to
/// come when it looked at both in one step.
pub(super) fn is_half(view: &View, given: &Publication, needs: &Needs) -> bool {
    let (store, load) = (view.event(given.store), view.event(given.load));
    let is_change = store.kind.is_access() && store.kind.writes() && load.kind.is_access();
    // Whoever lets go of a pointer counts down without a lock.
    let is_count = facts::is_use_count(view.run.location(store.location));
    let wanted = view.event(needs.reader).location;
    let is_other =
        !needs.is_at(&view.place(given.store)) && !is_same_object(view, store.location, wanted);
    let comes = || match needs.by {
        Some(by) => by == store.thread,
        None => could_write(view, &needs.setter, needs.reader).contains(&store.thread),
    };
    is_change
        && !is_count
        && is_other
        && comes()
        && end_of(view, store.thread) > needs.reader
        && !has_come(view, given.store, needs)
        && is_one_look(view, given, needs)
}

/// Explains that a thread read one variable before `write`, though it had seen the change of another one that belongs to
/// it.
pub(super) fn half_done(view: &View, reader: EventId, write: EventId) -> Option<Explanation> {
    let needs = Needs::written(view, reader, write);
    let seen = seen_before(view, &needs).filter(|_| view.event(write).kind.writes())?;
    let pair = |head: EventId, tail: EventId| {
        let link = AccessDependency::new(view, head, tail);
        Dependency {
            head,
            tail,
            location: view.event(head).location,
            kind: link.kind,
            direct: true,
        }
    };
    let couple = CoupledPairs {
        first: pair(seen.store, seen.load),
        second: pair(reader, write),
    };
    Some(multi_variable::multi(view, &couple))
}
