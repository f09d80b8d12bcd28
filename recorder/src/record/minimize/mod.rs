//! The failing run with the fewest preemptions: what is left is what the failure needs.

mod deviations;
mod search;
mod way;

use self::{
    deviations::{Deviation, deviations},
    search::{Candidate, Search},
};
use super::{Details, Job, RecordError, order::order_hash};
use crate::assemble::Program;
use std::sync::atomic::AtomicBool;
use unsnarl_trace::{EventId, Minimized, Preemption, Run, ThreadId, raw::RecordKind};

pub(super) use way::Way;

/// Runs `failing` again with fewer and fewer preemptions. `from` is its name. `None` when it cannot be
/// repeated, as when it depends on something that was not recorded, or when the user stopped it.
pub fn minimize(
    job: &Job,
    program: &Program,
    failing: &Run,
    from: &str,
    stop: &AtomicBool,
) -> Result<Option<Run>, RecordError> {
    let mut search = Search::new(job, program, failing, stop);
    let Some(first) = search.repeat(&failing.meta.schedule.choices)? else {
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
    let Candidate {
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
    run.meta.order = order_hash(&run);
    Ok(Some(run))
}

/// Runs `minimized` again without its n-th preemption: whether it still fails in the same way. `None`
/// when the run itself cannot be repeated, or has no such preemption.
pub fn fails_without(
    job: &Job,
    program: &Program,
    minimized: &Run,
    preemption: usize,
    stop: &AtomicBool,
) -> Result<Option<bool>, RecordError> {
    let mut search = Search::new(job, program, minimized, stop);
    let Some(run) = search.repeat(&minimized.meta.schedule.choices)? else {
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
            event: next_event(run, details, one),
        })
        .collect()
}

/// What the thread that was left did when it went on.
fn next_event(run: &Run, details: &Details, deviation: &Deviation) -> Option<EventId> {
    let before = usize::try_from(deviation.record).ok()?;
    let records = details.records.get(..before)?;
    let seq = records
        .iter()
        .filter(|record| is_event(record.kind))
        .count() as u64;
    let mut rows = run.events.sequence().iter().zip(run.events.threads());
    let thread = deviation.directive.thread;
    let at = rows.position(|(&at, &by)| at >= seq && by == thread)?;
    u32::try_from(at).ok().map(EventId)
}

/// Whether a record becomes an event with a number of its own.
fn is_event(kind: u8) -> bool {
    use RecordKind as K;
    !matches!(
        K::from_u8(kind),
        Some(K::Enter | K::Leave | K::Extra | K::Detach)
    )
}
