//! The decisive steps of an explanation's run, found by executing.

use super::time::within;
use crate::executable::{Executable, ExecutionSettings};
use anyhow::{Context, Result};
use std::{sync::atomic::AtomicBool, time::Duration};
use unsnarl_core::{
    diagnosis::{Continuation, Continue, CurvePoint, DecisiveStep, FailingShare, decisive},
    explanation::Place,
    facts,
};
use unsnarl_recorder::record::{RecordError, Sampler};
use unsnarl_trace::{EventId, Outcome, Run};

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
        self.is_bound_before_by(row, |_| true)
    }

    /// The same of the steps that count.
    pub fn is_bound_before_by(&self, row: EventId, counts: impl Fn(EventId) -> bool) -> bool {
        let bound = |step: &DecisiveStep| step.after.is_all() && !step.is_by_chance();
        let mut steps = self.steps.iter().filter(|step| bound(step));
        steps.any(|step| step.event < row.0 && counts(EventId(step.event)))
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
        place: place_of(run, event),
        access: row.kind.name().to_owned(),
        location: run.location(row.location).to_owned(),
        before,
        after,
    })
}

/// The place of a step; of one without a place, such as a thread's end, the last one where its thread was before.
fn place_of(run: &Run, event: EventId) -> Place {
    let thread = run.events.thread(event);
    let before = (0..=event.0).rev().map(EventId);
    let mut own = before.filter(|row| run.events.thread(*row) == thread);
    let named = own.find_map(|row| {
        let place = facts::place(run, run.events.get(row)?.site);
        (place.line != 0).then_some(place)
    });
    named.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::place_of;
    use unsnarl_trace::{EventId, script};

    #[test]
    fn a_step_without_a_place_is_where_its_thread_was_last() {
        let run =
            script::parse("main fork main.1 @7\nmain.1 R x =1 @20\nmain W x =2 @9\nmain.1 end");
        let run = run.expect("a run");
        let end = place_of(&run, EventId(run.events.len() as u32 - 1));
        assert_eq!(end.line, 20);
    }
}
