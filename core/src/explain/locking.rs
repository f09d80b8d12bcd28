//! Statements about the locks of rows, in words.

use super::view::View;
use crate::{facts, orders::Section};
use unsnarl_trace::{EventId, Location, LocationId};

/// The lock of a section, in the source's words.
pub(super) fn lock_name(view: &View, section: &Section) -> String {
    facts::variable(&view.run, &view.event(section.acquired))
}

/// The sections of the program's own locks that contain a row. A library gives its own locks back before it returns.
pub(super) fn own_locks(view: &View, row: EventId) -> Vec<Section> {
    let mut held = view.orders.locks_held(row);
    held.retain(|section| !Location::of(view.run.location(section.lock)).is_of_library());
    held
}

/// Returns whether both rows are in one and the same critical section of the lock.
pub(super) fn same_section(view: &View, a: EventId, b: EventId, lock: LocationId) -> bool {
    let of = |row| {
        view.orders
            .locks_held(row)
            .into_iter()
            .find(|section| section.lock == lock)
    };
    matches!((of(a), of(b)), (Some(a), Some(b)) if a.acquired == b.acquired)
}

/// Returns whether the two rows of a thread hold locks that the same call has taken, each time anew: the rows belong to two
/// visits of these lines.
pub(super) fn taken_again(view: &View, first: EventId, second: EventId) -> bool {
    let call = |section: &Section| {
        let event = view.event(section.acquired);
        (event.site, event.stack)
    };
    let (earlier, later) = (
        view.orders.locks_held(first),
        view.orders.locks_held(second),
    );
    // One call may take several locks.
    let other =
        |of: &[Section], section: &Section| of.iter().all(|one| one.acquired != section.acquired);
    let again = |section: &&Section| {
        let mut same = later.iter().filter(|one| call(one) == call(section));
        same.any(|one| other(&earlier, one))
    };
    let mut given_back = earlier.iter().filter(|section| other(&later, section));
    given_back.any(|section| again(&section))
}
