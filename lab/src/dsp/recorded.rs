//! The nearest recorded run that passed, where no other order of the failing run's own steps does: what the order that
//! passes needs may only come after the point where the failing run ended.

use super::{
    ExecutedProjection, ProjectionRequest, ProjectionTimes, choose::size, execute::Executor,
};
use anyhow::{Result, anyhow};
use unsnarl_core::Tally;
use unsnarl_symbolic::dsp::{Dsp, Hints, project_runs};
use unsnarl_trace::{OrderMode, Outcome, Run};

/// Passing runs that are compared with a failing one; the first of the folder, which differ most.
const COMPARED: usize = 50;

/// Projects a failing run on the nearest passing one of the same program and input, and runs both again.
///
/// # Errors
/// There is no passing run whose differences lead to the failure.
pub fn project(
    name: &str,
    run: &Run,
    asked: &ProjectionRequest<'_>,
    executor: &Result<Executor<'_>, String>,
) -> Result<ExecutedProjection> {
    let (passed, passing, dsp) =
        nearest(run, asked).ok_or_else(|| anyhow!("no recorded run that passed is near it"))?;
    let mut projection = ExecutedProjection {
        run: name.to_owned(),
        dsp,
        confirmed: None,
        unconfirmed: None,
        recorded: Some(passed.to_owned()),
        measured: ProjectionTimes::default(),
    };
    match executor {
        Ok(executor) => {
            let (fails, first) = executor.repeats(run)?;
            let (passes, second) = executor.repeats(passing)?;
            let times = executor.times() as u32;
            projection.confirmed = Some(Tally {
                fails: fails as u32,
                of_fails: times,
                passes: passes as u32,
                of_passes: times,
            });
            projection.unconfirmed = first.or(second);
            projection.measured.executed = 1;
        }
        Err(reason) => projection.unconfirmed = Some(reason.clone()),
    }
    Ok(projection)
}

fn nearest<'a>(run: &Run, asked: &ProjectionRequest<'a>) -> Option<(&'a str, &'a Run, Dsp)> {
    let meta = &run.meta;
    let passed = asked.with.loaded.runs.iter();
    let passed = passed.map(|(name, other)| (name.as_str(), &**other));
    let passed = passed.filter(|(_, other)| {
        other.meta.outcome == Outcome::Passed
            && other.meta.mode == OrderMode::Controlled
            && other.meta.build_id == meta.build_id
            && other.meta.input_hash == meta.input_hash
    });
    let projected = passed.take(COMPARED).map(|(name, other)| {
        let dsp = project_runs(run, other, &Hints::default());
        (name, other, dsp)
    });
    let told = projected.filter(|(.., dsp)| dsp.explains);
    told.min_by_key(|(.., dsp)| size(dsp))
}
