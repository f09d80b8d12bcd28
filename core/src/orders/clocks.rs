//! Happens-before by vector clocks in one pass over the columns.
//!
//! A clock entry is a row number: thread `t` knows everything that thread `u` did before row `entry`. So an
//! event needs no clock of its own; the relation keeps, for each pair of threads, the rows at which one of
//! them learned more about the other. A query is one binary search in that list.

use super::anomaly::{Anomaly, AnomalyKind};
use super::signals::PendingSignal;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_order::VectorClock;
use unsnarl_trace::{EventId, EventKind, MemoryOrder, Run, Value, kinds::EventRole};

/// Bound on the threads; more of them would need clocks of gigabytes.
const MAX_THREADS: usize = 4096;

/// Knowledge of thread `t` about thread `u`: `(row, upto)`, both rising.
pub(super) type Learned = Vec<(u32, u32)>;

/// The happens-before relation of a run.
#[derive(Debug, Default)]
pub struct HappensBefore {
    learned: FxHashMap<(u16, u16), Learned>,
}

impl HappensBefore {
    /// Computes the relation. Anomalies of the trace are added to `anomalies`.
    pub fn new(run: &Run, anomalies: &mut Vec<Anomaly>) -> HappensBefore {
        HappensBefore::of(run, anomalies, KeptOrders::All, FxHashSet::default())
    }

    /// Computes the relation from forced synchronization only, which no schedule can change: forks, joins,
    /// barriers and once-only initialization, but not the order in which threads reached a lock, a signal or
    /// an atomic.
    pub fn forced(run: &Run) -> HappensBefore {
        HappensBefore::of(
            run,
            &mut Vec::new(),
            KeptOrders::Forced,
            FxHashSet::default(),
        )
    }

    /// Computes the relation from communication between threads only: forks, joins, signals and the wakeups
    /// they caused, barriers, semaphores, once-only initialization and, as `atomics` says, atomics. The order
    /// of acquisition of a lock orders nothing, nor does a semaphore of `locks`, which is used as one.
    pub fn communication(
        run: &Run,
        atomics: Atomics,
        locks: FxHashSet<u32>,
        anomalies: &mut Vec<Anomaly>,
    ) -> HappensBefore {
        HappensBefore::of(run, anomalies, KeptOrders::Communication(atomics), locks)
    }

    fn of(
        run: &Run,
        anomalies: &mut Vec<Anomaly>,
        kept: KeptOrders,
        semaphores_as_locks: FxHashSet<u32>,
    ) -> HappensBefore {
        let mut pass = HappensBeforePass::new(run, anomalies, kept);
        pass.semaphores_as_locks = semaphores_as_locks;
        let (threads, kinds) = (run.events.threads(), run.events.kinds());
        for (row, (&thread, &kind)) in threads.iter().zip(kinds).enumerate() {
            pass.step(row as u32, thread, kind);
        }
        HappensBefore {
            learned: pass.learned,
        }
    }

    /// Returns whether `a` (of thread `of_a`) is ordered before `b` (of thread `of_b`) by program order and
    /// synchronization.
    pub fn ordered(&self, a: EventId, of_a: u16, b: EventId, of_b: u16) -> bool {
        if of_a == of_b {
            return a < b;
        }
        let Some(learned) = self.learned.get(&(of_b, of_a)) else {
            return false;
        };
        let upto = learned.partition_point(|&(row, _)| row <= b.0);
        upto.checked_sub(1)
            .and_then(|i| learned.get(i))
            .is_some_and(|&(_, upto)| a.0 < upto)
    }

    /// The row from which on events of `of_a` are not ordered before the event `b` of thread `of_b`;
    /// those below are.
    pub fn known(&self, b: EventId, of_b: u16, of_a: u16) -> u32 {
        let Some(learned) = self.learned.get(&(of_b, of_a)) else {
            return 0;
        };
        let upto = learned.partition_point(|&(row, _)| row <= b.0);
        upto.checked_sub(1)
            .and_then(|i| learned.get(i))
            .map_or(0, |&(_, upto)| upto)
    }

    /// The first row from which on events of thread `of_b` are ordered after the event `a` of `of_a`;
    /// `u32::MAX` when there is none.
    pub fn known_from(&self, a: EventId, of_a: u16, of_b: u16) -> u32 {
        let Some(learned) = self.learned.get(&(of_b, of_a)) else {
            return u32::MAX;
        };
        let at = learned.partition_point(|&(_, upto)| upto <= a.0);
        learned.get(at).map_or(u32::MAX, |&(row, _)| row)
    }

    /// The rows at which thread `of` learned about other threads, sorted, each once.
    pub fn learned_at(&self, of: u16) -> Vec<u32> {
        self.gathered(|&(b, _)| b == of, |&(row, _)| row)
    }

    /// Rows that bound the knowledge of other threads: they know the events of thread `of` below such a row,
    /// and not those from it on; sorted, each once.
    pub fn published_at(&self, of: u16) -> Vec<u32> {
        self.gathered(|&(_, a)| a == of, |&(_, upto)| upto)
    }

    fn gathered(
        &self,
        whose: impl Fn(&(u16, u16)) -> bool,
        what: impl Fn(&(u32, u32)) -> u32,
    ) -> Vec<u32> {
        let lists = self.learned.iter().filter(|(pair, _)| whose(pair));
        let mut rows: Vec<u32> = lists.flat_map(|(_, list)| list.iter().map(&what)).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// Synchronization that the relation keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptOrders {
    /// All synchronization, in the order in which it happened.
    All,
    /// Synchronization that no schedule can change.
    Forced,
    /// Communication between threads, but not the order of lock acquisitions.
    Communication(Atomics),
}

/// Atomic accesses that create happens-before edges, by which one thread waits for an action of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Atomics {
    /// No atomic access.
    Ignored,
    /// Acquire loads that see a release store. Read-modify-writes are counters and hand-made locks: another
    /// schedule can change their order.
    #[default]
    Flags,
    /// All synchronization as defined by C11.
    All,
}

/// A synchronization object (lock, condition, barrier, semaphore, once, atomic).
#[derive(Default)]
pub(super) struct ClockObject {
    /// VectorClock released by exclusive unlock, signal, post, release store.
    released: VectorClock,
    /// Thread and entry of a single release that covers all of `released`, if there is one.
    epoch: Option<(u16, u32)>,
    /// VectorClock released by shared unlock.
    shared: VectorClock,
    /// Barrier: joined clock of the arrivals in the generation that is filling up.
    arriving: VectorClock,
    /// Barrier: number of that generation, and of its arrivals.
    generation: u32,
    arrived: u32,
    /// Barrier: generations that some threads have still to leave: number, clock, remaining threads.
    leaving: Vec<(u32, VectorClock, u32)>,
    /// Condition: signals whose wakeups are still to come.
    pub(super) signals: VecDeque<PendingSignal>,
}

/// State of one thread.
#[derive(Default)]
pub(super) struct ThreadClocks {
    pub(super) clock: VectorClock,
    forked: bool,
    begun: bool,
    ended: bool,
    told_after_end: bool,
    /// Barrier generation in which it arrived.
    generation: u32,
    /// VectorClock at the last release fence, which later relaxed stores publish.
    fence: VectorClock,
    /// Clocks seen by relaxed loads, which a later acquire fence joins.
    pending: VectorClock,
    /// Row at which it last began to wait for a condition.
    pub(super) waiting: u32,
}

pub(super) struct HappensBeforePass<'a> {
    run: &'a Run,
    anomalies: &'a mut Vec<Anomaly>,
    kept: KeptOrders,
    /// Semaphores whose units order nothing.
    semaphores_as_locks: FxHashSet<u32>,
    pub(super) threads: Vec<ThreadClocks>,
    pub(super) objects: Vec<ClockObject>,
    /// Object number plus one by location.
    object_of: Vec<u32>,
    pub(super) learned: FxHashMap<(u16, u16), Learned>,
}

impl<'a> HappensBeforePass<'a> {
    fn new(
        run: &'a Run,
        anomalies: &'a mut Vec<Anomaly>,
        kept: KeptOrders,
    ) -> HappensBeforePass<'a> {
        let most = run
            .events
            .threads()
            .iter()
            .copied()
            .max()
            .map_or(0, |t| usize::from(t) + 1);
        if most > MAX_THREADS {
            anomalies.push(Anomaly {
                event: EventId(0),
                kind: AnomalyKind::TooManyThreads,
            });
        }
        let mut threads = Vec::new();
        threads.resize_with(
            most.max(run.meta.threads.len()).min(MAX_THREADS),
            ThreadClocks::default,
        );
        HappensBeforePass {
            run,
            anomalies,
            kept,
            semaphores_as_locks: FxHashSet::default(),
            threads,
            objects: Vec::new(),
            object_of: vec![0; run.locations.len()],
            learned: FxHashMap::default(),
        }
    }

    fn tell(&mut self, row: u32, kind: AnomalyKind) {
        self.anomalies.push(Anomaly {
            event: EventId(row),
            kind,
        });
    }

    /// Processes one event; most events order nothing and cost two comparisons.
    fn step(&mut self, row: u32, thread: u16, kind: u8) {
        let Some(state) = self.threads.get_mut(usize::from(thread)) else {
            return;
        };
        if state.ended && !state.told_after_end && kind != EventKind::Blocked as u8 {
            state.told_after_end = true;
            self.tell(row, AnomalyKind::EventAfterEnd);
        }
        if kind > EventKind::Write as u8 {
            match EventKind::from_u8(kind) {
                Some(kind) => self.synchronize(row, thread, kind),
                None => self.tell(row, AnomalyKind::UnknownKind),
            }
        } else if kind == 0 {
            self.tell(row, AnomalyKind::UnknownKind);
        }
    }

    fn synchronize(&mut self, row: u32, t: u16, kind: EventKind) {
        let role = kind.role();
        if self.orders_nothing(row, kind, role) {
            return;
        }
        match role {
            EventRole::Sleep | EventRole::Notify { .. } | EventRole::Resume
                if matches!(self.kept, KeptOrders::Communication(_)) =>
            {
                self.communicate(row, t, role);
            }
            EventRole::Acquire { shared: false } => self.acquire_exclusive(row, t),
            EventRole::Acquire { shared: true } | EventRole::Pass | EventRole::TakeUnit => {
                self.acquire(row, t)
            }
            EventRole::Release { shared: false } => self.release_exclusive(row, t),
            EventRole::Release { shared: true } => self.release_shared(row, t),
            EventRole::Open | EventRole::PostUnit => self.release(row, t),
            EventRole::Notify { .. } if self.number(row) != 0 => self.release(row, t),
            EventRole::Resume if self.number(row) == 0 => self.acquire(row, t),
            EventRole::Arrive => self.arrive(row, t),
            EventRole::Leave => self.leave(row, t),
            EventRole::Fork => self.fork(row, t),
            EventRole::Begin => self.begin(row, t),
            EventRole::End => self.end(row, t),
            EventRole::Join => self.joined(row, t),
            EventRole::Access if kind.is_atomic() => self.atomic(row, t, kind),
            EventRole::Fence => self.fence(row, t),
            EventRole::Access | EventRole::Notify { .. } | EventRole::Resume | EventRole::Sleep => {
            }
            EventRole::Attempt | EventRole::Contend | EventRole::Enter => {}
            EventRole::Allocate | EventRole::Free | EventRole::GiveWay | EventRole::Local => {}
        }
    }

    /// `true` for synchronization that this relation leaves out.
    fn orders_nothing(&self, row: u32, kind: EventKind, role: EventRole) -> bool {
        let is_unit = matches!(role, EventRole::TakeUnit | EventRole::PostUnit);
        match self.kept {
            KeptOrders::All => false,
            KeptOrders::Forced => {
                is_unit
                    || role.is_locking()
                    || kind.is_atomic()
                    || matches!(
                        role,
                        EventRole::Notify { .. } | EventRole::Resume | EventRole::Fence
                    )
            }
            KeptOrders::Communication(_) if is_unit => {
                let location = self.run.events.locations().get(row as usize);
                location.is_some_and(|location| self.semaphores_as_locks.contains(location))
            }
            KeptOrders::Communication(atomics) => {
                role.is_locking()
                    || match atomics {
                        Atomics::Ignored => kind.is_atomic() || role == EventRole::Fence,
                        Atomics::Flags => kind == EventKind::Rmw,
                        Atomics::All => false,
                    }
            }
        }
    }

    pub(super) fn number(&self, row: u32) -> u64 {
        self.run.events.value_bits(EventId(row))
    }

    /// The object of the row; none, with an anomaly, when its location is not in the table.
    pub(super) fn object(&mut self, row: u32) -> Option<usize> {
        let location = self.run.events.location(EventId(row)).0;
        let Some(slot) = self.object_of.get_mut(location as usize) else {
            self.tell(row, AnomalyKind::UnknownLocation);
            return None;
        };
        if *slot == 0 {
            self.objects.push(ClockObject::default());
            *slot = self.objects.len() as u32;
        }
        (*slot as usize).checked_sub(1)
    }

    /// The object, with the clock of `t` whose own entry includes `row`.
    pub(super) fn publish(&mut self, row: u32, t: u16) -> Option<(&mut ClockObject, &VectorClock)> {
        let object = self.object(row)?;
        let clock = own_entry(&mut self.threads, t, row + 1)?;
        Some((self.objects.get_mut(object)?, clock))
    }

    pub(super) fn release(&mut self, row: u32, t: u16) {
        if let Some((object, clock)) = self.publish(row, t) {
            object.released.join(clock.entries());
            object.epoch = None;
        }
    }

    fn release_shared(&mut self, row: u32, t: u16) {
        if let Some((object, clock)) = self.publish(row, t) {
            object.shared.join(clock.entries());
        }
    }

    /// Releases an exclusively held lock. The holder knows all earlier releases, so its clock replaces the
    /// object's.
    fn release_exclusive(&mut self, row: u32, t: u16) {
        let Some((object, clock)) = self.publish(row, t) else {
            return;
        };
        let knows_all = object.released.is_empty()
            || object.epoch.is_some_and(|(u, upto)| clock.get(u) >= upto);
        if knows_all {
            object.released.clone_from(clock);
            object.epoch = Some((t, row + 1));
        } else {
            object.released.join(clock.entries());
            object.epoch = None;
        }
    }

    pub(super) fn acquire(&mut self, row: u32, t: u16) {
        let Some(object) = self.object(row).and_then(|i| self.objects.get(i)) else {
            return;
        };
        if let Some(thread) = self.threads.get_mut(usize::from(t)) {
            learn(
                &mut thread.clock,
                &mut self.learned,
                row,
                t,
                &object.released,
            );
        }
    }

    fn acquire_exclusive(&mut self, row: u32, t: u16) {
        let Some(object) = self.object(row).and_then(|i| self.objects.get(i)) else {
            return;
        };
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        let news = object
            .epoch
            .is_none_or(|(u, upto)| u != t && thread.clock.get(u) < upto);
        if news {
            learn(
                &mut thread.clock,
                &mut self.learned,
                row,
                t,
                &object.released,
            );
        }
        if !object.shared.is_empty() {
            learn(&mut thread.clock, &mut self.learned, row, t, &object.shared);
        }
    }

    fn arrive(&mut self, row: u32, t: u16) {
        let Some((object, clock)) = self.publish(row, t) else {
            return;
        };
        object.arriving.join(clock.entries());
        object.arrived += 1;
        let generation = object.generation;
        if let Some(thread) = self.threads.get_mut(usize::from(t)) {
            thread.generation = generation;
        }
    }

    /// Leaves a barrier. The first thread to leave closes its generation: later arrivals belong to the next.
    /// (Rows don't say how many threads a barrier waits for.)
    fn leave(&mut self, row: u32, t: u16) {
        let Some(object) = self.object(row).and_then(|i| self.objects.get_mut(i)) else {
            return;
        };
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        if thread.generation == object.generation {
            let (clock, arrived) = (
                std::mem::take(&mut object.arriving),
                std::mem::take(&mut object.arrived),
            );
            object.leaving.push((object.generation, clock, arrived));
            object.generation += 1;
        }
        let mine = |(generation, ..): &(u32, VectorClock, u32)| *generation == thread.generation;
        let Some(at) = object.leaving.iter().position(mine) else {
            return;
        };
        let Some((_, clock, left)) = object.leaving.get_mut(at) else {
            return;
        };
        learn(&mut thread.clock, &mut self.learned, row, t, clock);
        *left = left.saturating_sub(1);
        if *left == 0 {
            object.leaving.swap_remove(at);
        }
    }

    fn fork(&mut self, row: u32, t: u16) {
        let child = self.number(row) as u16;
        let Some(clock) = own_entry(&mut self.threads, t, row + 1).cloned() else {
            return;
        };
        let Some(thread) = self.threads.get_mut(usize::from(child)) else {
            return;
        };
        let late = thread.begun;
        thread.forked = true;
        learn(&mut thread.clock, &mut self.learned, row, child, &clock);
        if late {
            self.tell(row, AnomalyKind::ForkAfterBegin);
        }
    }

    fn begin(&mut self, row: u32, t: u16) {
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        thread.begun = true;
        if !thread.forked && t != 0 {
            self.tell(row, AnomalyKind::BeginWithoutFork);
        }
    }

    fn end(&mut self, row: u32, t: u16) {
        own_entry(&mut self.threads, t, row + 1);
        if let Some(thread) = self.threads.get_mut(usize::from(t)) {
            thread.ended = true;
        }
    }

    fn joined(&mut self, row: u32, t: u16) {
        let child = self.number(row) as u16;
        let Some(other) = self.threads.get_mut(usize::from(child)) else {
            return self.tell(row, AnomalyKind::JoinWithoutFork);
        };
        let forked = other.forked;
        if !other.ended {
            own_entry(&mut self.threads, child, row);
        }
        let Some(other) = self.threads.get_mut(usize::from(child)) else {
            return;
        };
        other.ended = true;
        let clock = other.clock.clone();
        if let Some(thread) = self.threads.get_mut(usize::from(t)) {
            learn(&mut thread.clock, &mut self.learned, row, t, &clock);
        }
        if !forked {
            self.tell(row, AnomalyKind::JoinWithoutFork);
        }
    }

    fn order(&self, row: u32) -> MemoryOrder {
        let event = self.run.events.event(EventId(row));
        event.order().unwrap_or(MemoryOrder::SeqCst)
    }

    /// Applies C11's synchronizes-with: a load that sees a release store (or its release sequence)
    /// synchronizes with it. In the recorded order a load sees the latest store, and read-modify-writes carry
    /// the sequence on.
    fn atomic(&mut self, row: u32, t: u16, kind: EventKind) {
        let order = self.order(row);
        let Some(object) = self.object(row) else {
            return;
        };
        if kind.reads() {
            self.atomic_read(row, t, object, acquires(order));
        }
        if kind.writes() {
            self.atomic_write(row, t, object, releases(order), kind == EventKind::Rmw);
        }
    }

    fn atomic_read(&mut self, row: u32, t: u16, object: usize, acquires: bool) {
        let Some(object) = self.objects.get(object) else {
            return;
        };
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        if acquires {
            learn(
                &mut thread.clock,
                &mut self.learned,
                row,
                t,
                &object.released,
            );
        } else {
            thread.pending.join(object.released.entries());
        }
    }

    fn atomic_write(&mut self, row: u32, t: u16, object: usize, releases: bool, keeps: bool) {
        own_entry(&mut self.threads, t, row + 1);
        let Some(object) = self.objects.get_mut(object) else {
            return;
        };
        let Some(thread) = self.threads.get(usize::from(t)) else {
            return;
        };
        if !keeps {
            object.released.clear();
        }
        let published = match releases {
            true => &thread.clock,
            false => &thread.fence,
        };
        object.released.join(published.entries());
        object.epoch = None;
    }

    fn fence(&mut self, row: u32, t: u16) {
        let order = self.order(row);
        own_entry(&mut self.threads, t, row + 1);
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        if acquires(order) {
            let pending = std::mem::take(&mut thread.pending);
            learn(&mut thread.clock, &mut self.learned, row, t, &pending);
        }
        if releases(order) {
            thread.fence.clone_from(&thread.clock);
        }
    }
}

fn acquires(order: MemoryOrder) -> bool {
    !matches!(order, MemoryOrder::Relaxed | MemoryOrder::Release)
}

fn releases(order: MemoryOrder) -> bool {
    matches!(
        order,
        MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst
    )
}

/// Raises the thread's own entry.
fn own_entry(threads: &mut [ThreadClocks], t: u16, upto: u32) -> Option<&VectorClock> {
    let thread = threads.get_mut(usize::from(t))?;
    thread.clock.raise(t, upto);
    Some(&thread.clock)
}

/// Joins `news` into the clock of `t` and notes the entries that grew.
pub(super) fn learn(
    clock: &mut VectorClock,
    learned: &mut FxHashMap<(u16, u16), Learned>,
    row: u32,
    t: u16,
    news: &VectorClock,
) {
    clock.learn(news.entries(), |u, upto| {
        if u != t {
            learned.entry((t, u)).or_default().push((row, upto));
        }
    });
}

/// The thread that a fork creates or a join waits for.
pub(crate) fn other_thread(value: Option<Value>) -> Option<u16> {
    match value {
        Some(Value::Bits(bits)) => u16::try_from(bits).ok(),
        _ => None,
    }
}
