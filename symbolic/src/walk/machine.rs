//! The state of a walk, and the operations on it that all its parts share.

use super::{
    memory::ThreadMemoryWalk,
    names::function_of_variable,
    paths::Paths,
    plan::{SharedPiece, Uses},
    points::{PointInstructions, Spot},
    sites::SitesByName,
    thread::{Activity, BranchState, FunctionFrame, WalkedThread},
    unseen::Unseen,
    value::{Scalar, Val},
    words::PathWords,
};
use crate::{
    expr::{Binary, Comparison, ExprId, ExprNode, Exprs, SymbolId, Unary},
    trace::{
        Action, Bug, CellId, Concretized, SharedCell, StepId, SymbolOrigin, SymbolicStep,
        UnknownValue,
    },
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeSet, VecDeque};
use unsnarl_core::Budget;
use unsnarl_trace::{
    Event, EventId, EventKind, Location, LocationId, Run, SiteId, ThreadId,
    program::{DebugTypeId, Function, FunctionId, GlobalId, Instruction, Program, Unit, UnitId},
};

/// Relation of a thread's next event to its current instruction.
pub(super) enum Due {
    /// The event belongs to this instruction, and its turn has come.
    Now(EventId, Event),
    /// The event belongs to this instruction, but events of other threads come first.
    Later,
    /// The event belongs to another instruction.
    Elsewhere,
    /// The thread has no more events.
    Over,
}

/// Result of an instruction.
pub(super) enum InstructionResult {
    /// The thread continues.
    On,
    /// The thread waits for its next event.
    Wait,
    /// The thread has ended, or cannot be followed any more.
    Stop,
}

pub(super) struct PathMachine<'a> {
    pub run: &'a Run,
    pub program: &'a Program,
    pub points: &'a PointInstructions,
    pub sites: &'a SitesByName,
    pub budget: &'a Budget,
    /// Shared memory, by address; empty in the first walk.
    pub shared: &'a [SharedPiece],
    pub exprs: Exprs,
    pub symbols: Vec<UnknownValue>,
    pub memory: ThreadMemoryWalk,
    pub threads: Vec<WalkedThread>,
    /// All steps, each with the last event of its thread before it.
    pub order: Vec<(EventId, StepId)>,
    pub uses: Uses,
    /// The event whose turn it is.
    pub now: EventId,
    /// Cells by their index in `shared`.
    pub cells: Vec<Option<CellId>>,
    pub made_cells: Vec<SharedCell>,
    pub globals: FxHashMap<(UnitId, GlobalId), u64>,
    /// Bases of the global variables whose distances from each other are known.
    pub fixed: FxHashMap<(UnitId, GlobalId), u64>,
    pub global_names: FxHashMap<String, u64>,
    pub functions: FxHashMap<(UnitId, FunctionId), u64>,
    pub function_names: FxHashMap<String, u64>,
    pub code_at: FxHashMap<u64, (UnitId, FunctionId)>,
    pub library_at: FxHashMap<u64, String>,
    /// Addresses of the run's locations.
    pub places: FxHashMap<LocationId, u64>,
    /// The run's location for an access of a size at an address.
    pub names: FxHashMap<(u64, u64), LocationId>,
    /// Types of variables in memory, by their bases.
    pub debug_types: FxHashMap<u64, (UnitId, DebugTypeId)>,
    /// Handles of threads.
    pub handles: FxHashMap<ThreadId, u64>,
    pub concretized: BTreeSet<Concretized>,
    pub gaps: Vec<String>,
    pub bug: Bug,
    /// The steps that freed blocks.
    pub freed: FxHashMap<u64, StepId>,
    /// The values that the last writing steps left in cells.
    pub cell_holds: FxHashMap<CellId, Scalar>,
    /// Reads of blocks that had been freed.
    pub reads_freed: FxHashSet<StepId>,
    /// Writes of uninstrumented library functions, found by later reads.
    pub unseen: Unseen,
    /// `true` in the first walk, which only finds shared memory.
    pub is_first: bool,
    /// Threads' own copies of variables.
    pub thread_locals: FxHashMap<(ThreadId, u64), u64>,
    /// The first access of a freed block, and the step that freed it.
    pub after_free: Option<(StepId, StepId)>,
    /// Bases of global variables that the program defines.
    pub variables: FxHashSet<u64>,
    /// Bases of globals that are never written.
    pub constants: FxHashSet<u64>,
    /// `true` if an unrecorded value was inferred.
    pub has_learned: bool,
    /// `true` if a value was read of which only a part is known.
    pub has_partial: bool,
    /// The recorded paths of the threads, for runs in path mode.
    pub paths: Option<Paths>,
    /// Paths in the source's words, where they are kept.
    pub words: Option<PathWords>,
}

impl<'a> PathMachine<'a> {
    pub fn new(
        (run, program): (&'a Run, &'a Program),
        (points, sites): (&'a PointInstructions, &'a SitesByName),
        shared: &'a [SharedPiece],
        budget: &'a Budget,
    ) -> PathMachine<'a> {
        let mut threads: Vec<WalkedThread> = run
            .meta
            .threads
            .ids()
            .map(|id| WalkedThread {
                id,
                ..WalkedThread::default()
            })
            .collect();
        for (id, event) in run.events.iter() {
            if let Some(thread) = threads.get_mut(event.thread.index()) {
                thread.events.push(id);
            }
        }
        let mut machine = PathMachine {
            run,
            program,
            points,
            sites,
            budget,
            shared,
            exprs: Exprs::default(),
            symbols: Vec::new(),
            memory: ThreadMemoryWalk::default(),
            threads,
            order: Vec::new(),
            uses: Uses::default(),
            now: EventId(0),
            cells: vec![None; shared.len()],
            made_cells: Vec::new(),
            globals: FxHashMap::default(),
            fixed: FxHashMap::default(),
            global_names: FxHashMap::default(),
            functions: FxHashMap::default(),
            function_names: FxHashMap::default(),
            code_at: FxHashMap::default(),
            library_at: FxHashMap::default(),
            places: FxHashMap::default(),
            names: FxHashMap::default(),
            debug_types: FxHashMap::default(),
            handles: FxHashMap::default(),
            concretized: BTreeSet::new(),
            gaps: Vec::new(),
            bug: Bug::default(),
            freed: FxHashMap::default(),
            cell_holds: FxHashMap::default(),
            reads_freed: FxHashSet::default(),
            unseen: Unseen::default(),
            is_first: false,
            thread_locals: FxHashMap::default(),
            after_free: None,
            variables: FxHashSet::default(),
            constants: FxHashSet::default(),
            has_learned: false,
            has_partial: false,
            paths: None,
            words: None,
        };
        machine.lay_out_globals();
        machine
    }

    pub fn thread(&self, id: ThreadId) -> Option<&WalkedThread> {
        self.threads.get(id.index())
    }

    pub fn thread_mut(&mut self, id: ThreadId) -> Option<&mut WalkedThread> {
        self.threads.get_mut(id.index())
    }

    pub fn frame(&self, id: ThreadId) -> Option<&FunctionFrame> {
        self.thread(id)?.frame()
    }

    pub fn frame_mut(&mut self, id: ThreadId) -> Option<&mut FunctionFrame> {
        self.thread_mut(id)?.frame_mut()
    }

    /// The unit and the function that a thread is in.
    pub fn code(&self, id: ThreadId) -> Option<(&'a Unit, &'a Function)> {
        let frame = self.frame(id)?;
        let unit = self.program.unit(frame.unit)?;
        Some((unit, unit.function(frame.function)?))
    }

    pub fn instruction(&self, id: ThreadId) -> Option<&'a Instruction> {
        let at = self.frame(id)?.at;
        self.code(id)?.1.instructions.get(at as usize)
    }

    /// The thread's position in the program.
    pub fn spot(&self, id: ThreadId) -> Option<Spot> {
        let frame = self.frame(id)?;
        Some((frame.unit, frame.function, frame.at))
    }

    /// The thread's next event.
    pub fn peek(&self, id: ThreadId) -> Option<(EventId, Event)> {
        let event = self.thread(id)?.next_event()?;
        Some((event, self.run.events.get(event)?))
    }

    /// Returns whether the thread's next event belongs to its current instruction.
    pub fn due(&self, id: ThreadId) -> Due {
        let Some((event, row)) = self.peek(id) else {
            return match self.has_path(id) {
                true => Due::Elsewhere,
                false => Due::Over,
            };
        };
        let spot = self.points.get(row.point);
        if spot.is_none() || spot != self.spot(id) {
            return Due::Elsewhere;
        }
        match event <= self.now {
            true => Due::Now(event, row),
            false => Due::Later,
        }
    }

    /// As [`Machine::due`], for calls into libraries, whose events have no point.
    pub fn due_inside(&self, id: ThreadId) -> Due {
        match self.peek(id) {
            Some((event, row)) if self.is_of_library(row) => match event <= self.now {
                true => Due::Now(event, row),
                false => Due::Later,
            },
            _ => self.due(id),
        }
    }

    /// `true` if an event belongs to code without a model. The first instructions of a function have no
    /// point, either.
    fn is_of_library(&self, row: Event) -> bool {
        let is_plain = matches!(row.kind, EventKind::Read | EventKind::Write)
            && row.flags & unsnarl_trace::model::flags::RANGE == 0;
        let is_known = |name: &str| self.points.has_function_named(name);
        let site = self.run.meta.site(row.site);
        let has_model = || {
            is_known(&site.function)
                || function_of_variable(self.run.location(row.location)).is_some_and(is_known)
        };
        self.points.get(row.point).is_none() && !(is_plain && has_model())
    }

    /// Marks the thread's next event as used.
    pub fn use_event(&mut self, id: ThreadId, site: SiteId) {
        if let Some(event) = self.thread(id).and_then(|thread| thread.next_event()) {
            self.moves_event(event);
        }
        if let Some(thread) = self.thread_mut(id) {
            thread.used += 1;
            thread.idle = 0;
            if site != SiteId(0) {
                thread.site = site;
            }
        }
        self.comes_on(id);
    }

    /// Appends a step to the thread.
    pub fn step(
        &mut self,
        id: ThreadId,
        event: Option<EventId>,
        site: SiteId,
        action: Action,
    ) -> StepId {
        let is_release = matches!(action, Action::Release { .. });
        let Some(thread) = self.thread_mut(id) else {
            return StepId::default();
        };
        let step = thread.next_step();
        thread.steps.push(SymbolicStep {
            event,
            site,
            action,
        });
        let when = match is_release {
            true => EventId(u32::MAX),
            false => thread.last_event(),
        };
        self.order.push((when, step));
        self.says_step(id, step.index);
        step
    }

    /// An unknown value from outside.
    pub fn outside(
        &mut self,
        id: ThreadId,
        name: String,
        width: u8,
        recorded: Option<u128>,
    ) -> Scalar {
        let site = self.here(id);
        let origin = SymbolOrigin::Outside { thread: id, site };
        self.unknown(name, width, recorded, origin)
    }

    pub fn unknown(
        &mut self,
        name: String,
        width: u8,
        recorded: Option<u128>,
        origin: SymbolOrigin,
    ) -> Scalar {
        let symbol = SymbolId(self.symbols.len() as u32);
        self.symbols.push(UnknownValue {
            width,
            recorded,
            origin,
            name,
        });
        Scalar::same(self.exprs.symbol(symbol, width), recorded)
    }

    /// The site of the instruction that the thread stands at, or of its last event.
    pub fn here(&self, id: ThreadId) -> SiteId {
        let last = self.thread(id).map_or(SiteId(0), |thread| thread.site);
        let place = self.instruction(id).zip(self.code(id));
        let place = place.map(|(instruction, (unit, _))| (unit, unit.place(instruction.place)));
        let site = place.and_then(|(unit, place)| self.sites.of(unit, place));
        site.unwrap_or(last)
    }

    /// Adds to the thread's path that the condition has its recorded value. Returns the step, if one was
    /// needed.
    pub fn assume(&mut self, id: ThreadId, condition: Scalar) -> Option<StepId> {
        let holds = match condition.bits? {
            0 => self.exprs.not(condition.expr),
            _ => condition.expr,
        };
        let said = match condition.bits? {
            0 => self.exprs.not(condition.said),
            _ => condition.said,
        };
        if self.exprs.constant(holds).is_some() {
            return None;
        }
        if !self.thread_mut(id)?.assumed.insert(holds) {
            return None;
        }
        let site = self.here(id);
        if let Some(name) = self.nobody_knows(holds) {
            let what = format!("a condition on {name}");
            self.concretize(id, Concretized { site, what });
            return None;
        }
        let step = self.step(id, None, site, Action::Assume(holds));
        self.says(id, said);
        Some(step)
    }

    /// The name of an input to the expression that came from outside and was not recorded: its value for
    /// another order is then unknown. In runs without values it is an unknown like all others.
    fn nobody_knows(&self, expr: ExprId) -> Option<String> {
        if self.paths.is_some() {
            return None;
        }
        let symbols = self.exprs.symbols(expr);
        let mut symbols = symbols.iter().filter_map(|id| self.symbols.get(id.index()));
        let unknown = symbols.find(|symbol| {
            symbol.recorded.is_none() && matches!(symbol.origin, SymbolOrigin::Outside { .. })
        });
        unknown.map(|symbol| symbol.name.clone())
    }

    /// Fixes a value to its recorded number and adds that to the thread's path; `what` describes the value.
    pub fn fixed(
        &mut self,
        id: ThreadId,
        value: Scalar,
        what: impl FnOnce() -> String,
    ) -> Option<u128> {
        let value = self.as_known(value);
        let bits = value.bits?;
        if value.is_symbolic(&self.exprs) {
            let condition = self.is_as_it_was(value)?;
            if self.assume(id, condition).is_some() {
                let site = self.here(id);
                self.concretize(id, Concretized { site, what: what() });
            }
        }
        Some(bits)
    }

    /// Fixes the address of an access.
    pub fn address(&mut self, id: ThreadId, value: Scalar) -> Option<u64> {
        let value = self.as_known(value);
        let expr = value.expr;
        let bits = value.bits?;
        if self.exprs.constant(expr).is_none() {
            let condition = self.is_as_it_was(value)?;
            let is_index = self.is_index(expr);
            // The value of a pointer is only a guess where no values were recorded.
            let is_said = is_index || self.paths.is_some();
            if self.assume(id, condition).is_some() && is_said {
                let site = self.here(id);
                let kind = if is_index { "index into" } else { "pointer to" };
                let what = self
                    .memory
                    .object(bits as u64)
                    .map_or("an index".into(), |object| {
                        format!("{kind} `{}`", Location::in_words(&object.name))
                    });
                self.concretize(id, Concretized { site, what });
            }
        }
        Some(bits as u64)
    }

    /// `true` if more than a constant is added to a pointer.
    fn is_index(&self, expr: ExprId) -> bool {
        match self.exprs.node(expr) {
            ExprNode::Binary(Binary::Add, a, b) if self.exprs.constant(b).is_some() => {
                self.is_index(a)
            }
            ExprNode::Symbol(_) => false,
            _ => true,
        }
    }

    /// The condition that the value is the recorded one.
    pub fn as_it_was(&mut self, value: Scalar) -> Option<Scalar> {
        self.is_as_it_was(value)
    }

    /// `value == recorded`, without additions of constants on either side.
    fn is_as_it_was(&mut self, value: Scalar) -> Option<Scalar> {
        let (mut expr, mut bits) = (value.expr, value.bits?);
        loop {
            let width = self.exprs.width(expr);
            match self.exprs.node(expr) {
                ExprNode::Binary(Binary::Add, a, b) => {
                    let (inner, constant) = match (self.exprs.constant(a), self.exprs.constant(b)) {
                        (None, Some(constant)) => (a, constant),
                        (Some(constant), None) => (b, constant),
                        _ => break,
                    };
                    expr = inner;
                    bits = crate::fold::binary_bits(Binary::Sub, bits, constant, width);
                }
                ExprNode::Unary(Unary::SExt | Unary::ZExt, inner) => {
                    let width = self.exprs.width(inner);
                    bits &= crate::fold::mask(width);
                    expr = inner;
                }
                _ => break,
            }
        }
        let width = self.exprs.width(expr);
        let number = self.exprs.number(bits, width);
        let holds = self.exprs.compare(Comparison::Eq, expr, number);
        let said = self.said_to_be(value, holds)?;
        Some(Scalar {
            expr: holds,
            bits: Some(1),
            said,
        })
    }

    /// Gives up following the thread.
    pub fn lose(&mut self, id: ThreadId, why: &str) {
        let site = self.here(id);
        let name = self.run.meta.thread(id).name.clone();
        let row = self.run.meta.site(site);
        let file = row.file.rsplit('/').next().unwrap_or_default();
        let place = format!(" at {file}:{}", row.line);
        let known = match self.paths {
            Some(_) => "not known",
            None => "known by values only",
        };
        self.gap(format!(
            "{name} could not be followed any further{place}: {why}; what it read and wrote from there on is {known}"
        ));
        if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Lost;
            thread.stack.clear();
        }
    }

    /// Notes a gap once.
    pub fn gap(&mut self, text: String) {
        if !self.gaps.contains(&text) {
            self.gaps.push(text);
        }
    }

    /// A new frame for a function of the program; false for one without blocks.
    pub fn enter(
        &mut self,
        id: ThreadId,
        (unit, function): (UnitId, FunctionId),
        arguments: Vec<Val>,
    ) -> bool {
        let Some(code) = self.program.function(unit, function) else {
            return false;
        };
        let Some(first) = code.blocks.first() else {
            return false;
        };
        let mut values = vec![None; code.values as usize];
        let mut arguments = arguments.into_iter();
        let given = arguments.by_ref().take(code.parameters.len());
        for (slot, (argument, ty)) in values.iter_mut().zip(given.zip(&code.parameters)) {
            *slot = Some(self.as_parameter(argument, self.width(unit, *ty)));
        }
        let frame = FunctionFrame {
            unit,
            function,
            values,
            block: Default::default(),
            came_from: Default::default(),
            at: first.from,
            stage: 0,
            pending: None,
            more: arguments.collect(),
            decisions: Vec::new(),
            thrown: None,
            guard: self.guard(id),
            branches: FxHashMap::default(),
        };
        let Some(thread) = self.thread_mut(id) else {
            return false;
        };
        thread.stack.push(Activity::Code(Box::new(frame)));
        self.passes(id, self.spot(id));
        true
    }

    /// An argument as the function that gets it sees it. Whoever calls by a pointer may pass a register, of which the function
    /// takes the low part.
    fn as_parameter(&mut self, argument: Val, width: Option<u8>) -> Val {
        match (argument, width) {
            (Val::Scalar(number), Some(width)) => number.resized(&mut self.exprs, width).into(),
            (argument, _) => argument,
        }
    }

    /// Schedules steps of a library function to run before the thread goes on.
    pub fn begin_native(&mut self, id: ThreadId, todo: impl Into<VecDeque<super::thread::Todo>>) {
        if let Some(thread) = self.thread_mut(id) {
            thread.stack.push(Activity::Native(todo.into()));
        }
    }
}
