//! Order violations: two accesses in an unintended order, and writes that never happened.

use super::{
    announced::{Needs, announcement, announcement_of},
    both_looked::BothLooked,
    draft::Draft,
    late_entry::{late_entry, not_counted},
    look::{GoneOn, StaleLook, tell_look},
    lost_wakeup,
    missing::absent,
    too_early::{is_unset, too_early},
    torn,
    unread::{tell_left, tell_unread, tell_written_over},
    view::View,
};
use crate::{
    claims::{Claim, Operation, line},
    explanation::{BugKind, Explanation, Place, Role},
    facts::{self, ValueKind},
    pairs::{AccessClass, CoupledPairs, PairKey},
};
use unsnarl_trace::{EventId, EventKind, ThreadId};

/// Explains that `early` ran before `late`.
pub(super) fn swapped(view: &View, early: EventId, late: EventId) -> Explanation {
    torn::half_done(view, early, late).unwrap_or_else(|| ordered(view, early, late))
}

/// Explains the same where no other change belongs to the two.
pub(super) fn ordered(view: &View, early: EventId, late: EventId) -> Explanation {
    // Who only reads sets nothing too late.
    let sets = view.event(late).kind.writes();
    if let Some(published) = publication(view, early).filter(|_| sets)
        && view.thread(published.store) == view.thread(late)
        && published.comes_before(view, &view.place(late))
        && let Some(told) = published_early(view, &published, &Needs::written(view, early, late))
    {
        return told;
    }
    let needs = Needs::written(view, early, late);
    if sets && let Some(announced) = announcement(view, &needs) {
        return too_early(view, &announced, &needs);
    }
    if let Some(found) = late_entry(view, early, late) {
        return not_counted(view, found, early, late);
    }
    // The order of the two is right where the first is the check before a wait: what is missing is the signal.
    let is_check = |check: EventId, write: EventId| {
        let location = |row: EventId| view.event(row).location;
        view.thread(check) == view.thread(early)
            && check >= early
            && [check, write].map(location) == [early, late].map(location)
    };
    if let Some(unwoken) = lost_wakeup::forgotten(view, is_check) {
        return unwoken;
    }
    match BothLooked::of(view, early, late) {
        Some(looked) => looked.explain(view),
        None => plain(view, early, late),
    }
}

/// Explains the order of the two accesses, whatever led there.
pub(super) fn plain(view: &View, early: EventId, late: EventId) -> Explanation {
    let name = view.variable_of(&[late, early]);
    let stale = StaleLook::before(view, late);
    let gone_on = GoneOn::after(view, early, late);
    let headline = match (&stale, &gone_on) {
        (Some(stale), _) => stale.headline(view, late, &name),
        (None, Some(gone_on)) => gone_on.headline(view, late, &name),
        (None, None) => headline(view, early, late, &name),
    };
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    draft.detail(detail(view, early, late, &name));
    ran_before(&mut draft, view, &view.operation(late), early);
    let counts = view.corpus.counts();
    let pair = PairKey {
        head: view.key(early),
        tail: view.key(late),
    };
    let location = view.run.location(view.event(early).location).to_owned();
    // Where passing runs have the order of another round, the numbers of the visits tell the two apart.
    if counts.ordered(pair) > 0 {
        let in_this_round = Claim::BeforeBy {
            early: view.operation(early),
            by: view.visit(early),
            late: view.operation(late),
            location: location.clone(),
            visit: view.visit(late),
        };
        draft.contrast(in_this_round, true, |counted| counted.holds_in == 0);
    }
    let after = Claim::After {
        early: view.operation(early),
        late: view.operation(late),
        location,
    };
    draft.contrast(after, true, |_| true);
    // If passing runs have the opposite order, nothing orders the two.
    let has_both_orders = counts.ordered(pair.reversed()) > 0;
    draft.set().remark = unordered(view, early, late, has_both_orders);
    if view.event(late).kind.writes() && view.orders.common_lock(early, late).is_none() {
        tell_look(&mut draft, view, early, &[view.thread(late)]);
    }
    if let Some(stale) = &stale {
        stale.tell(&mut draft, view, late);
    }
    if view.event(late).kind.writes() {
        tell_left(&mut draft, view, early, late);
    }
    if view.event(late).kind.reads() {
        tell_unread(&mut draft, view, late);
        tell_written_over(&mut draft, view, early, late);
    }
    if let Some(before) = last_use_before(view, early, late) {
        draft.step(before, "");
    }
    draft.step(early, if gone_on.is_some() { "" } else { "too early" });
    draft.step(late, "");
    if let Some(gone_on) = gone_on.filter(|_| stale.is_none()) {
        gone_on.tell(&mut draft, view);
    }
    draft.mark(early, Role::Cause);
    draft.mark(late, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The other thread's last use of the variable before it was changed, whose value it relied on.
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
    view.value(row)
        .is_some_and(|value| value.kind == ValueKind::Null)
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

/// Returns whether the thread of a write had written the location before.
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
    let (second, late_value) = match (view.update_in_words(late), view.event(late).kind.reads()) {
        (Some(update), _) => ("updated", format!(" {update}")),
        (None, _) if view.event(late).kind == EventKind::Rmw => ("updated", String::new()),
        (None, true) => ("read", String::new()),
        (None, false) => ("set", view.equals(late).replacen(" =", " to", 1)),
    };
    format!(
        "{who} {first} {name}{} at {} before {other} {second} it{late_value} at {}.",
        value(early),
        view.at(early),
        line(&view.place(late), &view.place(early))
    )
}

/// Reason why nothing prevents this order.
fn unordered(view: &View, early: EventId, late: EventId, has_both_orders: bool) -> String {
    if !view.orders.concurrent(early, late) {
        return String::new();
    }
    let is_locked = view.orders.common_lock(early, late).is_some();
    match (has_both_orders, not_waited_for(view, early, late)) {
        (true, Some(reason)) => format!("{}: {reason}", view.nothing_orders()),
        (true, None) if is_locked => {
            "Both hold the same lock, but nothing determines which comes first.".to_owned()
        }
        (true, None) => format!("{}.", view.nothing_orders()),
        (false, reason) => reason.unwrap_or_default(),
    }
}

/// Sentence about missing joins: `main joins main.2 but not main.1 before.`, where the thread of `late`
/// descends from the other one.
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
        false => format!("{who} joins {} but not {whom} before.", facts::and(&others)),
    })
}

/// Returns whether `thread` created `other`, directly or through its descendants.
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

/// States in how many passing runs `first` ran before the line of a row of this run, unlike here; or else
/// before that visit of the line.
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

/// Explains a couple of which one pair publishes a pointer and the other is a use before its target was
/// ready.
pub(super) fn handed_over(view: &View, couple: &CoupledPairs) -> Option<Explanation> {
    let (reader, setter) = (couple.second.head, couple.second.tail);
    let published = publication(view, reader)?;
    let sets = view.event(setter).kind.writes();
    let is_its = published.store == couple.first.head;
    (sets && is_its && published.comes_before(view, &view.place(setter)))
        .then(|| published_early(view, &published, &Needs::written(view, reader, setter)))?
}

/// Explains that a thread reached a block before a write that it needs: by the announcement that came with the
/// pointer, or else by the pointer itself. `None` where most passing runs come there by the pointer without that write: it makes
/// nothing ready.
pub(super) fn published_early(
    view: &View,
    published: &Publication,
    needs: &Needs,
) -> Option<Explanation> {
    if let Some(announced) = announcement_of(view, published, needs) {
        return Some(too_early(view, &announced, needs));
    }
    let told = too_visible(view, published, needs.reader, &needs.setter, needs.written);
    let mut claims = told.claims.iter();
    let is_the_rule = claims.all(|claim| claim.holds_in * 2 >= claim.of);
    is_the_rule.then_some(told)
}

/// Publication of a pointer, through which another thread reached a block that was not ready.
#[derive(Clone, Copy)]
pub(super) struct Publication {
    /// Row that stored the pointer.
    pub store: EventId,
    /// Row at which the other thread read it.
    pub load: EventId,
}

impl Publication {
    /// Returns whether the source stores the pointer before it sets the data behind it. In the opposite case
    /// the store belongs to an earlier round, and the block has been used before.
    pub fn comes_before(&self, view: &View, setter: &Place) -> bool {
        let store = view.place(self.store);
        (&store.file, &store.function) != (&setter.file, &setter.function)
            || store.line < setter.line
    }
}

/// The publication of the pointer through which the reader reached the location, if another thread had stored
/// it.
pub(super) fn publication(view: &View, reader: EventId) -> Option<Publication> {
    const NEAR: usize = 60;
    let block = |location| view.run.block(location).to_owned();
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

/// Explains that a pointer was stored before its target was ready.
fn too_visible(
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
        view.equals_read(reader),
        line(&view.place(reader), &stored),
        view.name(published.store),
        line(setter, &stored)
    ));
    tell_order(&mut draft, view, published, reader, setter, set);
    draft.fail();
    draft.finish()
}

/// Adds the steps and marks of an unintended order of store, read and write, and the contrast with passing
/// runs.
pub(super) fn tell_order(
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
    draft.source(published.load, published.store);
    draft.step(published.load, "");
    let note = match (view.event(reader).kind.reads(), is_unset(view, reader)) {
        (false, _) => "",
        (true, true) => "not set yet",
        (true, false) => "the old value",
    };
    draft.step(reader, note);
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
