//! The state of memory and objects within a simulated order.

use super::program::{NONE, Op, Program};

/// Readiness of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ready {
    Yes,
    /// The step has to wait, for this thread if it is a single one.
    Waits(Option<u16>),
    /// The thread would depart from its path here.
    Departs,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: u16,
    told: bool,
    /// Position at which it resumes in the base order.
    place: u32,
}

/// A synchronization object of any kind.
#[derive(Clone, Debug, Default)]
struct Object {
    owner: Option<u16>,
    times: u32,
    readers: Vec<u16>,
    waiters: Vec<Waiter>,
    units: u32,
    arrived: u32,
    begun: Option<u16>,
    done: bool,
    turn: u32,
}

/// State of memory and objects within a simulated order.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// By thread: number of steps taken.
    pub next: Vec<u32>,
    /// Values of the cells.
    pub memory: Vec<Option<u128>>,
    objects: Vec<Object>,
    /// By thread at a barrier: the number of arrivals required.
    full: Vec<u32>,
}

impl State {
    /// The state before the first step.
    pub fn new(program: &Program, memory: Vec<Option<u128>>) -> State {
        let mut objects = vec![Object::default(); program.objects];
        for (&object, &units) in &program.units {
            if let Some(object) = objects.get_mut(object as usize) {
                object.units = units;
            }
        }
        State {
            next: vec![0; program.threads()],
            memory,
            objects,
            full: vec![0; program.threads()],
        }
    }

    fn object(&mut self, object: u32) -> Option<&mut Object> {
        self.objects.get_mut(object as usize)
    }

    /// Returns whether the thread has taken this many steps.
    fn has_done(&self, thread: u16, steps: u32) -> bool {
        self.next
            .get(usize::from(thread))
            .is_some_and(|&next| next >= steps)
    }

    /// Returns whether the thread may take the step now.
    pub fn ready(&self, program: &Program, flat: u32) -> Ready {
        let thread = program.thread(flat);
        if self.next.get(usize::from(thread)) == Some(&0) {
            let fork = program
                .fork
                .get(usize::from(thread))
                .copied()
                .unwrap_or(NONE);
            if fork != NONE {
                let id = program.id(fork);
                if !self.has_done(id.thread.0, id.index + 1) {
                    return Ready::Waits(Some(id.thread.0));
                }
            }
        }
        if let Some(end) = program.returns.get(&flat)
            && end.signalled
            && !self.is_told(end.condition, thread)
        {
            return Ready::Waits(None);
        }
        self.may(program, program.op(flat), thread)
    }

    fn is_told(&self, condition: u32, thread: u16) -> bool {
        let condition = self.objects.get(condition as usize);
        let mut waiters = condition.into_iter().flat_map(|object| &object.waiters);
        waiters.any(|waiter| waiter.thread == thread && waiter.told)
    }

    fn may(&self, program: &Program, op: Op, thread: u16) -> Ready {
        let object = |object: u32| self.objects.get(object as usize);
        let when = |may: bool, otherwise: Ready| if may { Ready::Yes } else { otherwise };
        match op {
            Op::Lock(lock) => self.free(lock, thread, true),
            Op::SharedLock(lock) => self.free(lock, thread, false),
            Op::Attempt(lock) => when(self.free(lock, thread, true) != Ready::Yes, Ready::Departs),
            Op::Join(joined) => {
                let own = program.own.get(usize::from(joined)).copied().unwrap_or(0);
                when(self.has_done(joined, own), Ready::Waits(Some(joined)))
            }
            Op::Leave(barrier) => {
                let full = self.full.get(usize::from(thread)).copied().unwrap_or(NONE);
                let arrived = object(barrier).map_or(0, |object| object.arrived);
                when(arrived >= full, Ready::Waits(None))
            }
            Op::TakeUnit(semaphore) => {
                let units = object(semaphore).map_or(0, |object| object.units);
                when(units > 0, Ready::Waits(None))
            }
            Op::OnceBegin(once) => {
                let begun = object(once).and_then(|object| object.begun);
                when(begun.is_none(), Ready::Departs)
            }
            Op::OncePass(once) => {
                let initialized = program.initialized.contains(&once);
                let done = object(once).is_some_and(|object| object.done);
                let by = object(once).and_then(|object| object.begun);
                when(done || !initialized, Ready::Waits(by))
            }
            Op::Turn(odd, turn) => {
                let now = object(odd).map(|object| object.turn);
                when(now == Some(turn), Ready::Waits(None))
            }
            _ => Ready::Yes,
        }
    }

    fn free(&self, lock: u32, thread: u16, alone: bool) -> Ready {
        let Some(lock) = self.objects.get(lock as usize) else {
            return Ready::Yes;
        };
        let readers = lock.readers.iter().filter(|_| alone);
        let other = |by: &&u16| **by != thread;
        match lock.owner.iter().chain(readers).find(other) {
            Some(&by) => Ready::Waits(Some(by)),
            None => Ready::Yes,
        }
    }

    /// Applies a step of synchronization. `place` gives the position in the base order at which a thread's
    /// wait resumes. Returns `true` when a waiting thread may resume.
    pub fn sync(&mut self, program: &Program, flat: u32, place: impl Fn(u16) -> u32) -> bool {
        let thread = program.thread(flat);
        if let Some(end) = program.returns.get(&flat)
            && let Some(object) = self.object(end.condition)
        {
            object.waiters.retain(|waiter| waiter.thread != thread);
        }
        match program.op(flat) {
            Op::Lock(lock) => self.take(lock, thread),
            Op::SharedLock(lock) => {
                if let Some(lock) = self.object(lock) {
                    lock.readers.push(thread);
                }
            }
            Op::Unlock(lock) | Op::Release(lock) => {
                self.give_back(lock, thread);
                return true;
            }
            Op::Wait(condition) => {
                let place = place(thread);
                if let Some(object) = self.object(condition) {
                    object.waiters.push(Waiter {
                        thread,
                        told: false,
                        place,
                    });
                }
            }
            Op::Signal(condition) => return self.tell(condition, false),
            Op::Broadcast(condition) => return self.tell(condition, true),
            Op::Arrive(barrier) => return self.arrive(program, barrier, thread),
            Op::TakeUnit(semaphore) => {
                if let Some(object) = self.object(semaphore) {
                    object.units = object.units.saturating_sub(1);
                }
            }
            Op::GiveUnit(semaphore) => {
                if let Some(object) = self.object(semaphore) {
                    object.units += 1;
                }
                return true;
            }
            Op::OnceBegin(once) => {
                if let Some(object) = self.object(once) {
                    object.begun = Some(thread);
                }
            }
            Op::OnceEnd(once) => {
                if let Some(object) = self.object(once) {
                    object.done = true;
                }
                return true;
            }
            Op::Turn(odd, _) => {
                if let Some(object) = self.object(odd) {
                    object.turn += 1;
                }
                return true;
            }
            _ => {}
        }
        false
    }

    fn take(&mut self, lock: u32, thread: u16) {
        if let Some(lock) = self.object(lock) {
            lock.times = if lock.owner == Some(thread) {
                lock.times + 1
            } else {
                1
            };
            lock.owner = Some(thread);
        }
    }

    fn give_back(&mut self, lock: u32, thread: u16) {
        let Some(lock) = self.object(lock) else {
            return;
        };
        if lock.owner == Some(thread) {
            lock.times = lock.times.saturating_sub(1);
            if lock.times == 0 {
                lock.owner = None;
            }
        } else if let Some(at) = lock.readers.iter().position(|&by| by == thread) {
            lock.readers.remove(at);
        }
    }

    fn tell(&mut self, condition: u32, all: bool) -> bool {
        let Some(object) = self.object(condition) else {
            return false;
        };
        let untold = object.waiters.iter_mut().filter(|waiter| !waiter.told);
        if all {
            untold.for_each(|waiter| waiter.told = true);
        } else if let Some(first) = untold.min_by_key(|waiter| waiter.place) {
            first.told = true;
        }
        true
    }

    fn arrive(&mut self, program: &Program, barrier: u32, thread: u16) -> bool {
        let meet = program.meeting.get(&barrier).copied().unwrap_or(1).max(1);
        let Some(object) = self.object(barrier) else {
            return false;
        };
        let full = (object.arrived / meet + 1) * meet;
        object.arrived += 1;
        let is_full = object.arrived == full;
        if let Some(mine) = self.full.get_mut(usize::from(thread)) {
            *mine = full;
        }
        is_full
    }
}
