//! Tests of total and partial store order: the litmus tests, and small random traces against all their orders
//! of effects.

use super::*;
use crate::{Binary, CellId, Comparison, ExprId};
use proptest::prelude::*;
use unsnarl_trace::{EventKind, ThreadId};

const MODELS: [MemoryModel; 3] = [
    MemoryModel::Sequential,
    MemoryModel::TotalStore,
    MemoryModel::PartialStore,
];

/// Three threads and two cells.
struct Litmus {
    builder: TraceBuilder,
    cells: [CellId; 2],
    one: ExprId,
}

const MAIN: ThreadId = ThreadId(0);
const FIRST: ThreadId = ThreadId(1);
const SECOND: ThreadId = ThreadId(2);

impl Litmus {
    fn new() -> Litmus {
        let mut builder = TraceBuilder::new();
        let cells = ["x", "y"].map(|name| builder.cell(name, 0));
        for thread in [1, 2] {
            builder.thread(MAIN, EventKind::Fork, thread);
        }
        let one = builder.trace.exprs.number(1, 32);
        Litmus {
            builder,
            cells,
            one,
        }
    }

    fn fails_if(mut self, bug: impl FnOnce(&mut crate::Exprs) -> ExprId) -> SymbolicTrace {
        for thread in [1, 2] {
            self.builder.thread(MAIN, EventKind::Join, thread);
        }
        let condition = bug(&mut self.builder.trace.exprs);
        self.builder.bug(MAIN, condition);
        self.builder.trace
    }
}

/// Both threads read cells that the other has not written yet.
fn store_buffering() -> SymbolicTrace {
    let mut litmus = Litmus::new();
    let ([x, y], one) = (litmus.cells, litmus.one);
    litmus.builder.write(FIRST, x, one);
    let a = litmus.builder.read(FIRST, y);
    litmus.builder.write(SECOND, y, one);
    let b = litmus.builder.read(SECOND, x);
    litmus.fails_if(|exprs| {
        let (sum, none) = (exprs.binary(Binary::Add, a, b), exprs.number(0, 32));
        exprs.compare(Comparison::Eq, sum, none)
    })
}

/// The flag becomes visible before the data.
fn message_passing() -> SymbolicTrace {
    let mut litmus = Litmus::new();
    let ([data, flag], one) = (litmus.cells, litmus.one);
    litmus.builder.write(FIRST, data, one);
    litmus.builder.write(FIRST, flag, one);
    let f = litmus.builder.read(SECOND, flag);
    let d = litmus.builder.read(SECOND, data);
    litmus.fails_if(|exprs| exprs.compare(Comparison::Ult, d, f))
}

/// Checks the verdicts of the models: sequential, total store order, partial store order.
fn fails_under(trace: &SymbolicTrace, expected: [bool; 3]) {
    for (memory_model, fails) in MODELS.into_iter().zip(expected) {
        let orders = all_orders_under(trace, memory_model);
        let by_hand = orders.iter().any(|(_, failed)| *failed);
        assert_eq!(by_hand, fails, "{memory_model:?}, all orders");
        let options = SolverOptions {
            memory_model,
            ..SolverOptions::default()
        };
        let answer = synthesize(trace, &options, &Budget::unlimited());
        match fails {
            true => drop(found(answer)),
            false => assert_eq!(
                answer.verdict,
                SolverVerdict::Impossible,
                "{memory_model:?}"
            ),
        }
    }
}

#[test]
fn store_buffering_fails_when_reads_pass_writes() {
    fails_under(&store_buffering(), [false, true, true]);
}

#[test]
fn message_passing_fails_when_writes_pass_writes() {
    fails_under(&message_passing(), [false, false, true]);
}

/// A lock taken in between drains the store buffers.
#[test]
fn synchronization_empties_store_buffers() {
    let mut litmus = Litmus::new();
    let ([x, y], one) = (litmus.cells, litmus.one);
    let mut side = |thread, written, read, lock| {
        litmus.builder.write(thread, written, one);
        litmus.builder.sync(thread, EventKind::Lock, lock);
        litmus.builder.sync(thread, EventKind::Unlock, lock);
        litmus.builder.read(thread, read)
    };
    let (a, b) = (side(FIRST, x, y, 7), side(SECOND, y, x, 8));
    let trace = litmus.fails_if(|exprs| {
        let (sum, none) = (exprs.binary(Binary::Add, a, b), exprs.number(0, 32));
        exprs.compare(Comparison::Eq, sum, none)
    });
    fails_under(&trace, [false, false, false]);
}

/// The checker alone: the write of `x` takes effect after the read of `y`.
#[test]
fn an_order_of_effects_is_told_from_program_order() {
    let trace = store_buffering();
    let first_write = StepId {
        thread: FIRST,
        index: 0,
    };
    let mut order = trace.order.clone();
    let at = order.iter().position(|&id| id == first_write).unwrap();
    order.swap(at, at + 1);
    assert_eq!(order[at].thread, FIRST);
    let verdict = |model| {
        TraceConstraints::under(&trace, model)
            .check(&order)
            .map(drop)
    };
    assert_eq!(
        verdict(MemoryModel::Sequential).unwrap_err().rule,
        unsnarl_order::Rule::Program
    );
    assert!(verdict(MemoryModel::TotalStore).is_ok());
    // Two writes of one thread change places in partial store order only.
    let trace = message_passing();
    let mut order = trace.order.clone();
    let at = order.iter().position(|&id| id == first_write).unwrap();
    order.swap(at, at + 1);
    let verdict = |model| {
        TraceConstraints::under(&trace, model)
            .check(&order)
            .map(drop)
    };
    assert!(verdict(MemoryModel::TotalStore).is_err());
    assert!(verdict(MemoryModel::PartialStore).is_ok());
}

/// Next action of a thread: the thread, the action, the cell.
type RelaxedAction = (bool, u8, bool);

fn random(choices: &[RelaxedAction], number: u8) -> SymbolicTrace {
    let mut litmus = Litmus::new();
    let cells = litmus.cells;
    let mut last = [litmus.one; 2];
    for &(is_second, what, is_y) in choices {
        let (at, thread) = (
            usize::from(is_second),
            if is_second { SECOND } else { FIRST },
        );
        let cell = cells[usize::from(is_y)];
        let builder = &mut litmus.builder;
        match what % 8 {
            0..=2 => last[at] = builder.read(thread, cell),
            3..=5 => {
                let one = litmus.one;
                let value = builder.trace.exprs.binary(Binary::Add, last[at], one);
                builder.write(thread, cell, value);
            }
            6 => last[at] = builder.add(thread, cell, 1),
            _ => {
                let value = builder.value(last[at]);
                let recorded = builder.trace.exprs.number(value, 32);
                let condition = builder
                    .trace
                    .exprs
                    .compare(Comparison::Ule, last[at], recorded);
                builder.assume(thread, condition);
            }
        }
    }
    let [a, b] = last;
    litmus.fails_if(|exprs| {
        let sum = exprs.binary(Binary::Add, a, b);
        let number = exprs.number(u128::from(number % 6), 32);
        exprs.compare(Comparison::Ule, sum, number)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every schedule found has passed the checker; where none is found, no order of effects fails.
    #[test]
    fn as_all_orders_of_effects_say(choices in prop::collection::vec(any::<RelaxedAction>(), 2..8), number in any::<u8>()) {
        let trace = random(&choices, number);
        let mut before = 0;
        for memory_model in MODELS {
            let all = all_orders_under(&trace, memory_model);
            // A weaker model allows every order of a stronger one.
            prop_assert!(all.len() >= before);
            before = all.len();
            let options = SolverOptions { memory_model, ..SolverOptions::default() };
            let answer = synthesize(&trace, &options, &Budget::unlimited());
            super::random::agrees(&answer, all.iter().any(|(_, fails)| *fails))?;
            if let SolverVerdict::Found(schedule) = answer.verdict {
                let known = |(order, fails): &(Vec<StepId>, bool)| *fails && *order == schedule.order;
                prop_assert!(all.iter().any(known), "{:?}", schedule.order);
            }
        }
    }
}

/// All orders of effects of a small trace, with whether each fails.
fn all_orders_under(trace: &SymbolicTrace, model: MemoryModel) -> Vec<(Vec<StepId>, bool)> {
    let checker = TraceConstraints::under(trace, model);
    let count = trace.steps().count();
    let (mut open, mut found) = (vec![Vec::<StepId>::new()], Vec::new());
    while let Some(order) = open.pop() {
        let Ok(feasible) = checker.check(&order) else {
            continue;
        };
        if order.len() == count {
            found.push((order, feasible.fails.unwrap()));
            continue;
        }
        for (next, step) in trace.steps().filter(|(id, _)| !order.contains(id)) {
            let longer = with_the_rest(trace, &order, next, step);
            open.extend(longer);
        }
    }
    found
}

/// The order extended by the remaining steps of the step's event; nothing for a step that does not begin its
/// event.
fn with_the_rest(
    trace: &SymbolicTrace,
    order: &[StepId],
    next: StepId,
    step: &crate::SymbolicStep,
) -> Option<Vec<StepId>> {
    let is_of_event = |id: StepId| {
        let other = trace.step(id);
        step.event.is_some() && other.is_some_and(|other| other.event == step.event)
    };
    let before = next.index.checked_sub(1);
    if before.is_some_and(|index| is_of_event(StepId { index, ..next })) {
        return None;
    }
    let mut longer = order.to_vec();
    longer.push(next);
    let mut more = next;
    loop {
        more.index += 1;
        match is_of_event(more) {
            true => longer.push(more),
            false => break,
        }
    }
    Some(longer)
}
