//! Programs that call `unsnarl_check`: their campaigns choose schedules within these calls only.

use super::{Job, RecordError, Recording, RunPlan, execute::make, strategy::Strategy};
use crate::assemble::ProgramDebugInfo;
use std::sync::atomic::AtomicBool;
use unsnarl_trace::Chances;

/// The chances of a campaign's runs. A program with calls of `unsnarl_check` is run once, of which nothing is kept: those
/// calls may be in a part of it that does not come with these arguments.
pub(super) fn chances(
    recording: &Recording,
    program: &ProgramDebugInfo,
) -> Result<Chances, RecordError> {
    let is_free = matches!(recording.strategy, Strategy::Free | Strategy::Path);
    let may_check = program.has_checks() && !is_free;
    Ok(Chances {
        within_checks: may_check && calls_check(&recording.job, program)?,
        ..recording.chances
    })
}

fn calls_check(job: &Job, program: &ProgramDebugInfo) -> Result<bool, RecordError> {
    let attempt = RunPlan {
        chances: Chances {
            within_checks: true,
            ..Chances::default()
        },
        ..RunPlan::default()
    };
    let made = make(job, program, &attempt, &AtomicBool::new(false))?;
    Ok(made.log()?.checks() > 0)
}
