//! The state of a thread that is followed: frames, activities, choices.

use super::{
    choices::{Assumed, OpenBranch},
    memory::MemoryChange,
    value::{Scalar, Val},
};
use crate::{
    expr::{ExprId, SymbolId},
    path::PathNode,
    trace::{CellId, Concretized, StepId, SymbolicStep},
};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use unsnarl_trace::{
    EventId, LocationId, SiteId, ThreadId,
    program::{BlockId, FunctionId, UnitId},
};

/// Frame of an active function.
#[derive(Clone, Debug)]
pub(super) struct FunctionFrame {
    pub unit: UnitId,
    pub function: FunctionId,
    pub values: Vec<Option<Val>>,
    pub block: BlockId,
    /// The predecessor of the current block in this activation.
    pub came_from: BlockId,
    /// The instruction, as an index into the function's.
    pub at: u32,
    /// Progress of the current call, counted by calls that take several events.
    pub stage: u32,
    /// The value that a call has found and not yet written, and its result.
    pub pending: Option<(Scalar, Scalar)>,
    /// Arguments beyond the parameters.
    pub more: Vec<Val>,
    /// Branches that were taken here.
    pub decisions: Vec<TakenBranch>,
    /// The exception in flight, while the frame cleans up or handles it.
    pub thrown: Option<Thrown>,
    /// The branch that the call is control dependent on: index into the thread's path.
    pub guard: Option<u32>,
    /// The last branch of each block: index into the thread's path.
    pub branches: FxHashMap<BlockId, u32>,
}

/// A branch that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenBranch {
    pub block: BlockId,
    pub taken: BlockId,
    /// The way that was not taken; the taken one again for a switch.
    pub other: BlockId,
    /// The condition that is 1 for the way taken.
    pub condition: ExprId,
    /// The condition over variables.
    pub said: ExprId,
    /// The step that assumes the condition; `None` when it always holds.
    pub step: Option<StepId>,
}

/// An exception in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thrown {
    /// The exception object.
    pub object: Scalar,
    /// Address of its type information.
    pub class: u64,
}

/// An activation on a thread's stack.
#[derive(Clone, Debug)]
pub(super) enum Activity {
    /// A function of the program.
    Code(Box<FunctionFrame>),
    /// A library function, which calls functions of the program.
    Native(VecDeque<Todo>),
}

/// A pending step of a library function.
#[derive(Clone, Debug)]
pub(super) enum Todo {
    /// Calls a function of the program.
    Call(Scalar, Vec<Val>),
    /// Ends a once-only initialization.
    OnceEnd,
    /// The thread has ended.
    End,
    /// `main` has returned: the registered exit handlers are called.
    Exit,
    /// The thread cannot be followed any more, since the caller is unknown.
    Lost,
    /// Returns this to the caller.
    Return(Option<Val>),
}

/// An access that a callback has announced and that the next instructions perform.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub address: u64,
    pub size: u64,
    pub is_write: bool,
    /// The bytes read.
    pub chunks: Vec<AccessChunk>,
    /// The rows of a write.
    pub rows: Vec<EventId>,
    /// The parts already written: address and size.
    pub done: Vec<(u64, u8)>,
}

/// Bytes of an access, at most 16.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessChunk {
    pub offset: u64,
    pub size: u8,
    pub value: Scalar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum BranchState {
    /// The thread's first event has not come.
    #[default]
    Unborn,
    /// The thread is followed.
    Followed,
    /// The thread has ended.
    Ended,
    /// The thread cannot be followed any more: only its events are known.
    Lost,
}

#[derive(Clone, Debug, Default)]
pub(super) struct WalkedThread {
    pub id: ThreadId,
    pub state: BranchState,
    pub stack: Vec<Activity>,
    /// Events of the thread.
    pub events: Vec<EventId>,
    /// Number of events that have been used.
    pub used: usize,
    /// The initial steps, once the thread has been created.
    pub begin: VecDeque<Todo>,
    pub announced: Vec<Announced>,
    pub steps: Vec<SymbolicStep>,
    /// The path in the source's words, where paths are kept.
    pub path: Vec<PathNode>,
    /// Conditions known to hold since an earlier step of the thread.
    pub assumed: Assumed,
    /// Locks held, in the order of acquisition; `true`: shared.
    pub held: Vec<(LocationId, bool)>,
    /// Site of the thread's last event.
    pub site: SiteId,
    /// Number of instructions since the last event.
    pub idle: u64,
    /// Result of the thread's first function.
    pub result: Option<Scalar>,
    /// Exceptions that are being handled.
    pub caught: Vec<Thrown>,
    /// The last branch that depended on something unknown.
    pub last_branch: Option<TakenBranch>,
    /// Handlers to call at the thread's end, in the order of registration.
    pub at_exit: Vec<(Scalar, Vec<Val>)>,
    /// Recent branches with ways left to try.
    pub choices: Vec<OpenBranch>,
    /// The way to take at the branch that the thread was taken back to.
    pub way: Option<usize>,
    /// Changes of memory since the first choice.
    pub changes: Vec<MemoryChange>,
    /// Symbols learned since the first choice, with their former values.
    pub learned: Vec<(SymbolId, Option<u128>)>,
    /// Values fixed to their recorded numbers since the first choice.
    pub noted: Vec<Concretized>,
    /// The former values of cells written since the first choice.
    pub cells: Vec<(CellId, Option<Scalar>)>,
    /// Instructions on all ways tried since the thread last made progress.
    pub effort: u64,
    /// Number of events used on the way that came farthest.
    pub farthest: usize,
    /// Number of calls of unknown functions.
    pub strange_calls: u32,
}

impl WalkedThread {
    pub fn frame(&self) -> Option<&FunctionFrame> {
        match self.stack.last()? {
            Activity::Code(frame) => Some(frame),
            Activity::Native(_) => None,
        }
    }

    pub fn frame_mut(&mut self) -> Option<&mut FunctionFrame> {
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
