//! Access pairs after Wang et al., "Localization of Concurrency Bugs Using Shared Memory Access Pairs" (LOCON).
//!
//! [`RunPairs`] is what one run contributes; [`PairCounts`] is what a corpus knows of its passing runs, and
//! taking one run in or out costs only that run. [`procedure_one()`](procedure_one::procedure_one) finds pairs that only the failing run
//! has, [`procedure_two()`](procedure_two::procedure_two) pairs that the failing run should have had, [`procedure_three()`](procedure_three::procedure_three)
//! pairs that are harmless alone but were never seen together.

mod collect;
mod counts;
mod couples;
mod keys;
mod loops;
mod predictable;
mod procedure_one;
mod procedure_three;
mod procedure_two;
#[cfg(test)]
mod tests;
mod triples;

pub use collect::{RunPairs, SeenPair, access_key};
pub use counts::{PairCounts, PairStats};
pub use couples::{CoupleKey, CoupledPairs};
pub(crate) use keys::Fnv;
pub use keys::{AccessClass, AccessKey, AccessSite, PairKey, TripleKey};
pub use loops::{Iteration, Loops};
pub use procedure_one::procedure_one;
pub use procedure_three::procedure_three;
pub use procedure_two::{MissingPair, procedure_two};
pub use triples::{Triple, triples};
