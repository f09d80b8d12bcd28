//! Choices: a branch on a value that was not recorded is tried one way, and taken back when the thread does
//! not meet its next event on it.

use super::{
    machine::{InstructionResult, PathMachine},
    thread::WalkedThread,
    value::Scalar,
};
use crate::{
    expr::ExprId,
    trace::{Bug, CellId, Concretized, StepId, SymbolOrigin},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{SiteId, ThreadId, program::BlockId};

/// Bound on the choices of a thread from one event to the next on one way.
const DEEPEST: usize = 64;
/// Bound on the instructions of a thread from one event to the next, over all ways that are tried.
const MOST_EFFORT: u64 = 1_000_000;
/// Bound on the instructions to the next event on one way.
const FARTHEST: u64 = 200_000;
/// Number of events of a thread after which a choice is no longer taken back.
const EVENTS: usize = 64;

/// Conditions known to hold, in the order in which they were assumed.
#[derive(Clone, Debug, Default)]
pub(super) struct Assumed {
    list: Vec<ExprId>,
    set: FxHashSet<ExprId>,
}

impl Assumed {
    /// Adds a condition; `false` if it was known already.
    pub fn insert(&mut self, holds: ExprId) -> bool {
        let is_new = self.set.insert(holds);
        if is_new {
            self.list.push(holds);
        }
        is_new
    }

    fn cut(&mut self, length: usize) {
        for holds in self.list.drain(length.min(self.list.len())..) {
            self.set.remove(&holds);
        }
    }
}

/// A branch with ways left to try, and the thread's state at the branch.
#[derive(Clone, Debug)]
pub(super) struct OpenBranch {
    /// The ways left, the one to try next at the end.
    left: Vec<usize>,
    /// The thread without its long lists, which only grow: their lengths are kept.
    thread: Box<WalkedThread>,
    steps: usize,
    path: usize,
    assumed: usize,
    changes: usize,
    learned: usize,
    noted: usize,
    cells: usize,
    symbols: usize,
    bug: Bug,
    after_free: Option<(StepId, StepId)>,
}

impl WalkedThread {
    /// A copy of the thread's state without its long lists.
    fn bare(&mut self) -> WalkedThread {
        let steps = std::mem::take(&mut self.steps);
        let path = std::mem::take(&mut self.path);
        let events = std::mem::take(&mut self.events);
        let assumed = std::mem::take(&mut self.assumed);
        let choices = std::mem::take(&mut self.choices);
        let learned = std::mem::take(&mut self.learned);
        let noted = std::mem::take(&mut self.noted);
        let cells = std::mem::take(&mut self.cells);
        let bare = self.clone();
        (self.steps, self.events, self.assumed) = (steps, events, assumed);
        (self.choices, self.learned, self.path) = (choices, learned, path);
        (self.noted, self.cells) = (noted, cells);
        bare
    }
}

impl PathMachine<'_> {
    /// The way to take at the current branch, among those that may lead to the thread's next event, the
    /// nearest first. `None` when none leads to a recorded event.
    pub fn choose(&mut self, id: ThreadId, ways: &[BlockId]) -> Result<Option<usize>, String> {
        if let Some(way) = self.thread_mut(id).and_then(|thread| thread.way.take()) {
            return Ok(Some(way));
        }
        if self.peek(id).is_none() {
            return Ok(None);
        }
        let mut fitting = self.fitting(id, ways);
        let (_, way) = fitting
            .pop()
            .ok_or("which way it went is not known, and none leads to its next event")?;
        // Ways to one block are one way.
        fitting.retain(|(_, other)| ways.get(*other) != ways.get(way));
        if !fitting.is_empty() {
            if self.is_deep(id) {
                return Err(
                    "what nobody recorded decides too many branches up to its next event".into(),
                );
            }
            let left = fitting.into_iter().map(|(_, way)| way).collect();
            self.keep(id, left);
        }
        Ok(Some(way))
    }

    /// `true` if the thread has made too many choices since its last event.
    fn is_deep(&self, id: ThreadId) -> bool {
        self.thread(id).is_some_and(|thread| {
            let choices = thread.choices.iter().rev();
            let since = choices.take_while(|choice| choice.thread.used == thread.used);
            since.count() >= DEEPEST
        })
    }

    /// The ways that may lead to the next event with their distances, the nearest last.
    fn fitting(&self, id: ThreadId, ways: &[BlockId]) -> Vec<(usize, usize)> {
        let goal = self
            .peek(id)
            .and_then(|(_, row)| self.points.get(row.point));
        let here = self.spot(id);
        let far = |to: BlockId| match (goal, here) {
            (Some(goal), Some((unit, function, _))) => {
                self.leads_to(id, (unit, function), to, goal)
            }
            // Of a library, or the thread's end: no way is nearer than another.
            _ => Some(0),
        };
        let ways = ways.iter().enumerate();
        let mut fitting: Vec<(usize, usize)> = ways
            .filter_map(|(row, to)| Some((far(*to)?, row)))
            .collect();
        fitting.sort_by(|a, b| b.cmp(a));
        fitting
    }

    fn keep(&mut self, id: ThreadId, left: Vec<usize>) {
        let (bug, after_free, symbols) = (self.bug.clone(), self.after_free, self.symbols.len());
        let changes = self.memory.journal.get_or_insert_default().len();
        let Some(thread) = self.thread_mut(id) else {
            return;
        };
        let bare = thread.bare();
        thread.choices.push(OpenBranch {
            left,
            steps: thread.steps.len(),
            path: thread.path.len(),
            assumed: thread.assumed.list.len(),
            changes,
            learned: thread.learned.len(),
            noted: thread.noted.len(),
            cells: thread.cells.len(),
            thread: Box::new(bare),
            symbols,
            bug,
            after_free,
        });
    }

    /// Restores the thread to its last choice with an untried way. False when there is none.
    fn back(&mut self, id: ThreadId) -> bool {
        let Some(thread) = self.thread_mut(id) else {
            return false;
        };
        let last = thread.choices.pop();
        let Some(mut choice) = last.filter(|_| thread.effort <= MOST_EFFORT) else {
            return false;
        };
        let way = choice.left.pop();
        let again = (!choice.left.is_empty()).then(|| choice.clone());
        let mut now = *choice.thread;
        std::mem::swap(&mut now, thread);
        thread.steps = now.steps;
        thread.steps.truncate(choice.steps);
        thread.path = now.path;
        thread.path.truncate(choice.path);
        thread.assumed = now.assumed;
        thread.assumed.cut(choice.assumed);
        thread.events = now.events;
        thread.choices = now.choices;
        thread.choices.extend(again);
        (thread.way, thread.effort, thread.farthest) = (way, now.effort, now.farthest);
        let learned = now.learned.split_off(choice.learned.min(now.learned.len()));
        let noted = now.noted.split_off(choice.noted.min(now.noted.len()));
        let cells = now.cells.split_off(choice.cells.min(now.cells.len()));
        (thread.learned, thread.noted, thread.cells) = (now.learned, now.noted, now.cells);
        for (symbol, before) in learned.into_iter().rev() {
            if let Some(symbol) = self.symbols.get_mut(symbol.index()) {
                symbol.recorded = before;
            }
        }
        for noted in noted {
            self.concretized.remove(&noted);
        }
        for (cell, before) in cells.into_iter().rev() {
            match before {
                Some(before) => self.cell_holds.insert(cell, before),
                None => self.cell_holds.remove(&cell),
            };
        }
        self.forget_steps(id, choice.steps, choice.symbols);
        (self.bug, self.after_free) = (choice.bug, choice.after_free);
        let mut journal = self.memory.journal.take().unwrap_or_default();
        let changes = journal.split_off(choice.changes.min(journal.len()));
        self.memory.take_back(changes.into_iter());
        self.memory.journal = Some(journal);
        true
    }

    /// Removes the thread's steps from this one on; symbols made since no longer have them as their origin.
    fn forget_steps(&mut self, id: ThreadId, steps: usize, symbols: usize) {
        let is_gone = |step: &StepId| step.thread == id && step.index as usize >= steps;
        self.order.retain(|(_, step)| !is_gone(step));
        for symbol in self.symbols.iter_mut().skip(symbols) {
            if let SymbolOrigin::Read(step) = symbol.origin
                && is_gone(&step)
            {
                symbol.origin = SymbolOrigin::Outside {
                    thread: id,
                    site: SiteId(0),
                };
            }
        }
    }

    /// Commits choices made long before, once the thread has met its next event.
    pub fn comes_on(&mut self, id: ThreadId) {
        let Some(thread) = self.thread_mut(id) else {
            return;
        };
        if thread.used > thread.farthest {
            (thread.farthest, thread.effort) = (thread.used, 0);
        }
        let is_old = |choice: &OpenBranch| choice.thread.used + EVENTS < thread.used;
        let old = thread.choices.iter().take_while(|it| is_old(it)).count();
        thread.choices.drain(..old);
        if thread.choices.is_empty() {
            self.chose_right(id);
        }
    }

    /// Commits all choices of the thread.
    pub fn chose_right(&mut self, id: ThreadId) {
        self.memory.journal = None;
        if let Some(thread) = self.thread_mut(id) {
            thread.choices.clear();
            thread.changes.clear();
            thread.learned.clear();
            thread.noted.clear();
            thread.cells.clear();
            (thread.effort, thread.way) = (0, None);
        }
    }

    /// Notes the value that a cell holds from here on.
    pub fn holds_now(&mut self, id: ThreadId, cell: CellId, value: Scalar) {
        let before = self.cell_holds.insert(cell, value);
        if let Some(thread) = self.thread_mut(id).filter(|it| !it.choices.is_empty()) {
            thread.cells.push((cell, before));
        }
    }

    /// Starts to journal memory changes for this thread.
    pub fn attend(&mut self, id: ThreadId) {
        let thread = self.thread_mut(id).filter(|it| !it.choices.is_empty());
        let changes = thread.map(|thread| std::mem::take(&mut thread.changes));
        self.memory.journal = changes;
    }

    /// Stops journalling memory changes for this thread.
    pub fn leave_alone(&mut self, id: ThreadId) {
        let changes = self.memory.journal.take().unwrap_or_default();
        if let Some(thread) = self.thread_mut(id) {
            thread.changes = changes;
        }
    }

    /// Counts an instruction on a way that may be wrong; `true` when the way has become too long.
    pub fn is_astray(&mut self, id: ThreadId) -> bool {
        let thread = self.thread_mut(id).filter(|it| !it.choices.is_empty());
        thread.is_some_and(|thread| {
            thread.effort += 1;
            thread.effort > MOST_EFFORT || thread.idle > FARTHEST
        })
    }

    /// Handles a thread that does not reach its next event in the model: restores its last choice, or loses
    /// the thread when it has none.
    pub fn is_wrong(&mut self, id: ThreadId, why: &str) -> InstructionResult {
        if self.back(id) {
            return InstructionResult::On;
        }
        self.lose(id, why);
        InstructionResult::Stop
    }

    /// Notes a value that was fixed to its recorded number.
    pub fn concretize(&mut self, id: ThreadId, one: Concretized) {
        if self.concretized.insert(one.clone())
            && let Some(thread) = self.thread_mut(id).filter(|it| !it.choices.is_empty())
        {
            thread.noted.push(one);
        }
    }
}
