//! Where a thread of the run stands in the program.

use super::{
    choices::{Assumed, Choice},
    memory::Change,
    value::{Scalar, Val},
};
use crate::symbolic::{
    expr::{ExprId, SymbolId},
    path::PathNode,
    trace::{CellId, Concretized, Step, StepId},
};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use unsnarl_trace::{
    EventId, LocationId, SiteId, ThreadId,
    program::{BlockId, FunctionId, UnitId},
};

/// A function that is being run.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub unit: UnitId,
    pub function: FunctionId,
    pub values: Vec<Option<Val>>,
    pub block: BlockId,
    /// The block that was run before this one.
    pub came_from: BlockId,
    /// The instruction: index into the function's.
    pub at: u32,
    /// How far the call that is under way has come; calls that take several events count here.
    pub stage: u32,
    /// Arguments beyond the parameters.
    pub more: Vec<Val>,
    /// Branches that were taken here.
    pub decisions: Vec<Decision>,
    /// What was thrown, while the frame cleans up or catches it.
    pub thrown: Option<Thrown>,
    /// The branch that decided that this was called: index into the thread's path.
    pub guard: Option<u32>,
    /// The branch that each block took last: index into the thread's path.
    pub branches: FxHashMap<BlockId, u32>,
}

/// A branch that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    pub block: BlockId,
    pub taken: BlockId,
    /// The way that was not taken; the taken one again for a switch.
    pub other: BlockId,
    /// 1 for the way that was taken.
    pub condition: ExprId,
    /// The same over variables.
    pub said: ExprId,
    /// The step that assumes it; `None` when it is always so.
    pub step: Option<StepId>,
}

/// An exception on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thrown {
    /// The object.
    pub object: Scalar,
    /// Address of its type.
    pub class: u64,
}

/// What a thread is at.
#[derive(Clone, Debug)]
pub(super) enum Activity {
    /// A function of the program.
    Code(Box<Frame>),
    /// Something of a library, which calls functions of the program.
    Native(VecDeque<Todo>),
}

/// A step of a library.
#[derive(Clone, Debug)]
pub(super) enum Todo {
    /// Calls a function of the program.
    Call(Scalar, Vec<Val>),
    /// Ends a once-only initialization.
    OnceEnd,
    /// The thread has ended.
    End,
    /// `main` has returned: what was put down for the exit is called.
    Exit,
    /// The thread cannot be followed any more: it is not known who called.
    Lost,
    /// Gives this to whoever called.
    Return(Option<Val>),
}

/// An access that a callback has told of and that the next instructions do.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub address: u64,
    pub size: u64,
    pub is_write: bool,
    /// What was read.
    pub chunks: Vec<Chunk>,
    /// The rows of a write.
    pub rows: Vec<EventId>,
    /// What was written of it: address and size.
    pub done: Vec<(u64, u8)>,
}

/// Bytes of an access, at most 16.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub offset: u64,
    pub size: u8,
    pub value: Scalar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// Its first event has not come.
    #[default]
    Unborn,
    /// It is followed.
    Followed,
    /// It has ended.
    Ended,
    /// It cannot be followed any more: only its events are known.
    Lost,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub id: ThreadId,
    pub state: State,
    pub stack: Vec<Activity>,
    /// Its events.
    pub events: Vec<EventId>,
    /// How many of them have been used.
    pub used: usize,
    /// What it begins with, once somebody has created it.
    pub begin: VecDeque<Todo>,
    pub announced: Vec<Announced>,
    pub steps: Vec<Step>,
    /// The steps and what happened between them, where paths are kept.
    pub path: Vec<PathNode>,
    /// What is known to hold from an earlier step of the thread on.
    pub assumed: Assumed,
    /// Locks that it holds, in the order in which it took them; true: shared.
    pub held: Vec<(LocationId, bool)>,
    /// Where it was last.
    pub site: SiteId,
    /// Instructions since its last event.
    pub idle: u64,
    /// What its first function returned.
    pub result: Option<Scalar>,
    /// Exceptions that it is handling.
    pub caught: Vec<Thrown>,
    /// The last branch that depended on something unknown.
    pub last_branch: Option<Decision>,
    /// What it calls when it ends, in the order in which it was put down.
    pub at_exit: Vec<(Scalar, Vec<Val>)>,
    /// Branches shortly before that it may have taken otherwise.
    pub choices: Vec<Choice>,
    /// The way that it takes at the branch that it was taken back to.
    pub way: Option<usize>,
    /// What it has changed in memory since the first choice.
    pub changes: Vec<Change>,
    /// Values that were learned since the first choice, and what was known of them before.
    pub learned: Vec<(SymbolId, Option<u128>)>,
    /// What was concretized since the first choice.
    pub noted: Vec<Concretized>,
    /// What cells held before it wrote them, since the first choice.
    pub cells: Vec<(CellId, Option<Scalar>)>,
    /// Instructions on all ways that were tried since it came farther than ever.
    pub effort: u64,
    /// How many of its events have been used on the way that came farthest.
    pub farthest: usize,
    /// Calls of functions of which nothing is known.
    pub strange_calls: u32,
}

impl Thread {
    pub fn frame(&self) -> Option<&Frame> {
        match self.stack.last()? {
            Activity::Code(frame) => Some(frame),
            Activity::Native(_) => None,
        }
    }

    pub fn frame_mut(&mut self) -> Option<&mut Frame> {
        match self.stack.last_mut()? {
            Activity::Code(frame) => Some(frame),
            Activity::Native(_) => None,
        }
    }

    /// The last of its events that was used.
    pub fn last_event(&self) -> EventId {
        let last = self.used.checked_sub(1).and_then(|at| self.events.get(at));
        last.copied().unwrap_or_default()
    }

    /// The next of its events that was not used.
    pub fn next_event(&self) -> Option<EventId> {
        self.events.get(self.used).copied()
    }

    pub fn next_step(&self) -> StepId {
        StepId {
            thread: self.id,
            index: self.steps.len() as u32,
        }
    }
}
