//! The decisive steps of an explanation's run, found by executing.

use super::time::within;
use crate::executable::{Executable, ExecutionSettings};
use anyhow::{Context, Result};
use std::{sync::atomic::AtomicBool, time::Duration};
use unsnarl_core::{
    diagnosis::{Continuation, Continue, CurvePoint, DecisiveStep, FailingShare, decisive},
    facts,
};
use unsnarl_recorder::record::{RecordError, Sampler};
use unsnarl_trace::{EventId, Outcome, Run};

/// The largest share of failing continuations before the step from which on all fail: where nearly all failed before, it is
/// chance which step that is.
const DOUBTED: f64 = 0.9;

/// Continuations made by the recorder.
struct ContinuationSource<'a>(&'a Sampler<'a>);

impl Continue for ContinuationSource<'_> {
    type Error = RecordError;

    fn choices(&self) -> usize {
        self.0.choices()
    }

    fn after(&mut self, kept: usize, number: u32) -> Result<Option<Continuation>, RecordError> {
        let continued = self.0.after(kept, number)?;
        Ok(continued.map(|one| Continuation {
            fails: one.fails || one.fails_otherwise,
            order: one.order,
        }))
    }
}

/// Findings about the steps at which a run was decided.
#[derive(Default)]
pub struct Decision {
    /// The steps at which the share of failing continuations changes.
    pub steps: Vec<DecisiveStep>,
    /// The share along the run.
    pub curve: Vec<CurvePoint>,
}

impl Decision {
    /// The share of all schedules that fails.
    pub fn of_all_schedules(&self) -> Option<FailingShare> {
        let start = self.curve.iter().find(|point| point.kept == 0);
        start.map(|point| point.share)
    }

    /// Returns whether all continuations fail from a step before this row on, and fewer did before that step.
    pub fn is_bound_before(&self, row: EventId) -> bool {
        let bound = |step: &DecisiveStep| step.after.is_all() && step.before.value() <= DOUBTED;
        self.steps
            .iter()
            .any(|step| bound(step) && step.event < row.0)
    }
}

/// The decisive steps of a failing run, measured by executing its program for so long.
///
/// # Errors
/// It cannot be executed, or does not fail again.
pub fn decisive_steps(
    run: &Run,
    name: &str,
    given: &ExecutionSettings,
    (time, stop): (Duration, &AtomicBool),
) -> Result<Vec<DecisiveStep>> {
    let executable = Executable::of(run, name, given)?;
    within(time, stop, |halt, _| {
        let sampler = executable.sampler(run, halt)?;
        let sampler = sampler.with_context(|| format!("{name} did not fail again"))?;
        Ok(decide(run, &sampler)?.steps)
    })
}

/// Looks for where a run was decided, as far as the time of its sampler goes.
pub fn decide(run: &Run, sampler: &Sampler<'_>) -> Result<Decision> {
    // What does not end takes all steps that a run may have, each time.
    if run.meta.outcome == Outcome::TimedOut {
        return Ok(Decision::default());
    }
    let decided = decisive(&mut ContinuationSource(sampler))?;
    let steps = decided.jumps.iter().filter_map(|(choice, before, after)| {
        let event = sampler.step_after(*choice)?;
        step(run, event, *before, *after)
    });
    Ok(Decision {
        steps: steps.collect(),
        curve: decided.curve,
    })
}

fn step(
    run: &Run,
    event: EventId,
    before: FailingShare,
    after: FailingShare,
) -> Option<DecisiveStep> {
    let row = run.events.get(event)?;
    Some(DecisiveStep {
        event: event.0,
        thread: run.meta.thread(row.thread).name.clone(),
        place: facts::place(run, row.site),
        access: row.kind.name().to_owned(),
        location: run.location(row.location).to_owned(),
        before,
        after,
    })
}
