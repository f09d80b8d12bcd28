//! Prerequisites of each step of a thread: clocks over program order, reads-from, forks and joins.
//!
//! A *step* is an event, or all rows of one access. A clock has for each thread the number of its steps that
//! are needed. A thread's clock is stored where another thread's entry changes; its own entry is the step.

use crate::orders::other_thread;
use unsnarl_order::{ClockTable, VectorClock};
use unsnarl_trace::{Event, EventId, EventKind, Run, kinds::EventRole};

/// Edges that clocks follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    /// Program order, fork and join, reads-from, and synchronization except locks.
    ReadsFrom,
    /// As `ReadsFrom`, and each section of a lock before the next.
    ReadsFromAndLocks,
}

/// Prerequisites of all steps.
#[derive(Default)]
pub(super) struct Prerequisites {
    threads: Vec<ThreadSteps>,
    /// Step and thread of each row.
    places: Vec<(u16, u32)>,
    stored: ClockTable,
}

/// The steps of one thread.
#[derive(Default)]
struct ThreadSteps {
    /// First and last row of each step.
    rows: Vec<(u32, u32)>,
    /// `(step, stored)`, rising: from this step on, the stored clock is needed before the step.
    changes: Vec<(u32, u32)>,
}

impl Prerequisites {
    pub(super) fn new(run: &Run, edges: Edges) -> Prerequisites {
        let mut pass = PrerequisitePass::new(run, edges);
        for (row, event) in run.events.iter() {
            pass.row(row, &event);
        }
        pass.clocks
    }

    /// The empty clock.
    pub(super) fn bottom(&self) -> VectorClock {
        VectorClock::of_width(self.stored.width())
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
    pub(super) fn join_before(&self, into: &mut VectorClock, thread: u16, step: u32) -> bool {
        let stored = self.needed_before(thread, step);
        let rose = into.join(stored.unwrap_or(&[]));
        into.raise(thread, step) || rose
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
        Some(self.stored.get(stored))
    }
}

struct PrerequisitePass {
    edges: Edges,
    clocks: Prerequisites,
    states: Vec<ThreadState>,
    /// Step of the last write of each location.
    written: Vec<Option<(u16, u32)>>,
    /// Prerequisites left at each object.
    objects: Vec<LeftClocks>,
}

#[derive(Default)]
struct ThreadState {
    clock: VectorClock,
    seq: Option<u64>,
    /// The condition that it waits on.
    waits: Option<usize>,
}

#[derive(Default)]
struct LeftClocks {
    /// Clock of the events that others wait for: signals, posts, arrivals, ends of initializations, exclusive
    /// unlocks.
    given: VectorClock,
    /// Locks: clock of acquisitions; barriers: clock of departures.
    other: VectorClock,
}

impl PrerequisitePass {
    fn new(run: &Run, edges: Edges) -> PrerequisitePass {
        let threads = run.events.threads().iter().max();
        let width = threads.map_or(0, |&most| usize::from(most) + 1);
        let mut clocks = Prerequisites {
            stored: ClockTable::new(width, 0),
            places: Vec::with_capacity(run.events.len()),
            ..Prerequisites::default()
        };
        clocks.threads.resize_with(width, ThreadSteps::default);
        let mut states = Vec::new();
        states.resize_with(width, || ThreadState {
            clock: VectorClock::of_width(width),
            ..ThreadState::default()
        });
        let mut objects = Vec::new();
        objects.resize_with(run.locations.len(), LeftClocks::default);
        PrerequisitePass {
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
        if let Some(state) = self.states.get_mut(usize::from(t)) {
            state.clock.raise(t, step + 1);
        }
        self.gives(t, event);
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
            && state.clock.join(object.given.entries())
        {
            self.note(t, step);
        }
    }

    /// Joins the prerequisites of the row; they are needed before the next step.
    fn needs(&mut self, t: u16, step: u32, event: &Event) {
        let with_locks = self.edges == Edges::ReadsFromAndLocks;
        let rose = match event.kind.role() {
            EventRole::Access => event.kind.reads() && self.reads(t, event),
            EventRole::Join => self.joins(t, event),
            EventRole::Resume
            | EventRole::TakeUnit
            | EventRole::Open
            | EventRole::Pass
            | EventRole::Leave => self.takes(t, event, true, false),
            EventRole::Arrive | EventRole::Attempt => self.takes(t, event, false, true),
            EventRole::Acquire { shared } => with_locks && self.takes(t, event, true, !shared),
            EventRole::Release { .. }
            | EventRole::Contend
            | EventRole::Sleep
            | EventRole::Notify { .. } => false,
            EventRole::PostUnit
            | EventRole::Enter
            | EventRole::Fork
            | EventRole::Begin
            | EventRole::End => false,
            EventRole::Fence
            | EventRole::Allocate
            | EventRole::Free
            | EventRole::GiveWay
            | EventRole::Local => false,
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
        let knows = state.clock.get(u) > step;
        u != t && !knows && self.clocks.join_before(&mut state.clock, u, step + 1)
    }

    fn joins(&mut self, t: u16, event: &Event) -> bool {
        let other = other_thread(event.value).filter(|&other| other != t);
        let other = other.and_then(|other| self.states.get(usize::from(other)));
        let Some(theirs) = other.map(|other| other.clock.clone()) else {
            return false;
        };
        let state = self.states.get_mut(usize::from(t));
        state.is_some_and(|state| state.clock.join(theirs.entries()))
    }

    fn takes(&mut self, t: u16, event: &Event, given: bool, other: bool) -> bool {
        let object = self.objects.get(event.location.index());
        let state = self.states.get_mut(usize::from(t));
        let (Some(object), Some(state)) = (object, state) else {
            return false;
        };
        let rose = given && state.clock.join(object.given.entries());
        rose | (other && state.clock.join(object.other.entries()))
    }

    /// Publishes the thread's clock where others will need it.
    fn gives(&mut self, t: u16, event: &Event) {
        let location = event.location.index();
        if event.kind.writes()
            && let Some(state) = self.states.get(usize::from(t))
            && let Some(written) = self.written.get_mut(location)
        {
            *written = Some((t, state.clock.get(t).saturating_sub(1)));
        }
        match event.kind.role() {
            EventRole::Fork => self.forks(t, event),
            EventRole::Sleep => {
                if let Some(state) = self.states.get_mut(usize::from(t)) {
                    state.waits = Some(location);
                }
            }
            EventRole::Notify { .. }
            | EventRole::PostUnit
            | EventRole::TakeUnit
            | EventRole::Enter
            | EventRole::Open
            | EventRole::Arrive
            | EventRole::Release { shared: false } => {
                self.leaves(t, location, |object| &mut object.given);
            }
            EventRole::Leave | EventRole::Acquire { .. } | EventRole::Release { shared: true } => {
                self.leaves(t, location, |object| &mut object.other);
            }
            EventRole::Access
            | EventRole::Fence
            | EventRole::Attempt
            | EventRole::Contend
            | EventRole::Resume => {}
            EventRole::Begin | EventRole::End | EventRole::Join | EventRole::Pass => {}
            EventRole::Allocate | EventRole::Free | EventRole::GiveWay | EventRole::Local => {}
        }
    }

    fn leaves(&mut self, t: u16, location: usize, place: fn(&mut LeftClocks) -> &mut VectorClock) {
        let object = self.objects.get_mut(location);
        let state = self.states.get(usize::from(t));
        if let (Some(object), Some(state)) = (object, state) {
            place(object).join(state.clock.entries());
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
        if state.clock.join(mine.entries()) {
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
        let (stored, clock) = (&mut self.clocks.stored, state.clock.entries());
        match steps.changes.last() {
            Some(&(last, number)) if last == step => stored.replace(number, clock),
            _ => steps.changes.push((step, stored.push(clock))),
        }
    }
}
