//! Where steps begin that end on a row: an update by its read, a wait by its request.

use unsnarl_trace::{EventId, EventKind, Run};

/// Where the read is by which a write's own line came to what it writes, as in `n += 2`: the row itself where it reads and
/// writes in one step, none where the line has not read the location. `own` are the thread's rows before it, the latest first.
pub(super) fn update(
    run: &Run,
    write: EventId,
    own: impl Iterator<Item = EventId>,
) -> Option<EventId> {
    /// Accesses that one line makes at most between reading and writing back.
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

/// Where a wait began that ends on a row. `own` are the thread's rows before it, the latest first.
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

/// The rows of a row's thread before it, the latest first, without an index: linear in what lies between them.
pub(super) fn own_before(run: &Run, row: EventId) -> impl Iterator<Item = EventId> {
    let thread = run.events.get(row).map(|event| event.thread);
    let before = (0..row.0).rev().map(EventId);
    before.filter(move |row| run.events.get(*row).map(|event| event.thread) == thread)
}
