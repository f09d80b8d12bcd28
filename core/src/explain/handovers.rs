//! Handovers between threads: a thread reads other threads' writes, takes a semaphore unit that they posted,
//! or wakes from a wait by their signal.

use super::{begins, order::Publication, view::View};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, ThreadId, Value};

/// Bound on the steps of a thread examined for what it learned last.
const NEAR: usize = 64;

/// Rows that post or signal, or take units or wake, by the semaphore or condition variable.
#[derive(Default)]
pub(super) struct Givers(FxHashMap<LocationId, Vec<EventId>>);

impl Givers {
    /// Collects the rows in one pass over the kinds of events.
    pub fn new(run: &Run) -> Givers {
        use EventKind::{Broadcast, SemPost, SemWait, Signal};
        let mut by_object: FxHashMap<LocationId, Vec<EventId>> = FxHashMap::default();
        let columns = run.events.kinds().iter().zip(run.events.locations());
        for (row, (&kind, &location)) in columns.enumerate() {
            let kind = EventKind::from_u8(kind);
            if let Some(SemPost | SemWait | Signal | Broadcast) = kind {
                let rows = by_object.entry(LocationId(location)).or_default();
                rows.push(EventId(row as u32));
            }
        }
        Givers(by_object)
    }

    fn of(&self, object: LocationId) -> &[EventId] {
        self.0.get(&object).map_or(&[][..], Vec::as_slice)
    }
}

/// Handovers to a thread before a row, the latest first: the giving row and the receiving row.
pub(super) fn handovers(view: &View, row: EventId) -> Vec<Publication> {
    let own = view.rows.before(view.thread(row), row);
    let mut found = Vec::new();
    for &load in own.iter().rev().take(NEAR) {
        let given = match view.event(load).kind {
            kind if kind.reads() && is_shared(view, load) => contributions(view, load),
            EventKind::SemWait => posts(view, load),
            EventKind::Wake => signals(view, load),
            _ => Vec::new(),
        };
        let given = given.into_iter();
        let given = given.filter(|&store| !view.is_forced(store, load));
        found.extend(given.map(|store| Publication { store, load }));
    }
    found
}

fn is_shared(view: &View, row: EventId) -> bool {
    let location = view.event(row).location;
    view.orders.accesses().is_shared(location)
}

/// The write of another thread that a read sees, and the earlier ones from which its value was computed, as
/// for a counter, by whichever threads.
fn contributions(view: &View, read: EventId) -> Vec<EventId> {
    const MOST: usize = 16;
    let (location, own) = (view.event(read).location, view.thread(read));
    let seen_by = |row: EventId| view.orders.last_write_before(location, row);
    let worked_out_from =
        |write: &EventId| seen_by(begins::update(&view.run, *write, view.own_before(*write))?);
    std::iter::successors(seen_by(read), worked_out_from)
        .take(MOST)
        .filter(|write| view.thread(*write) != own)
        .collect()
}

/// The last post of each other thread, where the wait would not have ended without one more unit. The initial
/// units of a semaphore are not recorded: at least as many as the run needs are assumed.
fn posts(view: &View, wait: EventId) -> Vec<EventId> {
    let rows = view.givers.of(view.event(wait).location);
    let is_post = |row: EventId| view.event(row).kind == EventKind::SemPost;
    let (mut units, mut lowest, mut left) = (0i64, 0i64, 0i64);
    for &row in rows {
        units += if is_post(row) { 1 } else { -1 };
        lowest = lowest.min(units);
        if row == wait {
            left = units;
        }
    }
    match left == lowest {
        true => last_of_each(view, wait, rows.iter().copied().filter(|&row| is_post(row))),
        false => Vec::new(),
    }
}

/// The last signal of each other thread that woke a thread during a wait.
pub(super) fn signals(view: &View, wake: EventId) -> Vec<EventId> {
    let event = view.event(wake);
    let wait = begins::wait(&view.run, wake, view.own_before(wake));
    let (Some(wait), Some(Value::Bits(0))) = (wait, event.value) else {
        return Vec::new();
    };
    let woke = |row: &EventId| *row > wait && view.event(*row).value != Some(Value::Bits(0));
    let rows = view.givers.of(event.location).iter().copied();
    last_of_each(view, wake, rows.filter(woke))
}

/// The last row of each other thread among rows before one, the latest first.
fn last_of_each(
    view: &View,
    before: EventId,
    rows: impl DoubleEndedIterator<Item = EventId>,
) -> Vec<EventId> {
    let mut known: Vec<ThreadId> = vec![view.thread(before)];
    let mut last = Vec::new();
    for row in rows.rev().filter(|row| *row < before) {
        if !known.contains(&view.thread(row)) {
            known.push(view.thread(row));
            last.push(row);
        }
    }
    last
}
