//! Symbolic per-thread traces ([symbiosis], section 3.2): the actions of each thread of a run, as expressions
//! over the values that it read from shared memory.
//!
//! [`expr`] holds the expressions, [`trace`] the result of a walk of a run's threads over the program model.

pub mod expr;
mod fold;
pub mod path;
mod show;
pub mod trace;
mod walk;

pub use expr::{Binary, Compare, ExprId, Exprs, Node, SymbolId, Unary};
pub use path::{Local, LocalId, PathAction, PathNode, SourcePlace, Variable};
pub use trace::{
    Action, Bug, Cell, CellId, Concretized, Object, Origin, Step, StepId, Symbol, SymbolicTrace,
    ThreadTrace,
};
pub use walk::{Walked, WalkedPaths, concrete, walk, walk_in_words, walk_paths};
