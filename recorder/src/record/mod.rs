//! The campaign: runs a program many times under different schedules and keeps the runs.

mod ahead;
mod alone;
mod attempt;
mod campaign;
mod checks;
mod classes;
pub mod coverage;
mod crew;
mod details;
mod disk;
mod error;
mod execute;
pub mod exhaustive;
mod filter;
mod finish;
mod goal;
mod job;
mod length;
mod marker;
pub mod minimize;
mod planner;
mod sampling;
mod seen;
pub mod strategy;
mod summary;
mod tally;
mod worth;

pub use alone::Alone;
pub use attempt::RunPlan;
pub use campaign::{OpenCampaign, record};
pub use details::Details;
pub use disk::Discarded;
pub use error::RecordError;
pub use execute::{Executed, execute};
pub(crate) use execute::{
    UnassembledRun, check_input, config, environment, input_hash, make, seen, stack,
};
pub use goal::{CampaignEnd, Goal, USUAL_CAP, USUAL_RUNS};
pub use job::{Job, Recording};
pub use sampling::{Continuation, Sampler};
pub use summary::{MinimizedRun, Observed, Summary};
pub use tally::CampaignTally;
