//! Explanation of a premature announcement.

use super::{
    announced::{Needs, is_on_the_way, stands_above},
    draft::Draft,
    missing::has_old_value,
    order::{Publication, tell_order},
    view::View,
};
use crate::{
    claims::line,
    explanation::{BugKind, Explanation},
    facts,
};
use unsnarl_trace::{EventId, EventKind, Outcome};

/// Explains that a thread made the announcement before the write that the receiving thread depends on.
pub(super) fn too_early(view: &View, given: &Publication, needs: &Needs) -> Explanation {
    let (reader, stored) = (needs.reader, view.place(given.store));
    let (flag, name) = (
        view.variable_of(&[given.store, given.load]),
        view.variable(reader),
    );
    let headline = headline(view, given, needs, [&flag, &name]);
    let mut draft = Draft::new(view, kind(view, given), headline);
    draft.detail(format!(
        "{}{}, {} {} at {} and then {} at {};\n{}.",
        gave(view, given.store, &flag),
        called_at(view, given.store, needs),
        view.words(reader),
        took(view, given, &flag),
        line(&view.place(given.load), &stored),
        accessed(view, reader, given.load, &name),
        line(&view.place(reader), &stored),
        sets_later(view, given, needs, &name),
    ));
    tell_order(
        &mut draft,
        view,
        given,
        reader,
        &needs.setter,
        needs.written,
    );
    draft.fail();
    draft.finish()
}

fn headline(view: &View, given: &Publication, needs: &Needs, names: [&str; 2]) -> String {
    let [flag, name] = names;
    let set = if is_unset(view, needs.reader) {
        "set"
    } else {
        "changed"
    };
    let done = match view.event(given.store).kind {
        EventKind::SemPost => "posted",
        EventKind::Signal | EventKind::Broadcast => "signalled",
        _ => "changed",
    };
    match done == set {
        _ if is_on_the_way(view, given.store, needs) => {
            format!("`{flag}` was {done} before the last change of `{name}`")
        }
        true => format!("`{flag}` was {done} before `{name}` was"),
        false => format!("`{flag}` was {done} before `{name}` was {set}"),
    }
}

/// The change that was still to come when the reader looked, in words.
fn sets_later(view: &View, given: &Publication, needs: &Needs, name: &str) -> String {
    let (who, at) = (
        view.name(given.store),
        line(&needs.setter, &view.place(given.store)),
    );
    let is_unset = is_unset(view, needs.reader);
    // A container is filled step by step; of steps that the run has not come to the last is the one that is told.
    let location = view.run.location(view.event(needs.reader).location);
    let has_size = facts::measure(location).is_some() && needs.written.is_none();
    match is_on_the_way(view, given.store, needs) {
        true => format!("in passing runs {name} had been changed more often by then, at {at}"),
        false if has_size => format!("{who} changes {name} only after that, up to {at}"),
        false if is_unset => format!("{who} sets {name} only at {at}"),
        false => format!("{who} changes {name} only at {at}"),
    }
}

/// A signal that is sent before the change is lost where its receiver goes back to sleep for ever.
fn kind(view: &View, given: &Publication) -> BugKind {
    let is_signal = matches!(
        view.event(given.store).kind,
        EventKind::Signal | EventKind::Broadcast
    );
    let hangs = view.run.meta.outcome == Outcome::Deadlocked;
    match is_signal && hangs {
        true => BugKind::LostWakeup,
        false => BugKind::OrderViolation,
    }
}

/// Returns whether a read saw only the value from before the threads began.
pub(super) fn is_unset(view: &View, reader: EventId) -> bool {
    let event = view.event(reader);
    !has_old_value(view, reader) && !event.kind.writes()
}

/// An announcement in words: `produce (main.1) set ready = 1 at queue.c:12`, `put (main.2) posted permits at
/// pool.c:30`.
fn gave(view: &View, store: EventId, name: &str) -> String {
    let (who, at) = (view.words(store), view.at(store));
    match (view.event(store).kind, view.update_in_words(store)) {
        (EventKind::SemPost, _) => format!("{who} posted {name} at {at}"),
        (EventKind::Signal | EventKind::Broadcast, _) => format!("{who} signalled {name} at {at}"),
        (_, Some(update)) => format!("{who} updated {name} {update} at {at}"),
        (_, None) => format!("{who} set {name}{} at {at}", view.equals(store)),
    }
}

/// Text ` (called at line 45)`, for an announcement in a function that the setter's function calls.
pub(super) fn called_at(view: &View, store: EventId, needs: &Needs) -> String {
    let own = view.event(store).site;
    let call = stands_above(view, store, needs).filter(|site| *site != own);
    call.map_or_else(String::new, |site| {
        let place = facts::place(&view.run, site);
        format!(" (called at {})", line(&place, &view.place(store)))
    })
}

/// Another thread may have gone on from what was stored: what was read is told then.
fn took(view: &View, given: &Publication, name: &str) -> String {
    let [store, load] = [given.store, given.load].map(|row| view.event(row));
    let is_seen = view.source(given.load) == Some(given.store);
    match load.kind {
        EventKind::SemWait => "took a unit of it".to_owned(),
        EventKind::Wake => "woke up by it".to_owned(),
        _ if is_seen && load.value == store.value => "read it".to_owned(),
        _ => format!("read {name}{}", view.equals_read(given.load)),
    }
}

/// An access in words: `n = 0` after `read it`; else with its verb.
fn accessed(view: &View, reader: EventId, load: EventId, name: &str) -> String {
    let (event, has_read) = (view.event(reader), view.event(load).kind.reads());
    match view.update_in_words(reader) {
        Some(update) => format!("updated {name} {update}"),
        None if event.kind.writes() => format!("set {name}{}", view.equals(reader)),
        None if has_read => format!("{name}{}", view.equals(reader)),
        None => format!("read {name}{}", view.equals(reader)),
    }
}
