//! Agreement of a projection with an explanation.

use super::Dsp;
use std::collections::BTreeSet;
use unsnarl_core::explanation::{Explanation, Place};

/// Returns whether a projection blames the same as an explanation: two operations of different threads on
/// blamed lines that are flipped, or of which one takes the other's value in only one of the orders.
pub fn projection_agrees(dsp: &Dsp, explanation: &Explanation) -> bool {
    let blamed = explanation.blamed();
    let lines: BTreeSet<(&str, u32)> = blamed.map(|mark| line(&mark.place)).collect();
    let flows = dsp
        .flows
        .only_failing
        .iter()
        .chain(&dsp.flows.only_alternate);
    let pairs = flows.filter_map(|flow| Some((flow.from?, flow.to?)));
    let operation = |at: u32| dsp.operations.get(at as usize);
    pairs.chain(dsp.flipped).any(|(first, second)| {
        let (Some(first), Some(second)) = (operation(first), operation(second)) else {
            return false;
        };
        let mut both = [first, second].into_iter();
        first.thread != second.thread && both.all(|one| lines.contains(&line(&one.place)))
    })
}

fn line(place: &Place) -> (&str, u32) {
    (&place.file, place.line)
}
