//! Runs in path mode: branches follow the recorded path, accesses are steps without a recorded value.
//!
//! The threads are followed in the order of their synchronization, each from one of its events to its next
//! without another in between. Memory then holds only a guess, which serves for addresses and never for
//! branches.

use super::{
    Walked,
    access::By,
    calls::{Did, MadeCall},
    machine::{InstructionResult, PathMachine},
    memory::Fresh,
    plan::SharedPiece,
    points::{PointInstructions, Spot},
    sites::SitesByName,
    thread::{BranchState, TakenBranch, WalkedThread},
    value::Scalar,
};
use crate::{
    expr::{Binary, Comparison},
    trace::{Action, StepId},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_core::Budget;
use unsnarl_trace::{
    Event, EventId, EventKind, Events, Location, LocationId, PathStep, Run, SiteId, SiteRow,
    ThreadId, Value,
    program::{BlockId, FunctionId, Op, Program, SwitchCase, UnitId},
};

/// Bound on the instructions searched for the block that a path enters next.
const MOST_LOOKED_AT: usize = 4000;

/// A run of path mode as expressions, and as events.
#[derive(Clone, Debug)]
pub struct WalkedPaths {
    /// The run with an event for each access that its threads must have made; the order between threads and
    /// the values are unknown. Events and sites of the steps refer to this run.
    pub run: Run,
    /// The steps; no symbol has a recorded value.
    pub walked: Walked,
}

/// Remaining paths of the threads, and the events made so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    threads: Vec<ThreadPath>,
    rows: Vec<Event>,
    /// Rows of the run's own events, by their ids there.
    moved: FxHashMap<EventId, EventId>,
    /// Synchronization steps that have no event in the run.
    untold: Vec<(StepId, EventId)>,
}

#[derive(Clone, Debug, Default)]
struct ThreadPath {
    /// The first instructions of the blocks that were entered.
    blocks: Vec<Spot>,
    at: usize,
}

impl ThreadPath {
    fn next(&self) -> Option<Spot> {
        self.blocks.get(self.at).copied()
    }

    fn last(&self) -> Option<Spot> {
        self.blocks.get(self.at.checked_sub(1)?).copied()
    }
}

/// Follows the threads of a run of path mode along their paths. `None` when there is no model of the program.
/// Linear in the executed instructions.
pub fn walk_paths(run: &Run, program: &Program, budget: &Budget) -> Option<WalkedPaths> {
    let points = PointInstructions::new(&run.meta, program);
    if program.is_empty() || points.are_unknown() {
        return None;
    }
    let mut run = run.clone();
    name_places(&mut run, program, &points);
    let sites = SitesByName::new(&run.meta);
    let paths = Paths::of(&run, &points);
    let follow = |shared| {
        let mut machine = PathMachine::new((&run, program), (&points, &sites), shared, budget);
        machine.is_first = shared.is_empty();
        machine.paths = Some(paths.clone());
        machine.follow_all();
        machine
    };
    let first = follow(&[]);
    let shared: Vec<SharedPiece> = first.uses.shared(|_| false);
    drop(first);
    let mut second = follow(&shared);
    second.is_first = false;
    let Paths {
        rows,
        moved,
        untold,
        ..
    } = second.paths.take().unwrap_or_default();
    let mut walked = second.finish();
    let threads = &mut walked.trace.threads;
    for step in threads.iter_mut().flat_map(|thread| &mut thread.steps) {
        if matches!(step.action, Action::Sync { .. }) {
            step.event = step.event.and_then(|event| moved.get(&event).copied());
        }
    }
    for (id, event) in untold {
        let steps = threads.get_mut(id.thread.index()).map(|it| &mut it.steps);
        if let Some(step) = steps.and_then(|steps| steps.get_mut(id.index as usize)) {
            step.event = Some(event);
        }
    }
    run.events = Events::from_rows(&rows);
    Some(WalkedPaths { run, walked })
}

/// Adds the places of the model's instructions to the run's sites, for the functions that it was in.
fn name_places(run: &mut Run, program: &Program, points: &PointInstructions) {
    let names = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let sites = run.meta.sites.iter();
    let files: FxHashMap<String, String> = sites
        .map(|site| (names(&site.file), site.file.clone()))
        .collect();
    let known = run.meta.sites.iter();
    let mut known: FxHashSet<(String, u32, u32)> = known
        .map(|site| (names(&site.file), site.line, site.column))
        .collect();
    for (unit, function) in points.functions() {
        let (Some(unit), Some(code)) = (program.unit(unit), program.function(unit, function))
        else {
            continue;
        };
        for instruction in &code.instructions {
            let place = unit.place(instruction.place);
            let file = names(unit.file(place));
            if place.line == 0 || !known.insert((file.clone(), place.line, place.column)) {
                continue;
            }
            run.meta.sites.push(SiteRow {
                file: files.get(&file).cloned().unwrap_or(file),
                line: place.line,
                column: place.column,
                function: unit.function_name(place).to_owned(),
                ..SiteRow::default()
            });
        }
    }
}

impl Paths {
    fn of(run: &Run, points: &PointInstructions) -> Paths {
        let rows = run.meta.threads.len() as u16;
        let path = |row| {
            let steps = run.meta.path(ThreadId(row)).map(|path| path.steps());
            let spot = |step| match step {
                PathStep::Block(block) => points.get(run.meta.blocks.get(block)?.point),
                PathStep::Event => None,
            };
            ThreadPath {
                blocks: steps.into_iter().flatten().filter_map(spot).collect(),
                at: 0,
            }
        };
        Paths {
            threads: (0..rows).map(path).collect(),
            ..Paths::default()
        }
    }

    fn push(&mut self, event: Event) -> EventId {
        let id = EventId(self.rows.len() as u32);
        let seq = u64::from(id.0) + 1;
        self.rows.push(Event { seq, ..event });
        id
    }
}

impl PathMachine<'_> {
    fn path_mut(&mut self, id: ThreadId) -> Option<&mut ThreadPath> {
        self.paths.as_mut()?.threads.get_mut(id.index())
    }

    fn path(&self, id: ThreadId) -> Option<&ThreadPath> {
        self.paths.as_ref()?.threads.get(id.index())
    }

    /// `true` while the thread's recorded path has not ended.
    pub fn has_path(&self, id: ThreadId) -> bool {
        self.path(id).is_some_and(|path| path.next().is_some())
    }

    /// Advances the path to an instruction that the thread has reached.
    pub fn passes(&mut self, id: ThreadId, spot: Option<Spot>) {
        if let Some(path) = self.path_mut(id)
            && path.next() == spot
            && spot.is_some()
        {
            path.at += 1;
        }
    }

    /// The way that the thread's path takes at its current branch; `None` when the path ends here.
    pub fn way_of_path(&mut self, id: ThreadId, ways: &[BlockId]) -> Result<Option<usize>, String> {
        let here = self.spot(id).ok_or("no function")?;
        loop {
            let Some(goal) = self.path(id).and_then(ThreadPath::next) else {
                return Ok(None);
            };
            if goal != here {
                let near = ways.iter().enumerate().filter_map(|(row, to)| {
                    let far = self.straight((here.0, here.1), *to, goal)?;
                    Some((far, row))
                });
                if let Some((_, row)) = near.min() {
                    return Ok(Some(row));
                }
            }
            // Machine code may cut an instruction in several blocks.
            let again = self.path(id).and_then(ThreadPath::last) == Some(goal);
            if goal == here || again || self.is_behind(id, here, goal) {
                self.path_mut(id).into_iter().for_each(|path| path.at += 1);
                continue;
            }
            return self.only_way(id, ways, goal).map(Some);
        }
    }

    fn is_behind(&self, id: ThreadId, here: Spot, goal: Spot) -> bool {
        let from = self
            .code(id)
            .zip(self.frame(id))
            .and_then(|((_, code), frame)| Some(code.blocks.get(frame.block.index())?.from));
        (goal.0, goal.1) == (here.0, here.1)
            && from.is_some_and(|from| from <= goal.2 && goal.2 < here.2)
    }

    fn only_way(&self, id: ThreadId, ways: &[BlockId], goal: Spot) -> Result<usize, String> {
        let (unit, function, _) = self.spot(id).ok_or("no function")?;
        let mut fitting = ways
            .iter()
            .enumerate()
            .filter(|(_, to)| self.leads_to(id, (unit, function), **to, goal).is_some());
        match (fitting.next(), fitting.next()) {
            (Some((row, _)), None) => Ok(row),
            (None, _) => Err("the recorded path goes where the model does not".into()),
            _ => Err("the recorded path does not show which way it went".into()),
        }
    }

    /// Distance in instructions from the start of a block to the path's next instruction, without a branch in
    /// between.
    fn straight(&self, home: (UnitId, FunctionId), to: BlockId, goal: Spot) -> Option<usize> {
        let code = self.program.function(home.0, home.1)?;
        let mut at = code.blocks.get(to.index())?.from;
        for far in 0..MOST_LOOKED_AT {
            if (home.0, home.1, at) == goal {
                return Some(far);
            }
            match &code.instructions.get(at as usize)?.op {
                Op::Jump(next) => at = code.blocks.get(next.index())?.from,
                Op::Branch { .. } | Op::Switch { .. } | Op::IndirectJump { .. } => return None,
                Op::Return(_) | Op::Resume(_) | Op::Unreachable => return None,
                Op::Call { callee, normal, .. } => {
                    let name = self.callee_name(home.0, *callee);
                    let calls =
                        name.and_then(|name| self.points.function(self.program, home.0, name));
                    // A function of the program is entered before anything behind its call.
                    if name.is_none() || calls.is_some() {
                        let enters = match calls {
                            Some(callee) => callee == (goal.0, goal.1),
                            None => home != (goal.0, goal.1),
                        };
                        return enters.then_some(far);
                    }
                    at = match normal {
                        Some(normal) => code.blocks.get(normal.index())?.from,
                        None => at + 1,
                    };
                }
                _ => at += 1,
            }
        }
        None
    }

    /// An access of the thread that has no event in the run.
    pub fn by_access(&mut self, id: ThreadId, address: u64, size: u64, kind: EventKind) -> By {
        let by = self.by(id, None);
        let object = self.memory.object(address);
        let is_stack = object.is_some_and(|object| Location::of(&object.name).is_on_stack());
        let is_constant = object.is_some_and(|object| self.constants.contains(&object.base));
        if (is_stack && !self.is_shared(address)) || is_constant {
            return by;
        }
        let Some(paths) = &mut self.paths else {
            return by;
        };
        let event = paths.push(row(id, kind, by.site, size as u32));
        By {
            event: Some(event),
            ..by
        }
    }

    fn is_shared(&self, address: u64) -> bool {
        let end = |piece: &SharedPiece| piece.address.saturating_add(piece.size.into());
        let at = self.shared.partition_point(|piece| end(piece) <= address);
        self.shared
            .get(at)
            .is_some_and(|piece| piece.address <= address)
    }

    /// Makes a heap block whose allocation has no event in the run.
    pub fn block_of_path(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let number = |row: usize| made.argument(row).and_then(|size| size.bits);
        let size = match made.name {
            "malloc" | "valloc" => number(0),
            "calloc" => number(0).zip(number(1)).map(|(count, size)| count * size),
            "aligned_alloc" | "memalign" => number(1),
            name if name.starts_with("_Zn") => number(0),
            // Their copied data is not followed.
            _ => return Ok(Did::Strange),
        };
        let size = size.ok_or("the size of a block is not known")?;
        let site = self.run.meta.site(self.here(id));
        let thread = &self.run.meta.thread(id).name;
        let file = site.file.rsplit('/').next().unwrap_or_default();
        let name = format!("heap({file}:{} by {thread})", site.line);
        let size = u64::try_from(size).map_err(|_| "a block is too large")?;
        // As in the exact build, where the runtime clears new blocks.
        let base = self.memory.allocate(name, size, Fresh::Zero);
        Ok(Did::Value(Some(
            Scalar::address(&mut self.exprs, base).into(),
        )))
    }

    /// The thread that was created at this position without an event, since the run ended before; its step.
    pub fn untold_child(&mut self, id: ThreadId) -> Option<ThreadId> {
        let is_end = self.paths.is_some() && self.peek(id).is_none() && !self.has_path(id);
        let parent = &self.run.meta.thread(id).name;
        let is_child = |child: &&WalkedThread| {
            let name = &self.run.meta.thread(child.id).name;
            let number = name.strip_prefix(parent.as_str());
            let number = number.and_then(|rest| rest.strip_prefix('.'));
            let is_untold = child.state == BranchState::Unborn && child.begin.is_empty();
            is_untold && !child.events.is_empty() && number.is_some_and(|it| !it.contains('.'))
        };
        let child = self.threads.iter().filter(|_| is_end).find(is_child)?.id;
        let (site, value) = (self.here(id), u64::from(child.0));
        let row = Event {
            value: Some(Value::Bits(value)),
            ..row(id, EventKind::Fork, site, 0)
        };
        let event = self.paths.as_mut()?.push(row);
        let object = LocationId(0);
        let kind = EventKind::Fork;
        let action = Action::Sync {
            kind,
            object,
            value,
        };
        let step = self.step(id, None, site, action);
        self.paths.as_mut()?.untold.push((step, event));
        Some(child)
    }

    /// Carries an event of the run over to the new rows.
    pub fn moves_event(&mut self, event: EventId) {
        let row = self.run.events.get(event);
        if let Some((row, paths)) = row.zip(self.paths.as_mut()) {
            let id = paths.push(row);
            paths.moved.insert(event, id);
        }
    }

    /// Takes a switch along the thread's path.
    pub fn switch_of_path(
        &mut self,
        id: ThreadId,
        value: Scalar,
        cases: &[SwitchCase],
        default: BlockId,
    ) -> Result<InstructionResult, String> {
        let ways: Vec<BlockId> = cases.iter().map(|case| case.to).chain([default]).collect();
        let Some(way) = self.way_of_path(id, &ways)? else {
            return Ok(self.path_is_over(id));
        };
        let taken = *ways.get(way).ok_or("no such way")?;
        let width = self.exprs.width(value.expr);
        // The value is one of those that lead there, or none of those that lead elsewhere.
        let mut condition = Scalar::number(&mut self.exprs, u128::from(taken == default), 1);
        for case in cases
            .iter()
            .filter(|case| (case.to == taken) != (taken == default))
        {
            let number = Scalar::number(&mut self.exprs, case.bits, width);
            let is = value.compare(&mut self.exprs, Comparison::Eq, number);
            condition = match taken == default {
                true => {
                    let not = is.not(&mut self.exprs);
                    condition.binary(&mut self.exprs, Binary::And, not)
                }
                false => condition.binary(&mut self.exprs, Binary::Or, is),
            };
        }
        condition.bits = Some(1);
        let step = self.assume(id, condition);
        let block = BlockId(0);
        let (other, said, condition) = (taken, condition.said, condition.expr);
        self.decided(
            id,
            TakenBranch {
                block,
                taken,
                other,
                condition,
                said,
                step,
            },
        );
        self.jump(id, taken)
    }

    /// Ends the thread before a branch that its path does not cover.
    pub fn path_is_over(&mut self, id: ThreadId) -> InstructionResult {
        if self.peek(id).is_some() {
            self.lose(id, "its path ends before its events do");
        } else if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Ended;
            thread.stack.clear();
        }
        InstructionResult::Stop
    }
}

/// Makes an event that the run does not have.
fn row(thread: ThreadId, kind: EventKind, site: SiteId, size: u32) -> Event {
    Event {
        seq: 0,
        thread,
        kind,
        site,
        location: LocationId(0),
        size,
        flags: 0,
        value: None,
        old: None,
        stack: Default::default(),
        point: Default::default(),
    }
}
