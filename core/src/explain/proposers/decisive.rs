//! Orders around the steps that decide a run, whatever other runs have.

use super::{Failing, Material, Proposer, among::Among};
use crate::{Budget, explain::view::View, explanation::Explanation};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind};

/// Accesses of a critical section that are looked at.
const IN_SECTION: usize = 24;

/// The engine's name among those of an explanation.
const NAME: &str = "decisive";

/// The engine: the orders of conflicting accesses that a decisive step has a part in. Linear in the run.
pub(super) struct Decisive;

impl Proposer for Decisive {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, failing: &Failing<'_>, _: &Budget) -> Vec<Explanation> {
        let view = failing.view;
        let steps = failing.decisive.iter();
        let rows: BTreeSet<EventId> = steps.flat_map(|step| accesses(view, *step)).collect();
        let says = "proposes it: a step that decides the run has a part in it";
        Among::touching(view, &rows).told(view, NAME, says)
    }

    /// Adds nothing: every explanation has the decisive steps beside it.
    fn support(&self, _: &mut Explanation, _: &Material<'_>, _: &Budget) {}
}

/// The step itself where it is an access to shared data, with the last read before a write: a thread sets something by what it
/// has seen. Else the accesses up to the end of the section that it begins.
fn accesses(view: &View, step: EventId) -> Vec<EventId> {
    let is_shared = |row: &EventId| {
        let event = view.event(*row);
        event.kind.is_access() && view.orders.accesses().is_shared(event.location)
    };
    let kind = view.event(step).kind;
    if kind.is_access() {
        let before = view.rows.before(view.thread(step), step).iter().rev();
        let is_look = |row: &EventId| view.event(*row).kind.reads() && is_shared(row);
        let look = before.copied().find(is_look).filter(|_| kind.writes());
        return Some(step)
            .filter(is_shared)
            .into_iter()
            .chain(look)
            .collect();
    }
    let rows = view.rows.after(view.thread(step), step).iter().copied();
    let ends = |row: &EventId| !matches!(view.event(*row).kind, EventKind::Unlock | EventKind::End);
    rows.take_while(ends)
        .filter(is_shared)
        .take(IN_SECTION)
        .collect()
}
