//! First rows of operations that end at a row: the read of an update, the request of a wait.

use crate::{call_tree::CallTree, callers::call_sites};
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, Run, SiteId, StackId, model::flags};

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
    let own = own.map(|row| (row, run.events.event(row)));
    let mut on_line = own
        .take(ON_A_LINE)
        .take_while(|(_, other)| at(other.site) == at(event.site));
    let read = on_line.find(|(_, other)| other.kind.reads() && other.location == event.location);
    read.filter(|_| event.kind == EventKind::Write)
        .map(|(row, _)| row)
}

/// Accesses of a thread among which the other end of its update is looked for.
const NEAR: usize = 256;

/// The first of the reads, in the function and the turn of a loop that a write is in, by which its thread came to it: the
/// row itself where there is none. What was decided by them and what is written are one update. Linear in what lies between.
pub(super) fn decided_by(run: &Run, write: EventId) -> EventId {
    let Some(of) = run
        .events
        .get(write)
        .filter(|event| event.kind == EventKind::Write)
    else {
        return write;
    };
    let reads = own_before(run, write).map(|row| (row, run.events.event(row)));
    first_way(run, &of, reads)
        .take_while(|(_, event)| event.kind.reads())
        .last()
        .map_or(write, |(row, _)| row)
}

/// The write, in the function and the turn of a loop that a read is in, to which it led: the row itself where there is none.
pub(super) fn leads_to(run: &Run, read: EventId) -> EventId {
    let Some(of) = run
        .events
        .get(read)
        .filter(|event| event.kind == EventKind::Read)
    else {
        return read;
    };
    let end = run.events.len() as u32;
    let after = (read.0 + 1..end)
        .map(EventId)
        .map(|row| (row, run.events.event(row)));
    let own = after.filter(|(_, event)| event.thread == of.thread);
    first_way(run, &of, own)
        .find(|(_, event)| event.kind.writes())
        .map_or(read, |(row, _)| row)
}

/// The accesses to the location of `of` among some of its thread's rows, within its function, up to where a line comes
/// again.
fn first_way<'r>(
    run: &'r Run,
    of: &Event,
    own: impl Iterator<Item = (EventId, Event)> + 'r,
) -> impl Iterator<Item = (EventId, Event)> + 'r {
    let function = |event: &Event| run.meta.site(event.site).function.clone();
    let (at, location) = (function(of), of.location);
    let mut seen = BTreeSet::from([(of.site, of.kind)]);
    own.take(NEAR)
        .filter(move |(_, event)| event.location == location && function(event) == at)
        .take_while(move |(_, event)| seen.insert((event.site, event.kind)))
}

/// The first row of the call that frees a block, of the function that does or of its caller: `release` counts down, and
/// `destroy`, which it calls, frees. A thread's own function is no such call. At least what its line does before it is part of it,
/// as where a library moves elements to a larger block. Linear in the run.
pub(super) fn freed_by(run: &Run, free: EventId) -> Option<EventId> {
    let first = first_on_line(run, free).unwrap_or(free);
    call_that_frees(run, first).or(Some(first).filter(|first| *first != free))
}

/// The first of the rows right before a row, of its thread, that are on the same line, or in calls from there.
fn first_on_line(run: &Run, row: EventId) -> Option<EventId> {
    let line = |site: SiteId| {
        let site = run.meta.site(site);
        (site.line, site.file.as_str())
    };
    let own = line(run.events.site(row));
    // What the compiler has moved there belongs to another line.
    let is_moved = |before: &EventId| run.events.event(*before).flags & flags::MOVED != 0;
    let is_there = |before: &EventId| {
        call_sites(run, *before)
            .iter()
            .any(|site| line(*site) == own)
    };
    let before = own_before(run, row).filter(|before| !is_moved(before));
    before.take_while(is_there).last()
}

fn call_that_frees(run: &Run, free: EventId) -> Option<EventId> {
    let stack = run.events.event(free).stack;
    let caller = run.meta.frame(stack).0;
    let tree = CallTree::of(run);
    let is_own = |row: &EventId| {
        let at = run.events.event(*row).stack;
        at != StackId(0) && [stack, caller].contains(&at)
    };
    let own = own_before(run, free).filter(is_own);
    own.take_while(|row| !tree.comes_again(run, *row, free))
        .last()
}

/// The row at which a wait began that ends at a row. `own` are the thread's preceding rows, the latest first.
pub(super) fn wait(
    run: &Run,
    wake: EventId,
    own: impl Iterator<Item = EventId>,
) -> Option<EventId> {
    let condition = run.events.location(wake);
    let mut own = own.map(|row| (row, run.events.event(row)));
    let wait = own.find(|(_, event)| event.kind == EventKind::Wait && event.location == condition);
    wait.map(|(row, _)| row)
}

/// The wait that ends with the acquisition of its lock at a row, if one does.
pub(super) fn waited(run: &Run, acquired: EventId) -> Option<EventId> {
    /// The request and the release of the lock.
    const STEPS: usize = 2;
    let site = run.events.site(acquired);
    let mut own = own_before(run, acquired).take(STEPS);
    own.find(|row| run.events.kind(*row) == EventKind::Wait && run.events.site(*row) == site)
}

/// The preceding rows of a row's thread, the latest first, without an index: linear in the rows in between.
pub(super) fn own_before(run: &Run, row: EventId) -> impl Iterator<Item = EventId> {
    let thread = run.events.thread(row);
    let before = (0..row.0).rev().map(EventId);
    before.filter(move |row| run.events.thread(*row) == thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use unsnarl_trace::Events;

    /// The second call of `put` frees what it counts down to nothing; `put` is called for others before.
    #[test]
    fn a_block_is_freed_from_where_the_call_begins_that_frees_it() {
        let block = "`heap(a.c:5 by main #0)";
        let text = format!(
            "main alloc {block}` =16 @5 make
            main W {block}.refs` =1 via=40@main @20 put
            main W {block}.refs` =0 via=41@main @20 put
            main R {block}.size` =9 via=41@main @21 put
            main free {block}` via=22@put,41@main @30 destroy
            main R n =0 @42 main"
        );
        let run = run(&text);
        let line = |row: EventId| run.meta.site(run.events.event(row).site).line;
        let of = |free| freed_by(&run, EventId(free)).map(|row| (row.0, line(row)));
        assert_eq!(of(4), Some((2, 20)));
        // What a thread does by itself began with the thread.
        assert_eq!(freed_by(&run, EventId(5)), None);
    }

    /// A vector that grows moves its elements before it frees the old block. In between, the compiler has moved a read of the
    /// next line there.
    #[test]
    fn a_block_is_freed_from_where_its_line_begins() {
        let text = "main alloc `heap(a.cc:5 by main #0)` =16 @5 add
            main R n =0 @8 add
            main alloc `heap(a.cc:9 by main #0)` =32 @9 add
            main R `heap(a.cc:5 by main #0)` =1 via=9@add @30 move
            main R m =0 @10 add
            main W `heap(a.cc:9 by main #0)` =1 @9 add
            main free `heap(a.cc:5 by main #0)` @9 add";
        let (mut run, free) = (run(text), EventId(6));
        assert_eq!(freed_by(&run, free), Some(EventId(5)));
        let rows = run.events.iter().map(|(row, event)| Event {
            flags: if row == EventId(4) { flags::MOVED } else { 0 },
            ..event
        });
        run.events = Events::from_rows(&rows.collect::<Vec<Event>>());
        assert_eq!(freed_by(&run, free), Some(EventId(2)));
    }
}
