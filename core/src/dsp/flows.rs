//! Data flow in an order: which write each read takes its value from, and what is left in the end.

use crate::symbolic::{Action, CellId, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;

/// Where a value goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum To {
    /// Into this read.
    Read(StepId),
    /// It is left in the cell.
    End(CellId),
}

/// Data flow of one order: by reader the write, none for what was there before.
pub(super) fn flows(trace: &SymbolicTrace, order: &[StepId]) -> FxHashMap<To, Option<StepId>> {
    let mut last: Vec<Option<StepId>> = vec![None; trace.cells.len()];
    let mut flows = FxHashMap::default();
    for &id in order {
        match trace.step(id).map(|step| step.action) {
            Some(Action::Read { cell, .. }) => {
                flows.insert(To::Read(id), last.get(cell.index()).copied().flatten());
            }
            Some(Action::Write { cell, .. }) => {
                if let Some(last) = last.get_mut(cell.index()) {
                    *last = Some(id);
                }
            }
            _ => {}
        }
    }
    for (cell, last) in (0..).map(CellId).zip(last) {
        flows.insert(To::End(cell), last);
    }
    flows
}

/// How many reads, and cells at the end, take different writes' values in two orders, of those that both have.
pub(super) fn variations(trace: &SymbolicTrace, failing: &[StepId], alternate: &[StepId]) -> usize {
    let (failing, alternate) = (flows(trace, failing), flows(trace, alternate));
    let differs =
        |(to, from): (&To, &Option<StepId>)| alternate.get(to).is_some_and(|other| other != from);
    failing
        .iter()
        .filter(|(to, from)| differs((to, from)))
        .count()
}
