//! Prerequisites of each step of a thread: clocks over program order, reads-from, forks and joins.
//!
//! A *step* is an event, or all rows of one access. A clock has for each thread the number of its steps that
//! are needed. A thread's clock is stored where another thread's entry changes; its own entry is the step.

use super::closure::Ideal;
use crate::orders::other_thread;
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// Edges that clocks follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    /// Program order, fork and join, reads-from, and synchronization except locks.
    ReadsFrom,
    /// As `ReadsFrom`, and each section of a lock before the next.
    ReadsFromAndLocks,
}

/// Clocks of all steps.
#[derive(Default)]
pub(super) struct Clocks {
    /// Number of entries of a clock.
    width: usize,
    threads: Vec<Steps>,
    /// Step and thread of each row.
    places: Vec<(u16, u32)>,
    /// Stored clocks, each `width` long.
    stored: Vec<u32>,
}

/// The steps of one thread.
#[derive(Default)]
struct Steps {
    /// First and last row of each step.
    rows: Vec<(u32, u32)>,
    /// `(step, stored)`, rising: from this step on, the stored clock is needed before the step.
    changes: Vec<(u32, u32)>,
}

impl Clocks {
    pub(super) fn new(run: &Run, edges: Edges) -> Clocks {
        let mut pass = Pass::new(run, edges);
        for (row, event) in run.events.iter() {
            pass.row(row, &event);
        }
        pass.clocks
    }

    /// The empty clock.
    pub(super) fn bottom(&self) -> Ideal {
        vec![0; self.width]
    }

    /// Thread and step of a row.
    pub(super) fn step_of(&self, event: EventId) -> Option<(u16, u32)> {
        self.places.get(event.index()).copied()
    }

    /// Rows of a step, in order.
    pub(super) fn rows_of(&self, thread: u16, step: u32) -> impl Iterator<Item = EventId> + '_ {
        let steps = self.threads.get(usize::from(thread));
        let rows = steps.and_then(|steps| steps.rows.get(step as usize));
        let rows = rows.map_or(0..0, |&(first, last)| first..last + 1);
        let is_of = move |row: &EventId| self.step_of(*row) == Some((thread, step));
        rows.map(EventId).filter(is_of)
    }

    /// Joins the steps of `thread` before `step` and their prerequisites. Returns whether an entry rose.
    pub(super) fn join_before(&self, into: &mut [u32], thread: u16, step: u32) -> bool {
        let mut rose = false;
        if let Some(stored) = self.needed_before(thread, step) {
            rose = raise_all(into, stored);
        }
        if let Some(entry) = into.get_mut(usize::from(thread)) {
            rose |= *entry < step;
            *entry = (*entry).max(step);
        }
        rose
    }

    /// Number of steps of `other` that are needed before `step` of `thread`.
    pub(super) fn entry_before(&self, thread: u16, step: u32, other: u16) -> u32 {
        let stored = self.needed_before(thread, step);
        let entry = stored.and_then(|stored| stored.get(usize::from(other)));
        entry.copied().unwrap_or(0)
    }

    fn needed_before(&self, thread: u16, step: u32) -> Option<&[u32]> {
        let changes = &self.threads.get(usize::from(thread))?.changes;
        let upto = changes.partition_point(|&(change, _)| change <= step);
        let &(_, stored) = changes.get(upto.checked_sub(1)?)?;
        let start = stored as usize * self.width;
        self.stored.get(start..start + self.width)
    }
}

/// Raises every entry to the other's; returns whether one rose.
fn raise_all(into: &mut [u32], from: &[u32]) -> bool {
    let mut rose = false;
    for (mine, &theirs) in into.iter_mut().zip(from) {
        rose |= theirs > *mine;
        *mine = (*mine).max(theirs);
    }
    rose
}

struct Pass {
    edges: Edges,
    clocks: Clocks,
    states: Vec<State>,
    /// Step of the last write of each location.
    written: Vec<Option<(u16, u32)>>,
    /// Clocks left at each object.
    objects: Vec<Object>,
}

#[derive(Default)]
struct State {
    clock: Ideal,
    seq: Option<u64>,
    /// The condition that it waits on.
    waits: Option<usize>,
}

#[derive(Default)]
struct Object {
    /// Clock of the events that others wait for: signals, posts, arrivals, ends of initializations, exclusive
    /// unlocks.
    given: Ideal,
    /// Locks: clock of acquisitions; barriers: clock of departures.
    other: Ideal,
}

impl Pass {
    fn new(run: &Run, edges: Edges) -> Pass {
        let threads = run.events.threads().iter().max();
        let width = threads.map_or(0, |&most| usize::from(most) + 1);
        let mut clocks = Clocks {
            width,
            places: Vec::with_capacity(run.events.len()),
            ..Clocks::default()
        };
        clocks.threads.resize_with(width, Steps::default);
        let mut states = Vec::new();
        states.resize_with(width, || State {
            clock: vec![0; width],
            ..State::default()
        });
        let mut objects = Vec::new();
        objects.resize_with(run.locations.len(), Object::default);
        Pass {
            edges,
            clocks,
            states,
            written: vec![None; run.locations.len()],
            objects,
        }
    }

    fn row(&mut self, row: EventId, event: &Event) {
        let t = event.thread.0;
        let step = self.place(row, event);
        self.end_wait(t, step, event.kind);
        self.needs(t, step, event);
        if let Some(own) = self.own(t) {
            *own = step + 1;
        }
        self.gives(t, event);
    }

    fn own(&mut self, t: u16) -> Option<&mut u32> {
        let state = self.states.get_mut(usize::from(t))?;
        state.clock.get_mut(usize::from(t))
    }

    /// The step of the row: rows of one access share their number.
    fn place(&mut self, row: EventId, event: &Event) -> u32 {
        let t = event.thread.0;
        let (Some(steps), Some(state)) = (
            self.clocks.threads.get_mut(usize::from(t)),
            self.states.get_mut(usize::from(t)),
        ) else {
            return 0;
        };
        let same = state.seq.replace(event.seq) == Some(event.seq) && event.kind.is_access();
        match steps.rows.last_mut().filter(|_| same) {
            Some((_, last)) => *last = row.0,
            None => steps.rows.push((row.0, row.0)),
        }
        let step = steps.rows.len() as u32 - 1;
        self.clocks.places.push((t, step));
        step
    }

    /// Ends a wait: a thread that resumes was signalled before, and only then reacquires the mutex.
    fn end_wait(&mut self, t: u16, step: u32, kind: EventKind) {
        let Some(state) = self.states.get_mut(usize::from(t)) else {
            return;
        };
        if kind == EventKind::Unlock {
            return;
        }
        if let Some(condition) = state.waits.take()
            && let Some(object) = self.objects.get(condition)
            && raise_all(&mut state.clock, &object.given)
        {
            self.note(t, step);
        }
    }

    /// Joins the prerequisites of the row; they are needed before the next step.
    fn needs(&mut self, t: u16, step: u32, event: &Event) {
        use EventKind::*;
        let kind = event.kind;
        let rose = match kind {
            Read | AtomicRead | Rmw => self.reads(t, event),
            Join => self.joins(t, event),
            Wake | SemWait | OnceEnd | OncePass | BarrierLeave => self.takes(t, event, true, false),
            BarrierArrive | TryLockFailed => self.takes(t, event, false, true),
            SharedLock if self.edges == Edges::ReadsFromAndLocks => {
                self.takes(t, event, true, false)
            }
            Lock if self.edges == Edges::ReadsFromAndLocks => self.takes(t, event, true, true),
            _ => false,
        };
        if rose {
            self.note(t, step + 1);
        }
    }

    fn reads(&mut self, t: u16, event: &Event) -> bool {
        let Some(&Some((u, step))) = self.written.get(event.location.index()) else {
            return false;
        };
        let Some(state) = self.states.get_mut(usize::from(t)) else {
            return false;
        };
        let knows = state
            .clock
            .get(usize::from(u))
            .is_some_and(|&entry| entry > step);
        u != t && !knows && self.clocks.join_before(&mut state.clock, u, step + 1)
    }

    fn joins(&mut self, t: u16, event: &Event) -> bool {
        let other = other_thread(event.value).filter(|&other| other != t);
        let other = other.and_then(|other| self.states.get(usize::from(other)));
        let Some(theirs) = other.map(|other| other.clock.clone()) else {
            return false;
        };
        let state = self.states.get_mut(usize::from(t));
        state.is_some_and(|state| raise_all(&mut state.clock, &theirs))
    }

    fn takes(&mut self, t: u16, event: &Event, given: bool, other: bool) -> bool {
        let object = self.objects.get(event.location.index());
        let state = self.states.get_mut(usize::from(t));
        let (Some(object), Some(state)) = (object, state) else {
            return false;
        };
        let rose = given && raise_all(&mut state.clock, &object.given);
        rose | (other && raise_all(&mut state.clock, &object.other))
    }

    /// Publishes the thread's clock where others will need it.
    fn gives(&mut self, t: u16, event: &Event) {
        use EventKind::*;
        let (kind, location) = (event.kind, event.location.index());
        if kind.writes()
            && let Some(step) = self.own(t).map(|own| own.saturating_sub(1))
            && let Some(written) = self.written.get_mut(location)
        {
            *written = Some((t, step));
        }
        match kind {
            Fork => self.forks(t, event),
            Wait => {
                if let Some(state) = self.states.get_mut(usize::from(t)) {
                    state.waits = Some(location);
                }
            }
            Signal | Broadcast | SemPost | SemWait | OnceBegin | OnceEnd | BarrierArrive
            | Unlock => {
                self.leaves(t, location, |object| &mut object.given);
            }
            BarrierLeave | Lock | SharedLock | SharedUnlock => {
                self.leaves(t, location, |object| &mut object.other);
            }
            _ => {}
        }
    }

    fn leaves(&mut self, t: u16, location: usize, place: fn(&mut Object) -> &mut Ideal) {
        let object = self.objects.get_mut(location);
        let state = self.states.get(usize::from(t));
        if let (Some(object), Some(state)) = (object, state) {
            let clock = place(object);
            clock.resize(state.clock.len(), 0);
            raise_all(clock, &state.clock);
        }
    }

    fn forks(&mut self, t: u16, event: &Event) {
        let Some(mine) = self
            .states
            .get(usize::from(t))
            .map(|state| state.clock.clone())
        else {
            return;
        };
        let Some(child) = other_thread(event.value).filter(|&child| child != t) else {
            return;
        };
        let Some(state) = self.states.get_mut(usize::from(child)) else {
            return;
        };
        if raise_all(&mut state.clock, &mine) {
            let steps = self.clocks.threads.get(usize::from(child));
            self.note(child, steps.map_or(0, |steps| steps.rows.len() as u32));
        }
    }

    /// Stores the thread's clock as the prerequisite of `step`.
    fn note(&mut self, t: u16, step: u32) {
        let (Some(steps), Some(state)) = (
            self.clocks.threads.get_mut(usize::from(t)),
            self.states.get(usize::from(t)),
        ) else {
            return;
        };
        let width = self.clocks.width;
        match steps.changes.last() {
            Some(&(last, stored)) if last == step => {
                let start = stored as usize * width;
                if let Some(place) = self.clocks.stored.get_mut(start..start + width) {
                    place.copy_from_slice(&state.clock);
                }
            }
            _ => {
                let stored = (self.clocks.stored.len() / width.max(1)) as u32;
                steps.changes.push((step, stored));
                self.clocks.stored.extend_from_slice(&state.clock);
            }
        }
    }
}
