//! The campaign: runs a program many times under different schedules and keeps the runs.

mod attempt;
mod campaign;
mod classes;
pub mod coverage;
mod details;
mod disk;
mod error;
mod execute;
pub mod exhaustive;
mod filter;
mod goal;
mod job;
mod marker;
pub mod minimize;
mod planner;
mod sampling;
mod seen;
pub mod strategy;
mod summary;
mod tally;
mod worth;

pub use attempt::Attempt;
pub use campaign::record;
pub use details::Details;
pub use disk::Discarded;
pub use error::RecordError;
pub use execute::{Executed, execute};
pub(crate) use execute::{Made, check_input, config, environment, input_hash, make, seen, stack};
pub use goal::{Ended, Goal, USUAL_CAP};
pub use job::{Job, Recording};
pub use sampling::{Continuation, Sampler};
pub use summary::{MinimizedRun, Observed, Summary};
pub use tally::Tally;
