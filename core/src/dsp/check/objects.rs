//! The rules of synchronization, per object.

use super::{
    Rule,
    waits::{self, Return, Waits},
};
use crate::symbolic::{Action, StepId, SymbolicTrace};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// A violated rule, with the other step involved.
type Broken = (Option<StepId>, Rule);

/// Facts of a trace that hold in all its orders.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Steps that create threads.
    forks: FxHashMap<ThreadId, StepId>,
    /// The last step of each thread that it took itself.
    ends: FxHashMap<ThreadId, StepId>,
    returns: FxHashMap<StepId, Return>,
    units: FxHashMap<LocationId, u64>,
    meeting: FxHashMap<LocationId, u64>,
    /// Once-only initializations that the trace has.
    initialized: FxHashSet<LocationId>,
    /// Failed attempts at a lock that nobody else held.
    on_free: FxHashSet<StepId>,
    /// Objects used against the rules: their steps in the recorded order.
    odd: FxHashMap<LocationId, Vec<StepId>>,
}

impl Facts {
    pub fn new(trace: &SymbolicTrace) -> Facts {
        let mut facts = Facts {
            returns: waits::returns(trace),
            ..Facts::default()
        };
        facts.threads(trace);
        facts.semaphores(trace);
        facts.barriers(trace);
        facts.as_recorded(trace);
        facts
    }

    fn threads(&mut self, trace: &SymbolicTrace) {
        for (id, step) in trace.steps() {
            match step.action {
                Action::Sync {
                    kind: EventKind::Fork,
                    value,
                    ..
                } => {
                    self.forks.insert(thread(value), id);
                }
                Action::Sync {
                    kind: EventKind::OnceBegin,
                    object,
                    ..
                } => {
                    self.initialized.insert(object);
                }
                Action::Release { .. } => continue,
                _ => {}
            }
            self.ends.insert(id.thread, id);
        }
    }

    fn semaphores(&mut self, trace: &SymbolicTrace) {
        let mut now: FxHashMap<LocationId, i64> = FxHashMap::default();
        let mut steps = |id: StepId| {
            let Some((kind, object, _)) = sync(trace, id) else {
                return;
            };
            let by = match kind {
                EventKind::SemPost => 1,
                EventKind::SemWait => -1,
                _ => return,
            };
            let units = now.entry(object).or_default();
            *units += by;
            if !trace.order.is_empty() {
                let first = self.units.entry(object).or_default();
                *first = (*first).max(u64::try_from(-*units).unwrap_or(0));
            }
        };
        match trace.order.is_empty() {
            true => trace.steps().for_each(|(id, _)| steps(id)),
            false => trace.order.iter().for_each(|&id| steps(id)),
        }
        if trace.order.is_empty() {
            let lacking = now.into_iter();
            self.units = lacking
                .map(|(object, units)| (object, u64::try_from(-units).unwrap_or(0)))
                .collect();
        }
    }

    /// Counts the threads that meet at each barrier.
    fn barriers(&mut self, trace: &SymbolicTrace) {
        let mut left: FxHashSet<LocationId> = FxHashSet::default();
        for &id in &trace.order {
            match sync(trace, id) {
                Some((EventKind::BarrierLeave, object, _)) => {
                    left.insert(object);
                }
                Some((EventKind::BarrierArrive, object, _)) if !left.contains(&object) => {
                    *self.meeting.entry(object).or_default() += 1;
                }
                _ => {}
            }
        }
        if trace.order.is_empty() {
            let mut come: FxHashSet<(LocationId, ThreadId)> = FxHashSet::default();
            for (id, _) in trace.steps() {
                if let Some((EventKind::BarrierArrive, object, _)) = sync(trace, id)
                    && come.insert((object, id.thread))
                {
                    *self.meeting.entry(object).or_default() += 1;
                }
            }
        }
    }

    /// Finds the violations of the rules in the recorded order.
    fn as_recorded(&mut self, trace: &SymbolicTrace) {
        let mut odd: FxHashSet<LocationId> = FxHashSet::default();
        let mut on_free = FxHashSet::default();
        let mut objects = Objects::of_order(self, &trace.order);
        for &id in &trace.order {
            let Err((_, rule)) = objects.step(trace, id) else {
                continue;
            };
            if rule == Rule::Attempt {
                on_free.insert(id);
            } else if let Some(object) = objects.blamed(trace, id, rule) {
                odd.insert(object);
            }
        }
        self.on_free = on_free;
        for &id in &trace.order {
            if let Some(object) = object(trace, id).filter(|object| odd.contains(object)) {
                self.odd.entry(object).or_default().push(id);
            }
        }
    }
}

/// Holders of a lock.
#[derive(Debug, Default)]
struct Held {
    by: Option<StepId>,
    times: u32,
    shared: Vec<StepId>,
}

/// The state of all objects within an order.
#[derive(Debug)]
pub(super) struct Objects<'f> {
    facts: &'f Facts,
    place: FxHashMap<StepId, usize>,
    done: FxHashMap<ThreadId, u32>,
    locks: FxHashMap<LocationId, Held>,
    waits: Waits,
    units: FxHashMap<LocationId, u64>,
    arrived: FxHashMap<LocationId, u64>,
    /// Per thread at a barrier: the number of arrivals required before it leaves.
    generation: FxHashMap<(LocationId, ThreadId), u64>,
    once: FxHashMap<LocationId, (StepId, bool)>,
    odd: FxHashMap<LocationId, usize>,
    last_condition: Option<LocationId>,
}

impl<'f> Objects<'f> {
    /// The state before the first step.
    pub fn of_order(facts: &'f Facts, order: &[StepId]) -> Objects<'f> {
        let place = order.iter().enumerate().map(|(at, &id)| (id, at));
        Objects {
            facts,
            place: place.collect(),
            done: FxHashMap::default(),
            locks: FxHashMap::default(),
            waits: Waits::default(),
            units: facts.units.clone(),
            arrived: FxHashMap::default(),
            generation: FxHashMap::default(),
            once: FxHashMap::default(),
            odd: FxHashMap::default(),
            last_condition: None,
        }
    }

    /// Applies the step; one that violates a rule takes effect nevertheless.
    pub fn step(&mut self, trace: &SymbolicTrace, id: StepId) -> Result<(), Broken> {
        let mut result = self.created(id);
        *self.done.entry(id.thread).or_default() += 1;
        let Some(object) = object(trace, id) else {
            return result;
        };
        if self.facts.odd.contains_key(&object) {
            return result.and(self.as_recorded(id, object));
        }
        if let Some((condition, may)) = self.waits.go_on(id) {
            self.last_condition = Some(condition);
            if !may && !self.facts.odd.contains_key(&condition) {
                result = result.and(Err((None, Rule::Signal)));
            }
        }
        let own = match trace.step(id).map(|step| step.action) {
            Some(Action::Sync { kind, value, .. }) => self.sync(id, kind, object, value),
            Some(Action::Release { is_shared, .. }) => self.unlock(id, object, is_shared),
            _ => Ok(()),
        };
        result.and(own)
    }

    /// The object whose recorded use violated the rule at this step, if the rule is about an object.
    pub fn blamed(&self, trace: &SymbolicTrace, id: StepId, rule: Rule) -> Option<LocationId> {
        match rule {
            Rule::Signal => self.last_condition,
            Rule::Lock | Rule::Unlock | Rule::Unit | Rule::Barrier | Rule::Once => {
                object(trace, id)
            }
            _ => None,
        }
    }

    fn created(&self, id: StepId) -> Result<(), Broken> {
        match self.facts.forks.get(&id.thread) {
            Some(&fork) if id.index == 0 && !self.is_done(fork) => Err((Some(fork), Rule::Fork)),
            _ => Ok(()),
        }
    }

    fn is_done(&self, id: StepId) -> bool {
        self.done
            .get(&id.thread)
            .is_some_and(|&done| done > id.index)
    }

    fn as_recorded(&mut self, id: StepId, object: LocationId) -> Result<(), Broken> {
        let recorded = self.facts.odd.get(&object);
        let next = self.odd.entry(object).or_default();
        let expected = recorded.and_then(|steps| steps.get(*next)).copied();
        *next += 1;
        match expected == Some(id) {
            true => Ok(()),
            false => Err((expected, Rule::AsRecorded)),
        }
    }

    fn sync(
        &mut self,
        id: StepId,
        kind: EventKind,
        object: LocationId,
        value: u64,
    ) -> Result<(), Broken> {
        match kind {
            EventKind::Lock => self.lock(id, object),
            EventKind::SharedLock => self.shared_lock(id, object),
            EventKind::Unlock => self.unlock(id, object, false),
            EventKind::SharedUnlock => self.unlock(id, object, true),
            EventKind::TryLockFailed => self.attempt(id, object),
            EventKind::Join => self.join(thread(value)),
            EventKind::Wait => {
                let end = self.facts.returns.get(&id).copied();
                self.waits.begin(id, object, end);
                Ok(())
            }
            EventKind::Signal | EventKind::Broadcast => {
                let (returns, place) = (&self.facts.returns, &self.place);
                let goes_on = |wait: StepId| {
                    let end = returns.get(&wait).filter(|end| end.signalled)?;
                    place.get(&end.step).copied()
                };
                self.waits
                    .tell(object, kind == EventKind::Broadcast, goes_on);
                Ok(())
            }
            EventKind::BarrierArrive => {
                self.arrive(id, object);
                Ok(())
            }
            EventKind::BarrierLeave => self.leave(id, object),
            EventKind::SemWait => self.take_unit(object),
            EventKind::SemPost => {
                *self.units.entry(object).or_default() += 1;
                Ok(())
            }
            EventKind::OnceBegin => match self.once.insert(object, (id, false)) {
                Some((other, _)) => Err((Some(other), Rule::Once)),
                None => Ok(()),
            },
            EventKind::OnceEnd => {
                self.once.insert(object, (id, true));
                Ok(())
            }
            EventKind::OncePass => match self.once.get(&object) {
                Some(&(other, false)) => Err((Some(other), Rule::Once)),
                None if self.facts.initialized.contains(&object) => Err((None, Rule::Once)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn lock(&mut self, id: StepId, lock: LocationId) -> Result<(), Broken> {
        let held = self.locks.entry(lock).or_default();
        let others = |by: &&StepId| by.thread != id.thread;
        let other = held.by.iter().chain(&held.shared).find(others).copied();
        held.times = match held.by {
            Some(by) if by.thread == id.thread => held.times + 1,
            _ => 1,
        };
        held.by = Some(id);
        other.map_or(Ok(()), |other| Err((Some(other), Rule::Lock)))
    }

    fn shared_lock(&mut self, id: StepId, lock: LocationId) -> Result<(), Broken> {
        let held = self.locks.entry(lock).or_default();
        held.shared.push(id);
        match held.by {
            Some(by) => Err((Some(by), Rule::Lock)),
            None => Ok(()),
        }
    }

    fn unlock(&mut self, id: StepId, lock: LocationId, shared: bool) -> Result<(), Broken> {
        let held = self.locks.entry(lock).or_default();
        let mine = |by: &StepId| by.thread == id.thread;
        let taken = held.shared.iter().position(mine);
        if let Some(at) = taken.filter(|_| shared || held.by.is_none()) {
            held.shared.remove(at);
            return Ok(());
        }
        if !held.by.as_ref().is_some_and(mine) {
            *held = Held::default();
            return Err((None, Rule::Unlock));
        }
        held.times = held.times.saturating_sub(1);
        if held.times == 0 {
            held.by = None;
        }
        Ok(())
    }

    fn attempt(&self, id: StepId, lock: LocationId) -> Result<(), Broken> {
        let held = self.locks.get(&lock);
        let holders = held
            .into_iter()
            .flat_map(|held| held.by.iter().chain(&held.shared));
        let is_held = holders.into_iter().any(|by| by.thread != id.thread);
        match is_held || self.facts.on_free.contains(&id) {
            true => Ok(()),
            false => Err((None, Rule::Attempt)),
        }
    }

    fn join(&self, joined: ThreadId) -> Result<(), Broken> {
        match self.facts.ends.get(&joined) {
            Some(&end) if !self.is_done(end) => Err((Some(end), Rule::Join)),
            _ => Ok(()),
        }
    }

    fn arrive(&mut self, id: StepId, barrier: LocationId) {
        let arrived = self.arrived.entry(barrier).or_default();
        let meet = self
            .facts
            .meeting
            .get(&barrier)
            .copied()
            .unwrap_or(1)
            .max(1);
        let full = (*arrived / meet + 1) * meet;
        *arrived += 1;
        self.generation.insert((barrier, id.thread), full);
    }

    fn leave(&mut self, id: StepId, barrier: LocationId) -> Result<(), Broken> {
        let needs = self.generation.remove(&(barrier, id.thread));
        let arrived = self.arrived.get(&barrier).copied().unwrap_or_default();
        match needs.is_some_and(|needs| arrived >= needs) {
            true => Ok(()),
            false => Err((None, Rule::Barrier)),
        }
    }

    fn take_unit(&mut self, semaphore: LocationId) -> Result<(), Broken> {
        let units = self.units.entry(semaphore).or_default();
        match units.checked_sub(1) {
            Some(left) => {
                *units = left;
                Ok(())
            }
            None => Err((None, Rule::Unit)),
        }
    }
}

fn thread(value: u64) -> ThreadId {
    ThreadId(u16::try_from(value).unwrap_or(u16::MAX))
}

fn sync(trace: &SymbolicTrace, id: StepId) -> Option<(EventKind, LocationId, u64)> {
    match trace.step(id)?.action {
        Action::Sync {
            kind,
            object,
            value,
        } => Some((kind, object, value)),
        _ => None,
    }
}

/// Object of a synchronization step.
fn object(trace: &SymbolicTrace, id: StepId) -> Option<LocationId> {
    match trace.step(id)?.action {
        Action::Sync { object, .. } | Action::Release { object, .. } => Some(object),
        _ => None,
    }
}
