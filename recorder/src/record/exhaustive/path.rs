//! One executed schedule, as the search sees it: the choices, and the deeds between them.
//!
//! Built from a run's log (`steps.rs`), or by a simulated machine in the tests.

use serde::{Deserialize, Serialize};

/// The kind of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PathChoiceKind {
    /// The thread that goes on.
    Thread,
    /// The waiter that a signal wakes.
    Waiter,
    /// The outcome of a call; 0 is the usual one.
    Outcome,
    /// A value that the program asks for; none is more usual than the others.
    Value,
}

/// A choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathChoice {
    /// Kind of the choice.
    pub kind: PathChoiceKind,
    /// Bit set of the candidates.
    pub candidates: u64,
    /// The thread that ran before.
    pub running: u16,
    /// `true` if that thread gave way to the others.
    pub gives_way: bool,
    /// The option that was chosen.
    pub chosen: u16,
}

impl PathChoice {
    /// The cost of choosing `option` here, in preemptions: 1 for leaving a thread that could go on, for going on in
    /// spite of having given way, and for an unusual outcome.
    pub fn cost(&self, option: u16) -> u32 {
        let others = self.candidates & !bit(self.running);
        let costs = match self.kind {
            PathChoiceKind::Thread if self.gives_way => option == self.running && others != 0,
            PathChoiceKind::Thread => {
                option != self.running && self.candidates & bit(self.running) != 0
            }
            PathChoiceKind::Waiter | PathChoiceKind::Value => false,
            PathChoiceKind::Outcome => option != 0,
        };
        u32::from(costs)
    }
}

/// The bit of an option; options from the 64th on have none.
pub fn bit(option: u16) -> u64 {
    1u64.checked_shl(option.into()).unwrap_or(0)
}

/// The options whose bits are set.
pub fn options(mut bits: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lowest < 64).then_some(lowest as u16)
    })
}

/// An effect of a step that other threads may notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum NoticedEffect {
    /// An access to memory: the bytes of the mask among the eight at `granule * 8`.
    Memory {
        /// Address divided by eight.
        granule: u64,
        /// A bit per byte.
        bytes: u8,
        /// `true` if it changed the memory.
        writes: bool,
    },
    /// An operation on a synchronization object.
    Sync {
        /// Its address.
        object: u64,
        /// The operation.
        operation: SyncOperation,
    },
    /// The creation or wake-up of a thread: all that it does from now on comes after.
    Enables(u16),
    /// The continuation because this thread has ended.
    Follows(u16),
}

/// Operations on synchronization objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SyncOperation {
    /// Takes a lock.
    Lock,
    /// Gives it back.
    Unlock,
    /// Takes a lock shared.
    SharedLock,
    /// Gives it back.
    SharedUnlock,
    /// Any other: each two of them are dependent.
    Other,
}

impl SyncOperation {
    /// Returns whether the order of two operations does not matter.
    pub fn commutes(self, other: SyncOperation) -> bool {
        use SyncOperation::{SharedLock, SharedUnlock};
        matches!(self, SharedLock | SharedUnlock) && matches!(other, SharedLock | SharedUnlock)
    }

    /// Returns whether `self` made `later` possible, which could not have been done before.
    pub fn makes_way_for(self, later: SyncOperation) -> bool {
        use SyncOperation::{Lock, SharedLock, SharedUnlock, Unlock};
        matches!(
            (self, later),
            (Unlock, Lock | SharedLock) | (SharedUnlock, Lock)
        )
    }
}

/// The effects of the chosen thread up to the next choice of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenStep {
    /// Index of the choice that it began with.
    pub choice: usize,
    /// The thread.
    pub thread: u16,
    /// Its effects, in order.
    pub deeds: Vec<NoticedEffect>,
}

/// An executed schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecutedPath {
    /// The choices.
    pub choices: Vec<PathChoice>,
    /// The steps, one per choice of a thread.
    pub steps: Vec<ChosenStep>,
    /// Next steps of threads that could not be taken any more when the run ended.
    pub pending: Vec<(u16, NoticedEffect)>,
    /// `true` if the process ended of its own accord: that is a choice at which the other threads went first wherever
    /// a run met it.
    pub ends_by_itself: bool,
}
