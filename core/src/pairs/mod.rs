//! Access pairs after Wang et al., "Localization of Concurrency Bugs Using Shared Memory Access Pairs"
//! (LOCON).
//!
//! A pair is an immediate dependency between two threads: the head, the tail, the location, and with them the
//! threads and the iterations of loops ([`Loops`]) that contain both ends. [`RunPairs`] holds the pairs of
//! one run; [`PairCounts`] holds the statistics of a corpus's passing runs, in sorted columns, and adding or
//! removing a run costs as much as that run.
//!
//! [`procedure_one()`] finds pairs that only the failing run has, [`procedure_two()`] pairs that the failing
//! run should have had, [`procedure_three()`] pairs that are harmless alone but never occurred together
//! before; [`localize()`] runs them in the paper's order. [`falcon`] is the method that the paper compares
//! with.

mod collect;
mod columns;
mod counts;
mod couples;
pub mod falcon;
mod keys;
mod localize;
mod loops;
mod matrix;
mod meetings;
#[cfg(test)]
mod naive;
mod predictable;
mod procedure_one;
mod procedure_three;
mod procedure_two;
mod radix;
mod ranks;
#[cfg(test)]
mod tests;
mod triples;

pub use collect::{RunPairs, SeenPair, access_key};
pub use counts::{PairCounts, PairStats};
pub use couples::{CoupleKey, CoupledPairs, seen_couples};
pub(crate) use keys::Fnv;
pub use keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey};
pub use localize::{Procedure, Reported, Reports, localize};
pub use loops::{Iteration, Loops};
pub use meetings::{Meetings, MetPair, ThreadGroup};
pub use procedure_one::{procedure_one, turned_pairs};
pub use procedure_three::{Couple, CoupledPair, Couples, Precision, procedure_three};
pub use procedure_two::{MissingPair, procedure_two};
pub use triples::{Triple, triples};
