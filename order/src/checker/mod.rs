//! The checker of orders: decides whether the steps of an order come as the rules of synchronization allow.
//! Shares no code with the makers of orders.
//!
//! The actions of threads are taken as recorded; program order, memory and paths are for the callers to check.
//! The checker settles what the steps leave open:
//! * A failed attempt at a lock needs another thread that holds it, as it did in the record (the row of a run
//!   does not hold the mode requested: then for writing if that was so); one that failed on a free lock may do
//!   so anywhere.
//! * A signal wakes one of the threads that wait at that moment, the one that resumes first in the order; a
//!   signal without a waiter is lost. Waits that end by timeout or spuriously need no signal and take none.
//! * A semaphore starts with as many units as the recorded order needs (without one: as all steps together).
//! * Barriers of a run keep their generations; at those of a symbolic trace as many threads meet as met in the
//!   recorded order (without one: all that ever arrive).
//! * Objects whose recorded use already breaks a rule (a lock released by another thread, a wakeup without a
//!   signal) keep the recorded order.

mod constraints;
mod meetings;
mod replay;

pub use constraints::Constraints;
pub use replay::Replay;

use super::Rule;

/// A violated rule: the object, the conflicting step, the rule.
pub type BrokenRule = (u32, Option<u32>, Rule);
