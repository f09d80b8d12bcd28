//! First rows of operations that end at a row: the read of an update, the request of a wait.

use unsnarl_trace::{EventId, EventKind, Run};

/// The read from which a write's own line computed its value, as in `n += 2`: the row itself for a
/// read-modify-write, none where the line has not read the location. `own` are the thread's preceding rows,
/// the latest first.
pub(super) fn update(
    run: &Run,
    write: EventId,
    own: impl Iterator<Item = EventId>,
) -> Option<EventId> {
    /// Bound on the accesses of one line between its read and its write.
    const ON_A_LINE: usize = 8;
    let event = run.events.get(write)?;
    if event.kind == EventKind::Rmw {
        return Some(write);
    }
    let at = |site| {
        let site = run.meta.site(site);
        (&site.file, site.line)
    };
    let own = own.filter_map(|row| Some((row, run.events.get(row)?)));
    let mut on_line = own
        .take(ON_A_LINE)
        .take_while(|(_, other)| at(other.site) == at(event.site));
    let read = on_line.find(|(_, other)| other.kind.reads() && other.location == event.location);
    read.filter(|_| event.kind == EventKind::Write)
        .map(|(row, _)| row)
}

/// The row at which a wait began that ends at a row. `own` are the thread's preceding rows, the latest first.
pub(super) fn wait(
    run: &Run,
    wake: EventId,
    own: impl Iterator<Item = EventId>,
) -> Option<EventId> {
    let condition = run.events.get(wake)?.location;
    let mut own = own.filter_map(|row| Some((row, run.events.get(row)?)));
    let wait = own.find(|(_, event)| event.kind == EventKind::Wait && event.location == condition);
    wait.map(|(row, _)| row)
}

/// The preceding rows of a row's thread, the latest first, without an index: linear in the rows in between.
pub(super) fn own_before(run: &Run, row: EventId) -> impl Iterator<Item = EventId> {
    let thread = run.events.get(row).map(|event| event.thread);
    let before = (0..row.0).rev().map(EventId);
    before.filter(move |row| run.events.get(*row).map(|event| event.thread) == thread)
}
