//! Meetings of threads at barriers, as recorded.

use crate::SyncOp;
use rustc_hash::FxHashMap;
use unsnarl_trace::kinds::EventRole;

/// The barriers of a record.
#[derive(Default)]
pub(super) struct BarrierMeetings {
    barriers: FxHashMap<u32, RecordedBarrier>,
}

/// A barrier's generations: the first thread to leave closes its generation.
#[derive(Default)]
struct RecordedBarrier {
    generation: usize,
    /// Arrivals by generation.
    arrived: Vec<Vec<u32>>,
    /// The generation in which each thread arrived.
    of: FxHashMap<u16, usize>,
    /// Arrivals before the first departure.
    first: u64,
    left: bool,
}

impl BarrierMeetings {
    /// Notes a step and returns the arrivals that it comes after.
    pub fn note(&mut self, step: u32, thread: u16, sync: SyncOp) -> Vec<u32> {
        match sync.kind.role() {
            EventRole::Arrive => self.barrier(sync).arrive(step, thread),
            EventRole::Leave => self.barrier(sync).leave(thread),
            _ => Vec::new(),
        }
    }

    /// Numbers of threads that meet: those of the first generation when the order was recorded, else all.
    pub fn sizes(&self, is_recorded: bool) -> FxHashMap<u32, u64> {
        let size = |barrier: &RecordedBarrier| match is_recorded {
            true => barrier.first,
            false => barrier.of.len() as u64,
        };
        let barriers = self.barriers.iter();
        barriers.map(|(&id, barrier)| (id, size(barrier))).collect()
    }

    fn barrier(&mut self, sync: SyncOp) -> &mut RecordedBarrier {
        self.barriers.entry(sync.object).or_default()
    }
}

impl RecordedBarrier {
    fn arrive(&mut self, step: u32, thread: u16) -> Vec<u32> {
        self.first += u64::from(!self.left);
        self.arrived.resize_with(self.generation + 1, Vec::new);
        self.of.insert(thread, self.generation);
        if let Some(arrived) = self.arrived.get_mut(self.generation) {
            arrived.push(step);
        }
        let earlier = self.generation.checked_sub(1);
        let earlier = earlier.and_then(|before| self.arrived.get(before));
        earlier.cloned().unwrap_or_default()
    }

    fn leave(&mut self, thread: u16) -> Vec<u32> {
        self.left = true;
        let Some(&mine) = self.of.get(&thread) else {
            return Vec::new();
        };
        if mine == self.generation {
            self.generation += 1;
        }
        self.arrived.get(mine).cloned().unwrap_or_default()
    }
}
