//! A symbolic trace prepared for repeated simulation: steps and objects have small numbers, and each step
//! lists the expressions to evaluate there, in order.

use crate::symbolic::{Action, Bug, ExprId, Node, StepId, SymbolicTrace};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, LocationId, ThreadId};

/// Marks the absence of a thread or a step.
pub(super) const NONE: u32 = u32::MAX;

/// Effect of a step in the simulation, with objects by number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
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
    Nothing,
    Fork,
    Lock(u32),
    SharedLock(u32),
    Unlock(u32),
    /// Releases a lock that the thread held at the end; an added step.
    Release(u32),
    Attempt(u32),
    Join(u16),
    Wait(u32),
    Signal(u32),
    Broadcast(u32),
    Arrive(u32),
    Leave(u32),
    TakeUnit(u32),
    GiveUnit(u32),
    OnceBegin(u32),
    OnceEnd(u32),
    OncePass(u32),
    /// Takes the n-th turn on an object used against the rules, whose steps keep the recorded order.
    Turn(u32, u32),
}

/// Violations of the rules in the base order.
#[derive(Clone, Debug, Default)]
pub(super) struct Exceptions {
    /// Objects whose steps keep the recorded order.
    pub odd: FxHashSet<LocationId>,
    /// Attempts at a lock that failed although it was free.
    pub on_free: FxHashSet<StepId>,
}

/// Resumption of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    pub condition: u32,
    pub signalled: bool,
}

/// A prepared trace. Steps are numbered thread by thread.
#[derive(Debug)]
pub(super) struct Program<'t> {
    pub trace: &'t SymbolicTrace,
    pub ops: Vec<Op>,
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
    /// Resumptions of waits, by step.
    pub returns: FxHashMap<u32, Return>,
    pub objects: usize,
    /// Initial units of semaphores, by object.
    pub units: FxHashMap<u32, u32>,
    pub meeting: FxHashMap<u32, u32>,
    /// Once-only initializations that the trace has.
    pub initialized: FxHashSet<u32>,
    /// Sets of acquisitions, innermost first, and by step the set that the thread holds before it.
    held: Vec<Vec<u32>>,
    held_at: Vec<u32>,
}

impl<'t> Program<'t> {
    /// Prepares a trace; `order` counts as the recorded order.
    pub fn new(trace: &'t SymbolicTrace, order: &[StepId], exceptions: &Exceptions) -> Program<'t> {
        let mut program = Program {
            trace,
            ops: Vec::new(),
            thread_of: Vec::new(),
            first: vec![0],
            own: Vec::new(),
            code: Vec::new(),
            ranges: Vec::new(),
            unit: Vec::new(),
            fork: vec![NONE; trace.threads.len()],
            returns: FxHashMap::default(),
            objects: 0,
            units: FxHashMap::default(),
            meeting: FxHashMap::default(),
            initialized: FxHashSet::default(),
            held: vec![Vec::new()],
            held_at: Vec::new(),
        };
        program.number_steps();
        let objects = program.translate(exceptions);
        program.objects = objects.len();
        program.turns(order, &exceptions.odd, &objects);
        program.compile();
        program.sections();
        program.waits();
        program.count(order);
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

    /// Thread of the step.
    pub fn thread(&self, flat: u32) -> u16 {
        self.thread_of.get(flat as usize).copied().unwrap_or(0)
    }

    /// Effect of the step.
    pub fn op(&self, flat: u32) -> Op {
        self.ops.get(flat as usize).copied().unwrap_or(Op::Nothing)
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
            let own =
                |step: &&crate::symbolic::Step| !matches!(step.action, Action::Release { .. });
            self.own.push(steps.steps.iter().filter(own).count() as u32);
            let whole = |a: &crate::symbolic::Step, b: &crate::symbolic::Step| {
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

    fn translate(&mut self, exceptions: &Exceptions) -> FxHashMap<LocationId, u32> {
        let odd = &exceptions.odd;
        let mut objects: FxHashMap<LocationId, u32> = FxHashMap::default();
        for (id, step) in self.trace.steps() {
            let mut number = |object: LocationId| {
                let next = objects.len() as u32;
                *objects.entry(object).or_insert(next)
            };
            let op = match step.action {
                Action::Read { cell, symbol } => Op::Read {
                    cell: cell.0,
                    symbol: symbol.0,
                },
                Action::Write { cell, value } => Op::Write {
                    cell: cell.0,
                    value,
                },
                Action::Assume(condition) => match self.trace.bug {
                    Bug::Condition { step, .. } if step == id => Op::Bug(condition),
                    _ => Op::Assume(condition),
                },
                Action::Release { object, .. } if odd.contains(&object) => Op::Nothing,
                Action::Release { object, .. } => Op::Release(number(object)),
                Action::Sync { object, .. } if odd.contains(&object) => {
                    Op::Turn(number(object), NONE)
                }
                Action::Sync {
                    kind,
                    object,
                    value,
                } => {
                    let thread = u16::try_from(value).unwrap_or(u16::MAX);
                    let op = match exceptions.on_free.contains(&id) {
                        true => Op::Nothing,
                        false => sync(kind, thread, || number(object)),
                    };
                    self.note(op, thread);
                    op
                }
            };
            self.ops.push(op);
        }
        objects
    }

    fn note(&mut self, op: Op, thread: u16) {
        match op {
            Op::Fork => {
                if let Some(fork) = self.fork.get_mut(usize::from(thread)) {
                    *fork = self.ops.len() as u32;
                }
            }
            Op::OnceBegin(object) => {
                self.initialized.insert(object);
            }
            _ => {}
        }
    }

    /// Gives each step of an object used against the rules its turn.
    fn turns(
        &mut self,
        order: &[StepId],
        odd: &FxHashSet<LocationId>,
        objects: &FxHashMap<LocationId, u32>,
    ) {
        let mut next: FxHashMap<u32, u32> = FxHashMap::default();
        for &id in order {
            let Some(Action::Sync { object, .. }) = self.trace.step(id).map(|step| step.action)
            else {
                continue;
            };
            let flat = self.flat(id) as usize;
            if let (true, Some(&number)) = (odd.contains(&object), objects.get(&object))
                && let Some(op) = self.ops.get_mut(flat)
            {
                let turn = next.entry(number).or_default();
                *op = Op::Turn(number, *turn);
                *turn += 1;
            }
        }
    }

    /// Lists for each step the expressions that its thread has not evaluated before.
    fn compile(&mut self) {
        let mut by: Vec<u16> = vec![u16::MAX; self.trace.exprs.len()];
        for flat in 0..self.ops.len() as u32 {
            let from = self.code.len() as u32;
            if let Op::Write { value, .. } | Op::Assume(value) | Op::Bug(value) = self.op(flat) {
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
            if !matches!(self.trace.exprs.node(next), Node::Symbol(_)) {
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
                match self.op(flat) {
                    Op::Lock(_) | Op::SharedLock(_) => held.insert(0, flat),
                    Op::Unlock(lock) => {
                        let of = |&taken: &u32| matches!(self.op(taken), Op::Lock(of) | Op::SharedLock(of) if of == lock);
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

    /// Finds the resumptions of waits: the thread's next synchronization step after it released the mutex.
    fn waits(&mut self) {
        for thread in 0..self.threads() as u16 {
            let syncs: Vec<u32> = self
                .steps(thread)
                .filter(|&flat| self.kind(flat).is_some())
                .collect();
            for (at, &wait) in syncs.iter().enumerate() {
                let Op::Wait(condition) = self.op(wait) else {
                    continue;
                };
                let mut rest = syncs.iter().skip(at + 1).copied().peekable();
                rest.next_if(|&flat| self.kind(flat) == Some(EventKind::Unlock));
                // A thread that waits for ever does not resume.
                let goes_on = |end: &&u32| self.kind(**end) != Some(EventKind::Blocked);
                let Some(&end) = rest.peek().filter(goes_on) else {
                    continue;
                };
                let wake = rest.find(|&flat| self.kind(flat) == Some(EventKind::Wake));
                let signalled = wake.is_none_or(|wake| self.value(wake) == 0);
                self.returns.insert(
                    end,
                    Return {
                        condition,
                        signalled,
                    },
                );
            }
        }
    }

    /// Event kind of a synchronization step.
    pub fn kind(&self, flat: u32) -> Option<EventKind> {
        match self.trace.step(self.id(flat))?.action {
            Action::Sync { kind, .. } => Some(kind),
            _ => None,
        }
    }

    fn value(&self, flat: u32) -> u64 {
        match self.trace.step(self.id(flat)).map(|step| step.action) {
            Some(Action::Sync { value, .. }) => value,
            _ => 0,
        }
    }

    /// Counts the initial units of semaphores and the threads that meet at barriers.
    fn count(&mut self, order: &[StepId]) {
        let mut now: FxHashMap<u32, i64> = FxHashMap::default();
        let mut left: FxHashSet<u32> = FxHashSet::default();
        for &id in order {
            match self.op(self.flat(id)) {
                Op::GiveUnit(object) => *now.entry(object).or_default() += 1,
                Op::TakeUnit(object) => {
                    let units = now.entry(object).or_default();
                    *units -= 1;
                    let first = self.units.entry(object).or_default();
                    *first = (*first).max(u32::try_from(-*units).unwrap_or(0));
                }
                Op::Arrive(object) if !left.contains(&object) => {
                    *self.meeting.entry(object).or_default() += 1;
                }
                Op::Leave(object) => {
                    left.insert(object);
                }
                _ => {}
            }
        }
    }
}

fn sync(kind: EventKind, thread: u16, object: impl FnOnce() -> u32) -> Op {
    match kind {
        EventKind::Fork => Op::Fork,
        EventKind::Lock => Op::Lock(object()),
        EventKind::SharedLock => Op::SharedLock(object()),
        EventKind::Unlock | EventKind::SharedUnlock => Op::Unlock(object()),
        EventKind::TryLockFailed => Op::Attempt(object()),
        EventKind::Join => Op::Join(thread),
        EventKind::Wait => Op::Wait(object()),
        EventKind::Signal => Op::Signal(object()),
        EventKind::Broadcast => Op::Broadcast(object()),
        EventKind::BarrierArrive => Op::Arrive(object()),
        EventKind::BarrierLeave => Op::Leave(object()),
        EventKind::SemWait => Op::TakeUnit(object()),
        EventKind::SemPost => Op::GiveUnit(object()),
        EventKind::OnceBegin => Op::OnceBegin(object()),
        EventKind::OnceEnd => Op::OnceEnd(object()),
        EventKind::OncePass => Op::OncePass(object()),
        _ => Op::Nothing,
    }
}
