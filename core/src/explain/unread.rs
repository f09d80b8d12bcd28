//! Changes that a thread never came to see, since it went on to its end: what others had left for it.

use super::{draft::Draft, look::asks, missing::end_of, view::View};
use crate::{
    claims::line,
    facts,
    mining::Trace,
    pairs::{AccessClass, Fnv},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId};

/// Passing runs that tell what a thread always comes to see.
const ENOUGH: u32 = 3;

/// Accesses of a thread before a read among which the variables are looked for that it had asked for.
const NEAR: usize = 400;

/// A change that a thread did not come to see before it ended.
struct UnreadChange {
    /// The thread's last access to the variable.
    last: EventId,
    /// The change by another thread after that.
    change: EventId,
}

/// Says behind a remark what the thread of a read did not come to see before it ended, where all passing runs have it read what
/// was set last: `main.1 ended without having seen `pending` = 1, set by main.3 at line 54.` Linear in the passing runs for each
/// variable that the thread has read.
pub(super) fn tell_unread(draft: &mut Draft, view: &View, read: EventId) {
    let Some(unread) = UnreadChange::after(view, read) else {
        return;
    };
    let UnreadChange { last, change } = unread;
    let said = format!(
        "{} ended without having seen `{}`{}, set by {} at {}; in all {} passing runs it sees what others set last.",
        view.name(read),
        view.variable(change),
        view.equals(change),
        view.name(change),
        line(&view.place(change), &view.place(read)),
        view.corpus.counts().passing(),
    );
    draft.set().remark_last(&said);
    draft.step(last, "");
    draft.step(change, "never seen");
}

/// Says behind a remark that nobody else has read what was set too late for a read, where the thread of the read went on to its end:
/// `main.1 ended after that, and nobody else has read what main.2 had set.` Linear in the
/// locations of the run, and in the accesses to the variable.
pub(super) fn tell_left(draft: &mut Draft, view: &View, read: EventId, write: EventId) {
    let variable = |location| facts::own_part(view.run.location(location));
    let own = variable(view.event(write).location);
    let (reader, writer) = (view.thread(read), view.thread(write));
    // A destructor takes apart what is left.
    let uses = |row: EventId| {
        row > write && view.thread(row) != writer && !view.place(row).function.contains('~')
    };
    let is_used = |part: LocationId| {
        let mut after = view.orders.accesses().after(part, write).iter();
        after.any(|row| uses(*row))
    };
    let all = (0..view.run.locations.len() as u32).map(LocationId);
    let mut parts = all.filter(|part| variable(*part) == own);
    let is_over = end_of(view, reader) < view.failure;
    if view.event(read).kind.writes() || !is_over || parts.any(is_used) {
        return;
    }
    draft.set().remark_last(&format!(
        "{} ended after that, and nobody else has read what {} had set.",
        view.name(read),
        view.name(write)
    ));
}

/// Says what a write that came too early has written over: the message that its thread had left at the same line before, and
/// that nobody had read.
pub(super) fn tell_written_over(draft: &mut Draft, view: &View, early: EventId, late: EventId) {
    let event = view.event(early);
    let before = view.orders.accesses().before(event.location, early);
    let lost = before.last().copied().filter(|row| {
        let other = view.event(*row);
        (other.kind, other.thread, other.site) == (event.kind, event.thread, event.site)
    });
    let Some(lost) = lost.filter(|_| event.kind == EventKind::Write) else {
        return;
    };
    draft.set().remark_last(&format!(
        "{} had not read `{}`{}, which {} had set there before.",
        view.name(late),
        view.variable(lost),
        view.equals(lost),
        view.name(lost),
    ));
    draft.step(lost, "never read");
}

impl UnreadChange {
    /// The change of the variable that the thread of a read came to last, of those that it had asked for before.
    fn after(view: &View, read: EventId) -> Option<UnreadChange> {
        let thread = view.thread(read);
        let end = end_of(view, thread);
        let enough = view.corpus.counts().passing() >= ENOUGH;
        let is_over = enough && end < view.failure;
        let mut known = FxHashSet::from_iter([view.event(read).location]);
        let near = if is_over { NEAR } else { 0 };
        let own = view.own_before(read).take(near);
        let mut found = own.filter_map(|row| {
            let event = view.event(row);
            let is_asked = event.kind.reads() && asks(&view.place(row));
            let is_new = is_asked && known.insert(event.location);
            is_new.then(|| UnreadChange::of(view, event.location, (thread, end)))?
        });
        found.find(|unread| is_seen_in_passing(view, view.event(unread.change).location, thread))
    }

    /// The first change of a variable by another thread after the thread's last access, before its end, that nobody else reads:
    /// those who set it may.
    fn of(view: &View, location: LocationId, (thread, end): (ThreadId, EventId)) -> Option<Self> {
        let rows = view.orders.accesses().of(location);
        let last = rows.iter().rev().find(|row| view.thread(**row) == thread)?;
        let after = || rows.iter().copied().filter(|row| row > last);
        let writers = after().filter(|row| view.event(*row).kind.writes());
        let writers: FxHashSet<ThreadId> = writers.map(|row| view.thread(row)).collect();
        let change = after().find(|row| view.event(*row).kind.writes())?;
        let is_left = after().all(|row| writers.contains(&view.thread(row)));
        let is_named = facts::is_named(view.run.location(location));
        (is_left && is_named && change < end).then_some(UnreadChange {
            last: *last,
            change,
        })
    }
}

/// Returns whether the thread comes to a variable after the last change by others in each passing run.
fn is_seen_in_passing(view: &View, location: LocationId, thread: ThreadId) -> bool {
    let location = Fnv::of(view.run.location(location));
    let thread = Fnv::of(&facts::thread_name(&view.run, thread));
    let is_seen = |run: &Trace| {
        let mut has_come = false;
        let mut is_seen = true;
        for kind in run.of(location) {
            match kind.thread == thread {
                true => (has_come, is_seen) = (true, true),
                false => is_seen &= kind.access == AccessClass::Read,
            }
        }
        has_come && is_seen
    };
    view.corpus.passing().all(|run| is_seen(&run.accesses))
}
