//! Order violations: two accesses in the order that was not meant, and writes that never came.

use super::{
    draft::{Draft, in_runs, line},
    missing::{absent, end_of, has_old_value},
    view::View,
};
use crate::{
    explanation::{BugKind, Explanation, Place, Role},
    facts,
    pairs::{CoupledPairs, PairKey},
};
use unsnarl_trace::{EventId, EventKind, ThreadId, Value};

/// Explains that `early` ran before `late`.
pub(super) fn swapped(view: &View, early: EventId, late: EventId) -> Explanation {
    if let Some(published) = publication(view, early)
        && view.thread(published.store) == view.thread(late)
        && published.comes_before(view, &view.place(late))
    {
        return too_visible(view, &published, early, &view.place(late), Some(late));
    }
    if let Some(announced) = announcement(view, early, &view.place(late))
        && view.thread(announced.store) == view.thread(late)
        && view.event(late).kind.writes()
    {
        return too_early(view, &announced, early, &view.place(late), Some(late));
    }
    let name = view.variable_of(&[late, early]);
    let mut draft = Draft::new(
        view,
        BugKind::OrderViolation,
        headline(view, early, late, &name),
    );
    draft.detail(detail(view, early, late, &name));
    draft.set().remark = unordered(view, early, late);
    draft.set().contrast = contrast(view, early, late);
    if let Some(before) = last_use_before(view, early, late) {
        draft.step(before, "");
    }
    draft.step(early, "too early");
    draft.step(late, "");
    draft.mark(early, Role::Cause);
    draft.mark(late, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The other thread's last use of the variable before it was changed: what it relied on.
fn last_use_before(view: &View, early: EventId, late: EventId) -> Option<EventId> {
    let location = view.event(early).location;
    let thread = view.thread(late);
    let before = view.orders.accesses().before(location, early);
    let writes = view.event(early).kind.writes();
    before
        .iter()
        .rev()
        .copied()
        .find(|&row| view.thread(row) == thread)
        .filter(|_| writes)
}

fn is_reset(view: &View, row: EventId) -> bool {
    matches!(view.value(row).as_deref(), Some("NULL"))
}

fn headline(view: &View, early: EventId, late: EventId, name: &str) -> String {
    let (first, second) = (view.event(early).kind, view.event(late).kind);
    let other = view.words(late);
    match (first.writes(), second.reads()) {
        (true, true) if is_reset(view, early) => {
            format!("`{name}` was cleared while {other} still used it")
        }
        (true, true) => format!("`{name}` was changed before {other} had read it"),
        (false, _) => format!("`{name}` was read before {other} had set it"),
        (true, false) => {
            format!("`{name}` was written before {other} wrote it, which overwrote it")
        }
    }
}

fn detail(view: &View, early: EventId, late: EventId, name: &str) -> String {
    let (who, other) = (view.words(early), view.words(late));
    let first = if view.event(early).kind.writes() {
        "set"
    } else {
        "read"
    };
    let second = if view.event(late).kind.reads() {
        "read"
    } else {
        "set"
    };
    let value = |row: EventId| match view.value(row) {
        Some(value) if value != "a pointer" => format!(" = {value}"),
        _ => String::new(),
    };
    format!(
        "{who} {first} {name}{} at {} before {other} {second} it{} at {}.",
        value(early),
        view.at(early),
        if view.event(late).kind.reads() {
            String::new()
        } else {
            value(late).replacen(" =", " to", 1)
        },
        line(&view.place(late), &view.place(early))
    )
}

/// Why nothing prevents this order.
fn unordered(view: &View, early: EventId, late: EventId) -> String {
    if !view.orders.concurrent(early, late) {
        return String::new();
    }
    let (first, second) = (view.thread(early), view.thread(late));
    if is_ancestor(view, first, second) {
        let joined = joined_before(view, first, early);
        let others: Vec<String> = joined
            .iter()
            .filter(|t| **t != second)
            .map(|t| facts::thread_name(&view.run, *t))
            .collect();
        let (who, whom) = (view.name(early), view.name(late));
        return match others.is_empty() {
            true => format!("Nothing orders the two: {who} does not wait for {whom} first."),
            false => format!(
                "Nothing orders the two: {who} joins {} but not {whom} before.",
                and(&others)
            ),
        };
    }
    match view.orders.common_lock(early, late) {
        Some(_) => "Both hold the same lock, but nothing says which comes first.".to_owned(),
        None => "Nothing orders the two.".to_owned(),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Did `thread` create `other`, or one that did?
pub(super) fn is_ancestor(view: &View, thread: ThreadId, other: ThreadId) -> bool {
    let mut at = other;
    for _ in 0..view.run.meta.threads.len() {
        match view.run.meta.thread(at).parent {
            Some(parent) if parent == thread => return true,
            Some(parent) if parent != at => at = parent,
            _ => return false,
        }
    }
    false
}

/// Threads that `thread` has joined before `row`, in the order of the joins.
fn joined_before(view: &View, thread: ThreadId, row: EventId) -> Vec<ThreadId> {
    let rows = view.rows.before(thread, row).iter();
    let joins = rows.filter(|row| view.event(**row).kind == EventKind::Join);
    let joined = joins.filter_map(|row| crate::orders::other_thread(view.event(*row).value));
    joined.map(ThreadId).collect()
}

fn contrast(view: &View, early: EventId, late: EventId) -> String {
    let counts = view.corpus.counts();
    let key = PairKey {
        head: view.key(late),
        tail: view.key(early),
    };
    let (runs, of) = (counts.stats(key).runs, counts.passing());
    match (runs, of) {
        (_, 0) => String::new(),
        (0, _) => String::new(),
        (runs, of) => format!(
            "{} {} ran first.",
            in_runs(runs, of),
            line(&view.place(late), &view.place(late))
        ),
    }
}

/// A couple of which one pair hands over the pointer and the other is a use before it was ready.
pub(super) fn handed_over(view: &View, couple: &CoupledPairs) -> Option<Explanation> {
    let (reader, setter) = (couple.second.head, couple.second.tail);
    let published = publication(view, reader)?;
    (published.store == couple.first.head && published.comes_before(view, &view.place(setter)))
        .then(|| too_visible(view, &published, reader, &view.place(setter), Some(setter)))
}

/// A pointer through which another thread came to a block that was not ready.
pub(super) struct Publication {
    /// Where the pointer was stored.
    store: EventId,
    /// Where the other thread read it.
    load: EventId,
}

impl Publication {
    /// Does the source store the pointer before it sets what is behind it? Where it is the other way round,
    /// the store belongs to an earlier round, and the block has been used before.
    pub fn comes_before(&self, view: &View, setter: &Place) -> bool {
        let store = view.place(self.store);
        (&store.file, &store.function) != (&setter.file, &setter.function)
            || store.line < setter.line
    }
}

/// Did the reader come to the location through a pointer that another thread had stored?
pub(super) fn publication(view: &View, reader: EventId) -> Option<Publication> {
    const NEAR: usize = 60;
    let block = |location| facts::block(view.run.location(location)).to_owned();
    let wanted = block(view.event(reader).location);
    let before = view
        .rows
        .before(view.thread(reader), reader)
        .iter()
        .rev()
        .copied();
    let points_there = |row: &EventId| match view.event(*row).value {
        Some(unsnarl_trace::Value::Address(to)) => {
            view.event(*row).kind.reads() && block(to) == wanted
        }
        _ => false,
    };
    let load = before.take(NEAR).find(points_there)?;
    let store = view
        .orders
        .last_write_before(view.event(load).location, load)?;
    (view.thread(store) != view.thread(load) && !view.is_forced(store, load))
        .then_some(Publication { store, load })
}

/// Did the reader go on because of something that a thread set before it set what the reader needs? That is
/// the last that the reader's thread has learned from another one, if it stands above the setter in its function
/// and the thread has not come to the setter since.
pub(super) fn announcement(view: &View, reader: EventId, setter: &Place) -> Option<Publication> {
    const NEAR: usize = 40;
    let thread = view.thread(reader);
    let before = view.rows.before(thread, reader).iter().rev().take(NEAR);
    let flow = |&row: &EventId| {
        let event = view.event(row);
        let store = view.orders.last_write_before(event.location, row)?;
        let place = view.place(store);
        let is_setter = (&place.file, place.line) == (&setter.file, setter.line);
        let comes = event.kind.reads()
            && !is_setter
            && view.thread(store) != thread
            && !view.is_forced(store, row)
            && event.location != view.event(reader).location;
        comes.then_some(Publication { store, load: row })
    };
    let learned = before.into_iter().find_map(flow)?;
    let (store, own) = (view.place(learned.store), view.thread(learned.store));
    let above = match (&store.file, &store.function) == (&setter.file, &setter.function) {
        true => store.line < setter.line,
        // The setter is in a function of its own: what says that it comes after is that all passing runs wait for it.
        false => raises_a_flag(view, learned.store) && always_set_before(view, setter, reader),
    };
    let since = view.rows.before(own, reader).iter().rev();
    let mut since = since.take_while(|row| **row > learned.store);
    let has_come = since.any(|&row| {
        let place = view.place(row);
        view.event(row).kind.writes() && (&place.file, place.line) == (&setter.file, setter.line)
    });
    let is_alive = end_of(view, own) > reader;
    (above && is_alive && !has_come && !has_old_value(view, reader)).then_some(learned)
}

/// Does a write make something of nothing, as where a flag is raised?
fn raises_a_flag(view: &View, store: EventId) -> bool {
    let event = view.event(store);
    let before = view.orders.last_write_before(event.location, store);
    let old = before.and_then(|row| view.event(row).value);
    let is_set = matches!(event.value, Some(Value::Bits(bits)) if bits != 0);
    is_set && event.size <= 4 && matches!(old, None | Some(Value::Bits(0)))
}

/// Is what the setter wrote there in every passing run when the reader looks?
fn always_set_before(view: &View, setter: &Place, reader: EventId) -> bool {
    let counts = view.corpus.counts();
    let key = PairKey {
        head: setter_key(setter),
        tail: view.key(reader),
    };
    counts.passing() > 0 && counts.ordered(key) == counts.passing()
}

/// Explains that a thread set the one before the other, which depends on it.
pub(super) fn too_early(
    view: &View,
    announced: &Publication,
    reader: EventId,
    setter: &Place,
    set: Option<EventId>,
) -> Explanation {
    let Publication { store, load } = *announced;
    let (flag, name) = (view.variable_of(&[store, load]), view.variable(reader));
    let headline = format!("`{flag}` was changed before `{name}` was set");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let stored = view.place(store);
    draft.detail(format!(
        "{} set {flag}{} at {}, {} read it at {} and then {name}{} at {};\n{} sets {name} only at {}.",
        view.words(store),
        view.equals(store),
        view.at(store),
        view.words(reader),
        line(&view.place(load), &stored),
        view.equals(reader),
        line(&view.place(reader), &stored),
        view.name(store),
        line(setter, &stored)
    ));
    tell_order(&mut draft, view, announced, reader, setter, set);
    draft.fail();
    draft.finish()
}

/// Explains that a pointer was stored before what it points to was ready.
pub(super) fn too_visible(
    view: &View,
    published: &Publication,
    reader: EventId,
    setter: &Place,
    set: Option<EventId>,
) -> Explanation {
    let (pointer, name) = (
        view.variable_of(&[published.store, published.load]),
        view.variable(reader),
    );
    let headline = format!("`{pointer}` was visible before `{name}` was set");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let stored = view.place(published.store);
    draft.detail(format!(
        "{} stored the pointer at {}, {} read {name}{} at {};\n{} sets it only at {}.",
        view.words(published.store),
        view.at(published.store),
        view.words(reader),
        view.equals(reader),
        line(&view.place(reader), &stored),
        view.name(published.store),
        line(setter, &stored)
    ));
    tell_order(&mut draft, view, published, reader, setter, set);
    draft.fail();
    draft.finish()
}

/// The steps and marks of what was stored, read and set, in an order that was not meant; and what passing runs do.
fn tell_order(
    draft: &mut Draft,
    view: &View,
    published: &Publication,
    reader: EventId,
    setter: &Place,
    set: Option<EventId>,
) {
    let stored = view.place(published.store);
    let key = PairKey {
        head: set.map_or_else(|| setter_key(setter), |row| view.key(row)),
        tail: view.key(reader),
    };
    let (runs, of) = (
        view.corpus.counts().ordered(key),
        view.corpus.counts().passing(),
    );
    if runs > 0 {
        let (set, read) = (line(setter, &stored), line(&view.place(reader), setter));
        draft.set().contrast = format!("{} {set} ran before {read}.", in_runs(runs, of));
    }
    draft.step(published.store, "too early");
    draft.step(published.load, "");
    draft.step(reader, "not set yet");
    draft.mark(published.store, Role::Cause);
    draft.mark(reader, Role::Interference);
    match set {
        Some(row) => {
            draft.step(row, "");
            draft.mark(row, Role::Cause);
        }
        None => {
            draft.absent(reader, view.name(published.store), setter.clone());
            let mut mark = absent(view, reader, setter.clone());
            mark.role = Role::Cause;
            draft.mark_place(mark);
        }
    }
}

/// The key of the write at a place that the failing run did not reach.
fn setter_key(setter: &Place) -> crate::pairs::AccessKey {
    let site = unsnarl_trace::SiteRow {
        file: setter.file.clone(),
        line: setter.line,
        column: setter.column,
        function: setter.function.clone(),
        text: setter.text.clone(),
    };
    let class = crate::pairs::AccessClass::Write;
    crate::pairs::AccessKey::new(&site, class)
}
