//! The kernel of synchronization for the makers of orders: the transitions that steps are, made once, and the
//! state of objects with `blocked` and `apply`. Shares no code with the checker.

mod reader;
mod state;

pub use state::{Blocked, SyncState};

use super::SyncSteps;
use reader::Reader;
use rustc_hash::{FxHashMap, FxHashSet};

/// Effect of a step on its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncEffect {
    /// Acquires a lock.
    Take {
        /// `true` for reading only.
        shared: bool,
    },
    /// Releases a lock.
    Give,
    /// Fails to acquire a lock that another thread holds.
    Attempt {
        /// `true` if a holder for reading is not enough.
        for_writing: bool,
    },
    /// Posts a unit.
    Post,
    /// Takes a unit.
    TakeUnit {
        /// `true` if the thread posts it back itself, as with a lock.
        back: bool,
    },
    /// Begins to wait for a signal; not noted where the wait ends spuriously or by timeout.
    Wait {
        /// `true` if a signal has to end it.
        signalled: bool,
        /// Place in the recorded order of the step at which the thread resumes.
        resumes: u32,
    },
    /// Wakes one thread.
    Signal,
    /// Wakes all threads.
    Broadcast,
    /// Arrives at a barrier whose generations are not kept.
    Arrive,
    /// Leaves such a barrier.
    Leave,
    /// No effect of its own.
    Nothing,
}

/// A step that other threads affect or are affected by.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Its effect.
    pub effect: SyncEffect,
    /// Number of the object.
    pub object: u32,
    /// Steps that must come before, of other threads.
    pub needs: Vec<u32>,
    /// The condition variable of a signalled wait that ends here.
    pub ends: Option<u32>,
}

/// The transitions of steps, which [`SyncState`] applies.
#[derive(Debug, Default)]
pub struct Transitions {
    /// Index into `all` plus one, by step; 0 for steps that other threads do not affect.
    number: Vec<u32>,
    all: Vec<Transition>,
    /// Number of objects.
    objects: usize,
    /// Number of threads.
    threads: usize,
    /// Initial units of semaphores, by object.
    units: Vec<i64>,
    /// Threads that meet at a barrier whose generations are not kept, by object.
    meeting: FxHashMap<u32, u32>,
}

impl Transitions {
    /// Reads the steps: linear in them (and in the square of the threads at a barrier).
    pub fn new(steps: &impl SyncSteps) -> Transitions {
        let mut made = Reader::new(steps).read();
        made.find_oddities(steps);
        made
    }

    /// The transition of a step.
    pub fn get(&self, step: u32) -> Option<&Transition> {
        let at = self.number.get(step as usize)?.checked_sub(1)?;
        self.all.get(at as usize)
    }

    fn get_mut(&mut self, step: u32) -> Option<&mut Transition> {
        let at = self.number.get(step as usize)?.checked_sub(1)?;
        self.all.get_mut(at as usize)
    }

    fn add(&mut self, step: u32, transition: Transition) {
        self.all.push(transition);
        if let Some(number) = self.number.get_mut(step as usize) {
            *number = self.all.len() as u32;
        }
    }

    /// Keeps the steps of objects that were used against the rules in recorded order.
    fn find_oddities<S: SyncSteps>(&mut self, steps: &S) {
        let (odd, attempts) = self.violations(steps);
        for (step, shared) in attempts {
            if let Some(transition) = self.get_mut(step) {
                let attempt = |shared: bool| SyncEffect::Attempt {
                    for_writing: S::AS_RECORDED && !shared,
                };
                transition.effect = shared.map_or(SyncEffect::Nothing, attempt);
            }
        }
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for step in steps.recorded() {
            if let Some(transition) = self.get_mut(step) {
                let ends = transition.ends;
                transition.ends = ends.filter(|condition| !odd.contains(condition));
                if odd.contains(&transition.object) {
                    transition.effect = SyncEffect::Nothing;
                    transition
                        .needs
                        .extend(last.insert(transition.object, step));
                }
            }
        }
    }

    /// Replays the recorded order: objects used against the rules, and failed attempts with whether the lock
    /// was held for reading by another thread.
    fn violations(&self, steps: &impl SyncSteps) -> (FxHashSet<u32>, Vec<(u32, Option<bool>)>) {
        let mut odd = FxHashSet::default();
        let mut attempts = Vec::new();
        let mut state = SyncState::new(self);
        for step in steps.recorded() {
            let thread = steps.thread(step);
            let Some(transition) = self.get(step) else {
                continue;
            };
            let object = transition.object;
            match transition.effect {
                SyncEffect::Attempt { .. } => {
                    let holder = state.other_holder(object, thread);
                    attempts.push((step, holder.map(|(_, shared)| shared)));
                }
                SyncEffect::Give if !state.holds(object, thread) => {
                    odd.insert(object);
                }
                _ if state.blocked(self, step, thread, |_| true).is_some() => {
                    odd.insert(transition.ends.unwrap_or(object));
                }
                _ => {}
            }
            state.apply(self, step, thread);
        }
        (odd, attempts)
    }
}
