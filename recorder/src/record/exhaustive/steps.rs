//! Conversion of a run's logged choices and records into the [`ExecutedPath`] that the search works on.
//!
//! Dependences that are not in the log are not seen: if two threads look at the clock, or meet in the kernel, in a pipe
//! for example, that makes no dependency. The runtime notes that they do such things
//! ([`unsnarl_trace::raw::unlogged`]), and the search says so. The end of the process has no record either: it is the
//! last choice, before which the other threads go on for as long as they can.

use super::path::{
    ChosenStep, ExecutedPath, NoticedEffect, PathChoice, PathChoiceKind, SyncOperation, bit,
};
use crate::record::Details;
use rustc_hash::FxHashMap;
use unsnarl_trace::{
    kinds::EventRole,
    raw::{ChoiceKind, Detail, End, Record, RecordKind, WaitsFor},
};

/// The reason for which a run cannot be searched from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsearchable {
    /// There are more threads than bits.
    #[error("it has more than 64 threads")]
    Threads,
    /// The log does not make sense.
    #[error("the notes on its choices are damaged")]
    Damaged,
}

/// The path of a run.
pub fn path(details: &Details) -> Result<ExecutedPath, Unsearchable> {
    let mut builder = Builder::default();
    let mut records = details.records.iter();
    let mut done = 0;
    for detail in &details.choices {
        let before = usize::try_from(detail.record).unwrap_or(usize::MAX);
        records
            .by_ref()
            .take(before.saturating_sub(done))
            .for_each(|record| builder.record(record));
        done = done.max(before);
        builder.choice(detail)?;
    }
    records.for_each(|record| builder.record(record));
    builder.path.ends_by_itself = matches!(details.end, End::Exited | End::Exec);
    Ok(builder.path)
}

#[derive(Default)]
struct Builder {
    path: ExecutedPath,
    /// Sizes of the heap's blocks.
    blocks: FxHashMap<u64, u64>,
    /// Threads that wait on a condition variable.
    waiters: FxHashMap<u64, Vec<u16>>,
    /// Threads that have arrived at a barrier, each with its step.
    arrived: FxHashMap<u64, Vec<(u16, usize)>>,
    /// The waiter that the next signal wakes, when there was a choice.
    woken: Option<u16>,
}

impl Builder {
    fn choice(&mut self, detail: &Detail) -> Result<(), Unsearchable> {
        let kind = match ChoiceKind::from_u8(detail.kind).ok_or(Unsearchable::Damaged)? {
            ChoiceKind::Thread => PathChoiceKind::Thread,
            ChoiceKind::Waiter => PathChoiceKind::Waiter,
            ChoiceKind::Wait | ChoiceKind::Try | ChoiceKind::Allocation => PathChoiceKind::Outcome,
            ChoiceKind::Value => PathChoiceKind::Value,
        };
        if detail.more != 0 || detail.running >= 64 {
            return Err(Unsearchable::Threads);
        }
        if detail.candidates & bit(detail.chosen) == 0 {
            return Err(Unsearchable::Damaged);
        }
        match kind {
            PathChoiceKind::Thread => self.path.steps.push(ChosenStep {
                choice: self.path.choices.len(),
                thread: detail.chosen,
                deeds: Vec::new(),
            }),
            PathChoiceKind::Waiter => self.woken = Some(detail.chosen),
            // It does not wait for a signal.
            PathChoiceKind::Outcome if detail.chosen != 0 => self.no_longer_waits(detail.running),
            PathChoiceKind::Outcome | PathChoiceKind::Value => {}
        }
        self.path.choices.push(PathChoice {
            kind,
            candidates: detail.candidates,
            running: detail.running,
            gives_way: detail.yields != 0,
            chosen: detail.chosen,
        });
        Ok(())
    }

    fn no_longer_waits(&mut self, thread: u16) {
        for waiters in self.waiters.values_mut() {
            waiters.retain(|waiter| *waiter != thread);
        }
    }

    fn deed(&mut self, deed: NoticedEffect) {
        // Before the first choice there is one thread, and all that it does comes before the others.
        if let Some(step) = self.path.steps.last_mut() {
            step.deeds.push(deed);
        }
    }

    fn record(&mut self, record: &Record) {
        use RecordKind::*;
        let Some(kind) = RecordKind::from_u8(record.kind) else {
            return;
        };
        match kind {
            Read | AtomicRead => self.memory(record.addr, record.size.into(), false),
            Write | AtomicWrite | Rmw => self.memory(record.addr, record.size.into(), true),
            ReadRange => self.memory(record.addr, record.value, false),
            WriteRange => self.memory(record.addr, record.value, true),
            Alloc => drop(self.blocks.insert(record.addr, record.value)),
            Free => {
                let size = self.blocks.remove(&record.addr).unwrap_or(1);
                self.memory(record.addr, size, true);
            }
            Blocked => self.pending(record),
            _ => {
                if let Some(kind) = kind.event() {
                    self.operation(kind.role(), record);
                }
            }
        }
    }

    fn operation(&mut self, role: EventRole, record: &Record) {
        let other = SyncOperation::Other;
        match role {
            EventRole::Fork => self.deed(NoticedEffect::Enables(record.value as u16)),
            EventRole::Join => self.deed(NoticedEffect::Follows(record.value as u16)),
            EventRole::Sleep | EventRole::Resume | EventRole::Notify { .. } => {
                self.condition(role, record)
            }
            EventRole::Arrive => self.arrive(record),
            EventRole::Leave => self.leave(record.addr),
            EventRole::Acquire { shared: false } => self.sync(record.addr, SyncOperation::Lock),
            EventRole::Acquire { shared: true } => {
                self.sync(record.addr, SyncOperation::SharedLock)
            }
            EventRole::Release { shared: false } => self.sync(record.addr, SyncOperation::Unlock),
            EventRole::Release { shared: true } => {
                self.sync(record.addr, SyncOperation::SharedUnlock)
            }
            EventRole::Attempt | EventRole::TakeUnit | EventRole::PostUnit => {
                self.sync(record.addr, other)
            }
            EventRole::Enter | EventRole::Open | EventRole::Pass => self.sync(record.addr, other),
            // That a thread finds a lock held shows in its waiting; the rest is nobody else's business.
            EventRole::Access
            | EventRole::Fence
            | EventRole::Contend
            | EventRole::Begin
            | EventRole::End => {}
            EventRole::Allocate | EventRole::Free | EventRole::GiveWay | EventRole::Local => {}
        }
    }

    fn memory(&mut self, addr: u64, size: u64, writes: bool) {
        let end = addr.saturating_add(size.max(1));
        for granule in addr / 8..=(end - 1) / 8 {
            let first = addr.max(granule * 8) - granule * 8;
            let past = end.min(granule.saturating_mul(8).saturating_add(8)) - granule * 8;
            let bytes = (0xffu8 << first) & (0xffu8 >> (8 - past));
            self.deed(NoticedEffect::Memory {
                granule,
                bytes,
                writes,
            });
        }
    }

    fn sync(&mut self, object: u64, operation: SyncOperation) {
        self.deed(NoticedEffect::Sync { object, operation });
    }

    fn condition(&mut self, role: EventRole, record: &Record) {
        let waiters = self.waiters.entry(record.addr).or_default();
        let woken = match role {
            EventRole::Sleep => {
                waiters.push(record.thread);
                Vec::new()
            }
            EventRole::Resume => {
                // The order of what woke it is noted there.
                waiters.retain(|waiter| *waiter != record.thread);
                return;
            }
            EventRole::Notify { all: true } => std::mem::take(waiters),
            _ if record.value == 0 => Vec::new(),
            _ => match (self.woken.take(), waiters.as_slice()) {
                (Some(one), _) => vec![one],
                (None, [one]) => vec![*one],
                // Others have timed out; who has not is not in the log.
                (None, _) => Vec::new(),
            },
        };
        waiters.retain(|waiter| !woken.contains(waiter));
        self.sync(record.addr, SyncOperation::Other);
        woken
            .into_iter()
            .for_each(|thread| self.deed(NoticedEffect::Enables(thread)));
    }

    fn arrive(&mut self, record: &Record) {
        if let Some(step) = self.path.steps.len().checked_sub(1) {
            let arrived = self.arrived.entry(record.addr).or_default();
            arrived.push((record.thread, step));
        }
        self.sync(record.addr, SyncOperation::Other);
    }

    /// Closes a meeting: the last thread to arrive let the others go on.
    fn leave(&mut self, object: u64) {
        let arrived = self.arrived.remove(&object).unwrap_or_default();
        if let Some((_, last)) = arrived.last()
            && let Some(step) = self.path.steps.get_mut(*last)
        {
            let others = arrived.iter().rev().skip(1);
            step.deeds
                .extend(others.map(|(thread, _)| NoticedEffect::Enables(*thread)));
        }
    }

    /// Notes the operation that a thread waits for when nobody can go on.
    fn pending(&mut self, record: &Record) {
        let operation = match WaitsFor::from_u32(record.size) {
            Some(WaitsFor::Lock) => SyncOperation::Lock,
            Some(WaitsFor::SharedLock) => SyncOperation::SharedLock,
            Some(waits_for) if waits_for.class().is_synchronization() => SyncOperation::Other,
            _ => return,
        };
        let object = record.addr;
        let deed = NoticedEffect::Sync { object, operation };
        self.path.pending.push((record.thread, deed));
    }
}
