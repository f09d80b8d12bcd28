//! Differential schedule projections ([symbiosis], sections 3.4 and 3.5).
//!
//! [`check`](check()) decides whether an order of a symbolic trace is feasible; [`Dsp`] is the projection
//! that people see.
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
//! PLDI 2015.

mod agrees;
mod alternates;
mod brief;
#[cfg(test)]
mod brute;
#[cfg(test)]
mod cases;
mod check;
#[cfg(test)]
pub(crate) mod fixture;
mod flows;
mod model;
mod numbered;
mod pairs;
mod program;
mod project;
pub mod render;
mod simulate;
mod slice;
#[cfg(test)]
mod tests;
mod waiting;

pub use agrees::projection_agrees;
pub use alternates::{
    Alternate, AlternateLimits, Alternates, CandidateOrder, PairAnswer, Serial, Solve, alternates,
    check_of, events,
};
pub use brief::in_brief;
pub use check::{
    Feasible, InfeasibleTrace, MemoryModel, TraceConstraints, check, infeasible_in_words,
    step_in_words,
};
pub use model::{Advice, Does, Dsp, Flow, Flows, ProjectionCounts, ThreadOperation};
pub use project::{Hints, hints, project, project_runs, project_waiting};
pub use render::headline;
pub use slice::{Matters, Slice};
pub use waiting::waiting;
