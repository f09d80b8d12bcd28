//! Constraints from the record on all orders: predecessors of steps, resumptions of waits, initial units of
//! semaphores, and objects used against the rules.

use super::{meetings::BarrierMeetings, replay::Replay};
use crate::{Rule, SyncOp, SyncSteps};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::kinds::EventRole;

/// Resumption of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitEnd {
    /// The step at which the wait began.
    pub wait: u32,
    /// The condition variable.
    pub condition: u32,
    /// `true` if a signal ended it, not a timeout or a spurious wakeup.
    pub signalled: bool,
}

/// Constraints on all orders of some steps: made once, in time linear in them (and in the square of the
/// threads at a barrier).
#[derive(Debug, Default)]
pub struct Constraints {
    /// Steps that must come before a step, beyond its thread's.
    needs: FxHashMap<u32, Vec<(u32, Rule)>>,
    /// Ends of waits by the step at which the thread resumes: the reacquisition of the mutex, or the wakeup
    /// where that is not recorded.
    pub(super) wait_ends: FxHashMap<u32, WaitEnd>,
    /// The step at which a wait ends, by the wait.
    pub(super) end_of: FxHashMap<u32, u32>,
    /// Initial units of semaphores.
    pub(super) units: FxHashMap<u32, u64>,
    /// Threads that meet at a barrier, where its generations are not kept.
    pub(super) meeting: FxHashMap<u32, u64>,
    /// Attempts that need a holder of the lock, with whether one that holds it for writing.
    pub(super) attempts: FxHashMap<u32, bool>,
    /// Objects that were used against the rules.
    pub(super) odd: FxHashSet<u32>,
}

impl Constraints {
    /// Prepares the steps.
    pub fn new(steps: &impl SyncSteps) -> Constraints {
        let mut made = Constraints::default();
        made.waits(steps);
        made.semaphores(steps);
        Lifetimes::default().follow(steps, &mut made);
        made.barriers(steps);
        made.oddities(steps);
        made
    }

    /// Steps that must come before this one, beyond its thread's.
    pub(super) fn needs(&self, step: u32) -> &[(u32, Rule)] {
        self.needs.get(&step).map_or(&[], Vec::as_slice)
    }

    /// Objects that were used against the rules.
    #[cfg(any(test, feature = "testing"))]
    pub fn odd(&self) -> &FxHashSet<u32> {
        &self.odd
    }

    fn need(&mut self, step: u32, need: u32, rule: Rule) {
        self.needs.entry(step).or_default().push((need, rule));
    }

    /// Finds the ends of waits: a wait releases the mutex and ends with the thread's next step of
    /// synchronization.
    fn waits<S: SyncSteps>(&mut self, steps: &S) {
        let mut begun: FxHashMap<u16, (u32, u32, bool)> = FxHashMap::default();
        let mut open: FxHashMap<u16, (u32, u32)> = FxHashMap::default();
        for (step, sync) in own_syncs(steps) {
            let thread = steps.thread(step);
            if let Some((wait, condition, gave_back)) = begun.get(&thread).copied() {
                let releases = sync.kind.role() == EventRole::Release { shared: false };
                if releases && !gave_back {
                    begun.insert(thread, (wait, condition, true));
                    continue;
                }
                begun.remove(&thread);
                let end = WaitEnd {
                    wait,
                    condition,
                    signalled: !S::AS_RECORDED,
                };
                self.end_of.insert(wait, step);
                self.wait_ends.insert(step, end);
                open.insert(thread, (condition, step));
            }
            match sync.kind.role() {
                EventRole::Sleep => {
                    begun.insert(thread, (step, sync.object, false));
                }
                EventRole::Resume => {
                    if let Some((condition, end)) = open.remove(&thread)
                        && condition == sync.object
                        && let Some(end) = self.wait_ends.get_mut(&end)
                    {
                        end.signalled = sync.value == 0;
                    }
                }
                _ => {}
            }
        }
    }

    /// Counts the units that semaphores lack: at most in the recorded order, or after all steps.
    fn semaphores(&mut self, steps: &impl SyncSteps) {
        let is_recorded = steps.recorded().next().is_some();
        let mut now: FxHashMap<u32, i64> = FxHashMap::default();
        for (_, sync) in syncs(steps) {
            let by = match sync.kind.role() {
                EventRole::PostUnit => 1,
                EventRole::TakeUnit => -1,
                _ => continue,
            };
            let units = now.entry(sync.object).or_default();
            *units += by;
            if is_recorded {
                self.lacks(sync.object, *units);
            }
        }
        if !is_recorded {
            now.into_iter()
                .for_each(|(object, units)| self.lacks(object, units));
        }
    }

    fn lacks(&mut self, semaphore: u32, units: i64) {
        let lacking = units.checked_neg().and_then(|n| u64::try_from(n).ok());
        let first = self.units.entry(semaphore).or_default();
        *first = (*first).max(lacking.unwrap_or(0));
    }

    /// Finds the generations of barriers, or the number of threads that meet at one.
    fn barriers<S: SyncSteps>(&mut self, steps: &S) {
        let mut meetings = BarrierMeetings::default();
        for (step, sync) in syncs(steps) {
            let needs = meetings.note(step, steps.thread(step), sync);
            if S::AS_RECORDED {
                let needs = needs.into_iter().filter(|need| *need != step);
                needs.for_each(|need| self.need(step, need, Rule::Barrier));
            }
        }
        if !S::AS_RECORDED {
            self.meeting = meetings.sizes(steps.recorded().next().is_some());
        }
    }

    /// Replays the record and notes violations of the rules; steps of such objects then need the object's
    /// preceding step.
    fn oddities<S: SyncSteps>(&mut self, steps: &S) {
        if steps.recorded().next().is_none() {
            let attempts = syncs(steps).filter(|(_, sync)| sync.kind.role() == EventRole::Attempt);
            self.attempts = attempts.map(|(step, _)| (step, false)).collect();
            return;
        }
        let mut odd = FxHashSet::default();
        let mut attempts = FxHashMap::default();
        let mut replay = Replay::new(self, steps, steps.recorded());
        for (step, sync) in syncs(steps) {
            if sync.kind.role() == EventRole::Attempt
                && let Some(shared) = replay.other_holder(sync.object, steps.thread(step))
            {
                attempts.insert(step, S::AS_RECORDED && !shared);
            }
            if let Err((object, ..)) = replay.synchronize(step, sync) {
                odd.insert(object);
            }
        }
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for (step, sync) in syncs(steps) {
            if odd.contains(&sync.object)
                && let Some(before) = last.insert(sync.object, step)
            {
                self.need(step, before, Rule::AsRecorded);
            }
        }
        self.odd = odd;
        self.attempts = attempts;
    }
}

/// Creations and last steps of threads, and once-only initializations.
#[derive(Default)]
struct Lifetimes {
    forks: FxHashMap<u64, u32>,
    /// By thread: whether its first step has come, and the last that it took itself.
    threads: Vec<(bool, Option<u32>)>,
    /// By gate: the step that entered it last, and those that opened it.
    entered: FxHashMap<u32, u32>,
    opened: FxHashMap<u32, Opened>,
}

/// Steps that opened a gate, with the step that had entered it before.
#[derive(Default)]
struct Opened {
    after: Option<u32>,
    by: Vec<u32>,
}

impl Lifetimes {
    /// Notes the constraints. Without a recorded order, a first pass learns what comes later in the steps.
    fn follow(mut self, steps: &impl SyncSteps, made: &mut Constraints) {
        let is_recorded = steps.recorded().next().is_some();
        if !is_recorded {
            for step in steps.steps() {
                self.step(steps, step);
            }
            self.threads.iter_mut().for_each(|thread| thread.0 = false);
        }
        for step in walk(steps) {
            let needs = self.step(steps, step);
            for (need, rule) in needs {
                // The steps of one thread are in order anyway.
                if steps.thread(need) != steps.thread(step) {
                    made.need(step, need, rule);
                }
            }
        }
    }

    /// Steps that have to come before the step.
    fn step(&mut self, steps: &impl SyncSteps, step: u32) -> Vec<(u32, Rule)> {
        let thread = steps.thread(step);
        let is_first = self.take(thread, step, steps.is_own(step));
        let fork = self.forks.get(&u64::from(thread)).filter(|_| is_first);
        let mut needs: Vec<_> = fork.map(|&fork| (fork, Rule::Fork)).into_iter().collect();
        let Some(sync) = steps.sync(step) else {
            return needs;
        };
        match sync.kind.role() {
            EventRole::Fork => drop(self.forks.insert(sync.value, step)),
            EventRole::Join => {
                let other = usize::try_from(sync.value).ok();
                let other = other.and_then(|other| self.threads.get(other));
                let last = other.and_then(|(_, last)| *last);
                needs.extend(last.map(|last| (last, Rule::Join)));
            }
            role => needs.extend(self.gate(step, sync.object, role)),
        }
        needs
    }

    /// Notes a step of the thread; returns whether it is the first.
    fn take(&mut self, thread: u16, step: u32, is_own: bool) -> bool {
        let at = usize::from(thread);
        if self.threads.len() <= at {
            self.threads.resize(at + 1, (false, None));
        }
        let Some((begun, last)) = self.threads.get_mut(at) else {
            return false;
        };
        if is_own {
            *last = (*last).max(Some(step));
        }
        !std::mem::replace(begun, true)
    }

    fn gate(&mut self, step: u32, gate: u32, role: EventRole) -> Vec<(u32, Rule)> {
        let needs = match role {
            EventRole::Enter => {
                self.entered.insert(gate, step);
                self.opened.entry(gate).or_default().by.clone()
            }
            EventRole::Open => {
                let entered = self.entered.get(&gate).copied();
                let opened = self.opened.entry(gate).or_default();
                if opened.after != entered {
                    opened.by.clear();
                }
                opened.after = entered;
                if !opened.by.contains(&step) {
                    opened.by.push(step);
                }
                entered.into_iter().collect()
            }
            EventRole::Pass => self.opened.entry(gate).or_default().by.clone(),
            _ => Vec::new(),
        };
        needs.into_iter().map(|need| (need, Rule::Once)).collect()
    }
}

/// The steps in their recorded order; thread by thread when none was recorded.
fn walk(steps: &impl SyncSteps) -> impl Iterator<Item = u32> {
    let is_recorded = steps.recorded().next().is_some();
    let otherwise = if is_recorded { 0 } else { usize::MAX };
    steps.recorded().chain(steps.steps().take(otherwise))
}

fn syncs(steps: &impl SyncSteps) -> impl Iterator<Item = (u32, SyncOp)> {
    walk(steps).filter_map(|step| Some((step, steps.sync(step)?)))
}

/// The synchronization that threads did themselves, each thread's in program order.
fn own_syncs(steps: &impl SyncSteps) -> impl Iterator<Item = (u32, SyncOp)> {
    let own = steps.steps().filter(|step| steps.is_own(*step));
    own.filter_map(|step| Some((step, steps.sync(step)?)))
}
