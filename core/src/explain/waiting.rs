//! Who waits at the end of a run, and what each of them waits for another thread to do.

use super::{lost_wakeup::checked_before, view::View};
use crate::facts;
use std::collections::{BTreeMap, VecDeque};
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId, raw::WaitsFor};

/// A thread that waits at the end of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    /// Who waits.
    pub thread: ThreadId,
    /// Its `Blocked` row.
    pub row: EventId,
    /// The kind of thing that it waits for.
    pub waits_for: WaitsFor,
    /// What for.
    pub object: LocationId,
    /// What keeps it waiting, as far as that is known.
    pub keepers: Vec<Keeper>,
}

/// What another thread has done, or has not, so that a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Keeper {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub by: Keeps,
}

/// How a thread keeps another one waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keeps {
    /// It holds the lock that it took there.
    Lock(EventId),
    /// It has taken a unit of the semaphore there, and has not given it back.
    Unit(EventId),
    /// It has not ended.
    Running,
    /// It wrote what the waiting thread read before its wait, and nobody has written it since.
    Value {
        /// Where it wrote.
        write: EventId,
        /// Where the waiting thread read it.
        read: EventId,
    },
}

impl Waiting {
    /// The thread that holds the lock that is waited for.
    pub fn owner(&self) -> Option<(ThreadId, EventId)> {
        self.keepers.iter().find_map(|keeper| match keeper.by {
            Keeps::Lock(held) => Some((keeper.thread, held)),
            _ => None,
        })
    }
}

/// The threads that wait at the end, in the order of their rows.
pub(super) fn waiting(view: &View) -> Vec<Waiting> {
    let blocked = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Blocked);
    let waits = blocked.filter_map(|(row, event)| {
        let waits_for = WaitsFor::from_u32(event.size)?;
        let mut waiting = Waiting {
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
    waits.collect()
}

fn joined(value: Option<unsnarl_trace::Value>) -> Vec<Keeper> {
    let other = crate::orders::other_thread(value).map(ThreadId);
    let keeper = |thread| Keeper {
        thread,
        by: Keeps::Running,
    };
    other.map(keeper).into_iter().collect()
}

/// Who holds a lock at the end: another thread if one does, else perhaps the waiter itself.
fn holder(view: &View, lock: LocationId, waiter: ThreadId) -> Option<Keeper> {
    let open = view.orders.locks().sections().iter().rev();
    let mut open = open.filter(|section| section.lock == lock && section.released.is_none());
    let other = open.clone().find(|section| section.thread != waiter);
    let section = other.or_else(|| open.next())?;
    Some(Keeper {
        thread: section.thread,
        by: Keeps::Lock(section.acquired),
    })
}

/// Other threads that have taken more units of a semaphore than they gave back, with where they took the last one.
fn takers(view: &View, semaphore: LocationId, waiter: ThreadId) -> Vec<Keeper> {
    let mut taken: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    let rows = view.run.events.iter();
    for (row, event) in rows.filter(|(_, event)| event.location == semaphore) {
        let units = taken.entry(event.thread).or_default();
        match event.kind {
            EventKind::SemWait => units.push(row),
            EventKind::SemPost => drop(units.pop()),
            _ => {}
        }
    }
    let others = taken.into_iter().filter(|(thread, _)| *thread != waiter);
    let keeper = |(thread, units): (ThreadId, Vec<EventId>)| {
        Some(Keeper {
            thread,
            by: Keeps::Unit(*units.last()?),
        })
    };
    others.filter_map(keeper).collect()
}

/// Who wrote what the thread read before it began to wait, if that is still so and another order was possible.
fn writer(view: &View, waiting: &Waiting) -> Option<Keeper> {
    let read = checked_before(view, request(view, waiting))?;
    let location = view.event(read).location;
    let write = view.orders.last_write_before(location, read)?;
    let changed = changed_since(view, read).is_some();
    let thread = view.thread(write);
    let is_open = thread != waiting.thread && !changed && !view.is_forced(write, read);
    is_open.then_some(Keeper {
        thread,
        by: Keeps::Value { write, read },
    })
}

/// The last write of another thread to what a row read, after it.
pub(super) fn changed_since(view: &View, read: EventId) -> Option<EventId> {
    let (location, own) = (view.event(read).location, view.thread(read));
    let after = view.orders.accesses().after(location, read).iter();
    let mut writes = after
        .rev()
        .copied()
        .filter(|row| *row > read && view.event(*row).kind.writes());
    writes.find(|row| view.thread(*row) != own)
}

/// Threads of which each waits for the next and the last for the first, beginning with the lowest, each with what keeps
/// it waiting; only what `counts` is looked at. Of several circles the shortest.
pub(super) fn circle(
    waiting: &[Waiting],
    counts: fn(&Keeps) -> bool,
) -> Option<Vec<(Waiting, Keeper)>> {
    let mut found: Option<Vec<(Waiting, Keeper)>> = None;
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

/// The shortest way from a thread along what keeps each waiting, back to it: breadth first, linear in the keepers.
fn back_to(
    start: &Waiting,
    waiting: &[Waiting],
    counts: fn(&Keeps) -> bool,
) -> Option<Vec<(Waiting, Keeper)>> {
    let mut came: BTreeMap<ThreadId, (&Waiting, Keeper)> = BTreeMap::new();
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
    let owned = |step: &(&Waiting, Keeper)| (step.0.clone(), step.1);
    Some(path.into_iter().rev().map(owned).collect())
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
