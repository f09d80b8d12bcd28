//! Premature announcements: a flag, a count, a semaphore unit or a signal by which a thread lets another one
//! go on before the write that the other one needs.

use super::{
    additions::amount,
    candidates::times_before,
    handovers::handovers,
    locking::same_section,
    look::asks,
    missing::{end_of, has_old_value},
    order::Publication,
    view::View,
};
use crate::{
    callers,
    explanation::Place,
    facts,
    pairs::{AccessClass, AccessKey, PairKey},
};
use unsnarl_trace::{EventId, EventKind, LocationId, SiteId, SiteRow, ThreadId, Value};

/// A reader with a write that it depends on and that comes only after it.
pub(super) struct Needs {
    /// The access that came too early.
    pub reader: EventId,
    /// Place of the write in the source.
    pub setter: Place,
    /// The write, if the run reached it.
    pub written: Option<EventId>,
    /// Thread of the write, where known.
    pub by: Option<ThreadId>,
}

impl Needs {
    /// Requirement of a write that the run has.
    pub fn written(view: &View, reader: EventId, write: EventId) -> Needs {
        Needs {
            reader,
            setter: view.place(write),
            written: Some(write),
            by: Some(view.thread(write)),
        }
    }

    /// Requirement of a write that the run was cut off before.
    pub fn absent(reader: EventId, setter: Place, by: Option<ThreadId>) -> Needs {
        Needs {
            reader,
            setter,
            written: None,
            by,
        }
    }

    /// Returns whether the write stands there.
    pub fn is_at(&self, place: &Place) -> bool {
        (&place.file, place.line) == (&self.setter.file, self.setter.line)
    }
}

/// The announcement by which the reader went on before the write it needs: the last one that the reader's
/// thread has learned from the writing thread, if it stands above the setter and the thread has not reached
/// the setter since.
pub(super) fn announcement(view: &View, needs: &Needs) -> Option<Publication> {
    let learned = handovers(view, needs.reader);
    let last_learned = learned.first().copied();
    let given: Vec<Publication> = learned
        .into_iter()
        .filter(|given| gives_away(view, given, needs))
        .collect();
    let flag = || last_learned.filter(|given| is_flag_before(view, given, needs));
    let from = |given: &Publication| {
        let place = view.place(given.store);
        (view.thread(given.store), place.file, place.line)
    };
    // A line may make several announcements, as when a container takes an element: a named one says more.
    let Some(last) = given.first() else {
        return flag();
    };
    let has_name = |given: &&Publication| {
        let mut rows = [given.store, given.load].into_iter();
        from(given) == from(last) && rows.any(|row| view.named(row).is_some())
    };
    let named = given.iter().find(has_name).unwrap_or(last);
    let carrier = given.iter().find(|other| carries(view, other, named));
    carrier.or(Some(named)).copied()
}

/// The announcement that let a thread read a pointer, if it was made after the pointer was stored, or before that and asked for
/// before the pointer is read: as long as it stands before the write, no other place of the store helps.
pub(super) fn announcement_of(
    view: &View,
    pointer: &Publication,
    needs: &Needs,
) -> Option<Publication> {
    let learned = handovers(view, needs.reader);
    let mut given = learned.into_iter();
    given.find(|given| {
        let leads_there = carries(view, given, pointer) || is_asked_before(view, given, pointer);
        leads_there && gives_away(view, given, needs)
    })
}

/// Returns whether a thread announced something before it stored a pointer, and the receiver asked for that before it read the
/// pointer, which it did not ask for.
fn is_asked_before(view: &View, announced: &Publication, pointer: &Publication) -> bool {
    let of = |one: &Publication| (view.thread(one.store), view.thread(one.load));
    of(announced) == of(pointer)
        && announced.store < pointer.store
        && announced.load < pointer.load
        && view.event(announced.store).kind.writes()
        && asks(&view.place(announced.load))
        && !asks(&view.place(pointer.load))
}

/// Returns whether a thread handed over something by an announcement: stored it before it announced, and the
/// receiver read it after it had learned of that. A signal alone does not hold a receiver back that looks first.
fn carries(view: &View, announced: &Publication, with: &Publication) -> bool {
    let is_signal = matches!(
        view.event(announced.store).kind,
        EventKind::Signal | EventKind::Broadcast
    );
    let of = |one: &Publication| (view.thread(one.store), view.thread(one.load));
    !is_signal
        && of(announced) == of(with)
        && with.store < announced.store
        && announced.load < with.load
}

/// Returns whether it is a flag that all passing runs raise after the write. The write may then be in a
/// function of its own.
fn is_flag_before(view: &View, given: &Publication, needs: &Needs) -> bool {
    is_too_early(view, given, needs)
        && !has_old_value(view, needs.reader)
        && raises_a_flag(view, given.store)
        && always_set_before(view, needs)
}

/// Returns whether the source announces before it does the write that the reader needs.
pub(super) fn gives_away(view: &View, given: &Publication, needs: &Needs) -> bool {
    is_too_early(view, given, needs) && stands_above(view, given.store, needs).is_some()
}

/// Returns whether a read only belongs to an update of the variable, as in `sent += size;` or `list.push_back(n);`: the thread
/// goes on without having learned anything from it.
pub(super) fn only_counts(view: &View, read: EventId) -> bool {
    let event = view.event(read);
    let place = view.place(read);
    let after = view.orders.accesses().after(event.location, read);
    let own = after.iter().find(|row| view.thread(**row) == event.thread);
    let updates = own.is_some_and(|&row| {
        let at = view.place(row);
        view.event(row).kind == EventKind::Write && (&at.file, at.line) == (&place.file, place.line)
    });
    let location = view.run.location(event.location);
    let is_in_container = !facts::is_in_no_container(location);
    // Whoever copies a smart pointer counts itself in, whatever others have counted.
    if event.kind == EventKind::Rmw && facts::is_use_count(location) {
        return amount(event).is_some();
    }
    event.kind == EventKind::Read && updates && (is_in_container || !place.text.contains('('))
}

/// Returns whether the thread had not reached the setter when the reader looked, which had gone on by the
/// announcement.
fn is_too_early(view: &View, given: &Publication, needs: &Needs) -> bool {
    let by = view.thread(given.store);
    let (store, wanted) = (view.event(given.store), view.event(needs.reader));
    let is_other = !needs.is_at(&view.place(given.store))
        && !is_same_object(view, store.location, wanted.location);
    // An older value was right once: only the synchronization of the threads says that it is outdated, or that the reader
    // asked whether it may go on.
    let is_told =
        || view.orders.happens_before(given.store, given.load) || asks(&view.place(given.load));
    let is_outdated = || {
        !has_old_value(view, needs.reader)
            || has_begun(view, given.store, needs)
            || is_told() && !is_one_section(view, given, needs)
    };
    needs.by.is_none_or(|who| who == by)
        && is_other
        && !only_counts(view, given.load)
        && end_of(view, by) > needs.reader
        && !has_come(view, given.store, needs)
        && !is_in_one_section(view, given, needs)
        && is_outdated()
}

/// Returns whether one lock is held for the announcement, and by the reader from where it learns of it to where it looks: then the
/// two changes belong into one section of that lock.
fn is_in_one_section(view: &View, given: &Publication, needs: &Needs) -> bool {
    let of_store = view.orders.locks_held(given.store);
    let mut locks = of_store.iter().map(|section| section.lock);
    locks.any(|lock| same_section(view, given.load, needs.reader, lock))
}

/// Returns whether all accesses hold one lock, or are all atomic, or the reader makes both accesses in one
/// critical section, where locks guard both. Then it is no announcement: the two steps belong together.
pub(super) fn is_one_section(view: &View, given: &Publication, needs: &Needs) -> bool {
    let all = [given.store, given.load, needs.reader].into_iter();
    let all: Vec<EventId> = all.chain(needs.written).collect();
    let is_held = |lock, row| {
        let sections = view.orders.locks_held(row);
        sections.iter().any(|section| section.lock == lock)
    };
    let held = view.orders.locks_held(given.store);
    let mut held = held.iter();
    all.iter().all(|&row| view.event(row).kind.is_atomic())
        || held.any(|section| all.iter().all(|&row| is_held(section.lock, row)))
        || is_one_look(view, given, needs)
}

/// Returns whether the reader makes both accesses in one critical section, where locks guard both.
pub(super) fn is_one_look(view: &View, given: &Publication, needs: &Needs) -> bool {
    let (load, reader) = (given.load, needs.reader);
    let sections = view.orders.locks_held(load);
    let mut locks = sections.iter().map(|section| section.lock);
    let is_guarded = |&write: &EventId| view.orders.common_lock(reader, write).is_some();
    view.orders.common_lock(given.store, load).is_some()
        && locks.any(|lock| same_section(view, load, reader, lock))
        && needs.written.as_ref().is_none_or(is_guarded)
}

/// Returns whether both are parts of one variable, or elements of one array.
pub(super) fn is_same_object(view: &View, one: LocationId, other: LocationId) -> bool {
    let object = |location| facts::own_part(&facts::family(view.run.location(location))).to_owned();
    object(one) == object(other)
}

/// Site of the announcement, its own or that of a call, above the setter in the function that does the write
/// or leads to it.
pub(super) fn stands_above(view: &View, store: EventId, needs: &Needs) -> Option<SiteId> {
    let setter = &needs.setter;
    let sites = callers::call_sites(&view.run, store);
    let here = sites.iter().rev().copied().find(|site| {
        let site = view.run.meta.site(*site);
        (&site.file, &site.function) == (&setter.file, &setter.function)
    });
    let parting = || {
        let written = needs
            .written
            .or_else(|| row_within(view, setter, view.thread(store)))?;
        let (a, b) = callers::parting(&view.run, store, written)?;
        let (of_a, of_b) = (view.run.meta.site(a), view.run.meta.site(b));
        let is_one = (&of_a.file, &of_a.function) == (&of_b.file, &of_b.function);
        (is_one && of_a.line < of_b.line).then_some(a)
    };
    match here {
        Some(site) => Some(site).filter(|site| view.run.meta.site(*site).line < setter.line),
        None => parting(),
    }
}

/// A row of a function, of this thread if it has one: the function is called so for a write that the run was cut off before.
/// Linear in the run.
fn row_within(view: &View, setter: &Place, thread: ThreadId) -> Option<EventId> {
    let is_there =
        |site: &SiteRow| (&site.file, &site.function) == (&setter.file, &setter.function);
    let sites = view.run.meta.sites.iter();
    let within: Vec<bool> = sites.map(is_there).collect();
    let rows = view.run.events.iter();
    let mut rows = rows.filter(|(_, event)| within.get(event.site.index()) == Some(&true));
    let first = rows.next()?;
    let own = std::iter::once(first).chain(rows);
    let own = own
        .map(|(row, _)| row)
        .find(|row| view.thread(*row) == thread);
    own.or(Some(first.0))
}

/// Returns whether a write changes a zero value to another one, as when a flag is raised.
fn raises_a_flag(view: &View, store: EventId) -> bool {
    let event = view.event(store);
    let before = view.orders.last_write_before(event.location, store);
    let old = before.and_then(|row| view.event(row).value);
    let is_set = matches!(event.value, Some(Value::Bits(bits)) if bits != 0);
    event.kind.writes() && is_set && event.size <= 4 && matches!(old, None | Some(Value::Bits(0)))
}

/// Returns whether the setter's value is there in every passing run when the reader looks.
fn always_set_before(view: &View, needs: &Needs) -> bool {
    let counts = view.corpus.counts();
    let key = PairKey {
        head: setter_key(&needs.setter),
        tail: view.key(needs.reader),
    };
    counts.passing() > 0 && counts.ordered(key) == counts.passing()
}

/// Returns whether the thread has done at the setter, between its announcement and the write that the reader needs, what it has
/// done in most passing runs by then.
pub(super) fn has_come(view: &View, store: EventId, needs: &Needs) -> bool {
    let times = times_set(view, store, needs);
    times > 0
        && times >= times_before(view, needs.reader, &needs.setter)
        && !is_over_in_passing(view, needs)
}

/// Returns whether in the passing runs, which have both, no such write comes after such a read: all of them are done by then.
fn is_over_in_passing(view: &View, needs: &Needs) -> bool {
    let counts = view.corpus.counts();
    needs.written.is_some_and(|written| {
        let (read, write) = (view.key(needs.reader), view.key(written));
        let of = |head, tail| PairKey { head, tail };
        let done = counts.stats(of(write, read)).runs;
        done > 0 && done == counts.passing() && counts.ordered(of(read, write)) == 0
    })
}

/// Returns whether the value that the reader saw is one of those on the way to the one that it needs.
pub(super) fn has_begun(view: &View, store: EventId, needs: &Needs) -> bool {
    times_set(view, store, needs) > 0
}

/// Returns whether the announcing thread has changed the variable anywhere since, before the reader looked.
pub(super) fn is_on_the_way(view: &View, store: EventId, needs: &Needs) -> bool {
    let wanted = view.event(needs.reader).location;
    let before = view
        .rows
        .before(view.thread(store), needs.reader)
        .iter()
        .rev();
    let mut since = before.take_while(|row| **row > store);
    has_begun(view, store, needs)
        || since.any(|row| {
            let event = view.event(*row);
            event.kind.writes() && is_same_object(view, event.location, wanted)
        })
}

/// The number of writes at the setter between the announcement and the write that the reader needs.
fn times_set(view: &View, store: EventId, needs: &Needs) -> u32 {
    let wanted = view.event(needs.reader).location;
    let end = needs.written.unwrap_or(needs.reader);
    let since = view.rows.before(view.thread(store), end).iter().rev();
    let since = since.take_while(|row| **row > store);
    // A line may set a variable part by part: these steps are one write.
    let is_part = |row: &&EventId| needs.written.is_some() && needs.is_at(&view.place(**row));
    let set = since.skip_while(is_part).filter(|&&row| {
        let event = view.event(row);
        event.kind.writes()
            && needs.is_at(&view.place(row))
            && is_same_object(view, event.location, wanted)
    });
    set.count() as u32
}

/// The key of the write at a place that the failing run did not reach.
pub(super) fn setter_key(setter: &Place) -> AccessKey {
    let site = SiteRow {
        file: setter.file.clone(),
        line: setter.line,
        column: setter.column,
        function: setter.function.clone(),
        text: setter.text.clone(),
    };
    AccessKey::new(&site, AccessClass::Write)
}
