//! The projection of two orders of a symbolic trace.

use super::{
    ProjectionSource,
    continued::ContinuedRun,
    describe, projection,
    side::{LockEffect, OperationNumber, OrderSide, SideOperation, lock_of},
};
use crate::{
    Action, Bug, Comparison, ExprId, ExprNode, StepId, SymbolId, SymbolicStep, SymbolicTrace,
    dsp::{
        alternates::Alternate,
        check::{self, Feasible},
        model::{Does, Dsp, ThreadOperation},
        simulate::{AttemptEnd, SimulatedAttempt, Simulator},
        slice::{Matters, Slice},
    },
    expr::Values,
};
use std::cell::RefCell;
use unsnarl_core::explanation::Place;
use unsnarl_trace::{Event, Run};

/// The projection of a failing order and an alternate of it. Values of the failing order come from
/// re-simulation; linear in the orders. When the alternate was executed, `passing` is that run: a region may
/// then end at an operation that the failing run did not reach.
pub fn project(
    trace: &SymbolicTrace,
    run: &Run,
    failing: &[StepId],
    alternate: &Alternate,
    passing: Option<&Run>,
) -> Result<Dsp, check::InfeasibleTrace> {
    let feasible = check::check(trace, failing)?;
    let simulator = Simulator::new(trace, failing, trace.first_values());
    let source = Traced {
        trace,
        run,
        slices: [
            Slice::new(trace, failing),
            Slice::new(trace, &alternate.order),
        ],
        failing: feasible,
        alternate: alternate.feasible.clone(),
        simulator: RefCell::new(simulator),
        continued: passing.map(|passing| ContinuedRun::new(trace, run, &alternate.order, passing)),
    };
    let later = source.continued.as_ref().map(|continued| &continued.ops);
    let sides = [
        OrderSide::new(source.ops(failing)),
        OrderSide::with_later(
            source.ops(&alternate.order),
            later.cloned().unwrap_or_default(),
        ),
    ];
    let key = |id: StepId| source.simulator.borrow().program.unit(source.flat(id)).0;
    let pair = (key(alternate.pair.0), key(alternate.pair.1));
    let [failing, alternate] = &sides;
    Ok(projection(&source, failing, alternate, Some(pair)))
}

struct Traced<'t> {
    trace: &'t SymbolicTrace,
    run: &'t Run,
    slices: [Slice; 2],
    failing: Feasible,
    alternate: Feasible,
    /// Simulator that decides whether a region would help; an attempt changes its buffers.
    simulator: RefCell<Simulator<'t>>,
    continued: Option<ContinuedRun<'t>>,
}

impl Traced<'_> {
    fn flat(&self, id: StepId) -> u32 {
        self.simulator.borrow().program.flat(id)
    }

    /// Operations of an order, by event: accesses, synchronization, and the failing condition.
    fn ops(&self, order: &[StepId]) -> Vec<SideOperation> {
        let mut ops: Vec<SideOperation> = Vec::new();
        for &id in order {
            let Some(step) = self.trace.step(id) else {
                continue;
            };
            if matches!(step.action, Action::Assume(_)) && !self.is_bug(id) {
                continue;
            }
            let key = self.simulator.borrow().program.unit(self.flat(id)).0;
            if ops.last().map(|op| op.key) != Some(key) {
                ops.push(SideOperation {
                    key,
                    thread: id.thread.0,
                    reads: Vec::new(),
                    writes: Vec::new(),
                    lock: LockEffect::None,
                });
            }
            if let Some(op) = ops.last_mut() {
                note(op, step);
            }
        }
        ops
    }

    /// An operation from the continuation of the alternate.
    fn later(&self, key: OperationNumber) -> Option<(&Run, Event)> {
        self.continued.as_ref()?.event(key)
    }

    fn is_bug(&self, id: StepId) -> bool {
        matches!(self.trace.bug, Bug::Condition { step, .. } if step == id)
    }

    /// The steps of an operation.
    fn steps(&self, key: OperationNumber) -> Vec<(StepId, &SymbolicStep)> {
        let simulator = self.simulator.borrow();
        let (first, last) = simulator.program.unit(key);
        let ids = (first..=last).map(|flat| simulator.program.id(flat));
        ids.filter_map(|id| Some((id, self.trace.step(id)?)))
            .collect()
    }

    fn evaluate(&self, of: ExprId, failing: bool) -> Option<u128> {
        let feasible = if failing {
            &self.failing
        } else {
            &self.alternate
        };
        let symbol = |id: SymbolId| feasible.symbols.get(id.index()).copied().flatten();
        self.trace.exprs.value(of, &mut Values::new(), &symbol)
    }

    /// Formats a number as the source would write it.
    fn number(&self, bits: u128, width: u8, is_pointer: bool) -> String {
        if let Ok(address) = u64::try_from(bits)
            && width == 64
            && address != 0
            && let Some((object, offset)) = self.trace.object(address)
        {
            return match offset {
                0 => format!("&{}", unsnarl_core::facts::in_block(&object.name)),
                _ => "a pointer".to_owned(),
            };
        }
        if bits == 0 && is_pointer {
            return "NULL".to_owned();
        }
        let unused = 128 - u32::from(width.clamp(1, 128));
        let signed = ((bits << unused) as i128) >> unused;
        match (-1_000_000..0).contains(&signed) {
            true => signed.to_string(),
            false => bits.to_string(),
        }
    }

    /// `true` if the cell holds an address at some time of the recorded run.
    fn holds_pointers(&self, step: &SymbolicStep) -> bool {
        let (Action::Read { cell, .. } | Action::Write { cell, .. }) = step.action else {
            return false;
        };
        if self.trace.cell(cell).is_none_or(|cell| cell.size != 8) {
            return false;
        }
        let is_address = |bits: u128| {
            let address = u64::try_from(bits).ok().filter(|&address| address != 0);
            address.is_some_and(|address| self.trace.object(address).is_some())
        };
        self.trace.steps().any(|(_, step)| match step.action {
            Action::Read { cell: of, symbol } if of == cell => {
                let recorded = self.trace.symbol(symbol).and_then(|symbol| symbol.recorded);
                recorded.is_some_and(is_address)
            }
            Action::Write { cell: of, value } if of == cell => {
                self.trace.exprs.constant(value).is_some_and(is_address)
            }
            _ => false,
        })
    }

    /// The end of the run when the first operation's thread is held back for the other one: before its outermost
    /// lock, where it keeps no thread out, else further inside.
    fn held_back(&self, first: u32, until: u32) -> Option<AttemptEnd> {
        let mut simulator = self.simulator.borrow_mut();
        let program = &simulator.program;
        let until = program.unit(until).1;
        let holds = program.acquisitions(first).iter().rev().chain([&first]);
        let attempts = holds.map(|&hold| simulator.held_back(hold, until, false));
        let attempts: Vec<SimulatedAttempt> = attempts.collect();
        let mut ended = attempts.iter().map(|attempt| simulator.attempt(attempt));
        ended.find(|ended| *ended != AttemptEnd::Stuck)
    }

    /// `true` for a condition that a pointer refers to a certain object. Following the pointer makes it, not
    /// a branch of the program.
    fn is_about_address(&self, flat: u32) -> bool {
        let id = self.simulator.borrow().program.id(flat);
        let Some(Action::Assume(condition)) = self.trace.step(id).map(|step| step.action) else {
            return false;
        };
        let ExprNode::Compare(Comparison::Eq, a, b) = self.trace.exprs.node(condition) else {
            return false;
        };
        [a, b].into_iter().any(|side| {
            let bits = self.trace.exprs.constant(side);
            let address = bits.and_then(|bits| u64::try_from(bits).ok());
            address.is_some_and(|address| address != 0 && self.trace.object(address).is_some())
        })
    }
}

fn note(op: &mut SideOperation, step: &SymbolicStep) {
    match step.action {
        Action::Read { cell, .. } => op.reads.push(cell.0),
        Action::Write { cell, .. } => op.writes.push(cell.0),
        Action::Sync { kind, object, .. } => op.lock = lock_of(kind, object.0),
        Action::Release { object, .. } => op.lock = LockEffect::Gives(object.0),
        Action::Assume(_) => {}
    }
}

impl ProjectionSource for Traced<'_> {
    fn describe(&self, key: OperationNumber) -> ThreadOperation {
        if let Some(continued) = self.continued.as_ref()
            && let Some(id) = continued.id(key)
        {
            let mut operation = describe::of_event(continued.run, id);
            operation.event = None;
            operation.alternate_event = Some(id);
            return operation;
        }
        let steps = self.steps(key);
        let Some(&(id, step)) = steps.first() else {
            return describe::at(
                self.run,
                Default::default(),
                Default::default(),
                Does::Synchronizes,
            );
        };
        let mut operation = match step.event {
            Some(event) => describe::of_event(self.run, event),
            None => describe::at(self.run, id.thread, step.site, Does::Synchronizes),
        };
        match step.action {
            Action::Assume(condition) => {
                operation.does = Does::Checks;
                operation.expression = Some(self.trace.show(condition));
            }
            Action::Release { object, .. } => {
                operation.does = Does::Unlocks;
                operation.variable = self.lock(object.0);
            }
            _ => {}
        }
        let written = steps.iter().find_map(|(_, step)| match step.action {
            Action::Write { value, .. } => Some(value),
            _ => None,
        });
        if let Some(value) = written.filter(|&value| self.trace.exprs.constant(value).is_none()) {
            operation.expression = Some(self.trace.show(value));
        }
        operation
    }

    fn calls(&self, key: OperationNumber) -> Vec<Place> {
        if let Some((run, event)) = self.later(key) {
            return describe::calls(run, &event);
        }
        let steps = self.steps(key);
        let event = steps.first().and_then(|(_, step)| step.event);
        match event.and_then(|event| self.run.events.get(event)) {
            Some(event) => describe::calls(self.run, &event),
            None => steps
                .iter()
                .map(|(_, step)| unsnarl_core::facts::place(self.run, step.site))
                .collect(),
        }
    }

    fn value(&self, key: OperationNumber, failing: bool) -> Option<String> {
        if let Some((run, event)) = self.later(key) {
            return describe::value_of(run, &event);
        }
        let feasible = if failing {
            &self.failing
        } else {
            &self.alternate
        };
        let steps = self.steps(key);
        let mut writes = steps.iter().rev();
        let last = writes
            .find(|(_, step)| matches!(step.action, Action::Write { .. }))
            .or(steps.last())?;
        match last.1.action {
            Action::Read { symbol, .. } => {
                let bits = feasible.symbols.get(symbol.index()).copied().flatten()?;
                let width = self.trace.symbol(symbol)?.width;
                Some(self.number(bits, width, bits == 0 && self.holds_pointers(last.1)))
            }
            Action::Write { value, .. } => {
                let bits = self.evaluate(value, failing)?;
                let width = self.trace.exprs.width(value);
                Some(self.number(bits, width, bits == 0 && self.holds_pointers(last.1)))
            }
            _ => None,
        }
    }

    fn cell(&self, cell: u32) -> String {
        let cell = self.trace.cells.get(cell as usize);
        cell.map_or_else(String::new, |cell| {
            unsnarl_core::facts::in_block(&cell.name)
        })
    }

    fn lock(&self, lock: u32) -> String {
        unsnarl_core::facts::in_block(self.run.variable(unsnarl_trace::LocationId(lock)))
    }

    fn matters(&self, key: OperationNumber) -> bool {
        if self.later(key).is_some() {
            return false;
        }
        let steps = self.steps(key);
        let mut ids = steps.iter().map(|(id, _)| *id);
        ids.any(|id| {
            self.slices
                .iter()
                .any(|slice| slice.of(id) == Matters::Data)
        })
    }

    /// Always `false`: in an alternate of the same steps no thread departs.
    fn decides(&self, _: OperationNumber) -> bool {
        false
    }

    fn fails_all_the_same(&self, first: OperationNumber, until: OperationNumber) -> bool {
        if self.later(until).is_some() {
            return false;
        }
        match self.held_back(first, until) {
            Some(AttemptEnd::Fails) => true,
            Some(AttemptEnd::Departs(at)) => self.is_about_address(at),
            _ => false,
        }
    }

    fn failure(&self) -> Option<OperationNumber> {
        match self.trace.bug {
            Bug::Condition { step, .. } => Some(self.flat(step)),
            Bug::AfterFree { step, .. } => {
                let flat = self.flat(step);
                Some(self.simulator.borrow().program.unit(flat).0)
            }
            _ => None,
        }
    }

    fn events(&self) -> usize {
        let events = self.trace.steps().filter_map(|(_, step)| step.event);
        let events: std::collections::BTreeSet<_> = events.collect();
        events.len()
    }
}
