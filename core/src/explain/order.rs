//! Order violations: two accesses in the order that was not meant, and writes that never came.

use super::{
    draft::Draft,
    missing::{absent, end_of, has_old_value},
    view::View,
};
use crate::{
    claims::{Claim, Operation, line},
    explanation::{BugKind, Explanation, Place, Role},
    facts,
    pairs::{AccessClass, CoupledPairs, PairKey},
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
    ran_before(&mut draft, view, &view.operation(late), early);
    let after = Claim::After {
        early: view.operation(early),
        late: view.operation(late),
        location: view.run.location(view.event(early).location).to_owned(),
    };
    draft.contrast(after, true, |_| true);
    // Runs that passed have the other order: then nothing orders the two.
    let other_way = PairKey {
        head: view.key(late),
        tail: view.key(early),
    };
    let has_both_orders = view.corpus.counts().ordered(other_way) > 0;
    draft.set().remark = unordered(view, early, late, has_both_orders);
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
        (false, _) if has_written_before(view, late) => {
            format!("`{name}` was read before {other} had set it again")
        }
        (false, _) => format!("`{name}` was read before {other} had set it"),
        (true, false) => {
            let who = view.words(early);
            format!("{other} overwrote the value of `{name}` that {who} had written")
        }
    }
}

/// Had the thread of a write written there before?
fn has_written_before(view: &View, row: EventId) -> bool {
    let (event, accesses) = (view.event(row), view.orders.accesses());
    let mut before = accesses.before(event.location, row).iter();
    before.any(|&other| view.thread(other) == event.thread && view.event(other).kind.writes())
}

fn detail(view: &View, early: EventId, late: EventId, name: &str) -> String {
    let (who, other) = (view.words(early), view.words(late));
    let value = |row: EventId| match view.event(row).kind.writes() {
        true => view.equals(row),
        false => view.equals_read(row),
    };
    let first = if view.event(early).kind.writes() {
        "set"
    } else {
        "read"
    };
    let (second, late_value) = match view.event(late).kind.reads() {
        true => ("read", String::new()),
        false => ("set", view.equals(late).replacen(" =", " to", 1)),
    };
    format!(
        "{who} {first} {name}{} at {} before {other} {second} it{late_value} at {}.",
        value(early),
        view.at(early),
        line(&view.place(late), &view.place(early))
    )
}

/// Why nothing prevents this order.
fn unordered(view: &View, early: EventId, late: EventId, has_both_orders: bool) -> String {
    if !view.orders.concurrent(early, late) {
        return String::new();
    }
    let is_locked = view.orders.common_lock(early, late).is_some();
    match (has_both_orders, not_waited_for(view, early, late)) {
        (true, Some(reason)) => format!("Nothing orders the two: {reason}"),
        (true, None) if is_locked => {
            "Both hold the same lock, but nothing determines which comes first.".to_owned()
        }
        (true, None) => "Nothing orders the two.".to_owned(),
        (false, reason) => reason.unwrap_or_default(),
    }
}

/// `main joins main.2 but not main.1 before.`, where the thread of `late` comes from the other one.
fn not_waited_for(view: &View, early: EventId, late: EventId) -> Option<String> {
    let (first, second) = (view.thread(early), view.thread(late));
    let joined = joined_before(view, first, early);
    if !is_ancestor(view, first, second) || joined.contains(&second) {
        return None;
    }
    let name = |thread: &ThreadId| facts::thread_name(&view.run, *thread);
    let others: Vec<String> = joined.iter().map(name).collect();
    let (who, whom) = (view.name(early), view.name(late));
    Some(match others.is_empty() {
        true => format!("{who} does not join {whom} first."),
        false => format!("{who} joins {} but not {whom} before.", and(&others)),
    })
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

/// In how many runs that passed `first` ran before the line of a row of this run, which it did not here; or else before
/// that visit of the line.
pub(super) fn ran_before(draft: &mut Draft, view: &View, first: &Operation, row: EventId) {
    let location = view.run.location(view.event(row).location);
    for visit in [None, Some(view.visit(row))] {
        let claim = Claim::Before {
            early: first.clone(),
            late: view.operation(row),
            location: location.to_owned(),
            visit,
        };
        draft.contrast(claim, false, |_| true);
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
    let set_there = |access| Operation {
        place: setter.clone(),
        access,
    };
    match set {
        Some(row) => ran_before(draft, view, &view.operation(row), reader),
        None => [AccessClass::Write, AccessClass::Update]
            .map(set_there)
            .iter()
            .for_each(|set| ran_before(draft, view, set, reader)),
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
