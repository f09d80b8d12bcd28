//! Figures 2 and 3 of [symbiosis]: pfscan's queue.

use super::*;
use crate::dsp::fixture::{Fixture, PFSCAN, fixture};

/// The step at this line of the source: `R 2.19` is thread 2's read there.
fn named(fixture: &Fixture, name: &str) -> StepId {
    let (kind, place) = name.split_once(' ').unwrap();
    let (thread, line) = place.split_once('.').unwrap();
    let (thread, line): (u16, u32) = (thread.parse().unwrap(), line.parse().unwrap());
    let fits = |(id, step): &(StepId, &crate::SymbolicStep)| {
        use crate::Action;
        let is_kind = match step.action {
            Action::Read { .. } => kind == "R",
            Action::Write { .. } => kind == "W",
            Action::Sync { kind: sync, .. } => {
                matches!((kind, sync.name()), ("L", "lock") | ("U", "unlock"))
            }
            _ => false,
        };
        id.thread.index() == usize::from(thread)
            && is_kind
            && fixture.run.meta.site(step.site).line == line
    };
    fixture.trace.steps().find(fits).unwrap().0
}

#[test]
fn the_failing_schedule_is_found_without_the_recorded_order() {
    let mut example = fixture(PFSCAN);
    example.trace.order.clear();
    let schedule = found(synthesize(
        &example.trace,
        &SolverOptions::default(),
        &Budget::unlimited(),
    ));
    let place = |name: &str| {
        schedule
            .order
            .iter()
            .position(|&id| id == named(&example, name))
            .unwrap()
    };
    // Both consumers find the one element; one takes it, then the other checks again.
    assert!(place("W 0.4") < place("R 1.10"));
    assert!(place("R 2.10") < place("W 1.20"));
    assert!(place("W 1.20") < place("R 2.19"));
}

#[test]
fn the_root_cause_is_figure_3b() {
    let example = fixture(PFSCAN);
    let order = example.trace.order.clone();
    let answer = root_cause(
        &example.trace,
        &order,
        &SolverOptions::default(),
        &Budget::unlimited(),
    );
    let cause = found(answer);
    let read = ReadsFrom {
        read: named(&example, "R 2.19"),
        write: Some(named(&example, "W 1.20")),
    };
    assert!(cause.reads.contains(&read), "{cause:?}");
    assert!(cause.is_minimal);
    let orders: Vec<(StepId, StepId)> = cause.orders.iter().map(|o| (o.before, o.after)).collect();
    let expected = [(named(&example, "W 1.20"), named(&example, "R 2.19"))];
    assert_eq!(orders, expected, "{}", text(&example, &cause));
}

fn text(example: &Fixture, cause: &RootCause) -> String {
    let step = |id| crate::dsp::step_in_words(&example.trace, &example.run, id);
    let orders = cause
        .orders
        .iter()
        .map(|o| format!("{} < {}\n", step(o.before), step(o.after)));
    orders.collect()
}

#[test]
fn the_alternate_is_figure_3c() {
    let example = fixture(PFSCAN);
    let order = example.trace.order.clone();
    let pair = (named(&example, "W 1.20"), named(&example, "R 2.19"));
    let options = SolverOptions::default();
    let schedule = found(alternate(
        &example.trace,
        &order,
        pair,
        &options,
        &Budget::unlimited(),
    ));
    let place = |id: StepId| {
        schedule
            .order
            .iter()
            .position(|&other| other == id)
            .unwrap()
    };
    assert!(place(pair.1) < place(pair.0));
    assert_eq!(
        TraceConstraints::new(&example.trace)
            .check(&schedule.order)
            .unwrap()
            .fails,
        Some(false)
    );
    // All that changed is that thread 2's last section comes before thread 1's.
    let moved = |name: &str| place(named(&example, name));
    assert!(moved("R 1.10") < moved("R 2.10") && moved("R 2.10") < moved("R 2.19"));
}

/// The constraints of Figure 2d.
#[test]
fn the_counts_are_those_of_the_figure() {
    let example = fixture(PFSCAN);
    let answer = synthesize(
        &example.trace,
        &SolverOptions::default(),
        &Budget::unlimited(),
    );
    assert_eq!((answer.counts.path, answer.counts.bug), (3, 1));
    assert_eq!(answer.counts.accesses, 9);
    // Two forks; sections of 1, 2 and 2 in three threads exclude each other in eight pairs.
    assert_eq!(answer.counts.sync, 2 + 8);
}
