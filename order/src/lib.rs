//! The semantics of synchronization, once for all: rules, their checker, the kernel and builder of orders,
//! clocks.
//!
//! Everything works on numbered steps ([`SyncSteps`]): the rows of a run, or the steps of a symbolic trace.
//! The numbers of a thread's steps rise in program order.

pub mod builder;
pub mod checker;
mod clock;
mod cycles;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod held;
pub mod kernel;
mod rule;
mod steps;
#[cfg(test)]
mod tests;

pub use clock::{ClockTable, VectorClock};
pub use cycles::{Requests, cycles};
pub use held::HeldLocks;
pub use rule::{Rule, Violation};
pub use steps::{NONE, SyncOp, SyncSteps};
