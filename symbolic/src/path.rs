//! Paths of threads in the source's words: the steps of a thread, the assignments to its private memory
//! between them, and the branch that each node is control dependent on. A walk makes them only on request
//! ([`walk_in_words`](super::walk_in_words)).
//!
//! While [`ThreadTrace::steps`](super::ThreadTrace::steps) are expressions over values read from shared
//! memory, each assignment of a variable introduces a new unknown here ([`LocalId`]), and later uses of the
//! variable refer to it.

use super::expr::{ExprId, SymbolId};
use unsnarl_trace::ThreadId;

/// An assignment of a variable in memory of one thread: row of [`SymbolicTrace::locals`](super::SymbolicTrace::locals).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalId(pub u32);

/// The first id of symbols that stand for assignments of variables.
const FIRST: u32 = 1 << 31;

impl LocalId {
    /// The id as an index into its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The unknown that stands for the assigned value. It has no row among
    /// [`SymbolicTrace::symbols`](super::SymbolicTrace::symbols).
    pub fn symbol(self) -> SymbolId {
        SymbolId(self.0 | FIRST)
    }
}

impl SymbolId {
    /// The assignment that the unknown stands for, if any.
    pub fn local(self) -> Option<LocalId> {
        (self.0 & FIRST != 0).then_some(LocalId(self.0 & !FIRST))
    }
}

/// An assignment of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// Row of [`SymbolicTrace::variables`](super::SymbolicTrace::variables).
    pub variable: u32,
    /// Width in bits.
    pub width: u8,
    /// The assigned value in the recorded run; `None` when it is not known.
    pub recorded: Option<u128>,
}

/// A variable, or a part of one, in memory private to one thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PrivateVariable {
    /// Name in the source (`bal`, `job.size`).
    pub name: String,
    /// The only thread that uses the variable.
    pub thread: ThreadId,
    /// Address of the variable; each call of a function has variables of its own.
    pub address: u64,
    /// Size in bytes.
    pub size: u8,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SourcePlace {
    /// The file, as the run names it where it does.
    pub file: String,
    /// Line from 1, 0 when not known.
    pub line: u32,
    /// Column from 1, 0 when not known.
    pub column: u32,
    /// The function.
    pub function: String,
}

/// A node of a thread's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathNode {
    /// The action of the node.
    pub what: PathAction,
    /// Row of [`SymbolicTrace::places`](super::SymbolicTrace::places).
    pub place: u32,
    /// The branch that the node is directly control dependent on, in its function or at the call of that
    /// function; an index into the thread's path.
    pub guard: Option<u32>,
}

/// An action of a thread: a step, an assignment of a private variable, or a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathAction {
    /// A step.
    Step {
        /// Index into [`ThreadTrace::steps`](super::ThreadTrace::steps).
        index: u32,
        /// The value that the step writes, or the condition that it assumes, over variables; `None` for other
        /// steps.
        said: Option<ExprId>,
    },
    /// An assignment of a variable.
    Assign {
        /// The unknown that stands for the variable's new value.
        local: LocalId,
        /// The assigned value.
        value: ExprId,
    },
    /// A branch that is no step, since its condition does not depend on shared memory; the condition was 1.
    Branch(ExprId),
}
