//! Data flow in an order: the write that each read reads from, and the final write of each cell.

use crate::{Action, CellId, StepId, SymbolicTrace};
use rustc_hash::FxHashMap;

/// Destination of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum FlowTarget {
    /// A read.
    Read(StepId),
    /// The cell's final value.
    End(CellId),
}

/// Data flow of one order: for each destination the write; none for the initial value.
pub(super) fn flows(
    trace: &SymbolicTrace,
    order: &[StepId],
) -> FxHashMap<FlowTarget, Option<StepId>> {
    let mut last: Vec<Option<StepId>> = vec![None; trace.cells.len()];
    let mut flows = FxHashMap::default();
    for &id in order {
        match trace.step(id).map(|step| step.action) {
            Some(Action::Read { cell, .. }) => {
                flows.insert(
                    FlowTarget::Read(id),
                    last.get(cell.index()).copied().flatten(),
                );
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
        flows.insert(FlowTarget::End(cell), last);
    }
    flows
}

/// Number of reads, and final cell values, that take different writes' values in two orders, among those that
/// both have.
pub(super) fn variations(trace: &SymbolicTrace, failing: &[StepId], alternate: &[StepId]) -> usize {
    let (failing, alternate) = (flows(trace, failing), flows(trace, alternate));
    let differs = |(to, from): (&FlowTarget, &Option<StepId>)| {
        alternate.get(to).is_some_and(|other| other != from)
    };
    failing
        .iter()
        .filter(|(to, from)| differs((to, from)))
        .count()
}
