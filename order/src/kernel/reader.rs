//! The pass that makes the transitions of the steps.

use super::{SyncEffect, Transition, Transitions};
use crate::{NONE, SyncOp, SyncSteps};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, kinds::EventRole};

/// State of the pass over the recorded order.
pub(super) struct Reader<'a, S> {
    steps: &'a S,
    made: Transitions,
    /// Place in the recorded order.
    place: u32,
    objects: FxHashMap<u32, u32>,
    forks: FxHashMap<u64, u32>,
    /// By thread: the last step that it took itself.
    last: Vec<u32>,
    gates: FxHashMap<u32, Gate>,
    /// By thread: its wait, and whether it has released the mutex.
    waits: FxHashMap<u16, (u32, bool)>,
    /// By thread: its wait, and the step and place that ended it, until it wakes up.
    wakes: FxHashMap<u16, (u32, u32, u32)>,
    /// By thread and semaphore: the unit taken last.
    taken: FxHashMap<(u16, u32), u32>,
    units: FxHashMap<u32, i64>,
    barriers: FxHashMap<u32, BarrierGenerations>,
}

/// Role of the step by which a thread releases the mutex while it waits.
const RELEASE: EventRole = EventRole::Release { shared: false };

/// A gate so far.
#[derive(Default)]
struct Gate {
    /// The step that began what opens the gate.
    entered: Option<u32>,
    /// The steps that opened it, since it was entered last.
    opened: Vec<u32>,
    /// It was entered and not opened since.
    is_entered: bool,
}

impl Gate {
    fn enter(&mut self, step: u32, needs: &mut Vec<u32>) {
        needs.extend(&self.opened);
        (self.entered, self.is_entered) = (Some(step), true);
    }

    fn open(&mut self, step: u32, needs: &mut Vec<u32>) {
        needs.extend(self.entered);
        if std::mem::take(&mut self.is_entered) {
            self.opened.clear();
        }
        self.opened.push(step);
    }
}

/// A barrier so far; the first thread to leave closes its generation.
#[derive(Default)]
struct BarrierGenerations {
    /// Arrivals of the generation that fills up.
    arriving: Vec<u32>,
    /// Arrivals of the closed generations.
    closed: Vec<Vec<u32>>,
    /// The generation in which each thread arrived.
    of: FxHashMap<u16, usize>,
}

impl<'a, S: SyncSteps> Reader<'a, S> {
    pub fn new(steps: &'a S) -> Reader<'a, S> {
        let threads = steps.recorded().map(|step| steps.thread(step)).max();
        let threads = threads.map_or(0, |most| usize::from(most) + 1);
        Reader {
            steps,
            made: Transitions {
                number: vec![0; steps.count() as usize],
                threads,
                ..Transitions::default()
            },
            place: 0,
            objects: FxHashMap::default(),
            forks: FxHashMap::default(),
            last: vec![NONE; threads],
            gates: FxHashMap::default(),
            waits: FxHashMap::default(),
            wakes: FxHashMap::default(),
            taken: FxHashMap::default(),
            units: FxHashMap::default(),
            barriers: FxHashMap::default(),
        }
    }

    /// Makes the transitions.
    pub fn read(mut self) -> Transitions {
        let steps = self.steps;
        for (place, step) in (0..).zip(steps.recorded()) {
            self.place = place;
            self.step(step, steps.thread(step));
        }
        self.finish()
    }

    fn step(&mut self, step: u32, thread: u16) {
        let mut needs = Vec::new();
        let is_own = self.steps.is_own(step);
        if let Some(last) = self.last.get_mut(usize::from(thread)) {
            if *last == NONE {
                needs.extend(self.forks.get(&u64::from(thread)).copied());
            }
            if is_own {
                *last = step;
            }
        }
        let Some(sync) = self.steps.sync(step) else {
            if !needs.is_empty() {
                self.add(step, thread, SyncEffect::Nothing, NONE, needs);
            }
            return;
        };
        let object = self.object(sync.object);
        let effect = self.effect(step, thread, sync, object, &mut needs);
        self.add(step, thread, effect, object, needs);
        if is_own {
            self.end_wait(step, thread, sync, object);
        }
    }

    fn add(&mut self, step: u32, thread: u16, effect: SyncEffect, object: u32, needs: Vec<u32>) {
        let of_others = |need: &u32| self.steps.thread(*need) != thread;
        let transition = Transition {
            effect,
            object,
            needs: needs.into_iter().filter(of_others).collect(),
            ends: None,
        };
        self.made.add(step, transition);
    }

    fn object(&mut self, location: u32) -> u32 {
        let next = self.objects.len() as u32;
        *self.objects.entry(location).or_insert(next)
    }

    fn effect(
        &mut self,
        step: u32,
        thread: u16,
        sync: SyncOp,
        object: u32,
        needs: &mut Vec<u32>,
    ) -> SyncEffect {
        match sync.kind.role() {
            EventRole::Acquire { shared } => return SyncEffect::Take { shared },
            EventRole::Release { .. } => return SyncEffect::Give,
            EventRole::Attempt => return SyncEffect::Attempt { for_writing: false },
            EventRole::PostUnit => return self.post(thread, object),
            EventRole::TakeUnit => return self.take_unit(step, thread, object),
            EventRole::Sleep => {
                return SyncEffect::Wait {
                    signalled: true,
                    resumes: NONE,
                };
            }
            EventRole::Notify { all: false } => return SyncEffect::Signal,
            EventRole::Notify { all: true } => return SyncEffect::Broadcast,
            EventRole::Arrive => return self.arrive(step, thread, object, needs),
            EventRole::Leave => return self.leave(thread, object, needs),
            EventRole::Fork => {
                self.forks.insert(sync.value, step);
            }
            EventRole::Join => {
                let other = usize::try_from(sync.value).ok();
                let upto = other.and_then(|other| self.last.get(other)).copied();
                needs.extend(upto.filter(|upto| *upto != NONE));
            }
            EventRole::Enter => self.gate(object).enter(step, needs),
            EventRole::Open => self.gate(object).open(step, needs),
            EventRole::Pass => needs.extend(&self.gate(object).opened),
            // The end of a wait is settled at its first step of synchronization.
            EventRole::Resume | EventRole::Contend | EventRole::Begin | EventRole::End => {}
            EventRole::Access | EventRole::Fence | EventRole::Allocate | EventRole::Free => {}
            EventRole::GiveWay | EventRole::Local => {}
        }
        SyncEffect::Nothing
    }

    fn gate(&mut self, object: u32) -> &mut Gate {
        self.gates.entry(object).or_default()
    }

    fn post(&mut self, thread: u16, object: u32) -> SyncEffect {
        *self.units.entry(object).or_default() += 1;
        if let Some(taken) = self.taken.remove(&(thread, object))
            && let Some(taken) = self.made.get_mut(taken)
        {
            taken.effect = SyncEffect::TakeUnit { back: true };
        }
        SyncEffect::Post
    }

    fn take_unit(&mut self, step: u32, thread: u16, object: u32) -> SyncEffect {
        self.taken.insert((thread, object), step);
        let now = self.units.entry(object).or_default();
        *now -= 1;
        let (now, at) = (*now, object as usize);
        if self.made.units.len() <= at {
            self.made.units.resize(at + 1, 0);
        }
        if let Some(first) = self.made.units.get_mut(at) {
            *first = (*first).max(-now);
        }
        SyncEffect::TakeUnit { back: false }
    }

    /// Notes an arrival at a barrier: after the arrivals of the generation before.
    fn arrive(&mut self, step: u32, thread: u16, object: u32, needs: &mut Vec<u32>) -> SyncEffect {
        let barrier = self.barriers.entry(object).or_default();
        barrier.of.insert(thread, barrier.closed.len());
        barrier.arriving.push(step);
        if S::AS_RECORDED {
            needs.extend(barrier.closed.last().into_iter().flatten());
            return SyncEffect::Nothing;
        }
        if barrier.closed.is_empty() {
            *self.made.meeting.entry(object).or_default() += 1;
        }
        SyncEffect::Arrive
    }

    fn leave(&mut self, thread: u16, object: u32, needs: &mut Vec<u32>) -> SyncEffect {
        let barrier = self.barriers.entry(object).or_default();
        let mine = barrier.of.get(&thread).copied();
        if mine == Some(barrier.closed.len()) {
            barrier.closed.push(std::mem::take(&mut barrier.arriving));
        }
        if !S::AS_RECORDED {
            return SyncEffect::Leave;
        }
        let met = mine.and_then(|mine| barrier.closed.get(mine));
        needs.extend(met.into_iter().flatten());
        SyncEffect::Nothing
    }

    /// Ends a wait at the thread's first synchronization step after the wait and its unlock.
    fn end_wait(&mut self, step: u32, thread: u16, sync: SyncOp, object: u32) {
        // A thread that waits for ever does not resume. (In runs such a wait needs no signal.)
        if sync.kind == EventKind::Blocked && !S::AS_RECORDED {
            return;
        }
        if let Some((wait, gave_back)) = self.waits.get(&thread).copied() {
            if sync.kind.role() == RELEASE && !gave_back {
                self.waits.insert(thread, (wait, true));
            } else {
                self.waits.remove(&thread);
                let ended = self.wakes.insert(thread, (wait, step, self.place));
                self.end_without_wakeup(ended);
            }
        }
        match sync.kind.role() {
            EventRole::Sleep => {
                self.waits.insert(thread, (step, false));
            }
            EventRole::Resume => {
                if let Some(ended) = self.wakes.remove(&thread) {
                    let of = self.made.get(ended.0).map(|wait| wait.object);
                    self.note_end(ended, sync.value == 0 && of == Some(object));
                }
            }
            _ => {}
        }
    }

    /// Settles a wait that resumed without a wakeup.
    fn end_without_wakeup(&mut self, ended: Option<(u32, u32, u32)>) {
        if let Some(ended) = ended {
            self.note_end(ended, !S::AS_RECORDED);
        }
    }

    fn note_end(&mut self, (wait, end, resumes): (u32, u32, u32), signalled: bool) {
        let Some(wait) = self.made.get_mut(wait) else {
            return;
        };
        wait.effect = SyncEffect::Wait { signalled, resumes };
        let condition = wait.object;
        if let Some(end) = self.made.get_mut(end).filter(|_| signalled) {
            end.ends = Some(condition);
        }
    }

    /// Settles what is open at the end of the steps.
    fn finish(mut self) -> Transitions {
        self.made.objects = self.objects.len();
        self.made.units.resize(self.objects.len(), 0);
        let open: Vec<_> = self.wakes.drain().map(|(_, ended)| ended).collect();
        for ended in open {
            self.end_without_wakeup(Some(ended));
        }
        self.made
    }
}
