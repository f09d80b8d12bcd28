//! The failing run with the fewest preemptions: what is left is what the failure needs.

mod deviations;
mod search;

use self::{
    deviations::{Deviation, deviations},
    search::{FailingCandidate, PlanSearch},
};
use super::{Details, Job, RecordError};
use crate::assemble::ProgramDebugInfo;
use std::sync::atomic::AtomicBool;
use unsnarl_trace::{Minimized, Preemption, Run, ThreadId};

/// Runs `failing` again with fewer and fewer preemptions. `from` is its name. `None` when it cannot be
/// repeated, as when it depends on something that was not recorded, or when the user stopped it.
pub fn minimize(
    job: &Job,
    program: &ProgramDebugInfo,
    failing: &Run,
    from: &str,
    stop: &AtomicBool,
) -> Result<Option<Run>, RecordError> {
    let mut search = PlanSearch::new(job, program, failing, stop);
    let Some(first) = search.repeat(&failing.meta.schedule)? else {
        return Ok(None);
    };
    let before = first.preemptions() as u64;
    // From here on choices are named by where their thread stands.
    let Some(first) = search.attempt(&first.deviations)? else {
        return Ok(None);
    };
    let best = search.simplest(first)?;
    if search.stopped {
        return Ok(None);
    }
    let FailingCandidate {
        mut run,
        details,
        deviations,
    } = best;
    run.meta.minimized = Some(Minimized {
        from: from.to_owned(),
        preemptions_before: before,
        preemptions: preemptions(&run, &details, &deviations),
        tried: search.tried,
        complete: !search.gave_up,
    });
    Ok(Some(run))
}

/// Runs `minimized` again without its n-th preemption: whether it still fails in the same way. `None`
/// when the run itself cannot be repeated, or has no such preemption.
pub fn fails_without(
    job: &Job,
    program: &ProgramDebugInfo,
    minimized: &Run,
    preemption: usize,
    stop: &AtomicBool,
) -> Result<Option<bool>, RecordError> {
    let mut search = PlanSearch::new(job, program, minimized, stop);
    let Some(run) = search.repeat(&minimized.meta.schedule)? else {
        return Ok(None);
    };
    let mut rest = deviations(&run.details);
    let mut places = (0..rest.len()).filter(|&at| rest.get(at).is_some_and(|one| one.preempts));
    let Some(at) = places.nth(preemption) else {
        return Ok(None);
    };
    rest.remove(at);
    Ok(Some(search.attempt(&rest)?.is_some()))
}

/// The preemptions with the events that they lie before.
fn preemptions(run: &Run, details: &Details, deviations: &[Deviation]) -> Vec<Preemption> {
    let preemptions = deviations.iter().filter(|one| one.preempts);
    preemptions
        .map(|one| Preemption {
            thread: ThreadId(one.directive.thread),
            to: ThreadId(one.directive.choice),
            event: details.step_after(run, one.record, one.directive.thread),
        })
        .collect()
}
