//! The run that is debugged, as whoever knows runs and explanations provides it.

use crate::requests::LaunchArguments;
use std::sync::Arc;
use unsnarl_recorder::replay::debug::{DebugStep, Debuggee};
use unsnarl_trace::Run;

/// A run that is ready to be debugged.
pub struct Subject {
    /// Name of the run.
    pub name: String,
    /// The run.
    pub run: Arc<Run>,
    /// The steps of its explanation, in the order of the run.
    pub steps: Vec<DebugStep>,
    /// Row of the last decisive step: after it every continuation fails.
    pub point_of_no_return: Option<u32>,
    /// The program.
    pub debuggee: Debuggee,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// Source of runs.
pub trait Provider {
    /// The run that a client asks for.
    ///
    /// # Errors
    /// It is not there, or cannot be run again.
    fn failing(&mut self, launch: &LaunchArguments) -> anyhow::Result<Subject>;

    /// The nearest passing run beside it, with the same steps in its own order.
    ///
    /// # Errors
    /// There is none, or it cannot be run again.
    fn passing(&mut self, launch: &LaunchArguments) -> anyhow::Result<Subject>;

    /// Row of the last decisive step of the run, measured now.
    ///
    /// # Errors
    /// It cannot be measured, or there is none.
    fn point_of_no_return(&mut self, launch: &LaunchArguments) -> anyhow::Result<u32>;
}
