//! Livelocks that the program notices itself: threads that give way to each other until one gives up.

use super::{
    draft::{Draft, line},
    locking::lock_name,
    view::View,
};
use crate::{
    explanation::{BugKind, Explanation, Role},
    orders::Section,
};
use unsnarl_trace::{EventId, EventKind};

/// The failed attempts to lock of the failing thread just before it failed, each with the place where
/// another thread had taken the lock.
pub(super) fn attempts(view: &View) -> Vec<(EventId, EventId)> {
    const JUST_BEFORE: usize = 60;
    let Some(thread) = view.failed else {
        return Vec::new();
    };
    let before = view.rows.before(thread, view.failure);
    let rows = before.iter().rev().take(JUST_BEFORE).copied();
    let tries = rows.filter(|&row| view.event(row).kind == EventKind::TryLockFailed);
    let held = |row: EventId| holder(view, row).map(|section| (section.acquired, row));
    let mut attempts: Vec<_> = tries.filter_map(held).collect();
    attempts.reverse();
    attempts
}

/// Who had the lock at an attempt that failed.
fn holder<'v>(view: &'v View, attempt: EventId) -> Option<&'v Section> {
    let (lock, thread) = (view.event(attempt).location, view.thread(attempt));
    let sections = view.orders.locks().sections().iter();
    let mut others = sections.filter(|section| section.lock == lock && section.thread != thread);
    others.find(|section| {
        section.acquired < attempt && section.released.is_none_or(|released| released > attempt)
    })
}

/// Explains that a thread gave up because the lock was taken whenever it tried.
pub(super) fn refused(view: &View, held: EventId, attempt: EventId) -> Explanation {
    let lock_of = |row| view.event(row).location;
    let mut attempts = attempts(view);
    attempts.retain(|&(other, tried)| {
        lock_of(tried) == lock_of(attempt) && view.thread(other) == view.thread(held)
    });
    let (who, other) = (view.words(attempt), view.name(held));
    let lock = holder(view, attempt).map_or_else(
        || view.variable(attempt),
        |section| lock_name(view, section),
    );
    let headline = format!("{who} gave up: `{lock}` was taken whenever it tried");
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    draft.detail(format!(
        "{} tried to lock it at {} {};\n{other} had locked it, the last time at {}.",
        view.name(attempt),
        view.at(attempt),
        times(attempts.len()),
        line(&view.place(held), &view.place(attempt)),
    ));
    draft.set().remark = back_off(view, attempt, held);
    for &(held, attempt) in attempts.iter().rev().take(2).rev() {
        draft.step(held, "");
        draft.step(attempt, "in vain");
    }
    draft.mark(attempt, Role::Cause);
    draft.mark(held, Role::Interference);
    draft.fail();
    draft.finish()
}

fn times(number: usize) -> String {
    match number {
        1 => "in vain".to_owned(),
        number => format!("{number} times in vain"),
    }
}

/// Did the other thread give up its lock as well, because of this one?
fn back_off(view: &View, attempt: EventId, held: EventId) -> String {
    let other = view.thread(held);
    let before = view.rows.before(other, view.failure).iter();
    let mut tries = before.filter(|&&row| view.event(row).kind == EventKind::TryLockFailed);
    let by_us = |row: &EventId| {
        holder(view, *row).is_some_and(|section| section.thread == view.thread(attempt))
    };
    match tries.any(by_us) {
        true => format!(
            "{} and {} keep giving way to each other: a livelock.",
            view.name(attempt),
            view.name(held)
        ),
        false => String::new(),
    }
}
