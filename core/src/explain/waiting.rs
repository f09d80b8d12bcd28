//! Waiting threads at the end of a run, with the action of another thread that each waits for.

use super::{lost_wakeup::checked_before, view::View};
use crate::{
    explanation::Place,
    facts,
    orders::{UnitStep, counts_units},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId, Value, raw::WaitsFor};

/// A thread that waits at the end of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WaitingThread {
    /// The waiting thread.
    pub thread: ThreadId,
    /// Its `Blocked` row.
    pub row: EventId,
    /// Kind of object that it waits for.
    pub waits_for: WaitsFor,
    /// The object.
    pub object: LocationId,
    /// Reasons for its wait, as far as known.
    pub keepers: Vec<Keeper>,
}

/// A thread that keeps another one waiting, by an action or its absence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Keeper {
    /// The thread.
    pub thread: ThreadId,
    /// The way it keeps the other one waiting.
    pub by: Keeps,
}

/// Way in which a thread keeps another one waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keeps {
    /// It holds the lock, acquired there.
    Lock(EventId),
    /// It has taken a unit of the semaphore there, and has not posted it back.
    Unit(EventId),
    /// It has not ended.
    Running,
    /// It sends the signal in runs that pass, and waits for a lock that the waiting thread holds.
    Silent,
    /// It wrote the value that the waiting thread read before its wait, and no thread has written it since.
    Value {
        /// Row of the write.
        write: EventId,
        /// Row of the waiting thread's read.
        read: EventId,
    },
}

impl Keeper {
    /// Row at which it acquired the lock that it holds.
    pub fn held(&self) -> Option<EventId> {
        match self.by {
            Keeps::Lock(held) => Some(held),
            _ => None,
        }
    }
}

impl WaitingThread {
    /// The thread that holds the awaited lock, with its acquisition.
    pub fn owner(&self) -> Option<(ThreadId, EventId)> {
        let mut keepers = self.keepers.iter();
        keepers.find_map(|keeper| Some((keeper.thread, keeper.held()?)))
    }
}

/// The threads that wait at the end, in the order of their rows.
pub(super) fn waiting(view: &View) -> Vec<WaitingThread> {
    let blocked = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Blocked);
    let waits = blocked.filter_map(|(row, event)| {
        let waits_for = match WaitsFor::from_u32(event.size)? {
            WaitsFor::Futex if has_no_units(view, row) => WaitsFor::Semaphore,
            other => other,
        };
        let mut waiting = WaitingThread {
            thread: event.thread,
            row,
            waits_for,
            object: event.location,
            keepers: Vec::new(),
        };
        waiting.keepers = match waits_for {
            WaitsFor::Join => joined(event.value),
            WaitsFor::Lock | WaitsFor::SharedLock => holder(view, event.location, event.thread)
                .into_iter()
                .collect(),
            WaitsFor::Semaphore => takers(view, event.location, event.thread),
            WaitsFor::Condition => writer(view, &waiting).into_iter().collect(),
            _ => Vec::new(),
        };
        Some(waiting)
    });
    let mut waits: Vec<WaitingThread> = waits.collect();
    let silent: Vec<Vec<Keeper>> = waits
        .iter()
        .map(|one| kept_out(view, one, &waits))
        .collect();
    for (one, silent) in waits.iter_mut().zip(silent) {
        one.keepers.extend(silent);
    }
    waits
}

/// Threads that send a signal in runs that pass, and wait for a lock that the thread holds which waits for the signal.
fn kept_out(view: &View, waiter: &WaitingThread, all: &[WaitingThread]) -> Vec<Keeper> {
    let is_kept = |one: &&WaitingThread| {
        let is_owner = one.owner().is_some_and(|(owner, _)| owner == waiter.thread);
        is_owner && sends(view, one.thread, waiter.object).is_some()
    };
    let kept = all.iter().filter(|one| one.thread != waiter.thread);
    let kept = kept
        .filter(|_| waiter.waits_for == WaitsFor::Condition)
        .filter(is_kept);
    let keeper = |one: &WaitingThread| Keeper {
        thread: one.thread,
        by: Keeps::Silent,
    };
    kept.map(keeper).collect()
}

/// The place at which a thread signals a condition in a run that passes.
pub(super) fn sends<'v>(
    view: &'v View,
    thread: ThreadId,
    condition: LocationId,
) -> Option<&'v Place> {
    let name = facts::thread_name(&view.run, thread);
    let condition = view.run.location(condition);
    let mut sent = view.corpus.passing().flat_map(|run| &run.signals);
    let sent = sent.find(|sent| sent.thread == name && sent.condition == condition);
    sent.map(|sent| &sent.place)
}

/// Returns whether a thread waits at a word that counts units, and has found none.
fn has_no_units(view: &View, wait: EventId) -> bool {
    let (accesses, event) = (view.orders.accesses(), view.event(wait));
    let mut looks = accesses.before(event.location, wait).iter().rev();
    let look = looks.find(|row| view.thread(**row) == event.thread);
    let found = look.and_then(|row| view.event(*row).value);
    found == Some(Value::Bits(0)) && counts_units(&view.run, accesses, event.location)
}

fn joined(value: Option<unsnarl_trace::Value>) -> Vec<Keeper> {
    let other = crate::orders::other_thread(value).map(ThreadId);
    let keeper = |thread| Keeper {
        thread,
        by: Keeps::Running,
    };
    other.map(keeper).into_iter().collect()
}

/// Holder of a lock at the end: another thread if one holds it, else perhaps the waiter itself.
pub(super) fn holder(view: &View, lock: LocationId, waiter: ThreadId) -> Option<Keeper> {
    let open = view.orders.locks().sections().iter().rev();
    let mut open = open.filter(|section| section.lock == lock && section.released.is_none());
    let other = open.clone().find(|section| section.thread != waiter);
    let section = other.or_else(|| open.next())?;
    Some(Keeper {
        thread: section.thread,
        by: Keeps::Lock(section.acquired),
    })
}

/// Other threads that have taken more units of a semaphore than they posted back, with the row of the last
/// one taken. Nobody posts those back that others have posted, as jobs for whoever takes them.
fn takers(view: &View, semaphore: LocationId, waiter: ThreadId) -> Vec<Keeper> {
    let who = |wanted: UnitStep| -> BTreeSet<ThreadId> {
        let rows = view.run.events.iter();
        let steps = rows.filter(|(_, event)| event.location == semaphore);
        let wanted = steps.filter(|(_, event)| UnitStep::of(event) == Some(wanted));
        wanted.map(|(_, event)| event.thread).collect()
    };
    let (takes, gives) = (who(UnitStep::Taken), who(UnitStep::Given));
    if !gives.is_empty() && gives.is_disjoint(&takes) {
        return Vec::new();
    }
    let taken = units(view, semaphore).into_iter();
    let others = taken.filter(|(thread, _)| *thread != waiter);
    let keeper = |(thread, units): (ThreadId, Vec<EventId>)| {
        Some(Keeper {
            thread,
            by: Keeps::Unit(*units.last()?),
        })
    };
    others.filter_map(keeper).collect()
}

/// Rows at which each thread has taken units of a semaphore that it has not posted back.
pub(super) fn units(view: &View, semaphore: LocationId) -> BTreeMap<ThreadId, Vec<EventId>> {
    let mut taken: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    let rows = view.run.events.iter();
    for (row, event) in rows.filter(|(_, event)| event.location == semaphore) {
        let units = taken.entry(event.thread).or_default();
        match UnitStep::of(&event) {
            Some(UnitStep::Taken) => units.push(row),
            Some(UnitStep::Given) => drop(units.pop()),
            None => {}
        }
    }
    taken
}

/// Writer of the value that the thread read before it began to wait, if the value is unchanged and another
/// order was possible.
fn writer(view: &View, waiting: &WaitingThread) -> Option<Keeper> {
    let read = checked_before(view, request(view, waiting))?;
    let write = view.source(read)?;
    let changed = changed_since(view, read).is_some();
    let thread = view.thread(write);
    let is_open = thread != waiting.thread && !changed && !view.is_forced(write, read);
    is_open.then_some(Keeper {
        thread,
        by: Keeps::Value { write, read },
    })
}

/// The last later write by another thread to the location that a row read, or to the other end of the container whose size it
/// is.
pub(super) fn changed_since(view: &View, read: EventId) -> Option<EventId> {
    let (location, own) = (view.event(read).location, view.thread(read));
    let last = |location: LocationId| {
        let after = view.orders.accesses().after(location, read).iter();
        let mut writes = after
            .rev()
            .copied()
            .filter(|row| *row > read && view.event(*row).kind.writes());
        writes.find(|row| view.thread(*row) != own)
    };
    let other = facts::other_bound(&view.run, location);
    last(location).max(other.and_then(last))
}

/// Threads of which each waits for the next and the last for the first, beginning with the lowest, each with
/// its keeper; only keepers that `counts` admits are followed. The shortest cycle if there are several.
pub(super) fn circle(
    waiting: &[WaitingThread],
    counts: fn(&Keeps) -> bool,
) -> Option<Vec<(WaitingThread, Keeper)>> {
    let mut found: Option<Vec<(WaitingThread, Keeper)>> = None;
    for start in waiting {
        let path = back_to(start, waiting, counts);
        if let Some(path) = path
            && found.as_ref().is_none_or(|known| path.len() < known.len())
        {
            found = Some(path);
        }
    }
    found
}

/// The shortest path from a thread along keepers back to it: breadth first, linear in the keepers.
fn back_to(
    start: &WaitingThread,
    waiting: &[WaitingThread],
    counts: fn(&Keeps) -> bool,
) -> Option<Vec<(WaitingThread, Keeper)>> {
    let mut came: BTreeMap<ThreadId, (&WaitingThread, Keeper)> = BTreeMap::new();
    let mut next = VecDeque::from([start.thread]);
    while let Some(thread) = next.pop_front() {
        let Some(now) = waiting.iter().find(|one| one.thread == thread) else {
            continue;
        };
        for keeper in now.keepers.iter().filter(|keeper| counts(&keeper.by)) {
            came.entry(keeper.thread).or_insert_with(|| {
                next.push_back(keeper.thread);
                (now, *keeper)
            });
        }
    }
    let mut path = Vec::new();
    let mut at = came.get(&start.thread)?;
    while at.0.thread != start.thread {
        path.push(at);
        at = came.get(&at.0.thread)?;
    }
    path.push(at);
    let owned = |step: &(&WaitingThread, Keeper)| (step.0.clone(), step.1);
    Some(path.into_iter().rev().map(owned).collect())
}

/// First row of a thread's wait: its last request for the lock, or the row of the wait itself.
pub(super) fn request(view: &View, waiting: &WaitingThread) -> EventId {
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

/// Variable of a row, in the source's words.
pub(super) fn object_name(view: &View, row: EventId) -> String {
    facts::variable(&view.run, &view.event(row))
}

#[cfg(test)]
mod tests {
    use super::changed_since;
    use crate::{explain::view::View, fixture::corpus};
    use unsnarl_trace::EventId;

    #[test]
    fn a_container_changes_at_either_end() {
        let text = |end: &str| {
            format!(
                "main fork main.1 @1 main\nmain.1 R q._M_impl._M_finish =0 @4 take\nmain.1 R q._M_impl._M_start =0 @4 take\nmain W {end} =8 @9 put\nmain.1 W other =1 @5 take\nmain.1 fails @6"
            )
        };
        let changed = |end: &str| {
            let corpus = corpus(&[], &[&text(end)]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            changed_since(&view, EventId(2)).is_some()
        };
        assert!(changed("q._M_impl._M_finish") && changed("q._M_impl._M_start"));
        assert!(!changed("p._M_impl._M_finish"));
    }
}
