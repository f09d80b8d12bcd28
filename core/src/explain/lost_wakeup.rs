//! Lost wakeups: a signal that came too early, that woke another thread, that a change lacked, or that was
//! never sent.

use super::{
    deadlock::Hang,
    draft::Draft,
    locking::lock_name,
    look::asks,
    unaware::unaware,
    view::View,
    waiting::{WaitingThread, changed_since, object_name, request, sends, waiting},
};
use crate::{
    callers,
    explanation::{BugKind, Certainty, Explanation, Role},
    facts,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use unsnarl_trace::{
    Event, EventId, EventKind, LocationId, SiteId, SiteRow, ThreadId, Value, raw::WaitsFor,
};

/// Fate of the signal that a waiting thread needed.
#[derive(Clone, Copy)]
pub(super) enum SignalFate {
    /// It was sent while no thread waited.
    Early(EarlySignal),
    /// It was sent while the thread waited, and woke another one.
    Elsewhere(Stolen),
    /// The checked data was changed here, without a signal after that.
    Forgotten(EventId),
    /// There was no signal.
    Never,
}

/// A signal that was sent before its wait.
#[derive(Clone, Copy)]
pub(super) struct EarlySignal {
    signal: EventId,
    /// The look by which the thread came to wait, where it is known.
    check: Option<EventId>,
}

/// A signal that went to another thread.
#[derive(Clone, Copy)]
pub(super) struct Stolen {
    signal: EventId,
    woken: EventId,
    /// Row at which that thread began to wait again, if it did.
    waits_again: Option<EventId>,
}

impl SignalFate {
    /// Determines the fate of the signal that a waiting thread should have received.
    fn of(view: &View, waiter: &WaitingThread) -> SignalFate {
        let wait = request(view, waiter);
        let checked = checked_before(view, wait);
        if let Some(stolen) = stolen(view, wait) {
            return SignalFate::Elsewhere(stolen);
        }
        let early = || {
            let signal = unheard(view, waiter.object, wait, checked)?;
            let check = checked;
            Some(EarlySignal { signal, check })
        };
        let behind = || behind_a_look(view, waiter.object, wait);
        let early = match checked {
            Some(_) => early().or_else(behind),
            None => behind().or_else(early),
        };
        if let Some(early) = early {
            return SignalFate::Early(early);
        }
        untold(view, waiter).map_or(SignalFate::Never, |(_, change)| {
            SignalFate::Forgotten(change)
        })
    }

    /// Rank of the explanation: the more is known, the better.
    fn rank(&self) -> u8 {
        match self {
            SignalFate::Elsewhere(_) => 0,
            SignalFate::Early(_) => 1,
            SignalFate::Forgotten(_) => 2,
            SignalFate::Never => 3,
        }
    }
}

/// Explains why threads wait for conditions for ever, by the one with the best-known cause; one that holds an
/// object that others wait for comes first (`holders`), and one that would signal what others wait for before those. Those
/// that are `idle` explain nothing.
pub(super) fn lost_wakeup(
    view: &View,
    waiters: &[WaitingThread],
    (holders, idle): (&[ThreadId], &[ThreadId]),
) -> Option<Hang> {
    let known = waiters
        .iter()
        .filter(|waiter| !idle.contains(&waiter.thread))
        .map(|waiter| (waiter, SignalFate::of(view, waiter)));
    let (waiter, sent) = known.min_by_key(|(waiter, sent)| {
        let is_holder = holders.contains(&waiter.thread);
        (
            !is_holder,
            sent.rank(),
            !keeps_others(view, waiter, waiters),
        )
    })?;
    let wait = request(view, waiter);
    let condition = match sent {
        SignalFate::Never => checked_before(view, wait),
        SignalFate::Early(_) | SignalFate::Elsewhere(_) | SignalFate::Forgotten(_) => None,
    };
    Some(Hang {
        explanation: explain(view, waiter, waiters, sent),
        wait,
        condition,
        signal: Some(sent),
    })
}

/// Threads of a pool that have nothing to do: several that wait for one condition by the same line, and lack no signal. None
/// where no other thread waits for anything but the end of a thread.
pub(super) fn idle(view: &View, waiting: &[WaitingThread]) -> Vec<ThreadId> {
    let conditions = waiting
        .iter()
        .filter(|one| one.waits_for == WaitsFor::Condition);
    let conditions =
        conditions.filter(|one| matches!(SignalFate::of(view, one), SignalFate::Never));
    let mut alike: BTreeMap<(LocationId, Vec<SiteId>), Vec<ThreadId>> = BTreeMap::new();
    for one in conditions {
        let calls = callers::call_sites(&view.run, request(view, one));
        alike
            .entry((one.object, calls))
            .or_default()
            .push(one.thread);
    }
    let pools = alike.into_values().filter(|threads| threads.len() > 1);
    let idle: Vec<ThreadId> = pools.flatten().collect();
    let mut others = waiting.iter().filter(|one| !idle.contains(&one.thread));
    let waits = |one: &WaitingThread| !matches!(one.waits_for, WaitsFor::Join | WaitsFor::Nothing);
    if others.any(waits) { idle } else { Vec::new() }
}

/// Returns whether a thread signals what another one waits for, in runs that pass: that one may wait only since this one does.
fn keeps_others(view: &View, waiter: &WaitingThread, waiters: &[WaitingThread]) -> bool {
    let mut others = waiters.iter().filter(|one| one.thread != waiter.thread);
    others.any(|other| {
        other.object != waiter.object && sends(view, waiter.thread, other.object).is_some()
    })
}

/// Explains that a thread waits for ever for a change that came after its check, and of which no signal told it.
/// `matters` is asked of the check and the change: there may be several such waits.
pub(super) fn forgotten(
    view: &View,
    matters: impl Fn(EventId, EventId) -> bool,
) -> Option<Explanation> {
    let waiters = waiting(view);
    let conditions = waiters
        .iter()
        .filter(|one| one.waits_for == WaitsFor::Condition);
    let mut changes = conditions.filter_map(|waiter| {
        let (check, write) = untold(view, waiter)?;
        matters(check, write).then_some((waiter, write))
    });
    let (waiter, write) = changes.next()?;
    Some(explain(
        view,
        waiter,
        &waiters,
        SignalFate::Forgotten(write),
    ))
}

fn explain(
    view: &View,
    waiter: &WaitingThread,
    waiters: &[WaitingThread],
    sent: SignalFate,
) -> Explanation {
    let wait = request(view, waiter);
    let condition = object_name(view, wait);
    let who = facts::thread_in_words(&view.run, waiter.thread);
    let headline = match sent {
        SignalFate::Early(_) => format!("{who} waits for a signal that was already sent"),
        SignalFate::Elsewhere(_) => format!("{who} waits for a signal that went to another thread"),
        SignalFate::Forgotten(write) => format!(
            "{who} is not woken after `{}` was changed",
            view.variable(write)
        ),
        SignalFate::Never => format!("{who} waits for a signal that never comes"),
    };
    let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
    draft.set().certainty = match sent {
        SignalFate::Never | SignalFate::Forgotten(_) => Certainty::Possible,
        SignalFate::Early(_) | SignalFate::Elsewhere(_) => Certainty::Likely,
    };
    let began = format!(
        "{} began to wait at {}",
        facts::thread_name(&view.run, waiter.thread),
        view.at(wait)
    );
    match &sent {
        SignalFate::Early(early) => tell_early(view, &mut draft, (early.signal, wait), &condition),
        SignalFate::Elsewhere(stolen) => tell_stolen(view, &mut draft, stolen, &condition),
        SignalFate::Forgotten(write) => {
            tell_forgotten(view, &mut draft, *write, waiter, &condition, &began)
        }
        SignalFate::Never => {
            let about = |(row, event): (EventId, unsnarl_trace::Event)| {
                row > wait
                    && event.location == waiter.object
                    && matches!(event.kind, EventKind::Signal | EventKind::Broadcast)
            };
            draft.detail(match view.run.events.iter().any(about) {
                true => format!("{began} for `{condition}`."),
                false => format!("{began} for `{condition}`; no thread signalled it after that."),
            });
        }
    }
    if !matches!(sent, SignalFate::Elsewhere(_)) {
        let (signal, checked) = match sent {
            SignalFate::Early(early) => (Some(early.signal), early.check),
            SignalFate::Forgotten(_) => (None, untold(view, waiter).map(|(look, _)| look)),
            SignalFate::Elsewhere(_) | SignalFate::Never => (None, checked_before(view, wait)),
        };
        tell_check(view, &mut draft, wait, (signal, checked));
    }
    if let SignalFate::Forgotten(write) = sent
        && let Some(unaware) = unaware(view, wait, write)
    {
        let said = std::mem::take(&mut draft.set().remark);
        draft.set().remark = format!("{} {said}", unaware.in_words(view))
            .trim_end()
            .to_owned();
        draft.step(unaware.look, "");
        draft.step(unaware.change, "");
    }
    if matches!(sent, SignalFate::Never) {
        tell_others(view, &mut draft, waiter, waiters);
    }
    let mut step = view.step(wait, "for ever");
    step.does(format!("waits for {condition}"));
    draft.add(step);
    draft.mark(wait, Role::Cause);
    draft.finish()
}

fn tell_early(view: &View, draft: &mut Draft, (signal, wait): (EventId, EventId), condition: &str) {
    let who = view.name(wait);
    let (when, label) = match woke_nobody(&view.event(signal)) {
        true => ("while nobody waited".to_owned(), "nobody waits".to_owned()),
        false => (
            format!("before {who} waited"),
            format!("before {who} waits"),
        ),
    };
    draft.detail(format!(
        "{} signalled `{condition}` at {} {when};\n{who} began to wait at {}.",
        view.words(signal),
        view.at(signal),
        view.at(wait),
    ));
    draft.step(signal, label);
    draft.mark(signal, Role::Interference);
}

/// Explains a change without a signal, and names the signal sent instead.
fn tell_forgotten(
    view: &View,
    draft: &mut Draft,
    write: EventId,
    waiter: &WaitingThread,
    condition: &str,
    began: &str,
) {
    let who = view.words(write);
    draft.detail(format!(
        "{began} for `{condition}`;\n{who} changed `{}`{} at {}, and no thread signalled `{condition}` after that{}.",
        view.variable(write),
        view.equals(write).replacen(" =", " to", 1),
        view.at(write),
        instead(view, write, waiter.object),
    ));
    draft.step(write, "not signalled");
    draft.mark(write, Role::Interference);
}

/// Clause such as ``; it signalled `not_empty` at line 35``: the next other condition that the thread signals
/// before it reaches the changed variable again, or waits.
fn instead(view: &View, write: EventId, condition: LocationId) -> String {
    let rows = view.rows.after(view.thread(write), write).iter().copied();
    let changed = view.event(write).location;
    let comes_again = |row: &EventId| {
        let event = view.event(*row);
        event.location == changed || event.kind == EventKind::Wait
    };
    let mut signals = rows.take_while(|row| !comes_again(row)).filter(|row| {
        let event = view.event(*row);
        matches!(event.kind, EventKind::Signal | EventKind::Broadcast)
            && event.location != condition
    });
    signals.next().map_or(String::new(), |row| {
        let other = object_name(view, row);
        format!(";\nit signalled `{other}` at {}", view.at(row))
    })
}

/// A look of a waiting thread, with the last change by another thread of what it had seen there, if no signal of its
/// condition came after that: the look that led to the wait, or the last one with the lock at what others change. A value
/// that is again the one that it had read is no change: a thread of a pool that has found nothing to do waits as it should
/// when another one has done what came in.
fn untold(view: &View, waiter: &WaitingThread) -> Option<(EventId, EventId)> {
    let wait = request(view, waiter);
    let looks = checked_before(view, wait).into_iter();
    let mut looks = looks.chain(last_looks(view, wait));
    looks.find_map(|read| {
        let write = changed_since(view, read)?;
        let (was, is) = (view.event(read).value, view.event(write).value);
        let is_as_before = was.is_some() && was == is;
        let is_untold = !is_as_before && !is_signalled_after(view, waiter.object, write);
        is_untold.then_some((read, write))
    })
}

/// The reads on the last line at which a thread has looked at what others change, since it has the lock of its wait.
pub(super) fn last_looks(view: &View, wait: EventId) -> Vec<EventId> {
    let reads = looks_since_locked(view, wait).into_iter();
    let reads = reads.filter(|row| !is_own(view, *row, wait));
    let looks: Vec<EventId> = reads
        .filter(|row| view.is_changed_by_others(*row))
        .collect();
    let line = |row: EventId| {
        let place = view.place(row);
        (place.file, place.line)
    };
    let last = looks.first().map(|row| line(*row));
    let of_line = looks.into_iter().take_while(|row| Some(line(*row)) == last);
    of_line.collect()
}

/// The reads of a thread since it has the lock of its wait, the latest first.
pub(super) fn looks_since_locked(view: &View, wait: EventId) -> Vec<EventId> {
    let since = locked_since(view, wait);
    let reads = reads_before(view, wait).into_iter();
    reads.filter(|row| *row > since).collect()
}

/// Returns whether the thread of a read changes what it has read before it waits: a count of those who wait.
fn is_own(view: &View, read: EventId, wait: EventId) -> bool {
    let location = view.event(read).location;
    let own = view.own_before(wait).take_while(|row| *row > read);
    let mut own = own.map(|row| view.event(row));
    own.any(|event| event.location == location && event.kind.writes())
}

/// Returns whether a condition is signalled after a row.
fn is_signalled_after(view: &View, condition: LocationId, row: EventId) -> bool {
    view.run.events.iter().any(|(later, event)| {
        later > row
            && event.location == condition
            && matches!(event.kind, EventKind::Signal | EventKind::Broadcast)
    })
}

/// Mentions the other threads that wait for conditions, since the reason may lie with them.
fn tell_others(view: &View, draft: &mut Draft, waiter: &WaitingThread, waiters: &[WaitingThread]) {
    for other in waiters.iter().filter(|one| one.thread != waiter.thread) {
        let wait = request(view, other);
        if let Some(read) = checked_before(view, wait) {
            draft.step(read, "");
        }
        let mut step = view.step(wait, "for ever");
        step.does(format!("waits for {}", object_name(view, wait)));
        draft.add(step);
        draft.mark(wait, Role::Cause);
    }
}

/// Explains several threads that wait for one condition, of which one signal wakes only one.
fn tell_stolen(view: &View, draft: &mut Draft, stolen: &Stolen, condition: &str) {
    let Stolen {
        signal,
        woken,
        waits_again,
    } = *stolen;
    let then = match waits_again {
        Some(again) => format!(",\nwhich began to wait again at {}", view.at(again)),
        None => " only".to_owned(),
    };
    draft.detail(format!(
        "{} signalled `{condition}` at {} and woke {}{then}.",
        view.words(signal),
        view.at(signal),
        view.words(woken),
    ));
    draft.set().remark =
        format!("Both wait for `{condition}`, and a signal wakes only one of those that wait.");
    draft.step(signal, format!("wakes {}", view.name(woken)));
    draft.mark(signal, Role::Interference);
    if let Some(waits_again) = waits_again {
        let mut again = view.step(waits_again, "for ever");
        again.does(format!("waits for {condition}"));
        draft.add(again);
        draft.mark(waits_again, Role::Cause);
    }
}

fn tell_check(
    view: &View,
    draft: &mut Draft,
    wait: EventId,
    (signal, checked): (Option<EventId>, Option<EventId>),
) {
    let looked = |read| {
        let (what, at) = (view.variable(read), view.at(read));
        format!("It last checked `{what}` at {at}")
    };
    draft.set().remark = match checked {
        Some(read) if signal.is_some_and(|signal| signal > read) => {
            let change = changed_since(view, read).filter(|change| *change < wait);
            if let Some(change) = change {
                draft.step(change, "");
            }
            let without = unlocked_change(view, read, wait).map(|words| format!(" {words}"));
            format!(
                "{}: the signal came between that and the wait.{}",
                looked(read),
                without.unwrap_or_default()
            )
        }
        Some(read) => format!("{}.", looked(read)),
        None => match own_look(view, wait) {
            Some(look) => {
                draft.step(look, "");
                format!(
                    "It last checked `{}` at {}, which no other thread uses in this run.",
                    view.variable(look),
                    view.at(look)
                )
            }
            None if reads_before(view, wait).is_empty() => {
                "Nothing is checked before the wait.".to_owned()
            }
            None => String::new(),
        },
    };
    if let Some(read) = checked {
        draft.step(read, "");
        draft.mark(read, Role::Cause);
    }
}

/// The change between a check and its wait that was made without the lock which the waiting thread holds from one to
/// the other, with the sentence that says so: with the lock it would have come before the check, or after the wait had
/// begun.
fn unlocked_change(view: &View, read: EventId, wait: EventId) -> Option<String> {
    let change = changed_since(view, read).filter(|change| *change < wait)?;
    let held = view.orders.locks_held(read);
    let mut sections = held.iter();
    let section = sections.find(|section| {
        let (waiting, changing) = (view.orders.locks_held(wait), view.orders.locks_held(change));
        waiting
            .iter()
            .any(|other| other.acquired == section.acquired)
            && changing.iter().all(|other| other.lock != section.lock)
    })?;
    Some(format!(
        "`{}` is changed at {} without `{}`, which {} holds from the check to the wait.",
        view.variable(change),
        view.at(change),
        lock_name(view, section),
        view.name(wait),
    ))
}

/// Does a thread change anything between being woken and waiting again? It made use of the signal then, as a thread of a
/// pool that takes a task; what it counts up and down around its wait is no change.
fn made_use(view: &View, woken: EventId, again: EventId) -> bool {
    let accesses = view.orders.accesses();
    let rows = view.rows.after(view.thread(woken), woken).iter().copied();
    let rows = rows.take_while(|row| *row < again);
    let writes = rows.filter(|row| {
        let event = view.event(*row);
        event.kind.writes() && accesses.is_shared(event.location)
    });
    let last: FxHashMap<LocationId, EventId> =
        writes.map(|row| (view.event(row).location, row)).collect();
    last.into_iter().any(|(location, row)| {
        let before = accesses.before(location, woken).iter().rev();
        let mut before = before.filter(|row| view.event(**row).kind.writes());
        before
            .next()
            .is_none_or(|known| view.event(*known).value != view.event(row).value)
    })
}

/// The last signal during the wait, if it woke another thread that could do nothing with it.
fn stolen(view: &View, wait: EventId) -> Option<Stolen> {
    let (condition, waiter) = (view.event(wait).location, view.thread(wait));
    let about = |kind: EventKind| {
        view.run
            .events
            .iter()
            .filter(move |(_, event)| event.location == condition && event.kind == kind)
            .map(|(row, _)| row)
    };
    let signal = about(EventKind::Signal).filter(|row| *row > wait).last()?;
    let is_signalled = |row: &EventId| !matches!(view.event(*row).value, Some(Value::Bits(1 | 2)));
    let mut wakes = about(EventKind::Wake).filter(is_signalled);
    let woken = wakes.find(|row| *row > signal && view.thread(*row) != waiter)?;
    let again = |row: &EventId| *row > woken && view.thread(*row) == view.thread(woken);
    let waits_again = about(EventKind::Wait).find(again);
    if waits_again.is_some_and(|again| made_use(view, woken, again)) {
        return None;
    }
    Some(Stolen {
        signal,
        woken,
        waits_again,
    })
}

/// The last signal before the wait that would have woken this thread during a wait: another thread's, none that the
/// thread has waited after before, and none before its check, which could see what was signalled. A signal that woke
/// another thread may have been meant for that one; a broadcast is for all.
fn unheard(
    view: &View,
    condition: LocationId,
    wait: EventId,
    checked: Option<EventId>,
) -> Option<EventId> {
    let waiter = view.thread(wait);
    let mut own = view.rows.before(waiter, wait).iter().rev();
    let woke = |row: &&EventId| {
        let event = view.event(**row);
        event.kind == EventKind::Wake && event.location == condition
    };
    let since = own.find(woke).copied();
    let signals = view.run.events.iter().filter(|(row, event)| {
        *row < wait
            && since.is_none_or(|woke| *row > woke)
            && checked.is_none_or(|read| *row > read)
            && event.thread != waiter
            && event.location == condition
            && match event.kind {
                EventKind::Signal => woke_nobody(event),
                EventKind::Broadcast => checked.is_some() || woke_nobody(event),
                _ => false,
            }
    });
    signals.map(|(row, _)| row).last()
}

/// The last signal before the wait of a thread that had changed before it what this one had looked at, on its way to the wait,
/// and did not look at again, whatever else it asked after that: `while (running) { lock(); if (!work) wait(); }`.
fn behind_a_look(view: &View, condition: LocationId, wait: EventId) -> Option<EarlySignal> {
    let reads = reads_before(view, wait).into_iter();
    let looks = reads.filter(|row| asks(&view.place(*row)));
    let found = looks.filter_map(|read| {
        let change = changed_since(view, read).filter(|change| *change < wait)?;
        let by = view.rows.after(view.thread(change), change).iter().copied();
        let mut sent = by.take_while(|row| *row < wait).filter(|row| {
            let event = view.event(*row);
            let is_signal = match event.kind {
                EventKind::Signal => woke_nobody(&event),
                kind => kind == EventKind::Broadcast,
            };
            is_signal && event.location == condition
        });
        let signal = sent.next()?;
        let check = Some(read);
        Some(EarlySignal { signal, check })
    });
    found.max_by_key(|early| early.signal)
}

fn woke_nobody(signal: &Event) -> bool {
    signal.value == Some(Value::Bits(0))
}

/// The thread's last read of each shared location in the steps before its wait, the latest first.
pub(super) fn reads_before(view: &View, wait: EventId) -> Vec<EventId> {
    const NEAR: usize = 80;
    let thread = view.thread(wait);
    let before = view
        .rows
        .before(thread, wait)
        .iter()
        .rev()
        .copied()
        .take(NEAR);
    let shared = |row: &EventId| {
        let event = view.event(*row);
        let is_shared = view.orders.accesses().is_shared(event.location);
        event.kind.reads() && is_shared && !leads_to(view, *row, wait)
    };
    // A location that was read again later is represented by that read.
    let mut seen = FxHashSet::default();
    before
        .filter(shared)
        .filter(|row| seen.insert(view.event(*row).location))
        .collect()
}

/// Returns whether a row reads a pointer by which the thread comes to what the wait uses: `pool` for
/// `pool->changed.wait(lock)`, or what `lock` knows of its mutex. Such a pointer is no condition. One within the same block
/// may be, as that of an empty list to itself.
pub(super) fn leads_to(view: &View, row: EventId, wait: EventId) -> bool {
    let Some(Value::Address(target)) = view.event(row).value else {
        return false;
    };
    let held = view.orders.locks_held(wait).into_iter();
    let mut used = held
        .map(|section| section.lock)
        .chain([view.event(wait).location]);
    let target = view.run.block(target);
    target != view.run.block(view.event(row).location)
        && used.any(|object| view.run.block(object) == target)
}

/// The read by which the thread decided to wait: in the predicate that a wait of C++ calls the last one of data written
/// afterwards, before the wait, or the last one at all; else the last one
/// in the function that waits, or in a function that it called to look, of data written afterwards, before the wait; else the
/// last one in the function itself of data that other threads change; else the last look of a caller, which may wait through a
/// wrapper; else what else the function itself reads, or what it called under the lock; else the last one nearby of data written
/// afterwards; else the last one in a caller. None where it looked last at what no other thread uses.
pub(super) fn checked_before(view: &View, wait: EventId) -> Option<EventId> {
    let thread = view.thread(wait);
    let reads = reads_before(view, wait);
    let outdated = |row: &&EventId| {
        let after = view
            .orders
            .accesses()
            .after(view.event(**row).location, **row)
            .iter();
        let mut after = after.take_while(|next| **next < wait);
        after.any(|next| view.thread(*next) != thread && view.event(*next).kind.writes())
    };
    let place = view.place(wait);
    let here = |row: &&EventId| is_here(view, **row, wait);
    let called_here = |row: &&EventId| {
        let calls = callers::call_sites(&view.run, **row);
        let mut calls = calls.into_iter().map(|site| view.run.meta.site(site));
        calls.any(|site| (&site.file, &site.function) == (&place.file, &place.function))
    };
    let called_by_wait = |row: &&EventId| {
        let calls = callers::call_sites(&view.run, **row).into_iter();
        let mut calls = calls.map(|site| view.run.meta.site(site));
        let is_wait = |line: &SiteRow| (&line.file, line.line) == (&place.file, place.line);
        // What the line itself reads are the arguments of the wait; a predicate may stand on it, in a function of its own.
        let is_argument = |line: &SiteRow| is_wait(line) && line.function == place.function;
        !calls.next_back().is_some_and(is_argument) && calls.any(is_wait)
    };
    let last = |is_it: &dyn Fn(&&EventId) -> bool| reads.iter().find(is_it).copied();
    let since = locked_since(view, wait);
    let asks = |row: &&EventId| **row > since && asks(&view.place(**row));
    let in_caller = |is_it: &dyn Fn(&&EventId) -> bool| {
        let callers = callers::call_sites(&view.run, wait).into_iter().rev();
        let mut callers = callers.map(|site| view.run.meta.site(site));
        callers.find_map(|caller| {
            let in_it = |row: &&EventId| {
                let read = view.place(**row);
                (&read.file, &read.function) == (&caller.file, &caller.function) && is_it(row)
            };
            last(&in_it)
        })
    };
    if own_look(view, wait).is_some() {
        return None;
    }
    // A predicate that the wait calls itself is what it waits for, whatever was asked in front of the wait; of several looks in it
    // one that has become wrong.
    let in_predicate = |row: &&EventId| **row > since && called_by_wait(row);
    last(&|row| in_predicate(row) && outdated(row))
        .or_else(|| last(&in_predicate))
        .or_else(|| last(&|row| here(row) && asks(row)))
        .or_else(|| last(&|row| (here(row) || called_here(row)) && outdated(row)))
        // A limit that stays is no reason to wait.
        .or_else(|| last(&|row| here(row) && view.is_changed_by_others(**row)))
        // A wrapper reads what it waits with, and its caller what it waits for.
        .or_else(|| in_caller(&asks))
        .or_else(|| last(&here))
        .or_else(|| last(&|row| **row > since && called_here(row)))
        .or_else(|| last(&outdated))
        .or_else(|| in_caller(&|_| true))
}

/// Returns whether a row is in the function of a wait, or on its line.
fn is_here(view: &View, row: EventId, wait: EventId) -> bool {
    let (read, place) = (view.place(row), view.place(wait));
    read.function == place.function || (&read.file, read.line) == (&place.file, place.line)
}

/// The acquisition of the lock that a wait gives back; the wait itself where it has none.
fn locked_since(view: &View, wait: EventId) -> EventId {
    let section = view.orders.locks_held(wait).into_iter().next();
    section.map_or(wait, |section| section.acquired)
}

/// The last look in front of a wait, in its function, if it and the others on its line are at what no other thread uses.
fn own_look(view: &View, wait: EventId) -> Option<EventId> {
    let since = locked_since(view, wait);
    let is_look = |row: &EventId| {
        view.event(*row).kind.reads() && is_here(view, *row, wait) && asks(&view.place(*row))
    };
    let before = view.own_before(wait).take_while(|row| *row > since);
    let looks: Vec<EventId> = before.filter(is_look).collect();
    let last = *looks.first()?;
    let is_shared = |row: &EventId| {
        let accesses = view.orders.accesses();
        accesses.is_shared(view.event(*row).location)
    };
    let line = view.place(last).line;
    let mut of_line = looks
        .iter()
        .take_while(|row| view.place(**row).line == line);
    let location = view.event(last).location;
    let is_on_stack = view.run.location_parts(location).is_on_stack();
    let is_own = !is_on_stack && !of_line.any(is_shared) && !leads_to(view, last, wait);
    is_own.then_some(last)
}
