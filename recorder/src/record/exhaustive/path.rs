//! One executed schedule, as the search sees it: the choices, and what was done between them.
//!
//! Built from a run's log (`steps.rs`), or by a simulated machine in the tests.

use serde::{Deserialize, Serialize};

/// What was chosen at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The thread that goes on.
    Thread,
    /// Which waiter a signal wakes.
    Waiter,
    /// How a call ends; 0 is the usual way.
    Outcome,
}

/// A choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// What about.
    pub kind: Kind,
    /// What could be chosen, a bit each.
    pub candidates: u64,
    /// The thread that ran before.
    pub running: u16,
    /// It gave way to the others.
    pub gives_way: bool,
    /// What was chosen.
    pub chosen: u16,
}

impl Choice {
    /// What it counts to choose `option` here, in preemptions: 1 for leaving a thread that could go on,
    /// for going on in spite of having given way, and for an unusual outcome.
    pub fn cost(&self, option: u16) -> u32 {
        let others = self.candidates & !bit(self.running);
        let costs = match self.kind {
            Kind::Thread if self.gives_way => option == self.running && others != 0,
            Kind::Thread => option != self.running && self.candidates & bit(self.running) != 0,
            Kind::Waiter => false,
            Kind::Outcome => option != 0,
        };
        u32::from(costs)
    }
}

/// The bit of an option; those past the 64th have none.
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

/// What a step did that other threads may notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Deed {
    /// Accessed memory: the eight bytes at `granule * 8`, those of the mask.
    Memory {
        /// Address divided by eight.
        granule: u64,
        /// A bit per byte.
        bytes: u8,
        /// Changed it.
        writes: bool,
    },
    /// Did something to a synchronization object.
    Sync {
        /// Its address.
        object: u64,
        /// What.
        operation: Operation,
    },
    /// Created or woke a thread: all that it does from now on comes after.
    Enables(u16),
    /// Goes on because this thread has ended.
    Follows(u16),
}

/// Operations on synchronization objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
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

impl Operation {
    /// Whether their order makes no difference.
    pub fn commutes(self, other: Operation) -> bool {
        use Operation::{SharedLock, SharedUnlock};
        matches!(self, SharedLock | SharedUnlock) && matches!(other, SharedLock | SharedUnlock)
    }

    /// Whether `later` could not have been done before `self`, which made it possible.
    pub fn makes_way_for(self, later: Operation) -> bool {
        use Operation::{Lock, SharedLock, SharedUnlock, Unlock};
        matches!(
            (self, later),
            (Unlock, Lock | SharedLock) | (SharedUnlock, Lock)
        )
    }
}

/// What the chosen thread did until the next choice of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Index of the choice that it began with.
    pub choice: usize,
    /// Who.
    pub thread: u16,
    /// What, in order.
    pub deeds: Vec<Deed>,
}

/// An executed schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// The choices.
    pub choices: Vec<Choice>,
    /// The steps, one per choice of a thread.
    pub steps: Vec<Step>,
    /// What threads were about to do when the run ended, and could not.
    pub pending: Vec<(u16, Deed)>,
    /// The process has ended of its own accord: that is a choice at which the other threads went first
    /// wherever a run met it.
    pub ends_by_itself: bool,
}
