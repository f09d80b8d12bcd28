//! Experiments: explanations are confirmed or refuted by executing the program again, suggested fixes are tried on its
//! schedules, and projections are looked for and executed. [`pipeline`] is the way of a folder of runs from failures to
//! explanations with fixes.
//!
//! This crate reads no arguments and prints nothing; nothing is executed without a [`permission::Word`].

pub mod cancel;
pub mod compiles;
pub mod confirm;
pub mod dsp;
pub mod edited;
pub mod executable;
pub mod load;
mod mended;
pub mod offer;
pub mod permission;
pub mod perturb;
pub mod pipeline;
pub mod prune;
pub mod sources;
pub mod trial;

use executable::ExecutionSettings;
use load::Loaded;
use std::{path::Path, sync::atomic::AtomicBool};

/// Means for executing programs.
#[derive(Clone, Copy)]
pub struct Executing<'a> {
    /// Settings for executing the runs' programs.
    pub given: &'a ExecutionSettings,
    /// Number of executions of an order that is shown.
    pub times: u64,
    /// The runs.
    pub loaded: &'a Loaded,
    /// This program's own file, which stands in for compilers.
    pub unsnarl: &'a Path,
    /// The user stops it.
    pub stop: &'a AtomicBool,
}
