//! Tests of the search against all orders of small random traces.

use super::{
    alternates::{AlternateLimits, PairAnswer, Solve, alternates},
    brute::{passing_orders, trace},
    check::TraceConstraints,
    flows,
    slice::{Matters, Slice},
};
use crate::{Action, CellId, StepId, SymbolicTrace};
use proptest::{prelude::*, strategy::ValueTree};
use std::collections::BTreeSet;
use unsnarl_core::Budget;

type RandomPairs = BTreeSet<(StepId, StepId)>;

/// The cell that a step accesses, and whether it writes it.
fn access(trace: &SymbolicTrace, id: StepId) -> Option<(CellId, bool)> {
    match trace.step(id)?.action {
        Action::Read { cell, .. } => Some((cell, false)),
        Action::Write { cell, .. } => Some((cell, true)),
        _ => None,
    }
}

/// Conflicting pairs of the failing order that touch its slice and are flipped in this one.
fn flipped(trace: &SymbolicTrace, slice: &Slice, order: &[StepId]) -> RandomPairs {
    let place = |id: StepId| order.iter().position(|&other| other == id);
    let mut pairs = RandomPairs::new();
    for (at, &first) in trace.order.iter().enumerate() {
        for &second in &trace.order[at + 1..] {
            let (Some(a), Some(b)) = (access(trace, first), access(trace, second)) else {
                continue;
            };
            let conflict = a.0 == b.0 && (a.1 || b.1) && first.thread != second.thread;
            let touches = [first, second]
                .iter()
                .any(|&id| slice.of(id) != Matters::No);
            let swapped = match (place(first), place(second)) {
                (Some(first), Some(second)) => second < first,
                (None, Some(_)) => true,
                _ => false,
            };
            if conflict && touches && swapped {
                pairs.insert((first, second));
            }
        }
    }
    pairs
}

/// A solver that knows all orders.
struct Brute<'t> {
    trace: &'t SymbolicTrace,
    slice: &'t Slice,
    orders: &'t [Vec<StepId>],
}

impl Solve for Brute<'_> {
    fn flipped(&mut self, first: StepId, second: StepId, _: &Budget) -> PairAnswer {
        let fits = |order: &&Vec<StepId>| {
            flipped(self.trace, self.slice, order).contains(&(first, second))
        };
        match self.orders.iter().find(fits) {
            Some(order) => PairAnswer::Order(order.clone()),
            None => PairAnswer::Impossible,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn alternates_are_those_of_all_orders(fixture in trace()) {
        let trace = &fixture.trace;
        let checker = TraceConstraints::new(trace);
        let recorded = checker.check(&trace.order).unwrap();
        prop_assert_eq!(recorded.fails, Some(true));
        let values: Vec<_> = trace.symbols.iter().map(|symbol| symbol.recorded).collect();
        prop_assert_eq!(recorded.symbols, values);

        let orders = passing_orders(trace);
        let slice = Slice::new(trace, &trace.order);
        let all: RandomPairs = orders.iter().flat_map(|order| flipped(trace, &slice, order)).collect();
        let budget = Budget::unlimited();
        let simulated = alternates(trace, &trace.order, &AlternateLimits::all(), None, &budget).unwrap();
        for alternate in &simulated.found {
            prop_assert_eq!(checker.check(&alternate.order).unwrap().fails, Some(false));
            prop_assert!(orders.contains(&alternate.order), "{:?}", alternate.order);
            prop_assert!(flipped(trace, &slice, &alternate.order).contains(&alternate.pair));
        }
        let mut brute = Brute { trace, slice: &slice, orders: &orders };
        let solved = alternates(trace, &trace.order, &AlternateLimits::all(), Some(&mut brute), &budget).unwrap();
        let found: RandomPairs = solved.found.iter().flat_map(|found| flipped(trace, &slice, &found.order)).collect();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn variations_are_those_of_a_look_back_from_each_read(fixture in trace()) {
        let trace = &fixture.trace;
        let from = |order: &[StepId], at: usize, cell: CellId| {
            let before = order[..at].iter().rev();
            before.copied().find(|&id| access(trace, id) == Some((cell, true)))
        };
        for order in passing_orders(trace).iter().take(20) {
            let mut expected = 0;
            for (at, &id) in trace.order.iter().enumerate() {
                let (Some((cell, false)), Some(other)) =
                    (access(trace, id), order.iter().position(|&other| other == id)) else { continue };
                expected += usize::from(from(&trace.order, at, cell) != from(order, other, cell));
            }
            for cell in (0..trace.cells.len() as u32).map(CellId) {
                let last = |order: &[StepId]| from(order, order.len(), cell);
                expected += usize::from(last(&trace.order) != last(order));
            }
            prop_assert_eq!(flows::variations(trace, &trace.order, order), expected);
        }
    }
}

/// The simulation alone finds an alternate for nearly every trace that has one.
#[test]
fn the_simulation_finds_nearly_all() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut there, mut found) = (0, 0);
    while there < 100 {
        let fixture = trace().new_tree(&mut runner).unwrap().current();
        let trace = &fixture.trace;
        if passing_orders(trace).is_empty() {
            continue;
        }
        there += 1;
        let simulated = alternates(
            trace,
            &trace.order,
            &AlternateLimits::default(),
            None,
            &Budget::unlimited(),
        );
        found += usize::from(!simulated.unwrap().found.is_empty());
    }
    assert!(found * 100 >= there * 95, "{found} of {there}");
}
