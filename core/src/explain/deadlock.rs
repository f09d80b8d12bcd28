//! Deadlocks: the object that every thread waits for at the end, and its holder.

use super::{
    circle::{explain_circle, wait_effect},
    draft::Draft,
    ended_sender::ended_sender,
    exhausted::exhausted,
    leaked::leaked,
    left_behind::left_behind,
    lost_wakeup::{SignalFate, idle, lost_wakeup},
    missing::{end_of, learned, tell_learned},
    own_unit::own_unit,
    spinning::spinning,
    starved::starved,
    unfinished::explain_unfinished,
    unheeded::{unannounced, unheeded},
    view::View,
    waiting::{Keeper, Keeps, WaitingThread, circle, object_name, request, waiting},
    withheld::withheld,
};
use crate::{
    explanation::{BugKind, Certainty, Explanation, Role},
    facts,
};
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, ThreadId, raw::WaitsFor};

/// Explanation of a run in which all threads wait.
pub(super) struct Hang {
    /// Explanation from the waits alone.
    pub explanation: Explanation,
    /// The wait that it explains.
    pub wait: EventId,
    /// The read that the waiting thread checked before its wait, if no signal was lost: the value that it
    /// read is the reason.
    pub condition: Option<EventId>,
    /// The fate of the signal that a wait for a condition needed.
    pub signal: Option<SignalFate>,
}

impl Hang {
    /// A hang that is no matter of a signal.
    pub(super) fn of(explanation: Explanation, wait: EventId) -> Hang {
        Hang {
            explanation,
            wait,
            condition: None,
            signal: None,
        }
    }
}

/// Explains a run in which all threads wait: for a lock that a function has not given back; in a cycle of locks, units and
/// joins; for what only those who wait would work out; for what was not sent because of a flag, or for a unit that its poster
/// took itself; for a signal that was not sent by what its sender had read; for a signal that woke another one; for a signal
/// that only those who wait for it send; for a lost signal; in a cycle that includes conditions; for a signal that no thread
/// sent; for a unit whose poster has ended; for input, without having seen a change; or one of them alone.
pub(super) fn deadlock(view: &View) -> Option<Hang> {
    let waiting = waiting(view);
    if let Some(found) = leaked(view, &waiting) {
        return Some(found);
    }
    if let Some(found) = circle(&waiting, |by| {
        !matches!(by, Keeps::Value { .. } | Keeps::Silent)
    }) {
        return Some(of_circle(view, &found));
    }
    if let Some(found) = exhausted(view, &waiting) {
        return Some(found);
    }
    if let Some(found) = unannounced(view, &waiting).or_else(|| own_unit(view, &waiting)) {
        return Some(found);
    }
    let mut waiters = waiting.clone();
    waiters.retain(|one| one.waits_for == WaitsFor::Condition);
    if let Some(found) = withheld(view, &waiters) {
        return Some(found);
    }
    let locks = waiting.iter().filter(|one| one.waits_for != WaitsFor::Join);
    let holders: Vec<ThreadId> = locks.filter_map(|one| Some(one.owner()?.0)).collect();
    let idle = idle(view, &waiting);
    let lost = lost_wakeup(view, &waiters, (&holders, &idle));
    if let Some(left) = view.unfinished().filter(|left| left.is_own(view)) {
        return Some(explain_unfinished(view, left));
    }
    // That all who signal wait is what comes of a signal that woke the wrong one of them.
    let fate = lost.as_ref().and_then(|lost| lost.signal);
    if !matches!(fate, Some(SignalFate::Elsewhere(_)))
        && let Some((explanation, first)) = starved(view, &waiting)
    {
        return Some(Hang::of(explanation, request(view, first)));
    }
    let is_never_sent = matches!(fate, Some(SignalFate::Never));
    if is_never_sent && let Some(found) = circle(&waiting, |_| true) {
        return Some(of_circle(view, &found));
    }
    let is_unannounced = matches!(fate, Some(SignalFate::Forgotten(_)));
    if let Some(lost) = lost {
        let left = view
            .unfinished()
            .filter(|left| is_never_sent || is_unannounced && left.is_skipped(view));
        let without_sender = || ended_sender(view, &waiters).filter(|_| is_never_sent);
        let told = left.map(|left| explain_unfinished(view, left));
        return told.or_else(without_sender).or(Some(lost));
    }
    if let Some(left) = view.unfinished() {
        return Some(explain_unfinished(view, left));
    }
    let mut of_units = waiting.clone();
    of_units.retain(|one| one.waits_for == WaitsFor::Semaphore);
    if let Some(found) = ended_sender(view, &of_units) {
        return Some(found);
    }
    if let Some(found) = unheeded(view, &waiting) {
        return Some(found);
    }
    let may_be = |one: &&WaitingThread| {
        let is_of_another = matches!(one.waits_for, WaitsFor::Join | WaitsFor::Nothing);
        !is_of_another && !idle.contains(&one.thread)
    };
    let stuck = waiting.iter().filter(may_be);
    let stuck = stuck.min_by_key(|one| (keeping(one, &waiting).is_none(), one.row))?;
    let explanation = stuck_alone(view, stuck, &waiting);
    Some(Hang::of(explanation, request(view, stuck)))
}

/// Explains a run that would never end by a lock of the program's own that a function has not given back; by threads that
/// wait for each other, some of them by looking again and again; or by one that looks at what a thread has left behind.
pub(super) fn endless(view: &View) -> Option<Explanation> {
    let waiting = spinning(view);
    if let Some(found) = leaked(view, &waiting) {
        return Some(found.explanation);
    }
    let found = circle(&waiting, |_| true).map(|found| explain_circle(view, &found));
    found.or_else(|| left_behind(view, &waiting))
}

fn of_circle(view: &View, circle: &[(WaitingThread, Keeper)]) -> Hang {
    let first = circle.first();
    let wait = first.map_or(view.failure, |(first, _)| request(view, first));
    Hang::of(explain_circle(view, circle), wait)
}

/// A thread that has ended and comes to the barrier no more, with the last value that it learned from another one: one that
/// came there before, or begins as the one that waits does.
fn gone(view: &View, stuck: &WaitingThread) -> Option<(EventId, EventId)> {
    if stuck.waits_for != WaitsFor::Barrier {
        return None;
    }
    let start = |thread: ThreadId| {
        let start = &view.run.meta.threads[thread].start;
        Some(start).filter(|start| !start.is_empty())
    };
    let own = start(stuck.thread);
    let arrived =
        |event: &Event| event.kind == EventKind::BarrierArrive && event.location == stuck.object;
    let rows = view.run.events.iter().filter(|(_, event)| {
        let is_sibling = own.is_some() && start(event.thread) == own;
        event.thread != stuck.thread && (is_sibling || arrived(event))
    });
    let came: BTreeSet<ThreadId> = rows.map(|(_, event)| event.thread).collect();
    let ended = came
        .into_iter()
        .filter(|&thread| end_of(view, thread) < view.failure.max(stuck.row));
    ended
        .filter_map(|thread| learned(view, thread, stuck.row))
        .max_by_key(|(_, read)| *read)
}

/// Clause such as `: run (main.3) has ended and does not come there`, where a thread waits at a barrier for such a one.
pub(super) fn without_whom(view: &View, thread: ThreadId) -> Option<String> {
    let waiting = waiting(view);
    let stuck = waiting.iter().find(|one| one.thread == thread)?;
    let (_, seen) = gone(view, stuck)?;
    Some(format!(
        ": {} has ended and does not come there",
        view.words(seen)
    ))
}

/// The holder of the lock that a thread waits for, if it waits itself.
fn keeping<'w>(stuck: &WaitingThread, waiting: &'w [WaitingThread]) -> Option<&'w WaitingThread> {
    let (owner, _) = stuck.owner()?;
    let mut others = waiting.iter().filter(|one| one.thread != stuck.thread);
    others.find(|one| one.thread == owner)
}

/// Explains one thread's wait. `waiting` are all threads that wait: what the holder of a lock waits for itself may be why
/// the lock is kept.
fn stuck_alone(view: &View, stuck: &WaitingThread, waiting: &[WaitingThread]) -> Explanation {
    let request = request(view, stuck);
    let who = facts::thread_in_words(&view.run, stuck.thread);
    let what = object_name(view, request);
    let keeping = keeping(stuck, waiting);
    let gone = gone(view, stuck);
    let headline = match (stuck.waits_for, stuck.owner()) {
        (WaitsFor::Lock | WaitsFor::SharedLock, Some((owner, _))) => match keeping {
            Some(_) => format!(
                "{who} waits for `{what}`, which {} holds while it waits itself",
                facts::thread_name(&view.run, owner)
            ),
            None => format!("{who} waits for `{what}`, which is never unlocked"),
        },
        (WaitsFor::Semaphore, _) => format!("{who} waits for a unit of `{what}` that nobody gives"),
        (WaitsFor::Barrier, _) => match gone {
            Some((_, seen)) => {
                let other = view.words(seen);
                format!("{who} waits at `{what}` for {other}, which has ended")
            }
            None => format!("{who} waits at `{what}` for threads that never come"),
        },
        (of, _) if what.is_empty() => format!("{who} waits for {} for ever", of.words()),
        _ => format!("{who} waits for `{what}` for ever"),
    };
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let mut detail = format!("{who} waits at {}", view.at(request));
    if let Some((owner, held)) = stuck.owner() {
        let owner = facts::thread_in_words(&view.run, owner);
        let locked = view.at(held);
        detail.push_str(&match keeping {
            Some(own) => format!(
                ";\n{owner} locked it at {locked} and {} at {}",
                wait_effect(view, own),
                view.at(self::request(view, own))
            ),
            None => format!(";\n{owner} locked it at {locked} and did not unlock it"),
        });
        let (note, role) = match keeping {
            Some(_) => ("holds it to the end", Role::Interference),
            None => ("never unlocked", Role::Cause),
        };
        draft.step(held, note);
        draft.mark(held, role);
        draft.set().certainty = Certainty::Likely;
    }
    if let Some(own) = keeping {
        add_wait(view, &mut draft, own);
    }
    if let Some((write, seen)) = gone {
        let learned = tell_learned(&mut draft, view, (write, seen));
        detail.push_str(&format!(";\n{} has ended: it {learned}", view.words(seen)));
        draft.mark(write, Role::Interference);
        draft.mark(seen, Role::Cause);
    }
    draft.detail(format!("{detail}."));
    add_wait(view, &mut draft, stuck);
    draft.finish()
}

/// Adds the step of a wait that does not end.
pub(super) fn add_wait(view: &View, draft: &mut Draft, waiting: &WaitingThread) {
    let request = request(view, waiting);
    let mut step = view.step(request, "for ever");
    step.does(wait_effect(view, waiting));
    draft.add(step);
    draft.mark(request, Role::Cause);
}
