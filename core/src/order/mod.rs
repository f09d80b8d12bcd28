//! The semantics of synchronization, once for all: rules, their checker, the kernel for makers of orders,
//! clocks.
//!
//! Everything works on numbered steps ([`SyncSteps`]): the rows of a run, or the steps of a symbolic trace.
//! The numbers of a thread's steps rise in program order.

pub(crate) mod checker;
mod clock;
mod cycles;
mod held;
pub(crate) mod kernel;
mod rule;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use clock::{ClockTable, VectorClock};
pub(crate) use cycles::{Requests, cycles};
pub(crate) use held::HeldLocks;
pub use rule::{Rule, Violation};
pub(crate) use steps::{NONE, SyncOp, SyncSteps};
