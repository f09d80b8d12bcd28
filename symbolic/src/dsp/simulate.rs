//! Concrete re-simulation of a symbolic trace in other orders: the values that threads read, whether they
//! stay on their paths, and whether the run fails.
//!
//! Everything starts from a base order, the failing one. An attempt differs from it from some position on;
//! the prefix is restored from snapshots, so that an attempt costs only its changes and series of attempts
//! near the failure are cheap. Nothing is hashed per step.

use super::program::{PreparedTrace, StepOp};
use crate::{Bug, ExprId, StepId, SymbolId, SymbolOrigin, SymbolicTrace};
use unsnarl_order::{
    builder::{BaseOrder, Guide, Offer, OrderBuilder, OrderState},
    kernel::Blocked,
};

/// An attempt: from a position of the base order on, a thread is held back until a step has been taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SimulatedAttempt {
    /// Position in the base order.
    pub from: u32,
    /// The thread that is held back at its next step from there on.
    pub held: u16,
    /// The step that ends the hold.
    pub until: u32,
    /// Thread of that step.
    pub awaited: u16,
    /// `true` if only that thread runs meanwhile; else all but the held one do.
    pub alone: bool,
}

/// Result of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttemptEnd {
    /// The run does not fail. `to_the_end`: all steps were taken.
    Passes { to_the_end: bool },
    /// The run fails as recorded.
    Fails,
    /// The awaited step cannot come while the thread is held back, or threads wait for each other.
    Stuck,
    /// A thread leaves its recorded path at this step.
    Departs(u32),
    /// It is unknown whether the run fails.
    Open,
}

/// Simulator of attempts on a base order.
#[derive(Debug)]
pub(super) struct Simulator<'t> {
    pub program: PreparedTrace<'t>,
    values: SimulatedValues,
    snapshots: Vec<(OrderState, Vec<Option<u128>>)>,
    every: usize,
    /// The attempt's order from its position on.
    pub order: Vec<u32>,
}

/// The values of expressions, symbols and cells within an order, and how it ends.
#[derive(Debug)]
struct SimulatedValues {
    values: Vec<Option<u128>>,
    symbols: Vec<Option<u128>>,
    base_values: Vec<Option<u128>>,
    base_symbols: Vec<Option<u128>>,
    /// Values of the cells.
    memory: Vec<Option<u128>>,
    /// The attempt, until the step that ends its hold has been taken.
    hold: Option<SimulatedAttempt>,
    passed: bool,
    departed: Vec<u16>,
    guessed: Option<u32>,
    ended: Option<AttemptEnd>,
}

/// Minimum distance of snapshots, and their maximum number.
const SNAPSHOT: usize = 256;
const SNAPSHOTS: usize = 64;

impl<'t> Simulator<'t> {
    /// Simulates the base order. `first` holds the cells' initial values.
    pub fn new(
        trace: &'t SymbolicTrace,
        order: &[StepId],
        first: Vec<Option<u128>>,
    ) -> Simulator<'t> {
        let program = PreparedTrace::new(trace, order);
        let mut simulator = Simulator {
            values: SimulatedValues::new(trace, first),
            snapshots: Vec::new(),
            every: (program.base.len() / SNAPSHOTS).max(SNAPSHOT),
            order: Vec::new(),
            program,
        };
        simulator.run_base();
        simulator
    }

    /// Takes the steps of the base order.
    fn run_base(&mut self) {
        let (program, values) = (&self.program, &mut self.values);
        let mut state = OrderState::new(program);
        for (at, &flat) in program.base.iter().enumerate() {
            if at % self.every == 0 {
                self.snapshots.push((state.clone(), values.memory.clone()));
            }
            values.evaluate(program, flat);
            values.access(program, flat);
            state.step(program, flat);
        }
        values.base_values = values.values.clone();
        values.base_symbols = values.symbols.clone();
    }

    /// Restores the state before this place of the base order.
    fn restore(&mut self, place: usize) -> OrderState {
        let (program, values) = (&self.program, &mut self.values);
        let nearest = (place / self.every).min(self.snapshots.len().saturating_sub(1));
        let Some((state, memory)) = self.snapshots.get(nearest) else {
            return OrderState::new(program);
        };
        let mut state = state.clone();
        values.memory.clone_from(memory);
        for &flat in program.base.get(nearest * self.every..place).unwrap_or(&[]) {
            if let StepOp::Write { cell, value } = program.op(flat) {
                values.write(cell, value);
            }
            state.step(program, flat);
        }
        state
    }

    /// The attempt that holds a thread back before a step until another one has been taken.
    pub fn held_back(&self, before: u32, until: u32, alone: bool) -> SimulatedAttempt {
        SimulatedAttempt {
            from: self.program.place(before),
            held: self.program.thread(before),
            until,
            awaited: self.program.thread(until),
            alone,
        }
    }

    /// The whole order of the attempt that was made last.
    pub fn steps(&self, attempt: &SimulatedAttempt) -> Vec<StepId> {
        let before = self.program.base.get(..attempt.from as usize);
        let steps = before.unwrap_or(&[]).iter().chain(&self.order);
        steps.map(|&flat| self.program.id(flat)).collect()
    }

    /// Makes an attempt. Until the next attempt, `self.order` holds its order, which replaces the base
    /// order's steps from [`SimulatedAttempt::from`] on.
    pub fn attempt(&mut self, attempt: &SimulatedAttempt) -> AttemptEnd {
        let state = self.restore(attempt.from as usize);
        self.values.restart(attempt);
        let (program, values) = (&self.program, &mut self.values);
        let mut build = OrderBuilder::new(program, state);
        build.scan(values, attempt.from..program.base.len() as u32);
        let left = program.base.len() - (attempt.from as usize).min(program.base.len());
        let ended = values.end(program, build.order.len() == left);
        for &flat in &build.order {
            values.forget(program, flat);
        }
        self.order = build.order;
        ended
    }
}

impl SimulatedValues {
    fn new(trace: &SymbolicTrace, memory: Vec<Option<u128>>) -> SimulatedValues {
        let outside = trace.symbols.iter().map(|symbol| match symbol.origin {
            SymbolOrigin::Outside { .. } => symbol.recorded,
            SymbolOrigin::Read(_) => None,
        });
        SimulatedValues {
            values: vec![None; trace.exprs.len()],
            symbols: outside.collect(),
            base_values: Vec::new(),
            base_symbols: Vec::new(),
            memory,
            hold: None,
            passed: false,
            departed: Vec::new(),
            guessed: None,
            ended: None,
        }
    }

    fn restart(&mut self, attempt: &SimulatedAttempt) {
        self.hold = Some(*attempt);
        self.passed = false;
        self.departed.clear();
        self.guessed = None;
        self.ended = None;
    }

    fn value(&self, of: ExprId) -> Option<u128> {
        self.values.get(of.0 as usize).copied().flatten()
    }

    /// Evaluates the step's expressions.
    fn evaluate(&mut self, program: &PreparedTrace, flat: u32) {
        for &id in program.code(flat) {
            let symbol = |id: SymbolId| self.symbols.get(id.index()).copied().flatten();
            let exprs = &program.trace.exprs;
            let value = exprs.evaluate(id, |id| self.value(id), symbol);
            if let Some(slot) = self.values.get_mut(id.0 as usize) {
                *slot = value;
            }
        }
    }

    fn access(&mut self, program: &PreparedTrace, flat: u32) {
        match program.op(flat) {
            StepOp::Read { cell, symbol } => {
                let found = self.memory.get(cell as usize).copied().flatten();
                if let Some(symbol) = self.symbols.get_mut(symbol as usize) {
                    *symbol = found;
                }
            }
            StepOp::Write { cell, value } => self.write(cell, value),
            _ => {}
        }
    }

    fn write(&mut self, cell: u32, value: ExprId) {
        let written = self.value(value);
        if let Some(cell) = self.memory.get_mut(cell as usize) {
            *cell = written;
        }
    }

    /// Restores the step's values of the base order.
    fn forget(&mut self, program: &PreparedTrace, flat: u32) {
        for id in program.code(flat) {
            restore(&mut self.values, &self.base_values, id.0 as usize);
        }
        if let StepOp::Read { symbol, .. } = program.op(flat) {
            restore(&mut self.symbols, &self.base_symbols, symbol as usize);
        }
    }

    /// The end of an order that nothing continues.
    fn end(&self, program: &PreparedTrace, to_the_end: bool) -> AttemptEnd {
        if let Some(ended) = self.ended {
            return ended;
        }
        if self.hold.is_some() || (!to_the_end && self.departed.is_empty()) {
            return AttemptEnd::Stuck;
        }
        match (&program.trace.bug, self.passed, self.guessed) {
            (_, true, _) => AttemptEnd::Passes { to_the_end },
            (Bug::Condition { .. } | Bug::AfterFree { .. }, false, Some(guess)) => {
                AttemptEnd::Departs(guess)
            }
            _ => AttemptEnd::Open,
        }
    }

    /// Handles a thread that leaves its path. Once it is decided that the run does not fail, only this thread
    /// ends here.
    fn leaves(&mut self, program: &PreparedTrace, flat: u32) -> Offer {
        if !self.passed {
            self.ended = Some(AttemptEnd::Departs(flat));
            return Offer::Taken;
        }
        self.forget(program, flat);
        self.departed.push(program.thread(flat));
        Offer::Refused
    }

    /// Handles the free or the access of a block in an order opposite to that of the failing run.
    fn freed(&mut self, program: &PreparedTrace, state: &OrderState, flat: u32) {
        let Bug::AfterFree { step, freed } = program.trace.bug else {
            return;
        };
        let [step, freed] = [step, freed].map(|id| program.flat(id));
        if flat == freed && !state.has(program, step) {
            self.ended = Some(AttemptEnd::Fails);
        }
        self.passed |= flat == step && !state.has(program, freed);
    }

    /// Handles the condition of the failure.
    fn checked(&mut self, flat: u32, condition: ExprId) {
        match self.value(condition) {
            Some(1) => self.ended = Some(AttemptEnd::Fails),
            Some(_) if self.guessed.is_none() => self.passed = true,
            _ => self.ended = Some(AttemptEnd::Departs(self.guessed.unwrap_or(flat))),
        }
    }

    /// Notes the steps that other threads wait for without synchronization.
    fn releases(&mut self, program: &PreparedTrace, flat: u32) -> Offer {
        let is_awaited = |attempt: &mut SimulatedAttempt| attempt.until == flat;
        let thread = program.thread(flat);
        let own = program.own.get(usize::from(thread)).copied();
        let is_last = own == Some(program.id(flat).index + 1);
        match self.hold.take_if(is_awaited).is_some() || is_last {
            true => Offer::Releases,
            false => Offer::Taken,
        }
    }
}

fn restore(values: &mut [Option<u128>], base: &[Option<u128>], at: usize) {
    if let (Some(value), Some(base)) = (values.get_mut(at), base.get(at)) {
        *value = *base;
    }
}

impl Guide<PreparedTrace<'_>> for SimulatedValues {
    fn holds(&self, thread: u16, _: u32) -> bool {
        let is_held = |attempt: &SimulatedAttempt| {
            thread == attempt.held || (attempt.alone && thread != attempt.awaited)
        };
        self.hold.as_ref().is_some_and(is_held) || self.departed.contains(&thread)
    }

    fn departs(&self, blocked: Blocked) -> bool {
        matches!(blocked, Blocked::Attempt(_))
    }

    fn offer(&mut self, program: &PreparedTrace, state: &OrderState, flat: u32) -> Offer {
        if state.blocked(program, flat).is_some() {
            return self.leaves(program, flat);
        }
        self.freed(program, state, flat);
        self.evaluate(program, flat);
        self.access(program, flat);
        match program.op(flat) {
            StepOp::Bug(condition) => self.checked(flat, condition),
            StepOp::Assume(condition) if self.value(condition) != Some(1) => {
                return self.leaves(program, flat);
            }
            StepOp::Release if !self.passed => self.guessed = self.guessed.or(Some(flat)),
            _ => {}
        }
        self.releases(program, flat)
    }

    fn lags(&mut self, program: &PreparedTrace, state: &OrderState, flat: u32) {
        let Some(attempt) = self.hold else { return };
        let thread = program.thread(flat);
        let by = match state.blocked(program, flat) {
            _ if thread != attempt.awaited => return,
            None | Some(Blocked::Attempt(_)) => return,
            Some(Blocked::Lock(holder)) => Some(holder),
            Some(Blocked::Step(step)) => Some(program.thread(step)),
            Some(Blocked::Unit(_) | Blocked::Signal(_) | Blocked::Barrier(_)) => None,
        };
        if attempt.alone || by == Some(attempt.held) {
            self.ended = Some(AttemptEnd::Stuck);
        }
    }

    fn is_done(&self, _: &PreparedTrace, _: &OrderState) -> bool {
        self.ended.is_some()
    }
}
