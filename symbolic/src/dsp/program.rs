//! A symbolic trace prepared for repeated simulation: steps and objects have small numbers, and each step
//! lists the expressions to evaluate there, in order.

use super::numbered::NumberedSteps;
use crate::{Action, Bug, ExprId, ExprNode, StepId, SymbolicTrace};
pub(super) use unsnarl_order::NONE;
use unsnarl_order::{
    builder::BaseOrder,
    kernel::{SyncEffect, Transitions},
};
use unsnarl_trace::{EventKind, ThreadId};

/// Effect of a step in the simulation.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepOp {
    Read {
        cell: u32,
        symbol: u32,
    },
    Write {
        cell: u32,
        value: ExprId,
    },
    Assume(ExprId),
    /// Evaluates the condition of the bug.
    Bug(ExprId),
    Fork,
    Join(u16),
    /// Releases a lock that the thread held at the end; an added step.
    Release,
    /// Other synchronization; [`Program::transitions`] has the effect.
    Sync,
}

/// A prepared trace. Steps are numbered thread by thread.
#[derive(Debug)]
pub(super) struct PreparedTrace<'t> {
    pub trace: &'t SymbolicTrace,
    /// The base order, steps by number.
    pub base: Vec<u32>,
    /// By step: its place in the base order.
    place: Vec<u32>,
    ops: Vec<StepOp>,
    thread_of: Vec<u16>,
    first: Vec<u32>,
    /// Number of steps that each thread took itself.
    pub own: Vec<u32>,
    code: Vec<ExprId>,
    ranges: Vec<(u32, u32)>,
    /// By step: the last and the first step of its event.
    unit: Vec<(u32, u32)>,
    /// By thread: the step that creates it.
    pub fork: Vec<u32>,
    /// Effects of steps on synchronization objects.
    transitions: Transitions,
    /// Sets of acquisitions, innermost first, and by step the set that the thread holds before it.
    held: Vec<Vec<u32>>,
    held_at: Vec<u32>,
}

impl BaseOrder for PreparedTrace<'_> {
    fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    fn first(&self) -> Vec<u32> {
        let threads = 0..self.threads() as u16;
        let steps = threads.map(|thread| self.steps(thread));
        steps
            .map(|mut steps| steps.next().unwrap_or(NONE))
            .collect()
    }

    fn thread(&self, flat: u32) -> u16 {
        self.thread_of.get(flat as usize).copied().unwrap_or(0)
    }

    fn next(&self, flat: u32) -> u32 {
        let is_same = self.thread_of.get(flat as usize + 1) == Some(&self.thread(flat));
        if is_same { flat + 1 } else { NONE }
    }

    fn at(&self, place: u32) -> Option<u32> {
        self.base.get(place as usize).copied()
    }

    fn place(&self, flat: u32) -> u32 {
        self.place.get(flat as usize).copied().unwrap_or(NONE)
    }
}

impl<'t> PreparedTrace<'t> {
    /// Prepares a trace; `order` is the base order, and counts as the recorded one.
    pub fn new(trace: &'t SymbolicTrace, order: &[StepId]) -> PreparedTrace<'t> {
        let mut program = PreparedTrace {
            trace,
            base: Vec::new(),
            place: Vec::new(),
            ops: Vec::new(),
            thread_of: Vec::new(),
            first: vec![0],
            own: Vec::new(),
            code: Vec::new(),
            ranges: Vec::new(),
            unit: Vec::new(),
            fork: vec![NONE; trace.threads.len()],
            transitions: Transitions::new(&NumberedSteps::new(trace, order)),
            held: vec![Vec::new()],
            held_at: Vec::new(),
        };
        program.number_steps();
        program.base = order.iter().map(|&id| program.flat(id)).collect();
        program.place = vec![NONE; program.unit.len()];
        for (at, &flat) in (0..).zip(&program.base) {
            if let Some(place) = program.place.get_mut(flat as usize) {
                *place = at;
            }
        }
        program.translate();
        program.compile();
        program.sections();
        program
    }

    /// The number of a step.
    pub fn flat(&self, id: StepId) -> u32 {
        self.first.get(id.thread.index()).copied().unwrap_or(0) + id.index
    }

    /// The step with this number.
    pub fn id(&self, flat: u32) -> StepId {
        let thread = self.thread(flat);
        StepId {
            thread: ThreadId(thread),
            index: flat - self.first.get(usize::from(thread)).copied().unwrap_or(0),
        }
    }

    /// Effect of the step.
    pub fn op(&self, flat: u32) -> StepOp {
        self.ops.get(flat as usize).copied().unwrap_or(StepOp::Sync)
    }

    /// First and last step of the event that the step belongs to.
    pub fn unit(&self, flat: u32) -> (u32, u32) {
        self.unit
            .get(flat as usize)
            .copied()
            .unwrap_or((flat, flat))
    }

    /// The thread's steps, by number.
    pub fn steps(&self, thread: u16) -> std::ops::Range<u32> {
        let at = |i: usize| self.first.get(i).copied().unwrap_or(0);
        at(usize::from(thread))..at(usize::from(thread) + 1)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.fork.len()
    }

    /// The expressions to evaluate at the step, operands first.
    pub fn code(&self, flat: u32) -> &[ExprId] {
        let (from, to) = self.ranges.get(flat as usize).copied().unwrap_or((0, 0));
        self.code.get(from as usize..to as usize).unwrap_or(&[])
    }

    fn number_steps(&mut self) {
        for (thread, steps) in (0..).zip(&self.trace.threads) {
            let start = self.unit.len() as u32;
            let own = |step: &&crate::SymbolicStep| !matches!(step.action, Action::Release { .. });
            self.own.push(steps.steps.iter().filter(own).count() as u32);
            let whole = |a: &crate::SymbolicStep, b: &crate::SymbolicStep| {
                a.event.is_some() && a.event == b.event
            };
            let mut at = start;
            for unit in steps.steps.chunk_by(whole) {
                let last = at + unit.len() as u32 - 1;
                self.unit.extend(unit.iter().map(|_| (at, last)));
                self.thread_of.extend(unit.iter().map(|_| thread));
                at = last + 1;
            }
            self.first.push(at);
        }
    }

    fn translate(&mut self) {
        for (id, step) in self.trace.steps() {
            let flat = self.ops.len() as u32;
            let op = match step.action {
                Action::Read { cell, symbol } => StepOp::Read {
                    cell: cell.0,
                    symbol: symbol.0,
                },
                Action::Write { cell, value } => StepOp::Write {
                    cell: cell.0,
                    value,
                },
                Action::Assume(condition) => match self.trace.bug {
                    Bug::Condition { step, .. } if step == id => StepOp::Bug(condition),
                    _ => StepOp::Assume(condition),
                },
                Action::Release { .. } if self.effect(flat) == Some(SyncEffect::Give) => {
                    StepOp::Release
                }
                Action::Sync { kind, value, .. } => {
                    let thread = u16::try_from(value).unwrap_or(u16::MAX);
                    match kind {
                        EventKind::Fork => self.fork(thread, flat),
                        EventKind::Join => StepOp::Join(thread),
                        _ => StepOp::Sync,
                    }
                }
                Action::Release { .. } => StepOp::Sync,
            };
            self.ops.push(op);
        }
    }

    fn fork(&mut self, child: u16, flat: u32) -> StepOp {
        if let Some(fork) = self.fork.get_mut(usize::from(child)) {
            *fork = flat;
        }
        StepOp::Fork
    }

    /// Effect of the step on its synchronization object.
    pub fn effect(&self, flat: u32) -> Option<SyncEffect> {
        self.transitions.get(flat).map(|step| step.effect)
    }

    /// Lists for each step the expressions that its thread has not evaluated before.
    fn compile(&mut self) {
        let mut by: Vec<u16> = vec![u16::MAX; self.trace.exprs.len()];
        for flat in 0..self.ops.len() as u32 {
            let from = self.code.len() as u32;
            if let StepOp::Write { value, .. } | StepOp::Assume(value) | StepOp::Bug(value) =
                self.op(flat)
            {
                self.need(value, self.thread(flat), &mut by);
            }
            let new = self.code.get_mut(from as usize..).unwrap_or(&mut []);
            // Operands precede the expressions that use them.
            new.sort_unstable();
            self.ranges.push((from, self.code.len() as u32));
        }
    }

    fn need(&mut self, of: ExprId, thread: u16, by: &mut [u16]) {
        let mut open = vec![of];
        while let Some(next) = open.pop() {
            let Some(known) = by.get_mut(next.0 as usize) else {
                continue;
            };
            if std::mem::replace(known, thread) == thread {
                continue;
            }
            self.code.push(next);
            if !matches!(self.trace.exprs.node(next), ExprNode::Symbol(_)) {
                open.extend(self.trace.exprs.operands(next));
            }
        }
    }

    /// The acquisitions of the locks that the thread holds before the step, innermost first.
    pub fn acquisitions(&self, flat: u32) -> &[u32] {
        let set = self.held_at.get(flat as usize).copied().unwrap_or(0);
        self.held.get(set as usize).map_or(&[], Vec::as_slice)
    }

    fn sections(&mut self) {
        for thread in 0..self.threads() as u16 {
            let mut set = 0;
            for flat in self.steps(thread) {
                self.held_at.push(set);
                let mut held = self.held.get(set as usize).cloned().unwrap_or_default();
                let Some(step) = self.transitions.get(flat) else {
                    continue;
                };
                match step.effect {
                    SyncEffect::Take { .. } => held.insert(0, flat),
                    SyncEffect::Give => {
                        let of = |taken: &u32| {
                            let taken = self.transitions.get(*taken);
                            taken.is_some_and(|taken| taken.object == step.object)
                        };
                        let at = held.iter().position(of);
                        at.map(|at| held.remove(at));
                    }
                    _ => continue,
                }
                set = self.held.len() as u32;
                self.held.push(held);
            }
        }
    }
}
