//! Tests of small random traces against all their orders.

use super::*;
use crate::{Binary, CellId, Comparison, ExprId};
use proptest::prelude::*;
use unsnarl_trace::{EventKind, ThreadId};

/// Next action of a thread, with its numbers; applied where it makes sense.
type RandomAction = (u8, u8, u8);

/// Two threads, forked and joined by the main thread, on two cells, with locks, a semaphore and a condition.
/// The choices make the recorded order.
struct RandomProgram {
    builder: TraceBuilder,
    cells: [CellId; 2],
    last: [Option<ExprId>; 3],
    holds: [bool; 3],
    /// `true` for each thread that waits at the condition and was not signalled yet.
    waits: [bool; 3],
    units: u8,
}

const LOCK: u32 = 1;
const SEMAPHORE: u32 = 2;
const CONDITION: u32 = 3;

impl RandomProgram {
    fn new() -> RandomProgram {
        let mut builder = TraceBuilder::new();
        let cells = [builder.cell("x", 0), builder.cell("y", 1)];
        for thread in [1, 2] {
            builder.thread(ThreadId(0), EventKind::Fork, thread);
        }
        RandomProgram {
            builder,
            cells,
            last: [None; 3],
            holds: [false; 3],
            waits: [false; 3],
            units: 0,
        }
    }

    fn step(&mut self, (thread, what, number): RandomAction) {
        let at = usize::from(1 + thread % 2);
        let who = ThreadId(at as u16);
        if self.waits[at] {
            return;
        }
        let cell = self.cells[usize::from(number % 2)];
        let number = u32::from(number / 2 % 3);
        let is_held = self.holds.iter().any(|holds| *holds);
        match what % 12 {
            0..=2 => self.last[at] = Some(self.builder.read(who, cell)),
            3 | 4 => {
                let exprs = &mut self.builder.trace.exprs;
                let number = exprs.number(u128::from(number), 32);
                let value =
                    self.last[at].map_or(number, |last| exprs.binary(Binary::Add, last, number));
                self.builder.write(who, cell, value);
            }
            5 => self.last[at] = Some(self.builder.add(who, cell, number)),
            6 => self.assume(at, number),
            7 | 8 if self.holds[at] => {
                self.holds[at] = false;
                self.builder.sync(who, EventKind::Unlock, LOCK);
            }
            7 | 8 if !is_held => {
                self.holds[at] = true;
                self.builder.sync(who, EventKind::Lock, LOCK);
            }
            7 => {
                self.builder.sync(who, EventKind::TryLockFailed, LOCK);
            }
            9 => {
                self.units += 1;
                self.builder.sync(who, EventKind::SemPost, SEMAPHORE);
            }
            10 if self.units > 0 => {
                self.units -= 1;
                self.builder.sync(who, EventKind::SemWait, SEMAPHORE);
            }
            11 => self.condition(at),
            _ => {}
        }
    }

    /// Compares the last value read with a number, in the direction of the recorded run.
    fn assume(&mut self, at: usize, number: u32) {
        let Some(last) = self.last[at] else {
            return;
        };
        let exprs = &mut self.builder.trace.exprs;
        let number = exprs.number(u128::from(number), 32);
        let mut condition = exprs.compare(Comparison::Sle, last, number);
        if self.builder.value(condition) == 0 {
            condition = self.builder.trace.exprs.not(condition);
        }
        self.builder.assume(ThreadId(at as u16), condition);
    }

    /// Waits, if it holds the lock and the other thread can still come; or signals the other.
    fn condition(&mut self, at: usize) {
        let who = ThreadId(at as u16);
        let other = 3 - at;
        if self.waits[other] {
            self.builder.sync(who, EventKind::Signal, CONDITION);
            self.waits[other] = false;
            if self.holds[at] {
                self.holds[at] = false;
                self.builder.sync(who, EventKind::Unlock, LOCK);
            }
            self.holds[other] = true;
            self.builder
                .sync(ThreadId(other as u16), EventKind::Lock, LOCK);
            self.builder
                .sync(ThreadId(other as u16), EventKind::Wake, CONDITION);
        } else if self.holds[at] {
            self.builder.sync(who, EventKind::Wait, CONDITION);
            self.builder.sync(who, EventKind::Unlock, LOCK);
            (self.holds[at], self.waits[at]) = (false, true);
        } else {
            self.builder.sync(who, EventKind::Signal, CONDITION);
        }
    }

    fn finish(mut self, number: u8) -> SymbolicTrace {
        for at in [1, 2] {
            if self.waits[at] {
                self.condition(3 - at);
            }
        }
        for at in [1, 2u16] {
            if self.holds[usize::from(at)] {
                self.builder.release(ThreadId(at), LOCK);
            }
        }
        let main = ThreadId(0);
        for thread in [1, 2] {
            self.builder.thread(main, EventKind::Join, thread);
        }
        let [x, y] = self.cells.map(|cell| self.builder.read(main, cell));
        let exprs = &mut self.builder.trace.exprs;
        let sum = exprs.binary(Binary::Add, x, y);
        let number = exprs.number(u128::from(number % 6), 32);
        let condition = match number.0 % 2 {
            0 => exprs.compare(Comparison::Eq, sum, number),
            _ => exprs.compare(Comparison::Slt, sum, number),
        };
        self.builder.bug(main, condition);
        self.builder.trace
    }
}

fn random(choices: &[RandomAction], number: u8) -> SymbolicTrace {
    let mut random = RandomProgram::new();
    for &choice in choices {
        random.step(choice);
    }
    random.finish(number)
}

fn is_before(order: &[StepId], a: StepId, b: StepId) -> bool {
    let place = |id: StepId| order.iter().position(|&other| other == id);
    place(a) < place(b)
}

/// Checks the verdict: found where an order exists, impossible where none does, never unknown.
pub fn agrees(
    answer: &ScheduleAnswer<CheckedSchedule>,
    possible: bool,
) -> Result<(), TestCaseError> {
    match &answer.verdict {
        SolverVerdict::Found(_) => prop_assert!(possible),
        SolverVerdict::Impossible => prop_assert!(!possible),
        SolverVerdict::Unknown(why) => prop_assert!(false, "{why}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn as_all_orders_say(choices in prop::collection::vec(any::<RandomAction>(), 2..11), number in any::<u8>(), is_hidden in any::<bool>()) {
        let mut trace = random(&choices, number);
        let recorded = trace.order.clone();
        let checker = TraceConstraints::new(&trace);
        prop_assert!(checker.check(&recorded).is_ok(), "{:?}", checker.check(&recorded));
        // Failed attempts and units at first are known from the recorded order only.
        let needs_order = choices.iter().any(|(_, what, _)| what % 12 == 7);
        if is_hidden && !needs_order {
            trace.order.clear();
        }
        let all = all_orders(&trace);
        let (options, budget) = (SolverOptions::default(), Budget::unlimited());
        let failing = synthesize(&trace, &options, &budget);
        agrees(&failing, all.iter().any(|(_, fails)| *fails))?;
        if let SolverVerdict::Found(failing) = failing.verdict {
            alternates_agree(&trace, &failing.order, &all)?;
            explains(&trace, &failing.order, &all)?;
        }
    }
}

/// Checks the flips of each adjacent pair of different threads.
fn alternates_agree(
    trace: &SymbolicTrace,
    failing: &[StepId],
    all: &[(Vec<StepId>, bool)],
) -> Result<(), TestCaseError> {
    let pairs = failing
        .windows(2)
        .filter(|pair| pair[0].thread != pair[1].thread);
    for pair in pairs.take(4) {
        let (a, b) = (pair[0], pair[1]);
        let answer = alternate(
            trace,
            failing,
            (a, b),
            &SolverOptions::default(),
            &Budget::unlimited(),
        );
        let possible = all
            .iter()
            .any(|(order, fails)| !fails && is_before(order, b, a));
        agrees(&answer, possible)?;
        if let SolverVerdict::Found(passing) = answer.verdict {
            prop_assert!(is_before(&passing.order, b, a));
        }
    }
    Ok(())
}

/// Checks that every order fails that satisfies the whole root cause, and that some order passes without one
/// part of it.
fn explains(
    trace: &SymbolicTrace,
    failing: &[StepId],
    all: &[(Vec<StepId>, bool)],
) -> Result<(), TestCaseError> {
    let answer = root_cause(
        trace,
        failing,
        &SolverOptions::default(),
        &Budget::unlimited(),
    );
    let SolverVerdict::Found(cause) = answer.verdict else {
        return Err(TestCaseError::fail(format!("{:?}", answer.verdict)));
    };
    let passes_with = |orders: &[EventOrder]| {
        all.iter().any(|(order, fails)| {
            !fails
                && orders
                    .iter()
                    .all(|asked| is_before(order, asked.before, asked.after))
        })
    };
    prop_assert!(!passes_with(&cause.orders), "{cause:?}");
    prop_assert!(cause.is_minimal);
    for left_out in 0..cause.orders.len() {
        let mut fewer = cause.orders.clone();
        fewer.remove(left_out);
        prop_assert!(passes_with(&fewer), "{cause:?} without {left_out}");
    }
    Ok(())
}
