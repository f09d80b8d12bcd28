//! Follows the threads of a run through the program model, guided by the recorded events: [symbiosis],
//! section 3.2.
//!
//! All threads are followed together, in the recorded order: memory holds what it held in the run, and every
//! value is an expression paired with its recorded number. A first walk finds the memory that threads share;
//! in the second each read of shared memory is a new unknown, while private memory keeps its expressions.
//!
//! An access is announced by a callback in the code, and the thread's next event must be that callback's.
//! Otherwise the thread is not followed any further and a gap says so: its events are then taken by their
//! recorded values.

mod access;
mod arithmetic;
mod branch;
mod bug;
mod callbacks;
mod calls;
mod choices;
mod concrete;
mod copies;
mod data;
mod ends;
mod exceptions;
mod execute;
mod floats;
mod heap;
mod intrinsics;
mod learn;
mod library;
mod loads;
mod machine;
mod memory;
mod names;
mod paths;
mod plan;
mod points;
mod ranges;
mod regain;
mod sites;
mod synchronization;
#[cfg(test)]
mod tests;
mod text;
mod thread;
mod unseen;
mod value;
mod wide;
mod words;

use super::trace::{Action, Bug, StepId, SymbolOrigin, SymbolicTrace, ThreadTrace};
use machine::PathMachine;
use plan::SharedPiece;
use points::PointInstructions;
use sites::SitesByName;
use thread::{BranchState, Todo};
use unsnarl_core::{Budget, StopReason};
use unsnarl_trace::{
    Event, EventId, EventKind, FailureKind, OrderMode, Outcome, Run, ThreadId,
    program::{Constant, Definition, Program},
};
use value::{Scalar, Val};
use words::PathWords;

pub use concrete::concrete;
pub use paths::{WalkedPaths, walk_paths};

/// Result of a walk.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The run as expressions.
    pub trace: SymbolicTrace,
    /// Number of threads that were followed to their last event, and of all threads.
    pub followed: (usize, usize),
    /// Stop reason; the trace of an interrupted walk ends early.
    pub stopped: StopReason,
}

/// Makes the symbolic trace of a run. Without a program model, or without any point in the run, see
/// [`concrete`]. Linear in the executed instructions.
pub fn walk(run: &Run, program: &Program, budget: &Budget) -> Walked {
    walk_with(run, program, budget, None)
}

/// As [`walk`], and keeps the threads' paths in the source's words ([`ThreadTrace::path`]): every assignment
/// of a variable and every branch.
pub fn walk_in_words(run: &Run, program: &Program, budget: &Budget) -> Walked {
    walk_with(run, program, budget, Some(PathWords::new(run)))
}

fn walk_with(run: &Run, program: &Program, budget: &Budget, words: Option<PathWords>) -> Walked {
    let points = PointInstructions::new(&run.meta, program);
    if program.is_empty() || points.are_unknown() || run.meta.mode == OrderMode::Path {
        return concrete(run, budget);
    }
    let sites = SitesByName::new(&run.meta);
    let mut first = PathMachine::new((run, program), (&points, &sites), &[], budget);
    first.is_first = true;
    first.follow_all();
    let shared: Vec<SharedPiece> = first.uses.shared(|address| first.may_change(address));
    let unseen = std::mem::take(&mut first.unseen);
    // What is cleared as a whole has no name at first, and is called by the accesses to its parts.
    let names = std::mem::take(&mut first.names);
    drop(first);
    let mut second = PathMachine::new((run, program), (&points, &sites), &shared, budget);
    second.words = words;
    second.unseen = unseen;
    second.names = names;
    second.follow_all();
    second.finish()
}

impl PathMachine<'_> {
    fn follow_all(&mut self) {
        self.prepare_main();
        for row in 0..self.run.events.len() as u32 {
            if row % 256 == 0 && self.budget.stop().is_some() {
                return;
            }
            self.now = EventId(row);
            let Some(event) = self.run.events.get(self.now) else {
                continue;
            };
            self.turn(event.thread);
        }
        self.now = EventId(u32::MAX);
        for row in 0..self.threads.len() {
            let id = ThreadId(row as u16);
            if self
                .thread(id)
                .is_some_and(|thread| thread.state == BranchState::Followed)
            {
                self.go_on(id);
            }
        }
    }

    /// `true` if the program may write to an address although it did not: a variable that is not constant.
    fn may_change(&self, address: u64) -> bool {
        let base = self.memory.object(address).map(|object| object.base);
        base.is_some_and(|base| {
            self.debug_types.contains_key(&base)
                && !self.constants.contains(&base)
                && self.variables.contains(&base)
        })
    }

    /// Lets the thread take its turn with its next event.
    fn turn(&mut self, id: ThreadId) {
        let is_due =
            |this: &Self| this.thread(id).and_then(|thread| thread.next_event()) == Some(this.now);
        if !is_due(self) {
            return;
        }
        if self
            .thread(id)
            .is_some_and(|thread| thread.state == BranchState::Unborn)
        {
            let is_begin = self
                .peek(id)
                .is_some_and(|(_, row)| row.kind == EventKind::Begin);
            if is_begin {
                self.raw(id);
            }
            self.born(id);
            if is_begin {
                return self.settle(id);
            }
        }
        self.settle(id);
        if is_due(self)
            && let Some((_, row)) = self.peek(id)
            && self.regain(id, row)
        {
            self.settle(id);
        }
        while is_due(self)
            && let Some((_, row)) = self.peek(id)
            && self
                .thread(id)
                .is_some_and(|thread| thread.state == BranchState::Followed)
            && (self.points.get(row.point).is_some() || matches!(row.kind, EventKind::Failure))
        {
            if row.kind == EventKind::Failure {
                self.raw(id);
                self.fails_here(id);
                self.gone(id);
                return;
            }
            self.does_not_come(id, row);
            self.settle(id);
        }
        // The event of a library, or of a thread that is not followed, is used as recorded.
        if is_due(self) {
            self.attend(id);
            self.raw(id);
            self.leave_alone(id);
            self.settle(id);
        }
    }

    /// Handles a model that stands elsewhere when the thread's event comes.
    fn does_not_come(&mut self, id: ThreadId, row: Event) {
        let line = self.run.meta.site(row.site).line;
        let why = format!(
            "the run goes on with a {} at line {line}, the model does not",
            row.kind.name()
        );
        self.attend(id);
        self.is_wrong(id, &why);
        self.leave_alone(id);
    }

    fn settle(&mut self, id: ThreadId) {
        if self
            .thread(id)
            .is_some_and(|thread| thread.state == BranchState::Followed)
        {
            self.go_on(id);
        }
    }

    /// Lets `main` begin with the constructors of all units.
    fn prepare_main(&mut self) {
        let program = self.program;
        let mut todo = Vec::new();
        let mut constructors = Vec::new();
        for (unit, model) in program.units() {
            let list = model
                .globals
                .iter()
                .find(|global| global.name == "llvm.global_ctors");
            let rows = list.and_then(|list| match model.constant(list.initial?)? {
                Constant::Aggregate { elements, .. } => Some(elements.clone()),
                _ => None,
            });
            for row in rows.unwrap_or_default() {
                let Some(Val::List(items)) = self.constant(unit, row) else {
                    continue;
                };
                let priority = items.first().and_then(|item| item.scalar()?.bits);
                if let Some(function) = items.get(1).and_then(Val::scalar) {
                    constructors.push((priority, function));
                }
            }
        }
        constructors.sort_by_key(|(priority, _)| *priority);
        todo.extend(
            constructors
                .into_iter()
                .map(|(_, function)| Todo::Call(function, Vec::new())),
        );
        let main =
            program
                .units()
                .find_map(|(unit, _)| match program.definition(unit, "main")? {
                    Definition::Function(unit, function) => Some((unit, function)),
                    _ => None,
                });
        if let Some((unit, function)) = main
            && let Some(address) = self.function_address(unit, function)
        {
            let arguments = self.arguments();
            todo.push(Todo::Call(
                Scalar::address(&mut self.exprs, address),
                arguments,
            ));
            todo.push(Todo::Exit);
            self.begins(ThreadId(0), todo);
        }
    }

    /// `argc`, `argv`, `environ`, which are the same in every order.
    fn arguments(&mut self) -> Vec<Val> {
        let command = self.run.meta.command.clone();
        let size = 8 * command.len() as u64 + 8;
        let table = self
            .memory
            .allocate("argv".into(), size, memory::Fresh::Zero);
        for (row, word) in command.iter().enumerate() {
            let text = self.memory.allocate(
                format!("argv[{row}]"),
                word.len() as u64 + 1,
                memory::Fresh::Zero,
            );
            for (offset, byte) in word.bytes().enumerate() {
                let byte = Scalar::number(&mut self.exprs, byte.into(), 8);
                self.memory
                    .write(&mut self.exprs, text + offset as u64, 1, byte);
            }
            let text = Scalar::address(&mut self.exprs, text);
            self.memory
                .write(&mut self.exprs, table + 8 * row as u64, 8, text);
        }
        let environ = self
            .memory
            .allocate("environ".into(), 8, memory::Fresh::Unknown);
        vec![
            Scalar::number(&mut self.exprs, command.len() as u128, 32).into(),
            Scalar::address(&mut self.exprs, table).into(),
            Scalar::address(&mut self.exprs, environ).into(),
        ]
    }

    fn finish(mut self) -> Walked {
        self.name_the_bug();
        self.drop_freed_conditions();
        self.give_locks_back();
        // Steps of ways that were taken back have been done again later.
        self.order.sort_by_key(|(event, _)| *event);
        let stopped = self.budget.stop().unwrap_or(StopReason::Complete);
        let lost = self
            .threads
            .iter()
            .filter(|thread| thread.state == BranchState::Lost)
            .count();
        let all = self.threads.len();
        let words = self.words.take().unwrap_or_default();
        let trace = SymbolicTrace {
            exprs: self.exprs,
            symbols: self.symbols,
            objects: self.memory.objects().to_vec(),
            cells: self.made_cells,
            threads: self
                .threads
                .into_iter()
                .map(|thread| ThreadTrace {
                    steps: thread.steps,
                    path: thread.path,
                })
                .collect(),
            order: self.order.into_iter().map(|(_, step)| step).collect(),
            locals: words.locals,
            variables: words.variables,
            places: words.places,
            value_names: words.value_names,
            bug: self.bug,
            concretized: self.concretized.into_iter().collect(),
            gaps: self.gaps,
        };
        Walked {
            trace,
            followed: (all - lost, all),
            stopped,
        }
    }

    /// Derives the bug condition from the run's outcome where the threads' paths gave none.
    fn name_the_bug(&mut self) {
        if let Some((step, freed)) = self.after_free
            && (matches!(self.bug, Bug::Unknown(_)) || self.hangs_on_freed(step))
        {
            self.drop_condition();
            self.bug = Bug::AfterFree { step, freed };
            return;
        }
        if !matches!(self.bug, Bug::Unknown(_)) {
            return;
        }
        let kind = self.run.meta.failure.as_ref().map(|failure| failure.kind);
        match (self.run.meta.outcome, kind) {
            (Outcome::Deadlocked, _) | (_, Some(FailureKind::Deadlock)) => self.bug = Bug::Deadlock,
            (Outcome::TimedOut, _) => {
                self.bug = Bug::Unknown("the run did not end in time: what it waits for is no condition that can be read back\n  next: look at where its threads stand at the end".into());
            }
            (outcome, _) if outcome.is_failure() && self.bug == Bug::default() => {
                self.bug = Bug::Unknown("the thread that failed could not be followed to the failure\n  next: the gaps say where it was lost".into());
            }
            _ => {}
        }
    }

    /// Removes conditions on the content of freed blocks, since no write explains it.
    fn drop_freed_conditions(&mut self) {
        if !matches!(self.bug, Bug::AfterFree { .. }) || self.reads_freed.is_empty() {
            return;
        }
        let always = self.exprs.number(1, 1);
        let steps = self.threads.iter_mut().flat_map(|it| &mut it.steps);
        for step in steps {
            let Action::Assume(condition) = step.action else {
                continue;
            };
            let symbols = self.exprs.symbols(condition);
            let mut symbols = symbols.iter().filter_map(|id| self.symbols.get(id.index()));
            let is_freed = |origin| match origin {
                SymbolOrigin::Read(step) => self.reads_freed.contains(&step),
                SymbolOrigin::Outside { .. } => false,
            };
            if symbols.any(|symbol| is_freed(symbol.origin)) {
                step.action = Action::Assume(always);
            }
        }
    }

    /// Removes the step that assumes the bug condition, the last one of its thread.
    fn drop_condition(&mut self) {
        let Bug::Condition { step, .. } = self.bug else {
            return;
        };
        let steps = self
            .threads
            .get_mut(step.thread.index())
            .map(|thread| &mut thread.steps);
        if let Some(steps) = steps.filter(|steps| steps.len() == step.index as usize + 1) {
            steps.pop();
            self.order.retain(|(_, other)| *other != step);
            self.unsays(step);
        }
    }

    /// `true` if the run failed because of a value that this step read from a freed block; no write explains
    /// that value.
    fn hangs_on_freed(&self, step: StepId) -> bool {
        let Bug::Condition { condition, .. } = self.bug else {
            return false;
        };
        let symbols = self.exprs.symbols(condition);
        let mut origins = symbols
            .iter()
            .filter_map(|symbol| self.symbols.get(symbol.index()));
        origins.any(|symbol| symbol.origin == SymbolOrigin::Read(step))
    }

    /// Releases locks that threads held when the run ended, after all other steps ([symbiosis], section 4.2).
    fn give_locks_back(&mut self) {
        if self.bug == Bug::Deadlock {
            return;
        }
        for row in 0..self.threads.len() {
            let id = ThreadId(row as u16);
            let (held, site) = self
                .threads
                .get(row)
                .map_or((Vec::new(), Default::default()), |thread| {
                    (thread.held.clone(), thread.site)
                });
            for (object, is_shared) in held.into_iter().rev() {
                self.step(id, None, site, Action::Release { object, is_shared });
            }
        }
    }
}
