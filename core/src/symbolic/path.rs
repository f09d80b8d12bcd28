//! The paths of threads in the source's words: steps with what happened between them in memory of the thread's own,
//! and which branch decided what. Only walks that are asked for them make them ([`walk_in_words`](super::walk_in_words)).
//!
//! Where [`ThreadTrace::steps`](super::ThreadTrace::steps) say everything over what was read from shared memory, here
//! each assignment of a variable gives it a new unknown ([`LocalId`]), and what uses the variable uses that.

use super::expr::{ExprId, SymbolId};
use unsnarl_trace::ThreadId;

/// An assignment of a variable in memory of one thread: row of [`SymbolicTrace::locals`](super::SymbolicTrace::locals).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalId(pub u32);

/// Symbols from here on are what assignments of variables made.
const FIRST: u32 = 1 << 31;

impl LocalId {
    /// The id as an index into its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// What the variable holds from there on, as an unknown. It has no row among
    /// [`SymbolicTrace::symbols`](super::SymbolicTrace::symbols).
    pub fn symbol(self) -> SymbolId {
        SymbolId(self.0 | FIRST)
    }
}

impl SymbolId {
    /// The assignment, if the unknown is what a variable holds.
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
    /// What it was given in the recorded run; `None` when that is not known.
    pub recorded: Option<u128>,
}

/// A variable, or a part of one, in memory that only one thread uses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Variable {
    /// The source's name (`bal`, `job.size`).
    pub name: String,
    /// Who uses it.
    pub thread: ThreadId,
    /// Its address; each call of a function has variables of its own.
    pub address: u64,
    /// Its size in bytes.
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

/// Something that a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathNode {
    /// What.
    pub what: PathAction,
    /// Row of [`SymbolicTrace::places`](super::SymbolicTrace::places).
    pub place: u32,
    /// The branch that decided that the thread came here, as an index into its path: the node is directly control
    /// dependent on it, or lies in a function that was called where that branch decided.
    pub guard: Option<u32>,
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathAction {
    /// A step.
    Step {
        /// Index into [`ThreadTrace::steps`](super::ThreadTrace::steps).
        index: u32,
        /// What it writes or assumes, over variables; `None` for other steps.
        said: Option<ExprId>,
    },
    /// An assignment of a variable.
    Assign {
        /// What it is from now on.
        local: LocalId,
        /// What it is given.
        value: ExprId,
    },
    /// A branch that is no step, since it does not depend on shared memory: this was 1.
    Branch(ExprId),
}
