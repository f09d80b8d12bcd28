//! The campaign: runs a program many times under different schedules and keeps the runs.

mod attempt;
mod campaign;
mod classes;
mod conflicts;
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
pub mod order;
mod planner;
mod sampling;
pub mod strategy;
mod summary;
mod tally;

pub use attempt::Attempt;
pub use campaign::record;
pub use details::Details;
pub use disk::Discarded;
pub use error::RecordError;
pub use execute::{Executed, execute};
pub(crate) use execute::{
    check_input, config, environment, execute_with_log, input_hash, seen, stack,
};
pub use goal::{Ended, Goal, USUAL_CAP};
pub use job::{Job, Recording};
pub use sampling::{Continuation, Sampler};
pub use summary::{MinimizedRun, Observed, Summary};
pub use tally::Tally;
