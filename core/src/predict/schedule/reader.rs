//! The pass that determines the effect of each row on other threads.

use super::index::{Does, Generation, Index, NONE, Op};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, Run};

/// State of the pass over a run's rows.
pub(super) struct Reader<'a> {
    run: &'a Run,
    index: &'a mut Index,
    objects: FxHashMap<u32, u32>,
    forks: FxHashMap<u64, u32>,
    last: Vec<u32>,
    once: FxHashMap<u32, (Option<u32>, Option<u32>)>,
    /// By thread: its wait, and whether it has released the mutex.
    waits: FxHashMap<u16, (u32, bool)>,
    /// By thread: its wait and the row that ended it, until it wakes up.
    wakes: FxHashMap<u16, (u32, u32)>,
    /// By thread and semaphore: the unit taken last.
    taken: FxHashMap<(u16, u32), u32>,
    units: FxHashMap<u32, i64>,
    barriers: FxHashMap<u32, (u32, bool)>,
    generation_of: FxHashMap<(u16, u32), u32>,
}

impl<'a> Reader<'a> {
    pub fn new(run: &'a Run, index: &'a mut Index) -> Reader<'a> {
        Reader {
            run,
            last: vec![NONE; index.first.len()],
            index,
            objects: FxHashMap::default(),
            forks: FxHashMap::default(),
            once: FxHashMap::default(),
            waits: FxHashMap::default(),
            wakes: FxHashMap::default(),
            taken: FxHashMap::default(),
            units: FxHashMap::default(),
            barriers: FxHashMap::default(),
            generation_of: FxHashMap::default(),
        }
    }

    /// Processes the next row.
    pub fn row(&mut self, row: u32, thread: u16, kind: u8) {
        let mut needs = Vec::new();
        if let Some(last) = self.last.get_mut(usize::from(thread)) {
            if *last == NONE {
                needs.extend(self.forks.get(&u64::from(thread)).copied());
            }
            *last = row;
        }
        let kind = EventKind::from_u8(kind).filter(|kind| *kind > EventKind::Fence);
        let Some(kind) = kind else {
            if !needs.is_empty() {
                self.index.add(row, op(Does::Nothing, 0, needs));
            }
            return;
        };
        if let Some(steps) = self.index.steps.get_mut(usize::from(thread)) {
            steps.push(row);
        }
        let location = self.run.events.locations().get(row as usize).copied();
        let object = self.object(location.unwrap_or(0));
        let does = self.does(row, thread, kind, object, &mut needs);
        self.index.add(row, op(does, object, needs));
        self.end_wait(row, thread, kind, object);
    }

    fn object(&mut self, location: u32) -> u32 {
        let next = self.objects.len() as u32;
        *self.objects.entry(location).or_insert(next)
    }

    fn value(&self, row: u32) -> u64 {
        let values = self.run.events.values();
        values.get(row as usize).copied().unwrap_or(0)
    }

    fn does(
        &mut self,
        row: u32,
        thread: u16,
        kind: EventKind,
        object: u32,
        needs: &mut Vec<u32>,
    ) -> Does {
        match kind {
            EventKind::Lock => Does::Take { shared: false },
            EventKind::SharedLock => Does::Take { shared: true },
            EventKind::Unlock | EventKind::SharedUnlock => Does::Give,
            EventKind::TryLockFailed => Does::Attempt { for_writing: false },
            EventKind::Fork => {
                self.forks.insert(self.value(row), row);
                Does::Nothing
            }
            EventKind::Join => {
                let other = usize::try_from(self.value(row)).ok();
                let upto = other.and_then(|other| self.last.get(other));
                needs.extend(upto.copied().filter(|upto| *upto != NONE && *upto != row));
                Does::Nothing
            }
            EventKind::OnceBegin | EventKind::OnceEnd | EventKind::OncePass => {
                let (begun, ended) = self.once.entry(object).or_default();
                match kind {
                    EventKind::OnceEnd => {
                        needs.extend(*begun);
                        *ended = Some(row);
                    }
                    EventKind::OnceBegin => {
                        needs.extend(*ended);
                        *begun = Some(row);
                    }
                    _ => needs.extend(*ended),
                }
                Does::Nothing
            }
            EventKind::SemPost => self.post(thread, object),
            EventKind::SemWait => self.take_unit(row, thread, object),
            EventKind::Wait => Does::Wait { signalled: true },
            EventKind::Signal => Does::Signal,
            EventKind::Broadcast => Does::Broadcast,
            EventKind::BarrierArrive => self.arrive(row, thread, object),
            EventKind::BarrierLeave => self.leave(thread, object),
            _ => Does::Nothing,
        }
    }

    fn post(&mut self, thread: u16, object: u32) -> Does {
        *self.units.entry(object).or_default() += 1;
        if let Some(taken) = self.taken.remove(&(thread, object))
            && let Some(op) = self.index.op_mut(taken)
        {
            op.does = Does::TakeUnit { back: true };
        }
        Does::Post
    }

    fn take_unit(&mut self, row: u32, thread: u16, object: u32) -> Does {
        self.taken.insert((thread, object), row);
        let now = self.units.entry(object).or_default();
        *now -= 1;
        let (now, at) = (*now, object as usize);
        if self.index.units.len() <= at {
            self.index.units.resize(at + 1, 0);
        }
        if let Some(first) = self.index.units.get_mut(at) {
            *first = (*first).max(-now);
        }
        Does::TakeUnit { back: false }
    }

    /// Notes an arrival at a barrier; the first thread to leave closes its generation.
    fn arrive(&mut self, row: u32, thread: u16, object: u32) -> Does {
        let current = self.barriers.get(&object).copied();
        let generations = &mut self.index.generations;
        let generation = match current {
            Some((generation, true)) => generation,
            other => {
                generations.push(Generation {
                    earlier: other.map(|(generation, _)| generation),
                    ..Generation::default()
                });
                generations.len() as u32 - 1
            }
        };
        self.barriers.insert(object, (generation, true));
        if let Some(filling) = generations.get_mut(generation as usize) {
            filling.arrivals.push(row);
        }
        self.generation_of.insert((thread, object), generation);
        Does::Arrive(generation)
    }

    fn leave(&mut self, thread: u16, object: u32) -> Does {
        let Some(&mine) = self.generation_of.get(&(thread, object)) else {
            return Does::Nothing;
        };
        if let Some((current, open)) = self.barriers.get_mut(&object)
            && *current == mine
        {
            *open = false;
        }
        Does::Leave(mine)
    }

    /// Ends a wait at the thread's first synchronization step after the wait and its unlock.
    fn end_wait(&mut self, row: u32, thread: u16, kind: EventKind, object: u32) {
        if let Some((wait, gave_back)) = self.waits.get(&thread).copied() {
            if kind == EventKind::Unlock && !gave_back {
                self.waits.insert(thread, (wait, true));
            } else {
                self.waits.remove(&thread);
                self.wakes.insert(thread, (wait, row));
            }
        }
        match kind {
            EventKind::Wait => {
                self.waits.insert(thread, (row, false));
            }
            EventKind::Wake => {
                if let Some((wait, end)) = self.wakes.remove(&thread) {
                    let signalled = self.value(row) == 0
                        && self
                            .index
                            .op(wait)
                            .is_some_and(|wait| wait.object == object);
                    self.note_end(wait, Some(end).filter(|_| signalled), object);
                }
            }
            _ => {}
        }
    }

    fn note_end(&mut self, wait: u32, end: Option<u32>, condition: u32) {
        if let Some(wait) = self.index.op_mut(wait) {
            wait.does = Does::Wait {
                signalled: end.is_some(),
            };
        }
        if let Some(end) = end.and_then(|end| self.index.op_mut(end)) {
            end.ends = Some(condition);
        }
    }

    /// Resolves open facts at the end of the run.
    pub fn finish(self) {
        self.index.objects = self.objects.len();
        self.index.units.resize(self.objects.len(), 0);
        // A wait that resumed without a wakeup takes no signal.
        for (wait, _) in self.wakes.values() {
            if let Some(wait) = self.index.op_mut(*wait) {
                wait.does = Does::Wait { signalled: false };
            }
        }
    }
}

fn op(does: Does, object: u32, needs: Vec<u32>) -> Op {
    Op {
        does,
        object,
        needs,
        ends: None,
    }
}
