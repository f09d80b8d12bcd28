//! Deadlocks: what every thread waits for at the end, and who has it.

use super::{
    draft::Draft,
    lost_wakeup::lost_wakeup,
    missing::{end_of, learned},
    view::View,
};
use crate::{
    explanation::{BugKind, Certainty, EdgeKind, Explanation, Role},
    facts,
};
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId, raw::WaitsFor};

/// A thread that waits at the end of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    /// Who waits.
    pub thread: ThreadId,
    /// Its `Blocked` row.
    row: EventId,
    waits_for: WaitsFor,
    /// What for.
    pub object: LocationId,
    /// Who has what it waits for, and where that was taken (none for a join).
    owner: Option<(ThreadId, Option<EventId>)>,
}

/// Why a run ended in which all threads wait.
pub(super) struct Hang {
    /// By the waits alone.
    pub explanation: Explanation,
    /// The wait that it is about.
    pub wait: EventId,
    /// What the waiting thread had looked at when it began to wait, if no signal was lost: the reason lies behind it.
    pub condition: Option<EventId>,
}

/// Explains a run in which all threads wait.
pub(super) fn deadlock(view: &View) -> Option<Hang> {
    let waiting = waiting(view);
    if let Some(cycle) = cycle(&waiting) {
        return Some(Hang {
            wait: cycle
                .first()
                .map_or(view.failure, |first| request(view, first)),
            explanation: explain_cycle(view, &cycle),
            condition: None,
        });
    }
    let mut waiters = waiting.clone();
    waiters.retain(|w| w.waits_for == WaitsFor::Condition);
    let locks = waiting.iter().filter(|w| w.waits_for != WaitsFor::Join);
    let holders: Vec<ThreadId> = locks.filter_map(|w| Some(w.owner?.0)).collect();
    if let Some(told) = lost_wakeup(view, &waiters, &holders) {
        return Some(told);
    }
    let stuck = waiting
        .iter()
        .find(|w| w.waits_for != WaitsFor::Join && w.waits_for != WaitsFor::Nothing)?;
    Some(Hang {
        explanation: stuck_alone(view, stuck),
        wait: request(view, stuck),
        condition: None,
    })
}

fn waiting(view: &View) -> Vec<Waiting> {
    let blocked = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Blocked);
    let waits = blocked.filter_map(|(row, event)| {
        let waits_for = WaitsFor::from_u32(event.size)?;
        let owner = match waits_for {
            WaitsFor::Join => {
                crate::orders::other_thread(event.value).map(|thread| (ThreadId(thread), None))
            }
            WaitsFor::Lock | WaitsFor::SharedLock => owner(view, event.location, event.thread),
            _ => None,
        };
        Some(Waiting {
            thread: event.thread,
            row,
            waits_for,
            object: event.location,
            owner,
        })
    });
    waits.collect()
}

/// Who holds a lock at the end: another thread if one does, else perhaps the waiter itself.
fn owner(view: &View, lock: LocationId, waiter: ThreadId) -> Option<(ThreadId, Option<EventId>)> {
    let open = view.orders.locks().sections().iter().rev();
    let mut open = open.filter(|section| section.lock == lock && section.released.is_none());
    let other = open.clone().find(|section| section.thread != waiter);
    other
        .or_else(|| open.next())
        .map(|section| (section.thread, Some(section.acquired)))
}

/// Threads of which each waits for the next and the last for the first, beginning with the lowest; one
/// that holds a lock must be among them.
fn cycle(waiting: &[Waiting]) -> Option<Vec<Waiting>> {
    let of = |thread: ThreadId| waiting.iter().find(|w| w.thread == thread).copied();
    for start in waiting {
        let mut path = vec![*start];
        while let Some((next, _)) = path.last().and_then(|w| w.owner)
            && let Some(next) = of(next)
        {
            if next.thread == start.thread {
                return Some(path);
            }
            if path.iter().any(|w| w.thread == next.thread) {
                break;
            }
            path.push(next);
        }
    }
    None
}

/// Where a thread's wait began: its last request for the lock, or the row that says that it waits.
pub(super) fn request(view: &View, waiting: &Waiting) -> EventId {
    let before = view
        .rows
        .before(waiting.thread, waiting.row)
        .iter()
        .rev()
        .copied();
    let asks = |row: &EventId| {
        let event = view.event(*row);
        matches!(event.kind, EventKind::LockWait | EventKind::Wait)
            && event.location == waiting.object
    };
    let last = before.take(4).find(asks);
    last.unwrap_or(waiting.row)
}

/// What a row is about, as the source says it.
pub(super) fn object_name(view: &View, row: EventId) -> String {
    facts::variable(&view.run, &view.event(row))
}

fn explain_cycle(view: &View, cycle: &[Waiting]) -> Explanation {
    let names: Vec<String> = cycle
        .iter()
        .map(|w| facts::thread_name(&view.run, w.thread))
        .collect();
    let locks_only = cycle.iter().all(|w| w.waits_for != WaitsFor::Join);
    let headline = match names.as_slice() {
        [one] => format!("{one} waits for a lock that it holds itself"),
        [a, b] if locks_only => format!("{a} and {b} wait for each other's lock"),
        [a, b] => format!("{a} and {b} wait for each other"),
        many => format!("{} threads wait for each other in a circle", many.len()),
    };
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let parts: Vec<String> = cycle
        .iter()
        .map(|w| waits_in_words(view, w, cycle))
        .collect();
    draft.detail(format!("{}.", parts.join(";\n")));
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = same_site_remark(view, cycle);
    for waiting in cycle {
        if let Some((_, Some(held))) = waiting.owner {
            draft.step(held, "holds it to the end");
            draft.mark(held, Role::Interference);
        }
        let request = request(view, waiting);
        let mut step = view.step(request, "for ever");
        step.effect = wait_effect(view, waiting, request);
        draft.add(step);
        draft.mark(request, Role::Cause);
    }
    let mut explanation = draft.finish();
    explanation
        .edges
        .iter_mut()
        .for_each(|edge| edge.kind = EdgeKind::WaitsFor);
    explanation
}

fn wait_effect(view: &View, waiting: &Waiting, request: EventId) -> String {
    match waiting.waits_for {
        WaitsFor::Join => {
            let whom = waiting
                .owner
                .map(|(thread, _)| facts::thread_name(&view.run, thread));
            format!(
                "waits for the end of {}",
                whom.unwrap_or_else(|| "a thread".to_owned())
            )
        }
        _ => format!("waits for {}", object_name(view, request)),
    }
}

/// ``execute (main.1) holds `a` (line 30) and waits for `b` (line 31)``.
fn waits_in_words(view: &View, waiting: &Waiting, cycle: &[Waiting]) -> String {
    let who = facts::thread_in_words(&view.run, waiting.thread);
    let request = request(view, waiting);
    let wants = match waiting.waits_for {
        WaitsFor::Join => wait_effect(view, waiting, request),
        _ => format!(
            "waits for `{}` ({})",
            object_name(view, request),
            view.at(request)
        ),
    };
    let held = cycle
        .iter()
        .filter_map(|w| w.owner)
        .find(|(owner, held)| *owner == waiting.thread && held.is_some());
    match held.and_then(|(_, held)| held) {
        Some(held) => format!(
            "{who} holds `{}` ({}) and {wants}",
            object_name(view, held),
            view.at(held)
        ),
        None => format!("{who} {wants}"),
    }
}

/// Both threads may stand on the same lines: then the names of the locks alone tell the story.
fn same_site_remark(view: &View, cycle: &[Waiting]) -> String {
    let places: Vec<_> = cycle.iter().map(|w| view.place(request(view, w))).collect();
    let same = places
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if (&a.file, a.line) == (&b.file, b.line)));
    let says = match (same, cycle.len()) {
        (false, _) | (_, 0 | 1) => "",
        (true, 2) => {
            "The same lines lock in both orders: which lock comes first depends on the arguments."
        }
        (true, _) => {
            "All lock on the same lines: which two locks these are differs from thread to thread."
        }
    };
    says.to_owned()
}

/// A thread that used to come to the barrier and has ended: what it learned last from another one.
fn gone(view: &View, stuck: &Waiting) -> Option<(EventId, EventId)> {
    if stuck.waits_for != WaitsFor::Barrier {
        return None;
    }
    let rows = view.run.events.iter();
    let came = rows.filter(|(_, event)| {
        event.kind == EventKind::BarrierArrive
            && event.location == stuck.object
            && event.thread != stuck.thread
    });
    let came: std::collections::BTreeSet<ThreadId> = came.map(|(_, event)| event.thread).collect();
    let ended = came
        .into_iter()
        .filter(|&thread| end_of(view, thread) < view.failure.max(stuck.row));
    ended
        .filter_map(|thread| learned(view, thread, stuck.row))
        .max_by_key(|(_, read)| *read)
}

fn stuck_alone(view: &View, stuck: &Waiting) -> Explanation {
    let request = request(view, stuck);
    let who = facts::thread_in_words(&view.run, stuck.thread);
    let what = object_name(view, request);
    let headline = match (stuck.waits_for, stuck.owner) {
        (WaitsFor::Lock | WaitsFor::SharedLock, Some(_)) => {
            format!("{who} waits for `{what}`, which is never unlocked")
        }
        (WaitsFor::Semaphore, _) => format!("{who} waits for a unit of `{what}` that nobody gives"),
        (WaitsFor::Barrier, _) => format!("{who} waits at `{what}` for threads that never come"),
        _ => format!("{who} waits for `{what}` for ever"),
    };
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let mut detail = format!("{who} waits at {}", view.at(request));
    if let Some((owner, Some(held))) = stuck.owner {
        let owner = facts::thread_in_words(&view.run, owner);
        detail.push_str(&format!(
            ";\n{owner} locked it at {} and did not unlock it",
            view.at(held)
        ));
        draft.step(held, "never unlocked");
        draft.mark(held, Role::Cause);
        draft.set().certainty = Certainty::Likely;
    }
    if let Some((write, seen)) = gone(view, stuck) {
        detail.push_str(&format!(
            ";\n{} has ended: it had read {}{} at {}, written by {} at {}",
            view.words(seen),
            view.variable_of(&[seen, write]),
            view.equals(seen),
            view.at(seen),
            view.words(write),
            view.at(write)
        ));
        draft.step(write, "");
        draft.step(seen, "the last that it learned");
        draft.mark(write, Role::Interference);
        draft.mark(seen, Role::Cause);
    }
    draft.detail(format!("{detail}."));
    let mut step = view.step(request, "for ever");
    step.effect = wait_effect(view, stuck, request);
    draft.add(step);
    draft.mark(request, Role::Cause);
    draft.finish()
}
