//! Steps as numbers: the view of a run or of a symbolic trace that the rules of synchronization need.

use unsnarl_trace::{EventKind, Run};

/// Marks the absence of a step.
pub const NONE: u32 = u32::MAX;

/// The synchronization of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncOp {
    /// Kind of the event.
    pub kind: EventKind,
    /// The object that is synchronized on.
    pub object: u32,
    /// Value as in [`EventKind`].
    pub value: u64,
}

/// Numbered steps of several threads; the numbers of a thread's steps rise in program order.
pub trait SyncSteps {
    /// The points that a record leaves open are settled as the run settled them: barriers keep their
    /// generations, an attempt fails for the mode in which the lock was held, and a wait without a wakeup in
    /// the record needs no signal. Otherwise as many threads as met may meet at a barrier, any holder makes an
    /// attempt fail, and such a wait was signalled.
    const AS_RECORDED: bool;

    /// Number of steps.
    fn count(&self) -> u32;

    /// Thread of the step.
    fn thread(&self, step: u32) -> u16;

    /// Synchronization of the step; `None` for accesses, conditions and unknown kinds.
    fn sync(&self, step: u32) -> Option<SyncOp>;

    /// All steps, each thread's in program order.
    fn steps(&self) -> impl Iterator<Item = u32> {
        0..self.count()
    }

    /// The steps in their recorded order; empty when none was recorded.
    fn recorded(&self) -> impl Iterator<Item = u32>;

    /// `false` for a step that was added when the record ended.
    fn is_own(&self, _step: u32) -> bool {
        true
    }
}

impl SyncSteps for Run {
    const AS_RECORDED: bool = true;

    fn count(&self) -> u32 {
        self.events.len() as u32
    }

    fn thread(&self, step: u32) -> u16 {
        let threads = self.events.threads();
        threads.get(step as usize).copied().unwrap_or_default()
    }

    fn sync(&self, step: u32) -> Option<SyncOp> {
        let (events, at) = (&self.events, step as usize);
        let kind = *events.kinds().get(at)?;
        if kind <= EventKind::Fence as u8 {
            return None;
        }
        Some(SyncOp {
            kind: EventKind::from_u8(kind)?,
            object: events.locations().get(at).copied().unwrap_or_default(),
            value: events.values().get(at).copied().unwrap_or_default(),
        })
    }

    fn recorded(&self) -> impl Iterator<Item = u32> {
        0..self.count()
    }
}
