//! Units of semaphores, among them words that count them by atomic updates; and semaphores that a program uses as locks: the
//! thread that takes a unit gives it back, and there is one unit only.

use super::Accesses;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{Event, EventKind, LocationId, Run, SiteRow};

/// Step of a thread at a semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStep {
    /// It takes a unit.
    Taken,
    /// It gives one, or several.
    Given,
}

impl UnitStep {
    /// The step that a row is; `None` for all others, such as an update that leaves the word as it is.
    pub fn of(event: &Event) -> Option<UnitStep> {
        match (event.kind, event.bits_of_update()) {
            (EventKind::SemWait, _) => Some(UnitStep::Taken),
            (EventKind::SemPost, _) => Some(UnitStep::Given),
            (_, Some((old, new))) if old.checked_sub(1) == Some(new) => Some(UnitStep::Taken),
            (_, Some((old, new))) if new > old => Some(UnitStep::Given),
            _ => None,
        }
    }
}

/// Returns whether a word counts the units of a semaphore, as `std::counting_semaphore` does: from its first atomic update on
/// it is only lowered by one and raised, and it was lowered. Linear in the accesses of the word.
pub fn counts_units(run: &Run, accesses: &Accesses, word: LocationId) -> bool {
    let events = accesses.of(word).iter().map(|row| run.events.event(*row));
    let changes = events.filter(|event| event.kind.writes() && !event.is_update_in_vain());
    let counted = changes.skip_while(|event| event.kind != EventKind::Rmw);
    let steps: Option<Vec<UnitStep>> = counted.map(|event| UnitStep::of(&event)).collect();
    steps.is_some_and(|steps| steps.contains(&UnitStep::Taken))
}

/// The semaphores (locations), or words that may count their units, of which a run takes units at a place. Linear in the run.
pub fn taken_at(run: &Run, place: &SiteRow) -> FxHashSet<u32> {
    let takes = run.events.iter().filter(|(_, event)| {
        let site = run.meta.site(event.site);
        UnitStep::of(event) == Some(UnitStep::Taken) && site.is_same_line(place)
    });
    takes.map(|(_, event)| event.location.0).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn a_word_counts_units_when_it_is_lowered_and_raised_only() {
        let counts = |steps: &str| {
            let run = run(&format!("main W slots =2 @1 main\n{steps}"));
            let mut locations = run.events.locations().iter().copied().map(LocationId);
            let slots = locations.find(|location| run.location(*location) == "slots");
            counts_units(&run, &Accesses::new(&run), slots.unwrap())
        };
        assert!(counts(
            "main rmw slots 2->1 @5 take\nmain rmw slots 1->1 @5 take\nmain rmw slots 1->3 @6 give"
        ));
        assert!(!counts("main rmw slots 2->3 @6 give"), "never taken");
        assert!(!counts("main rmw slots 2->0 @5 take"), "exchanged");
        assert!(!counts(
            "main rmw slots 2->1 @5 take\nmain atomic-write slots =2 @6 reset"
        ));
    }
}
