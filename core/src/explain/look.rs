//! Looks of a thread at what others change, by which it goes on.

use super::{draft::Draft, order::is_ancestor, view::View};
use crate::{
    callers,
    claims::line,
    explanation::Place,
    facts::{self, ToldValue},
    pairs::{AccessClass, AccessKey},
};
use unsnarl_trace::{EventId, EventKind, ThreadId};

/// Accesses of a thread before a read among which its last look is searched.
const NEAR: usize = 200;

/// The word by which a line asks for something again and again.
const LOOP: &str = "while";

/// The word before what a line asks for where something else was asked for first.
const OTHERWISE: &str = "else";

/// Returns whether a line of the source asks for something, to go on or not.
pub(super) fn asks(place: &Place) -> bool {
    let text = place.text.trim_start().trim_start_matches('}').trim_start();
    let text = text.strip_prefix(OTHERWISE).map_or(text, str::trim_start);
    [LOOP, "if"].iter().any(|word| text.starts_with(word))
}

/// Returns whether it asks for that again and again.
pub(super) fn asks_again(place: &Place) -> bool {
    place.text.trim_start().starts_with(LOOP)
}

/// The line on which something is asked for that a row belongs to: its own, or that of a wait whose predicate it is in, as
/// `done.wait(lock, [&] { return left == 0; });`, whatever that calls.
pub(super) fn asked_on(view: &View, row: EventId) -> Option<Place> {
    let waits = |text: &str| {
        let (before, _) = text.split_once('[').unwrap_or_default();
        [".wait", "->wait"].iter().any(|call| before.contains(call))
    };
    let calls = callers::call_sites(&view.run, row).into_iter();
    let mut lines = calls.map(|site| facts::place(&view.run, site));
    let waiting = lines.find(|line| waits(&line.text));
    waiting.or_else(|| Some(view.place(row)).filter(asks))
}

/// The last look before a read at what another thread changes, in this run or in passing ones, if the thread has created
/// others before it: it may have waited for them so. Linear in the pairs of the passing runs.
fn last_look(view: &View, reader: EventId) -> Option<EventId> {
    let own = || view.own_before(reader).take(NEAR);
    let place = view.place(reader);
    let at = |place: &Place| (place.file.clone(), place.line);
    let is_before =
        |row: &EventId| view.event(*row).kind.reads() && at(&view.place(*row)) != at(&place);
    let last = own()
        .filter(is_before)
        .find_map(|row| Some((row, asked_on(view, row)?)));
    let (last, asked) = last?;
    let counts = view.corpus.counts();
    let writes = |head: AccessKey| {
        let site = counts.site(head);
        site.is_some_and(|site| site.class != AccessClass::Read)
    };
    // A write that this run has seen here as well says nothing of other threads: it may be the thread's own.
    let is_read_from_others = |row: EventId| {
        let written = view.orders.last_write_before(view.event(row).location, row);
        let seen = written.map(|write| view.key(write));
        let mut pairs = counts.pairs();
        pairs.any(|(pair, _)| {
            pair.tail == view.key(row) && Some(pair.head) != seen && writes(pair.head)
        })
    };
    let visit = own().skip_while(|row| *row != last);
    let is_of_it = |row: &EventId| asked_on(view, *row).is_some_and(|line| at(&line) == at(&asked));
    let visit = visit.take_while(is_of_it);
    let looks = visit.filter(|row| {
        view.event(*row).kind.reads() && view.named(*row).is_some() && has_created(view, *row)
    });
    let looks: Vec<EventId> = looks.collect();
    // What this run changes says more than what only others do.
    let here = looks
        .iter()
        .copied()
        .find(|row| view.is_changed_by_others(*row));
    here.or_else(|| {
        let mut looks = looks.iter().copied();
        looks.find(|row| is_read_from_others(*row))
    })
}

/// Returns whether the thread has created another one before a row.
fn has_created(view: &View, row: EventId) -> bool {
    view.own_before(row)
        .any(|before| view.event(before).kind == EventKind::Fork)
}

/// Adds the look by which a thread came to a read that was too early, where it is an ancestor of the thread that it should
/// have waited for, and says so behind a remark: `Before that main looked at `left` on line 30, read 0, and went on.`
pub(super) fn tell_look(draft: &mut Draft, view: &View, reader: EventId, writers: &[ThreadId]) {
    let own = view.thread(reader);
    if !writers.iter().any(|by| is_ancestor(view, own, *by)) {
        return;
    }
    let Some(look) = last_look(view, reader) else {
        return;
    };
    let from = view.source(look);
    if let Some(write) = from.filter(|write| view.thread(*write) != own) {
        draft.step(write, "");
    }
    draft.step(look, "");
    let value = view.read_value(look).filter(ToldValue::is_known);
    let read = value.map_or("read it".to_owned(), |value| format!("read {value}"));
    let looked = format!(
        "Before that {} looked at `{}` on {}, {}, and went on.",
        view.name(look),
        view.variable(look),
        line(&view.place(look), &view.place(reader)),
        read
    );
    draft.set().remark_last(&looked);
}

/// A look by which a thread came to a write, where another thread has set the same variable since.
pub(super) struct StaleLook {
    look: EventId,
    /// The first write by another thread since.
    changed: EventId,
}

impl StaleLook {
    /// The last look before a write, if it is one.
    pub fn before(view: &View, write: EventId) -> Option<StaleLook> {
        let (event, own) = (view.event(write), view.thread(write));
        let is_look = |row: &EventId| {
            let other = view.event(*row);
            other.location == event.location && other.kind.reads() && asks(&view.place(*row))
        };
        let mut before = view.own_before(write).take(NEAR);
        let look = before.find(is_look).filter(|_| event.kind.writes())?;
        let since = view.orders.accesses().after(event.location, look);
        let since = since.iter().copied().filter(|row| *row > look);
        let mut between = since.take_while(|row| *row < write);
        let changed =
            between.find(|row| view.thread(*row) != own && view.event(*row).kind.writes())?;
        Some(StaleLook { look, changed })
    }

    /// Headline of an explanation of the write.
    pub fn headline(&self, view: &View, write: EventId, name: &str) -> String {
        format!(
            "`{name}` was set again: {} had looked at it before {} set it",
            view.words(write),
            view.words(self.changed)
        )
    }

    /// Adds its steps, and says behind a remark: `main.1 had looked at it on line 20, read NULL, and set it all the same.`
    pub fn tell(&self, draft: &mut Draft, view: &View, write: EventId) {
        draft.step(self.look, "");
        draft.step(self.changed, "");
        let value = view.read_value(self.look).filter(ToldValue::is_known);
        let looked = format!(
            "{} had looked at it on {}, read {}, and set it all the same.",
            view.name(self.look),
            line(&view.place(self.look), &view.place(write)),
            value.map_or("another value".to_owned(), |value| value.to_string())
        );
        draft.set().remark_last(&looked);
    }
}

/// A thread that has looked at what another one changed since, and goes on without looking again.
pub(super) struct GoneOn {
    look: EventId,
    /// Its first write after the change that the failure depends on.
    write: EventId,
    /// The read of that by another thread.
    read: EventId,
}

impl GoneOn {
    /// The thread of a look, after the other one's change. Linear in the thread's steps since.
    pub fn after(view: &View, look: EventId, change: EventId) -> Option<GoneOn> {
        let (event, own) = (view.event(look), view.thread(look));
        let asks = event.kind.reads() && asks(&view.place(look));
        let steps = view.rows.after(own, change).iter().copied();
        let unseen = steps.take_while(|row| view.event(*row).location != event.location);
        let mut writes = unseen
            .filter(|row| view.event(*row).kind.writes() && view.slice.distance(*row).is_some());
        let seen = |write: EventId| {
            let after = view
                .orders
                .accesses()
                .after(view.event(write).location, write);
            let next = after.iter().copied().find(|row| *row > write)?;
            let is_read = view.event(next).kind.reads() && view.thread(next) != own;
            is_read.then_some((write, next))
        };
        let (write, read) = writes.find_map(seen).filter(|_| asks)?;
        Some(GoneOn { look, write, read })
    }

    /// Headline of an explanation of the look and the change.
    pub fn headline(&self, view: &View, change: EventId, name: &str) -> String {
        let who = view.words(self.look);
        let other = view.words(change);
        format!("{who} did not look at `{name}` again after {other} had set it")
    }

    /// Adds its steps, and says behind a remark: ``main.2 goes on: it sets `base` to 0 at line 10, and main.1 reads that at line
    /// 37.``
    pub fn tell(&self, draft: &mut Draft, view: &View) {
        let (write, read) = (view.place(self.write), view.place(self.read));
        draft.step(self.write, "");
        draft.step(self.read, "");
        draft.set().remark_last(&format!(
            "{} goes on: it sets `{}`{} at {}, and {} reads that at {}.",
            view.name(self.look),
            view.variable(self.write),
            view.equals(self.write).replacen(" =", " to", 1),
            view.at(self.write),
            view.name(self.read),
            line(&read, &write)
        ));
    }
}
