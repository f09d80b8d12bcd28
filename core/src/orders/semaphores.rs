//! Semaphores that a program uses as locks: the thread that takes a unit gives it back, and there is one unit
//! only.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, Run};

/// Use of a semaphore's units so far.
#[derive(Default)]
struct SemaphoreUse {
    holder: Option<u16>,
    otherwise: bool,
}

/// The semaphores (locations) that this run uses as locks: a thread that waited posts before any thread waits
/// or posts again. One pass over the kinds; their units order nothing then, they only exclude.
pub fn semaphores_as_locks(run: &Run) -> FxHashSet<u32> {
    let mut uses: FxHashMap<u32, SemaphoreUse> = FxHashMap::default();
    let (wait, post) = (EventKind::SemWait as u8, EventKind::SemPost as u8);
    let events = &run.events;
    let rows = events
        .kinds()
        .iter()
        .zip(events.threads())
        .zip(events.locations());
    for ((&kind, &thread), &semaphore) in rows {
        if kind == wait {
            let used = uses.entry(semaphore).or_default();
            used.otherwise |= used.holder.replace(thread).is_some();
        } else if kind == post {
            let used = uses.entry(semaphore).or_default();
            used.otherwise |= used.holder.take() != Some(thread);
        }
    }
    let as_locks = uses.into_iter().filter(|(_, used)| !used.otherwise);
    as_locks.map(|(semaphore, _)| semaphore).collect()
}
