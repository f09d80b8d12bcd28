//! Concrete re-simulation of a symbolic trace in other orders: the values that threads read, whether they
//! stay on their paths, and whether the run fails.
//!
//! Everything starts from a base order, the failing one. An attempt differs from it from some position on;
//! the prefix is restored from snapshots, so that an attempt costs only its changes and series of attempts
//! near the failure are cheap. Nothing is hashed per step.

use super::{
    program::{NONE, PreparedTrace, StepOp},
    state::{Ready, SimulationState},
};
use crate::{Bug, StepId, SymbolOrigin, SymbolicTrace};
use unsnarl_order::kernel::SyncEffect;

/// An attempt: from a position of the base order on, a thread is held back until a step has been taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SimulatedAttempt {
    /// Position in the base order.
    pub from: u32,
    /// The thread that is held back at its next step from there on.
    pub held: u16,
    /// The step that ends the hold.
    pub until: u32,
    /// `true` if only this step's thread runs meanwhile; else all but the held one do.
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
    /// The base order, steps by number.
    pub base: Vec<u32>,
    /// By step: its place in the base order.
    pub place: Vec<u32>,
    values: Vec<Option<u128>>,
    symbols: Vec<Option<u128>>,
    base_values: Vec<Option<u128>>,
    base_symbols: Vec<Option<u128>>,
    snapshots: Vec<SimulationState>,
    every: usize,
    /// The attempt's order from its position on.
    pub order: Vec<u32>,
    passed: bool,
    departed: Vec<u16>,
    waiting: Vec<u32>,
    guessed: Option<u32>,
}

/// Minimum distance of snapshots, and their maximum number.
const SNAPSHOT: usize = 256;
const SNAPSHOTS: usize = 64;

/// Result of a thread's attempt at its next step.
enum Advance {
    Taken { wakes: bool },
    Ends(AttemptEnd),
    Waits(Option<u16>),
    Leaves,
}

impl<'t> Simulator<'t> {
    /// Simulates the base order. `first` holds the cells' initial values.
    pub fn new(
        trace: &'t SymbolicTrace,
        order: &[StepId],
        first: Vec<Option<u128>>,
    ) -> Simulator<'t> {
        let program = PreparedTrace::new(trace, order);
        let base: Vec<u32> = order.iter().map(|&id| program.flat(id)).collect();
        let mut place = vec![NONE; program.ops.len()];
        for (at, &flat) in (0..).zip(&base) {
            if let Some(place) = place.get_mut(flat as usize) {
                *place = at;
            }
        }
        let outside = trace.symbols.iter().map(|symbol| match symbol.origin {
            SymbolOrigin::Outside { .. } => symbol.recorded,
            SymbolOrigin::Read(_) => None,
        });
        let symbols: Vec<Option<u128>> = outside.collect();
        let mut simulator = Simulator {
            values: vec![None; trace.exprs.len()],
            base_values: Vec::new(),
            base_symbols: Vec::new(),
            symbols,
            snapshots: Vec::new(),
            every: (base.len() / SNAPSHOTS).max(SNAPSHOT),
            order: Vec::new(),
            passed: false,
            departed: Vec::new(),
            waiting: Vec::new(),
            guessed: None,
            program,
            base,
            place,
        };
        simulator.run_base(first);
        simulator
    }

    /// Takes the steps of the base order.
    fn run_base(&mut self, first: Vec<Option<u128>>) {
        let mut state = SimulationState::new(&self.program, first);
        for at in 0..self.base.len() {
            if at % self.every == 0 {
                self.snapshots.push(state.clone());
            }
            let flat = self.base.get(at).copied().unwrap_or(NONE);
            self.apply(&mut state, flat);
        }
        self.base_values = self.values.clone();
        self.base_symbols = self.symbols.clone();
        self.restart();
    }

    fn restart(&mut self) {
        self.passed = false;
        self.guessed = None;
        self.departed.clear();
        self.waiting.clear();
    }

    /// Evaluates the step's expressions and takes it; `true` when a waiting thread may resume.
    fn apply(&mut self, state: &mut SimulationState, flat: u32) -> bool {
        let program = &self.program;
        let exprs = &program.trace.exprs;
        for &id in program.code(flat) {
            let operand = |id: crate::ExprId| self.values.get(id.0 as usize).copied().flatten();
            let symbol = |id: crate::SymbolId| self.symbols.get(id.index()).copied().flatten();
            let value = exprs.evaluate(id, operand, symbol);
            if let Some(slot) = self.values.get_mut(id.0 as usize) {
                *slot = value;
            }
        }
        self.memory(state, flat);
        let program = &self.program;
        let thread = program.thread(flat);
        let next = program.id(flat).index + 1;
        if let Some(done) = state.next.get_mut(usize::from(thread)) {
            *done = next;
        }
        let is_last = program.own.get(usize::from(thread)) == Some(&next);
        match program.op(flat) {
            StepOp::Read { .. } | StepOp::Write { .. } | StepOp::Assume(_) | StepOp::Bug(_) => {
                is_last
            }
            StepOp::Fork | StepOp::Join(_) | StepOp::Release | StepOp::Sync => {
                state.sync.apply(&program.transitions, flat, thread);
                self.wakes(flat) || is_last
            }
        }
    }

    fn memory(&mut self, state: &mut SimulationState, flat: u32) {
        match self.program.op(flat) {
            StepOp::Read { cell, symbol } => {
                let found = state.memory.get(cell as usize).copied().flatten();
                if let Some(symbol) = self.symbols.get_mut(symbol as usize) {
                    *symbol = found;
                }
            }
            StepOp::Write { cell, value } => {
                let written = self.values.get(value.0 as usize).copied().flatten();
                if let Some(cell) = state.memory.get_mut(cell as usize) {
                    *cell = written;
                }
            }
            _ => {}
        }
    }

    /// Returns whether a waiting thread may resume after the step.
    fn wakes(&self, flat: u32) -> bool {
        let only_takes = |effect| {
            use SyncEffect::{Attempt, Leave, Take, TakeUnit, Wait};
            matches!(
                effect,
                Attempt { .. } | Leave | Take { .. } | TakeUnit { .. } | Wait { .. }
            )
        };
        !self.program.effect(flat).is_some_and(only_takes)
    }

    /// The state before this place of the base order.
    fn state_at(&self, place: usize) -> SimulationState {
        let nearest = (place / self.every).min(self.snapshots.len().saturating_sub(1));
        let Some(mut state) = self.snapshots.get(nearest).cloned() else {
            return SimulationState::new(&self.program, Vec::new());
        };
        for &flat in self.base.get(nearest * self.every..place).unwrap_or(&[]) {
            self.redo(&mut state, flat);
        }
        state
    }

    /// Repeats a step of the base order with its known values.
    fn redo(&self, state: &mut SimulationState, flat: u32) {
        let id = self.program.id(flat);
        if let Some(done) = state.next.get_mut(id.thread.index()) {
            *done = id.index + 1;
        }
        match self.program.op(flat) {
            StepOp::Write { cell, value } => {
                let written = self.base_values.get(value.0 as usize).copied().flatten();
                if let Some(cell) = state.memory.get_mut(cell as usize) {
                    *cell = written;
                }
            }
            StepOp::Read { .. } | StepOp::Assume(_) | StepOp::Bug(_) => {}
            StepOp::Fork | StepOp::Join(_) | StepOp::Release | StepOp::Sync => {
                let thread = id.thread.0;
                state.sync.apply(&self.program.transitions, flat, thread);
            }
        }
    }

    /// Makes an attempt. Until the next attempt, `self.order` holds its order, which replaces the base
    /// order's steps from [`Attempt::from`] on.
    pub fn attempt(&mut self, attempt: &SimulatedAttempt) -> AttemptEnd {
        self.order.clear();
        self.restart();
        let mut state = self.state_at(attempt.from as usize);
        let ended = match self.pass(&mut state, attempt, true) {
            Some(ended) => ended,
            None => self.rest(&mut state, attempt),
        };
        self.forget();
        ended
    }

    /// Takes all remaining steps, in the base order.
    fn rest(&mut self, state: &mut SimulationState, attempt: &SimulatedAttempt) -> AttemptEnd {
        self.waiting.clear();
        if let Some(ended) = self.pass(state, attempt, false) {
            return ended;
        }
        let done: usize = state.next.iter().map(|&next| next as usize).sum();
        let to_the_end = done == self.base.len();
        if !to_the_end && self.departed.is_empty() {
            return AttemptEnd::Stuck;
        }
        match (&self.program.trace.bug, self.passed, self.guessed) {
            (_, true, _) => AttemptEnd::Passes { to_the_end },
            (Bug::Condition { .. } | Bug::AfterFree { .. }, false, Some(guess)) => {
                AttemptEnd::Departs(guess)
            }
            _ => AttemptEnd::Open,
        }
    }

    /// Restores the values of the base order.
    fn forget(&mut self) {
        for &flat in &self.order {
            for id in self.program.code(flat) {
                let at = id.0 as usize;
                if let (Some(value), Some(base)) =
                    (self.values.get_mut(at), self.base_values.get(at))
                {
                    *value = *base;
                }
            }
            if let StepOp::Read { symbol, .. } = self.program.op(flat) {
                let at = symbol as usize;
                if let (Some(value), Some(base)) =
                    (self.symbols.get_mut(at), self.base_symbols.get(at))
                {
                    *value = *base;
                }
            }
        }
    }

    /// Goes through the base order and takes the steps that are possible; a waiting thread resumes when it
    /// can. With `held`, until the attempt's step has been taken (`None`), else to the end.
    fn pass(
        &mut self,
        state: &mut SimulationState,
        attempt: &SimulatedAttempt,
        held: bool,
    ) -> Option<AttemptEnd> {
        let awaited = self.program.thread(attempt.until);
        let mut at = attempt.from as usize;
        while let Some(&flat) = self.base.get(at) {
            let id = self.program.id(flat);
            let (thread, mut next_place) = (id.thread.0, at + 1);
            let is_held = held && (thread == attempt.held || (attempt.alone && thread != awaited))
                || self.departed.contains(&thread);
            if state.next.get(id.thread.index()) == Some(&id.index) && !is_held {
                match self.take(state, flat) {
                    Advance::Ends(ended) => return Some(ended),
                    Advance::Waits(by) => {
                        let hopeless = attempt.alone || by == Some(attempt.held);
                        if held && thread == awaited && hopeless {
                            return Some(AttemptEnd::Stuck);
                        }
                        if !self.waiting.contains(&(at as u32)) {
                            self.waiting.push(at as u32);
                        }
                    }
                    Advance::Taken { wakes } => {
                        if held && flat == attempt.until {
                            return None;
                        }
                        if wakes && let Some(earlier) = self.woken(state) {
                            next_place = earlier;
                        }
                    }
                    Advance::Leaves => {}
                }
            }
            at = next_place;
        }
        held.then_some(AttemptEnd::Stuck)
    }

    /// The first position at which a thread waited that can resume now.
    fn woken(&mut self, state: &SimulationState) -> Option<usize> {
        let may = |&&at: &&u32| {
            let flat = self.base.get(at as usize).copied().unwrap_or(NONE);
            !matches!(state.ready(&self.program, flat), Ready::Waits(_))
        };
        let first = self.waiting.iter().filter(may).min().copied()?;
        self.waiting.retain(|&at| at != first);
        Some(first as usize)
    }

    fn take(&mut self, state: &mut SimulationState, flat: u32) -> Advance {
        match state.ready(&self.program, flat) {
            Ready::Yes => {}
            Ready::Waits(by) => return Advance::Waits(by),
            Ready::Departs => return self.leaves(state, flat),
        }
        if let Some(ended) = self.freed(state, flat) {
            return Advance::Ends(ended);
        }
        self.order.push(flat);
        let wakes = self.apply(state, flat);
        let value = |id: crate::ExprId| self.values.get(id.0 as usize).copied().flatten();
        match self.program.op(flat) {
            StepOp::Bug(condition) => match value(condition) {
                Some(1) => return Advance::Ends(AttemptEnd::Fails),
                Some(_) if self.guessed.is_none() => self.passed = true,
                _ => return Advance::Ends(AttemptEnd::Departs(self.guessed.unwrap_or(flat))),
            },
            StepOp::Assume(condition) if value(condition) != Some(1) => {
                return self.leaves(state, flat);
            }
            StepOp::Release if !self.passed => self.guessed = self.guessed.or(Some(flat)),
            _ => {}
        }
        Advance::Taken { wakes }
    }

    /// Handles a thread that leaves its path. Once it is decided that the run does not fail, only this thread
    /// ends here.
    fn leaves(&mut self, state: &mut SimulationState, flat: u32) -> Advance {
        if !self.passed {
            return Advance::Ends(AttemptEnd::Departs(flat));
        }
        let id = self.program.id(flat);
        self.departed.push(id.thread.0);
        if self.order.last() == Some(&flat) {
            self.order.pop();
        }
        if let Some(next) = state.next.get_mut(id.thread.index()) {
            *next = id.index;
        }
        Advance::Leaves
    }

    /// Handles the free or the access of a block in an order opposite to that of the failing run.
    fn freed(&mut self, state: &SimulationState, flat: u32) -> Option<AttemptEnd> {
        let Bug::AfterFree { step, freed } = self.program.trace.bug else {
            return None;
        };
        let has = |id: StepId| {
            state
                .next
                .get(id.thread.index())
                .is_some_and(|&next| next > id.index)
        };
        if flat == self.program.flat(freed) && !has(step) {
            return Some(AttemptEnd::Fails);
        }
        self.passed |= flat == self.program.flat(step) && !has(freed);
        None
    }
}
